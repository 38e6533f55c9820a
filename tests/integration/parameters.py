#!/usr/bin/env python3
"""Every header, query parameter and flag of kube-apiserver 1.34 that could change what a request means or may: what this
server does with each. The tables hold the whole list. parameters.py PROGRAM [FLAG...]

A row ends with what is expected: an answer that is kube-apiserver's, or a refusal. Where this server does something else,
the row also has words of its line in docs/COMPAT.md, which must be there."""

import base64
import json
import pathlib
import subprocess
import sys

from fixture import Answer, config_map, main, test

PROGRAM = sys.argv[1]
COMPAT = (pathlib.Path(__file__).parents[2] / "docs/COMPAT.md").read_text()
JSON = "application/json"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
SOCKET = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
          "Sec-WebSocket-Version": "13", "Origin": "https://x"}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def ask(server, method, path, body=None, token="admin", **headers):
    if body is not None:
        headers.setdefault("Content-Type", JSON)
    return server.request(method, path, body, token=token, **headers)


def ask_watch(server, path, words, headers):
    """The beginning of a watch, up to `words`; a refusal whole."""
    connection = server.connect()
    try:
        connection.request("GET", path, headers={"Authorization": "Bearer " + server.token, **headers})
        response = connection.getresponse()
        if response.status != 200:
            return Answer(response, response.read())
        body = b""
        while words.encode() not in body:
            line = response.readline()
            assert line, f"the watch ended without {words!r}: {body!r}"
            body += line
        return Answer(response, body)
    finally:
        connection.close()


def check(server, rows):
    """(what, method, path, options, status, words of the answer[, words of COMPAT]); {MAPS} in a path are the test's config maps.
    Before each row there is a config map x that the row may destroy."""
    for what, method, path, options, status, words, *compat in rows:
        ask(server, "POST", server.maps, config_map("x", k="v"))
        path = path.replace("{MAPS}", server.maps)
        if "?watch=1" in path and "token" not in options:
            answer = ask_watch(server, path, words, options)
        else:
            answer = ask(server, method, path, **options)
        text = answer.body.decode(errors="replace")
        assert answer.status == status and words in text, f"{what}: {answer.status} {text[:400]}, not {status} {words}"
        for line in compat:
            assert line in COMPAT, f"{what}: docs/COMPAT.md has no line with {line!r}"


