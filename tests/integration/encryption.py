#!/usr/bin/env python3
"""A server whose store is encrypted: what is on disk, rotation while it runs, broken files. encryption.py PROGRAM [FLAG...]"""

import base64
import hashlib
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import etcd_cluster
from etcd_cluster import wait_for
from fixture import Server, main, test

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]
REACT_S = 120
SECRET = "dmVyeSBzZWNyZXQ="


def key(name):
    return {"name": name, "secret": base64.b64encode((name * 32)[:32].encode()).decode()}


def write_config(folder, kind, *names, clear=False):
    path = pathlib.Path(folder) / "encryption.json"
    providers = [{kind: {"keys": [key(name) for name in names]}}] + ([{"identity": {}}] if clear else [])
    path.touch(0o600)
    path.write_text(json.dumps({"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1",
                                "resources": [{"resources": ["secrets"], "providers": providers}]}))
    return str(path)


def reloads(server, status):
    text = server.get("/metrics").expect(200).body.decode()
    found = re.search(r'automatic_reloads_total\{apiserver_id_hash="sha256:[0-9a-f]{64}",status="%s"\} (\d+)' % status, text)
    return int(found.group(1))


def reload(server, status="success"):
    """Asks for a reload and waits until it shows in the metrics."""
    before, deadline = reloads(server, status), time.monotonic() + REACT_S
    server.process.send_signal(signal.SIGHUP)
    while reloads(server, status) == before:
        assert time.monotonic() < deadline, server.output()


