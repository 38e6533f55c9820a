#!/usr/bin/env python3
"""Subresources that reach a part of an object, and resources of which nothing is kept. subresources.py PROGRAM [FLAG...]"""

import sys
import tempfile

from fixture import Server, main, test, token_file, workload

MERGE = "application/merge-patch+json"
REVIEWS = "/apis/authorization.k8s.io/v1"


def pod(name, **spec):
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@test
def a_bound_pod_reaches_the_watchers_of_its_node(server):
    pods = f"/api/v1/namespaces/{server.ns}/pods"
    made = server.create(pods, pod("p"))
    rev = made["metadata"]["resourceVersion"]
    unbound = server.watch(f"{pods}?watch=1&resourceVersion={rev}&fieldSelector=spec.nodeName%3D")
    of_node = server.watch(f"{pods}?watch=1&resourceVersion={rev}&fieldSelector=spec.nodeName%3Dn1")
    status = server.create(f"{pods}/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}})
    assert status == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    assert next(unbound)["type"] == "DELETED"
    event = next(of_node)
    assert event["type"] == "ADDED" and event["object"]["spec"]["nodeName"] == "n1"
    assert event["object"]["status"]["conditions"][0]["type"] == "PodScheduled"
    unbound.close()
    of_node.close()
    status = server.create(f"{pods}/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n2"}}, 409)
    assert status["message"].endswith('pod p is already assigned to node "n1"')


@test
def a_scale_is_read_and_written(server):
    sets = f"/apis/apps/v1/namespaces/{server.ns}/replicasets"
    server.create(sets, {"metadata": {"name": "s"}, "spec": {"replicas": 2, **workload()}})
    scale = server.get(f"{sets}/s/scale").expect(200).json()
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {"replicas": 2} and scale["status"] == {"replicas": 0, "selector": "a=b"}
    scale["spec"]["replicas"] = 5
    written = server.request("PUT", f"{sets}/s/scale", scale).expect(200).json()
    assert written["spec"] == {"replicas": 5}
    server.request("PUT", f"{sets}/s/scale", scale).expect(409)
    server.request("PATCH", f"{sets}/s/scale", {"spec": {"replicas": 1}}, Content_Type=MERGE).expect(200)
    assert server.get(f"{sets}/s").json()["spec"]["replicas"] == 1


@test
def users_are_told_who_they_are_and_what_they_may(server):
    question = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    with tempfile.TemporaryDirectory() as folder:
        with Server(sys.argv[1], "--token-auth-file", token_file(folder), *sys.argv[2:]) as other:
            for token, name, allowed in (("t-ann", "ann", False), ("t-root", "root", True)):
                who = other.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, token=token).expect(201)
                assert who.json()["status"]["userInfo"]["username"] == name
                may = other.request("POST", REVIEWS + "/selfsubjectaccessreviews", question, token=token).expect(201)
                assert may.json()["status"]["allowed"] is allowed
            other.request("POST", REVIEWS + "/subjectaccessreviews", question, token="t-ann").expect(403)
            review = other.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "t-ann"}})
            user = review.expect(201).json()["status"]["user"]
            assert user == {"username": "ann", "uid": "1", "groups": ["dev", "ops", "system:authenticated"]}
            other.request("POST", REVIEWS + "/selfsubjectaccessreviews", question, token=None).expect(401)


@test
def the_store_is_a_component(server):
    items = server.get("/api/v1/componentstatuses").expect(200).json()["items"]
    assert [item["metadata"]["name"] for item in items] == ["etcd-0"]
    assert items[0]["conditions"] == [{"type": "Healthy", "status": "True", "message": "ok"}]


if __name__ == "__main__":
    main()
