#!/usr/bin/env python3
"""TAP: each program of examples/ does what it says, against a real server.
test_programs.py SERVER FOLDER SANITIZERS"""

import base64
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
import fixture  # noqa: E402
from etcd_cluster import Cluster, wait_for  # noqa: E402
from kube_apiserver import KubeApiserver  # noqa: E402
from program import PATIENCE_S, Program  # noqa: E402

SERVER, FOLDER, SANITIZERS = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"
MERGE = "application/merge-patch+json"


def until(server, path, is_so, what):
    """Waits until a list or an object of the server is as it should be; every change of the collection is looked at."""
    collection, name = path if isinstance(path, tuple) else (path, None)
    listed = server.get(collection).expect(200).json()
    items = {item["metadata"]["name"]: item for item in listed["items"]}
    version = listed["metadata"]["resourceVersion"]
    watch = server.watch(f"{collection}?watch=1&resourceVersion={version}&timeoutSeconds={PATIENCE_S}")
    try:
        while not is_so(items.get(name) if name else list(items.values())):
            event = next(watch, None)
            assert event, f"waited in vain for {what}"
            item = event["object"]
            items.pop(item["metadata"]["name"], None)
            if event["type"] != "DELETED":
                items[item["metadata"]["name"]] = item
    finally:
        watch.close()


def example(server, name, *args):
    return Program([FOLDER / f"example_{name}", *args], KUBECONFIG=str(server.data / "admin.kubeconfig"))


def status(program, field):
    text = pathlib.Path(f"/proc/{program.process.pid}/status").read_text()
    return int(re.search(rf"^{field}:\s+(\d+)", text, re.M).group(1))


def await_rest(program):
    """Until all its threads sleep: each of its handlers has done what there was to do."""
    def states():
        for file in pathlib.Path(f"/proc/{program.process.pid}/task").glob("*/stat"):
            try:
                yield file.read_text().rpartition(")")[2].split()[0]
            except OSError:
                yield "gone"

    wait_for("rest", PATIENCE_S, lambda: set(states()) == {"S"})


def pod(name, node=None, **labels):
    spec = {"containers": [{"name": "c", "image": "i", "env": [{"name": f"V{i}", "value": "x" * 40} for i in range(15)]}]}
    if node:
        spec["nodeName"] = node
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "labels": labels}, "spec": spec}


def deployment(name, replicas):
    labels = {"app": name}
    return {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}


def list_pods_prints_names_and_phases(server):
    pods = f"/api/v1/namespaces/{server.ns}/pods"
    for name in ("b", "a"):
        server.create(pods, pod(name))
    with example(server, "list_pods", server.ns) as program:
        assert program.ends() == f"{server.ns}/a Pending\n{server.ns}/b Pending\n"
    with example(server, "list_pods") as program:
        assert f"{server.ns}/a Pending\n" in program.ends()


def watch_prints_what_happens(server):
    with example(server, "watch", "v1", "configmaps", server.ns) as program:
        server.create(server.maps, fixture.config_map("one"))
        program.says(f"ADDED {server.ns}/one")
        server.request("PATCH", server.maps + "/one", {"data": {"x": "1"}}, Content_Type=MERGE).expect(200)
        program.says(f"MODIFIED {server.ns}/one")
        server.request("DELETE", server.maps + "/one").expect(200)
        program.says(f"DELETED {server.ns}/one")
        program.stops()
    with example(server, "watch", "apps/v1", "deployments", server.ns) as program:
        server.create(f"/apis/apps/v1/namespaces/{server.ns}/deployments", deployment("d", 1))
        program.says(f"ADDED {server.ns}/d")
        program.stops()
    with example(server, "watch", "v1", "pod") as program:
        assert "could not find the requested resource" in program.ends(1)
    with example(server, "watch") as program:
        assert "usage: watch" in program.ends(2)


