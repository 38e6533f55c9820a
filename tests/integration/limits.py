#!/usr/bin/env python3
"""How many requests may be under way, and who counts. limits.py PROGRAM [FLAG...]"""

import contextlib
import json
import pathlib
import select
import socket
import struct
import sys
import tempfile
import time

from fixture import REQUEST_S, Server, UnixConnection, config_map, main, test

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]
MAPS = "/api/v1/namespaces/default/configmaps"
# More than a Unix socket and a response buffer, so that its sender waits for the reader.
BIG = "x" * 900_000


def limited(folder, *flags):
    """A server with room for one request of each kind; ann is nobody special, the socket's owner is a master."""
    tokens = pathlib.Path(folder) / "tokens.csv"
    tokens.write_text("t-ann,ann,1\n")
    return Server(PROGRAM, "--token-auth-file", str(tokens), "--authorization-mode", "AlwaysAllow",
                  "--unix-socket", folder + "/s.sock", "--max-requests-inflight", "1",
                  "--max-mutating-requests-inflight", "1", *flags, *FLAGS)


def hold(folder, method, path, body=None):
    """Asks for more than fits the buffers and does not read it: the request stays under way. As ann: a master would be let
    in without being counted while the place of the request before it is not free yet."""
    connection = UnixConnection(folder + "/s.sock")
    connection.request(method, path, body and json.dumps(body), {"Authorization": "Bearer t-ann"})
    return connection


def hold_reading(folder, path):
    """The same for a GET that was let in."""
    end = time.monotonic() + REQUEST_S
    while True:
        connection = hold(folder, "GET", path)
        response = connection.getresponse()
        if response.status == 200:
            return connection, response
        connection.close()
        assert time.monotonic() < end, "it was not let in"


def wait_until(is_so):
    end = time.monotonic() + REQUEST_S
    while not is_so():
        assert time.monotonic() < end, "it did not come about in time"


def is_full(server):
    return lambda: server.get(MAPS + "/none", token="t-ann").status == 429


def mutating(server):
    text = server.get("/metrics").expect(200).body.decode()
    return int(text.split('apiserver_current_inflight_requests{request_kind="mutating"} ')[1].split("\n")[0])


def expect_busy(answer):
    answer.expect(429)
    assert answer.headers["Retry-After"] == "1", answer.headers
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8", answer.headers
    assert answer.body == b"Too many requests, please try again later.\n", answer.body


@test
def paths_have_a_limit(server):
    for n in (5000, 20000):
        status = server.get(f"{MAPS}/{'a' * n}").expect(413).json()
        assert status["reason"] == "RequestEntityTooLarge", status
    server.get(f"{MAPS}/{'a' * 70000}").expect(414)


@test
def reading_requests_have_a_limit(server):
    with tempfile.TemporaryDirectory() as folder, limited(folder) as other:
        other.create(MAPS, config_map("big", data=BIG))
        other.get(MAPS, token="t-ann").expect(200)
        held, response = hold_reading(folder, MAPS)
        # The held one fills the only place; masters get in beside it without being counted.
        wait_until(is_full(other))
        expect_busy(other.get(MAPS, token="t-ann"))
        expect_busy(other.get("/version", token="t-ann"))
        for probe in ("/livez", "/readyz", "/healthz", "/readyz?verbose"):
            other.get(probe, token="t-ann").expect(200)
        other.get(MAPS).expect(200)
        other.request("POST", MAPS, config_map("small"), token="t-ann").expect(201)
        assert len(response.read()) > len(BIG)
        held.close()
        wait_until(lambda: other.get(MAPS, token="t-ann").status == 200)


@test
def mutating_requests_have_a_limit(server):
    with tempfile.TemporaryDirectory() as folder, limited(folder) as other:
        held = hold(folder, "POST", MAPS, config_map("big", data=BIG))
        wait_until(lambda: mutating(other) == 1)
        expect_busy(other.request("POST", MAPS, config_map("small"), token="t-ann"))
        expect_busy(other.request("DELETE", MAPS + "/big", token="t-ann"))
        expect_busy(other.request("PATCH", MAPS + "/big", {}, token="t-ann", Content_Type="application/merge-patch+json"))
        other.get(MAPS + "/small", token="t-ann").expect(404)
        other.create(MAPS, config_map("of-a-master"))
        assert held.getresponse().status == 201
        held.close()
        wait_until(lambda: mutating(other) == 0)
        other.request("POST", MAPS, config_map("small"), token="t-ann").expect(201)


@test
def watches_do_not_count(server):
    with tempfile.TemporaryDirectory() as folder, limited(folder) as other:
        other.create(MAPS, config_map("big", data=BIG))
        watches = [other.watch(MAPS + "?watch=true", token="t-ann") for _ in range(3)]
        assert [next(watch)["type"] for watch in watches] == ["ADDED"] * 3
        other.get(MAPS, token="t-ann").expect(200)
        held, _ = hold_reading(folder, MAPS)
        wait_until(is_full(other))
        watches.append(other.watch(MAPS + "?watch=true", token="t-ann"))
        assert next(watches[-1])["type"] == "ADDED"
        held.close()
        for watch in watches:
            watch.close()


@test
def no_limit_is_no_limit(server):
    with tempfile.TemporaryDirectory() as folder:
        with limited(folder, "--max-requests-inflight", "0") as other:
            other.create(MAPS, config_map("big", data=BIG))
            held = [hold(folder, "GET", MAPS) for _ in range(3)]
            other.get(MAPS, token="t-ann").expect(200)
            for connection in held:
                connection.close()


