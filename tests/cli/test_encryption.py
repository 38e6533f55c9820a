#!/usr/bin/env python3
"""Encryption at rest through `coracle store …`: rotation, what cannot be read, rewriting. Argument: the program."""

import base64
import json
import sqlite3
import sys

from tap import config_map, main

KEYS = {name: base64.b64encode(bytes([first + i for i in range(32)])).decode() for name, first in (("key1", 1), ("key2", 99))}


def provider(kind, *names):
    if kind == "identity":
        return {"identity": {}}
    return {kind: {"keys": [{"name": name, "secret": KEYS[name]} for name in names]}}


def config(p, *providers, resources=("configmaps",), mode=0o600):
    file = p.folder / "encryption.json"
    file.write_text(json.dumps({"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1",
                                "resources": [{"resources": list(resources), "providers": list(providers)}]}))
    file.chmod(mode)
    return "--encryption-provider-config", file


def put(p, name, flags, **data):
    return p.store("put", f"configmaps/default/{name}", *flags, stdin=json.dumps(config_map(name, **data)))


def value(p, name):
    """The newest stored bytes."""
    db = sqlite3.connect(p.data / "store.db")
    try:
        row = db.execute("SELECT value FROM log WHERE key = ? ORDER BY rev DESC LIMIT 1",
                         (f"/registry/configmaps/default/{name}",)).fetchone()
        return bytes(row[0])
    finally:
        db.close()


def set_value(p, name, data):
    db = sqlite3.connect(p.data / "store.db")
    try:
        db.execute("UPDATE log SET value = ? WHERE rev = (SELECT max(rev) FROM log WHERE key = ?)",
                   (data, f"/registry/configmaps/default/{name}"))
        db.commit()
    finally:
        db.close()


def on_disk(p):
    return b"".join(file.read_bytes() for file in p.data.iterdir() if file.is_file())


def test_rewrite_turns_json_into_protobuf_and_back(p):
    put(p, "a", (), k="v").ok()
    protobuf, plain = ("--storage-media-type=" + form for form in ("application/vnd.kubernetes.protobuf", "application/json"))
    p.store("rewrite").fails(2, "--storage-media-type")
    for flags, sealed in (((), False), (config(p, provider("aesgcm", "key1"), provider("identity")), True)):
        before = p.store("get", "configmaps/default/a", *flags).ok()
        assert "rewrote 1 of 1 keys" in p.store("rewrite", protobuf, *flags).ok()
        assert value(p, "a").startswith(b"k8s:enc:aesgcm:v1:key1:" if sealed else b"k8s\0"), value(p, "a")
        assert json.loads(p.store("get", "configmaps/default/a", *flags).ok())["data"] == json.loads(before)["data"] == {"k": "v"}
        assert "rewrote 0 of 1 keys" in p.store("rewrite", protobuf, *flags).ok()
        assert "rewrote 1 of 1 keys" in p.store("rewrite", plain, *flags).ok()
        assert sealed or value(p, "a").startswith(b"{"), value(p, "a")


def test_values_are_encrypted_on_disk_and_read_in_clear(p):
    for kind in ("aesgcm", "aescbc", "secretbox"):
        flags = config(p, provider(kind, "key1"))
        put(p, kind, flags, level="very secret " + kind).ok()
        assert value(p, kind).startswith(f"k8s:enc:{kind}:v1:key1:".encode())
        got = p.store("get", f"configmaps/default/{kind}", *flags).json()
        assert got["data"] == {"level": "very secret " + kind}
        p.store("get", f"configmaps/default/{kind}").fails(1, f"/registry/configmaps/default/{kind}",
                                                             "identity transformer tried to read encrypted data",
                                                             "with --encryption-provider-config")
    assert b"very secret" not in on_disk(p)
    flags = config(p, *(provider(kind, "key1") for kind in ("aesgcm", "aescbc", "secretbox")))
    assert len(p.store("list", "configmaps", "-o", "json", *flags).json()["items"]) == 3


