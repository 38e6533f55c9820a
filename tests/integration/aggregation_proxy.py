#!/usr/bin/env python3
"""Requests through the server to an aggregated API server. aggregation_proxy.py PROGRAM [FLAG...]

Where COR_KUBE_APISERVER names a kube-apiserver, the same requests go through it, and what the target and the clients see is
compared."""

import pathlib
import shutil
import socket
import ssl
import sys
import tempfile
import time

from fixture import Server, Skip, await_it, main, test
from recording_target import Target

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]
BASE = "/apis/wardle.example.com/v1"
TOKENS = 'kube-token,kube,uid-1,"system:masters,g 2"\njoe-token,joe,,dev\n'
SERVICE = {"metadata": {"name": "api"}, "spec": {"type": "ExternalName", "externalName": "localhost"}}


def api_service(port):
    return {"kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1", "metadata": {"name": "v1.wardle.example.com"},
            "spec": {"group": "wardle.example.com", "version": "v1", "insecureSkipTLSVerify": True, "groupPriorityMinimum": 100,
                     "versionPriority": 100, "service": {"namespace": "wardle", "name": "api", "port": port}}}


class Through:
    """A server with a target behind it."""

    def __init__(self, *flags):
        if not shutil.which("openssl"):
            raise Skip("openssl is not there")
        self.folder = tempfile.TemporaryDirectory()
        self.target = Target(self.folder.name)
        tokens = pathlib.Path(self.folder.name) / "tokens.csv"
        tokens.write_text(TOKENS)
        self.server = Server(PROGRAM, "--token-auth-file", str(tokens), *flags, *FLAGS)

    def __enter__(self):
        self.server.__enter__()
        self.port = self.server.port
        register(lambda method, path, body=None: self.server.request(method, path, body, token="kube-token").status, self.target.port)
        return self

    def __exit__(self, *why):
        self.server.__exit__(*why)
        if self.target.listener:
            self.target.close()
        self.folder.cleanup()

    def get(self, path, **options):
        return self.server.get(BASE + path, token="kube-token", **options)


def register(request, port):
    """Makes the Service and the APIService, and waits until requests go through."""
    assert request("POST", "/api/v1/namespaces", {"metadata": {"name": "wardle"}}) == 201
    assert request("POST", "/api/v1/namespaces/wardle/services", SERVICE) == 201
    assert request("POST", "/apis/apiregistration.k8s.io/v1/apiservices", api_service(port)) == 201
    await_it(lambda: request("GET", BASE) == 200, "the service")


def raw(port, text, more=b"", wait=0.7):
    """Sends bytes over TLS; all that comes back until the end, or until nothing has come for a while."""
    with ssl._create_unverified_context().wrap_socket(socket.create_connection(("127.0.0.1", port))) as connection:
        connection.settimeout(wait)
        connection.sendall(text.replace("\n", "\r\n").encode("latin1"))
        seen = b""
        try:
            while piece := connection.recv(65536):
                seen += piece
                if more and b"\r\n\r\n" in seen:
                    connection.sendall(more)
                    more = b""
        except TimeoutError:
            return seen
        return seen + b"<END>"


