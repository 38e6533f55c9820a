#!/usr/bin/env python3
"""A server that delegates: whose a token is and what a user may do, by another server. delegation.py PROGRAM"""

import http.server
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from behind import WIDGETS, api_service, one_behind_another, serve_widgets, widget
from certificates import Authority, openssl
from fixture import Server, Skip, await_it, config_map, main, test, token_file

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]
PODS = "/api/v1/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def kubeconfig(folder, url, token=None, ca=None):
    path = pathlib.Path(folder) / "delegate.kubeconfig"
    cluster = {"server": url, **({"certificate-authority": str(ca)} if ca else {})}
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": token} if token else {}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
    return path


class Scripted(http.server.BaseHTTPRequestHandler):
    """A delegate that says what the test has told it, and writes down what it was asked."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def do_POST(self):
        script = self.server.script
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with script.lock:
            script.asked.append((self.path, self.headers, body))
        code, answer = script.answer(body)
        text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        script = self.server.script
        code, text = script.lookup(self.path)
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Script:
    """The scripted delegate. Users are named by their tokens; `allow` says who may do what."""

    def __init__(self, folder):
        if not shutil.which("openssl"):
            raise Skip("openssl is not there")
        self.folder = folder
        self.lock, self.asked = threading.Lock(), []
        self.ca = Authority(folder, "delegates")
        crt, key = self.ca.server("localhost")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
        self.server.handle_error = lambda *_: None  # an answer that is too long is cut
        self.server.script, self.server.daemon_threads = self, True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(crt, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.lookup = lambda path: (404, b"{}")
        self.answer = self.plain

    def plain(self, body):
        if body["kind"] == "TokenReview":
            token = body["spec"]["token"]
            if not token.startswith("good-"):
                return 201, {**body, "status": {"user": {}, "error": "unknown token"}}
            return 201, {**body, "status": {"authenticated": True, "user": {
                "username": token[5:], "uid": "7", "groups": ["dev", "system:authenticated"], "extra": {"acme.com/a": ["x", "y"]}}}}
        spec = body["spec"]
        return 201, {**body, "status": {"allowed": self.allow(spec), "reason": "" if self.allow(spec) else "by the script"}}

    def allow(self, spec):
        return spec.get("user") == "ann"

    def config(self, token="secret", ca=None):
        return kubeconfig(self.folder, f"https://localhost:{self.port}", token, ca or self.ca.crt)

    def count(self, kind):
        with self.lock:
            return sum(body["kind"] == kind for _, _, body in self.asked)


def delegating(script, *flags, config=None):
    config = config or script.config()
    return Server(PROGRAM, "--authentication-kubeconfig", config, "--authorization-kubeconfig", config,
                  "--authentication-skip-lookup", *flags, *FLAGS)


@test
def tokens_and_rights_are_the_delegates(server):
    """Contract access 1.1.5, 1.4, 2.1.3."""
    with tempfile.TemporaryDirectory() as folder:
        script = Script(folder)
        with delegating(script) as other:
            assert other.request("POST", WHO, REVIEW, token="good-ann").expect(201).json()["status"]["userInfo"] == {
                "username": "ann", "uid": "7", "groups": ["dev", "system:authenticated"], "extra": {"acme.com/a": ["x", "y"]}}
            path, headers, review = script.asked[0]
            assert path == "/apis/authentication.k8s.io/v1/tokenreviews?timeout=10s" and review["spec"] == {"token": "good-ann"}, script.asked[0]
            assert headers["Authorization"] == "Bearer secret"
            assert script.asked[1][2]["spec"] == {
                "user": "ann", "uid": "7", "groups": ["dev", "system:authenticated"], "extra": {"acme.com/a": ["x", "y"]},
                "resourceAttributes": {"group": "authentication.k8s.io", "version": "v1", "resource": "selfsubjectreviews", "verb": "create"}}
            other.get(MAPS, token="good-ann").expect(200)
            assert script.asked[-1][2]["spec"]["resourceAttributes"] == {
                "namespace": "default", "version": "v1", "resource": "configmaps", "verb": "list"}
            # What is selected is part of the question, and one name is the name.
            other.get(MAPS + "?fieldSelector=metadata.name%3Dx&labelSelector=a,b%3Dc", token="good-ann").expect(200)
            assert script.asked[-1][2]["spec"]["resourceAttributes"] == {
                "namespace": "default", "version": "v1", "resource": "configmaps", "verb": "list", "name": "x",
                "fieldSelector": {"requirements": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]},
                "labelSelector": {"requirements": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "In", "values": ["c"]}]}}
            status = other.get(MAPS + "?fieldSelector=metadata.name%3Dx", token="good-bob").expect(403).json()
            assert status["message"].startswith('configmaps "x" is forbidden: User "bob" cannot list'), status
            other.request("POST", MAPS, config_map("of-ann"), token="good-ann").expect(201)
            status = other.request("POST", MAPS, config_map("of-bob"), token="good-bob").expect(403).json()
            assert status["message"] == ('configmaps is forbidden: User "bob" cannot create resource "configmaps" in API group "" in the '
                                         'namespace "default": by the script'), status
            other.get(MAPS + "/of-bob").expect(404)
            other.get(PODS, token="bad").expect(401)
            # An anonymous caller is one that the delegate decides about.
            status = other.get(PODS, token=None).expect(403).json()
            assert 'User "system:anonymous" cannot list resource "pods"' in status["message"], status
            assert script.asked[-1][2]["spec"]["groups"] == ["system:unauthenticated"]
            # What needs no question: system:masters, and three paths.
            before = len(script.asked)
            other.get(PODS).expect(200)
            for path in ("/healthz", "/readyz", "/livez"):
                other.get(path, token=None).expect(200)
            assert len(script.asked) == before
            other.get("/version", token=None).expect(403)
            assert script.asked[-1][2]["spec"]["nonResourceAttributes"] == {"path": "/version", "verb": "get"}
            # A watch, and a body that is sent after the decision.
            watch = other.watch(MAPS + "?watch=1", token="good-ann")
            assert next(watch)["type"] == "ADDED"
            watch.close()


@test
def impersonation_is_asked_for_too(server):
    """Contract access 2.9.2."""
    with tempfile.TemporaryDirectory() as folder:
        script = Script(folder)
        with delegating(script) as other:
            headers = {"Impersonate-User": "carl", "Impersonate-Group": "g1"}
            script.allow = lambda spec: spec["user"] in ("ann", "carl")
            other.get(PODS, token="good-ann", **headers).expect(200)
            asked = [spec["spec"] for _, _, spec in script.asked if spec["kind"] == "SubjectAccessReview"]
            assert [(spec["user"], spec["resourceAttributes"]) for spec in asked] == [
                ("ann", {"resource": "users", "name": "carl", "verb": "impersonate"}),
                ("ann", {"resource": "groups", "name": "g1", "verb": "impersonate"}),
                ("carl", {"version": "v1", "resource": "pods", "verb": "list"})], asked
            script.allow = lambda spec: spec["resourceAttributes"]["resource"] == "users"
            status = other.get(PODS, token="good-dora", **headers).expect(403).json()
            assert status["message"] == ('groups "g1" is forbidden: User "dora" cannot impersonate resource "groups" in API group "" at the '
                                         'cluster scope: by the script'), status
            # A delegate that fails forbids, here.
            script.answer = lambda body: script.plain(body) if body["kind"] == "TokenReview" else (403, {"message": "no"})
            status = other.get(PODS, token="good-emil", **headers).expect(403).json()
            assert status["message"].endswith("cannot impersonate resource \"users\" in API group \"\" at the cluster scope"), status


@test
def answers_are_kept_for_their_time(server):
    with tempfile.TemporaryDirectory() as folder:
        script = Script(folder)
        flags = ["--authentication-token-webhook-cache-ttl", "1s", "--authorization-webhook-cache-authorized-ttl", "1s",
                 "--authorization-webhook-cache-unauthorized-ttl", "0s"]
        with delegating(script, *flags) as other:
            connection = other.connect()
            ask = lambda token: other.get(PODS, token=token, connection=connection).status
            assert [ask("good-ann") for _ in range(5)] == [200] * 5
            assert (script.count("TokenReview"), script.count("SubjectAccessReview")) == (1, 1), script.asked
            assert [ask("good-bob") for _ in range(3)] == [403] * 3
            assert (script.count("TokenReview"), script.count("SubjectAccessReview")) == (2, 4)
            # A refusal with an error is not kept, as in upstream's cache; one without is.
            assert [ask("bad") for _ in range(3)] == [401] * 3
            assert script.count("TokenReview") == 5
            script.answer = lambda body: (201, {**body, "status": {}})
            assert [ask("worse") for _ in range(3)] == [401] * 3
            assert script.count("TokenReview") == 6
            await_it(lambda: ask("good-ann") == 401, "a token that is not accepted any more")
            # Failures are not kept.
            script.answer = lambda body: (403, {"message": "no"})
            assert ask("good-carl") == 401
            script.answer = script.plain
            assert ask("good-carl") == 403
            connection.close()


@test
def requests_with_one_unknown_token_share_a_review(server):
    with tempfile.TemporaryDirectory() as folder:
        script = Script(folder)
        gate = threading.Event()
        script.answer = lambda body: (gate.wait(30), script.plain(body))[1]
        with delegating(script) as other:
            codes, lock = [], threading.Lock()

            def ask():
                code = other.get(PODS, token="good-ann").status
                with lock:
                    codes.append(code)
            threads = [threading.Thread(target=ask) for _ in range(16)]
            for thread in threads:
                thread.start()
            await_it(lambda: script.count("TokenReview") >= 1, "a review")
            # Others are served meanwhile, and a client that leaves is forgotten.
            other.get(PODS).expect(200)
            gone = other.connect()
            gone.request("GET", PODS, headers={"Authorization": "Bearer good-ann"})
            gone.close()
            other.get(PODS).expect(200)
            gate.set()
            for thread in threads:
                thread.join()
            assert codes == [200] * 16, codes
            # One for each loop of the server, at most.
            import os
            assert script.count("TokenReview") <= os.cpu_count(), script.count("TokenReview")


@test
def a_delegate_that_fails_lets_nobody_in(server):
    """Contract access 1.1.5: no decision is a 500 in upstream's words."""
    with tempfile.TemporaryDirectory() as folder:
        script = Script(folder)
        with delegating(script, "--authorization-webhook-cache-authorized-ttl", "0s", "--authorization-webhook-cache-unauthorized-ttl", "0s",
                        "--authentication-token-webhook-cache-ttl", "1s") as other:
            other.get(PODS, token="good-ann").expect(200)
            sar = lambda answer: lambda body: script.plain(body) if body["kind"] == "TokenReview" else answer
            refusal = (403, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "you may <not>", "code": 403})
            lies = [(201, b"nothing"), (201, b"[]"), (201, {"status": {"allowed": True, "denied": True}}),
                    refusal, (400, b"no"), (302, b""), (201, b"{" + b" " * (2 << 20) + b"}")]
            for lie in lies:
                script.answer = sar(lie)
                answer = other.get(PODS + "?x=1", token="good-ann").expect(500)
                assert answer.headers["Content-Type"] == "text/plain; charset=utf-8", answer.headers
                assert answer.body.startswith(b'Internal Server Error: "/api/v1/pods?x=1": '), answer.body
            script.answer = sar(refusal)
            assert other.get(PODS, token="good-ann").body == b'Internal Server Error: "/api/v1/pods": you may &lt;not&gt;\n'
            script.answer = sar((201, {"status": {"allowed": True, "denied": True}}))
            assert b"webhook subject access review returned both allow and deny response" in other.get(PODS, token="good-ann").body
            for status in ({"allowed": "true"}, {"allowed": 1}, {}, {"denied": True}, None):
                script.answer = sar((201, {"status": status}))
                other.get(PODS, token="good-ann").expect(403)
            # Tokens: what cannot be understood is not accepted.
            for user in ({}, {"username": ""}, {"username": 7}, None, []):
                script.answer = lambda body: (201, {"status": {"authenticated": True, "user": user}})
                other.get(PODS, token="good-zoe").expect(401)
                script.answer = lambda body: (500, b"")
            script.answer = script.plain
            other.get(PODS, token="good-ann").expect(200)


