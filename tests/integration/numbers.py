#!/usr/bin/env python3
"""What is stored can be read again: numbers and segments at the edges, against a server of its own. The whole table is in
tests/unit/server/verbs/test_numbers.c; here is what passes the network, the caches and the store. numbers.py PROGRAM [FLAG...]"""

import datetime
import json
import math

from fixture import config_map, main, test, workload

MERGE = "application/merge-patch+json"
EDGES = ["0", "-0", "1", "-1", "1.0", "2147483648", "9007199254740993", "9223372036854775807", "9223372036854775808",
         "-9223372036854775808", "18446744073709551615", "1e308", "1e400"]
LARGEST = "18446744073709551615"


def finite(text):
    value = float(text)
    assert math.isfinite(value), f"no double holds {text}"
    return value


def check_members(name, value):
    if name in ("generation", "deletionGracePeriodSeconds", "remainingItemCount", "code", "retryAfterSeconds"):
        assert isinstance(value, int) and -2**63 <= value < 2**63, f"{name} is no int64: {value!r}"
    if name in ("creationTimestamp", "deletionTimestamp"):
        datetime.datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ")
    if name == "resourceVersion":
        assert value.isdecimal() and int(value) < 2**63, f"no revision: {value!r}"
    return value


def strictly(answer):
    """The answer as a client with types would read it."""
    return json.loads(answer.body, parse_float=finite, parse_constant=finite,
                      object_pairs_hook=lambda pairs: {name: check_members(name, value) for name, value in pairs})


def put_back(server, path):
    answer = server.get(path)
    if answer.status != 404:
        strictly(server.request("PUT", path, strictly(answer.expect(200))).expect(200))


@test
def a_pod_that_goes_after_any_grace_period_can_be_read(server):
    pods = server.maps.replace("configmaps", "pods")
    for edge in EDGES:
        server.create(pods, {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}})
        answer = server.request("DELETE", f"{pods}/p?gracePeriodSeconds={edge}")
        assert answer.status in (200, 400), answer.body
        strictly(answer)
        strictly(server.get(pods).expect(200))
        put_back(server, pods + "/p")
        server.request("DELETE", pods + "/p?gracePeriodSeconds=0")
        server.get(pods + "/p").expect(404)


@test
def a_number_anywhere_is_refused_or_can_be_read(server):
    for edge in EDGES:
        for members in ('"more": %s', '"metadata": {"name": "a", "generation": %s}', '"data": {"a": %s}'):
            text = '{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, ' + members % edge + "}"
            answer = server.request("POST", server.maps, text)
            assert answer.status in (201, 400, 422), answer.body
            assert answer.status != 201 or "1e400" not in text
            strictly(answer)
            strictly(server.get(server.maps).expect(200))
            put_back(server, server.maps + "/a")
            answer = server.request("PATCH", server.maps + "/a", '{"more": [%s]}' % edge, Content_Type=MERGE)
            assert answer.status in (200, 400, 404), answer.body
            put_back(server, server.maps + "/a")
            server.request("DELETE", server.maps + "/a")


