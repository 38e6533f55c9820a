#!/usr/bin/env python3
"""Resources that are served in two versions and stored in one. versions.py PROGRAM [FLAG...]"""

from fixture import main, test

MERGE = "application/merge-patch+json"
METRICS = "autoscaling.alpha.kubernetes.io/metrics"


def paths(server, plural, *versions):
    return [f"/{version}/namespaces/{server.ns}/{plural}" for version in versions]


def events(server):
    return paths(server, "events", "api/v1", "apis/events.k8s.io/v1")


def autoscalers(server):
    return paths(server, "horizontalpodautoscalers", "apis/autoscaling/v1", "apis/autoscaling/v2")


def autoscaler(name, version="v2", **spec):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    return {"kind": "HorizontalPodAutoscaler", "apiVersion": f"autoscaling/{version}", "metadata": {"name": name},
            "spec": {"maxReplicas": 3, "scaleTargetRef": target, **spec}}


def pods_metric(name):
    return {"type": "Pods", "pods": {"metric": {"name": name}, "target": {"type": "AverageValue", "averageValue": "1"}}}


@test
def events_are_one_storage_with_two_versions(server):
    core, new = events(server)
    pod = {"kind": "Pod", "name": "p", "namespace": server.ns}
    server.create(core, {"metadata": {"name": "a"}, "message": "m", "involvedObject": pod})
    seen = server.get(new + "/a").expect(200).json()
    assert seen["apiVersion"] == "events.k8s.io/v1" and seen["note"] == "m" and seen["regarding"]["name"] == "p"
    assert "message" not in seen and "involvedObject" not in seen
    seen["metadata"]["labels"] = {"a": "b"}
    server.request("PUT", new + "/a", seen).expect(200)
    read = server.get(core + "/a").expect(200).json()
    assert read["message"] == "m" and read["metadata"]["labels"] == {"a": "b"}
    read["message"] = "changed"
    server.request("PUT", core + "/a", read).expect(200)
    found = server.get(f"{new}?fieldSelector=regarding.name%3Dp").expect(200).json()
    assert [item["note"] for item in found["items"]] == ["changed"] and found["apiVersion"] == "events.k8s.io/v1"
    assert server.get(f"{new}?fieldSelector=regarding.name%3Dq").expect(200).json()["items"] == []


@test
def every_watcher_gets_the_version_it_asked_for(server):
    v1, v2 = autoscalers(server)
    rev = server.get(v2).json()["metadata"]["resourceVersion"]
    watches = [(path, server.watch(f"{path}?watch=1&resourceVersion={rev}")) for path in (v1, v2) for _ in range(3)]
    server.create(v2, autoscaler("a", metrics=[pods_metric("p")]))
    server.request("PATCH", v1 + "/a", {"spec": {"targetCPUUtilizationPercentage": 50}}, Content_Type=MERGE).expect(200)
    server.request("DELETE", v2 + "/a").expect(200)
    for path, watch in watches:
        seen = [next(watch) for _ in range(3)]
        assert [event["type"] for event in seen] == ["ADDED", "MODIFIED", "DELETED"], seen
        for event in seen:
            version = event["object"]["apiVersion"]
            assert version == ("autoscaling/v1" if path == v1 else "autoscaling/v2"), event
        changed, gone = seen[1]["object"], seen[2]["object"]
        assert int(gone["metadata"]["resourceVersion"]) > int(changed["metadata"]["resourceVersion"])
        if path == v1:
            assert changed["spec"]["targetCPUUtilizationPercentage"] == 50 and "metrics" not in changed["spec"]
            assert METRICS in gone["metadata"]["annotations"]
        else:
            assert [metric["type"] for metric in gone["spec"]["metrics"]] == ["Pods", "Resource"]
            assert "annotations" not in gone["metadata"]
        watch.close()


@test
def the_initial_events_and_their_bookmark_are_of_the_version(server):
    v1, v2 = autoscalers(server)
    for name in "abc":
        server.create(v2, autoscaler(name))
    watch = server.watch(f"{v1}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
    seen = [next(watch) for _ in range(4)]
    assert [event["type"] for event in seen] == ["ADDED", "ADDED", "ADDED", "BOOKMARK"]
    assert {event["object"]["apiVersion"] for event in seen} == {"autoscaling/v1"}
    assert seen[3]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    watch.close()


@test
def pages_go_on_in_the_version_that_asks(server):
    v1, v2 = autoscalers(server)
    for i in range(5):
        server.create(v1, autoscaler(f"h{i}", "v1", targetCPUUtilizationPercentage=10 + i))
    found, token = [], ""
    while True:
        page = server.get(f"{v1}?limit=2&continue={token}").expect(200).json()
        assert page["apiVersion"] == "autoscaling/v1" and page["kind"] == "HorizontalPodAutoscalerList"
        found += [item["spec"]["targetCPUUtilizationPercentage"] for item in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert found == [10, 11, 12, 13, 14]
    items = server.request("DELETE", v1).expect(200).json()["items"]
    assert [item["spec"]["targetCPUUtilizationPercentage"] for item in items] == found
    assert server.get(v2).json()["items"] == []


@test
def what_one_version_does_not_know_survives_an_update_in_it(server):
    v1, v2 = autoscalers(server)
    made = server.create(v2, autoscaler("a", metrics=[{**pods_metric("p"), "new": 1}], behavior={"scaleUp": {"x": 1}}, y=2))
    read = server.get(v1 + "/a").expect(200).json()
    read["spec"]["maxReplicas"] = 9
    server.request("PUT", v1 + "/a", read).expect(200)
    after = server.get(v2 + "/a").expect(200).json()
    made["spec"]["maxReplicas"] = 9
    assert after["spec"] == made["spec"], after


if __name__ == "__main__":
    main()
