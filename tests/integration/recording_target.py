"""An aggregated API server that a test plays: it writes down the head of each request, and answers as the last part of the
path says. HTTP/1.1 over TLS; it asks for no certificate of the client until a test tells it whom to trust."""

import collections
import socket
import ssl
import threading
import time

from certificates import CURVE, openssl

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
# Answers of a server that lies; the connection ends behind each.
LIES = {
    "two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
    "length-of-nothing": b"HTTP/1.1 200 OK\r\nContent-Length: minus two\r\n\r\n{}",
    "length-and-chunks": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "longer-than-said": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlies",
    "bad-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\nx\r\n0\r\n\r\n",
    "huge-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n",
    "half-a-head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "code-0": b"HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n",
    "code-99": b"HTTP/1.1 99 No\r\nContent-Length: 0\r\n\r\n",
    "switching-unasked": b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nlies",
    "many-informations": b"HTTP/1.1 100 Continue\r\n\r\n" * 2000,
    "a-large-head": b"HTTP/1.1 200 OK\r\nX-Large: " + b"x" * (4 << 20) + b"\r\nContent-Length: 0\r\n\r\n",
    "many-headers": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(50000)) + b"Content-Length: 0\r\n\r\n",
    "folded": b"HTTP/1.1 200 OK\r\nX-A: b\r\n Set-Cookie: c\r\nContent-Length: 2\r\n\r\n{}",
    "another-protocol": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "http2-unasked": b"\0\0\0\4\0\0\0\0\0" * 3,
}
ENDS = {"short", "garbage", "reset", *LIES}  # the connection ends with these


class Target:
    def __init__(self, folder, name="api.wardle.svc", port=0):
        self.cert, self.key = f"{folder}/target.crt", f"{folder}/target.key"
        openssl("req", "-x509", *CURVE, "-keyout", self.key, "-out", self.cert, "-subj", "/CN=target",
                "-addext", f"subjectAltName=DNS:{name}", "-days", "2")
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.cert, self.key)
        self.seen, self.lock, self.open = [], threading.Lock(), set()
        self.callers = []  # the common names of the certificates of the clients, for each request, once they are asked for
        self.streams = []  # of quiet answers
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.accepting = threading.Thread(target=self.accept, daemon=True)
        self.accepting.start()

    def close(self):
        """Nobody listens any more, and every connection breaks. Their threads close them: a number of a descriptor is used again at once."""
        listener, self.listener = self.listener, None
        listener.shutdown(socket.SHUT_RDWR)
        self.accepting.join()
        self.cut()

    def cut(self):
        """Every connection breaks."""
        with self.lock:
            for connection in self.open:
                try:
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)
                except OSError:
                    pass

    def trust(self, *authorities):
        """From the next connection on a client needs a certificate of one of these files."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert, self.key)
        context.verify_mode = ssl.CERT_REQUIRED
        for path in authorities:
            context.load_verify_locations(path)
        self.context = context

    def present(self, cert, key):
        """From the next connection on the server has this certificate."""
        self.cert, self.key = str(cert), str(key)
        self.context.load_cert_chain(cert, key)

    def tell(self, data):
        """Sends an event to each answer that is quiet."""
        with self.lock:
            streams = list(self.streams)
        for stream in streams:
            stream.sendall(b"%x\r\n%s\r\n" % (len(data), data))

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
                break
            threading.Thread(target=self.serve, args=(raw,), daemon=True).start()
        listener.close()

    def serve(self, raw):
        connection = raw
        try:
            connection = self.context.wrap_socket(raw, server_side=True)
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
            with self.lock:
                self.open.discard(connection)
            connection.close()

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
        certificate = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
        names = [value for part in (certificate or {}).get("subject", ()) for name, value in part if name == "commonName"]
        with self.lock:
            self.seen.append(request)
            self.callers.append(names[0] if names else None)
        return request, rest

    def answer(self, connection, request):
        what = request.line.split(" ")[1].split("?")[0].rsplit("/", 1)[1]
        if what == "hang":
            return connection.recv(1)
        if what == "quiet":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
            with self.lock:
                self.streams.append(connection)
            try:
                return connection.recv(1)
            finally:
                with self.lock:
                    self.streams.remove(connection)
        if what == "drip":
            for byte in ANSWERS["headers"]:
                connection.sendall(bytes([byte]))
            return True
        if what in ("abort", "abort-head", "abort-body"):
            connection.sendall({"abort": b"", "abort-head": b"HTTP/1.1 200 O", "abort-body": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"}[what])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            return False
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
        connection.sendall(ANSWERS.get(what) or LIES.get(what) or usual if what != "reset" else b"")
        return what not in ENDS