AUTH = "Host: client.example:1\nAuthorization: Bearer kube-token\n"
REQUESTS = [
    f"GET {BASE}/things?b=2&a=1&c=%20x+y&a=0 HTTP/1.1\n{AUTH}Accept: application/json\nUser-Agent: me\nX-Remote-User: root\n"
    "X-Remote-Extra-Foo: 1\nX-Remote-Group: g\nX-Remote-Uid: 5\nX-Forwarded-For: 1.2.3.4\nX-Forwarded-Proto: gopher\n"
    "X-Forwarded-Host: fh\nX-Forwarded-Uri: /u\nForwarded: for=1\nVia: 1.0 x\nX-Custom: a\nX-Custom: b\n"
    "Connection: X-Drop, keep-alive\nX-Drop: 1\nKeep-Alive: 3\nProxy-Connection: x\nProxy-Authorization: x\nTE: trailers\n"
    "Cookie: c=1\nAudit-ID: aud-1\nAccept-Encoding: br\n\n",
    f"GET {BASE}/things HTTP/1.1\n{AUTH}\n",
    f"GET {BASE}/name%2Fspaces/a%20b/%7Ex;y=1?x=%zz&y=1;2&z HTTP/1.1\n{AUTH}\n",
    f"GET {BASE}/things/ HTTP/1.1\n{AUTH}\n",
    f"GET {BASE}/x?a=%E4%BD%A0&b=a/b:c@d!*()'$,;&c=~-_. HTTP/1.1\n{AUTH}\n",
    f"POST {BASE}/things HTTP/1.1\n{AUTH}Impersonate-User: ann\nImpersonate-Uid: u\nImpersonate-Group: dev\n"
    "Impersonate-Extra-Scopes%2fX: v 1\nContent-Type: application/json\nContent-Length: 3\n\nabc",
    f"POST {BASE}/things HTTP/1.1\n{AUTH}Transfer-Encoding: chunked\n\n3\nabc\n0\n\n",
    f"PUT {BASE}/things/x HTTP/1.1\n{AUTH}Content-Length: 0\n\n",
    f"PATCH {BASE}/things/x HTTP/1.1\n{AUTH}Content-Type: application/merge-patch+json\nContent-Length: 2\n\n{{}}",
    f"DELETE {BASE}/things/x HTTP/1.1\n{AUTH}\n",
    f"HEAD {BASE}/things/x HTTP/1.1\n{AUTH}\n",
    f"OPTIONS {BASE}/things/x HTTP/1.1\n{AUTH}\n",
    *(f"GET {BASE}/namespaces/n/things/{what} HTTP/1.1\n{AUTH}\n"
      for what in ("redirect", "moved304", "same", "headers", "short", "garbage", "reset", "conflict")),
    f"GET {BASE}/tunnel HTTP/1.1\n{AUTH}User-Agent: me\nConnection: Upgrade\nUpgrade: echo\nX-Remote-User: root\nX-Forwarded-For: 9.9.9.9\n\n",
    f"GET {BASE}/things HTTP/1.1\n{AUTH}User-Agent: me\nConnection: Upgrade\nUpgrade: echo\n\n",
    f"GET {BASE}/conflict HTTP/1.1\n{AUTH}User-Agent: me\nConnection: Upgrade\nUpgrade: echo\n\n",
]
# What a client may see otherwise: our own words for bytes that are no HTTP; an answer that is cut is seen as far as it came, where
# kube-apiserver throws its head away; the refusal of an upgrade has our headers, and its connection stays.
OTHERWISE = {"garbage", "short", "refused"}


def exchange(port, target, text):
    """What the client and the target see of a request, without what differs from run to run."""
    target.take()
    answer = raw(port, text, more=b"ping" if "/tunnel" in text else b"").decode("latin1")
    head, _, body = answer.partition("\r\n\r\n")
    line, *lines = head.split("\r\n")
    own = ("date", "audit-id", "x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid")
    lines = [(name.lower(), value) for name, _, value in (one.partition(":") for one in lines)]
    headers = sorted(one for one in lines if one[0] not in own)
    seen = target.take()[:1]  # a request whose connection broke is asked again
    for at, request in enumerate(seen):
        # Go asks for gzip by itself, and unpacks it.
        kept = sorted(h for h in request.headers if h[0] != "audit-id" and h != ("accept-encoding", "gzip"))
        seen[at] = (request.line, kept, request.body)
    return (line, headers, body), seen