def create(server, name):
    return server.create("/api/v1/namespaces/default/secrets",
                         {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": name}, "data": {"a": SECRET}})


def stored(server, path):
    key_ = f"{server.prefix}/{path}"
    if server.on_etcd:
        return etcd_cluster.stored(key_)
    db = sqlite3.connect(f"file:{server.data}/store.db?mode=ro", uri=True)
    try:
        return bytes(db.execute("SELECT value FROM log WHERE key = ? ORDER BY rev DESC LIMIT 1", (key_,)).fetchone()[0])
    finally:
        db.close()


def stored_secret(server, name):
    return stored(server, f"secrets/default/{name}")


def on_disk(server, data):
    """Is it in any file of the store?"""
    folder = pathlib.Path(os.environ["COR_ETCD_FOLDER"]) if server.on_etcd else server.data
    return any(data in file.read_bytes() for file in folder.rglob("*") if file.is_file())


@test
def nothing_of_a_secret_is_on_disk_in_clear(_):
    with tempfile.TemporaryDirectory() as folder:
        with Server(PROGRAM, "--encryption-provider-config", write_config(folder, "aesgcm", "k1"), *FLAGS) as server:
            watch = server.watch("/api/v1/secrets?watch=true")
            create(server, "tide")
            assert next(watch)["object"]["data"] == {"a": SECRET}
            watch.close()
            items = server.get("/api/v1/secrets").expect(200).json()["items"]
            assert [item["data"] for item in items] == [{"a": SECRET}]
            assert stored_secret(server, "tide").startswith(b"k8s:enc:aesgcm:v1:k1:")
            assert not on_disk(server, SECRET.encode())
            assert stored(server, "namespaces/default").startswith(b"{"), "no rule names namespaces"
            server.restart()
            got = server.get("/api/v1/namespaces/default/secrets/tide").expect(200).json()
            assert got["data"] == {"a": SECRET}
            assert not on_disk(server, SECRET.encode())


@test
def a_key_is_rotated_while_the_server_runs(_):
    with tempfile.TemporaryDirectory() as folder:
        path = write_config(folder, "aescbc", "k1")
        with Server(PROGRAM, "--encryption-provider-config", path, *FLAGS) as server:
            old, idle = create(server, "old"), create(server, "idle")
            write_config(folder, "aescbc", "k2", "k1")
            reload(server)
            create(server, "new")
            assert stored_secret(server, "new").startswith(b"k8s:enc:aescbc:v1:k2:")
            assert stored_secret(server, "old").startswith(b"k8s:enc:aescbc:v1:k1:")
            put = server.request("PUT", "/api/v1/namespaces/default/secrets/old", old).expect(200).json()
            assert put["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"], "stale values are rewritten"
            assert stored_secret(server, "old").startswith(b"k8s:enc:aescbc:v1:k2:")
            again = server.request("PUT", "/api/v1/namespaces/default/secrets/old", put).expect(200).json()
            assert again["metadata"]["resourceVersion"] == put["metadata"]["resourceVersion"]
            assert len(server.get("/api/v1/secrets").expect(200).json()["items"]) == 3
            server.stop()
            where = server.on_etcd or ["--data", server.data]
            rewrite = subprocess.run([PROGRAM, "store", "rewrite", *where, "--encryption-provider-config", path],
                                     capture_output=True, text=True, check=True)
            assert rewrite.stdout.startswith("rewrote 1 of "), rewrite.stdout
            write_config(folder, "aescbc", "k2")
            server.start()
            got = server.get("/api/v1/namespaces/default/secrets/idle").expect(200).json()
            assert (got["data"], got["metadata"]["uid"]) == ({"a": SECRET}, idle["metadata"]["uid"])


def samples(server, family):
    """label text -> value"""
    found = re.findall(r"^%s\{(.*)\} (\S+)$" % family, server.get("/metrics").expect(200).body.decode(), re.MULTILINE)
    return {labels: float(value) for labels, value in found}


@test
def transformations_are_counted_by_resource_provider_and_outcome(_):
    def count(server, kind, prefix, status="OK"):
        labels = f'resource="secrets",transformation_type="{kind}",transformer_prefix="{prefix}",status="{status}"'
        return samples(server, "apiserver_storage_transformation_operations_total").get(labels, 0)

    with tempfile.TemporaryDirectory() as folder:
        path = write_config(folder, "aesgcm", "k1")
        with Server(PROGRAM, "--encryption-provider-config", path, *FLAGS) as server:
            create(server, "a")
            create(server, "b")
            assert count(server, "to_storage", "k8s:enc:aesgcm:v1:") == 2
            labels = 'transformation_type="to_storage",transformer_prefix="k8s:enc:aesgcm:v1:"'
            assert samples(server, "apiserver_storage_transformation_duration_seconds_count")[labels] == 2
            buckets = samples(server, "apiserver_storage_transformation_duration_seconds_bucket")
            assert labels + ',le="5e-06"' in buckets and labels + ',le="83.88608"' in buckets, buckets
            assert buckets[labels + ',le="+Inf"'] == 2
            hashes = samples(server, "apiserver_encryption_config_controller_last_config_info")
            digest = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
            assert [text.endswith(f'hash="sha256:{digest}"') for text in hashes] == [True], hashes
            assert not any("namespaces" in text for text in samples(server, "apiserver_storage_transformation_operations_total"))
            write_config(folder, "secretbox", "k1", clear=True)
            server.restart()
            assert server.get("/api/v1/namespaces/default/secrets/a").status != 200
            wait_for("a value that no provider reads", REACT_S, lambda: count(server, "from_storage", "unknown", "unknown-non-grpc"))
            write_config(folder, "aesgcm", "k2")
            server.restart()
            assert server.get("/api/v1/namespaces/default/secrets/a").status != 200
            wait_for("a value of another key", REACT_S,
                     lambda: count(server, "from_storage", "k8s:enc:aesgcm:v1:", "unknown-non-grpc"))


@test
def a_broken_file_leaves_the_old_one_in_force(_):
    with tempfile.TemporaryDirectory() as folder:
        path = write_config(folder, "aesgcm", "k1")
        flags = ["--encryption-provider-config", path, "--encryption-provider-config-automatic-reload", *FLAGS]
        with Server(PROGRAM, *flags) as server:
            create(server, "a")
            pathlib.Path(path).write_text("kind: EncryptionConfiguration\n")
            reload(server, "failure")
            create(server, "b")
            assert stored_secret(server, "b").startswith(b"k8s:enc:aesgcm:v1:k1:")
            server.get("/healthz").expect(200)
            assert server.get("/healthz/kms-providers").expect(200).body == b"ok"
            assert "the one before stays in force" in server.output()
            write_config(folder, "aesgcm", "k2", "k1")
            reload(server)
            create(server, "c")
            assert stored_secret(server, "c").startswith(b"k8s:enc:aesgcm:v1:k2:")
            assert len(server.get("/api/v1/secrets").expect(200).json()["items"]) == 3
            for name in ("k1", "k2"):
                assert key(name)["secret"] not in server.output()


@test
def a_secret_that_cannot_be_read_stops_nothing_else(_):
    with tempfile.TemporaryDirectory() as folder:
        path = write_config(folder, "aesgcm", "k1")
        with Server(PROGRAM, "--encryption-provider-config", path, *FLAGS) as server:
            name = server.prefix + "/secrets/default/tide"
            create(server, "tide")
            write_config(folder, "aesgcm", "k2")
            server.restart()
            got = server.get("/api/v1/namespaces/default/secrets/tide").expect(500).json()
            assert f'unable to transform key "{name}": no matching key was found' in got["message"], got
            listed = server.get("/api/v1/secrets")
            assert listed.status == 500 and name in listed.json()["message"], listed.body
            server.get("/api/v1/namespaces").expect(200)
            server.get("/api/v1/namespaces/kube-system/secrets").expect(200)
            server.get("/readyz").expect(200)
            assert 'apiserver_storage_decode_errors_total{group="",resource="secrets"}' in server.get("/metrics").expect(200).body.decode()
            if "--watch-cache=true" in FLAGS:
                assert name in server.output(), server.output()
            write_config(folder, "aesgcm", "k2", "k1")
            reload(server)
            deadline = time.monotonic() + REACT_S
            while server.get("/api/v1/secrets").status != 200:
                assert time.monotonic() < deadline, server.output()
            assert server.get("/api/v1/namespaces/default/secrets/tide").expect(200).json()["data"] == {"a": SECRET}


@test
def a_server_is_not_started_with_a_wrong_file(_):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(write_config(folder, "aesgcm", "k1"))

        def refuse(*flags):
            done = subprocess.run([PROGRAM, "serve", "--data", folder + "/data", "--port", "0", *flags], capture_output=True,
                                  text=True, timeout=REACT_S, check=False)
            assert done.returncode != 0
            return done.stderr

        path.write_text(path.read_text().replace("aesgcm", "aesgcn"))
        said = refuse("--encryption-provider-config", str(path))
        assert 'unknown field "resources[0].providers[0].aesgcn"' in said and str(path) in said, said
        assert key("k1")["secret"] not in said
        assert "must be set with --encryption-provider-config" in refuse("--encryption-provider-config-automatic-reload")


if __name__ == "__main__":
    main()
