#!/usr/bin/env python3
"""Who a client is, is what the server knows of it: nothing that a client writes into its request says so to an aggregated server, in any
spelling and in either protocol. aggregation_smuggling.py PROGRAM [FLAG...]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hostile"))

import h2  # noqa: E402
from fixture import await_it, test  # noqa: E402
from through import BASE, Through, ask, connect, play_through  # noqa: E402

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]
AUTH = "Host: h\nAuthorization: Bearer kube-token\n"
EVIL = "evil"
NAMES = ["X-Remote-User", "X-Remote-Uid", "X-Remote-Group", "X-Remote-Extra-Scopes"]
USER = [("x-remote-group", "g 2"), ("x-remote-group", "system:authenticated"), ("x-remote-group", "system:masters"),
        ("x-remote-uid", "uid-1"), ("x-remote-user", "kube")]


def spellings(name):
    """The name as careless servers might still read it."""
    return [name, name.lower(), name.upper(), name.swapcase(), name.replace("-", "_"), name.replace("-", "_").lower(),
            name.replace("-", "_", 1), "_".join(name.rsplit("-", 1)), name.upper().replace("-", "_")]


def check(front, what, is_refused=False):
    """The target saw the user that the server knows, and nothing of what the client wrote; or nothing at all."""
    seen = front.target.take()
    assert len(seen) == 1 or (is_refused and not seen), f"{what!r}: {seen}"
    for request in seen:
        said = [(name.replace("_", "-").lower(), value) for name, value in request.headers]
        assert not [one for one in said if EVIL in one[0] or EVIL in one[1]] and EVIL not in request.line, f"{what!r}: {request}"
        assert sorted(one for one in said if one[0].startswith("x-remote-")) == USER, f"{what!r}: {request}"
        assert "authorization" not in dict(said), f"{what!r}: {request}"


def send(front, text, codes=(200,)):
    front.target.take()
    answer = ask(front.port, text)
    code = int(answer.split()[1]) if answer.startswith(b"HTTP/1.") else 0
    assert code in codes, f"{text!r}: {answer!r}"
    check(front, text, code != 200)


@test
def headers_of_a_client_say_nothing_about_its_user(front):
    """Contract extension 4.4.4; worked case 38, with every spelling."""
    for name in NAMES:
        for form in ("{0}: evil\n", "{0}: evil\n{0}: evil\n", "{0}:evil\n", "{0}: \t evil \t\n", "{0}:\n{0}: evil\n"):
            lines = "".join(form.format(spelled) for spelled in spellings(name))
            send(front, f"GET {BASE}/things HTTP/1.1\n{AUTH}{lines}\n")


@test
def what_is_no_header_is_refused(front):
    """Folded lines, spaces and control bytes in and about names: an answer of 400, or a request without them."""
    forms = ["{0} : evil\n", "{0}\t: evil\n", "{0}:\n evil\n", "{0}: a\n evil\n", "X-A: b\n {0}: evil\n", "X-A: b\n\t{0}: evil\n", " {0}: evil\n",
             "X-A: b\r{0}: evil\n", "X-A: b\x00{0}: evil\n", "X-A: b\x0b{0}: evil\n", "{0}\x00: evil\n", "\x00{0}: evil\n", "{0}\x7f: evil\n",
             "{0}\xa0: evil\n", "X-A:\x00\n{0}: evil\n"]
    for name in NAMES:
        for form in forms:
            send(front, f"GET {BASE}/things HTTP/1.1\n{AUTH}{form.format(name)}\n", (200, 400))
    # A line that ends without a carriage return: these bytes are sent as they are.
    for name in NAMES:
        text = f"GET {BASE}/things HTTP/1.1\n{AUTH}X-A: b%{name}: {EVIL}\n\n".replace("\n", "\r\n").replace("%", "\n")
        front.target.take()
        with connect(front.port) as connection:
            connection.sendall(text.encode())
            answer = connection.recv(4096)
        check(front, text, not answer.startswith(b"HTTP/1.1 200"))


@test
def a_connection_header_takes_nothing_away(front):
    """What the proxy says of the user is no header of the connection, whatever the client calls it."""
    names = [*NAMES, "X-Forwarded-For", "X-Forwarded-Uri", "Audit-Id", "Host", "Authorization", "Content-Length"]
    for name in names:
        for value in (name.lower(), f"keep-alive, {name}"):
            send(front, f"GET {BASE}/things HTTP/1.1\n{AUTH}Connection: {value}\n\n")
    for name in NAMES:
        for value in (name, f"close,{name}"):
            send(front, f"GET {BASE}/things HTTP/1.1\n{AUTH}Connection: {value}\n{name}: {EVIL}\n\n")
    send(front, f"GET {BASE}/things HTTP/1.1\n{AUTH}" + "".join(f"Connection: {name}\n{name}: {EVIL}\n" for name in NAMES) + "\n")
    front.target.take()
    ask(front.port, f"GET {BASE}/things HTTP/1.1\n{AUTH}Connection: X-Forwarded-For\nX-Forwarded-For: 1.2.3.4\n\n")
    (request,) = front.target.take()
    assert [v for n, v in request.headers if n == "x-forwarded-for"][-1].endswith("127.0.0.1"), request


@test
def an_upgrade_says_nothing_about_its_user_either(front):
    for name in NAMES:
        lines = "".join(f"{spelled}: {EVIL}\n" for spelled in spellings(name))
        for connection in ("Upgrade", f"Upgrade, {name}", f"{name.lower()}, upgrade"):
            front.target.take()
            answer = ask(front.port, f"GET {BASE}/tunnel HTTP/1.1\n{AUTH}Connection: {connection}\nUpgrade: echo\n{lines}\n",
                         more=b"ping", until=b"PING")
            assert answer.startswith(b"HTTP/1.1 101 "), answer
            check(front, lines)


@test
def trailers_of_a_body_go_nowhere(front):
    for name in NAMES:
        lines = "".join(f"{spelled}: {EVIL}\n" for spelled in spellings(name))
        for trailer in ("", f"Trailer: {name}\n"):
            send(front, f"POST {BASE}/things HTTP/1.1\n{AUTH}{trailer}Transfer-Encoding: chunked\n\n3\nabc\n0\n{lines}\n")


@test
def a_second_request_is_not_hidden_in_the_first(front):
    """Lengths that contradict each other are refused; the bytes of a body are a body."""
    hidden = f"GET {BASE}/evil HTTP/1.1\nHost: h\nX-Remote-User: {EVIL}\n\n"
    chunk = f"{len(hidden.replace(chr(10), chr(13) + chr(10))):x}\n{hidden}\n"
    both = f"Content-Length: 4\nTransfer-Encoding: chunked\n\n0\n\n{hidden}"
    for lines in (both, both.replace("chunked", "Chunked"), both.replace("Transfer-Encoding", "transfer-encoding"),
                  f"Content-Length: 0\nContent-Length: {len(hidden)}\n\n{hidden}", f"Content-Length: +3\n\nabc{hidden}",
                  f"Content-Length: 0x3\n\nabc{hidden}", f"Transfer-Encoding: xchunked\n\n0\n\n{hidden}",
                  f"Transfer-Encoding: chunked, identity\n\n0\n\n{hidden}", f"Transfer-Encoding : chunked\n\n0\n\n{hidden}",
                  f"Transfer-Encoding: chunked\n\n-1\n{hidden}", f"Transfer-Encoding: chunked\n\n0;\nx\n\n{hidden}"):
        front.target.take()
        ask(front.port, f"POST {BASE}/things HTTP/1.1\n{AUTH}{lines}")
        assert not [r for r in front.target.take() if EVIL in r.line or [v for _, v in r.headers if v == EVIL]], lines
    front.target.take()
    ask(front.port, f"POST {BASE}/things HTTP/1.1\n{AUTH}Transfer-Encoding: chunked\n\n{chunk}0\n\n")
    (request,) = front.target.take()
    assert request.body.decode() == hidden.replace("\n", "\r\n"), request
    # Nor in the target of the request, or in a name of the query.
    for path in ("/things%0d%0aX-Remote-User:%20evil", "/things?a=%0d%0aX-Remote-User:%20evil", "/things%20HTTP/1.1%0d%0aX-Remote-User:evil"):
        front.target.take()
        ask(front.port, f"GET {BASE}{path} HTTP/1.1\n{AUTH}\n")
        for request in front.target.take():
            assert [v for n, v in request.headers if n == "x-remote-user"] == ["kube"] and "\r" not in request.line, request


def stream(front, fields=(), method="GET", path=BASE + "/things", body=None, trailers=(), authority="h"):
    """Sends one request over HTTP/2, and waits until its stream has ended."""
    connection = h2.Connection(front.server)
    try:
        block = h2.literal("authorization", "Bearer kube-token") + b"".join(h2.literal(name, value) for name, value in fields)
        number = connection.open(method, path, block, end_stream=body is None, authority=authority)
        if body is not None:
            connection.send(h2.frame(h2.DATA, 0 if trailers else h2.END_STREAM, number, body))
            if trailers:
                connection.send(h2.frame(h2.HEADERS, h2.END_STREAM | h2.END_HEADERS, number, b"".join(h2.literal(*one) for one in trailers)))

        def has_ended():
            connection.read(0.2)
            return not connection.is_open or any(
                kind in (h2.RST_STREAM, h2.GOAWAY) or (kind in (h2.DATA, h2.HEADERS) and flags & h2.END_STREAM)
                for kind, flags, _, _ in connection.frames)
        await_it(has_ended, "the end of the stream")
        return connection.bodies.get(number)
    finally:
        connection.close()


@test
def http2_says_no_more(front):
    """The same over HTTP/2, where names are lower-case, and what HTTP/1.1 would take for the end of a line is refused."""
    def try_one(what, **how):
        front.target.take()
        answer = stream(front, **how)
        check(front, what, answer is None or b"Echo" not in answer)
        return answer

    assert b"Echo" in try_one("plain", fields=[])
    for name in NAMES:
        fields = [(spelled, EVIL) for spelled in sorted({s.lower() for s in spellings(name)})]
        assert b"Echo" in try_one(fields, fields=fields * 2)
        assert b"Echo" in try_one("trailers", method="POST", body=b"abc", trailers=fields)
        lower = name.lower()
        for field in ((name, EVIL), (lower + " ", EVIL), (" " + lower, EVIL), (lower + ":", EVIL), ("x-a\r\n" + lower, EVIL),
                      ("x-a", f"b\r\n{lower}: {EVIL}"), ("x-a", f"b\n{lower}: {EVIL}"), ("x-a", f"b\x00{lower}: {EVIL}"),
                      ("connection", lower), ("transfer-encoding", "chunked"), ("te", EVIL), ("upgrade", EVIL), (":" + lower, EVIL)):
            try_one(field, fields=[field, (lower, EVIL)])
    for path in (f"{BASE}/things HTTP/1.1\r\nX-Remote-User: {EVIL}", f"{BASE}/things\r\nX-Remote-User: {EVIL}", f"{BASE}/things\nX: {EVIL}",
                 f"{BASE}/things X-Remote-User:{EVIL}"):
        front.target.take()
        stream(front, path=path)
        for request in front.target.take():
            assert sorted(v for n, v in request.headers if n.startswith("x-remote-u")) == ["kube", "uid-1"], request
            assert "\n" not in request.line and len(request.line.split(" ")) == 3, request
    try_one("authority", authority=f"h\r\nX-Remote-User: {EVIL}")
    hidden = f"0\r\n\r\nGET {BASE}/evil HTTP/1.1\r\nHost: h\r\nX-Remote-User: {EVIL}\r\n\r\n".encode()
    try_one("a body", method="POST", body=hidden)
    try_one("a body with another length", method="POST", body=hidden, fields=[("content-length", "3")])


if __name__ == "__main__":
    sys.exit(play_through(lambda: Through(PROGRAM, *FLAGS)))