@test
def the_target_and_the_client_see_what_they_see_behind_kube_apiserver(server):
    """Contract extension 4.4.3, 4.4.4, 4.4.6; worked cases 37, 38, 39."""
    from etcd_cluster import Cluster
    from kube_apiserver import KubeApiserver
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd, Through() as through:
        folder = pathlib.Path(name)
        kube = KubeApiserver(etcd, folder)
        (folder / "tokens.csv").write_text(TOKENS)
        pki = through.server.data / "pki"
        kube.command += [f"--requestheader-client-ca-file={pki}/front-proxy-ca.crt", "--requestheader-username-headers=X-Remote-User",
                         "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                         "--requestheader-allowed-names=front-proxy-client",
                         f"--proxy-client-cert-file={pki}/front-proxy-client.crt",
                         f"--proxy-client-key-file={pki}/front-proxy-client.key"]
        with kube:
            register(lambda method, path, body=None: kube.request(method, path, body)[0], through.target.port)
            for text in REQUESTS:
                ours, theirs = (exchange(port, through.target, text) for port in (through.port, kube.port))
                what = text.split(" ")[1].rsplit("/", 1)[1]
                if what == "conflict" and "Upgrade" in text:
                    what = "refused"
                    assert "409 Conflict" in ours[0][0] and "409 Conflict" in theirs[0][0], (ours, theirs)
                assert ours[1] == theirs[1], f"{text}\nours   {ours[1]}\ntheirs {theirs[1]}"
                if what not in OTHERWISE:
                    assert ours[0] == theirs[0], f"{text}\nours   {ours[0]}\ntheirs {theirs[0]}"


@test
def a_request_is_passed_on_with_its_user(server):
    """Contract extension 4.4.2, 4.4.4: without a kube-apiserver to compare with."""
    with Through() as through:
        (line, _, body), ((request, headers, _),) = exchange(through.port, through.target, REQUESTS[0])
        assert line == "HTTP/1.1 200 OK" and body == '{"kind":"Echo"}', (line, body)
        assert request == f"GET {BASE}/things?a=1&a=0&b=2&c=+x+y HTTP/1.1", request
        assert [h for h in headers if h[0].startswith("x-remote-")] == [
            ("x-remote-group", "g 2"), ("x-remote-group", "system:authenticated"), ("x-remote-group", "system:masters"),
            ("x-remote-uid", "uid-1"), ("x-remote-user", "kube")], headers
        assert not [h for h in headers if h[0] in ("authorization", "connection", "x-drop", "keep-alive")], headers
        # The caller needs the right to ask: nothing reaches the target otherwise.
        through.target.take()
        assert through.server.get(BASE + "/things", token=None).status in (401, 403)
        assert through.target.take() == []


@test
def a_user_whom_a_delegate_knows_is_passed_on(server):
    """The answer of the delegate comes when the head of the request is gone: the proxy works with the copy."""
    with Through("--authentication-kubeconfig", str(server.data / "admin.kubeconfig")) as through:
        through.target.take()
        text = f"POST {BASE}/things?x=1 HTTP/1.1\nHost: h\nAuthorization: Bearer {server.token}\nX-Remote-User: root\nX-Mine: 1\nContent-Length: 3\n\nabc"
        seen = raw(through.port, text, wait=3)
        assert seen.endswith(b'{"kind":"Echo"}'), seen
        (request,) = through.target.take()
        assert request.line == f"POST {BASE}/things?x=1 HTTP/1.1" and request.body == b"abc", request
        assert [v for n, v in request.headers if n == "x-remote-user"] == ["kubernetes-admin"], request
        assert ("x-mine", "1") in request.headers and "authorization" not in dict(request.headers), request


@test
def a_tunnel_carries_bytes_both_ways(server):
    """Contract extension 4.4.6."""
    with Through() as through:
        through.target.take()
        seen = raw(through.port, next(r for r in REQUESTS if "/tunnel" in r), b"ping")
        assert seen.startswith(b"HTTP/1.1 101 Switching Protocols\r\n") and seen.endswith(b"\r\n\r\nhelloPING"), seen
        assert b"X-Up: 1" in seen, seen
        ((_, headers, _),) = through.target.take()
        assert ("x-remote-user", "kube") in headers and ("x-remote-user", "root") not in headers, headers


@test
def an_upgrade_with_a_body_is_an_ordinary_request(server):
    with Through() as through:
        for body in ("Content-Length: 3\n\nabc", "Transfer-Encoding: chunked\n\n3\nabc\n0\n\n"):
            through.target.take()
            seen = raw(through.port, f"POST {BASE}/things HTTP/1.1\n{AUTH}Connection: Upgrade\nUpgrade: echo\n{body}")
            assert seen.endswith(b'{"kind":"Echo"}'), seen
            (request,) = through.target.take()
            assert request.body == b"abc" and "upgrade" not in dict(request.headers), request


