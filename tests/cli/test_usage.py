#!/usr/bin/env python3
"""What the program says about its own use, and that the manual says the same. Arguments: the program, the source
root."""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from tap import main

COMMANDS = ["put", "get", "list", "watch", "delete", "compact", "check", "status", "backup"]
ROOT = pathlib.Path(sys.argv[2])


def test_version_is_one_line(p):
    for word in ("version", "--version", "-V"):
        assert re.fullmatch(r"coracle \d+\.\d+\.\d+\n", p.run(word).ok())


def test_help_lists_every_command(p):
    for args in (["help"], ["--help"], ["-h"]):
        text = p.run(*args).ok()
        for command in COMMANDS:
            assert f"store {command}" in text
    group = p.run("help", "store").ok()
    assert all(f"\n  {command}" in group for command in COMMANDS) and "version" not in group


def test_every_command_has_help_with_its_flags(p):
    for command in COMMANDS:
        text = p.run("help", "store", command).ok()
        assert text == p.run("store", command, "--help").ok()
        assert text.startswith(f"usage: coracle store {command}") and "--data DIR" in text
        text = re.sub(r"\n {37}", " ", text)  # the text of a long flag
        flags = [line for line in text.splitlines() if line.lstrip().startswith(("--", "-o", "-l"))]
        assert all(len(line.split(None, 2)) == 3 for line in flags), flags


DEFINITION = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kettles.shop.example.org}
spec:
  group: shop.example.org
  scope: Namespaced
  names: {plural: kettles, kind: Kettle}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {colour: {type: string, enum: [red, blue]}, replicas: {type: integer}}
