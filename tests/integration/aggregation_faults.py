#!/usr/bin/env python3
"""Aggregated servers that are dead, hang, are slow, lie, break off, come and go, or have another certificate; and many idle watches.
aggregation_faults.py PROGRAM [watches=N] [FLAG...]. The short form runs in every suite; `./dev aggregation` runs it with 10,000 watches.

Whatever a service does costs its own requests only, and leaves nothing behind."""

import base64
import pathlib
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hostile"))

import h2  # noqa: E402
from behind import WIDGETS, one_behind_another, widget  # noqa: E402
from certificates import Authority  # noqa: E402
from fixture import await_it, sanitizer_of, test  # noqa: E402
from recording_target import LIES, Target  # noqa: E402
from through import API_SERVICE_PATH, BASE, TOKENS, Through, ask, leave, play_through  # noqa: E402

PROGRAM = sys.argv[1]
WATCHES = next((int(word.split("=")[1]) for word in sys.argv[2:] if word.startswith("watches=")), 300)
FLAGS = [word for word in sys.argv[2:] if not word.startswith("watches=")]
AUTH = "Host: client.example:1\nAuthorization: Bearer kube-token\n"
LOCAL = "/api/v1/namespaces/default"
STREAMS = 500  # of a connection
KB_PER_WATCH = 45
KEPT_MB = 8  # what the allocator may keep of a load that has ended
HAS_SANITIZER = sanitizer_of(PROGRAM)


def through(*flags, **options):
    return Through(PROGRAM, *flags, *FLAGS, **options)


def tokens(folder):
    path = pathlib.Path(folder) / "tokens.csv"
    path.write_text(TOKENS)
    return path


def descriptors(server):
    return len(list(pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir()))


