#!/usr/bin/env python3
"""A data folder that commit 6fa593c wrote, which kept objects as they were sent: it opens, its objects follow the schema at the
revisions that they have, watches resume, and backups of it are stores. old_folder/make.sh made it. Another one, of commit 723973c, has
definitions that changed under their objects (make_definitions.sh). old_folder.py PROGRAM [FLAG...]"""

import gzip
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

from fixture import Server, await_it, main, test

PROGRAM, FLAGS = sys.argv[1], sys.argv[2:]
OLD = pathlib.Path(__file__).parent / "old_folder" / "store.db.gz"
DEFINED = OLD.parent / "definitions.db.gz"
NS = "namespaces/default"
PODS, DEPLOYMENTS = f"/api/v1/{NS}/pods", f"/apis/apps/v1/{NS}/deployments"


def old_folder(name, store=OLD):
    folder = pathlib.Path(name) / "data"
    folder.mkdir(mode=0o700)
    (folder / "store.db").write_bytes(gzip.decompress(store.read_bytes()))
    return folder


def stored(folder):
    db = sqlite3.connect(folder / "store.db")
    try:
        return dict(db.execute("SELECT name, value FROM meta")), db.execute("SELECT MAX(rev), COUNT(*) FROM log").fetchone()
    finally:
        db.close()