def informer_serves_three_handlers(server):
    pods = f"/api/v1/namespaces/{server.ns}/pods"
    server.create(pods, pod("one"))
    with example(server, "informer") as program:
        program.says(r"synced: \d+ pods").says(f"listed {server.ns}/one").says(f"without an owner: {server.ns}/one")
        server.create(pods, pod("two"))
        program.says(f"added {server.ns}/two").says(f"without an owner: {server.ns}/two")
        server.request("PATCH", pods + "/two", {"metadata": {"labels": {"a": "b"}}}, Content_Type=MERGE).expect(200)
        program.says(f"updated {server.ns}/two")
        server.request("DELETE", pods + "/two?gracePeriodSeconds=0").expect(200)
        program.says(f"deleted {server.ns}/two")
        await_rest(program)
        total = len(server.get("/api/v1/pods").expect(200).json()["items"])
        assert f"counted: {total} pods\n" in program.stops()


def crud_retries_after_a_conflict(server):
    with example(server, "crud", server.ns) as program:
        lines = program.ends().splitlines()
    assert lines[0] == 'again: configmaps "one" already exists', lines
    assert lines[1].startswith('try 1: Operation cannot be fulfilled on configmaps "one"'), lines
    assert lines[2:] == ["try 2: written", "red: one 1", "tailor: applied", "giant: .data.size belongs to tailor", "giant: applied",
                         'gone: configmaps "one" not found'], lines


def pod_agent_keeps_a_thousand_pods_in_five_megabytes(server):
    pods = f"/api/v1/namespaces/{server.ns}/pods"
    count = 1000 if SANITIZERS == "none" else 100
    connection = server.connect()
    for i in range(count):
        server.request("POST", pods, pod(f"p{i}", "n1", app="web"), connection=connection).expect(201)
    server.request("POST", pods, pod("elsewhere", "n2"), connection=connection).expect(201)
    connection.close()
    with example(server, "pod_agent", "n1") as program:
        program.says(f"synced: {count} pods")
        assert status(program, "Threads") == 1 or SANITIZERS != "none"
        rss = status(program, "RssAnon")
        print(f"# RssAnon with {count} pods: {rss} kB")
        assert rss < 5 * 1024 or SANITIZERS != "none", f"{rss} kB"
        server.request("PATCH", pods + "/p7/status", {"status": {"podIP": "10.0.0.7"}}, Content_Type=MERGE).expect(200)
        program.says(f"~ {server.ns}/p7 10.0.0.7 web")
        server.create(pods, pod("late", "n1"))
        program.says(rf"\+ {server.ns}/late - -")
        server.request("DELETE", pods + "/p7?gracePeriodSeconds=0").expect(200)
        program.says(f"- {server.ns}/p7")
        assert "elsewhere" not in program.stops()


class Apps:
    def __init__(self, server):
        self.server = server
        self.path = f"/apis/apps/v1/namespaces/{server.ns}"

    def check(self, name, replicas, generation):
        until(self.server, (self.path + "/replicasets", name), lambda rs: rs and rs["spec"]["replicas"] == replicas,
              f"{replicas} replicas of {name}")
        until(self.server, (self.path + "/deployments", name),
              lambda d: d and d.get("status", {}).get("observedGeneration") == generation,
              f"generation {generation} of {name} in its status")

    def scale(self, name, replicas):
        self.server.request("PATCH", f"{self.path}/deployments/{name}", {"spec": {"replicas": replicas}}, Content_Type=MERGE).expect(200)


def await_event(server, name, reason):
    until(server, f"/api/v1/namespaces/{server.ns}/events",
          lambda events: any(e["involvedObject"]["name"] == name and e["reason"] == reason for e in events),
          f"an event {reason} about {name}")


def controller_works_in_one_process_at_a_time(server):
    apps = Apps(server)
    server.create(apps.path + "/deployments", deployment("before", 2))
    with example(server, "controller") as first:
        first.says("working")
        apps.check("before", 2, 1)
        await_event(server, "before", "Created")
        with example(server, "controller") as second:
            server.create(apps.path + "/deployments", deployment("later", 1))
            apps.check("later", 1, 1)
            assert "working" not in second.text
            first.stops()
            second.says("working")
            apps.scale("later", 3)
            apps.check("later", 3, 2)
            second.stops()