def resident_mb(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def await_200(front, path="/things"):
    await_it(lambda: front.get(path).status == 200, "an answer of the service")


@test
def a_dead_service_costs_its_own_requests_only(_front):
    """Contract extension 4.4.3; worked case 34."""
    with through() as front:
        port = front.target.port
        front.target.close()
        answer = front.get("/things").expect(503)
        assert answer.body == b"error trying to reach service: dial tcp localhost:%d: connect: connection refused\n" % port, answer.body
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        front.await_available("False")
        assert front.get("/things").expect(503).body == b"service unavailable\n"
        figures = front.server.get("/metrics").expect(200).body
        assert b'\naggregator_unavailable_apiservice{name="v1.wardle.example.com"} 1\n' in figures
        assert b'\naggregator_unavailable_apiservice_total{name="v1.wardle.example.com",reason="FailedDiscoveryCheck"} 1\n' in figures
        began = time.monotonic()
        for _ in range(50):
            front.get("/things").expect(503)
            front.server.get(LOCAL).expect(200)
        assert time.monotonic() - began < 30
        front.target = Target(front.folder.name, port=port)
        front.await_available("True")
        await_200(front)


@test
def a_service_that_hangs_ends_at_the_deadline(front):
    """What kube-apiserver v1.34.1 answers: 504 with a Status. Others are answered meanwhile."""
    held = []
    for _ in range(20):
        connection = front.server.connect()
        connection.request("GET", f"{BASE}/namespaces/n/things/hang?timeout=3s", headers={"Authorization": "Bearer kube-token"})
        held.append(connection)
    for _ in range(20):
        front.get("/things").expect(200)
        front.server.get(LOCAL).expect(200)
    answers = [connection.getresponse() for connection in held]
    assert {answer.status for answer in answers} == {504}, [answer.status for answer in answers]
    assert b'"reason":"Timeout"' in answers[0].read()
    for connection in held:
        connection.close()


@test
def a_service_that_never_shakes_hands_ends_at_the_deadline_too(_front):
    """It takes connections and says nothing, to requests and to probes."""
    with through() as front:
        port = front.target.port
        front.target.close()
        with socket.create_server(("127.0.0.1", port), backlog=200):
            began = time.monotonic()
            answer = front.get("/namespaces/n/things?timeout=1s")
            assert answer.status in (503, 504) and time.monotonic() - began < 20, answer.body
            for _ in range(20):
                front.server.get(LOCAL).expect(200)
            front.await_available("False")
            assert front.get("/things").expect(503).body == b"service unavailable\n"
        front.target = Target(front.folder.name, port=port)
        front.await_available("True")
        await_200(front)


@test
def a_slow_service_is_waited_for(front):
    """An answer that comes byte by byte, and others beside it."""
    done = []
    thread = threading.Thread(target=lambda: done.append(front.get("/namespaces/n/things/drip")))
    thread.start()
    for _ in range(10):
        front.get("/things").expect(200)
        front.server.get(LOCAL).expect(200)
    thread.join()
    assert done[0].expect(200).body == b"{}" and done[0].headers.get_all("X-A") == ["1", "2"], done


@test
def a_service_that_lies_is_not_believed(front):
    """The client gets a 503, or an answer that breaks off, and never what came behind the answer; the next request is answered."""
    for what in LIES:
        text = f"GET {BASE}/namespaces/n/things/{what} HTTP/1.1\n{AUTH}\n"
        answer = ask(front.port, text)
        code = int(answer.split()[1]) if answer.startswith(b"HTTP/1.1 ") else 0
        assert code in (0, 200, 500, 502, 503), (what, answer[:200])
        assert b"lies" not in answer and b"Set-Cookie: c" not in answer, (what, answer[:200])
        if code == 200:
            assert answer.endswith(b"<END>") or answer.endswith(b"{}"), (what, answer[:200])
        await_200(front)
        front.server.get(LOCAL).expect(200)


@test
def a_service_that_breaks_off_is_a_503_or_a_cut(front):
    for what, codes in (("abort", (503,)), ("abort-head", (503,)), ("abort-body", (200, 503)), ("reset", (503,)), ("short", (200, 503))):
        for method in ("GET", "POST"):
            body = "" if method == "GET" else "Content-Length: 3\n"
            answer = ask(front.port, f"{method} {BASE}/namespaces/n/things/{what} HTTP/1.1\n{AUTH}{body}\n" + ("" if method == "GET" else "abc"))
            code = int(answer.split()[1])
            assert code in codes and (code == 503 or answer.endswith(b"<END>")), (what, answer)
            await_200(front)


@test
def a_post_is_sent_once(front):
    """What may have been done is not asked for again. Each loop has a circuit of its own, which may have opened before."""
    def is_sent(body):
        front.get("/things")  # so that there is a connection which was used before
        front.target.take()
        answer = ask(front.port, f"POST {BASE}/namespaces/n/things/reset HTTP/1.1\n{AUTH}Content-Length: {len(body)}\n\n{body}")
        sent = [r.line for r in front.target.take() if r.line.startswith("POST")]
        assert answer.startswith(b"HTTP/1.1 503 ") and len(sent) <= 1, (answer, sent)
        return sent
    for body in ("abc", "") * 3:
        await_it(lambda: is_sent(body), "a request")
    await_200(front)


@test
def a_service_that_comes_and_goes_is_followed(_front):
    """Each answer is the service's, or a 503; local requests do not notice; nothing is left."""
    with through() as front:
        port, codes, stop = front.target.port, set(), threading.Event()
        for _ in range(5):
            front.get("/things").expect(200)
        before = descriptors(front.server)

        def load(path, wanted):
            while not stop.is_set():
                code = front.server.get(path, token="kube-token").status
                codes.add((path == LOCAL, code))
                if code not in wanted:
                    return
        threads = [threading.Thread(target=load, args=one) for one in [(BASE + "/things", (200, 503))] * 3 + [(LOCAL, (200,))]]
        for thread in threads:
            thread.start()
        for _ in range(10):
            front.target.close()
            await_it(lambda: front.get("/things").status == 503, "the end of the service")
            front.target = Target(front.folder.name, port=port)
            await_200(front)
        stop.set()
        for thread in threads:
            thread.join()
        assert codes == {(False, 200), (False, 503), (True, 200)}, codes
        front.await_available("True")
        await_it(lambda: descriptors(front.server) <= before + 8, f"{before} descriptors")


class PlainTarget(Target):
    """Speaks no TLS."""

    def serve(self, raw):
        with raw:
            raw.recv(65536)
            raw.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")


@test
def a_service_with_another_certificate_is_not_asked(_front):
    """Contract extension 4.4.5: another authority, another name, one that has expired, no TLS; a certificate of ours that it does not want."""
    with tempfile.TemporaryDirectory() as name:
        good, other = Authority(name, "good"), Authority(name, "other")
        bundle = base64.b64encode(good.crt.read_bytes()).decode()
        target = Target(name)
        target.present(*good.server("api.wardle.svc"))
        with through(target=target, spec={"caBundle": bundle}) as front:
            front.get("/things").expect(200)
            wrong = [other.server("api.wardle.svc"), good.server("api.elsewhere.svc"), good.server("api.wardle.svc", is_expired=True)]
            for pair in wrong:
                port = target.port
                front.target.close()
                front.target = target = Target(name, port=port)
                target.present(*pair)
                target.take()
                # Probes do not look at the certificate (4.3.3), so the service counts as available, as behind kube-apiserver.
                front.await_available("True")
                answer = front.get("/things").expect(503)
                assert answer.body.startswith(b"error trying to reach service: "), answer.body
                assert not [r for r in target.take() if "/things" in r.line]
                front.server.get(LOCAL).expect(200)
            front.target.close()
            front.target = PlainTarget(name, port=port)
            front.get("/things").expect(503)
            front.await_available("False")
            # One that wants a certificate of somebody else.
            front.target.close()
            front.target = target = Target(name, port=port)
            target.present(*good.server("api.wardle.svc"))
            target.trust(other.crt)
            front.get("/things").expect(503)
            assert not [r for r in target.take() if "/things" in r.line]
            front.target.close()
            front.target = target = Target(name, port=port)
            target.present(*good.server("api.wardle.svc"))
            front.await_available("True")
            await_200(front)


@test
def certificates_are_replaced_while_watches_are_open(_front):
    """Contract extension 4.4.4, 4.4.5; worked case 37: the service's, its authority's, and ours. Open watches go on; new requests use the new ones."""
    with tempfile.TemporaryDirectory() as name:
        old, new, proxies = Authority(name, "old"), Authority(name, "new"), Authority(name, "proxies")
        others = Authority(name, "others")
        crt, key = pathlib.Path(name) / "proxy.crt", pathlib.Path(name) / "proxy.key"

        def install(pair):
            for source, place in zip(pair, (crt, key)):
                place.write_bytes(pathlib.Path(source).read_bytes())
        install(proxies.client("/CN=proxy-1"))
        target = Target(name)
        target.present(*old.server("api.wardle.svc"))
        target.trust(proxies.crt, others.crt)
        flags = ["--proxy-client-cert-file", crt, "--proxy-client-key-file", key]
        with through(*flags, target=target, spec={"caBundle": base64.b64encode(old.crt.read_bytes()).decode()}) as front:
            watches = []

            def watch():
                watches.append(front.server.watch(f"{BASE}/quiet?watch=1", token="kube-token"))
                await_it(lambda: len(target.streams) == len(watches), "the watch")

            def hear(number):
                event = b'{"event":%d}\n' % number
                target.tell(event)
                for one in watches:
                    assert one.response.readline() == event

            watch()
            hear(0)
            front.get("/things").expect(200)
            assert set(target.callers) == {"proxy-1"}, target.callers
            # Ours: another key, then another authority.
            for number, pair in ((1, proxies.client("/CN=proxy-2")), (2, others.client("/CN=proxy-3"))):
                install(pair)
                wanted = f"proxy-{number + 1}"
                await_it(lambda: front.get("/things").expect(200) and target.callers[-1] == wanted, f"a request of {wanted}")
                watch()
                hear(number)
            # The service's authority: both at first, as one rotates, then the new one alone.
            both = base64.b64encode(old.crt.read_bytes() + new.crt.read_bytes()).decode()
            for number, bundle, pair in ((3, both, None), (4, both, new.server("api.wardle.svc")),
                                         (5, base64.b64encode(new.crt.read_bytes()).decode(), None)):
                front.server.request("PATCH", API_SERVICE_PATH, {"spec": {"caBundle": bundle}},
                                     Content_Type="application/merge-patch+json").expect(200)
                if pair:
                    target.present(*pair)
                await_200(front)
                watch()
                hear(number)
            front.get("/things").expect(200)
            assert len(watches) == 6
            for one in watches:
                one.close()
            await_it(lambda: not target.streams, "the end of the watches")


@test
def a_service_that_misbehaves_leaves_nothing_behind(front):
    tunnel = f"GET {BASE}/tunnel HTTP/1.1\n{AUTH}Connection: Upgrade\nUpgrade: echo\n\n"

    def misbehave():
        for what in ("abort", "reset", "abort-body", "short", "garbage", "two-lengths", "many-informations", "redirect"):
            ask(front.port, f"GET {BASE}/namespaces/n/things/{what} HTTP/1.1\n{AUTH}\n")
        leave(front.port, f"GET {BASE}/quiet?watch=1 HTTP/1.1\n{AUTH}\n", seconds=0.02)
        leave(front.port, f"POST {BASE}/things HTTP/1.1\n{AUTH}Content-Length: 100000\n\nabc", seconds=0.02)
        leave(front.port, tunnel, b"x", seconds=0.02)
        await_200(front)

    for _ in range(3):
        misbehave()
    before, mb = descriptors(front.server), resident_mb(front.server)
    for _ in range(10):
        misbehave()
    await_it(lambda: descriptors(front.server) <= before + 5, f"{before} descriptors")
    if not HAS_SANITIZER:  # which keeps what is freed
        assert resident_mb(front.server) < mb + KEPT_MB, f"{mb} MB, then {resident_mb(front.server)}"


def open_watches(front, n):
    """n watches over HTTP/2. The connections."""
    token = h2.remembered("authorization", "Bearer kube-token")
    connections = []
    for first in range(0, n, STREAMS):
        connection = h2.Connection(front, source="127.0.0.1", window=1 << 20)
        connections.append(connection)
        connection.send(h2.frame(h2.WINDOW_UPDATE, 0, 0, (1 << 30).to_bytes(4, "big")))
        for i in range(min(STREAMS, n - first)):
            connection.open("GET", WIDGETS + "?watch=1&allowWatchBookmarks=false", token if i == 0 else h2.again())
            if i % 50 == 49:
                connection.read(0)

        def are_open():
            connection.read(0.05)
            assert connection.is_open, "the connection has ended"
            return connection.count(h2.HEADERS) >= min(STREAMS, n - first)
        await_it(are_open, f"{connection.count(h2.HEADERS)} answers", 120)
        assert connection.count(h2.RST_STREAM) == 0, "a watch was refused"
    return connections


@test
def many_idle_watches_cost_little_and_leave_nothing(_front):
    """Contract extension 4.4.7: WATCHES of them through a server to another one; an event reaches each; then they go, twice."""
    with tempfile.TemporaryDirectory() as name, \
            one_behind_another(PROGRAM, ["--token-auth-file", tokens(name), *FLAGS], FLAGS) as (front, behind):
        front.get(WIDGETS).expect(200)
        before, mb = descriptors(front), resident_mb(front)
        for round_ in range(2):
            connections = open_watches(front, WATCHES)
            if not HAS_SANITIZER:
                each = (resident_mb(front) - mb) * 1024 / WATCHES
                print(f"# {WATCHES} watches, {each:.1f} KB each, {descriptors(front) - before} descriptors", flush=True)
                assert each < KB_PER_WATCH or WATCHES < 1000, f"{each:.1f} KB"
            behind.create(WIDGETS, widget(f"w{round_}"))

            def have_heard():
                for connection in connections:
                    connection.read(0.01)
                return all(sum(f'"w{round_}"'.encode() in body for body in c.bodies.values()) >= c.next_stream // 2 for c in connections)
            await_it(have_heard, "an event for each", 120)
            for connection in connections:
                connection.close()
            # Connections to the server behind are kept for a while, with 1000 streams each at most and one at least for each loop.
            kept = 8 + WATCHES // 250
            await_it(lambda: descriptors(front) <= before + kept, f"{before} descriptors instead of {descriptors(front)}")
            front.get(WIDGETS).expect(200)
        if not HAS_SANITIZER:
            # What the first round has left is used again by the second.
            await_it(lambda: resident_mb(front) < mb + KEPT_MB + WATCHES * 20 / 1024, f"{mb} MB instead of {resident_mb(front)}")


if __name__ == "__main__":
    sys.exit(play_through(through))