@test
def a_proxied_request_has_a_place_in_flight(server):
    with Through("--max-requests-inflight=2", "--authorization-mode=AlwaysAllow") as through:
        held = through.server.connect()
        held.request("GET", BASE + "/namespaces/n/things/hang", headers={"Authorization": "Bearer joe-token"})
        await_it(lambda: any("/hang" in r.line for r in through.target.seen), "the first request")
        ask = lambda token: through.server.get(BASE + "/things", token=token)
        assert ask("joe-token").expect(429).headers["Retry-After"]
        ask("kube-token").expect(200)
        held.close()
        await_it(lambda: ask("joe-token").status == 200, "the place")


@test
def a_watch_goes_on_while_others_are_answered_and_ends_with_the_server(server):
    """Contract extension 4.4.7."""
    with Through() as through:
        watch = through.server.watch(BASE + "/stream?watch=1", token="kube-token")
        assert watch.response.read(12) == b'{"event": 0}'
        for _ in range(20):
            through.get("/things").expect(200)
        assert watch.response.read(12) == b'{"event": 1}'
        through.server.restart(keep_port=True)
        watch.close()


@test
def a_dead_service_costs_its_own_requests_only(server):
    """Contract extension 4.4.3; worked case 34."""
    with Through() as through:
        port = through.target.port
        through.target.close()
        answer = through.get("/things").expect(503)
        assert answer.body == b"error trying to reach service: dial tcp localhost:%d: connect: connection refused\n" % port, answer.body
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        await_it(lambda: through.get("/things").body == b"service unavailable\n", "unavailability", 90)
        began = time.monotonic()
        for _ in range(50):
            through.get("/things").expect(503)
            through.server.get("/api/v1/namespaces/default").expect(200)
        assert time.monotonic() - began < 30
        through.target = Target(through.folder.name, port=port)
        await_it(lambda: through.get("/things").status == 200, "the service again", 90)


@test
def a_service_that_hangs_ends_at_the_deadline(server):
    """What kube-apiserver v1.34.1 answers: 504 with a Status."""
    with Through() as through:
        answer = through.get("/namespaces/n/things/hang?timeout=1s").expect(504)
        assert answer.json()["reason"] == "Timeout", answer.body


@test
def flags_say_where_services_are_and_whether_they_may_redirect(server):
    with Through("--aggregator-reject-forwarding-redirect=false") as through:
        answer = through.get("/redirect").expect(302)
        assert answer.headers["Location"], answer.headers
    import subprocess
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([PROGRAM, "serve", "--data", folder, "--port", "0", "--aggregator-resolve", "api=x"], capture_output=True,
                              text=True)
        assert done.returncode != 0 and '--aggregator-resolve "api=x" is not name.namespace=host:port' in done.stderr, done.stderr


def descriptors(process):
    return len(list(pathlib.Path(f"/proc/{process.pid}/fd").iterdir()))


@test
def a_service_that_misbehaves_leaves_nothing_behind(server):
    with Through() as through:
        def misbehave():
            for what in ("reset", "short", "garbage", "headers", "redirect"):
                try:
                    through.get(f"/namespaces/n/things/{what}")
                except Exception:  # the answer broke off
                    pass
            raw(through.port, f"GET {BASE}/stream?watch=1 HTTP/1.1\n{AUTH}\n", wait=0.05)
            raw(through.port, f"POST {BASE}/things HTTP/1.1\n{AUTH}Content-Length: 100000\n\nabc", wait=0.05)
            raw(through.port, next(r for r in REQUESTS if "/tunnel" in r), b"x", wait=0.05)
        for _ in range(3):
            misbehave()
        await_it(lambda: through.get("/things").status == 200)
        before = descriptors(through.server.process)
        for _ in range(20):
            misbehave()
        await_it(lambda: through.get("/things").status == 200)
        await_it(lambda: descriptors(through.server.process) <= before + 5, f"{before} descriptors")


main()
