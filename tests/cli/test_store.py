#!/usr/bin/env python3
"""`coracle store …`, driven from outside. Argument: the program."""

import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys

from tap import TIMEOUT_S, config_map, main


def put(p, key, obj, *flags):
    return p.store("put", key, *flags, stdin=json.dumps(obj))


def events(text):
    return [(e["type"], e["object"]["metadata"]["name"], e["object"]["metadata"]["resourceVersion"])
            for e in map(json.loads, text.splitlines())]


def test_put_says_created_updated_and_unchanged(p):
    first, second = config_map("tide", level="low"), config_map("tide", level="high")
    assert put(p, "configmaps/default/tide", first).ok() == "configmaps/default/tide created, resourceVersion 2\n"
    assert put(p, "configmaps/default/tide", first).ok() == "configmaps/default/tide unchanged, resourceVersion 2\n"
    assert put(p, "configmaps/default/tide", second).ok() == "configmaps/default/tide updated, resourceVersion 3\n"


def test_put_reads_a_file_and_prints_the_object(p):
    file = p.folder / "object.json"
    file.write_text(json.dumps(config_map("tide", level="low")))
    obj = p.store("put", "configmaps/default/tide", file, "-o", "json").json()
    assert obj["metadata"]["resourceVersion"] == "2" and obj["data"] == {"level": "low"}


def test_put_create_only_refuses_an_existing_object(p):
    put(p, "configmaps/default/tide", config_map("tide"), "--create-only").ok()
    refused = put(p, "configmaps/default/tide", config_map("tide"), "--create-only", "-o", "json")
    refused.fails(1, 'configmaps "tide" already exists')
    assert refused.json()["reason"] == "AlreadyExists" and refused.json()["code"] == 409


def test_put_with_a_resource_version_needs_that_version(p):
    obj = config_map("tide", level="low")
    put(p, "configmaps/default/tide", obj).ok()
    obj["metadata"]["resourceVersion"] = "2"
    obj["data"]["level"] = "high"
    put(p, "configmaps/default/tide", obj).ok()
    obj["data"]["level"] = "flood"
    put(p, "configmaps/default/tide", obj).fails(1, "Precondition failed: ResourceVersion in precondition: 2")
    obj["metadata"]["name"] = "other"
    put(p, "configmaps/default/other", obj).fails(1, "Precondition failed: ResourceVersion in precondition: 2")
    assert not any(line.startswith("configmaps/default/other") for line in p.store("list", "configmaps").out.splitlines())


def test_put_names_the_field_that_does_not_fit_the_key(p):
    put(p, "configmaps/default/tide", config_map("ebb")).fails(1, 'metadata.name: "ebb"', '"tide"')
    put(p, "configmaps/other/tide", config_map("tide")).fails(1, 'metadata.namespace: "default"', '"other"')
    put(p, "configmaps", config_map("tide")).fails(1, "KEY", "configmaps/NAMESPACE/NAME")
    p.store("put", "configmaps/default/x", stdin="{").fails(1)
    p.store("put", "configmaps/default/x", p.folder / "none.json").fails(1, "none.json: No such file")
    assert not p.data.exists(), "a refused object must not make a store"


def test_put_stores_a_built_in_kind_as_the_server_would(p):
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
                  "spec": {"replicas": "x", "unheard": 1}}
    put(p, "deployments/default/web", deployment).fails(1, "cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32")
    assert not p.data.exists(), "a refused object must not make a store"
    del deployment["spec"]["replicas"]
    put(p, "deployments/default/web", deployment).ok()
    spec = p.store("get", "deployments/default/web").json()["spec"]
    assert spec["replicas"] == 1 and spec["strategy"]["type"] == "RollingUpdate" and "unheard" not in spec, spec
    custom = {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "b", "namespace": "default"}, "any": [1, "x"]}
    put(p, "example.com/boats/default/b", custom).ok()
    assert p.store("get", "example.com/boats/default/b").json()["any"] == [1, "x"]


