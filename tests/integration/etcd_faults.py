#!/usr/bin/env python3
"""Faults of etcd under load: nothing acknowledged is lost, no watcher misses or repeats an event.
etcd_faults.py PROGRAM [--rounds N] [FLAG...]

Two servers on three members; writers and watchers at both. Meanwhile members are killed, paused and restarted, the
leader among them, and connections are cut. At the end etcd's own history is the measure."""

import collections
import http.client
import json
import random
import sys
import threading
import time
import traceback

from etcd_cluster import Cluster, Proxy, program, wait_for
from fixture import Server, config_map

MAPS = "/api/v1/namespaces/default/configmaps"
WRITERS = 6
SETTLE_S = 120


class Writer(threading.Thread):
    """Creates, updates and deletes keys of its own; knows of each what may be stored."""

    def __init__(self, number, servers, stop):
        super().__init__(daemon=True)
        self.number, self.servers, self.stop = number, servers, stop
        self.acknowledged = []  # (revision, deleted, name)
        self.known = {}         # name -> set of values that may be there; None: absent
        self.unknown = self.refused = 0
        self.random = random.Random(number)
        self.error = None

    def run(self):
        try:
            value = 0
            while not self.stop.is_set():
                value += 1
                self.write(f"w{self.number}-{self.random.randrange(8)}", str(value))
        except Exception:
            self.error = traceback.format_exc()

    def write(self, name, value):
        server = self.random.choice(self.servers)
        delete = self.random.random() < 0.2
        try:
            if delete:
                answer = server.request("DELETE", f"{MAPS}/{name}")
            else:
                answer = server.request("PUT", f"{MAPS}/{name}", config_map(name, v=value))
                if answer.status == 404:
                    answer = server.request("POST", MAPS, config_map(name, v=value))
        except (OSError, http.client.HTTPException):
            raise
        may_be = self.known.setdefault(name, {None})
        if answer.status in (200, 201):
            body = answer.json()
            after = None if delete else value
            self.known[name] = {after}
            if not delete:
                self.acknowledged.append((int(body["metadata"]["resourceVersion"]), False, name))
        elif answer.status == 404 and delete:
            self.known[name] = {None}
        elif answer.status == 504 or answer.status == 409:
            # 409: what was unknown before has happened after all.
            self.unknown += 1
            may_be.add(None if delete else value)
        elif answer.status in (500, 429):
            self.refused += 1
            reason = answer.json().get("reason")
            if reason != "ServerTimeout" and answer.status == 500:
                may_be.add(None if delete else value)
                self.unknown += 1
            time.sleep(0.05)
        else:
            raise AssertionError(f"{answer.status}: {answer.body[:300]!r}")


class Watcher(threading.Thread):
    """Follows all maps by watches, each from where the one before ended."""

    def __init__(self, server, start):
        super().__init__(daemon=True)
        self.server, self.position = server, start
        self.events = []  # (revision, deleted, name)
        self.streams = 0
        self.error = None
        self.done = threading.Event()

    def run(self):
        while not self.done.is_set():
            try:
                self.follow()
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)
            except Exception:
                self.error = traceback.format_exc()
                return

    def follow(self):
        connection = self.server.connect()
        path = f"{MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=20&resourceVersion={self.position}"
        connection.request("GET", path, headers={"Authorization": "Bearer " + self.server.token})
        response = connection.getresponse()
        if response.status != 200:
            body = response.read()
            connection.close()
            assert response.status in (429, 500, 504), body
            time.sleep(0.2)
            return
        self.streams += 1
        while not self.done.is_set():
            line = response.readline()
            if not line:
                break
            event = json.loads(line)
            if event["type"] == "ERROR":
                assert event["object"]["code"] in (500, 504, 429), event
                time.sleep(0.2)
                break
            revision = int(event["object"]["metadata"]["resourceVersion"])
            if event["type"] != "BOOKMARK":
                self.events.append((revision, event["type"] == "DELETED", event["object"]["metadata"]["name"]))
            self.position = max(self.position, revision)
        connection.close()


class Faults:
    """What can go wrong; each puts things right again."""

    def __init__(self, cluster, proxies):
        self.cluster, self.proxies = cluster, proxies
        self.injected = collections.Counter()

    def wait_quorum(self):
        wait_for("a leader", SETTLE_S, self.cluster.leader)

    def kill(self, member, kind):
        self.injected[kind] += 1
        member.kill()
        time.sleep(random.uniform(0.2, 1.5))
        member.start()
        self.wait_quorum()

    def a_member_is_killed(self):
        self.kill(random.choice(self.cluster.members), "member killed")

    def the_leader_is_killed(self):
        self.kill(wait_for("a leader", SETTLE_S, self.cluster.leader), "leader killed")

    def a_member_is_paused(self):
        member = random.choice(self.cluster.members)
        self.injected["member paused"] += 1
        member.pause()
        time.sleep(random.uniform(0.5, 4))
        member.resume()
        self.wait_quorum()

    def the_leader_is_paused(self):
        member = wait_for("a leader", SETTLE_S, self.cluster.leader)
        self.injected["leader paused"] += 1
        member.pause()
        time.sleep(random.uniform(0.5, 4))
        member.resume()
        self.wait_quorum()

    def connections_are_cut(self):
        for _ in range(5):
            for proxy in self.proxies:
                self.injected["connection cut"] += proxy.cut()
            time.sleep(random.uniform(0, 0.3))

    def all_members_are_restarted(self):
        self.injected["all members restarted"] += 1
        for member in self.cluster.members:
            member.kill()
        time.sleep(random.uniform(0, 0.5))
        for member in self.cluster.members:
            member.start()
        self.wait_quorum()

    def all(self):
        return [self.connections_are_cut, self.a_member_is_killed, self.the_leader_is_killed, self.a_member_is_paused,
                self.the_leader_is_paused, self.all_members_are_restarted]


