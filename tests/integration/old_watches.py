#!/usr/bin/env python3
"""Watches from revisions that are long out of the watch cache's window. old_watches.py PROGRAM [FLAG...]"""

import http.client
import json
import signal
import socket
import ssl
import sys
import time

from fixture import REQUEST_S, Server, Skip, config_map, main, sanitizer_of, test

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]
MAPS = "/api/v1/namespaces/default/configmaps"
# A history of 16 MB, of which a quarter of this budget at most is put in front of the window.
BUDGET = 4 << 20
WRITES = 400
OBJECT_BYTES = 40_000
# More than there are replays of one resource on the loops of any machine here.
WATCHES_MAX = 600
# What a replay holds at most, for each of 64, and what sockets and the allocator add.
GROWTH_MAX = 64 * (5 << 20)


def rss(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def number(server, name):
    text = server.get("/metrics").expect(200).body.decode()
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))


def write_history(server):
    """Returns the revisions, in order."""
    connection, revisions = server.connect(), []
    for i in range(WRITES):
        body = config_map(f"m{i % 10}", generation=str(i), data="x" * OBJECT_BYTES)
        method, path, status = ("POST", MAPS, 201) if i < 10 else ("PUT", f"{MAPS}/m{i % 10}", 200)
        made = server.request(method, path, body, connection=connection).expect(status).json()
        revisions.append(int(made["metadata"]["resourceVersion"]))
    return revisions


class Unread:
    """A watch whose client reads the head of the answer and nothing else."""

    def __init__(self, server, revision):
        raw = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
        raw.settimeout(REQUEST_S)
        raw.connect((server.host, server.port))
        self.socket = ssl.create_default_context(cafile=server.data / "pki/ca.crt").wrap_socket(raw, server_hostname=server.host)
        self.socket.sendall((f"GET {MAPS}?watch=1&resourceVersion={revision} HTTP/1.1\r\nHost: {server.host}\r\n"
                             f"Authorization: Bearer {server.token}\r\n\r\n").encode())
        self.answer = http.client.HTTPResponse(self.socket)
        self.answer.begin()

    def close(self):
        self.answer.close()
        self.socket.close()


def read_all(server, revisions, begin):
    """What a watch after write `begin` of the history has seen; None: it is refused for now."""
    answer = server.connect()
    answer.request("GET", f"{MAPS}?watch=1&resourceVersion={revisions[begin]}",
                   headers={"Authorization": f"Bearer {server.token}"})
    response = answer.getresponse()
    if response.status == 429:
        assert int(response.getheader("Retry-After")) >= 1
        answer.close()
        return None
    assert response.status == 200, response.status
    seen = []
    for _ in revisions[begin + 1:]:
        event = json.loads(response.readline())
        if event["type"] == "ERROR" and event["object"]["code"] == 429:
            answer.close()
            return None
        assert event["type"] in ("ADDED", "MODIFIED"), event
        seen.append(int(event["object"]["metadata"]["resourceVersion"]))
    assert seen == revisions[begin + 1:]
    answer.close()
    return seen


@test
def a_watch_from_before_all_that_fits_the_budget_is_served(server):
    with Server(PROGRAM, "--watch-cache-bytes", str(BUDGET), *FLAGS) as other:
        revisions = write_history(other)
        for begin in (0, 200):
            assert read_all(other, revisions, begin)
        other.restart(signal.SIGKILL)
        for begin in (0, 200, 380):
            assert read_all(other, revisions, begin)
        assert number(other, "coracle_watch_cache_history_bytes") < 2 * BUDGET


@test
def too_many_watches_from_long_ago_are_429_and_others_are_served_again(server):
    if sanitizer_of(PROGRAM) == "tsan":
        raise Skip("the first of the readings end before the last has begun: storage/cacher_replay counts them")
    with Server(PROGRAM, "--watch-cache-bytes", str(BUDGET), *FLAGS) as other:
        revisions = write_history(other)
        other.restart(signal.SIGKILL)
        before, unread, refused = rss(other), [], None
        for i in range(WATCHES_MAX):
            unread.append(Unread(other, revisions[0] + 150 - i % 150))
            if unread[-1].answer.status != 200:
                refused = unread[-1].answer
                break
        assert refused and refused.status == 429, "nothing was refused"
        assert int(refused.getheader("Retry-After")) >= 1
        status = json.loads(refused.read())
        assert status["reason"] == "TooManyRequests" and status["details"]["retryAfterSeconds"] >= 1, status
        growth = rss(other) - before
        assert growth < GROWTH_MAX or sanitizer_of(PROGRAM), f"{len(unread)} watches took {growth >> 20} MB"
        # Those that do not read are put aside, and their readings end.
        end = time.monotonic() + REQUEST_S
        while not read_all(other, revisions, 0):
            assert time.monotonic() < end, "watches that nobody reads keep others out"
            time.sleep(0.2)
        for watch in unread:
            watch.close()


if __name__ == "__main__":
    main()