def test_an_object_with_a_ttl_ends_in_a_deleted_event(p):
    put(p, "configmaps/default/brief", config_map("brief"), "--ttl", "1").ok()
    watch = p.start("watch", "configmaps", "--from", "2", "--timeout", "50")
    event = json.loads(watch.stdout.readline())
    watch.send_signal(signal.SIGINT)
    watch.communicate()
    assert watch.returncode == 0
    assert (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", "brief")


def test_a_full_registry_path_names_the_same_key(p):
    put(p, "/registry/configmaps/default/tide", config_map("tide")).ok()
    assert p.store("get", "configmaps/default/tide").json()["metadata"]["name"] == "tide"
    rows = sqlite3.connect(p.data / "store.db").execute("SELECT key FROM log").fetchall()
    assert rows == [("/registry/configmaps/default/tide",)], rows


def test_get_prints_one_line_or_pretty(p):
    put(p, "configmaps/default/tide", config_map("tide", level="a \"b\" {c}", empty="")).ok()
    line = p.store("get", "configmaps/default/tide").ok()
    assert line.count("\n") == 1 and line.startswith('{"kind":"ConfigMap","apiVersion":"v1",')
    pretty = p.store("get", "configmaps/default/tide", "-o", "pretty").ok()
    assert json.loads(pretty) == json.loads(line)
    assert pretty == json.dumps(json.loads(line), indent=4) + "\n"


def test_get_of_nothing_is_a_not_found_status(p):
    put(p, "configmaps/default/tide", config_map("tide")).ok()
    missing = p.store("get", "configmaps/default/ebb", "-o", "json")
    missing.fails(1, 'coracle store get: configmaps "ebb" not found')
    status = missing.json()
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 404, "NotFound")
    p.store("get", "stable.example.com/crontabs/default/x").fails(1, 'crontabs.stable.example.com "x" not found')


def fill(p, count):
    for i in range(count):
        put(p, f"configmaps/default/cm-{i}", config_map(f"cm-{i}", labels={"parity": "even" if i % 2 == 0 else "odd"})).ok()


def test_list_has_a_table_and_a_v1_list(p):
    fill(p, 3)
    table = [line.split() for line in p.store("list", "configmaps").ok().splitlines()]
    assert table == [["KEY", "RESOURCEVERSION", "KIND"]] + [
        [f"configmaps/default/cm-{i}", str(i + 2), "ConfigMap"] for i in range(3)]
    whole = p.store("list", "configmaps/default", "-o", "json").json()
    assert (whole["kind"], whole["apiVersion"], whole["metadata"]) == ("List", "v1", {"resourceVersion": "4"})
    assert [i["metadata"]["name"] for i in whole["items"]] == ["cm-0", "cm-1", "cm-2"]
    empty = p.store("list", "secrets", "-o", "json").json()
    assert empty["items"] == []


def test_list_goes_on_with_a_token(p):
    fill(p, 5)
    names, token, first = [], None, None
    while first is None or token:
        flags = ["--limit", "2"] + (["--continue", token] if token else [])
        page = p.store("list", "configmaps", "-o", "json", *flags).json()
        first = first or page["metadata"]
        assert page["metadata"]["resourceVersion"] == first["resourceVersion"]
        names += [i["metadata"]["name"] for i in page["items"]]
        token = page["metadata"].get("continue")
    assert names == [f"cm-{i}" for i in range(5)] and first["remainingItemCount"] == 3
    assert "3 more: --continue " in p.store("list", "configmaps", "--limit", "2").err
    p.store("list", "configmaps", "--continue", "nonsense").fails(1, "continue")


def test_list_without_a_limit_joins_its_pages(p):
    db_rows = 1203
    put(p, "configmaps/default/seed", config_map("seed")).ok()
    db = sqlite3.connect(p.data / "store.db")
    for i in range(db_rows):
        name = f"cm-{i:05}"
        value = json.dumps(config_map(name), separators=(",", ":"))
        db.execute("INSERT INTO log(rev, key, create_rev, prev_rev, lease, dead, value) VALUES(?,?,?,0,0,0,?)",
                   (i + 3, f"/registry/configmaps/default/{name}", i + 3, value.encode()))
    db.commit()
    db.close()
    items = p.store("list", "configmaps", "-o", "json").json()["items"]
    assert [i["metadata"]["name"] for i in items] == [f"cm-{i:05}" for i in range(db_rows)] + ["seed"]
    assert len(p.store("list", "configmaps").ok().splitlines()) == db_rows + 2


def test_list_selects_by_labels_and_fields(p):
    fill(p, 4)

    def names(*flags):
        return [i["metadata"]["name"] for i in p.store("list", "configmaps", "-o", "json", *flags).json()["items"]]

    assert names("--selector", "parity=odd") == ["cm-1", "cm-3"]
    assert names("-l", "parity in (even),parity") == ["cm-0", "cm-2"]
    assert names("--field-selector", "metadata.name=cm-2") == ["cm-2"]
    p.store("list", "configmaps", "-l", "a==b==c").fails(1, "found '==', expected")
    p.store("list", "configmaps", "--field-selector", "spec.x=1").fails(1, "spec.x")