def test_a_key_is_rotated_and_the_old_one_taken_away(p):
    old = config(p, provider("aescbc", "key1"))
    for name in ("a", "b", "c"):
        put(p, name, old, level=name).ok()
    both = config(p, provider("aescbc", "key2", "key1"))
    put(p, "a", both, level="a").ok()
    assert value(p, "a").startswith(b"k8s:enc:aescbc:v1:key2:"), "an update that changes nothing rewrites a stale value"
    assert value(p, "b").startswith(b"k8s:enc:aescbc:v1:key1:")
    assert p.store("rewrite", *both).ok() == "rewrote 2 of 3 keys\n"
    assert p.store("rewrite", *both, "-o", "json").json() == {"keys": 3, "rewritten": 0, "failed": 0}
    new = config(p, provider("aescbc", "key2"))
    listed = p.store("list", "configmaps", "-o", "json", *new).json()
    assert [item["data"]["level"] for item in listed["items"]] == ["a", "b", "c"]


def test_encryption_begins_and_ends_with_a_rewrite(p):
    put(p, "a", (), level="clear").ok()
    begin = config(p, provider("secretbox", "key1"), provider("identity"))
    assert p.store("rewrite", *begin).ok() == "rewrote 1 of 1 keys\n"
    assert value(p, "a").startswith(b"k8s:enc:secretbox:v1:key1:")
    end = config(p, provider("identity"), provider("secretbox", "key1"))
    assert p.store("rewrite", *end).ok() == "rewrote 1 of 1 keys\n"
    assert p.store("get", "configmaps/default/a").json()["data"] == {"level": "clear"}


def test_after_a_rewrite_no_file_has_the_clear_text_any_more(p):
    many = {f"k{i}": f"plain secret {i} " * 400 for i in range(6)}
    for name in ("a", "b", "gone"):
        put(p, name, (), **many).ok()
        put(p, name, (), level="plain secret").ok()
    p.store("delete", "configmaps/default/gone").ok()
    p.store("compact").ok()  # leaves free pages behind
    put(p, "a", (), level="plain secret again").ok()
    assert b"plain secret" in on_disk(p)
    begin = config(p, provider("aesgcm", "key1"), provider("identity"))
    assert p.store("rewrite", *begin).ok().startswith("rewrote 2 of ")
    assert b"plain secret" not in on_disk(p)
    p.store("check").ok()
    assert p.store("get", "configmaps/default/a", *begin).json()["data"] == {"level": "plain secret again"}
    before = p.store("status", "-o", "json").json()
    assert p.store("rewrite", *begin, "-o", "json").json()["rewritten"] == 0
    assert p.store("status", "-o", "json").json()["revision"] == before["revision"]
    put(p, "c", begin, level="plain secret").ok()
    p.store("check").ok()


def test_what_cannot_be_read_keeps_its_history(p):
    old = config(p, provider("aesgcm", "key1"))
    put(p, "a", old, level="first").ok()
    first = value(p, "a")
    put(p, "a", old, level="second").ok()
    new = config(p, provider("aesgcm", "key2"))
    p.store("rewrite", *new).fails(1, "/registry/configmaps/default/a: ")
    assert first in on_disk(p), "the operator may have forgotten a key"
    both = config(p, provider("aesgcm", "key2"), provider("aesgcm", "key1"))
    p.store("rewrite", *both).ok()
    assert first not in on_disk(p)


def test_another_prefix_is_read_written_and_rewritten(p):
    elsewhere = "--etcd-prefix", "elsewhere"
    put(p, "a", elsewhere, level="clear").ok()
    put(p, "b", (), level="clear").ok()
    for flags, name in ((elsewhere, "a"), ((), "b")):
        items = p.store("list", "configmaps", *flags, "-o", "json").json()["items"]
        assert [item["metadata"]["name"] for item in items] == [name]
    begin = config(p, provider("secretbox", "key1"), provider("identity"))
    assert p.store("rewrite", *begin, *elsewhere).ok() == "rewrote 1 of 1 keys\n"
    assert b"k8s:enc:secretbox:v1:key1:" in on_disk(p)
    assert not value(p, "b").startswith(b"k8s:enc:"), "the keys under /registry are another store's"
    assert p.store("get", "configmaps/default/a", *begin, *elsewhere).json()["data"] == {"level": "clear"}
    p.store("get", "configmaps/default/a", *begin).fails(1, "not found")