"""
KETTLE = "---\napiVersion: shop.example.org/v1\nkind: Kettle\nmetadata: {name: %s}\nspec: %s\n"


def test_definitions_and_their_objects_are_checked(p):
    def check(text, *flags):
        file = p.folder / "a.yaml"
        file.write_text(text)
        done = subprocess.run([p.path, "crd", "check", *flags, file], capture_output=True, text=True, check=False, timeout=60)
        assert done.stderr == "", done.stderr
        return done.returncode, [line.replace(str(file), "a.yaml") for line in done.stdout.splitlines()]

    assert check(DEFINITION + KETTLE % ("k", "{colour: red}")) == (0, [])
    assert check(KETTLE % ("k", "{colour: red}") + "---\n" + DEFINITION) == (0, []), "the order does not matter"
    assert check(DEFINITION + KETTLE % ("k", "{colour: green, replicas: -1}")) == (1, [
        'a.yaml#2: error: spec.colour: Unsupported value: "green": supported values: "red", "blue"',
        "a.yaml#2: error: .spec.replicas: Invalid value: -1: should be a non-negative integer"])
    extra = DEFINITION + KETTLE % ("k", "{colour: red, size: 1}")
    assert check(extra) == (0, ["a.yaml#2: warning: spec.size: unknown field"])
    assert check(extra, "--strict")[0] == 1
    assert check(DEFINITION.replace("name: kettles", "name: pots") + KETTLE % ("k", "{}")) == (1, [
        'a.yaml#1: error: metadata.name: Invalid value: "pots.shop.example.org": must be spec.names.plural+"."+spec.group',
        "a.yaml#2: warning: not checked: no valid definition of its kind is in the files"])
    assert check(DEFINITION + "---\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\na: [b\n") == (1, [
        "a.yaml#3: error: yaml: line 2: did not find expected ',' or ']'"])
    kettle = '{"apiVersion":"shop.example.org/v1","kind":"Kettle","metadata":{"name":"K"},"spec":{}}'
    code, lines = check(DEFINITION + '---\n{"kind":"List","items":[%s]} %s' % (kettle, kettle))
    assert code == 1 and [line.split(": ")[:3] for line in lines] == [
        ["a.yaml#2", "error", "metadata.name"], ["a.yaml#3", "error", "metadata.name"]]
    code, lines = check(DEFINITION + KETTLE.replace("name: %s", "name: k, labels: {a: 1}%s") % ("", "{}"))
    assert code == 1 and lines == ["a.yaml#2: error: json: cannot unmarshal number into Go struct field "
                                   "ObjectMeta.labels of type string"], lines
    p.run("crd", "check", "there-is-no-such-file").fails(2, "there-is-no-such-file: No such file or directory")
    p.run("crd", "check").fails(2)


def test_a_slip_is_answered_with_the_nearest_word(p):
    p.run("stroe").fails(2, 'unknown command "stroe"', 'did you mean "store"?')
    p.run("store", "lst").fails(2, 'unknown command "lst"', 'did you mean "list"?')
    p.run("store", "list", "pods", "--dat", "x").fails(2, "unknown flag --dat", "did you mean --data?")
    p.run("store", "list", "pods", "--selektor=x").fails(2, "did you mean --selector?")
    p.run("help", "store", "wacth").fails(2, 'did you mean "watch"?')


def test_a_type_is_explained(p):
    text = p.run("explain-type", "deployments.spec.strategy").ok()
    assert "kind        Deployment of apps/v1\n" in text and "patch       retainKeys\n" in text
    assert "words       How old pods are replaced by new ones.\n" in text
    assert "words       Keeps a number of equal pods running" in p.run("explain-type", "deployments").ok()
    assert re.search(r"\n  rollingUpdate +v1.RollingUpdateDeployment, optional\n", text)
    text = p.run("explain-type", "po.spec.containers.ports").ok()
    assert "apply       list by containerPort, protocol\n" in text and "patch       merge by containerPort\n" in text
    assert "values      Recreate, RollingUpdate\n" in p.run("explain-type", "deploy.spec.strategy.type").ok()
    text = p.run("explain-type", "deploy.spec.strategy.rollingUpdate.maxSurge").ok()
    assert "default     25% when spec.strategy.type is RollingUpdate\n" in text
    text = p.run("explain-type", "deploy.spec.strategy.rollingUpdate").ok()
    assert "rule        strategy.rollingUpdate forbidden \"may not be specified when strategy `type` is 'Recreate'\" " \
           "[if strategy.type is Recreate]\n" in text
    assert "rule        spec.selector immutable\n" in p.run("explain-type", "deploy.spec.selector").ok()
    assert "default     from port\n" in p.run("explain-type", "services.spec.ports.targetPort").ok()
    assert 'default     "TCP"\n' in p.run("explain-type", "pods.spec.containers.ports.protocol").ok()
    assert "clear       when spec.sessionAffinity is None\n" in p.run("explain-type", "svc.spec.sessionAffinityConfig").ok()
    assert "hook        volume_source\n" in p.run("explain-type", "pods.spec.volumes").ok()
    assert "inlined     from LocalObjectReference\n" in p.run("explain-type", "pods.spec.volumes.configMap.name").ok()
    assert "of autoscaling/v1\n" in p.run("explain-type", "hpa.spec", "--api-version", "autoscaling/v1").ok()
    p.run("explain-type", "pods.spec.containrs").fails(1, 'v1.PodSpec has no field "containrs"', 'did you mean "containers"?')
    p.run("explain-type", "podz").fails(1, 'there is no resource "podz"', 'did you mean "pods"?')
    p.run("explain-type", "pods", "--api-version", "v7").fails(1, 'there is no resource "pods" in v7; there is one in v1')
    p.run("explain-type", "hpa", "--api-version", "autoscaling/v3").fails(
        1, 'there is no resource "hpa" in autoscaling/v3; there is one in autoscaling/v2 and in autoscaling/v1')
    assert "hook        volume_source, which gets all of v1.Volume\n" in p.run("explain-type", "pods.spec.volumes.emptyDir").ok()
    p.run("explain-type").fails(2, "expected RESOURCE[.FIELD]...")


def test_an_etcd_that_is_away_is_named_while_it_is_waited_for(p):
    """The first line comes long before the start is given up; it is read as it is written."""
    for args in (["serve", "--port", "0"], ["store", "list", "pods"]):
        with tempfile.TemporaryDirectory() as folder:
            program = subprocess.Popen([sys.argv[1], *args, "--data", folder, "--etcd-servers", "http://127.0.0.1:1"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            with program:
                line = program.stderr.readline()
                is_over = program.poll() is not None
                program.kill()
        assert "etcd" in line and "http://127.0.0.1:1" in line and "waiting" in line, line
        assert not is_over


def test_what_is_missing_or_too_much_is_named(p):
    p.run().fails(2, "a command is missing")
    p.run("store").fails(2, "a command is missing")
    p.run("store", "get", "--data", "x").fails(2, "expected KEY")
    p.run("store", "get", "a", "b", "--data", "x").fails(2, '"b"', "expected KEY")
    p.run("--port", "0", "serve").fails(2, "--port: flags stand after their command", "coracle help")
    p.run("store", "list", "pods", "--data").fails(2, "flag --data needs a value: DIR")
    p.run("store", "list", "pods", "--data", "x", "--limit", "many").fails(2, 'flag --limit: "many"')
    p.run("store", "list", "pods", "--data", "x", "-o", "yaml").fails(2, 'flag --output: "yaml" is not one of table|json')


def test_long_flags_do_not_move_the_texts(p):
    lines = p.run("help", "serve").ok().split("Flags:\n")[1].splitlines()
    starts = {len(line) - len(line.lstrip()) for line in lines if not line.lstrip().startswith("-")}
    assert starts == {37}, starts
    assert all(line[36] == " " and line[37] != " " for line in lines if len(line) > 45 and line[36] == " ")


def test_the_store_is_looked_for_where_serve_keeps_it(p):
    p.run("store", "list", "pods", cwd=p.folder).fails(1, "coracle-data/store.db")
    p.run("store", "put", "pods/default/web", stdin='{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"default"}}',
          cwd=p.folder).ok()
    assert (p.folder / "coracle-data/store.db").exists()
    assert "pods/default/web" in p.run("store", "list", "pods", cwd=p.folder).ok()
    assert "(./coracle-data)" in p.run("help", "store", "list").ok()


def test_a_resource_that_is_not_kept_is_named_not_listed_as_empty(p):
    for word, near in (("cm", "configmaps"), ("configmap", "configmaps"), ("ConfigMap", "configmaps"),
                       ("configmpas", "configmaps"), ("nodes", "minions"), ("endpoints", "services/endpoints")):
        for command in ("list", "watch"):
            p.run("store", command, word, "--data", p.data).fails(2, f'no resource under "{word}"', f'did you mean "{near}"?')
    p.run("store", "get", "xyzzy/a/b", "--data", p.data).fails(2, 'no resource under "xyzzy"\n')


def test_a_key_must_be_a_key(p):
    for key in ("", "/", "/registry/", "/pods/x"):
        p.run("store", "get", key, "--data", "x").fails(2, "is not a key", "pods/default/web")


def test_backends_are_known_by_name(p):
    p.run("store", "list", "pods", "--storage-backend", "etcd2").fails(2, "etcd2 is no longer a supported storage backend")
    p.run("store", "list", "pods", "--data", "x", "--storage-backend", "mysql").fails(2, "--storage-backend", "allowed values: sqlite")
    p.run("store", "check", "--data", "x", "--storage-backend", "etcd3").fails(2, "--storage-backend")


def test_the_manual_has_every_command_and_flag(p):
    manual = (ROOT / "docs/man/coracle-store.1").read_text().replace("\\-", "-")
    for command in COMMANDS:
        assert f'.SS "{command}' in manual or f".SS {command}" in manual, f"no section for {command}"
        for flag in re.findall(r"--[a-z-]+", p.run("help", "store", command).ok()):
            assert flag in manual, f"{flag} of {command} is not in the manual"


def test_the_manual_has_every_flag_of_serve(p):
    manual = (ROOT / "docs/man/coracle-serve.1").read_text().replace("\\-", "-")
    flags = re.findall(r"^ .*(--[a-z-]+)", p.run("help", "serve").ok(), re.MULTILINE)
    assert len(flags) > 15
    for flag in flags:
        assert flag in manual, f"{flag} is not in the manual"


def test_the_demo_runs_and_runs_again(p):
    data, program = p.folder / "it's data", p.folder / "the program"
    program.symlink_to(pathlib.Path(p.path).resolve())
    for round_number in (1, 2):
        done = subprocess.run([ROOT / "tools/run_demo", "--data", str(data)], capture_output=True, text=True,
                              check=False, env={**os.environ, "CORACLE": str(program)}, timeout=120)
        assert done.returncode == 0, f"run {round_number}: {done.stderr}"
        assert done.stdout.count('{"type":"MODIFIED"') == 2 and "Next, type:" in done.stdout
        for line in done.stdout.split("Next, type:")[1].splitlines():
            words = shlex.split(line, comments=True)
            if words and words[2] != "watch":
                assert words[0] == str(program), line
                p.run(*words[1:], cwd=p.folder).ok()
        (p.folder / "copy.db").unlink()


def test_dev_run_leaves_no_child_to_the_server(p):
    data = p.folder / "it's data"
    server = subprocess.Popen([ROOT / "tools/run_server", "--port", "0", "--data", str(data)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, env={**os.environ, "CORACLE": p.path})
    try:
        said = server.stdout.read()  # up to the end of who prints it: the server has another standard output
        assert "The server is at https://" in said and "In another terminal" in said, said
        typed = [line for line in said.splitlines() if line.startswith(("  export KUBECONFIG=", "  api() "))]
        shown = subprocess.run(["sh", "-euc", "unset KUBECONFIG\n" + typed[0] + '\ncurl() { printf "%s\\n" "$@"; }\ncat "${KUBECONFIG-$(api | sed -n 2p)}"'],
                               capture_output=True, text=True, check=False)
        assert shown.returncode == 0 and not shown.stderr, shown.stderr
        children = pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children")
        assert not children.exists() or children.read_text() == "", children.read_text()
    finally:
        server.terminate()
        assert server.wait(60) == 0
        server.stdout.close()


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