def test_list_reads_an_older_revision(p):
    put(p, "configmaps/default/tide", config_map("tide", level="low")).ok()
    put(p, "configmaps/default/tide", config_map("tide", level="high")).ok()
    old = p.store("list", "configmaps", "-o", "json", "--resource-version", "2", "--resource-version-match", "Exact").json()
    assert old["items"][0]["data"] == {"level": "low"} and old["metadata"]["resourceVersion"] == "2"
    future = p.store("list", "configmaps", "-o", "json", "--resource-version", "99")
    future.fails(1, "Too large resource version: 99, current: 3")
    p.store("list", "configmaps", "--resource-version", "x").fails(1, "resource version")


def watch_events(p, count, *args):
    """So many events, after which nothing comes."""
    watch = p.start("watch", "configmaps", *args)
    lines = "".join(watch.stdout.readline() for _ in range(count))
    watch.send_signal(signal.SIGINT)
    rest, err = watch.communicate(timeout=TIMEOUT_S)
    assert (watch.returncode, rest, err) == (0, "", "")
    return events(lines)


def test_watch_tells_history_and_ends_on_sigint(p):
    put(p, "configmaps/default/tide", config_map("tide", level="low")).ok()
    put(p, "configmaps/default/tide", config_map("tide", level="high")).ok()
    put(p, "secrets/default/other", config_map("other")).ok()
    p.store("delete", "configmaps/default/tide").ok()
    assert watch_events(p, 3, "--from", "1") == [("ADDED", "tide", "2"), ("MODIFIED", "tide", "3"), ("DELETED", "tide", "5")]


def test_watch_without_from_begins_with_the_present(p):
    fill(p, 2)
    put(p, "configmaps/default/cm-0", config_map("cm-0", changed="yes")).ok()
    assert watch_events(p, 2) == [("ADDED", "cm-0", "4"), ("ADDED", "cm-1", "3")]
    assert watch_events(p, 1, "-l", "parity=odd") == [("ADDED", "cm-1", "3")]
    p.store("watch", "configmaps", "--timeout", "1").ok()


def test_delete_prints_the_last_state_and_keeps_preconditions(p):
    put(p, "configmaps/default/tide", config_map("tide", level="low")).ok()
    p.store("delete", "configmaps/default/tide", "--resource-version", "7").fails(1, "Precondition failed")
    p.store("delete", "configmaps/default/tide", "--uid", "u").fails(1, "UID in precondition: u")
    assert p.store("delete", "configmaps/default/tide", "-o", "json").json()["metadata"]["resourceVersion"] == "3"
    p.store("delete", "configmaps/default/tide").fails(1, 'configmaps "tide" not found')
    put(p, "configmaps/default/tide", config_map("tide")).ok()
    assert p.store("delete", "configmaps/default/tide").ok() == "configmaps/default/tide deleted, resourceVersion 5\n"


def test_after_compact_the_past_is_expired_and_the_revision_moved(p):
    put(p, "configmaps/default/tide", config_map("tide", level="low")).ok()
    put(p, "configmaps/default/tide", config_map("tide", level="high")).ok()
    p.store("compact", "--revision", "99").fails(1, "99")
    assert p.store("compact", "-o", "json").json() == {"compactRevision": "3", "revision": "4"}
    assert p.store("compact", "--revision", "2", "-o", "json").json() == {"compactRevision": "3", "revision": "4"}
    assert p.store("get", "configmaps/default/tide").json()["data"] == {"level": "high"}
    expired = p.store("watch", "configmaps", "--from", "1")
    expired.fails(1, "too old")
    event = expired.json()
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    p.store("list", "configmaps", "--resource-version", "2", "--resource-version-match", "Exact").fails(1, "too old")