def head_of_a_post(folder, length, token=None, **headers):
    """Sends the head of a request only; its body of `length` bytes does not come."""
    connection = UnixConnection(folder + "/s.sock")
    connection.putrequest("POST", MAPS)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(length))
    if token:
        connection.putheader("Authorization", "Bearer " + token)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    return connection


@test
def a_request_is_refused_before_its_body_is_read(server):
    with tempfile.TemporaryDirectory() as folder, limited(folder) as other:
        connection = head_of_a_post(folder, 3_000_000, "t-nobody")
        answer = connection.getresponse()
        assert answer.status == 401, answer.status
        assert answer.headers["Connection"] == "close", answer.headers
        connection.close()
        # A short one is passed over, and the connection serves the next request.
        connection = head_of_a_post(folder, 4, "t-nobody")
        answer = connection.getresponse()
        assert answer.status == 401 and answer.read(), answer.status
        connection.send(b"four")
        connection.request("GET", MAPS)
        assert connection.getresponse().status == 200
        connection.close()
        # One who is refused does not learn what this server takes.
        connection = head_of_a_post(folder, 30_000_000, "t-nobody")
        assert connection.getresponse().status == 401
        connection.close()
        connection = head_of_a_post(folder, 30_000_000, "t-ann")
        assert connection.getresponse().status == 413
        connection.close()
        other.get(MAPS).expect(200)


@test
def a_body_that_has_not_come_takes_no_place_of_another_request(server):
    # On a busy machine the bodies wait for more than the minute that a request has.
    with tempfile.TemporaryDirectory() as folder, limited(folder, "--request-timeout", "10m") as other:
        waiting = [head_of_a_post(folder, 1000, "t-ann", Expect="100-continue") for _ in range(5)]
        for connection in waiting:
            # A head that came while another request has the place would be refused: all are accepted before the first request.
            connection.sock.recv(1, socket.MSG_PEEK)
            connection.send(b"{")
        # The place of a request that was answered may be free a moment later.
        for i in range(5):
            wait_until(lambda: other.request("POST", MAPS, config_map(f"beside-{i}"), token="t-ann").status == 201)
        wait_until(lambda: mutating(other) == 0)
        # The place is taken when the body is whole.
        waiting[0].send(json.dumps(config_map("late")).encode()[1:].ljust(999))
        assert waiting[0].getresponse().status == 201
        for connection in waiting:
            connection.close()


def refusals(server, limit):
    text = server.get("/metrics").expect(200).body.decode()
    return int(text.split(f'coracle_http_refusals_total{{limit="{limit}"}} ')[1].split("\n")[0])


def held_bytes(server, sender):
    text = server.get("/metrics").expect(200).body.decode()
    return int(text.split(f'coracle_http_held_bytes{{sender="{sender}"}} ')[1].split("\n")[0])


@test
def bodies_of_one_user_leave_room_for_others(server):
    most = b" " * 2_999_999
    with tempfile.TemporaryDirectory() as folder:
        tokens = pathlib.Path(folder) / "tokens.csv"
        tokens.write_text("t-eve,eve,1\nt-bob,bob,2\n")
        with Server(PROGRAM, "--token-auth-file", str(tokens), "--authorization-mode", "AlwaysAllow", "--unix-socket",
                    folder + "/s.sock", *FLAGS) as other:
            waiting = []
            for i in range(100):
                connection = head_of_a_post(folder, 3_000_000, "t-eve")
                waiting.append(connection)
                with contextlib.suppress(OSError):
                    connection.send(most)
                if i % 10 == 9:
                    other.request("POST", MAPS, config_map(f"of-bob-{i}"), token="t-bob").expect(201)
                    other.create(MAPS, config_map(f"of-a-master-{i}"))
            # A quarter of the 256 MB is one user's.
            assert 0 < held_bytes(other, "user") <= 64 << 20, held_bytes(other, "user")
            assert refusals(other, "user_bytes") > 0
            readable, _, _ = select.select([connection.sock for connection in waiting], [], [], REQUEST_S)
            answers = [connection.getresponse() for connection in waiting if connection.sock in readable]
            assert len(answers) > 50 and all(answer.status == 429 for answer in answers), [answer.status for answer in answers]
            assert answers[0].headers["Retry-After"] == "1", answers[0].headers
            for connection in waiting:
                connection.close()
            wait_until(lambda: held_bytes(other, "user") == 0)
            other.request("POST", MAPS, config_map("of-eve"), token="t-eve").expect(201)


def streams_offered(folder):
    """SETTINGS_MAX_CONCURRENT_STREAMS of the server's first frame."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.settimeout(REQUEST_S)
        s.connect(folder + "/s.sock")
        s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5))
        stream = s.makefile("rb")
        head = stream.read(9)
        assert head[3] == 4, head
        settings = stream.read(int.from_bytes(head[:3], "big"))
    pairs = [struct.unpack(">HI", settings[at:at + 6]) for at in range(0, len(settings), 6)]
    return dict(pairs)[3]


@test
def streams_of_an_http2_connection_have_a_limit(server):
    for flags, limit in (([], 1000), (["--http2-max-streams-per-connection", "7"], 7)):
        with tempfile.TemporaryDirectory() as folder, limited(folder, *flags):
            assert streams_offered(folder) == limit


if __name__ == "__main__":
    main()
