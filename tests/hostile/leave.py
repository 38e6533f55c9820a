#!/usr/bin/env python3
"""Clients that leave early: every way that a connection can end × every kind of request. leave.py PROGRAM [--long] [WORD...]

A case is a kind of request (KINDS), over TLS, a Unix socket or HTTP/2, a moment (MOMENTS) and a way to go (WAYS). After each kind
the server must be as before: its connections, its descriptors, what it holds for its clients, requests in flight, watches and
watchers; and so must what a proxied request has opened at the aggregated server. No limit of time may help: those of the server
are ten minutes here. With words, only the kinds whose name has one of them. --long: more clients for each case, and two
seconds until all is as before."""

import itertools
import os
import pathlib
import signal
import socket
import ssl
import struct
import sys
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "integration"))

import h2  # noqa: E402
from fixture import await_it, config_map, report  # noqa: E402
from through import BASE, Through  # noqa: E402

MAPS = "/api/v1/namespaces/default/configmaps"
TOKEN = "joe-token"
PATIENCE_S, LONG_S = 60, 2
STILL_LOOKS = 4
BODY = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"generateName":"left-"},"data":{"k":"%s"}}'
SMALL, LARGE = BODY % b"v", BODY % (b"v" * 900_000)
CLOSE_FRAME, PING_FRAME = b"\x88\x82\0\0\0\0\x03\xe8", b"\x89\x81\0\0\0\0z"
WEBSOCKET = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
             "Sec-WebSocket-Version": "13", "Origin": "http://x"}
TUNNEL = {"Connection": "Upgrade", "Upgrade": "echo"}


class Kind:
    """A request. `after`: bytes that follow a request which has an upgrade; `h2`: can it be a stream of HTTP/2?"""

    def __init__(self, method, path, body=b"", after=b"", fields=None):
        self.method, self.path, self.body, self.after = method, path, body, after
        self.fields = dict(fields or {})
        self.h2 = "Connection" not in self.fields

    def bytes(self, token):
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: x"]
        lines += [f"Authorization: Bearer {token}"] if token else []
        lines += [f"{name}: {value}" for name, value in self.fields.items()]
        lines += [f"Content-Length: {len(self.body)}"] if self.body else []
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