def check_writes(server, writers):
    listed = {item["metadata"]["name"]: item["data"]["v"] for item in server.get(MAPS).expect(200).json()["items"]
              if item["metadata"]["name"].startswith("w")}
    for writer in writers:
        for name, values in writer.known.items():
            assert listed.get(name) in values, f"{name} is {listed.get(name)!r}, may be {values}"
    return listed


def check_history(history, writers, watchers):
    revisions = {event[0] for event in history}
    for writer in writers:
        for revision, _, name in writer.acknowledged:
            assert revision in revisions, f"the acknowledged write of {name} at {revision} is not in etcd"
    for watcher in watchers:
        seen = [event[0] for event in watcher.events]
        assert seen == sorted(seen), "events are out of order"
        assert len(seen) == len(set(seen)), "an event was repeated"
        missed = [event for event in history if event[0] not in set(seen)]
        assert not missed, f"a watcher missed {missed[:5]} and {max(0, len(missed) - 5)} more"
        assert watcher.events == history


def position(server):
    return int(server.get(MAPS).expect(200).json()["metadata"]["resourceVersion"])


def play(coracle, rounds, flags):
    with Cluster(3) as cluster:
        proxies = [Proxy(member.client) for member in cluster.members]
        urls = ",".join(proxy.url for proxy in proxies)
        flags = ["--etcd-servers", urls, "--max-mutating-requests-inflight", "0", *flags]
        with Server(coracle, *flags) as a, Server(coracle, *flags) as b:
            start = position(a)
            stop = threading.Event()
            writers = [Writer(i, [a, b], stop) for i in range(WRITERS)]
            watchers = [Watcher(server, start) for server in (a, b) for _ in range(2)]
            faults = Faults(cluster, proxies)
            for thread in writers + watchers:
                thread.start()
            for i in range(rounds):
                time.sleep(0.5)
                fault = faults.all()[i % len(faults.all())]
                fault()
            before = sum(len(w.acknowledged) for w in writers)
            wait_for("writes after the faults", SETTLE_S, lambda: sum(len(w.acknowledged) for w in writers) > before)
            stop.set()
            for writer in writers:
                writer.join(SETTLE_S)
                assert not writer.error and not writer.is_alive(), writer.error
            end = wait_for("a read", SETTLE_S, lambda: a.get(MAPS).status == 200 and position(a))
            a.create(MAPS, config_map("zz-last"))
            last = position(a)
            wait_for("the watchers", SETTLE_S, lambda: any(w.error for w in watchers) or all(w.position >= end for w in watchers))
            for watcher in watchers:
                assert not watcher.error, watcher.error
                watcher.done.set()
            b.create(MAPS, config_map("zz-very-last"))
            history = [(r, d, key.rsplit("/", 1)[1]) for r, d, key in cluster.events(start, end, "/registry/configmaps/default/")]
            for watcher in watchers:
                watcher.join(SETTLE_S)
                watcher.events = [event for event in watcher.events if event[0] <= end]
            check_writes(b, writers)
            check_history(history, writers, watchers)
            acknowledged = sum(len(w.acknowledged) for w in writers)
            print(f"# {sum(faults.injected.values())} faults injected: {dict(faults.injected)}")
            print(f"# {acknowledged} writes acknowledged, {sum(w.unknown for w in writers)} of unknown outcome, "
                  f"{sum(w.refused for w in writers)} refused; {len(history)} events at each of {len(watchers)} watchers "
                  f"over {sum(w.streams for w in watchers)} streams")
            assert acknowledged > 0 and last > end
        for proxy in proxies:
            proxy.close()


def main():
    arguments = sys.argv[1:]
    rounds = 2
    if "--rounds" in arguments:
        at = arguments.index("--rounds")
        rounds = int(arguments[at + 1])
        del arguments[at:at + 2]
    if not program():
        print("1..0 # SKIP there is no etcd: install etcd-server, or name one in COR_ETCD")
        return 0
    print("1..1")
    try:
        play(arguments[0], rounds, arguments[1:])
    except Exception:
        for line in traceback.format_exc().splitlines():
            print("#", line)
        print("not ok 1 - faults")
        return 1
    print("ok 1 - faults")
    return 0


if __name__ == "__main__":
    sys.exit(main())
