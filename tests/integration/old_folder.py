#!/usr/bin/env python3
"""A data folder that commit 6fa593c wrote, which kept objects as they were sent: it opens, its objects follow the schema at the
revisions that they have, watches resume, and backups of it are stores. old_folder/make.sh made it. old_folder.py PROGRAM [FLAG...]"""

import gzip
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

from fixture import Server, main, test

PROGRAM, FLAGS = sys.argv[1], sys.argv[2:]
OLD = pathlib.Path(__file__).parent / "old_folder" / "store.db.gz"
NS = "namespaces/default"
PODS, DEPLOYMENTS = f"/api/v1/{NS}/pods", f"/apis/apps/v1/{NS}/deployments"


def old_folder(name):
    folder = pathlib.Path(name) / "data"
    folder.mkdir(mode=0o700)
    (folder / "store.db").write_bytes(gzip.decompress(OLD.read_bytes()))
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


if __name__ == "__main__":
    main()
