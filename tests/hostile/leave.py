#!/usr/bin/env python3
"""Clients that leave early: every way that a connection can end × every kind of request. leave.py PROGRAM [--long] [WORD...]

A case is a kind of request (leave_kinds.py), over TLS, a Unix socket or HTTP/2, a moment (MOMENTS) and a way to go (WAYS). After each kind
the server must be as before: its connections, its descriptors, what it holds for its clients, requests in flight, watches and
watchers, readings of history, stages on other threads; and so must what a proxied request has opened at the aggregated server, or what
asks the delegate whose a token is. No limit of time may help: those of the server
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
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "integration"))

import h2  # noqa: E402
from fixture import await_it, report  # noqa: E402
from leave_kinds import CACHE_BYTES, KINDS, Delegate, Kind, make_history, make_objects  # noqa: E402
from through import Through  # noqa: E402

PATIENCE_S, LONG_S = 60, 2
STILL_LOOKS = 4
# Of the TLS handshake, beside its beginning: the server has answered; a part of the client's last bytes, and all of them.
ANSWERED, HALF_FINISHED, FINISHED = "answered", "half finished", "finished"


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
        # Over the Unix socket everybody is somebody already, but for who brings a token.
        self.head = kind.bytes(None if is_unix and not kind.tokens else kind.token())
        self.sock = field.unix_socket() if is_unix else field.tls_socket()


class Streams(Client):
    """One connection of HTTP/2, with three streams of the kind."""

    def __init__(self, field, kind):
        self.kind, self.lingers = kind, False
        fields = h2.literal_by_index(23, "Bearer " + kind.token())
        for name, value in kind.fields.items():
            fields += h2.literal(name.lower(), value)
        method = h2.METHOD.get(kind.method) or h2.literal_by_index(2, kind.method)
        block = method + h2.HTTPS + h2.literal_by_index(4, kind.path) + h2.literal_by_index(1, "x") + fields
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
    """A connection that leaves while TLS is being made: `stage` is a part of the ClientHello, all of which may go while the server is
    stopped (before_the_answer), or one after the server has answered."""

    def __init__(self, field, stage):
        self.kind, self.lingers, self.body = Kind("GET", "/"), False, b""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = ssl._create_unverified_context().wrap_bio(incoming, outgoing)
        self.shake(tls)
        hello = outgoing.read()
        self.head = hello if stage == 1 else b""
        self.sock = field.tcp_socket()
        if stage in (ANSWERED, HALF_FINISHED, FINISHED):
            self.sock.sendall(hello)
            incoming.write(self.sock.recv(1 if stage == ANSWERED else 65536))
            while stage != ANSWERED and not self.shake(tls):
                incoming.write(self.sock.recv(65536))
            finished = outgoing.read()
            self.sock.sendall(finished if stage == FINISHED else finished[:len(finished) // 2])
        elif stage < 1:
            self.sock.sendall(hello[:int(len(hello) * stage)])

    def shake(self, tls):
        try:
            tls.do_handshake()
            return True
        except ssl.SSLWantReadError:
            return False


# --- what must be as before ----------------------------------------------------------------------------------------------

class Field:
    def __init__(self, through, delegate, is_long):
        self.server, self.target, self.delegate, self.is_long = through.server, through.target, delegate, is_long
        self.context = ssl.create_default_context(cafile=self.server.data / "pki/ca.crt")
        self.longest = 0.0
        self.asks = self.server.connect()
        self.settle()

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

    def settle(self):
        """What it is like when nothing is being done is what it must be like after each case."""
        self.before = self.state()
        await_it(self.is_still, "a state that stays", PATIENCE_S)

    def is_still(self):
        """Do no threads work, and is it as it was when it was looked at last, and for a while?"""
        was, self.before = self.before, self.state()
        for _ in range(STILL_LOOKS):
            if self.before != was or self.before.get("coracle_offload_bytes", 0) > 0:
                return False
            time.sleep(0.05)
            self.before = self.state()
        return self.before == was

    def figures(self):
        lines = self.server.get("/metrics", connection=self.asks).expect(200).body.decode().splitlines()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines) if not name.startswith("#")}

    def state(self):
        """What the server has open, holds and has to do, but for idle connections to the target and to the delegate."""
        wanted = ("coracle_http_connections", "coracle_http_held_bytes", "apiserver_current_inflight_requests",
                  "apiserver_longrunning_requests", "coracle_watchers", "process_open_fds", "coracle_watch_cache_replays",
                  "coracle_watch_cache_pinned_bytes", "coracle_waiting_answers_bytes", "coracle_offload_bytes")
        found = {name: value for name, value in self.figures().items() if name.partition("{")[0] in wanted and value != 0}
        with self.target.lock:
            found["process_open_fds"] -= len(self.target.open)
            found["open streams of the target"] = len(self.target.streams)
        found["process_open_fds"] -= self.delegate.count()
        return found

    def await_state(self, what):
        begin, now, before = time.monotonic(), None, self.before
        while (now := self.state()) != before:
            waited = time.monotonic() - begin
            if waited > (LONG_S if self.is_long else PATIENCE_S):
                names = sorted(name for name in {*now, *before} if now.get(name, 0) != before.get(name, 0))
                lines = [f"{name}: {before.get(name, 0):.0f} before, {now.get(name, 0):.0f} after" for name in names]
                self.settle()
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
        return list(itertools.product((before_the_head, before_the_answer), (closes, resets, ends_its_side)))
    kind = KINDS[name]
    moments = [one for one in MOMENTS if one is not in_the_body or kind.body]
    ways = WAYS if transport != "unix" else [closes, ends_its_side]
    return list(itertools.product(moments, [*ways, resets_its_streams] if transport == "h2" else ways))


def make(field, name, transport):
    if transport == "handshake":
        return [Handshake(field, stage) for stage in (0, 0.5, 1, ANSWERED, HALF_FINISHED, FINISHED)]
    if transport == "h2":
        return [Streams(field, KINDS[name])]
    return [Client(field, KINDS[name], transport == "unix")]


def run(field, name, transport, moment, way):
    """The sockets that stay for a moment. The delegate knows nothing before they have gone."""
    clients = [client for _ in range(5 if field.is_long else 1) for client in make(field, name, transport)]
    field.delegate.hold()
    go(field, clients, moment, way)
    return [client.sock for client in clients if client.lingers]


def end(field, socks):
    for sock in socks:
        sock.close()
    field.delegate.release()


def run_all(field, name, transport):
    lingering = [sock for case in cases(name, transport) for sock in run(field, name, transport, *case)]
    time.sleep(0.02)
    end(field, lingering)


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
            end(field, run(field, name, transport, moment, way))
            field.await_state(f"{what}: a client that {way.__name__}, {moment.__name__}")
        raise


def look_at_kinds(field):
    """A table of requests that do something else would show nothing."""
    offloaded = ["create-large", "create-yaml", "apply-yaml", "list-table-slow", "watch-table"]
    wanted = {**dict.fromkeys(offloaded, "coracle_offload_jobs_total"), "watch-replay": "coracle_watch_cache_replays", "delegated": ""}
    for name, figure in wanted.items():
        def value():
            return field.figures()[figure] if figure else field.delegate.asked()
        before = value()
        client = Client(field, KINDS[name], False)
        field.delegate.hold()
        push(client.sock, client.head + client.body)
        await_it(lambda: value() > before, f"what {name} is for", PATIENCE_S)
        end(field, [client.sock])
    field.await_state("one of each kind")


def main():
    program, *words = sys.argv[1:]
    is_long = "--long" in words
    words = [word for word in words if word != "--long"]
    chosen = [(name, transport) for name in KINDS for transport in ("tls", "unix", "h2")
              if (transport != "h2" or KINDS[name].h2) and (not words or any(word in name for word in words))]
    chosen += [("handshake", "handshake")] if not words or "handshake" in words else []
    flags = ("--authorization-mode", "AlwaysAllow", "--request-timeout", "10m", "--watch-cache-bytes", str(CACHE_BYTES))

    def test_of(name, transport):
        def one():
            begin = time.monotonic()
            play(field, name, transport)
            print(f"# {name} over {transport}: {len(cases(name, transport))} cases, {time.monotonic() - begin:.1f} s")
        one.__name__ = f"{name}_over_{transport}_leaves_nothing"
        return one

    with tempfile.TemporaryDirectory() as folder, Through(program, *flags) as through:
        server, delegate = through.server, Delegate(folder)
        server.flags += ("--unix-socket", str(server.data / "s"), "--authentication-kubeconfig", str(delegate.config),
                         "--authentication-skip-lookup")
        make_history(server)
        server.restart(keep_port=True)
        make_objects(server)
        field = Field(through, delegate, is_long)
        warm_up(field, *chosen[0])
        def kinds_are_what_they_say():
            look_at_kinds(field)
        status = report([kinds_are_what_they_say, *(test_of(*one) for one in chosen)], lambda one: one())
        total = sum(len(cases(*one)) for one in chosen)
        field.asks.close()
        print(f"# {total} cases; the longest until all was as before: {field.longest:.2f} s")
    sys.exit(status)


if __name__ == "__main__":
    main()
