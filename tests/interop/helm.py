#!/usr/bin/env python3
"""helm against a real server: charts are installed, upgraded, rolled back and uninstalled, with releases in Secrets, also one with a definition of
its own in crds/.
helm.py PROGRAM [FLAG...], with helm's command in $COR_CLIENT; prints TAP."""

import base64
import gzip
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from fixture import main, test  # noqa: E402

COMMAND = shlex.split(os.environ["COR_CLIENT"])
CHART = HERE / "helm/chart"
HARBOUR = HERE / "helm/harbour"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/berths.helm.example.com"
WAIT_S = 120


class Helm:
    """A namespace, and helm with a home of its own."""

    def __init__(self, server):
        self.server, self.home = server, tempfile.TemporaryDirectory()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.home.cleanup()

    def try_run(self, *words):
        env = {**os.environ, "HELM_CACHE_HOME": self.home.name, "HELM_CONFIG_HOME": self.home.name, "HELM_DATA_HOME": self.home.name,
               "KUBECONFIG": str(self.server.data / "admin.kubeconfig"), "HELM_NAMESPACE": self.server.ns}
        return subprocess.run([*COMMAND, *words], env=env, text=True, capture_output=True, timeout=WAIT_S)

    def run(self, *words):
        done = self.try_run(*words)
        assert done.returncode == 0, f"helm {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def json(self, *words):
        return json.loads(self.run(*words, "-o", "json"))

    def refused(self, *words):
        done = self.try_run(*words)
        assert done.returncode != 0, f"helm {' '.join(words)} did not fail: {done.stdout}"
        return done.stderr

    def revisions(self):
        return [(entry["revision"], entry["status"]) for entry in self.json("history", "r")]


def get(server, kind, name):
    return server.get(f"/{kind.replace(':', f'/namespaces/{server.ns}/')}/{name}")


def config_map(server, name):
    return get(server, "api/v1:configmaps", name).expect(200).json()["data"]


def deployment(server):
    return get(server, "apis/apps/v1:deployments", "r").expect(200).json()


@test
def installs_a_release_and_keeps_it_in_a_secret(server):
    with Helm(server) as helm:
        release = helm.json("install", "r", str(CHART), "--set", "colour=blue")
        assert release["info"]["status"] == "deployed" and release["info"]["notes"] == "r is blue.\n", release["info"]
        assert config_map(server, "r-colour") == {"colour": "blue", "revision": "1", "hasDeployments": "true", "namespaceFound": server.ns}
        assert config_map(server, "r-hook") == {"revision": "1"}
        labels = deployment(server)["metadata"]
        assert labels["labels"]["app.kubernetes.io/managed-by"] == "Helm", labels
        assert labels["annotations"]["meta.helm.sh/release-name"] == "r", labels
        secret = get(server, "api/v1:secrets", "sh.helm.release.v1.r.v1").expect(200).json()
        assert secret["type"] == "helm.sh/release.v1" and secret["metadata"]["labels"]["status"] == "deployed", secret["metadata"]
        kept = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(secret["data"]["release"]))))
        assert kept["config"] == {"colour": "blue"} and kept["version"] == 1, kept["config"]
        assert "cannot re-use a name" in helm.refused("install", "r", str(CHART))


