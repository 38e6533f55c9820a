#!/usr/bin/env python3
"""Servers on one etcd: two of them, and one whose etcd goes away. etcd_servers.py PROGRAM [only=WORD] [FLAG...]"""

import base64
import concurrent.futures
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from etcd_cluster import Cluster, Proxy, base64_of, enable_users, program, wait_for
from fixture import Server, Skip, config_map, report

MAPS = "/api/v1/namespaces/default/configmaps"
TESTS = []
WAIT_S = 60
AT_ONCE = 4
ROUNDS_MIN = 5
# Passwords are not what is tested.
FAST_USERS = ["--bcrypt-cost", "4"]


def test(function):
    TESTS.append(function)
    return function


class Shared:
    """One etcd for the tests that do not hurt it, one after the other; each has names of its own."""
    cluster, turn = None, threading.Lock()

    def __enter__(self):
        Shared.turn.acquire()
        try:
            if not Shared.cluster:
                cluster = Cluster()
                cluster.__enter__()
                Shared.cluster = cluster
        except BaseException:
            Shared.turn.release()
            raise
        return Shared.cluster

    def __exit__(self, kind, value, trace):
        Shared.turn.release()

    @staticmethod
    def end():
        if Shared.cluster:
            Shared.cluster.__exit__(None, None, None)


def revision(server):
    return server.get(MAPS).expect(200).json()["metadata"]["resourceVersion"]


def name_of(event):
    return event["type"], event["object"]["metadata"]["name"]


@test
def a_write_through_one_is_seen_by_a_watch_at_the_other(coracle, flags):
    with Shared() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a, \
            Server(coracle, "--etcd-servers", etcd.urls, *flags) as b:
        watch = b.watch(f"{MAPS}?watch=1&resourceVersion={revision(b)}")
        made = [a.create(MAPS, config_map(f"w{i}")) for i in range(20)]
        assert [next(watch)["object"] for _ in made] == made
        watch.close()


@test
def a_write_through_one_is_in_a_consistent_read_at_the_other(coracle, flags):
    with Shared() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a, \
            Server(coracle, "--etcd-servers", etcd.urls, *flags) as b:
        connection = b.connect()
        for i in range(50):
            made = a.create(MAPS, config_map(f"r{i}"))
            assert b.get(f"{MAPS}/r{i}", connection=connection).expect(200).json() == made
            listed = b.get(MAPS, connection=connection).expect(200).json()
            assert made["metadata"]["name"] in [item["metadata"]["name"] for item in listed["items"]]
            assert int(listed["metadata"]["resourceVersion"]) >= int(made["metadata"]["resourceVersion"])
        connection.close()


@test
def clients_of_a_killed_server_go_on_at_the_other(coracle, flags):
    with Shared() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *flags) as b:
        a = Server(coracle, "--etcd-servers", etcd.urls, *flags).start()
        try:
            watch = a.watch(f"{MAPS}?watch=1&resourceVersion={revision(a)}")
            made = [b.create(MAPS, config_map(f"k{i}")) for i in range(10)]
            seen = [next(watch)["object"] for _ in range(5)]
            a.process.kill()
            a.process.wait()
        finally:
            a.cleanup()
        made += [b.create(MAPS, config_map(f"l{i}")) for i in range(10)]
        last = seen[-1]["metadata"]["resourceVersion"]
        watch = b.watch(f"{MAPS}?watch=1&resourceVersion={last}")
        seen += [next(watch)["object"] for _ in range(15)]
        assert seen == made
        watch.close()


@test
def a_started_server_serves_the_history_that_etcd_has(coracle, flags):
    with Shared() as etcd:
        with Server(coracle, "--etcd-servers", etcd.urls, *flags) as a:
            start = revision(a)
            made = [a.create(MAPS, config_map(f"h{i}")) for i in range(10)]
        with Server(coracle, "--etcd-servers", etcd.urls, *flags) as b:
            watch = b.watch(f"{MAPS}?watch=1&resourceVersion={start}")
            assert [next(watch)["object"] for _ in made] == made
            watch.close()


@test
def what_is_stored_is_json_at_upstreams_keys(coracle, flags):
    with Shared() as etcd, Server(coracle, "--etcd-servers", etcd.urls, "--etcd-prefix", "/elsewhere", *flags) as a:
        made = a.create(MAPS, config_map("one", k="v"))
        key = base64.b64encode(b"/elsewhere/configmaps/default/one").decode()
        kv = etcd.members[0].ask("/v3/kv/range", {"key": key})["kvs"][0]
        stored = json.loads(base64.b64decode(kv["value"]))
        assert (stored["kind"], stored["apiVersion"], stored["data"]) == ("ConfigMap", "v1", {"k": "v"})
        assert "resourceVersion" not in stored["metadata"]
        assert made["metadata"]["resourceVersion"] == kv["mod_revision"]