def controller_tells_of_what_stands_in_its_way(server):
    apps = Apps(server)
    foreign = deployment("taken", 1)
    foreign["kind"] = "ReplicaSet"
    server.create(apps.path + "/replicasets", foreign)
    server.create(apps.path + "/deployments", deployment("taken", 2))
    with example(server, "controller") as program:
        await_event(server, "taken", "ErrResourceExists")
        assert server.get(f"{apps.path}/replicasets/taken").expect(200).json()["spec"]["replicas"] == 1
        program.stops()


def uv_controller_works_in_a_loop_of_its_own(server):
    apps = Apps(server)
    server.create(apps.path + "/deployments", deployment("before", 2))
    with example(server, "uv_controller") as program:
        program.says("working")
        apps.check("before", 2, 1)
        apps.scale("before", 4)
        apps.check("before", 4, 2)
        program.stops()


def uv_controller_looks_up_names_by_c_ares(server):
    """And says what is missing where there is no c-ares."""
    config = server.data / "name.kubeconfig"
    config.write_text((server.data / "admin.kubeconfig").read_text().replace("//127.0.0.1:", "//localhost:"))
    assert "//localhost:" in config.read_text()
    with Program([FOLDER / "example_uv_controller"], KUBECONFIG=str(config)) as program:
        program.says("working")
        program.stops()
    (server.data / "libcares.so.2").write_text("")
    with Program([FOLDER / "example_uv_controller"], KUBECONFIG=str(config), LD_LIBRARY_PATH=str(server.data)) as program:
        assert "the server is localhost: a runtime without threads looks up names by c-ares" in program.ends(1), program.text


def a_server_that_is_away_is_told_of(server):
    """Programs that wait for their first list say why, and can be ended meanwhile."""
    config = server.data / "nobody.kubeconfig"
    config.write_text((server.data / "admin.kubeconfig").read_text().replace(f":{server.port}", ":1"))
    for name, args, what in (("informer", [], "pods"), ("pod_agent", ["n1"], "pods"), ("controller", [], "deployments"),
                             ("uv_controller", [], "deployments")):
        for number in (signal.SIGINT, signal.SIGTERM):
            with Program([FOLDER / f"example_{name}", *args], KUBECONFIG=str(config)) as program:
                program.says(f"{name}: {what}: .*127.0.0.1:1.*")
                program.stops(number)
    for name, args in (("list_pods", []), ("watch", ["v1", "pods"]), ("crud", ["default"])):
        with Program([FOLDER / f"example_{name}", *args], KUBECONFIG=str(config)) as program:
            assert re.search(f"^{name}: .*127.0.0.1:1", program.ends(1), re.M), program.text


def each_says_how_it_is_used(_server):
    programs = sorted(path for path in FOLDER.glob("example_*") if path.is_file() and os.access(path, os.X_OK))
    assert len(programs) > 9, programs
    for path in programs:
        usage = f"usage: {path.name.removeprefix('example_')}"
        for word, code in (("-h", 0), ("--help", 0), ("--unknown", 2)):
            with Program([path, word], KUBECONFIG="/nonexistent") as program:
                text = program.ends(code)
                assert text.startswith(usage) and text.count("\n") == 2, text


def controller_test_needs_neither_a_server_nor_time(server):
    with Program([FOLDER / "example_controller_test"]) as program:
        text = program.ends()
    assert "not ok" not in text and "ok - and tried again later\n" in text, text


def labelled(name, **data):
    return fixture.config_map(name, {"copy": "secret"}, **data)


def await_secret(server, name, **data):
    wanted = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    until(server, (f"/api/v1/namespaces/{server.ns}/secrets", name), lambda s: s and s.get("data", {}) == wanted, f"Secret {name} with {data}")


