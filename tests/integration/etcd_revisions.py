#!/usr/bin/env python3
"""Revisions that change many keys, written into etcd past the servers: etcd_revisions.py PROGRAM [only=WORD] [FLAG...]"""

import concurrent.futures
import json
import signal
import socket
import sys

from etcd_cluster import Cluster, base64_of, program, wait_for
from fixture import Server, report

TESTS = []
WAIT_S = 60
SPACE = "/api/v1/namespaces/default/"
MAPS = SPACE + "configmaps"
# Below what etcd allows in one transaction, and in one request.
TXN_OPS, TXN_BYTES = 100, 1 << 20


def test(function):
    TESTS.append(function)
    return function


def put_many(etcd, plural, kind, names, size=10):
    """One revision for each transaction; returns the last."""
    step = min(TXN_OPS, max(1, TXN_BYTES // (size + 300)))
    for at in range(0, len(names), step):
        puts = []
        for name in names[at:at + step]:
            value = {"kind": kind, "apiVersion": "v1", "metadata": {"name": name, "namespace": "default", "uid": name},
                     "data": {"x": "eHh4" * (size // 4)}}
            puts.append({"requestPut": {"key": base64_of(f"/registry/{plural}/default/{name}"), "value": base64_of(json.dumps(value))}})
        answer = etcd.members[0].ask("/v3/kv/txn", {"success": puts})
    return int(answer["header"]["revision"])


def delete_many(etcd, plural):
    begin = f"/registry/{plural}/default/"
    answer = etcd.members[0].ask("/v3/kv/deleterange", {"key": base64_of(begin), "range_end": base64_of(begin[:-1] + "0")})
    return int(answer["header"]["revision"]), int(answer["deleted"])


def reached(server, revision):
    wait_for(f"revision {revision}", WAIT_S,
             lambda: int(server.get(MAPS).expect(200).json()["metadata"]["resourceVersion"]) >= revision)


def metric(server, name):
    lines = server.get("/metrics").expect(200).body.decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


def watched(server, since, last, plural="configmaps"):
    """Types and names of the events after a revision, up to an object of that name."""
    watch = server.watch(f"{SPACE}{plural}?watch=1&resourceVersion={since}")
    seen = []
    for event in watch:
        assert event["type"] != "ERROR", event
        seen.append((event["type"], event["object"]["metadata"]["name"]))
        if seen[-1][1] == last:
            break
    watch.close()
    return seen


@test
def a_range_deletion_that_eviction_meets_is_seen_once_by_a_later_watch(coracle, flags):
    with Cluster() as etcd, Server(coracle, "--etcd-servers", etcd.urls, "--watch-cache-bytes", str(2 << 20), *flags) as a:
        names = [f"m{i:03}" for i in range(300)]
        before = put_many(etcd, "configmaps", "ConfigMap", names)
        _, deleted = delete_many(etcd, "configmaps")
        assert deleted == 300
        after = [f"n{i:03}" for i in range(110)]
        put_many(etcd, "configmaps", "ConfigMap", after)
        # Others' traffic evicts all but the last events of the resource: segments of 128.
        secrets = [f"s{i:02}" for i in range(90)]
        for _ in range(20):
            last = put_many(etcd, "secrets", "Secret", secrets, 3000)
        reached(a, last)
        if "--watch-cache=true" in flags:
            wait_for("an eviction", WAIT_S, lambda: metric(a, "coracle_watch_cache_evicted_segments_total") > 0)
        last = put_many(etcd, "configmaps", "ConfigMap", ["z"])
        reached(a, last)
        seen = watched(a, before, "z")
        assert seen == [("DELETED", name) for name in names] + [("ADDED", name) for name in after + ["z"]], \
            f"{len(seen)} events, {sum(kind == 'DELETED' for kind, _ in seen)} DELETED"


@test
def a_watch_from_a_compacted_revision_does_not_end_history_for_others(coracle, flags):
    with Cluster() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a:
        revisions = [put_many(etcd, "configmaps", "ConfigMap", [f"c{i}", f"d{i}"]) for i in range(20)]
        put_many(etcd, "configmaps", "ConfigMap", ["z"])
        etcd.members[0].ask("/v3/kv/compaction", {"revision": revisions[8]})
        a.restart()
        for _ in range(2):
            old = next(a.watch(f"{MAPS}?watch=1&resourceVersion={revisions[3]}"))
            assert (old["type"], old["object"]["code"]) == ("ERROR", 410), old
            seen = watched(a, revisions[10], "z")
            assert seen == [("ADDED", f"{c}{i}") for i in range(11, 20) for c in "cd"] + [("ADDED", "z")], seen


def small_window(server):
    """A connection whose client holds little that it has not read."""
    connection = server.connect()
    create = connection._create_connection

    def connect(*arguments, **options):
        sock = create(*arguments, **options)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        return sock

    connection._create_connection = connect
    return connection


def begin_deletion(etcd, server, names, seconds):
    """A watch of so many seconds that has read the first event of a range deletion: its connection, the stream, the event."""
    start = put_many(etcd, "configmaps", "ConfigMap", names, 100000)
    reached(server, start)
    connection = small_window(server)
    connection.request("GET", f"{MAPS}?watch=1&resourceVersion={start}&timeoutSeconds={seconds}",
                       headers={"Authorization": "Bearer " + server.token})
    response = connection.getresponse()
    assert response.status == 200
    delete_many(etcd, "configmaps")
    return connection, response, response.readline()


def ended_inside(coracle, flags, end):
    """A watch whose client does not read is ended while a range deletion is on its way to it."""
    with Cluster() as etcd, Server(coracle, "--etcd-servers", etcd.urls, *flags) as a:
        names = [f"m{i:03}" for i in range(100)]
        for seconds in (3, 15, 60):
            connection, response, first = begin_deletion(etcd, a, names, seconds)
            if first:
                break
            connection.close()  # Its time was over before the deletion came: this machine needs longer.
        is_server_ending = end(a, seconds)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        seen = [json.loads(line) for line in [first, *response]]
        connection.close()
        if is_server_ending:
            process, a.process = a.process, None
            assert process.wait(WAIT_S) == 0
        assert [(e["type"], e["object"]["metadata"].get("name")) for e in seen] == [("DELETED", name) for name in names], \
            f"{len(seen)} events, the last is {str(seen[-1:])[:200]}"


@test
def a_watch_whose_time_ends_inside_a_revision_sees_all_of_it(coracle, flags):
    # Another one of the same time, that began later, has ended.
    ended_inside(coracle, flags, lambda a, seconds: list(a.watch(f"{SPACE}secrets?watch=1&timeoutSeconds={seconds}")))


@test
def a_watch_whose_server_ends_inside_a_revision_sees_all_of_it(coracle, flags):
    def end(server, _):
        other = server.watch(f"{SPACE}secrets?watch=1")
        server.process.send_signal(signal.SIGTERM)
        assert list(other) == []
        return True

    ended_inside(coracle, flags, end)


def main():
    only = [word for word in sys.argv[2:] if word.startswith("only=")]
    coracle, flags = sys.argv[1], [word for word in sys.argv[2:] if word not in only]
    if not program():
        print("1..0 # SKIP there is no etcd: install etcd-server, or name one in COR_ETCD")
        return 0
    tests = [(t, cached) for t in TESTS for cached in ("true", "false") if not only or only[0][5:] in t.__name__]
    for number, (function, cached) in enumerate(tests):
        tests[number] = named(function, cached)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        played = {function: pool.submit(function, coracle, flags) for function in tests}
        return report(tests, lambda function: played[function].result())


def named(function, cached):
    """The test with watch caches, or without."""
    def play(coracle, flags):
        function(coracle, [*flags, "--watch-cache=" + cached])

    play.__name__ = function.__name__ + ("" if cached == "true" else "_without_a_cache")
    return play


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(main())