@test
def headers_that_name_users(server):
    admin, review = server.token, {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    socket_token = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(admin.encode()).decode().rstrip("=")
    front_proxy = {"X-Remote-User": "bob", "X-Remote-Group": "system:masters", "X-Remote-Uid": "1", "X-Remote-Extra-A": "b"}
    nobody = "401"
    who = lambda **headers: dict(body=review, **headers)
    check(server, [
        ("Impersonate-User", "GET", "{MAPS}", {"Impersonate-User": "bob"}, 403, 'User \\"bob\\"'),
        ("Impersonate-Group alone", "GET", "{MAPS}", {"Impersonate-Group": "g"}, 500, "without impersonating a user"),
        ("Impersonate-Uid alone", "GET", "{MAPS}", {"Impersonate-Uid": "u"}, 500, "without impersonating a user"),
        ("Impersonate-Extra-* alone", "GET", "{MAPS}", {"Impersonate-Extra-A": "u"}, 500, "without impersonating a user"),
        ("another Impersonate-*", "POST", WHO, who(**{"Impersonate-Users": "bob"}), 201, '"kubernetes-admin"'),
        # Only with --requestheader-client-ca-file (integration/front_proxy).
        ("X-Remote-* of a user", "POST", WHO, who(**front_proxy), 201, '"kubernetes-admin"'),
        ("X-Remote-* of nobody", "GET", "{MAPS}", dict(token=None, **front_proxy), 401, "Unauthorized", nobody),
        ("Authorization: Basic", "GET", "{MAPS}", dict(token=None, Authorization="Basic YTpi"), 401, "Unauthorized", nobody),
        ("Authorization: Negotiate", "GET", "{MAPS}", dict(token=None, Authorization="Negotiate x"), 401, "Unauthorized", nobody),
        ("Authorization: a wrong token", "GET", "/healthz", dict(token="wrong"), 401, "Unauthorized"),
        ("?access_token=", "GET", "{MAPS}?access_token=" + admin, dict(token=None), 401, "Unauthorized", nobody),
        ("?as=", "GET", "{MAPS}?as=bob", {}, 200, "ConfigMapList"),
        ("a token as WebSocket protocol", "GET", "{MAPS}?watch=1",
         dict(token=None, **SOCKET, **{"Sec-WebSocket-Protocol": socket_token + ", v1"}), 101, ""),
        ("a token as the only WebSocket protocol", "GET", "{MAPS}?watch=1",
         dict(token=None, **SOCKET, **{"Sec-WebSocket-Protocol": socket_token}), 401, "Unauthorized"),
        ("a token as WebSocket protocol of a list", "GET", "{MAPS}",
         dict(token=None, **SOCKET, **{"Sec-WebSocket-Protocol": socket_token + ", v1"}), 200, "ConfigMapList"),
        ("a token as protocol, and no WebSocket", "GET", "{MAPS}",
         dict(token=None, **{"Sec-WebSocket-Protocol": socket_token + ", v1"}), 401, "Unauthorized", nobody),
    ])


@test
def headers_that_could_change_a_request(server):
    more = dict(body=config_map("more"))
    check(server, [
        ("Upgrade: websocket", "GET", "{MAPS}?watch=1", SOCKET, 101, ""),
        ("Upgrade: websocket without an origin", "GET", "{MAPS}?watch=1", {**SOCKET, "Origin": ""}, 403, ""),
        ("Upgrade: websocket of a list", "GET", "{MAPS}", SOCKET, 200, "ConfigMapList"),
        ("Upgrade: websocket, and no Connection", "GET", "{MAPS}?watch=1", {**SOCKET, "Connection": "close"}, 200, "ADDED"),
        ("Upgrade: h2c", "GET", "{MAPS}", {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c",
                                           "HTTP2-Settings": "AAMAAABk"}, 200, "ConfigMapList"),
        ("X-HTTP-Method-Override", "GET", "{MAPS}/x", {"X-HTTP-Method-Override": "DELETE"}, 200, '"ConfigMap"'),
        ("it deleted nothing", "GET", "{MAPS}/x", {"X-HTTP-Method": "DELETE", "X-Method-Override": "DELETE"}, 200, '"v"'),
        ("If-Match", "PATCH", "{MAPS}/x", {"body": {}, "If-Match": '"1"', "Content-Type": MERGE}, 200, '"ConfigMap"'),
        ("If-None-Match: *", "PATCH", "{MAPS}/x", {"body": {}, "If-None-Match": "*", "Content-Type": MERGE}, 200, '"ConfigMap"'),
        ("If-Modified-Since", "GET", "{MAPS}", {"If-Modified-Since": "Wed, 21 Oct 2099 07:28:00 GMT"}, 200, "ConfigMapList"),
        ("Range", "GET", "{MAPS}", {"Range": "bytes=0-1"}, 200, "ConfigMapList"),
        ("Content-Encoding: identity", "POST", "{MAPS}?dryRun=All", {**more, "Content-Encoding": "identity"}, 201, "ConfigMap"),
        ("Content-Encoding: gzip, and the body is not", "POST", "{MAPS}?dryRun=All", {**more, "Content-Encoding": "gzip"}, 201, "ConfigMap"),
        ("Content-Encoding: gzip, and the body is", "POST", "{MAPS}", {"body": b"\x1f\x8b\x08\x00", "Content-Encoding": "gzip"}, 400, "Status"),
        ("Expect: something", "POST", "{MAPS}?dryRun=All", {**more, "Expect": "200-ok"}, 417, ""),
        ("Content-Type of a form", "POST", "{MAPS}", {**more, "Content-Type": "application/x-www-form-urlencoded"}, 415, "Status"),
        ("Content-Type of an apply patch", "PATCH", "{MAPS}/x?fieldManager=m", {"body": {}, "Content-Type": APPLY}, 400,
         "invalid object type: /, Kind="),
        ("Content-Type of an apply patch in CBOR", "PATCH", "{MAPS}/x", {"body": {}, "Content-Type": "application/apply-patch+cbor"},
         415, "Status"),
        ("Accept: a form that is not known", "GET", "{MAPS}", {"Accept": "application/json;as=Foo;v=v1;g=meta.k8s.io"}, 406, "Status"),
        ("Accept: protobuf alone", "GET", "{MAPS}", {"Accept": "application/vnd.kubernetes.protobuf"}, 200, "ConfigMapList",
         "protobuf in answers"),
        ("Accept-Encoding", "GET", "{MAPS}", {"Accept-Encoding": "gzip"}, 200, "ConfigMapList"),
        ("Origin", "GET", "{MAPS}", {"Origin": "https://elsewhere.example"}, 200, "ConfigMapList"),
        ("OPTIONS of a browser", "OPTIONS", "{MAPS}", {"Origin": "https://x", "Access-Control-Request-Method": "GET"}, 405, "Status"),
        ("X-Forwarded-*", "GET", "{MAPS}", {"X-Forwarded-For": "::1", "X-Forwarded-Uri": "/healthz"}, 200, "ConfigMapList"),
        ("x-kubernetes-peer-proxied", "GET", "{MAPS}", {"x-kubernetes-peer-proxied": "true"}, 200, "ConfigMapList"),
    ])
    answer = server.get(server.maps, Audit_ID="mine", Origin="https://x", traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01")
    assert answer.headers["Audit-Id"] == "mine" and "Access-Control-Allow-Origin" not in answer.headers, answer.headers


@test
def parameters_of_reads(server):
    """ListOptions, GetOptions, TableOptions, and what every request has."""
    invalid = "ListOptions.meta.k8s.io"
    watch = "{MAPS}?watch=1&"
    rows = [(query, "GET", "{MAPS}?" + query, {}, status, words) for query, status, words in (
        ("labelSelector=k%3Dv", 200, "ConfigMapList"), ("labelSelector=%3D%3D", 400, "expected"),
        ("fieldSelector=metadata.name%3Dx", 200, '"x"'), ("fieldSelector=data.k%3Dv", 400, "field selector"),
        ("resourceVersion=0", 200, "ConfigMapList"), ("resourceVersion=abc", 400, "invalid resource version"),
        ("resourceVersionMatch=Exact", 422, invalid), ("resourceVersion=1&resourceVersionMatch=Some", 422, invalid),
        ("limit=1", 200, "ConfigMapList"), ("limit=x", 400, "ParseInt"), ("continue=abc", 400, "continue"),
        ("timeoutSeconds=x", 400, "ParseInt"), ("sendInitialEvents=true", 422, invalid), ("timeout=1x", 400, "timeout"),
        ("allowWatchBookmarks=true", 200, "ConfigMapList"), ("pretty=1", 200, "ConfigMapList"),
        ("dryRun=x", 200, "ConfigMapList"), ("fieldManager=x", 200, "ConfigMapList"), ("exact=true", 200, "ConfigMapList"),
        # Of later versions of Kubernetes, and nothing in 1.34 either.
        ("shardSelector=x", 200, "ConfigMapList"))]
    rows += [("watch: " + query, "GET", watch + query, {}, status, words) for query, status, words in (
        ("allowWatchBookmarks=1", 200, "ADDED"), ("sendInitialEvents=true", 422, invalid), ("resourceVersion=abc", 500, "resourceVersion"),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1", 200, "k8s.io/initial-events-end"),
        ("sendInitialEvents=true&resourceVersionMatch=Exact", 422, invalid), ("resourceVersionMatch=NotOlderThan", 422, invalid),
        ("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", 200, ""), ("limit=1", 200, "ADDED"), ("continue=abc", 422, invalid),
        ("labelSelector=%3D%3D", 400, "expected"))]
    rows += [("get: " + query, "GET", "{MAPS}/x?" + query, {}, status, words) for query, status, words in (
        ("resourceVersion=0", 200, '"x"'), ("resourceVersion=abc", 500, "resourceVersion"), ("export=true", 400, "export"),
        ("resourceVersionMatch=Exact", 200, '"x"'), ("watch=1", 200, '"x"'))]
    rows += [("table: " + query, "GET", "{MAPS}?" + query, {"Accept": TABLE}, status, words) for query, status, words in (
        ("includeObject=None", 200, '"Table"'), ("includeObject=Object", 200, '"ConfigMap"'), ("includeObject=Foo", 400, "includeObject"))]
    check(server, rows)


@test
def parameters_of_writes(server):
    """CreateOptions, UpdateOptions and PatchOptions."""
    long = "m" * 129
    for method, path, options, success in (
            ("POST", "{MAPS}?dryRun=All&", dict(body=config_map("new")), 201), ("PUT", "{MAPS}/x?dryRun=All&", dict(body=config_map("x")), 200),
            ("PATCH", "{MAPS}/x?dryRun=All&", {"body": {}, "Content-Type": MERGE}, 200)):
        check(server, [(method + " " + query, method, path + query, options, status, words) for query, status, words in (
            ("fieldManager=me", success, "ConfigMap"), ("fieldManager=a%0ab", 422, "fieldManager"), ("fieldManager=" + long, 422, "fieldManager"),
            ("fieldValidation=Strict", success, "ConfigMap"), ("fieldValidation=Foo", 422, "fieldValidation"),
            ("dryRun=None", 422, "dryRun"), ("dryRun=", 422, "dryRun"), ("timeout=1x", 400, "timeout"),
            ("force=true", 422 if method == "PATCH" else success, "force" if method == "PATCH" else "ConfigMap"),
            ("gracePeriodSeconds=x", success, "ConfigMap"), ("propagationPolicy=X", success, "ConfigMap"))])
    server.get(server.maps + "/new").expect(404)


@test
def parameters_of_deletions(server):
    """DeleteOptions, in the query and in the body; a body is read alone."""
    known = server.create(server.maps, config_map("known"))["metadata"]
    in_query = [
        ("uid=x", 409, "the UID in the precondition"), ("resourceVersion=1", 409, "the ResourceVersion in the precondition"),
        ("gracePeriodSeconds=1", 200, ""), ("gracePeriodSeconds=x", 400, "ParseInt"), ("gracePeriodSeconds=", 400, "ParseInt"),
        ("propagationPolicy=Orphan", 200, "finalizers"), ("propagationPolicy=X", 422, "propagationPolicy"), ("propagationPolicy=", 422, "propagationPolicy"),
        ("orphanDependents=true", 200, "finalizers"), ("orphanDependents=true&propagationPolicy=Orphan", 422, "cannot be both set"),
        ("dryRun=None", 422, "dryRun"), ("dryRun=all", 422, "dryRun"),
        # Behind a gate that is off in 1.34: it is taken and does nothing.
        ("ignoreStoreReadErrorWithClusterBreakingPotential=true", 200, "Success")]
    check(server, [("DELETE " + query, "DELETE", "{MAPS}/x?dryRun=All&" + query, {}, status, words) for query, status, words in in_query])
    in_body = [
        ({"preconditions": {"uid": "x"}}, 409, "the UID in the precondition"), ({"preconditions": {"uid": 1}}, 500, "types.UID"),
        ({"preconditions": {"resourceVersion": "1"}}, 409, "the ResourceVersion"), ({"preconditions": {"resourceVersion": 1}}, 500, "of type string"),
        ({"gracePeriodSeconds": "1"}, 500, "int64"), ({"propagationPolicy": ""}, 422, "propagationPolicy"), ({"propagationPolicy": 1}, 500, "unmarshal"),
        ({"orphanDependents": "x"}, 500, "bool"), ({"dryRun": ["None"]}, 422, "dryRun"), ({"dryRun": "All"}, 500, "[]string"),
        ({"ignoreStoreReadErrorWithClusterBreakingPotential": True}, 200, "Success"),
        ({"ignoreStoreReadErrorWithClusterBreakingPotential": 1}, 500, "bool"), ({"kind": "Pod"}, 500, "no kind")]
    check(server, [(f"DELETE {body}", "DELETE", "{MAPS}/x", dict(body={"dryRun": ["All"], **body}), status, words)
                   for body, status, words in in_body])
    check(server, [("deletecollection uid", "DELETE", "{MAPS}?dryRun=All&uid=x", {}, 409, "the UID in the precondition"),
                   ("deletecollection resourceVersion", "DELETE", "{MAPS}?dryRun=All&resourceVersion=1", {}, 409,
                    "the ResourceVersion in the precondition", "a resourceVersion of a deletecollection"),
                   ("both hold", "DELETE", "{MAPS}/known?uid=" + known["uid"] + "&resourceVersion=" + known["resourceVersion"], {}, 200, "Success")])


# All flags of `kube-apiserver --help` in 1.34 but those of klog. Any other word is a mistake in this list.
TAKEN = """advertise-address aggregator-reject-forwarding-redirect allow-privileged authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl
    authorization-webhook-cache-unauthorized-ttl requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix
    requestheader-group-headers requestheader-uid-headers requestheader-username-headers bind-address client-ca-file encryption-provider-config encryption-provider-config-automatic-reload etcd-cafile etcd-certfile
    etcd-compaction-interval etcd-keyfile etcd-prefix etcd-servers event-ttl http2-max-streams-per-connection logging-format
    max-mutating-requests-inflight max-requests-inflight min-request-timeout proxy-client-cert-file proxy-client-key-file request-timeout service-cluster-ip-range service-node-port-range storage-backend storage-media-type
    tls-cert-file tls-private-key-file token-auth-file watch-cache watch-cache-sizes""".split()
TAKEN_IN_PART = {"authorization-mode": ["RBAC", "Node", "Node,RBAC", "ABAC", "Webhook"], "endpoint-reconciler-type": ["master-count"],
                 "logging-format": ["xml"],
                 "storage-media-type": ["application/yaml"]}
REFUSED = """admission-control admission-control-config-file allow-metric-labels
    allow-metric-labels-manifest anonymous-auth api-audiences audit-log-batch-buffer-size audit-log-batch-max-size
    audit-log-batch-max-wait audit-log-batch-throttle-burst audit-log-batch-throttle-enable audit-log-batch-throttle-qps audit-log-compress
    audit-log-format audit-log-maxage audit-log-maxbackup audit-log-maxsize audit-log-mode audit-log-path audit-log-truncate-enabled
    audit-log-truncate-max-batch-size audit-log-truncate-max-event-size audit-log-version audit-policy-file audit-webhook-batch-buffer-size
    audit-webhook-batch-max-size audit-webhook-batch-max-wait audit-webhook-batch-throttle-burst audit-webhook-batch-throttle-enable
    audit-webhook-batch-throttle-qps audit-webhook-config-file audit-webhook-initial-backoff audit-webhook-mode audit-webhook-truncate-enabled
    audit-webhook-truncate-max-batch-size audit-webhook-truncate-max-event-size audit-webhook-version authentication-config
    authentication-token-webhook-config-file authentication-token-webhook-version authorization-config
    authorization-policy-file
    authorization-webhook-config-file authorization-webhook-version cert-dir contention-profiling coordinated-leadership-lease-duration
    coordinated-leadership-renew-deadline coordinated-leadership-retry-period cors-allowed-origins debug-socket-path
    default-not-ready-toleration-seconds default-unreachable-toleration-seconds delete-collection-workers disable-admission-plugins
    disable-http2-serving disabled-metrics egress-selector-config-file emulated-version emulation-forward-compatible enable-admission-plugins
    enable-aggregator-routing enable-bootstrap-token-auth enable-garbage-collector enable-logs-handler enable-priority-and-fairness
    etcd-count-metric-poll-period etcd-db-metric-poll-interval etcd-healthcheck-timeout etcd-readycheck-timeout
    etcd-servers-overrides external-hostname feature-gates goaway-chance kubelet-certificate-authority kubelet-client-certificate
    kubelet-client-key kubelet-preferred-address-types kubelet-timeout kubernetes-service-node-port lease-reuse-duration-seconds
    livez-grace-period log-flush-frequency log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream
    max-connection-bytes-per-sec oidc-ca-file oidc-client-id oidc-groups-claim oidc-groups-prefix oidc-issuer-url oidc-required-claim
    oidc-signing-algs oidc-username-claim oidc-username-prefix peer-advertise-ip peer-advertise-port peer-ca-file permit-address-sharing
    permit-port-sharing profiling runtime-config
    runtime-config-emulation-forward-compatible secure-port service-account-extend-token-expiration service-account-issuer
    service-account-jwks-uri service-account-key-file service-account-lookup service-account-max-token-expiration
    service-account-signing-endpoint service-account-signing-key-file
    show-hidden-metrics-for-version shutdown-delay-duration shutdown-send-retry-after shutdown-watch-termination-grace-period
    storage-initialization-timeout strict-transport-security-directives tls-cipher-suites tls-min-version tls-sni-cert-key
    tracing-config-file vmodule""".split()


@test
def flags_of_kube_apiserver_are_taken_or_refused_by_name(server):
    usage = subprocess.run([PROGRAM, "serve", "--help"], capture_output=True, text=True, timeout=60).stdout
    for flag in (*TAKEN, *TAKEN_IN_PART):
        assert f"--{flag} " in usage or f"--{flag}\n" in usage, flag
    for flag in REFUSED:
        assert f"--{flag} " not in usage, f"--{flag} is taken now: move it"
    for word, flags in (("unknown flag --", {flag: ["true"] for flag in REFUSED}), ("is not one of", TAKEN_IN_PART)):
        for flag, values in flags.items():
            for value in values:
                result = subprocess.run([PROGRAM, "serve", f"--{flag}={value}"], capture_output=True, text=True, timeout=60)
                assert result.returncode != 0 and word in result.stderr and flag in result.stderr, (flag, value, result.stderr)
    assert "flags of kube-apiserver that are not listed" in COMPAT


if __name__ == "__main__":
    main()
