#!/usr/bin/env python3
"""TAP: coracle-gen --from-server, and the clients that it writes, with a real server: Coracle, and the kube-apiserver that
COR_KUBE_APISERVER names. test_server.py SOURCE_ROOT SERVER CORACLE_GEN CLIENTS_PROGRAM BUILD_ROOT
LIBCORACLE_TYPES LIBCORACLE SANITIZERS"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "tests/integration"))
import fixture  # noqa: E402
from etcd_cluster import Cluster, wait_for  # noqa: E402
from kube_apiserver import KubeApiserver  # noqa: E402

import round_trips  # noqa: E402

SERVER, GEN, CLIENTS = (str(pathlib.Path(word).resolve()) for word in sys.argv[2:5])
BUILD = pathlib.Path(sys.argv[5]).resolve()
LIBRARIES = [pathlib.Path(word).resolve() for word in sys.argv[6:8]]
SANITIZERS = sys.argv[8]
NS = "typed"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Coracle:
    """Both servers have request() and a kubeconfig."""

    def __init__(self, server):
        self.server, self.kubeconfig = server, server.data / "admin.kubeconfig"
        self.flags = ["--server", server.url, "--token", server.token.strip(), "--certificate-authority", server.data / "pki/ca.crt"]

    def request(self, method, path, body=None):
        answer = self.server.request(method, path, body)
        return answer.status, answer.json() if answer.body[:1] == b"{" else answer.body


class Kube:
    def __init__(self, kube, folder):
        self.kube, self.kubeconfig = kube, folder / "kubeconfig"
        self.flags = ["--server", f"https://127.0.0.1:{kube.port}", "--token", "kube-token", "--insecure-skip-tls-verify"]
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{kube.port}", "insecure-skip-tls-verify": True}}],
            "users": [{"name": "u", "user": {"token": "kube-token"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))

    def request(self, method, path, body=None):
        return self.kube.request(method, path, body)


@contextlib.contextmanager
def coracle():
    with fixture.Server(SERVER) as server:
        yield Coracle(server)


@contextlib.contextmanager
def kube_apiserver():
    if not os.environ.get("COR_KUBE_APISERVER"):
        raise fixture.Skip("name a kube-apiserver in COR_KUBE_APISERVER")
    with tempfile.TemporaryDirectory() as folder, Cluster() as etcd, KubeApiserver(etcd, pathlib.Path(folder)) as kube:
        yield Kube(kube, pathlib.Path(folder))


def define_websites(server):
    """The definition of website.yaml, which the server then serves and describes."""
    done = subprocess.run(["python3", "-c", "import json,sys,yaml;print(json.dumps(yaml.safe_load(sys.stdin)))"],
                          input=(ROOT / "tests/gen/website.yaml").read_text(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise fixture.Skip("Python's yaml is missing")
    status, answer = server.request("POST", CRDS, json.loads(done.stdout))
    assert status == 201, answer
    wait_for("the custom resource", 60, lambda: server.request("GET", "/apis/example.com/v1/websites")[0] == 200)
    wait_for("its document", 60, lambda: "apis/example.com/v1" in server.request("GET", "/openapi/v3")[1]["paths"])
    wait_for("its types", 60, lambda: "com.example.v1.Website" in server.request("GET", "/openapi/v3/apis/example.com/v1")[1]["components"]["schemas"])
    status, answer = server.request("POST", "/api/v1/namespaces", {"metadata": {"name": NS}})
    assert status == 201, answer


def gen(*args, **env):
    done = subprocess.run([GEN, *map(str, args)], capture_output=True, text=True, check=False, timeout=120,
                          env=dict(os.environ, **env))
    return done.returncode, done.stdout, done.stderr


def clients_work(server):
    done = subprocess.run([CLIENTS, NS], capture_output=True, text=True, check=False, timeout=120,
                          env=dict(os.environ, KUBECONFIG=str(server.kubeconfig)))
    assert (done.returncode, done.stdout) == (0, "done\n"), f"{done.returncode} {done.stdout} {done.stderr}"


def functions(folder, name):
    text = (pathlib.Path(folder) / f"{name}_client.h").read_text()
    return {line.removeprefix("static inline int ").rstrip("(") for line in text.splitlines() if line.startswith("static inline int ")}


def compile_with(compiler, *args):
    done = subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ROOT / 'include'}", f"-I{BUILD / 'include'}", *args],
                          capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, f"{compiler}: {done.stderr[:2000]}"


def run_round_trips(folder, sources):
    cc = os.environ.get("CC", "cc").split()
    compile_with([*cc, "-std=c11", "-O0"], *sources, *LIBRARIES, "-Wl,--allow-shlib-undefined", "-o", folder / "program")
    paths = ":".join(str(library.parent) for library in LIBRARIES) + ":" + os.environ.get("LD_LIBRARY_PATH", "")
    done = subprocess.run([folder / "program"], capture_output=True, text=True, check=False, timeout=60, env=dict(os.environ, LD_LIBRARY_PATH=paths))
    found = re.fullmatch(r"(\d+) structs, (\d+) views\n", done.stdout)
    assert found and int(found[1]) > 500 and int(found[2]) > 2000, done.stdout[-2000:] + done.stderr
    print(f"# {done.stdout.strip()}")


def compiles_and_makes_its_round_trips(folder):
    """As C11 and C++17 by each compiler that is there; structs and views agree (round_trips.py)."""
    sources = sorted(folder.glob("*.c"))
    program = folder / "program.c"
    program.write_text(round_trips.program(folder))
    one = folder / "all.cc"
    one.write_text("".join(f'#include "{file.name}"\n' for file in [*sources, program]))
    if SANITIZERS == "none":  # A program of a user's does not load sanitized libraries.
        run_round_trips(folder, [*sources, program])
    for compiler in (["clang", "-std=c11", "-xc"], [*os.environ.get("CXX", "c++").split(), "-std=c++17"], ["clang++", "-std=c++17"]):
        if shutil.which(compiler[0]):
            compile_with([*compiler, "-fsyntax-only"], one)


def generates_from_the_server(server):
    """The whole of it by kubeconfig; one group by flags; what is written compiles, and has the verbs that the server has
    (Contract controllers 5.2.1, 5.2.2)."""
    with tempfile.TemporaryDirectory() as folder:
        assert gen("--from-server", "--structs", "all", "--out", folder, "--prefix", "live_", KUBECONFIG=str(server.kubeconfig)) == (0, "", "")
        core, apps = functions(folder, "core_v1"), functions(folder, "apps_v1")
        for name in ("pods_get", "pods_watch", "pods_create_binding", "pods_create_eviction", "pods_update_status", "pods_informer",
                     "namespaces_update_finalize", "bindings_create", "nodes_delete_collection"):
            assert f"live_core_v1_{name}" in core, name
        for name in ("pods_get_log", "pods_create_exec", "bindings_get", "namespaces_delete_collection", "configmaps_get_status"):
            assert f"live_core_v1_{name}" not in core, name
        assert {f"live_apps_v1_deployments_{verb}_scale" for verb in ("get", "update", "patch", "apply")} <= apps, apps
        site = functions(folder, "example_v1")
        assert {"live_example_v1_websites_get", "live_example_v1_websites_apply_status"} <= site, site
        compiles_and_makes_its_round_trips(pathlib.Path(folder))
    code, said, error = gen("--from-server", *server.flags, "--group", "apps/v1", "--list", KUBECONFIG="/nonexistent")
    assert code == 0 and "\napps_v1 ControllerRevision" in "\n" + said and "core_v1 Pod" not in said, f"{said} {error}"


def says_what_was_expected(server):
    url = server.flags[1]
    for args, words in ((["--group", "nothing.example.com"],
                         f"{url}/openapi/v3: paths: nothing.example.com was expected, but the server does not have it"),
                        (["--server", "http://127.0.0.1:1"], "http://127.0.0.1:1/openapi/v3: an OpenAPI v3 document was expected: "),
                        (["--context", "none"], "the configuration of a server was expected: "),
                        (["--token", "wrong", "--server", url + "/somewhere"],
                         f"{url}/somewhere/openapi/v3: an OpenAPI v3 document was expected: ")):
        code, _, said = gen("--from-server", *args, KUBECONFIG=str(server.kubeconfig))
        assert code == 1 and said.startswith(f"coracle-gen: {words}"), said


def with_server(make, *cases):
    def play_all():
        with make() as server:
            define_websites(server)
            for case in cases:
                case(server)
    return play_all


TESTS = {"coracle": with_server(coracle, generates_from_the_server, says_what_was_expected, clients_work),
         "kube-apiserver": with_server(kube_apiserver, generates_from_the_server, says_what_was_expected, clients_work)}


def main():
    plays = []
    for name, play in TESTS.items():
        play.__name__ = f"types_and_clients_of_{name}"
        plays.append(play)
    sys.exit(fixture.report(plays, lambda play: play()))


main()