def secret_keeper_keeps_secrets_through_restarts(server):
    """Through deletions, foreign edits, a server that is killed, and a second process; under valgrind where it is installed."""
    core = f"/api/v1/namespaces/{server.ns}"
    command = [*under_valgrind(), FOLDER / "example_secret_keeper"]
    config = {"KUBECONFIG": str(server.data / "admin.kubeconfig")}
    server.create(core + "/configmaps", labelled("before", word="one", quoted='a"\n'))
    server.create(core + "/configmaps", fixture.config_map("plain", word="one"))
    server.create(core + "/secrets", {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "taken"}})
    server.create(core + "/configmaps", labelled("taken", word="one"))
    with Program(command, **config) as first:
        await_secret(server, "before", word="one", quoted='a"\n')
        await_event(server, "before", "Copied")
        await_event(server, "taken", "NameTaken")
        owner = server.get(core + "/secrets/before").expect(200).json()["metadata"]["ownerReferences"][0]
        assert owner["kind"] == "ConfigMap" and owner["name"] == "before" and owner["controller"] is True, owner
        server.request("DELETE", core + "/secrets/before").expect(200)
        await_secret(server, "before", word="one", quoted='a"\n')
        server.request("PATCH", core + "/secrets/before", {"data": {"word": None}}, Content_Type=MERGE).expect(200)
        await_secret(server, "before", word="one", quoted='a"\n')
        server.restart(signal.SIGKILL, keep_port=True)
        server.create(core + "/configmaps", labelled("after", word="two"))
        await_secret(server, "after", word="two")
        with Program(command, **config) as second:
            second.says("secret-keeper: the leader is .*")
            first.stops()
            server.request("PATCH", core + "/configmaps/after", {"data": {"word": "three"}}, Content_Type=MERGE).expect(200)
            await_secret(server, "after", word="three")
            second.stops()
    assert server.get(core + "/secrets/plain").status == 404