@test
def attempts_are_repeated_as_upstream_does(server):
    with tempfile.TemporaryDirectory() as folder:
        script = Script(folder)
        with delegating(script) as other:
            for code in (500, 429, 504):
                codes = iter([code, code])
                script.answer = lambda body: (code, b"{}") if next(codes, None) else script.plain(body)
                began = time.monotonic()
                other.get(PODS, token=f"good-ann{code}").expect(403)
                assert time.monotonic() - began > 1, "no pauses"
            script.answer = lambda body: (503, b"{}")
            before = len(script.asked)
            other.get(PODS, token="good-bob").expect(401)
            assert len(script.asked) == before + 1


@test
def a_dead_delegate_costs_its_own_requests_only(server):
    """Wrong TLS, and nobody who listens: tokens are refused, the administrator is served."""
    with tempfile.TemporaryDirectory() as folder:
        script = Script(folder)
        strangers = Authority(folder, "strangers")
        for config in (script.config(ca=strangers.crt), kubeconfig(folder, "https://127.0.0.1:1", "t", script.ca.crt)):
            with delegating(script, config=config) as other:
                for _ in range(20):
                    other.get(PODS, token="good-ann").expect(401)
                    body = other.get(PODS, token=None).expect(500).body
                    assert body.startswith(b'Internal Server Error: "/api/v1/pods": Post '), body
                other.get(PODS).expect(200)
                assert "does not answer" in other.output()
        assert not script.asked


