#!/usr/bin/env python3
"""What clients that hardly read can make the server hold. slow_readers.py PROGRAM [FLAG...]"""

import http.client
import io
import json
import socket
import ssl
import sys
import time

from fixture import REQUEST_S, Server, config_map, main, test

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]
CACHED = "--watch-cache=false" not in FLAGS
MAPS = "/api/v1/namespaces/default/configmaps"
BUDGET = 8 << 20
# One generation of objects is more than the budget, and more than the sockets and the response buffer of one reader take.
OBJECTS = 250
OBJECT_BYTES = 40_000
GENERATION = OBJECTS * OBJECT_BYTES
READERS = 10
# The events that a window keeps in any case (at most 228 of them), two generations while a reader is given time to go on, and
# what sockets, TLS and the allocator add: less than what the readers would hold without a budget. A list that is read from
# the store is there twice while it is made.
GROWTH_MAX = 228 * OBJECT_BYTES + (2 if CACHED else 4) * GENERATION + (20 << 20)
assert GROWTH_MAX < (READERS - 2) * GENERATION
# The answers that wait, and one that is larger than they may be together.
WAITING_MAX = BUDGET + GENERATION + GENERATION // 8


def small_budget():
    return Server(PROGRAM, "--watch-cache-bytes", str(BUDGET), *FLAGS)


def rss(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


class Writer:
    """The client that works beside the slow ones: each of its requests must succeed."""

    def __init__(self, server):
        self.server, self.connection, self.generation = server, server.connect(), 0

    def number(self, name):
        text = self.server.get("/metrics", connection=self.connection).expect(200).body.decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))

    def write(self, i):
        body = config_map(f"m{i:03}", generation=str(self.generation), data="x" * OBJECT_BYTES)
        if self.generation == 1:
            self.server.request("POST", MAPS, body, connection=self.connection).expect(201)
        else:
            self.server.request("PUT", f"{MAPS}/m{i:03}", body, connection=self.connection).expect(200)

    def write_all(self):
        self.generation += 1
        for i in range(OBJECTS):
            self.write(i)

    def write_until_within_budget(self, readers):
        """A slow reader is left a second or so; what matters is not how fast this machine writes meanwhile."""
        end = time.monotonic() + REQUEST_S
        while self.number("coracle_watch_cache_pinned_bytes") > BUDGET or self.number("coracle_waiting_answers_bytes") > WAITING_MAX:
            assert time.monotonic() < end, "slow readers were not ended"
            self.write(0)
            for reader in readers:
                reader.dribble()
            time.sleep(0.05)


class SlowReader:
    """Has read the head of an answer, and reads on when it is told to. It never waits for bytes while it is slow: a server
    that sends nothing for a while must not hold up the writer beside it."""

    def __init__(self, server, path):
        raw = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        raw.settimeout(REQUEST_S)
        raw.connect((server.host, server.port))
        self.socket = ssl.create_default_context(cafile=server.data / "pki/ca.crt").wrap_socket(raw, server_hostname=server.host)
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n"
                             f"Authorization: Bearer {server.token}\r\n\r\n").encode())
        self.received = bytearray()
        self.text = b""
        self.is_cut = False
        while b"\r\n\r\n" not in self.received:
            assert self.receive(1), f"{path}: no answer"
        assert self.received.startswith(b"HTTP/1.1 200 "), self.received

    def receive(self, max_bytes):
        """True: something came; False: there is nothing now, or nothing ever again."""
        try:
            more = self.socket.recv(max_bytes)
        except ssl.SSLWantReadError:
            return False
        except OSError:
            self.is_cut = True
            return False
        self.received += more
        return bool(more)

    def dribble(self):
        self.socket.settimeout(0)
        self.receive(1000)

    def finish(self):
        """Reads all there is; True: the answer was ended as it should be."""
        self.socket.settimeout(REQUEST_S)
        while not self.is_cut and self.receive(1 << 20):
            pass
        self.close()
        response = http.client.HTTPResponse(Received(self.received))
        response.begin()
        try:
            self.text = response.read()
            return True
        except http.client.IncompleteRead:
            return False

    def close(self):
        self.socket.close()


class Received:
    """What a reader has received, in the place of a socket."""

    def __init__(self, received):
        self.received = received

    def makefile(self, _mode):
        return io.BytesIO(self.received)


@test
def slow_lists_and_watches_hold_no_more_than_the_budget(server):
    with small_budget() as other:
        writer = Writer(other)
        writer.write_all()
        before, growth, watches, lists = rss(other), 0, [], []
        # Each begins with another generation of all objects.
        for i in range(READERS):
            if i % 2 == 0:
                watches.append(SlowReader(other, MAPS + "?watch=true&resourceVersion=0"))
            else:
                lists.append(SlowReader(other, MAPS))
            writer.write_all()
            writer.write_until_within_budget(watches + lists)
            growth = max(growth, rss(other) - before)
        for reader in watches:
            # A watch ends plainly, after a whole event; without a cache it is cut for what it holds, or goes on.
            if not CACHED:
                reader.close()
            elif reader.finish():
                assert reader.text.endswith(b"}\n"), reader.text[-100:]
                for line in reader.text.splitlines():
                    assert json.loads(line)["type"] in ("ADDED", "MODIFIED"), line[:100]
        for reader in lists:
            # A list is whole, or its client sees that it is not.
            if reader.finish():
                assert len(json.loads(reader.text)["items"]) == OBJECTS
        assert growth < GROWTH_MAX, f"{READERS} slow readers of {GENERATION >> 20} MB took {growth >> 20} MB"
        if not CACHED:
            assert writer.number("coracle_waiting_answers_ended_total") > 0
        else:
            for verb in ("list", "watch"):
                assert writer.number(f'coracle_watch_cache_ended_readers_total{{verb="{verb}"}}') > 0


if __name__ == "__main__":
    main()