def check_objects(server):
    pod = server.get(PODS + "/pod").expect(200).json()
    container = pod["spec"]["containers"][0]
    assert "nothing" not in pod["metadata"] and pod["spec"]["restartPolicy"] == "Always", pod
    assert container["resources"] == {"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "1Gi"}}, pod
    assert "tty" not in container and container["imagePullPolicy"] == "IfNotPresent"
    deployment = server.get(DEPLOYMENTS + "/deployment").expect(200).json()
    assert deployment["spec"]["replicas"] == 1 and "frobs" not in deployment["spec"] and deployment["spec"]["paused"] is True
    assert deployment["spec"]["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    odd = server.get(f"/api/v1/{NS}/configmaps/odd").expect(200).json()
    assert "unknown" not in odd and "data" not in odd and not {"labels", "annotations"} & odd["metadata"].keys(), odd
    assert server.get(f"/api/v1/{NS}/services/service").expect(200).json()["spec"]["ports"][0]["protocol"] == "TCP"
    assert server.get(f"/apis/batch/v1/{NS}/cronjobs/cronjob").expect(200).json()["spec"]["successfulJobsHistoryLimit"] == 3
    for version in ("v1", "v2"):
        scalers = server.get(f"/apis/autoscaling/{version}/{NS}/horizontalpodautoscalers").expect(200).json()["items"]
        assert [item["spec"]["minReplicas"] for item in scalers] == [1, 1], scalers
    for path in (f"/api/v1/{NS}/events", f"/apis/events.k8s.io/v1/{NS}/events"):
        assert [item["metadata"]["name"] for item in server.get(path).expect(200).json()["items"]] == ["event", "event2"]
    # A list and a get show the same.
    assert server.get(PODS + "?resourceVersion=0").expect(200).json()["items"][0]["spec"] == pod["spec"]
    return pod, deployment


@test
def an_old_folder_opens_and_its_objects_follow_the_schema(_):
    with tempfile.TemporaryDirectory() as name:
        folder = old_folder(name)
        with Server(PROGRAM, *FLAGS, data=folder) as server:
            pod, deployment = check_objects(server)
            # The revisions are those of the folder.
            assert (pod["metadata"]["resourceVersion"], deployment["metadata"]["resourceVersion"]) == ("18", "17")
            # A change to one, with the whole object as it was shown, and what was not changed after a restart.
            pod["metadata"]["labels"]["changed"] = "twice"
            server.request("PUT", PODS + "/pod", pod).expect(200)
            server.restart()
            assert check_objects(server)[0]["metadata"]["labels"] == {"changed": "twice"}


@test
def a_watch_resumes_from_a_revision_of_the_old_folder(_):
    with tempfile.TemporaryDirectory() as name, Server(PROGRAM, *FLAGS, data=old_folder(name)) as server:
        watch = server.watch(f"{DEPLOYMENTS}?watch=1&resourceVersion=8")
        for kind, rev in (("ADDED", "11"), ("MODIFIED", "17")):
            event = next(watch)
            assert event["type"] == kind and event["object"]["metadata"]["resourceVersion"] == rev, event
            assert event["object"]["spec"]["replicas"] == 1 and "frobs" not in event["object"]["spec"], event
        patch = server.request("PATCH", DEPLOYMENTS + "/deployment", {"spec": {"paused": None}}, Content_Type="application/merge-patch+json")
        assert next(watch)["object"] == patch.expect(200).json()
        watch.close()


@test
def the_folder_records_what_wrote_it(_):
    with tempfile.TemporaryDirectory() as name:
        folder = old_folder(name)
        assert "format" not in stored(folder)[0]
        with Server(PROGRAM, *FLAGS, data=folder) as server:
            server.stop()
            meta, (rev, rows) = stored(folder)
            assert meta["format"] == 2 and meta["old_rev"] == 18 and meta["written_by"], meta
            assert rev >= 18 and rows >= 17
            # A backup has the record, and is a store.
            backup = pathlib.Path(name) / "backup"
            backup.mkdir(mode=0o700)
            subprocess.run([PROGRAM, "store", "backup", "--data", folder, "--to", backup / "store.db"], check=True, capture_output=True)
            assert stored(backup)[0] == meta
            with Server(PROGRAM, *FLAGS, data=backup) as restored:
                check_objects(restored)


def status_of(folder):
    """What `coracle store status` prints of the folder, as text and as JSON."""
    command = [PROGRAM, "store", "status", "--data", folder]
    text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    return text, json.loads(subprocess.run([*command, "-o", "json"], check=True, capture_output=True, text=True, timeout=60).stdout)


@test
def store_status_prints_the_format(_):
    with tempfile.TemporaryDirectory() as name:
        folder = old_folder(name)
        text, status = status_of(folder)
        assert "\nformat 1: objects up to revision 18 may lack what the schema adds\n" in text, text
        assert status["format"] == 1 and status["oldRevision"] == "18", status
        with Server(PROGRAM, *FLAGS, data=folder) as server:
            server.stop()
        text, status = status_of(folder)
        assert "\nformat 2: objects up to revision 18 may lack what the schema adds\n" in text, text
        assert status["format"] == 2 and status["oldRevision"] == "18", status
        with Server(PROGRAM, *FLAGS, data=pathlib.Path(name) / "new") as server:
            server.stop()
        text, status = status_of(pathlib.Path(name) / "new")
        assert text.endswith("\nformat 2\n"), text
        assert status["format"] == 2 and "oldRevision" not in status, status


@test
def a_newer_folder_is_refused_with_both_formats(_):
    with tempfile.TemporaryDirectory() as name:
        folder = old_folder(name)
        db = sqlite3.connect(folder / "store.db")
        db.executemany("INSERT INTO meta VALUES(?, ?)", [("format", 3), ("written_by", "9.8.7")])
        db.commit()
        db.close()
        for command in (["serve", "--port", "0"], ["store", "status"], ["store", "backup", "--to", name + "/copy"]):
            done = subprocess.run([PROGRAM, *command, "--data", folder], capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode != 0 and "has format 3 and was written by coracle 9.8.7" in done.stderr, done.stderr
            assert "reads formats up to 2" in done.stderr, done.stderr


THINGS = {  # path: the revision in the folder
    "larges/large": "69", "larges/small": "70", "plains/one": "75", "stricts/one": "80", "movers/one": "85", "dears/one": "91",
}
DEFINITIONS, MERGE = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {"Content_Type": "application/merge-patch+json"}
LONG = "0" * 4096


def thing(path, version="v1"):
    plural, _, name = path.partition("/")
    return f"/apis/old.example.com/{version}/{NS}/{plural}" + (f"/{name}" if name else "")


def check_things(server):
    """What the folder has follows the definitions as they are, at the revisions of the folder."""
    shown = {}
    for path, revision in THINGS.items():
        shown[path] = server.get(thing(path)).expect(200).json()
        listed = server.get(thing(path.partition("/")[0])).expect(200).json()["items"]
        assert shown[path] in listed and shown[path]["metadata"]["resourceVersion"] == revision, (path, shown[path]["metadata"])
    specs = {path: one["spec"] for path, one in shown.items()}
    assert specs["larges/large"] == {"items": [{}] * 5000} and specs["larges/small"] == {"items": [{"d": LONG}]}
    assert specs["plains/one"] == {"name": "a", "replicas": 3, "mode": "auto"}, specs["plains/one"]
    assert specs["stricts/one"] == {"name": 7, "parts": [{"k": "a", "v": 1}] * 2}, specs["stricts/one"]
    assert shown["stricts/one"]["status"] == {"phase": ["x"]}
    # The other version has the last word on what is stored.
    assert specs["movers/one"] == {"a": 1, "c": 5} == server.get(thing("movers/one", "v2")).expect(200).json()["spec"], specs["movers/one"]
    assert specs["dears/one"] == {"list": [1] * 9000}
    return shown


@test
def objects_of_definitions_of_an_old_folder_follow_the_schema(_):
    with tempfile.TemporaryDirectory() as name, Server(PROGRAM, *FLAGS, data=old_folder(name, DEFINED)) as server:
        check_things(server)
        answer = server.get(thing("larges"))
        assert "served as they are stored" in answer.headers["Warning"], answer.headers.items()
        server.restart()
        check_things(server)


@test
def a_watch_resumes_from_before_the_definitions_of_an_old_folder_changed(_):
    with tempfile.TemporaryDirectory() as name, Server(PROGRAM, *FLAGS, data=old_folder(name, DEFINED)) as server:
        shown = check_things(server)
        for plural in ("larges", "plains", "stricts", "movers", "dears"):
            paths = [path for path in THINGS if path.startswith(plural)]
            watch = server.watch(f"{thing(plural)}?watch=1&resourceVersion=65")
            for path in paths:
                assert next(watch) == {"type": "ADDED", "object": shown[path]}, path
            patch = {"metadata": {"labels": {"changed": "once"}}}
            answer = server.request("PATCH", thing(paths[0]), patch, **MERGE).expect(200)
            assert next(watch) == {"type": "MODIFIED", "object": answer.json()}
            watch.close()


@test
def objects_of_definitions_of_an_old_folder_are_mended_and_deleted(_):
    valid = {"larges/large": {"items": [{}]}, "stricts/one": {"name": "a", "parts": []}, "dears/one": {"list": [9999]}}
    with tempfile.TemporaryDirectory() as name, Server(PROGRAM, "--controllers=*", *FLAGS, data=old_folder(name, DEFINED)) as server:
        for path, spec in valid.items():
            # As a whole, in parts, and by an apply once it follows the schema.
            whole = server.get(thing(path)).expect(200).json()
            whole["metadata"]["labels"] = {"by": "put"}
            server.request("PUT", thing(path), whole).expect(200)
            server.request("PATCH", thing(path), [{"op": "replace", "path": "/spec", "value": spec}],
                           Content_Type="application/json-patch+json").expect(200)
            if "status" in whole:
                server.request("PATCH", thing(path) + "/status", {"status": None}, **MERGE).expect(200)
            config = {"apiVersion": whole["apiVersion"], "kind": whole["kind"], "metadata": {"labels": {"by": "apply"}}}
            applied = server.request("PATCH", thing(path) + "?fieldManager=m&force=true", config,
                                     Content_Type="application/apply-patch+yaml").expect(200).json()
            assert applied["metadata"]["labels"] == {"by": "apply"} and applied["spec"].keys() == spec.keys(), applied
    with tempfile.TemporaryDirectory() as name, Server(PROGRAM, "--controllers=*", *FLAGS, data=old_folder(name, DEFINED)) as server:
        # As they are: singly, as a collection, with the definition.
        server.request("DELETE", thing("larges/large")).expect(200)
        server.request("DELETE", thing("stricts")).expect(200)
        for plural in ("larges", "plains", "movers", "dears"):
            server.request("DELETE", f"{DEFINITIONS}/{plural}.old.example.com").expect(200)
        for path in THINGS:
            await_it(lambda: server.get(thing(path)).json()["metadata"].get("deletionTimestamp"), path)
            server.request("PATCH", thing(path), {"metadata": {"finalizers": None}}, **MERGE).expect(200)
        assert server.get(thing("stricts")).expect(200).json()["items"] == []
        for plural in ("larges", "plains", "movers", "dears"):
            await_it(lambda: server.get(f"{DEFINITIONS}/{plural}.old.example.com").status == 404, plural)


if __name__ == "__main__":
    main()