AGGREGATED = f"{BASE}/namespaces/n/things"
KINDS = {
    "get": Kind("GET", MAPS + "/c0"),
    "get-nothing": Kind("GET", MAPS + "/none"),
    "get-refused": Kind("GET", MAPS + "?limit=x"),
    "list": Kind("GET", MAPS),
    "list-gzip": Kind("GET", MAPS, fields={"Accept-Encoding": "gzip"}),
    "list-table": Kind("GET", MAPS, fields={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}),
    "list-exact": Kind("GET", MAPS + "?limit=2"),
    "watch": Kind("GET", MAPS + "?watch=1"),
    "watch-quiet": Kind("GET", MAPS + "?watch=1&labelSelector=no=one"),
    "watch-later": Kind("GET", MAPS + "?watch=1&resourceVersion=100000"),
    "watch-refused": Kind("GET", MAPS + "?watch=1&resourceVersion=x"),
    "watch-uncached": Kind("GET", "/api/v1/namespaces/default/events?watch=1"),
    "websocket": Kind("GET", MAPS + "?watch=1", fields=WEBSOCKET),
    "websocket-quiet": Kind("GET", MAPS + "?watch=1&labelSelector=no=one", fields=WEBSOCKET),
    "websocket-refused": Kind("GET", MAPS + "?watch=1&resourceVersion=x", fields=WEBSOCKET),
    "websocket-no-origin": Kind("GET", MAPS + "?watch=1", fields={**WEBSOCKET, "Origin": ":::"}),
    "websocket-says-goodbye": Kind("GET", MAPS + "?watch=1", after=PING_FRAME + CLOSE_FRAME, fields=WEBSOCKET),
    "websocket-nonsense": Kind("GET", MAPS + "?watch=1", after=b"\xff" * 50, fields=WEBSOCKET),
    "websocket-much": Kind("GET", MAPS + "?watch=1", after=(b"\x82\xfe\x80\0\0\0\0\0" + b"x" * 32768) * 8, fields=WEBSOCKET),
    "websocket-uncached": Kind("GET", "/api/v1/namespaces/default/events?watch=1", fields=WEBSOCKET),
    "create": Kind("POST", MAPS, SMALL),
    "create-large": Kind("POST", MAPS + "?dryRun=All", LARGE),
    "create-too-large": Kind("POST", MAPS, b"x" * 4_000_000),
    "create-continue": Kind("POST", MAPS + "?dryRun=All", SMALL, fields={"Expect": "100-continue"}),
    "pipelined": Kind("GET", MAPS + "?watch=1", after=b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n" * 8000),
    "metrics": Kind("GET", "/metrics"),
    "aggregated-get": Kind("GET", AGGREGATED + "/one"),
    "aggregated-hang": Kind("GET", AGGREGATED + "/hang"),
    "aggregated-quiet": Kind("GET", AGGREGATED + "/quiet?watch=1"),
    "aggregated-stream": Kind("GET", AGGREGATED + "/stream?watch=1"),
    "aggregated-large": Kind("POST", AGGREGATED + "/hang", b"x" * 3_000_000),
    "aggregated-abort": Kind("GET", AGGREGATED + "/abort-body"),
    "tunnel": Kind("GET", f"{BASE}/tunnel", fields=TUNNEL),
    "tunnel-much": Kind("GET", f"{BASE}/tunnel", after=b"x" * 3_000_000, fields=TUNNEL),
    "tunnel-refused": Kind("GET", f"{BASE}/conflict", fields=TUNNEL),
}


# --- moments: how far the client comes before it leaves ------------------------------------------------------------------

def push(sock, data):
    """Sends as much as the server takes without an answer being read; when that is nothing for a moment, the client does not wait."""
    sock.setblocking(False)
    end = time.monotonic() + 0.05
    while data and time.monotonic() < end:
        try:
            data = data[sock.send(data):]
            end = time.monotonic() + 0.05
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            time.sleep(0.001)
        except OSError:
            return


def first_bytes(client):
    """Of the answer, when there is one within a moment."""
    client.sock.settimeout(0.05)
    try:
        client.sock.recv(10)
    except OSError:
        pass


def before_the_head(client):
    pass


def in_the_head(client):
    push(client.sock, client.head[:len(client.head) // 2])


def in_the_body(client):
    push(client.sock, client.head + client.body[:len(client.body) // 2])


def before_the_answer(client):
    """The server is stopped meanwhile, so that it finds the request and its end together."""
    push(client.sock, client.head + client.body + client.kind.after)


def in_the_stream(client):
    push(client.sock, client.head + client.body + client.kind.after)
    first_bytes(client)


MOMENTS = [before_the_head, in_the_head, in_the_body, before_the_answer, in_the_stream]


# --- ways to go ----------------------------------------------------------------------------------------------------------

def says_end_of_tls(sock):
    if isinstance(sock, ssl.SSLSocket):
        sock.setblocking(False)
        try:
            sock.unwrap()
        except (OSError, ValueError):
            pass


def closes(client):
    client.sock.close()


def resets(client):
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.sock.close()


def ends_its_side(client):
    """It could still read; after a moment it is gone."""
    socket.socket.shutdown(client.sock, socket.SHUT_WR)
    client.lingers = True


def says_goodbye(client):
    says_end_of_tls(client.sock)
    client.sock.close()


def says_goodbye_and_resets(client):
    says_end_of_tls(client.sock)
    resets(client)


def says_goodbye_and_ends_its_side(client):
    says_end_of_tls(client.sock)
    ends_its_side(client)


WAYS = [closes, resets, ends_its_side, says_goodbye, says_goodbye_and_resets, says_goodbye_and_ends_its_side]


def leaves(client, way):
    try:
        way(client)
    except OSError:
        client.sock.close()  # the server was quicker


# --- clients -------------------------------------------------------------------------------------------------------------

class Client:
    """One connection of HTTP/1.1, over TLS or the Unix socket."""

    def __init__(self, field, kind, is_unix):
        self.kind, self.lingers, self.body = kind, False, kind.body
        self.head = kind.bytes(None if is_unix else TOKEN)
        self.sock = field.unix_socket() if is_unix else field.tls_socket()


class Streams(Client):
    """One connection of HTTP/2, with three streams of the kind."""

    def __init__(self, field, kind):
        self.kind, self.lingers = kind, False
        fields = h2.literal_by_index(23, "Bearer " + TOKEN)
        for name, value in kind.fields.items():
            fields += h2.literal(name.lower(), value)
        block = h2.METHOD[kind.method] + h2.HTTPS + h2.literal_by_index(4, kind.path) + h2.literal_by_index(1, "x") + fields
        flags = h2.END_HEADERS | (0 if kind.body else h2.END_STREAM)
        self.head = h2.PREFACE + h2.frame(h2.SETTINGS, 0, 0) + h2.frame(h2.SETTINGS, h2.ACK, 0)
        self.head += b"".join(h2.frame(h2.HEADERS, flags, stream, block) for stream in (1, 3, 5))
        # As much as a stream's window lets through.
        self.body = b"".join(h2.frame(h2.DATA, h2.END_STREAM if len(kind.body) < 16000 else 0, stream, kind.body[:16000])
                             for stream in (1, 3, 5)) if kind.body else b""
        self.sock = field.tls_socket("h2")


def resets_its_streams(client):
    """The connection stays for a moment, its streams do not."""
    push(client.sock, b"".join(h2.frame(h2.RST_STREAM, 0, stream, struct.pack(">I", 8)) for stream in (1, 3, 5)))
    client.lingers = True


class Handshake(Client):
    """A connection that leaves while TLS is being made: a part of a ClientHello, or all of it."""

    def __init__(self, field, part):
        self.kind, self.lingers, self.head, self.body = Kind("GET", "/"), False, b"", b""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        hello = ssl._create_unverified_context().wrap_bio(incoming, outgoing)
        try:
            hello.do_handshake()
        except ssl.SSLWantReadError:
            pass
        hello = outgoing.read()
        self.sock = field.tcp_socket()
        self.sock.sendall(hello[:int(len(hello) * part)])


# --- what must be as before ----------------------------------------------------------------------------------------------

class Field:
    def __init__(self, through, is_long):
        self.server, self.target, self.is_long = through.server, through.target, is_long
        self.context = ssl.create_default_context(cafile=self.server.data / "pki/ca.crt")
        self.longest = 0.0
        self.asks = self.server.connect()
        self.before = self.state()
        await_it(self.is_still, "a state that stays")

    def tcp_socket(self):
        return socket.create_connection((self.server.host, self.server.port), timeout=PATIENCE_S)

    def tls_socket(self, protocol="http/1.1"):
        self.context.set_alpn_protocols([protocol])
        return self.context.wrap_socket(self.tcp_socket(), server_hostname=self.server.host)

    def unix_socket(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE_S)
        sock.connect(str(self.server.data / "s"))
        return sock

    def is_still(self):
        """Is it as it was when it was looked at last, and for a while?"""
        was, self.before = self.before, self.state()
        for _ in range(STILL_LOOKS):
            if self.before != was:
                return False
            time.sleep(0.05)
            self.before = self.state()
        return self.before == was

    def state(self):
        """What the server has open and holds, but for idle connections to the target."""
        wanted = ("coracle_http_connections", "coracle_http_held_bytes", "apiserver_current_inflight_requests",
                  "apiserver_longrunning_requests", "coracle_watchers", "process_open_fds")
        found = {}
        for line in self.server.get("/metrics", connection=self.asks).expect(200).body.decode().splitlines():
            name, _, value = line.rpartition(" ")
            if name.partition("{")[0] in wanted and float(value) != 0:
                found[name] = float(value)
        with self.target.lock:
            found["process_open_fds"] -= len(self.target.open)
            found["open streams of the target"] = len(self.target.streams)
        return found

    def await_state(self, what):
        begin, now, before = time.monotonic(), None, self.before
        while (now := self.state()) != before:
            waited = time.monotonic() - begin
            if waited > (LONG_S if self.is_long else PATIENCE_S):
                names = sorted(name for name in {*now, *before} if now.get(name, 0) != before.get(name, 0))
                lines = [f"{name}: {before.get(name, 0):.0f} before, {now.get(name, 0):.0f} after" for name in names]
                self.before = now
                raise AssertionError(f"not as before after {waited:.0f} s: {what}: " + "; ".join(lines))
            time.sleep(0.02)
        self.longest = max(self.longest, time.monotonic() - begin)


def go(field, clients, moment, way):
    """All of them come as far as the moment, and leave."""
    stops = moment is before_the_answer
    if stops:
        os.kill(field.server.process.pid, signal.SIGSTOP)
    try:
        for client in clients:
            moment(client)
            leaves(client, way)
    finally:
        if stops:
            os.kill(field.server.process.pid, signal.SIGCONT)


def cases(name, transport):
    if transport == "handshake":
        return [(before_the_head, way) for way in (closes, resets, ends_its_side)]
    kind = KINDS[name]
    moments = [one for one in MOMENTS if one is not in_the_body or kind.body]
    ways = WAYS if transport != "unix" else [closes, ends_its_side]
    return list(itertools.product(moments, [*ways, resets_its_streams] if transport == "h2" else ways))


def make(field, name, transport):
    if transport == "handshake":
        return [Handshake(field, part) for part in (0, 0.5, 1)]
    if transport == "h2":
        return [Streams(field, KINDS[name])]
    return [Client(field, KINDS[name], transport == "unix")]


def run(field, name, transport, moment, way):
    """The sockets that stay for a moment."""
    clients = [client for _ in range(5 if field.is_long else 1) for client in make(field, name, transport)]
    go(field, clients, moment, way)
    return [client.sock for client in clients if client.lingers]


def end(socks):
    for sock in socks:
        sock.close()


def run_all(field, name, transport):
    lingering = [sock for case in cases(name, transport) for sock in run(field, name, transport, *case)]
    time.sleep(0.02)
    end(lingering)


def warm_up(field, name, transport):
    """What a server opens once, at its start or for its first clients, is open from now on."""
    run_all(field, name, transport)
    await_it(field.is_still, "a state that stays after the first clients")


def play(field, name, transport):
    """Each case with its clients; all of them together are waited for, and when they stay, each by itself, to name the one that does."""
    what = f"{name} over {transport}"
    run_all(field, name, transport)
    try:
        field.await_state(what)
    except AssertionError:
        for moment, way in cases(name, transport):
            end(run(field, name, transport, moment, way))
            field.await_state(f"{what}: a client that {way.__name__}, {moment.__name__}")
        raise


def main():
    program, *words = sys.argv[1:]
    is_long = "--long" in words
    words = [word for word in words if word != "--long"]
    chosen = [(name, transport) for name in KINDS for transport in ("tls", "unix", "h2")
              if (transport != "h2" or KINDS[name].h2) and (not words or any(word in name for word in words))]
    chosen += [("handshake", "handshake")] if not words or "handshake" in words else []
    flags = ("--authorization-mode", "AlwaysAllow", "--request-timeout", "10m")

    def test_of(name, transport):
        def one():
            begin = time.monotonic()
            play(field, name, transport)
            print(f"# {name} over {transport}: {len(cases(name, transport))} cases, {time.monotonic() - begin:.1f} s")
        one.__name__ = f"{name}_over_{transport}_leaves_nothing"
        return one

    with Through(program, *flags) as through:
        server = through.server
        server.flags += ("--unix-socket", str(server.data / "s"))
        server.restart(keep_port=True)
        for i in range(30):
            server.create(MAPS, config_map(f"c{i}", k="v" * 50_000))
        field = Field(through, is_long)
        warm_up(field, *chosen[0])
        status = report([test_of(*one) for one in chosen], lambda one: one())
        total = sum(len(cases(*one)) for one in chosen)
        field.asks.close()
        print(f"# {total} cases; the longest until all was as before: {field.longest:.2f} s")
    sys.exit(status)


if __name__ == "__main__":
    main()