def operator_cleans_up_before_a_service_is_gone(server):
    services = f"/api/v1/namespaces/{server.ns}/services"
    balanced = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "web"},
                "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": "web"}}}
    folder = server.data / "balancers"
    file = folder / f"{server.ns}.web"
    folder.mkdir()

    def is_described(service):
        return service and any(c["type"] == "example.com/Balanced" and c["status"] == "True"
                               for c in service.get("status", {}).get("conditions", []))

    server.create(services, balanced)
    with example(server, "operator", folder) as program:
        until(server, (services, "web"), is_described, "the condition of web")
        assert file.read_text() == "192.0.2.10\n"
        web = server.get(services + "/web").expect(200).json()
        assert web["metadata"]["finalizers"] == ["example.com/balancer"] and web["status"]["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.10"
        await_event(server, "web", "Balanced")
        program.stops()
    server.request("DELETE", services + "/web").expect(200)
    assert file.exists() and "deletionTimestamp" in server.get(services + "/web").expect(200).json()["metadata"]
    with example(server, "operator", folder) as program:
        until(server, (services, "web"), lambda service: service is None, "the end of web")
        assert not file.exists()
        program.stops()


def boat_operator_keeps_a_list_through_restarts(server):
    """With the definition that docs/custom-resources.md shows, and a server that knows of it only while the operator runs already."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    boats = f"/apis/harbour.example.com/v1/namespaces/{server.ns}/boats"
    maps = f"/api/v1/namespaces/{server.ns}/configmaps"

    def boat(name, crew):
        return {"apiVersion": "harbour.example.com/v1", "kind": "Boat", "metadata": {"name": name}, "spec": {"crew": crew}}

    def await_list(**lines):
        until(server, (maps, "harbour"), lambda harbour: harbour and harbour.get("data", {}) == lines, f"the list {lines}")

    def is_listed(crew, generation):
        def is_so(found):
            conditions = found.get("status", {}).get("conditions", []) if found else []
            return [(c["type"], c["status"], c["observedGeneration"]) for c in conditions] == [("Listed", "True", generation)] \
                and found["status"]["crew"] == crew
        return is_so

    with example(server, "boat_operator") as program:
        text = (pathlib.Path(__file__).parent.parent.parent / "examples/boats.yaml").read_text()
        server.request("POST", definitions, text, Content_Type="application/yaml").expect(201)
        wait_for("the boats", PATIENCE_S, lambda: server.get(boats).status == 200)
        server.create(boats, boat("tide", 3))
        await_list(tide="red, 3 at the oars")
        until(server, (boats, "tide"), is_listed(3, 1), "the status of tide")
        server.restart(signal.SIGKILL, keep_port=True)
        server.create(boats, boat("wave", 1))
        server.request("PATCH", boats + "/tide", {"spec": {"colour": "blue", "crew": 4}}, Content_Type=MERGE).expect(200)
        await_list(tide="blue, 4 at the oars", wave="red, 1 at the oars")
        until(server, (boats, "tide"), is_listed(4, 2), "the next status of tide")
        server.request("DELETE", boats + "/wave").expect(200)
        until(server, (boats, "wave"), lambda found: found is None, "the end of wave")
        await_list(tide="blue, 4 at the oars")
        program.stops()
    # The definition waits for its boats, and they for the operator.
    server.request("DELETE", definitions + "/boats.harbour.example.com").expect(200)
    assert "deletionTimestamp" in server.get(definitions + "/boats.harbour.example.com").expect(200).json()["metadata"]
    with example(server, "boat_operator") as program:
        until(server, (definitions, "boats.harbour.example.com"), lambda found: found is None, "the end of the definition")
        await_list()
        program.stops()


def binder_test_needs_no_server(server):
    with Program([FOLDER / "example_binder_test"]) as program:
        text = program.ends()
    assert "not ok" not in text and "ok - the next pod is on the emptier node\n" in text, text


def under_valgrind():
    if SANITIZERS != "none" or not shutil.which("valgrind"):
        return []
    return ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect"]


def typed_example(server, name, *args, **options):
    return Program([*under_valgrind(), FOLDER / f"example_{name}", *args], KUBECONFIG=str(server.data / "admin.kubeconfig"), **options)


def node(name, is_ready):
    return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name},
            "status": {"conditions": [{"type": "Ready", "status": str(is_ready)}]}}


def binder_binds_pods_through_a_restart(server):
    pods = f"/api/v1/namespaces/{server.ns}/pods"

    def waiting(name):
        made = pod(name)
        made["spec"]["schedulerName"] = "binder"
        return made

    def is_on(which):
        return lambda item: item and item["spec"].get("nodeName") == which

    server.create(pods, waiting("early"))
    with typed_example(server, "binder") as program:
        server.create("/api/v1/nodes", node("n-away", False))
        server.create("/api/v1/nodes", node("n-1", True))
        until(server, (pods, "early"), is_on("n-1"), "early on n-1")
        server.restart(signal.SIGKILL, keep_port=True)
        server.create(pods, waiting("late"))
        until(server, (pods, "late"), is_on("n-1"), "late on n-1")
        program.says(f"{server.ns}/late runs on n-1")
        program.stops()


def enricher_knows_pods_through_a_restart(server):
    pods = f"/api/v1/namespaces/{server.ns}/pods"

    def run_pod(name, address):
        server.create(pods, pod(name, "n-1", app="shop"))
        server.request("PATCH", f"{pods}/{name}/status", {"status": {"podIP": address, "podIPs": [{"ip": address}]}}, Content_Type=MERGE).expect(200)

    def line_of(name):
        return f"{server.ns}/{name} node=n-1 app=shop 10.9.{len(name)}.1 hello"

    def asks(name):
        """Says the line again until the pod is known: a line that comes before the pod's address is passed on as it is."""
        def is_known():
            program.process.stdin.write(f"10.9.{len(name)}.1 hello\n".encode())
            program.process.stdin.flush()
            return line_of(name) in program.text
        wait_for(name, PATIENCE_S, is_known)

    run_pod("a", "10.9.1.1")
    with typed_example(server, "enricher", stdin=subprocess.PIPE) as program:
        asks("a")
        server.restart(signal.SIGKILL, keep_port=True)
        run_pod("bb", "10.9.2.1")
        asks("bb")
        program.process.stdin.write(b"no address\n")
        program.process.stdin.close()
        text = program.ends()
    assert text.endswith("no address\n"), text


def website_operator_keeps_deployments_through_a_restart(server):
    server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", (EXAMPLES / "website.yaml").read_text(),
                   Content_Type="application/yaml").expect(201)
    sites = f"/apis/example.com/v1/namespaces/{server.ns}/websites"
    deployments = f"/apis/apps/v1/namespaces/{server.ns}/deployments"
    wait_for("websites", PATIENCE_S, lambda: server.get(sites).status == 200)
    site = {"kind": "Website", "apiVersion": "example.com/v1", "metadata": {"name": "home"}, "spec": {"image": "web:v1", "replicas": 2}}

    def has(image, replicas):
        def is_so(item):
            spec = item and item["spec"]
            return spec and spec["replicas"] == replicas and spec["template"]["spec"]["containers"][0]["image"] == image
        return is_so

    server.create(sites, site)
    with typed_example(server, "website_operator") as program:
        until(server, (deployments, "home"), has("web:v1", 2), "the Deployment of home")
        owner = server.get(deployments + "/home").expect(200).json()["metadata"]["ownerReferences"][0]
        assert owner["kind"] == "Website" and owner["name"] == "home" and owner["controller"] is True, owner
        server.request("PATCH", deployments + "/home", {"spec": {"replicas": 9}}, Content_Type=MERGE).expect(200)
        until(server, (deployments, "home"), has("web:v1", 2), "two replicas again")
        server.restart(signal.SIGKILL, keep_port=True)
        server.request("PATCH", sites + "/home", {"spec": {"image": "web:v2"}}, Content_Type=MERGE).expect(200)
        until(server, (deployments, "home"), has("web:v2", 2), "the new image")
        server.request("PATCH", deployments + "/home/status", {"status": {"replicas": 2, "readyReplicas": 2}}, Content_Type=MERGE).expect(200)
        until(server, (sites, "home"), lambda item: item and item.get("status", {}).get("readyReplicas") == 2, "the status of home")
        program.says(f"{server.ns}/home has 2 ready")
        program.stops()


