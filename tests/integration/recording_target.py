"""An aggregated API server that a test plays: it writes down the head of each request, and answers as the last part of the
path says. HTTP/1.1 over TLS; it asks for the client's certificate and does not check it."""

import collections
import socket
import ssl
import subprocess
import threading
import time

Request = collections.namedtuple("Request", "line headers body")

BODY = b'{"kind":"Echo"}'
ANSWERS = {
    "redirect": b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 5\r\n\r\nmoved",
    "moved304": b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nLocation: /x\r\n\r\n',
    "same": b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n',
    "headers": b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nX-A: 1\r\nX-A: 2\r\nConnection: X-B\r\nX-B: 1\r\n"
               b'Warning: 299 - "w"\r\nServer: s\r\nKeep-Alive: 5\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
    "short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
    "garbage": b"nonsense\r\n\r\n",
    "reset": b"",
    "conflict": b"HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
}
ENDS = {"short", "garbage", "reset"}  # the connection ends with these


class Target:
    def __init__(self, folder, name="api.wardle.svc", port=0):
        self.cert, self.key = f"{folder}/target.crt", f"{folder}/target.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                        self.key, "-out", self.cert, "-subj", "/CN=target", "-addext", f"subjectAltName=DNS:{name}", "-days", "2"],
                       check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.cert, self.key)
        self.seen, self.lock, self.open = [], threading.Lock(), set()
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        """Nobody listens any more, and every connection breaks."""
        listener, self.listener = self.listener, None
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        with self.lock:
            for connection in self.open:
                connection.close()
            self.open.clear()

    def take(self):
        """The requests since the last call, without those that the server asks by itself."""
        with self.lock:
            seen, self.seen = self.seen, []
        return [r for r in seen if ("x-remote-user", "system:kube-aggregator") not in r.headers
                and ("x-remote-user", "system:aggregator") not in r.headers]

    def accept(self):
        listener = self.listener
        while self.listener:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(raw,), daemon=True).start()

    def serve(self, raw):
        try:
            with self.context.wrap_socket(raw, server_side=True) as connection:
                with self.lock:
                    self.open.add(connection)
                rest = b""
                while True:
                    request, rest = self.read(connection, rest)
                    if not request or not self.answer(connection, request):
                        return
        except (OSError, ValueError):
            pass
        finally:
            raw.close()

    def read(self, connection, rest):
        def more():
            piece = connection.recv(65536)
            if not piece:
                raise OSError
            return piece
        while b"\r\n\r\n" not in rest:
            rest += more()
        head, rest = rest.split(b"\r\n\r\n", 1)
        line, *lines = head.decode("latin1").split("\r\n")
        headers = [(n.lower(), v.strip()) for n, v in (one.split(":", 1) for one in lines)]
        known = dict(headers)
        if known.get("transfer-encoding") == "chunked":
            body = b""
            while True:
                while b"\r\n" not in rest:
                    rest += more()
                size, rest = rest.split(b"\r\n", 1)
                while len(rest) < int(size, 16) + 2:
                    rest += more()
                body, rest = body + rest[:int(size, 16)], rest[int(size, 16) + 2:]
                if int(size, 16) == 0:
                    break
        else:
            length = int(known.get("content-length", 0))
            while len(rest) < length:
                rest += more()
            body, rest = rest[:length], rest[length:]
        request = Request(line, headers, body)
        with self.lock:
            self.seen.append(request)
        return request, rest

    def answer(self, connection, request):
        what = request.line.split(" ")[1].split("?")[0].rsplit("/", 1)[1]
        if what == "hang":
            return connection.recv(1)
        if what == "stream":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
            for number in range(1000):
                connection.sendall(b'c\r\n{"event":%2d}\r\n' % (number % 100))
                time.sleep(0.02)
            return False
        if ("upgrade", "echo") in request.headers and what == "tunnel":
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-Up: 1\r\n\r\nhello")
            while piece := connection.recv(65536):
                connection.sendall(piece.upper())
            return False
        head = request.line.startswith("HEAD")
        usual = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + (b"" if head else BODY)
        connection.sendall(ANSWERS.get(what, usual))
        return what not in ENDS
