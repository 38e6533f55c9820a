#!/usr/bin/env python3
"""What clients that hardly read can make the server hold. slow_readers.py PROGRAM [FLAG...]"""

import http.client
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
    """Has read the head of an answer, and reads on when it is told to."""

    def __init__(self, server, path):
        raw = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        raw.settimeout(REQUEST_S)
        raw.connect((server.host, server.port))
        self.connection = http.client.HTTPConnection(server.host, server.port)
        self.connection.sock = ssl.create_default_context(cafile=server.data / "pki/ca.crt").wrap_socket(
            raw, server_hostname=server.host)
        self.connection.request("GET", path, headers={"Authorization": "Bearer " + server.token})
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        self.text = b""
        self.is_cut = False

    def dribble(self):
        try:
            self.text += self.response.read1(1000)
        except (OSError, http.client.HTTPException):
            self.is_cut = True

    def finish(self):
        """Reads all there is; True: the answer was ended as it should be."""
        if self.is_cut:
            self.connection.close()
            return False
        try:
            while more := self.response.read1(1 << 20):
                self.text += more
            return True
        except (OSError, http.client.HTTPException):
            return False
        finally:
            self.connection.close()


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
                reader.connection.close()
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