class Kube(fixture.Server):
    """The kube-apiserver that COR_KUBE_APISERVER names, with what the tests above ask of a server."""

    def __init__(self, etcd, folder):  # no program of its own is run
        self.kube, self.data, self.token = KubeApiserver(etcd, folder), folder, "kube-token"
        self.port = self.kube.port
        (folder / "admin.kubeconfig").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.port}", "insecure-skip-tls-verify": True}}],
            "users": [{"name": "u", "user": {"token": self.token}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))

    def __enter__(self):
        self.kube.__enter__()
        return self

    def __exit__(self, kind, value, trace):
        self.kube.__exit__(kind, value, trace)

    def connect(self, cert=None):
        return self.kube.connect()

    def request(self, method, path, body=None, **headers):
        return super().request(method, path, body, **{"Content_Type": "application/json", **headers})

    def restart(self, number=signal.SIGTERM, keep_port=False):
        assert number == signal.SIGKILL and keep_port
        self.kube.__exit__(None, None, None)
        self.kube.__enter__()


def typed_programs_work_with_kube_apiserver(_server):
    """The enricher, the operator and the binder, through restarts of the real one."""
    if not os.environ.get("COR_KUBE_APISERVER"):
        raise fixture.Skip("name a kube-apiserver in COR_KUBE_APISERVER")
    with tempfile.TemporaryDirectory() as folder, Cluster() as etcd, Kube(etcd, pathlib.Path(folder)) as kube:
        for number, run in enumerate((binder_binds_pods_through_a_restart, enricher_knows_pods_through_a_restart,
                                      website_operator_keeps_deployments_through_a_restart)):
            kube.ns = f"t{number}"
            kube.create("/api/v1/namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": kube.ns}})
            run(kube)


TESTS = [each_says_how_it_is_used, binder_test_needs_no_server, binder_binds_pods_through_a_restart, enricher_knows_pods_through_a_restart,
         website_operator_keeps_deployments_through_a_restart, typed_programs_work_with_kube_apiserver, controller_test_needs_neither_a_server_nor_time, list_pods_prints_names_and_phases, watch_prints_what_happens, informer_serves_three_handlers,
         crud_retries_after_a_conflict, pod_agent_keeps_a_thousand_pods_in_five_megabytes,
         controller_works_in_one_process_at_a_time, controller_tells_of_what_stands_in_its_way,
         uv_controller_works_in_a_loop_of_its_own, uv_controller_looks_up_names_by_c_ares, secret_keeper_keeps_secrets_through_restarts,
         operator_cleans_up_before_a_service_is_gone, boat_operator_keeps_a_list_through_restarts, a_server_that_is_away_is_told_of]

if __name__ == "__main__":
    fixture.TESTS.extend(TESTS)
    sys.exit(fixture.run(SERVER, []))
