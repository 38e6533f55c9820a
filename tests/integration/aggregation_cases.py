#!/usr/bin/env python3
"""The worked cases 33 to 40 of contract extension 6.3, as its table has them. aggregation_cases.py PROGRAM [FLAG...]"""

import json
import sys

from fixture import await_it, test
from through import BASE, Through, play_through

PROGRAM = sys.argv[1]
FLAGS = sys.argv[2:]
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
ABSENT = "absent.example.com"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
CRD = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", "metadata": {"name": "pots.shop.example.org"},
       "spec": {"group": "shop.example.org", "scope": "Namespaced", "names": {"plural": "pots", "kind": "Pot"},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}


def api_service(name, group):
    return {"kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1", "metadata": {"name": name},
            "spec": {"group": group, "version": name.split(".")[0], "groupPriorityMinimum": 100, "versionPriority": 100,
                     "insecureSkipTLSVerify": True, "service": {"namespace": "wardle", "name": "absent"}}}


def condition(front):
    (one,) = front.server.get(f"{SERVICES}/v1alpha1.{ABSENT}").expect(200).json()["status"]["conditions"]
    return one["type"], one["status"], one["reason"], one["message"]


def stale(front):
    groups = front.server.get("/apis", Accept=AGGREGATED).expect(200).json()["items"]
    return next((group["versions"] for group in groups if group["metadata"].get("name") == ABSENT), None)


def plain(answer):
    return answer.status, answer.body.decode().strip(), answer.headers["Content-Type"].split(";")[0]


def seen(front, **headers):
    """What the target sees of the user."""
    front.target.take()
    front.get("/things", **headers).expect(200)
    (request,) = front.target.take()
    names = ("x-remote-user", "x-remote-group", "authorization")
    return sorted(one for one in request.headers if one[0] in names), front.target.callers[-1]


def made_again(front):
    path = f"{SERVICES}/v1.shop.example.org"
    front.server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    await_it(lambda: front.server.get(path).status == 200, "the APIService")
    uid = front.server.get(path).json()["metadata"]["uid"]
    front.server.request("DELETE", path).expect(200)
    await_it(lambda: json.loads(front.server.get(path).body)["metadata"].get("uid", uid) != uid, "another one")
    return True


USER = [("x-remote-group", "g 2"), ("x-remote-group", "system:authenticated"), ("x-remote-group", "system:masters"), ("x-remote-user", "kube")]
CASES = [
    (33, condition, ("Available", "False", "ServiceNotFound", 'service/absent in "wardle" is not present')),
    (34, lambda front: plain(front.server.get(f"/apis/{ABSENT}/v1alpha1")), (503, "service unavailable", "text/plain")),
    (35, stale, [{"version": "v1alpha1", "freshness": "Stale"}]),
    (36, lambda front: front.server.request("POST", SERVICES, api_service("v1.foo", "bar")).expect(422).json()["details"]["causes"],
     [{"reason": "FieldValueInvalid", "message": 'Invalid value: "v1.foo": must be `spec.version+"."+spec.group`: "v1.bar"',
       "field": "metadata.name"}]),
    (37, seen, (USER, "front-proxy-client")),
    (38, lambda front: seen(front, **{"X-Remote-User": "root"}), (USER, "front-proxy-client")),
    (39, lambda front: plain(front.get("/redirect")),
     (502, "the backend attempted to redirect this request, which is not permitted", "text/plain")),
    (40, made_again, True),
]


@test
def worked_cases_come_out_as_the_contract_says(front):
    """Contract extension 4.1.1, 4.2.2, 4.3.2, 4.4.3, 4.4.4, 4.4.6, 4.5.3."""
    front.target.trust(front.server.data / "pki/front-proxy-ca.crt")
    # Connections that were made before are without a certificate.
    front.target.cut()
    await_it(lambda: front.get("/things").status == 200 and front.target.callers[-1], "a request with a certificate")
    front.server.create(SERVICES, api_service(f"v1alpha1.{ABSENT}", ABSENT))
    await_it(lambda: front.server.get(f"{SERVICES}/v1alpha1.{ABSENT}").json().get("status", {}).get("conditions"), "the condition")
    await_it(lambda: stale(front), "the group")
    for number, ask, wanted in CASES:
        result = ask(front)
        assert result == wanted, f"case {number}: {result} instead of {wanted}"


if __name__ == "__main__":
    sys.exit(play_through(lambda: Through(PROGRAM, *FLAGS)))
