"""A WebSocket of the least kind, for tests that look at what the server sends over one."""

import socket
import ssl

from fixture import REQUEST_S


class Socket:
    """Shows every byte that the server sends."""

    def __init__(self, server, path, accept="application/json", token=True, **headers):
        context = ssl._create_unverified_context()
        raw = socket.create_connection(("127.0.0.1", server.port), timeout=REQUEST_S)
        self.stream = context.wrap_socket(raw)
        fields = {"Host": "x", "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
                  "Sec-WebSocket-Version": "13", "Origin": "https://a.example", "Accept": accept}
        if token:
            fields["Authorization"] = "Bearer " + server.token
        fields.update((name.replace("_", "-"), value) for name, value in headers.items())
        lines = [f"GET {path} HTTP/1.1"] + [f"{name}: {value}" for name, value in fields.items()]
        self.stream.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.file = self.stream.makefile("rb")
        self.status = self.file.readline().decode().strip()
        self.headers = {}
        while line := self.file.readline().decode().strip():
            name, value = line.split(": ", 1)
            self.headers[name] = value

    def send(self, opcode, data, mask=b"\1\2\3\4"):
        assert len(data) < 126
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        self.stream.sendall(bytes([0x80 | opcode, 0x80 | len(data)]) + mask + masked)

    def frame(self):
        """(first byte, payload); None: the server has closed."""
        first = self.file.read(2)
        if not first:
            return None
        n = first[1]
        if n == 126:
            n = int.from_bytes(self.file.read(2), "big")
        elif n == 127:
            n = int.from_bytes(self.file.read(8), "big")
        return first[0], self.file.read(n)

    def close(self):
        self.stream.close()