def test_rewrite_takes_only_the_resources_that_are_named(p):
    put(p, "a", ()).ok()
    p.store("put", "deployments/default/d", stdin=json.dumps({
        "kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "d", "namespace": "default"}})).ok()
    flags = config(p, provider("aesgcm", "key1"), provider("identity"), resources=["*.*"])
    assert p.store("rewrite", "--resources", "deployments.apps", *flags).ok() == "rewrote 1 of 2 keys\n"
    assert value(p, "a").startswith(b"{")
    p.store("rewrite", "--resources", "deployments", *flags).fails(2, 'no resource "deployments"')
    p.store("rewrite").fails(2, "--encryption-provider-config")


def test_moved_changed_cut_and_foreign_values_fail_and_name_their_key(p):
    flags = config(p, provider("aesgcm", "key1"))
    put(p, "a", flags, level="low").ok()
    put(p, "b", flags, level="high").ok()
    good = value(p, "a")
    bad = {"moved": (value(p, "b"), "message authentication failed"),
           "changed": (good[:-1] + bytes([good[-1] ^ 1]), "message authentication failed"),
           "cut": (good[:30], "shorter than the required size"),
           "no name": (b"k8s:enc:aesgcm:v1:", "no matching key was found for the provided AES transformer"),
           "foreign key": (good.replace(b":key1:", b":key9:"), "no matching key was found for the provided AES transformer"),
           "kms": (b"k8s:enc:kms:v2:vault:xyz", "no matching prefix found"),
           "clear": (b"{}", "no matching prefix found")}
    for what, (data, words) in bad.items():
        set_value(p, "a", data)
        p.store("get", "configmaps/default/a", *flags).fails(1, "/registry/configmaps/default/a", words)
        p.store("list", "configmaps", *flags).fails(1, "/registry/configmaps/default/a")
        done = p.store("rewrite", *flags).fails(1, "/registry/configmaps/default/a: ", words)
        assert done.out == "rewrote 0 of 2 keys; 1 could not be read\n", (what, done.out)
    set_value(p, "a", good)
    assert p.store("get", "configmaps/default/a", *flags).json()["data"] == {"level": "low"}
    KEYS["other"] = KEYS["key2"]
    wrong = config(p, {"aesgcm": {"keys": [{"name": "key1", "secret": KEYS["other"]}]}})
    p.store("get", "configmaps/default/a", *wrong).fails(1, "/registry/configmaps/default/a", "message authentication failed")


def test_a_broken_file_is_named_and_no_secret_is_printed(p):
    flags = config(p, {"aesgcm": {"keys": [{"name": "key1", "secret": "c2hvcnQ="}]}})
    refused = put(p, "a", flags)
    refused.fails(1, str(flags[1]), "resources[0].providers[0].aesgcm.keys[0].secret", "got 5, expected one of [16 24 32]")
    assert "c2hvcnQ=" not in refused.err
    put(p, "a", config(p, {"kms": {"name": "vault", "endpoint": "unix:///kms.sock"}})).fails(
        1, "resources[0].providers[0].kms: Forbidden: KMS providers are not supported")
    put(p, "a", ("--encryption-provider-config", p.folder / "none")).fails(1, "none", "No such file")
    assert not p.data.exists()


def test_a_file_that_others_can_read_is_warned_about(p):
    done = put(p, "a", config(p, provider("aesgcm", "key1"), mode=0o644))
    done.ok()
    assert "warning" in done.err and "0600" in done.err
    assert put(p, "a", config(p, provider("aesgcm", "key1"))).err == ""


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