@test
def a_definition_through_one_is_served_by_the_other(coracle, flags):
    """Each server follows definitions; one of them writes each status. Keys: contract crd 3.2.2."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    lids = "/apis/shop.example.org/v1/namespaces/default/lids"
    lid = {"apiVersion": "shop.example.org/v1", "kind": "Lid", "metadata": {"name": "one"}}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    with Shared() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a, \
            Server(coracle, "--etcd-servers", etcd.urls, *flags) as b:
        a.create(path, {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "lids.shop.example.org"},
            "spec": {"group": "shop.example.org", "scope": "Namespaced", "names": {"plural": "lids", "kind": "Lid"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}})
        for server in a, b:
            wait_for("the custom resource", WAIT_S, lambda: server.get(lids).status == 200)
        watch = a.watch(f"{lids}?watch=1&resourceVersion={a.get(lids).json()['metadata']['resourceVersion']}")
        made = b.create(lids, lid)
        assert next(watch) == {"type": "ADDED", "object": made}
        key = base64.b64encode(b"/registry/shop.example.org/lids/default/one").decode()
        assert etcd.members[0].ask("/v3/kv/range", {"key": key})["count"] == "1"
        b.request("DELETE", f"{path}/lids.shop.example.org").expect(200)
        assert name_of(next(watch)) == ("DELETED", "one")
        for server in a, b:
            wait_for("its end", WAIT_S, lambda: server.get(lids).status == 404)
        assert list(watch) == []
        assert etcd.members[0].ask("/v3/kv/range", {"key": key}).get("count", "0") == "0"


@test
def the_folder_of_the_credentials_is_made(coracle, flags):
    with tempfile.TemporaryDirectory() as name, Shared() as etcd, \
            Server(coracle, "--etcd-servers", etcd.urls, *flags, data=pathlib.Path(name) / "new") as a:
        a.create(MAPS, config_map("one"))
        assert (a.data.stat().st_mode & 0o777) == 0o700


def ready(server):
    return server.get("/readyz").status == 200


@test
def without_etcd_writes_fail_cached_reads_go_on_and_it_recovers(coracle, flags):
    with Cluster() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a:
        a.create(MAPS, config_map("before"))
        watch = a.watch(f"{MAPS}?watch=1&resourceVersion={revision(a)}")
        # Its head is sent before the store has been asked for events.
        seen = a.create(MAPS, config_map("seen"))
        assert next(watch)["object"] == seen
        etcd.members[0].kill()
        answer = a.request("POST", MAPS, config_map("lost"))
        assert answer.status in (500, 504), answer.status
        # The first may have been under way; from now on etcd is known to be away.
        answer = a.request("POST", MAPS, config_map("lost2")).expect(500)
        assert answer.json()["reason"] == "ServerTimeout", answer.body
        assert int(answer.headers["Retry-After"]) > 0
        assert int(answer.json()["details"]["retryAfterSeconds"]) > 0
        if "--watch-cache=false" not in flags:
            listed = a.get(MAPS + "?resourceVersion=0").expect(200).json()
            assert [item["metadata"]["name"] for item in listed["items"] if item["metadata"]["name"] == "before"]
            a.get(MAPS + "/before?resourceVersion=0").expect(200)
        assert a.get(MAPS + "/before").status == 500
        wait_for("unreadiness", WAIT_S, lambda: not ready(a))
        assert b"[-]etcd failed: reason withheld" in a.get("/readyz", token=None).body
        cause = a.get("/readyz/etcd").expect(500).body.decode()
        assert cause.startswith("internal server error: etcd cannot be reached: "), cause
        assert f"127.0.0.1:{etcd.members[0].client}" in cause, cause
        a.get("/readyz/etcd", token=None).expect(401)
        why = [line for line in a.output().splitlines() if "etcd cannot be reached" in line]
        assert why, "the log says why"
        assert all(line.count("127.0.0.1") <= 1 for line in why), why
        assert a.get("/livez?exclude=etcd").status == 200
        etcd.members[0].start()
        wait_for("readiness", WAIT_S, lambda: ready(a))
        made = a.create(MAPS, config_map("after"))
        assert next(watch)["object"] == made
        watch.close()


# What an answer may take beyond the time of its request: handshakes and the machine, but no timeout of the server's own. One that took
# longer is asked for again, because the machine may be busy for a moment; what waits for something else waits each time.
LATE_S = 3
TRIES = 4


def in_time(ask, seconds):
    """The answer of ask(), which must come within so many seconds in one of a few tries."""
    took = []
    for _ in range(TRIES):
        begun = time.monotonic()
        answer = ask()
        took.append(time.monotonic() - begun)
        if took[-1] < seconds + LATE_S:
            return answer
    raise AssertionError(f"took {took} s each time, of {seconds}")


@test
def without_a_quorum_requests_end_with_words_in_their_time(coracle, flags):
    """The member that is left answers: what it says is that there is no leader, or nothing."""
    merge = {"Content_Type": "application/merge-patch+json"}
    requests = [("GET", f"{MAPS}/before", None, {}), ("GET", MAPS, None, {}), ("GET", f"{MAPS}?limit=1", None, {}),
                ("GET", f"{MAPS}?resourceVersion=99999", None, {}),
                ("POST", MAPS, config_map("lost"), {}), ("PUT", f"{MAPS}/before", config_map("before", k="w"), {}),
                ("PATCH", f"{MAPS}/before", {"data": {"k": "v"}}, merge), ("DELETE", f"{MAPS}/before", None, {}),
                ("DELETE", MAPS, None, {})]
    initial = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    # Events have no watch cache.
    watches = [f"/api/v1/namespaces/default/{resource}?watch=1{more}" for resource in ("configmaps", "events") for more in ("", initial)]

    def ask(method, path, body, headers, timeout):
        path += f"{'&' if '?' in path else '?'}timeout={timeout}s"
        answer = in_time(lambda: a.request(method, path, body, connection=a.connect(), **headers), timeout)
        status = answer.json()
        assert (answer.status, status["reason"]) in ((500, "ServerTimeout"), (504, "Timeout")) and status["message"], answer.body
        # A client that is told to come back is told when.
        assert answer.status == 504 or int(answer.headers["Retry-After"]) > 0, answer.headers

    def ask_for_a_watch(path, timeout):
        """What it cannot begin with is said by an ERROR event, or by a Status in its place; an empty stream would say that all is well."""
        events = in_time(lambda: list(a.watch(f"{path}&timeoutSeconds={timeout}")), timeout)
        assert [event["type"] for event in events] == ["ERROR"], (path, timeout, events)
        assert events[0]["object"]["code"] in (500, 504) and events[0]["object"]["message"], events

    with Cluster(3) as etcd, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a, \
            Server(coracle, "--etcd-servers", etcd.urls, "--request-timeout=1s", *flags) as short:
        a.create(MAPS, config_map("before"))
        for member in etcd.members[:2]:
            member.kill()
        with concurrent.futures.ThreadPoolExecutor(2 * (len(requests) + len(watches))) as pool:
            asked = [pool.submit(ask, *request, timeout) for request in requests for timeout in (1, 8)]
            asked += [pool.submit(ask_for_a_watch, path, timeout) for path in watches for timeout in (1, 8)]
        for one in asked:
            one.result()
        # Who names no time has the server's.
        assert in_time(lambda: short.get(MAPS), 1).json()["message"]
        assert in_time(lambda: short.request("POST", MAPS, config_map("lost")), 1).json()["message"]


@test
def a_cut_connection_loses_and_repeats_no_event(coracle, flags):
    with Shared() as etcd:
        proxy = Proxy(etcd.members[0].client)
        with Server(coracle, "--etcd-servers", proxy.url, *flags) as a, \
                Server(coracle, "--etcd-servers", etcd.urls, *flags) as b:
            watch = a.watch(f"{MAPS}?watch=1&resourceVersion={revision(a)}")
            made = []
            for i in range(30):
                made.append(b.create(MAPS, config_map(f"c{i}")))
                if i % 3 == 0:
                    proxy.cut()
            assert [next(watch)["object"] for _ in made] == made
            watch.close()
        proxy.close()


@test
def an_unknown_outcome_is_not_called_a_failure_that_may_be_repeated(coracle, flags):
    """The connection is cut while etcd, which is paused, has the write: it happens, or not; the answer says neither."""
    with Cluster() as etcd:
        proxy = Proxy(etcd.members[0].client)
        with Server(coracle, "--etcd-servers", proxy.url, *flags) as a:
            answers = []
            etcd.members[0].pause()
            writer = threading.Thread(target=lambda: answers.append(a.request("POST", MAPS, config_map("maybe"))))
            proxy.expect(b"maybe")
            writer.start()
            proxy.wait_seen()
            proxy.cut()
            etcd.members[0].resume()
            writer.join()
            assert answers[0].status == 504, answers[0].body
            assert answers[0].json()["reason"] == "Timeout"
            assert "Retry-After" not in answers[0].headers
            wait_for("recovery", WAIT_S, lambda: a.get(MAPS).status == 200)
        proxy.close()


@test
def servers_agree_on_compaction_and_old_revisions_are_gone(coracle, flags):
    interval = ["--etcd-compaction-interval", "1s", *flags]
    with Cluster() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *interval) as a, \
            Server(coracle, "--etcd-servers", etcd.urls, *interval) as b:
        start = revision(a)
        a.create(MAPS, config_map("old"))
        key = base64.b64encode(b"compact_rev_key").decode()

        def record():
            kvs = etcd.members[0].ask("/v3/kv/range", {"key": key}).get("kvs", [])
            return (int(base64.b64decode(kvs[0]["value"])), int(kvs[0]["version"])) if kvs else (0, 0)

        began, (_, first) = time.monotonic(), record()
        wait_for("compaction", WAIT_S, lambda: record()[0] > int(start))
        rounds = wait_for("more of them", WAIT_S, lambda: max(0, record()[1] - first - ROUNDS_MIN)) + ROUNDS_MIN
        # Two who do not know of each other would need half the time.
        assert rounds <= time.monotonic() - began + 2, "each interval has one compactor"
        wait_for("the end of history", WAIT_S, lambda: a.get(f"{MAPS}?resourceVersionMatch=Exact&resourceVersion={start}").status == 410)
        answer = b.get(f"{MAPS}?resourceVersionMatch=Exact&resourceVersion={start}").expect(410)
        assert answer.json()["reason"] == "Expired"


@test
def a_server_whose_place_was_compacted_while_it_was_cut_off_begins_anew(coracle, flags):
    with Cluster() as etcd:
        proxy = Proxy(etcd.members[0].client)
        with Server(coracle, "--etcd-servers", proxy.url, *flags) as a, Server(coracle, "--etcd-servers", etcd.urls, *flags) as b:
            start = revision(a)
            watch = a.watch(f"{MAPS}?watch=1&resourceVersion={start}")
            proxy.refuses = True
            proxy.cut()
            made = [b.create(MAPS, config_map(f"o{i}")) for i in range(5)]
            etcd.members[0].ask("/v3/kv/compaction", {"revision": made[-1]["metadata"]["resourceVersion"]})
            proxy.refuses = False
            told = list(watch)
            assert all((event["type"], event["object"].get("code")) == ("ERROR", 410) for event in told), told
            wait_for("a read", WAIT_S, lambda: a.get(MAPS).status == 200)
            listed = a.get(MAPS).expect(200).json()
            assert {item["metadata"]["name"] for item in made} <= {item["metadata"]["name"] for item in listed["items"]}
            old = next(a.watch(f"{MAPS}?watch=1&resourceVersion={start}"))
            assert (old["type"], old["object"]["reason"]) == ("ERROR", "Expired"), old
            watch = a.watch(f"{MAPS}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}")
            assert b.create(MAPS, config_map("after")) == next(watch)["object"]
            watch.close()
        proxy.close()


@test
def a_watch_goes_on_after_a_restart_although_older_history_was_compacted(coracle, flags):
    with Cluster() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a:
        start = a.create(MAPS, config_map("old"))["metadata"]["resourceVersion"]
        etcd.members[0].ask("/v3/kv/compaction", {"revision": start})
        made = [a.create(MAPS, config_map(f"r{i}")) for i in range(5)]
        a.restart()
        watch = a.watch(f"{MAPS}?watch=1&resourceVersion={made[0]['metadata']['resourceVersion']}")
        assert [next(watch)["object"] for _ in made[1:]] == made[1:]
        watch.close()


def values(etcd, prefix):
    last = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    found = etcd.members[0].ask("/v3/kv/range", {"key": base64_of(prefix), "range_end": base64_of(last)})
    return [base64.b64decode(kv["value"]) for kv in found["kvs"]]


def encryption_file(folder, providers):
    """Each provider with the resource that it encrypts; what is clear can be read too."""
    path = pathlib.Path(folder) / "encryption.json"
    path.touch(0o600)
    keys = {"keys": [{"name": "k", "secret": base64.b64encode(b"k" * 32).decode()}]}
    rules = [{"resources": [resource], "providers": [{kind: keys}, {"identity": {}}]} for kind, resource in providers.items()]
    path.write_text(json.dumps({"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1", "resources": rules}))
    return path


def fill(coracle, etcd, flags, count):
    with Server(coracle, "--etcd-servers", etcd.urls, *flags) as a:
        connection = a.connect()
        for i in range(count):
            a.request("POST", MAPS, config_map(f"m{i:03}", v="x" * 1000), connection=connection).expect(201)
        connection.close()


class Valve(Proxy):
    """Has passed so many bytes to the target: then it waits until it is opened."""

    def __init__(self, target, upto):
        self.opened = threading.Event()
        super().__init__(target, upto)

    def take(self, data):
        self.left -= len(data)
        if self.left <= 0:
            self.is_full.set()
            self.opened.wait()
        return data


@test
def a_rewrite_that_takes_long_tells_how_far_it_is(coracle, flags):
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd:
        fill(coracle, etcd, flags, 130)
        valve = Valve(etcd.members[0].client, upto=20_000)
        command = [coracle, "store", "rewrite", "--encryption-provider-config",
                   str(encryption_file(name, {"secretbox": "configmaps"})), "--etcd-servers", valve.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as rewrite:
            assert valve.is_full.wait(WAIT_S)
            # The delay is what is tested: it speaks when a page is done and a second has passed.
            time.sleep(1.1)
            valve.opened.set()
            out, told = rewrite.communicate(timeout=WAIT_S)
        valve.close()
        # With the one of the front proxy, which every server makes.
        assert rewrite.returncode == 0 and out.startswith("rewrote 131 of "), (out, told)
        # Before it a busy machine may let it say that it waits for etcd.
        lines = re.findall(r"^(\d+) of (\d+) keys, (\d+) rewritten$", told, re.MULTILINE)
        assert lines, (out, told)
        seen, total, rewritten = map(int, lines[0])
        assert 0 < rewritten <= seen < total and f" of {total} keys" in out, (out, told)


@test
def a_rewrite_that_was_killed_is_finished_by_the_next(coracle, flags):
    count = 300
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd:
        config = encryption_file(name, {"secretbox": "configmaps"})
        fill(coracle, etcd, flags, count)
        rewrite = [coracle, "store", "rewrite", "--encryption-provider-config", str(config), "--etcd-servers"]
        # Of some 400 KB of writes etcd gets 100 KB.
        proxy = Proxy(etcd.members[0].client, upto=100_000)
        with subprocess.Popen([*rewrite, proxy.url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
            assert proxy.is_full.wait(WAIT_S)
            killed.kill()
        proxy.close()
        prefix = "/registry/configmaps/default/"

        def rewritten():
            return sum(value.startswith(b"k8s:enc:secretbox:v1:k:") for value in values(etcd, prefix))

        assert 0 < wait_for("a write", WAIT_S, rewritten) < count
        again = subprocess.run([*rewrite, etcd.urls], capture_output=True, text=True, check=True)
        assert again.stdout.startswith("rewrote "), again.stdout
        assert rewritten() == len(values(etcd, prefix)) >= count
        with Server(coracle, "--etcd-servers", etcd.urls, "--encryption-provider-config", str(config), *flags) as a:
            assert a.get(f"{MAPS}/m000").expect(200).json()["data"] == {"v": "x" * 1000}


@test
def a_namespace_made_at_one_can_be_written_to_at_the_other_at_once(coracle, flags):
    with Cluster() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a, \
            Server(coracle, "--etcd-servers", etcd.urls, *flags) as b:
        to_a, to_b = a.connect(), b.connect()
        for i in range(100):
            space = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": f"n{i}"}}
            a.request("POST", "/api/v1/namespaces", space, connection=to_a).expect(201)
            b.request("POST", f"/api/v1/namespaces/n{i}/configmaps", config_map("a"), connection=to_b).expect(201)
        b.create("/api/v1/namespaces/missing/configmaps", config_map("a"), 404)


@test
def etcd_is_reached_over_tls_by_address_and_name_with_a_client_certificate(coracle, flags):
    with Cluster(tls=True) as etcd:
        login = etcd.login()
        with Server(coracle, "--etcd-servers", etcd.urls, *login, *flags) as a:
            watch = a.watch(f"{MAPS}?watch=1&resourceVersion={revision(a)}")
            made = a.create(MAPS, config_map("secret"))
            assert next(watch)["object"] == made
            watch.close()
        by_name = etcd.urls.replace("127.0.0.1", "localhost")
        with Server(coracle, "--etcd-servers", by_name, *login, *flags) as b:
            assert b.get(f"{MAPS}/secret").expect(200).json() == made
        ca = [flag for flag in login if "cafile" in flag]
        without = Server(coracle, "--etcd-servers", etcd.urls, *ca, *flags)
        try:
            without.start()
            raise AssertionError("it must not start without a certificate")
        except AssertionError as error:
            assert "etcd cannot be reached" in str(error), error
        finally:
            without.cleanup()


def login_flags(folder, user):
    password = pathlib.Path(folder) / "password"
    password.write_text("pw\n")
    return ["--etcd-username", user, "--etcd-password-file", str(password)]


def answers_progress(etcd):
    """Is it a version whose progress answers can be trusted?"""
    version = tuple(map(int, etcd.members[0].ask("/v3/maintenance/status")["version"].split(".")[:3]))
    return version >= (3, 5, 13) or (3, 4, 31) <= version < (3, 5, 0)


@test
def a_user_who_may_read_the_prefix_alone_gets_fresh_reads_by_progress(coracle, flags):
    with tempfile.TemporaryDirectory() as name, Cluster(flags=FAST_USERS) as etcd:
        if not answers_progress(etcd):
            raise Skip("needs etcd 3.4.31, 3.5.13 or later")
        root = enable_users(etcd, "/registry/")
        member = etcd.members[0]
        flags = ["--etcd-servers", etcd.urls, *login_flags(name, "narrow"), *flags]
        with Server(coracle, *flags) as a, Server(coracle, *flags) as b:
            start = revision(a)
            watch = a.watch(f"{MAPS}?watch=1&resourceVersion={start}")
            made = []
            for i in range(20):
                made.append(b.create(MAPS, config_map(f"p{i}")))
                # What is written elsewhere moves the store's revision, but not the watch of the prefix.
                put = member.ask("/v3/kv/put", {"key": base64_of("/elsewhere"), "value": base64_of("x")}, token=root)
                listed = a.get(MAPS).expect(200).json()
                assert int(listed["metadata"]["resourceVersion"]) >= int(put["header"]["revision"]), (listed["metadata"], put)
                assert made[-1]["metadata"]["name"] in [item["metadata"]["name"] for item in listed["items"]]
            assert [next(watch)["object"] for _ in made] == made
            old = a.watch(f"{MAPS}?watch=1&resourceVersion={start}")
            assert [next(old)["object"] for _ in made] == made
            member.kill()
            member.start()
            wait_for("etcd", WAIT_S, lambda: a.get(MAPS).status == b.get(MAPS).status == 200)
            last = b.create(MAPS, config_map("last"))
            assert next(watch)["object"] == last and next(old)["object"] == last
            wait_for("readiness", WAIT_S, lambda: ready(a))
            watch.close()
            old.close()


@test
def an_etcd_too_old_for_a_user_of_the_prefix_alone_is_named(coracle, flags):
    with tempfile.TemporaryDirectory() as name, Cluster(flags=FAST_USERS) as etcd:
        if answers_progress(etcd):
            raise Skip("needs an etcd before 3.4.31, or 3.5.0 to 3.5.12")
        enable_users(etcd, "/registry/")
        with Server(coracle, "--etcd-servers", etcd.urls, *login_flags(name, "narrow"), *flags) as a:
            wait_for("the reason", WAIT_S, lambda: b"needs etcd 3.4.31, 3.5.13 or later" in a.get(MAPS).expect(429).body)
            assert not ready(a)


@test
def etcd_asks_for_a_user_and_an_expired_login_is_renewed(coracle, flags):
    with tempfile.TemporaryDirectory() as name, Cluster(flags=["--auth-token-ttl", "2", *FAST_USERS]) as etcd:
        enable_users(etcd)
        login = login_flags(name, "root")
        password = pathlib.Path(name) / "password"
        with Server(coracle, "--etcd-servers", etcd.urls, *login, *flags) as a:
            watch = a.watch(f"{MAPS}?watch=1&resourceVersion={revision(a)}")
            made = [a.create(MAPS, config_map("one"))]
            # The server restarts and forgets its tokens.
            etcd.members[0].kill()
            etcd.members[0].start()
            wait_for("etcd", WAIT_S, lambda: a.get(MAPS).status == 200)
            made.append(a.create(MAPS, config_map("two")))
            assert [next(watch)["object"] for _ in made] == made
            watch.close()
        password.write_text("wrong\n")
        wrong = Server(coracle, "--etcd-servers", etcd.urls, *login, *flags)
        try:
            wrong.start()
            raise AssertionError("it must not start with a wrong password")
        except AssertionError as error:
            assert "authentication failed" in str(error), error
            assert "wrong" not in str(error).replace("with a wrong password", "")
        finally:
            wrong.cleanup()


def listed(coracle, etcd, *flags):
    """The addresses of the servers that `coracle store status` lists."""
    out = subprocess.run([coracle, "store", "status", "--etcd-servers", etcd.urls, "-o", "json", *flags],
                         capture_output=True, text=True, check=True).stdout
    return {server["address"]: server for server in json.loads(out)["servers"]}


@test
def the_servers_that_are_there_are_listed(coracle, flags):
    with Cluster() as etcd:
        status = [coracle, "store", "status", "--etcd-servers", etcd.urls]
        assert "servers: none\n" in subprocess.run(status, capture_output=True, text=True, check=True).stdout
        with Server(coracle, "--etcd-servers", etcd.urls, "--etcd-prefix", "/other", *flags) as a, \
                Server(coracle, "--etcd-servers", etcd.urls, *flags) as b:
            wait_for("both", WAIT_S, lambda: listed(coracle, etcd).keys() == {a.url, b.url})
            servers = listed(coracle, etcd)
            assert (servers[a.url]["prefix"], servers[b.url]["prefix"]) == ("/other", "/registry")
            text = subprocess.run(status, capture_output=True, text=True, check=True).stdout
            for server in servers.values():
                assert "  ".join(server[key] for key in ("name", "version", "address", "since", "prefix")) in text, text
            a.stop()
            assert listed(coracle, etcd).keys() == {b.url}, "one that was stopped is gone at once"
            # One that is killed goes with its lease, which ends soon.
            b.process.kill()
            b.process.wait()
            b.process = None
            leases = etcd.members[0].ask("/v3/lease/leases", {})["leases"]
            assert len(leases) == 1, leases
            lease = etcd.members[0].ask("/v3/lease/timetolive", {"ID": leases[0]["ID"], "keys": True})
            assert int(lease["grantedTTL"]) == 30 and int(lease.get("TTL", 0)) <= 30, lease
            assert lease["keys"] == [base64_of("coracle/servers/" + servers[b.url]["name"])]


@test
def a_server_is_listed_again_when_etcd_has_lost_its_lease(coracle, flags):
    with Cluster() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a:
        wait_for("the server", WAIT_S, lambda: a.url in listed(coracle, etcd))
        lease = etcd.members[0].ask("/v3/lease/leases", {})["leases"][0]
        etcd.members[0].ask("/v3/lease/revoke", lease)
        wait_for("another lease", WAIT_S, lambda: etcd.members[0].ask("/v3/lease/leases", {}).get("leases", [lease]) != [lease])
        wait_for("the server", WAIT_S, lambda: a.url in listed(coracle, etcd))
        assert ready(a)


def has_account(server, ns):
    return server.get(f"/api/v1/namespaces/{ns}/serviceaccounts/default").status == 200


@test
def one_server_at_a_time_runs_the_controllers_and_another_follows_it(coracle, flags):
    """The first that is stopped gives the Lease back, so that the other need not wait until it has expired."""
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/coracle-controllers"
    prefix = ["--etcd-prefix", "/controllers", "--controllers=*"]
    with Shared() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *prefix, *flags) as b:
        wait_for("the first account", WAIT_S, lambda: has_account(b, "default"))
        first = b.get(lease).expect(200).json()["spec"]["holderIdentity"]
        with Server(coracle, "--etcd-servers", etcd.urls, *prefix, *flags) as a:
            a.create("/api/v1/namespaces", {"metadata": {"name": "one"}})
            wait_for("an account", WAIT_S, lambda: has_account(a, "one"))
            assert a.get(lease).expect(200).json()["spec"]["holderIdentity"] == first
            b.stop()
            a.create("/api/v1/namespaces", {"metadata": {"name": "two"}})
            wait_for("an account by the other", WAIT_S, lambda: has_account(a, "two"))
            assert a.get(lease).expect(200).json()["spec"]["holderIdentity"] not in ("", first)


def owned(name, owner, **metadata):
    ref = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
           "blockOwnerDeletion": True}
    return {"metadata": {"name": name, "ownerReferences": [ref], **metadata}}


def release(server, path):
    server.request("PATCH", path, {"metadata": {"finalizers": None}}, Content_Type="application/merge-patch+json").expect(200)


@test
def deletions_go_on_at_another_server_when_that_with_the_controllers_is_killed(coracle, flags):
    """A namespace and an owner in the foreground are being deleted, and both are held by a finalizer, when the server is killed."""
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/coracle-controllers"
    going, held = "/api/v1/namespaces/going", {"finalizers": ["example.com/hold"]}
    with Cluster() as etcd:
        a = Server(coracle, "--etcd-servers", etcd.urls, "--controllers=*", *flags).start()
        try:
            wait_for("the controllers", WAIT_S, lambda: has_account(a, "default"))
            with Server(coracle, "--etcd-servers", etcd.urls, "--controllers=*", *flags) as b:
                b.create("/api/v1/namespaces", {"metadata": {"name": "going"}})
                for i in range(20):
                    b.create(f"{going}/configmaps", config_map(f"m{i}"))
                b.create(f"{going}/configmaps", {"metadata": {"name": "held", **held}})
                owner, living = (b.create(MAPS, config_map(name)) for name in ("owner", "living"))
                for i in range(20):
                    b.create(MAPS, owned(f"d{i}", owner))
                b.create(MAPS, owned("held", owner, **held))
                b.create(MAPS, owned("stays", living))
                b.request("DELETE", going).expect(200)
                b.request("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Foreground"}).expect(200)
                wait_for("the first half", WAIT_S, lambda: "SomeFinalizersRemain" in b.get(going).body.decode() and
                         all(b.get(f"{MAPS}/d{i}").status == 404 for i in range(20)))
                a.process.kill()
                a.process.wait()
                release(b, f"{going}/configmaps/held")
                release(b, f"{MAPS}/held")
                # Nobody gives the Lease back; without it the other need not wait for its end.
                b.request("DELETE", lease).expect(200)
                wait_for("the second half", WAIT_S, lambda: b.get(going).status == b.get(f"{MAPS}/owner").status == 404)
                b.get(f"{MAPS}/stays").expect(200)
                assert b.get(f"{going}/configmaps").expect(200).json()["items"] == []
        finally:
            a.cleanup()


@test
def a_server_stops_although_etcd_is_gone(coracle, flags):
    with Cluster() as etcd, \
            Server(coracle, "--etcd-servers", etcd.urls, "--advertise-address=192.0.2.7", "--controllers=*", *flags) as a:
        wait_for("the server", WAIT_S, lambda: a.url in listed(coracle, etcd))
        wait_for("its controllers", WAIT_S, lambda: has_account(a, "default"))
        etcd.members[0].kill()
        a.stop()


@test
def who_may_not_list_itself_serves_without(coracle, flags):
    with tempfile.TemporaryDirectory() as name, Cluster(flags=FAST_USERS) as etcd:
        enable_users(etcd, "/registry/")
        login = login_flags(name, "narrow")
        with Server(coracle, "--etcd-servers", etcd.urls, *login, "--v", "4", *flags) as a:
            wait_for("the log", WAIT_S, lambda: "may not list this server" in a.output())
            out = subprocess.run([coracle, "store", "status", "--etcd-servers", etcd.urls, *login],
                                 capture_output=True, text=True, check=True).stdout
            assert "servers: not known: " in out and "permission denied" in out, out


def play_all(tests):
    """Plays those that the arguments choose, AT_ONCE of them at a time, since they mostly wait. Returns the exit status."""
    only = [word for word in sys.argv[2:] if word.startswith("only=")]
    coracle, flags = sys.argv[1], [word for word in sys.argv[2:] if word not in only]
    if not program():
        print("1..0 # SKIP there is no etcd: install etcd-server, or name one in COR_ETCD")
        return 0
    chosen = [t for t in tests if not only or only[0][5:] in t.__name__]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        played = {function: pool.submit(function, coracle, flags) for function in chosen}
        try:
            return report(chosen, lambda function: played[function].result())
        finally:
            Shared.end()


@test
def services_of_two_servers_share_addresses_and_ports(coracle, flags):
    """Both create Services until the ranges are full: each address and port is given once, and all of them are. The first address
    belongs to default/kubernetes, which one of the two has created."""
    services = "/api/v1/namespaces/default/services"
    small = ["--service-cluster-ip-range=10.9.0.0/28", "--service-node-port-range=30100-30112", "--etcd-prefix=/services"]
    with Shared() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *small, *flags) as a, \
            Server(coracle, "--etcd-servers", etcd.urls, *small, *flags) as b:
        # On a busy machine the servers are ready earlier than that.
        for server in (a, b):
            wait_for("default/kubernetes", WAIT_S, lambda server=server: server.get(f"{services}/kubernetes").status == 200)

        def create(i):
            body = {"metadata": {"name": f"s{i}"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
            return (a, b)[i % 2].request("POST", services, body)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(create, range(24)))
        made = [x.json()["spec"] for x in answers if x.status == 201]
        assert {x.status for x in answers} == {201, 500}, [x.status for x in answers]
        assert len({spec["clusterIP"] for spec in made}) == len(made) == 13, made
        assert len({spec["ports"][0]["nodePort"] for spec in made}) == 13, made
        listed = b.get("/apis/networking.k8s.io/v1/ipaddresses").expect(200).json()["items"]
        assert {x["metadata"]["name"] for x in listed} == {"10.9.0.1"} | {spec["clusterIP"] for spec in made}
        # What one of them releases, the other gives out again.
        for x in a.get(services).expect(200).json()["items"]:
            if x["metadata"]["name"] != "kubernetes":
                a.request("DELETE", f"{services}/{x['metadata']['name']}").expect(200)
        for i in range(13):
            body = {"metadata": {"name": f"t{i}"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
            # The other server hears of it by its watch.
            wait_for("a Service", WAIT_S, lambda: b.request("POST", services, body).status == 201)


@test
def servers_are_the_endpoints_of_the_kubernetes_service(coracle, flags):
    """Each server that others can reach adds its address; one on loopback leaves the endpoints as they are."""
    prefix = "--etcd-prefix=/endpoints"
    with Shared() as etcd, Server(coracle, "--etcd-servers", etcd.urls, prefix, "--advertise-address=192.0.2.7", *flags), \
            Server(coracle, "--etcd-servers", etcd.urls, prefix, "--advertise-address=192.0.2.2", *flags) as b, \
            Server(coracle, "--etcd-servers", etcd.urls, prefix, *flags):
        wait_for("both", WAIT_S, lambda: [x["ip"] for subset in b.get("/api/v1/namespaces/default/endpoints/kubernetes").json()["subsets"]
                                          for x in subset["addresses"]] == ["192.0.2.2", "192.0.2.7"])
        slice_ = b.get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes").expect(200).json()
        assert [x["addresses"] for x in slice_["endpoints"]] == [["192.0.2.2"], ["192.0.2.7"]], slice_


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(play_all(TESTS))
