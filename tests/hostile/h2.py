"""HTTP/2 as an attacker writes it: frames and HPACK by hand, nothing checked, nothing awaited."""

import socket
import ssl
import struct

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Of HPACK's static table.
METHOD = {"GET": b"\x82", "POST": b"\x83"}
HTTPS = b"\x87"
FIRST_DYNAMIC = 62
ENTRY_MAX = 4096 - 32


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def integer(value, prefix_bits, first):
    """An integer of HPACK, with the bits of `first` before it."""
    limit = (1 << prefix_bits) - 1
    if value < limit:
        return bytes([first | value])
    out = bytes([first | limit])
    value -= limit
    while value >= 128:
        out += bytes([value % 128 | 128])
        value //= 128
    return out + bytes([value])


def text(value):
    value = value.encode()
    return integer(len(value), 7, 0) + value


def literal(name, value):
    """Not added to the table."""
    return b"\x00" + text(name) + text(value)


def literal_by_index(index, value):
    return integer(index, 4, 0) + text(value)


def remembered(name, value):
    """Added to the table: the next field costs one byte."""
    return b"\x40" + text(name) + text(value)


def again(entry=0):
    """The entry that was added last, or so many before it."""
    return integer(FIRST_DYNAMIC + entry, 7, 0x80)


class Connection:
    """Speaks after the TLS handshake without waiting for the server. Every method returns False once the server has ended
    the connection."""

    def __init__(self, server, source="127.0.0.2", window=None):
        context = ssl.create_default_context(cafile=server.data / "pki/ca.crt")
        context.set_alpn_protocols(["h2"])
        plain = socket.create_connection((server.host, server.port), timeout=60, source_address=(source, 0))
        self.sock = context.wrap_socket(plain, server_hostname=server.host)
        self.sock.setblocking(False)
        self.is_open, self.next_stream = True, 1
        self.input, self.frames, self.bodies = b"", [], {}
        settings = struct.pack(">HI", 4, window) if window is not None else b""
        self.send(PREFACE + frame(SETTINGS, 0, 0, settings) + frame(SETTINGS, ACK, 0))

    def send(self, data):
        view = memoryview(data)
        while self.is_open and view:
            try:
                view = view[self.sock.send(view):]
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                self.read(0.01)
            except OSError:
                self.is_open = False
        return self.is_open

    def open(self, method, path, fields=b"", end_stream=True, authority="x", end_headers=True):
        """A request; the fields are coded already. Its stream's number."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        block = METHOD[method] + HTTPS + literal_by_index(4, path) + literal_by_index(1, authority) + fields
        flags = (END_STREAM if end_stream else 0) | (END_HEADERS if end_headers else 0)
        self.send(frame(HEADERS, flags, stream, block))
        return stream

    def read(self, seconds=0.0):
        """Takes what is there, within `seconds`."""
        while self.is_open:
            try:
                more = self.sock.recv(65536)
                if not more:
                    self.is_open = False
                self.input += more
                continue
            except ssl.SSLWantReadError:
                pass
            except OSError:
                self.is_open = False
                break
            if seconds <= 0:
                break
            self.sock.settimeout(seconds)
            try:
                more = self.sock.recv(65536)
                self.is_open = bool(more)
                self.input += more
            except (TimeoutError, ssl.SSLWantReadError):
                pass
            except OSError:
                self.is_open = False
            self.sock.setblocking(False)
            seconds = 0
        self.split()
        return self.is_open

    def split(self):
        while len(self.input) >= 9:
            length = int.from_bytes(self.input[:3], "big")
            if len(self.input) < 9 + length:
                return
            kind, flags, stream = self.input[3], self.input[4], int.from_bytes(self.input[5:9], "big") & 0x7fffffff
            payload, self.input = self.input[9:9 + length], self.input[9 + length:]
            if kind == DATA:
                self.bodies[stream] = self.bodies.get(stream, b"") + payload
            elif kind == GOAWAY:
                self.goaway = payload
            self.frames.append((kind, flags, stream, length))

    def count(self, kind):
        return sum(one[0] == kind for one in self.frames)

    def close(self):
        self.sock.close()
