#!/usr/bin/env python3
"""Watches over the wire. watches.py PROGRAM [FLAG...]"""

import sys
import time

from etcd_cluster import wait_for
from fixture import START_S, Server, config_map, main, test

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]
MERGE = "application/merge-patch+json"
# What a busy machine may add to a watch's time; without --min-request-timeout a watch lasts half an hour.
BUSY_S = 60


def revision(server):
    return server.get(server.maps).expect(200).json()["metadata"]["resourceVersion"]


def names(events):
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


@test
def a_watch_goes_on_where_a_list_ended(server):
    server.create(server.maps, config_map("before"))
    watch = server.watch(f"{server.maps}?watch=1&resourceVersion={revision(server)}")
    made = server.create(server.maps, config_map("a", k="v"))
    server.request("PATCH", server.maps + "/a", {"data": {"k": "w"}}, Content_Type=MERGE).expect(200)
    server.request("DELETE", server.maps + "/a").expect(200)
    events = [next(watch) for _ in range(3)]
    assert names(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert events[0]["object"] == made
    assert events[2]["object"]["data"] == {"k": "w"}
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert revisions == sorted(set(revisions))
    watch.close()


@test
def a_watch_ends_cleanly_at_its_timeout(server):
    watch = server.watch(f"{server.maps}?watch=1&timeoutSeconds=1&resourceVersion={revision(server)}")
    assert list(watch) == []


@test
def a_watch_without_a_time_lasts_once_to_twice_the_servers(server):
    """It must end, and not before its time: upstream's TestWatchRestartsIfTimeoutNotReached counts on both."""
    with Server(PROGRAM, *FLAGS, "--min-request-timeout=2") as short:
        begun = time.monotonic()
        watches = [(least, most, short.watch(f"/api/v1/namespaces/default/configmaps?watch=1&{query}"))
                   for least, most, query in ((1, 1, "timeoutSeconds=1"), (2, 4, ""), (2, 4, "timeoutSeconds=0"), (5, 5, "timeoutSeconds=5"))]
        for least, most, watch in watches:
            assert list(watch) == [] and least <= time.monotonic() - begun < most + BUSY_S, (least, most)


@test
def a_watch_shows_what_its_selector_sees(server):
    watch = server.watch(f"{server.maps}?watch=1&labelSelector=on&resourceVersion={revision(server)}")
    server.create(server.maps, config_map("a"))
    label = {"metadata": {"labels": {"on": "1"}}}
    server.request("PATCH", server.maps + "/a", label, Content_Type=MERGE).expect(200)
    server.request("PATCH", server.maps + "/a", {"metadata": {"labels": None}}, Content_Type=MERGE).expect(200)
    events = [next(watch) for _ in range(2)]
    assert names(events) == [("ADDED", "a"), ("DELETED", "a")]
    assert events[1]["object"]["metadata"]["labels"] == {"on": "1"}
    watch.close()


@test
def a_watch_may_begin_with_what_is_there(server):
    server.create(server.maps, config_map("a"))
    server.create(server.maps, config_map("b"))
    query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    watch = server.watch(f"{server.maps}?{query}")
    assert names([next(watch), next(watch)]) == [("ADDED", "a"), ("ADDED", "b")]
    mark = next(watch)
    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    server.create(server.maps, config_map("c"))
    assert names([next(watch)]) == [("ADDED", "c")]
    watch.close()


@test
def a_watch_resumes_after_a_restart_without_a_relist(server):
    server.create(server.maps, config_map("a"))
    at = revision(server)
    watch = server.watch(f"{server.maps}?watch=1&resourceVersion={at}")
    server.create(server.maps, config_map("b"))
    assert names([next(watch)]) == [("ADDED", "b")]
    server.restart()
    assert list(watch) == [], "the shutdown must end the stream cleanly"
    watch = server.watch(f"{server.maps}?watch=1&resourceVersion={at}")
    server.create(server.maps, config_map("c"))
    assert names([next(watch), next(watch)]) == [("ADDED", "b"), ("ADDED", "c")]
    watch.close()


@test
def many_watchers_see_the_same_events(server):
    at = revision(server)
    watches = [server.watch(f"{server.maps}?watch=1&resourceVersion={at}") for _ in range(20)]
    for i in range(10):
        server.create(server.maps, config_map(f"m{i}"))
    for watch in watches:
        assert names([next(watch) for _ in range(10)]) == [("ADDED", f"m{i}") for i in range(10)]
        watch.close()


@test
def a_watch_from_a_revision_that_is_not_there_yet_is_told_so(server):
    watch = server.connect()
    answer = server.get(f"{server.maps}?resourceVersion=999999999&resourceVersionMatch=NotOlderThan", connection=watch)
    assert answer.expect(504).json()["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    watch.close()


def number(server, name):
    lines = server.get("/metrics").expect(200).body.decode().splitlines()
    found = [line for line in lines if line.startswith(name)]
    return int(float(found[0].rsplit(" ", 1)[1])) if found else None


@test
def watches_are_counted_while_they_last(server):
    resource = '{group="",resource="configmaps"'
    before = number(server, "coracle_watch_cache_deliveries_total" + resource)
    watch = server.watch(f"{server.maps}?watch=1&resourceVersion={revision(server)}")
    server.create(server.maps, config_map("counted"))
    next(watch)
    long_running = 'apiserver_longrunning_requests{verb="WATCH",group="",version="v1",resource="configmaps"'

    def becomes(name, value):
        """The watches of the tests before may end later than their readers, this one's sender may not be done yet."""
        wait_for(f"{name} {value}", START_S, lambda: number(server, name) == value)

    becomes(long_running, 1)
    if before is not None:  # with a watch cache
        becomes("coracle_watchers" + resource + ',state="idle"}', 1)
        becomes("coracle_watchers" + resource + ',state="lagging"}', 0)
        assert number(server, "coracle_watch_cache_deliveries_total" + resource) == before + 1
        assert number(server, "apiserver_watch_cache_events_received_total" + resource) > 0
        assert number(server, "coracle_watch_cache_window_bytes" + resource) > 0
        assert number(server, "apiserver_watch_cache_initializations_total" + resource) == 1
        becomes("coracle_watch_cache_lag_revisions", 0)
    watch.close()


if __name__ == "__main__":
    main()
