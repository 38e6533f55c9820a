#!/usr/bin/env python3
"""Faults of etcd under load: nothing acknowledged is lost, no watcher misses or repeats an event.
etcd_faults.py PROGRAM [--rounds N] [FLAG...]

Two servers on three members; writers and watchers at both. Meanwhile members are killed, paused and restarted, the
leader among them, connections are cut, and history is compacted behind the watchers. At the end what etcd itself told
is the measure. Without --rounds each kind of fault comes once, and soon ends."""

import collections
import http.client
import json
import random
import sys
import threading
import time
import traceback

from etcd_cluster import Cluster, Compactor, History, Proxy, program, wait_for
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
        self.late = collections.defaultdict(set)  # name -> values that may still come to be there while it is absent
        self.taken = collections.Counter()  # by server
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
        delete, create = self.random.random() < 0.2, False
        try:
            if delete:
                answer = server.request("DELETE", f"{MAPS}/{name}")
            else:
                answer = server.request("PUT", f"{MAPS}/{name}", config_map(name, v=value))
                create = answer.status == 404
                if create:
                    answer = server.request("POST", MAPS, config_map(name, v=value))
        except (OSError, http.client.HTTPException):
            raise
        may_be = self.known.setdefault(name, {None})
        if answer.status in (200, 201):
            body = answer.json()
            after = None if delete else value
            self.known[name] = {after}
            self.taken[server] += 1
            if not delete:
                self.acknowledged.append((int(body["metadata"]["resourceVersion"]), False, name))
        elif answer.status == 404 and delete:
            self.known[name] = {None}
        elif answer.status == 504 or answer.status == 409:
            # 409: what was unknown before has happened after all.
            self.unknown += 1
            may_be.add(None if delete else value)
            # A member that was paused with it makes it when it goes on, if nobody else has until then.
            if create:
                self.late[name].add(value)
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
    """What can go wrong; each puts things right again. In the short form each is as short as it can be."""

    def __init__(self, cluster, proxies, short):
        self.cluster, self.proxies, self.short = cluster, proxies, short
        self.injected = collections.Counter()

    def last(self, least, most):
        """How long what is wrong stays so: the fault itself, nothing is waited for."""
        time.sleep(least if self.short else random.uniform(least, most))

    def leader(self):
        return wait_for("a leader", SETTLE_S, self.cluster.leader)

    def kill(self, member):
        member.kill()
        self.last(0.2, 1.5)
        member.start()
        return 1

    def pause(self, member):
        member.pause()
        self.last(0.5, 4)

    def a_member_is_killed(self):
        return self.kill(random.choice(self.cluster.members))

    def the_leader_is_killed(self):
        return self.kill(self.leader())

    def a_member_is_paused(self):
        member = random.choice(self.cluster.members)
        self.pause(member)
        member.resume()
        return 1

    def the_leader_is_paused(self):
        member = self.leader()
        self.pause(member)
        # The others choose one of themselves; then the old one wakes up and does not know.
        wait_for("another leader", SETTLE_S, lambda: self.cluster.leader() not in (None, member))
        member.resume()
        return 1

    def connections_are_cut(self):
        cut = 0
        for _ in range(5):
            cut += sum(proxy.cut() for proxy in self.proxies)
            self.last(0.1, 0.3)
        return cut

    def all_members_are_restarted(self):
        for member in self.cluster.members:
            member.kill()
        self.last(0, 0.5)
        for member in self.cluster.members:
            member.start()
        return 1

    def inject(self, fault):
        """Returns how many of its kind there were."""
        count = fault()
        self.leader()
        self.injected[fault.__name__.replace("_", " ")] += count
        return count

    def all(self):
        return [self.connections_are_cut, self.a_member_is_killed, self.the_leader_is_killed, self.a_member_is_paused,
                self.the_leader_is_paused, self.all_members_are_restarted]


def check_writes(server, writers):
    listed = {item["metadata"]["name"]: item["data"]["v"] for item in server.get(MAPS).expect(200).json()["items"]
              if item["metadata"]["name"].startswith("w")}
    for writer in writers:
        for name, values in writer.known.items():
            late = writer.late[name] if None in values else set()
            assert listed.get(name) in values | late, f"{name} is {listed.get(name)!r}, may be {values | late}"
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


def taken(writers, server):
    return sum(writer.taken[server] for writer in writers)


def position(server):
    return int(server.get(MAPS).expect(200).json()["metadata"]["resourceVersion"])


def inject_all(faults, rounds, writers, servers):
    """Each kind in turn; after each both servers take writes again."""
    kinds = faults.all()
    for i in range(rounds or len(kinds)):
        fault = kinds[i % len(kinds)]
        count = faults.inject(fault)
        began, before = time.monotonic(), [taken(writers, server) for server in servers]
        wait_for("writes after " + fault.__name__, SETTLE_S, lambda: any(w.error for w in writers) or
                 all(taken(writers, server) > n for server, n in zip(servers, before)))
        print(f"# {fault.__name__.replace('_', ' ')}: {count}; both servers took writes after {time.monotonic() - began:.2f} s",
              flush=True)


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
            history = History(cluster, "/registry/configmaps/default/", start)
            followers = [*watchers, history]
            # Only what all have seen: nobody has a reason to lose its place.
            compactor = Compactor(cluster, lambda: min(follower.position for follower in followers), 0.1)
            faults = Faults(cluster, proxies, short=rounds is None)
            for thread in writers + followers + [compactor]:
                thread.start()
            inject_all(faults, rounds, writers, (a, b))
            wait_for("a compaction", SETTLE_S, lambda: compactor.upto > start or any(thread.error for thread in writers + followers))
            stop.set()
            for writer in writers:
                writer.join(SETTLE_S)
                assert not writer.error and not writer.is_alive(), writer.error
            compactor.end()
            end = wait_for("a read", SETTLE_S, lambda: a.get(MAPS).status == 200 and position(a))
            a.create(MAPS, config_map("zz-last"))
            wait_for("the watchers", SETTLE_S, lambda: any(f.error for f in followers) or all(f.position >= end for f in followers))
            for follower in followers:
                assert not follower.error, follower.error
                follower.done.set()
            # Each of them sees one more event, and then that it is done.
            b.create(MAPS, config_map("zz-very-last"))
            for follower in followers:
                follower.join(SETTLE_S)
                follower.events = [event for event in follower.events if event[0] <= end]
            told = [(revision, deleted, key.rsplit("/", 1)[1]) for revision, deleted, key in history.events]
            check_writes(b, writers)
            check_history(told, writers, watchers)
            print(f"# {sum(faults.injected.values())} faults injected: {dict(faults.injected)}; "
                  f"{compactor.count} compactions meanwhile, up to revision {compactor.upto} of {end}")
            print(f"# {sum(len(w.acknowledged) for w in writers)} writes acknowledged, "
                  f"{sum(w.unknown for w in writers)} of unknown outcome, {sum(w.refused for w in writers)} refused; "
                  f"{len(told)} events at each of {len(watchers)} watchers over {sum(w.streams for w in watchers)} streams")
            assert start < compactor.upto <= end
        for proxy in proxies:
            proxy.close()


def main():
    arguments = sys.argv[1:]
    rounds = None
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