@test
def a_delegate_that_hangs_is_given_up(server):
    with tempfile.TemporaryDirectory() as folder:
        script, gate = Script(folder), threading.Event()
        script.answer = lambda body: (gate.wait(60), script.plain(body))[1]
        with delegating(script) as other:
            began = time.monotonic()
            other.get(PODS, token="good-ann").expect(401)
            assert 9 < time.monotonic() - began < 30, time.monotonic() - began
            other.get(PODS).expect(200)
            gate.set()
            other.get(PODS, token="good-ann").expect(200)


@test
def configurations_that_cannot_be_meant_are_refused(server):
    with tempfile.TemporaryDirectory() as folder:
        def refuse(*flags):
            done = subprocess.run([PROGRAM, "serve", "--data", folder + "/d", "--port", "0", *map(str, flags)], capture_output=True, text=True)
            assert done.returncode != 0, flags
            return done.stderr
        plugin = pathlib.Path(folder) / "plugin"
        plugin.write_text(json.dumps({"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}], "current-context": "c",
                                      "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {
                                          "exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}}}]}))
        config = kubeconfig(folder, "https://127.0.0.1:1", "t")
        assert "credential plugins" in refuse("--authentication-kubeconfig", plugin)
        assert "/no" in refuse("--authorization-kubeconfig", "/no")
        assert "exclude one another" in refuse("--authorization-kubeconfig", config, "--authorization-mode", "AlwaysAllow")
        assert 'only trailing * allowed in "a*b"' in refuse("--authorization-kubeconfig", config, "--authorization-always-allow-paths", "/a*b")
        assert "unable to load configmap" in refuse("--authentication-kubeconfig", config)
        with Server(PROGRAM, "--authentication-kubeconfig", config, "--authentication-tolerate-lookup-failure", *FLAGS) as other:
            other.get(PODS).expect(200)


@test
def whom_to_believe_is_read_and_followed(server):
    """Contract access 2.3.4, extension 4.6.1: a Coracle is the delegate."""
    with tempfile.TemporaryDirectory() as folder:
        if not shutil.which("openssl"):
            raise Skip("openssl is not there")
        clients, proxies, others = (Authority(folder, name) for name in ("clients", "proxies", "others"))
        with Server(PROGRAM, "--token-auth-file", token_file(folder), "--client-ca-file", clients.crt, *FLAGS) as core:
            path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
            trust = {"client-ca-file": clients.crt.read_text(), "requestheader-client-ca-file": proxies.crt.read_text(),
                     "requestheader-username-headers": '["X-Remote-User"]', "requestheader-group-headers": '["X-Remote-Group"]',
                     "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]', "requestheader-allowed-names": '["proxy"]'}
            map_ = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extension-apiserver-authentication"}, "data": trust}
            await_it(lambda: core.get(path).status == 200, "the ConfigMap")
            config = core.data / "admin.kubeconfig"
            with Server(PROGRAM, "--authentication-kubeconfig", config, "--authorization-kubeconfig", config, *FLAGS) as behind:
                root, proxy = clients.client("/O=system:masters/CN=root"), proxies.client("/CN=proxy")
                behind.get(PODS, token=None, cert=root).expect(200)
                as_root = {"X-Remote-User": "root", "X-Remote-Group": "system:masters"}
                # The delegate's own front proxy, as it publishes it.
                own = (core.data / "pki/front-proxy-client.crt", core.data / "pki/front-proxy-client.key")
                behind.get(PODS, token=None, cert=own, **as_root).expect(200)
                behind.get(PODS, token=None, cert=proxy, **as_root).expect(401)
                core.request("PUT", path, map_).expect(200)
                await_it(lambda: behind.get(PODS, token=None, cert=proxy, **as_root).status == 200, "the CA of this test")
                behind.get(PODS, token=None, cert=proxy, **as_root).expect(200)
                behind.get(PODS, token=None, cert=others.client("/CN=proxy"), **as_root).expect(401)
                behind.get(PODS, token=None, **as_root).expect(403)
                # Tokens of the delegate's file, and rights by its mode: its masters, and self reviews for everybody.
                behind.get(PODS, token="t-root").expect(200)
                behind.get(PODS, token="t-ann").expect(403)
                assert behind.request("POST", WHO, REVIEW, token="t-ann").expect(201).json()["status"]["userInfo"]["username"] == "ann"
                behind.get(PODS, token="no").expect(401)
                # A change of the ConfigMap counts soon.
                patch = {"data": {"requestheader-client-ca-file": others.crt.read_text(), "requestheader-username-headers": '["X-Name"]'}}
                core.request("PATCH", path, patch, Content_Type="application/merge-patch+json").expect(200)
                await_it(lambda: behind.get(PODS, token=None, cert=proxy, **as_root).status == 401, "the new CA")
                new = {"X-Name": "root", "X-Remote-Group": "system:masters"}
                behind.get(PODS, token=None, cert=others.client("/CN=proxy"), **new).expect(200)
                # What cannot be used changes nothing; a delegate that restarts is followed again.
                core.request("PATCH", path, {"data": {"requestheader-client-ca-file": "nothing"}},
                             Content_Type="application/merge-patch+json").expect(200)
                await_it(lambda: "cannot be used" in behind.output(), "a line of the log")
                behind.get(PODS, token=None, cert=others.client("/CN=proxy"), **new).expect(200)
                core.restart(keep_port=True)
                core.request("PATCH", path, {"data": {"requestheader-client-ca-file": proxies.crt.read_text()}},
                             Content_Type="application/merge-patch+json").expect(200)
                await_it(lambda: behind.get(PODS, token=None, cert=proxy, **new).status == 200, "the first CA again")


def check_behind(behind, kube):
    """A kube-apiserver passes requests on to us, with its users."""
    serve_widgets(behind)
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "behind"}, "spec": {
        "type": "ExternalName", "externalName": "localhost", "ports": [{"port": behind.port}]}}
    assert kube.request("POST", "/api/v1/namespaces/default/services", service)[0] == 201
    assert kube.request("POST", "/apis/apiregistration.k8s.io/v1/apiservices", api_service(behind.port))[0] == 201
    await_it(lambda: kube.request("GET", WIDGETS)[0] == 200, "a request that was passed on")
    code, made = kube.request("POST", WIDGETS, widget("one"))
    assert code == 201 and made["metadata"]["uid"], (code, made)
    assert behind.get(WIDGETS + "/one").expect(200).json() == kube.request("GET", WIDGETS + "/one")[1]
    condition = kube.request("GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1.stable.example.com")[1]["status"]["conditions"][0]
    assert (condition["type"], condition["status"]) == ("Available", "True"), condition
    # The user's rights are asked for at both; the group is in the discovery of both.
    connection = kube.connect()
    connection.request("GET", WIDGETS, headers={"Authorization": "Bearer ann-token"})
    answer = connection.getresponse()
    assert answer.status == 200 and json.loads(answer.read())["items"][0]["metadata"]["name"] == "one"
    connection.close()


def play_behind(front, behind):
    """What users of the front see of the server behind it."""
    front.request("POST", WIDGETS, widget("one")).expect(201)
    assert behind.get(WIDGETS + "/one").expect(200).json() == front.get(WIDGETS + "/one").expect(200).json()
    watch = front.watch(WIDGETS + "?watch=1")
    assert next(watch)["object"]["metadata"]["name"] == "one"
    behind.request("DELETE", WIDGETS + "/one").expect(200)
    assert next(watch)["type"] == "DELETED"
    watch.close()
    # The user is the front's: a master of its token file, and ann, who may nothing at either.
    front.get(WIDGETS, token="t-root").expect(200)
    front.get(WIDGETS, token="t-ann").expect(403)
    behind.get(WIDGETS, token="t-root").expect(200)
    behind.get(WIDGETS, token="t-ann").expect(403)
    # Headers of a client do not come through.
    front.get(WIDGETS, token="t-ann", **{"X-Remote-User": "root", "X-Remote-Group": "system:masters"}).expect(403)
    assert "widgets" in [r["name"] for r in front.get("/apis/stable.example.com/v1").expect(200).json()["resources"]]
    # Both may be restarted.
    front.create(WIDGETS, widget("kept"))
    behind.restart(keep_port=True)
    await_it(lambda: front.get(WIDGETS + "/kept").status == 200, "the server behind")
    front.restart(keep_port=True)
    await_it(lambda: front.get(WIDGETS + "/kept").status == 200, "the server in front")


@test
def one_coracle_stands_behind_another(server):
    """Contract extension 4.4, 4.6, 4.6.3: the front passes requests on, and decides about users; docs/aggregation.md."""
    with tempfile.TemporaryDirectory() as folder:
        with one_behind_another(PROGRAM, ["--token-auth-file", token_file(folder), *FLAGS], FLAGS) as (front, behind):
            play_behind(front, behind)


@test
def one_coracle_stands_behind_another_over_both_engines(server):
    """The front on etcd and the other on SQLite, the other way round, and both on one etcd."""
    from etcd_cluster import Cluster, program
    if not program():
        raise Skip("there is no etcd: install etcd-server, or name one in COR_ETCD")
    with tempfile.TemporaryDirectory() as folder, Cluster() as etcd:
        on_etcd = lambda prefix: ["--etcd-servers", etcd.urls, "--etcd-prefix", prefix]
        tokens = ["--token-auth-file", token_file(folder)]
        for front_flags, behind_flags in ((on_etcd("/a"), []), ([], on_etcd("/b")), (on_etcd("/c"), on_etcd("/d"))):
            with one_behind_another(PROGRAM, [*tokens, *front_flags, *FLAGS], [*behind_flags, *FLAGS]) as (front, behind):
                play_behind(front, behind)


@test
def a_kube_apiserver_decides(_server):
    """Tokens and certificates of kube-apiserver's users are accepted, and its RBAC decides."""
    from etcd_cluster import Cluster
    from kube_apiserver import KubeApiserver
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        clients, proxies = Authority(folder, "clients"), Authority(folder, "proxies")
        crt, key = clients.server("localhost")
        flags = [f"--client-ca-file={clients.crt}", f"--requestheader-client-ca-file={proxies.crt}", "--requestheader-allowed-names=proxy",
                 "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
                 "--requestheader-uid-headers=X-Remote-Uid", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                 f"--tls-cert-file={crt}", f"--tls-private-key-file={key}", "--proxy-client-cert-file={}".format(proxies.client("/CN=proxy")[0]),
                 "--proxy-client-key-file={}".format(proxies.client("/CN=proxy")[1])]
        with Cluster() as etcd, KubeApiserver(etcd, folder, *flags) as kube:
            with open(folder / "tokens.csv", "a") as tokens:
                tokens.write("ann-token,ann,7,dev\n")
            kube.process.kill()
            kube.process.wait()
            kube.__enter__()
            role = {"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "maps"},
                    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"]},
                              {"apiGroups": ["stable.example.com"], "resources": ["widgets"], "verbs": ["get", "list"]},
                              {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"], "resourceNames": ["mine"]},
                              {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["bob"]}]}
            binding = {"kind": "ClusterRoleBinding", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "maps"},
                       "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}],
                       "roleRef": {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": "maps"}}
            assert kube.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role)[0] == 201
            assert kube.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)[0] == 201
            account = kube.request("POST", "/api/v1/namespaces/default/serviceaccounts/default/token",
                                   {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {}})
            config = kubeconfig(folder, f"https://localhost:{kube.port}", "kube-token", clients.crt)
            with Server(PROGRAM, "--authentication-kubeconfig", config, "--authorization-kubeconfig", config, *FLAGS) as behind:
                who = lambda **how: behind.request("POST", WHO, REVIEW, **how).expect(201).json()["status"]["userInfo"]
                assert who(token="ann-token") == {"username": "ann", "uid": "7", "groups": ["dev", "system:authenticated"]}
                behind.get(MAPS, token="ann-token").expect(200)
                behind.request("POST", MAPS, config_map("of-ann"), token="ann-token").expect(201)
                status = behind.get(PODS, token="ann-token").expect(403).json()
                assert status["message"] == 'pods is forbidden: User "ann" cannot list resource "pods" in API group "" at the cluster scope', status
                behind.get(MAPS, token="wrong").expect(401)
                # A rule about one name counts for a list of that name.
                secrets = "/api/v1/namespaces/default/secrets"
                behind.get(secrets + "?fieldSelector=metadata.name%3Dmine", token="ann-token").expect(200)
                behind.get(secrets + "?fieldSelector=metadata.name%3Dyours", token="ann-token").expect(403)
                behind.get(secrets, token="ann-token").expect(403)
                # Its anonymous users may see what its roles show them.
                behind.get("/version", token=None).expect(200)
                behind.get(PODS, token=None).expect(403)
                behind.get(MAPS, token="ann-token", Impersonate_User="bob").expect(403)
                status = behind.get(MAPS, token="ann-token", Impersonate_User="carl").expect(403).json()
                assert 'User "ann" cannot impersonate resource "users"' in status["message"], status
                # Certificates of its CA, and its front proxy, as its ConfigMap says.
                assert who(token=None, cert=clients.client("/O=dev/CN=eve"))["username"] == "eve"
                proxied = {"X-Remote-User": "ann", "X-Remote-Uid": "7", "X-Remote-Group": "dev"}
                proxy = proxies.client("/CN=proxy")
                assert who(token=None, cert=proxy, **proxied) == {"username": "ann", "uid": "7", "groups": ["dev", "system:authenticated"]}
                behind.get(MAPS, token=None, cert=proxy, **proxied).expect(200)
                behind.get(MAPS, token=None, cert=proxies.client("/CN=other"), **proxied).expect(401)
                if account[0] == 201:
                    user = who(token=account[1]["status"]["token"])
                    assert user["username"] == "system:serviceaccount:default:default", user
                check_behind(behind, kube)
                # A right that is taken away is gone when its answer has expired.
                assert kube.request("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/maps")[0] == 200
                await_it(lambda: behind.get(MAPS, token="ann-token").status == 403, "the refusal")


main()
