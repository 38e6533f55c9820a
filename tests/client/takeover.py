#!/usr/bin/env python3
"""TAP: the lead of processes that share a Lease goes from one to the other, whether it is killed or says goodbye, and never
two have it. takeover.py SERVER CANDIDATE"""

import calendar
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE.parent / "examples")]
import fixture  # noqa: E402
from program import PATIENCE_S, Program  # noqa: E402

SERVER, CANDIDATE = sys.argv[1:3]
SECOND_NS = 10**9
LEASE_S = 8  # long enough for a machine that stalls


def candidate(server, identity, lease_ms=LEASE_S * 1000, renew_ms=6000, retry_ms=200):
    return Program([CANDIDATE, server.ns, identity, lease_ms, renew_ms, retry_ms],
                   KUBECONFIG=str(server.data / "admin.kubeconfig"))


def leases(server):
    return f"/apis/coordination.k8s.io/v1/namespaces/{server.ns}/leases"


def said_at(program, what):
    return int(re.search(rf"^{what} (\d+)$", program.text, re.M).group(1))


def leads(program):
    program.says(r"leads \d+")
    return said_at(program, "leads")


def micro_time_ns(text):
    whole, fraction = text.rstrip("Z").split(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) * SECOND_NS + int(fraction) * 1000


def see_renewals(server, times):
    """Waits for so many changes of the lease."""
    watch = server.watch(f"{leases(server)}?watch=1&timeoutSeconds={PATIENCE_S}")
    renewals = set()
    for event in watch:
        renewals.add(event["object"]["spec"]["renewTime"])
        if len(renewals) > times:
            break
    watch.close()
    assert len(renewals) > times, "the lease is not renewed"


def a_killed_leader_is_followed_when_its_lease_has_run_out(server):
    with candidate(server, "first") as first:
        leads(first)
        with candidate(server, "second") as second:
            see_renewals(server, LEASE_S * 5 + 5)
            assert "leads" not in second.text, "two lead"
            first.kill()
            killed_ns = time.time_ns()
            left = server.get(leases(server) + "/takeover").expect(200).json()["spec"]
            followed_ns = leads(second)
            assert followed_ns > killed_ns, "two lead"
            if left["holderIdentity"] == "first":
                assert followed_ns >= micro_time_ns(left["renewTime"]) + LEASE_S * SECOND_NS, "the lease was not waited for"
            taken = server.get(leases(server) + "/takeover").expect(200).json()["spec"]
            assert taken["holderIdentity"] == "second" and taken["leaseTransitions"] == 1, taken
            second.stops()


def a_leader_that_says_goodbye_is_followed_at_once(server):
    """Its lease would last an hour."""
    hour = {"lease_ms": 3600000, "renew_ms": 1800000, "retry_ms": 200}
    with candidate(server, "first", **hour) as first:
        leads(first)
        with candidate(server, "second", **hour) as second:
            see_renewals(server, 3)
            assert "leads" not in second.text, "two lead"
            first.stops()
            assert leads(second) >= said_at(first, "rests"), "two lead"
            second.stops()


if __name__ == "__main__":
    fixture.TESTS.extend([a_killed_leader_is_followed_when_its_lease_has_run_out, a_leader_that_says_goodbye_is_followed_at_once])
    sys.exit(fixture.run(SERVER, []))