@test
def upgrades_rolls_back_and_uninstalls(server):
    with Helm(server) as helm:
        helm.run("install", "r", str(CHART))
        before = deployment(server)
        helm.run("upgrade", "r", str(CHART), "--set", "colour=green,replicas=3,extra=x")
        after = deployment(server)
        assert after["metadata"]["uid"] == before["metadata"]["uid"], "the Deployment is patched, and not another one"
        assert after["spec"]["replicas"] == 3 and after["spec"]["template"]["spec"]["containers"][0]["image"] == "boat:green", after["spec"]
        assert get(server, "api/v1:secrets", "r-extra").expect(200).json()["data"] == {"extra": "eA=="}
        assert config_map(server, "r-hook") == {"revision": "2"}, "the hook is deleted before it is made again"
        assert helm.json("get", "values", "r") == {"colour": "green", "replicas": 3, "extra": "x"}
        helm.run("rollback", "r", "1")
        assert deployment(server)["spec"]["replicas"] == 2
        get(server, "api/v1:secrets", "r-extra").expect(404)
        assert helm.revisions() == [(1, "superseded"), (2, "superseded"), (3, "deployed")], helm.revisions()
        status = helm.json("status", "r", "--show-resources")
        assert status["version"] == 3 and status["info"]["description"] == "Rollback to 1", status["info"]
        assert sorted(status["info"]["resources"]) == ["v1/ConfigMap", "v1/Deployment", "v1/Pod(related)", "v1/Service"], list(status["info"]["resources"])
        assert [(entry["name"], entry["revision"]) for entry in helm.json("list")] == [("r", "3")]
        assert "image: boat:red" in helm.run("get", "manifest", "r")
        helm.run("uninstall", "r")
        get(server, "apis/apps/v1:deployments", "r").expect(404)
        get(server, "api/v1:services", "r").expect(404)
        get(server, "api/v1:secrets", "sh.helm.release.v1.r.v3").expect(404)
        assert helm.json("list", "--all") == []
        assert "not found" in helm.refused("status", "r")


@test
def shows_what_the_server_refuses_and_can_go_back(server):
    with Helm(server) as helm:
        helm.run("install", "r", str(CHART))
        why = helm.refused("upgrade", "r", str(CHART), "--set", "broken=true,colour=green")
        assert 'Service "r-broken" is invalid: [spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive, ' in why, why
        assert helm.revisions() == [(1, "deployed"), (2, "failed")], helm.revisions()
        helm.run("upgrade", "r", str(CHART), "--reset-values")
        assert config_map(server, "r-colour")["colour"] == "red"
        assert helm.json("status", "r")["info"]["status"] == "deployed"
        # A dry run asks the server, and writes nothing.
        rendered = helm.run("upgrade", "r", str(CHART), "--set", "colour=pink", "--dry-run=server")
        assert f'namespaceFound: "{server.ns}"' in rendered and "boat:pink" in rendered, rendered
        assert config_map(server, "r-colour")["colour"] == "red"


def berth(server):
    return get(server, "apis/helm.example.com/v1:berths", "r").expect(200).json()


@test
def installs_the_definitions_of_a_chart_before_its_objects(server):
    with Helm(server) as helm:
        server.get(DEFINITION).expect(404)
        why = helm.refused("install", "r", str(HARBOUR), "--skip-crds")
        assert "Kind=Berth: the server could not find the requested resource" in why, why
        helm.run("install", "r", str(HARBOUR), "--set", "ropes={a,b}")
        assert berth(server)["spec"] == {"depth": 4, "side": "port", "ropes": ["a", "b"]}, berth(server)["spec"]
        assert config_map(server, "r-found") == {"hasBerths": "true", "berths": "0"}, config_map(server, "r-found")
        first = berth(server)["metadata"]["uid"]
        # Objects of no built-in kind are changed by merge patches, so that a default stays, and a list is replaced.
        helm.run("upgrade", "r", str(HARBOUR), "--set", "depth=6,ropes={c}")
        assert berth(server)["spec"] == {"depth": 6, "side": "port", "ropes": ["c"]}, berth(server)["spec"]
        assert config_map(server, "r-found") == {"hasBerths": "true", "berths": "1"}, config_map(server, "r-found")
        why = helm.refused("upgrade", "r", str(HARBOUR), "--set", "depth=0")
        assert 'Berth.helm.example.com "r" is invalid: spec.depth: Invalid value: 0: spec.depth in body should be greater than or equal to 1' in why, why
        helm.run("rollback", "r", "1")
        assert berth(server)["spec"]["ropes"] == ["a", "b"] and berth(server)["metadata"]["uid"] == first, berth(server)
        helm.run("uninstall", "r")
        get(server, "apis/helm.example.com/v1:berths", "r").expect(404)
        # helm never deletes a definition.
        server.get(DEFINITION).expect(200)
        helm.run("install", "again", str(HARBOUR))


if __name__ == "__main__":
    main()
