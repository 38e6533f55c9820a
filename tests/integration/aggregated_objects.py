#!/usr/bin/env python3
"""Namespaces and the garbage collector reach the objects of a server behind this one: aggregated_objects.py PROGRAM [FLAG...]

The server behind is a small one in Python, with resources that can be deleted as collections and others that cannot."""

import http.server
import json
import pathlib
import ssl
import shutil
import sys
import tempfile
import threading
import uuid

from certificates import CURVE, openssl
from docs_target import AGGREGATED, GROUP, api_service, discovery, resource
from fixture import Server, Skip, await_it, test
from through import play_through

PROGRAM, FLAGS = sys.argv[1], sys.argv[2:]
V1 = f"/apis/{GROUP}/v1alpha1"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NAMESPACES = "/api/v1/namespaces"
CONTROLLERS = "--controllers=namespace-controller,garbage-collector-controller,resourcequota-controller"
# A probe of a service that failed is tried again after 30 s at the latest, a namespace after a minute.
PATIENCE_S = 120
VERBS = ["create", "delete", "get", "list", "watch"]
KINDS = {"flunders": "Flunder", "fischers": "Fischer"}


class Behind(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", AGGREGATED if body.get("kind") == "APIGroupDiscoveryList" else "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def fail(self, status, reason):
        self.reply(status, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status, "message": reason})

    def where(self):
        """(resource, namespace or None, name or None) of the path; None: it is not a resource's."""
        parts = self.path.split("?")[0].removeprefix(V1).strip("/").split("/")
        ns = parts[1] if parts[0] == "namespaces" else None
        rest = parts[2:] if ns else parts
        return (rest[0], ns, rest[1] if len(rest) > 1 else None) if rest and rest[0] in KINDS else None

    def do_GET(self):
        self.answer()

    def do_DELETE(self):
        self.answer()

    def answer(self):
        world = self.server.world
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        where = self.where()
        if path == "/apis":
            return self.reply(200, discovery(v1alpha1=[
                resource("flunders", "Flunder", verbs=[*VERBS, "deletecollection"]), resource("fischers", "Fischer", verbs=VERBS)]))
        if path == V1:
            return self.reply(200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/v1alpha1", "resources": []})
        if not path.startswith(V1) or not where:
            return self.fail(404, "NotFound")
        with world.lock:
            world.seen.append((self.command, path, self.headers.get("X-Remote-User"), body))
        if world.hangs.is_set():
            world.goes_on.wait(PATIENCE_S)
        kind, ns, name = where
        if "watch=" in self.path:
            return self.watch(kind)
        if self.command == "GET":
            return self.show(*where)
        found = world.find(kind, ns, name)
        if name and not found:
            return self.fail(404, "NotFound")
        if not name and kind == "fischers":
            return self.fail(405, "MethodNotAllowed")
        world.remove(found)
        self.reply(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def show(self, kind, ns, name):
        world = self.server.world
        found = world.find(kind, ns, name)
        if not name:
            return self.reply(200, {"kind": f"{KINDS[kind]}List", "apiVersion": f"{GROUP}/v1alpha1",
                                    "metadata": {"resourceVersion": str(world.rv)}, "items": found})
        if not found:
            return self.fail(404, "NotFound")
        self.reply(200, found[0])

    def watch(self, kind):
        world = self.server.world
        since = int(self.path.split("resourceVersion=")[1].split("&")[0] or 0)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            with world.lock:
                world.changed.wait_for(lambda: any(rv > since for rv, _, _ in world.events) or world.is_over, 1)
                events = [e for e in world.events if e[0] > since]
                if world.is_over:
                    return
            for rv, of, event in events:
                since = rv
                if of == kind:
                    line = json.dumps(event).encode() + b"\n"
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def log_message(self, *words):
        pass


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        pass  # a peer that goes away


class World:
    """The objects of the server behind, and the server, which may be away."""

    def __init__(self):
        if not shutil.which("openssl"):
            raise Skip("openssl is not there")
        self.folder = tempfile.TemporaryDirectory()
        self.crt, self.key = pathlib.Path(self.folder.name, "crt"), pathlib.Path(self.folder.name, "key")
        openssl("req", "-x509", *CURVE, "-keyout", self.key, "-out", self.crt, "-subj", "/CN=api.wardle.svc", "-days", "2")
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.objects, self.events, self.seen, self.rv, self.is_over = [], [], [], 1, False
        self.hangs, self.goes_on = threading.Event(), threading.Event()
        self.port, self.listener = 0, None

    def start(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.crt, self.key)
        self.is_over = False
        self.listener = Listener(("127.0.0.1", self.port), Behind)
        self.listener.world = self
        self.listener.socket = context.wrap_socket(self.listener.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.listener.server_address[1]
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def stop(self):
        """Nobody listens any more, and watches break. What else is under way ends by itself."""
        with self.lock:
            self.is_over = True
            self.changed.notify_all()
        self.listener.shutdown()
        self.listener.server_close()

    def find(self, kind, ns, name):
        with self.lock:
            return [o for o in self.objects if o["kind"] == KINDS[kind] and ns in (None, o["metadata"]["namespace"])
                    and name in (None, o["metadata"]["name"])]

    def tell(self, event, o):
        self.rv += 1
        o["metadata"]["resourceVersion"] = str(self.rv)
        kind = next(plural for plural, kind in KINDS.items() if kind == o["kind"])
        self.events.append((self.rv, kind, {"type": event, "object": json.loads(json.dumps(o))}))
        self.changed.notify_all()

    def add(self, kind, ns, name, **more):
        o = {"kind": KINDS[kind], "apiVersion": f"{GROUP}/v1alpha1",
             "metadata": {"name": name, "namespace": ns, "uid": str(uuid.uuid4()), **more}}
        with self.lock:
            self.objects.append(o)
            self.tell("ADDED", o)
        return o

    def remove(self, objects):
        with self.lock:
            for o in objects:
                self.objects.remove(o)
                self.tell("DELETED", o)

    def take(self):
        with self.lock:
            seen, self.seen = self.seen, []
        return seen


def owned_by(o):
    """The ownerReferences of a dependent."""
    return [{"apiVersion": o["apiVersion"], "kind": o["kind"], "name": o["metadata"]["name"], "uid": o["metadata"]["uid"]}]


class Play:
    def __init__(self):
        self.world = World()
        self.world.start()
        self.server = Server(PROGRAM, CONTROLLERS, f"--aggregator-resolve=api.wardle=127.0.0.1:{self.world.port}", *FLAGS)

    def __enter__(self):
        self.server.__enter__()
        self.make_namespace("wardle")
        self.server.create(f"{NAMESPACES}/wardle/services", {"metadata": {"name": "api"}, "spec": {"ports": [{"port": 443}]}})
        self.server.create(SERVICES, api_service("v1alpha1", 443))
        self.await_discovered()
        return self

    def __exit__(self, *why):
        self.server.__exit__(*why)
        self.world.stop()
        self.world.folder.cleanup()

    def make_namespace(self, name):
        self.server.create(NAMESPACES, {"metadata": {"name": name}})

    def freshness(self):
        groups = self.server.get("/apis", Accept=AGGREGATED).expect(200).json()["items"]
        return next((v["freshness"] for g in groups for v in g["versions"] if g["metadata"].get("name") == GROUP), None)

    def look_again(self):
        """Has the service judged now, in place of half a minute later: its Service changes."""
        path = f"{NAMESPACES}/wardle/services/api"
        number = self.server.get(path).expect(200).json()["metadata"]["resourceVersion"]
        self.server.request("PATCH", path, {"metadata": {"annotations": {"look": number}}},
                            Content_Type="application/merge-patch+json").expect(200)

    def await_discovered(self, freshness="Current"):
        def is_so():
            self.look_again()
            return self.freshness() == freshness
        await_it(is_so, f"a version that is {freshness}", PATIENCE_S)

    def make_map(self, ns, name, **more):
        return self.server.create(f"{NAMESPACES}/{ns}/configmaps", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, **more}})

    def delete(self, path):
        self.server.request("DELETE", path).expect(200)

    def await_gone(self, path):
        await_it(lambda: self.server.get(path).status == 404, f"the end of {path}", PATIENCE_S)


@test
def objects_go_with_their_namespace(play):
    """Contract controllers 1.3.2, 1.3.3: as a collection, or one by one where the server has no such verb."""
    world = play.world
    play.make_namespace("ending")
    for ns in ("ending", "staying"):
        for name in ("a", "b"):
            world.add("flunders", ns, name)
            world.add("fischers", ns, name)
    world.take()
    play.delete(f"{NAMESPACES}/ending")
    play.await_gone(f"{NAMESPACES}/ending")
    assert sorted((o["kind"], o["metadata"]["namespace"], o["metadata"]["name"]) for o in world.objects) == [
        (kind, "staying", name) for kind in ("Fischer", "Flunder") for name in ("a", "b")], world.objects
    deletions = [(path.removeprefix(V1), user) for method, path, user, _ in world.take() if method == "DELETE"]
    user = "system:serviceaccount:kube-system:namespace-controller"
    assert sorted(deletions) == [("/namespaces/ending/fischers/a", user), ("/namespaces/ending/fischers/b", user),
                                 ("/namespaces/ending/flunders", user)], deletions


@test
def dependents_go_with_their_owners_on_either_side(play):
    """Contract controllers 2.2.1: what discovery names, and what can be deleted, listed and watched."""
    world = play.world
    play.make_namespace("mixed")
    ours = play.make_map("mixed", "ours")
    theirs = world.add("flunders", "mixed", "theirs")
    world.add("flunders", "mixed", "of-ours", ownerReferences=owned_by(ours))
    world.add("fischers", "mixed", "of-theirs", ownerReferences=owned_by(theirs))
    play.make_map("mixed", "of-theirs", ownerReferences=owned_by(theirs))
    play.make_map("mixed", "of-nobody", ownerReferences=owned_by({**theirs, "metadata": {"name": "nobody", "uid": "no"}}))
    # By this the collector has looked at all of them: an owner that is there keeps its dependents.
    play.await_gone(f"{NAMESPACES}/mixed/configmaps/of-nobody")
    assert world.find("flunders", "mixed", "of-ours") and world.find("fischers", "mixed", "of-theirs")
    play.server.get(f"{NAMESPACES}/mixed/configmaps/of-theirs").expect(200)

    world.take()
    play.delete(f"{NAMESPACES}/mixed/configmaps/ours")
    await_it(lambda: not world.find("flunders", "mixed", "of-ours"), "the end of a dependent there", PATIENCE_S)
    (deletion,) = [(path, user, json.loads(body)) for method, path, user, body in world.take() if method == "DELETE"]
    assert deletion[:2] == (f"{V1}/namespaces/mixed/flunders/of-ours", "system:serviceaccount:kube-system:generic-garbage-collector"), deletion
    assert deletion[2]["preconditions"]["uid"], deletion
    world.remove([theirs])
    play.await_gone(f"{NAMESPACES}/mixed/configmaps/of-theirs")
    await_it(lambda: not world.find("fischers", "mixed", "of-theirs"), "the end of a dependent of its neighbour", PATIENCE_S)


@test
def quotas_count_them(play):
    """Contract controllers 3.3.5."""
    world = play.world
    play.make_namespace("counted")
    count, path = f"count/flunders.{GROUP}", f"{NAMESPACES}/counted/resourcequotas/q"
    for name in ("a", "b"):
        world.add("flunders", "counted", name)
    play.server.create(f"{NAMESPACES}/counted/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {count: "5"}}})

    def used():
        return play.server.get(path).expect(200).json()["status"].get("used", {}).get(count)

    await_it(lambda: used() == "2", "two in the status", PATIENCE_S)
    world.remove(world.find("flunders", "counted", "a"))
    await_it(lambda: used() == "1", "one in the status", PATIENCE_S)


@test
def a_server_that_hangs_holds_nobody_else(play):
    world = play.world
    play.make_namespace("others")
    theirs = world.add("flunders", "others", "theirs")
    world.hangs.set()
    try:
        for number in range(100):
            play.make_map("others", f"of-theirs-{number}", ownerReferences=owned_by({**theirs, "metadata": {"name": "x", "uid": f"x{number}"}}))
        owner = play.make_map("others", "owner")
        play.make_map("others", "dependent", ownerReferences=owned_by(owner))
        play.delete(f"{NAMESPACES}/others/configmaps/owner")
        play.await_gone(f"{NAMESPACES}/others/configmaps/dependent")
    finally:
        world.hangs.clear()
        world.goes_on.set()


@test
def a_namespace_waits_for_a_server_that_is_away(play):
    """Contract extension 4.5.4; controllers 1.4."""
    world = play.world
    play.make_namespace("held")
    play.make_map("held", "ours")
    world.add("flunders", "held", "theirs")
    world.stop()
    play.await_discovered("Stale")
    play.delete(f"{NAMESPACES}/held")

    def failure():
        conditions = play.server.get(f"{NAMESPACES}/held").expect(200).json()["status"].get("conditions", [])
        return next((c["status"] for c in conditions if c["type"] == "NamespaceDeletionDiscoveryFailure"), None)

    await_it(lambda: failure() == "True", "the condition", PATIENCE_S)
    play.await_gone(f"{NAMESPACES}/held/configmaps/ours")
    world.start()
    play.await_discovered()
    play.await_gone(f"{NAMESPACES}/held")
    assert not world.find("flunders", "held", None), world.objects


if __name__ == "__main__":
    sys.exit(play_through(Play))