def varint(number):
    number &= 2**64 - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """Of a protobuf message: an integer, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def send_protobuf(server, method, path, api_version, kind, message):
    envelope = field(1, field(1, api_version.encode()) + field(2, kind.encode())) + field(2, message)
    return server.request(method, path, b"k8s\0" + envelope, Content_Type="application/vnd.kubernetes.protobuf")


@test
def numbers_in_protobuf_are_those_of_json(server):
    pods = server.maps.replace("configmaps", "pods")
    for seconds, stored in ((0, 0), (1, 1), (-1, 1), (2**31, 2**31), (2**63 - 1, 2**63 - 1), (-2**63, 1)):
        server.create(pods, {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}})
        gone = send_protobuf(server, "DELETE", pods + "/p", "v1", "DeleteOptions", field(1, seconds)).expect(200)
        assert strictly(gone)["metadata"]["deletionGracePeriodSeconds"] == stored
        put_back(server, pods + "/p")
        server.request("DELETE", pods + "/p?gracePeriodSeconds=0")
    for generation, status in ((0, 201), (2**63 - 1, 201), (-1, 422), (-2**63, 422)):
        made = send_protobuf(server, "POST", server.maps, "v1", "ConfigMap", field(1, field(1, b"c") + field(7, generation)))
        strictly(made.expect(status))
        put_back(server, server.maps + "/c")
        server.request("DELETE", server.maps + "/c")
    deployments = server.maps.replace("api/v1", "apis/apps/v1").replace("configmaps", "deployments")
    server.create(deployments, {"metadata": {"name": "d"}, "spec": {"replicas": 1, **workload()}})
    # The low 32 bits count, as in Go's readers: 2^31 is negative, 2^63 is zero.
    for replicas, status in ((0, 200), (2**31 - 1, 200), (-1, 422), (2**31, 422), (2**63 - 1, 422), (-2**63, 200)):
        scaled = send_protobuf(server, "PUT", deployments + "/d/scale", "autoscaling/v1", "Scale",
                               field(1, field(1, b"d")) + field(2, field(1, replicas)))
        strictly(scaled.expect(status))
        put_back(server, deployments + "/d/scale")


@test
def options_in_protobuf_need_no_kind(server):
    """Contract types 1.1.5: what the envelope leaves out is what the endpoint expects, which is DeleteOptions here."""
    server.create(server.maps, config_map("kept"))
    send_protobuf(server, "DELETE", server.maps + "/kept", "", "", field(5, b"All")).expect(200)
    server.get(server.maps + "/kept").expect(200)


@test
def a_watch_takes_or_refuses_any_number(server):
    for edge in EDGES:
        for parameter in ("resourceVersion", "timeoutSeconds"):
            connection = server.connect()
            connection.request("GET", f"{server.maps}?watch=1&{parameter}={edge}",
                               headers={"Authorization": "Bearer " + server.token})
            answer = connection.getresponse()
            # A revision that is no uint64 is an untyped failure, as in kube-apiserver.
            words = b"" if answer.status == 200 else answer.read()
            assert answer.status in (200, 400, 410) or b"strconv.ParseUint" in words, (edge, answer.status, words)
            connection.close()


@test
def the_largest_number_is_a_revision_that_does_not_come(server):
    server.create(server.maps, config_map("a"))
    for path in (f"{server.maps}?resourceVersion={LARGEST}", f"{server.maps}/a?resourceVersion={LARGEST}"):
        status = strictly(server.get(path).expect(504))
        assert status["message"].startswith(f"Timeout: Too large resource version: {LARGEST}, current: "), status


@test
def a_namespace_of_dots_has_no_objects(server):
    for dots in (".", "..", "%2e%2e"):
        maps = f"/api/v1/namespaces/{dots}/configmaps"
        assert strictly(server.get(maps).expect(200))["items"] == []
        assert strictly(server.get(maps + "?limit=1").expect(200))["items"] == []
        server.get(maps + "/a").expect(404)
        server.request("DELETE", maps + "/a").expect(404)
        with_watch = server.watch(maps + "?watch=1")
        with_watch.close()


@test
def a_timeout_is_a_duration_or_is_refused(server):
    refused = "invalid timeout specified in the request URL - time: "
    for text, words in (("1", 'missing unit in duration "1"'), ("1e3s", 'unknown unit "e" in duration "1e3s"'),
                        ("x", 'invalid duration "x"'), ("%00s", 'invalid duration "\\x00s"'),
                        ("9223372036854775807s", 'invalid duration "9223372036854775807s"')):
        status = server.get(f"{server.maps}?timeout={text}").expect(400).json()
        assert status["message"] == refused + words, status
    server.get(f"{server.maps}?timeout={'1' * 400}s").expect(400)
    for text in ("", "0", "-1s", "10s", "1.0h", "2147483648s"):
        server.get(f"{server.maps}?timeout={text}").expect(200)


if __name__ == "__main__":
    main()