def test_beside_a_holder_reads_work_and_the_rest_says_who_holds_it(p):
    put(p, "configmaps/default/tide", config_map("tide")).ok()
    holder = p.start("watch", "configmaps")
    assert json.loads(holder.stdout.readline())["type"] == "ADDED"
    try:
        p.store("get", "configmaps/default/tide").ok()
        p.store("list", "configmaps").ok()
        p.store("check").ok()
        p.store("backup", "--to", p.folder / "copy.db").ok()
        for command in (["put", "configmaps/default/x"], ["delete", "configmaps/default/tide"], ["compact"],
                        ["watch", "configmaps"]):
            held = f"held by process {holder.pid}; stop it, or name another folder with --data"
            p.store(*command, stdin=json.dumps(config_map("x"))).fails(1, held)
    finally:
        holder.send_signal(signal.SIGTERM)
        holder.communicate(timeout=TIMEOUT_S)
    assert holder.returncode == 0
    put(p, "configmaps/default/x", config_map("x")).ok()


def test_a_backup_is_a_store_again_and_is_never_overwritten(p):
    put(p, "configmaps/default/tide", config_map("tide", level="low")).ok()
    copy = p.folder / "restored" / "store.db"
    copy.parent.mkdir()
    p.store("backup", "--to", copy).ok()
    p.store("backup", "--to", copy).fails(1, str(copy))
    p.data = copy.parent
    assert p.store("get", "configmaps/default/tide").json()["data"] == {"level": "low"}
    assert put(p, "configmaps/default/tide", config_map("tide", level="high")).ok().endswith("resourceVersion 3\n")
    p.store("backup").fails(2, "flag --to FILE is needed")


def test_check_finds_a_damaged_file(p):
    fill(p, 3)
    assert p.store("check").ok().endswith(": sound\n")
    summary = p.store("check", "-o", "json").json()
    assert (summary["keys"], summary["findings"], summary["found"]) == (3, 0, [])
    db = sqlite3.connect(p.data / "store.db")
    db.execute("UPDATE log SET create_rev = 77 WHERE rev = 3")
    db.commit()
    db.close()
    p.store("check").fails(1)


def test_status_says_how_large_the_store_is(p):
    fill(p, 3)
    assert p.store("status").ok().startswith("revision 4, compacted up to 0, ")
    status = p.store("status", "-o", "json").json()
    assert (status["revision"], status["compactRevision"]) == ("4", "0")
    assert status["fileBytes"] >= status["usedBytes"] > 0
    assert "servers" not in status, "nobody shares it"


def test_an_object_that_cannot_be_read_is_named(p):
    fill(p, 2)
    db = sqlite3.connect(p.data / "store.db")
    db.execute("UPDATE log SET value = x'6b38733a656e633a6161' WHERE rev = 3")
    db.commit()
    db.close()
    for command in (["get", "configmaps/default/cm-1"], ["list", "configmaps"]):
        failed = p.store(*command, "-o", "json").fails(1, "/registry/configmaps/default/cm-1")
        assert failed.json()["code"] == 500
    p.store("get", "configmaps/default/cm-0").ok()
    assert p.store("list", "secrets", "-o", "json").json()["items"] == []


def test_reads_make_no_store(p):
    for command in (["get", "configmaps/default/x"], ["list", "configmaps"], ["check"], ["status"],
                    ["backup", "--to", str(p.folder / "x")]):
        p.store(*command).fails(1, str(p.data))
    assert not p.data.exists() and not (p.folder / "x").exists()


def test_only_put_makes_a_store(p):
    for command in (["delete", "configmaps/default/x"], ["compact"], ["watch", "configmaps"],
                    ["rewrite", "--storage-media-type", "application/json"]):
        p.store(*command).fails(1, f"there is no store in {p.data}")
    assert not p.data.exists()


def test_what_needs_files_names_the_flag_that_was_typed(p):
    p.store("check", "--etcd-servers", "http://127.0.0.1:1").fails(2, "flag --etcd-servers: an etcd has no files here")
    p.store("check", "--storage-backend", "etcd3").fails(2, "flag --storage-backend:")


def test_a_file_that_is_no_store_is_refused(p):
    p.data.mkdir()
    (p.data / "store.db").write_bytes(b"this is not a database" * 100)
    put(p, "configmaps/default/x", config_map("x")).fails(1, "store.db")
    p.store("list", "configmaps").fails(1, "store.db")


def test_output_that_cannot_be_written_is_a_failure(p):
    fill(p, 1)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([p.path, "store", "list", "configmaps", "--data", str(p.data)], stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and "standard output: No space left" in done.stderr, done.stderr


if __name__ == "__main__":
    os.environ.pop("COR_FAULT", None)
    assert pathlib.Path(sys.argv[1]).exists()
    sys.exit(main(sys.modules[__name__]))
