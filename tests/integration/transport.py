#!/usr/bin/env python3
"""How answers go over the wire: compressed with gzip. transport.py PROGRAM

What is expected of this server is expected of the kube-apiserver that COR_KUBE_APISERVER names, too."""

import http.client
import json
import pathlib
import socket
import ssl
import sys
import tempfile
import zlib

from fixture import REQUEST_S, Answer, config_map, main, test

PROGRAM = sys.argv[1]
# What more than this is compressed.
PLAIN_MAX = 128 << 10
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"


def ask(server, path, encoding, accept="application/json"):
    connection = server.connect()
    headers = {"Authorization": "Bearer " + server.token, "Accept": accept, "Accept-Encoding": encoding}
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    answer = Answer(response, response.read()).expect(200)
    connection.close()
    is_gzip = answer.headers["Content-Encoding"] == "gzip"
    answer.vary = answer.headers.get_all("Vary", [])
    answer.text = zlib.decompress(answer.body, 31) if is_gzip else answer.body
    answer.is_gzip = is_gzip
    return answer


def fill(server, folder, count, size):
    for i in range(count):
        server.create(folder, config_map(f"m{i:03}", data=str(i % 10) * size))


def check_lists(server):
    """Contract server 3.4.6."""
    folder = server.maps
    fill(server, folder, 20, 10_000)
    for accept in ("application/json", "application/yaml", TABLE, PROTOBUF):
        for path in (folder, folder + "?limit=3", folder + "/m001", folder + "?pretty=true"):
            for encoding, takes in (("gzip", True), ("br, gzip", True), ("deflate,gzip", True), ("identity", False), ("gzip;q=1", False),
                                    ("GZIP", False), ("*", False)):
                plain = ask(server, path, "identity", accept)
                answer = ask(server, path, encoding, accept)
                what = (path, accept, encoding, len(plain.text), answer.headers.items())
                assert not plain.is_gzip and "Accept-Encoding" not in plain.vary, what
                assert answer.is_gzip == (takes and len(plain.text) > PLAIN_MAX), what
                assert ("Accept-Encoding" in answer.vary) == answer.is_gzip, what
                if accept != TABLE:  # whose ages change
                    assert answer.text == plain.text, what
                if answer.is_gzip:
                    assert len(answer.body) < len(answer.text) // 4, what


def check_documents(server):
    """OpenAPI v2 and the metrics have rules of their own, OpenAPI v3 is never compressed, discovery is not large enough."""
    for encoding, takes in (("gzip", True), ("gzip;q=0.5, br", True), ("gzip;q=0", False), ("identity", False)):
        for accept in ("application/json", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"):
            answer = ask(server, "/openapi/v2", encoding, accept)
            assert answer.is_gzip == takes and sorted(answer.vary) == ["Accept", "Accept-Encoding"], (encoding, answer.headers.items())
        metrics = ask(server, "/metrics", encoding, "text/plain")
        assert metrics.is_gzip == takes and b"apiserver_request_total" in metrics.text and not metrics.vary, metrics.headers.items()
    for path, accept in (("/openapi/v3", "*/*"), ("/openapi/v3/api/v1", "*/*"), ("/api/v1", "*/*"), ("/apis", AGGREGATED), ("/version", "*/*")):
        assert not ask(server, path, "gzip", accept).is_gzip, path


def check_watch(server):
    connection = server.connect()
    folder = server.maps
    server.create(folder, config_map("watched", data="x" * 200_000))
    headers = {"Authorization": "Bearer " + server.token, "Accept-Encoding": "gzip"}
    connection.request("GET", folder + "?watch=1&fieldSelector=metadata.name%3Dwatched", headers=headers)
    response = connection.getresponse()
    assert response.status == 200 and response.headers["Content-Encoding"] is None, response.headers.items()
    assert json.loads(response.readline())["object"]["metadata"]["name"] == "watched"
    connection.close()


@test
def lists_over_128_kb_are_compressed_for_who_asks(server):
    check_lists(server)


@test
def documents_have_their_own_rules(server):
    check_documents(server)


@test
def watches_are_never_compressed(server):
    check_watch(server)


@test
def kube_apiserver_compresses_the_same_answers(_server):
    from etcd_cluster import Cluster
    from kube_apiserver import KubeApiserver
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd, KubeApiserver(etcd, pathlib.Path(name)) as kube:
        kube.token, kube.maps = "kube-token", "/api/v1/namespaces/default/configmaps"
        kube.create = lambda path, body: kube.request("POST", path, body)
        check_lists(kube)
        check_documents(kube)
        check_watch(kube)


@test
def who_leaves_in_the_middle_leaves_nothing_behind(server):
    """The thread that compresses for them gives its slice back to nobody. The server ends as it should after this."""
    fill(server, server.maps, 60, 100_000)
    context = ssl.create_default_context(cafile=server.data / "pki/ca.crt")
    request = (f"GET {server.maps} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\nAccept-Encoding: gzip\r\n\r\n").encode()
    for i in range(40):
        raw = socket.create_connection((server.host, server.port), timeout=REQUEST_S)
        stream = context.wrap_socket(raw, server_hostname=server.host)
        stream.sendall(request)
        if i % 4 > 0:
            stream.recv(i * 100)
        stream.close()
    whole = ask(server, server.maps, "gzip")
    assert len(json.loads(whole.text)["items"]) == 60


@test
def a_slow_reader_of_random_bytes_gets_all_of_them(server):
    """What hardly becomes smaller, read in small pieces by a client with a small window."""
    import random
    words = random.Random(1)
    for i in range(40):
        server.create(server.maps, config_map(f"r{i}", data=words.randbytes(30_000).hex()))
    raw = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 10)
    raw.settimeout(REQUEST_S)
    raw.connect((server.host, server.port))
    context = ssl.create_default_context(cafile=server.data / "pki/ca.crt")
    stream = context.wrap_socket(raw, server_hostname=server.host)
    stream.sendall((f"GET {server.maps} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {server.token}\r\n"
                    "Accept-Encoding: gzip\r\n\r\n").encode())
    response = http.client.HTTPResponse(stream)
    response.begin()
    assert response.headers["Content-Encoding"] == "gzip"
    text = zlib.decompress(response.read(), 31)
    assert text == ask(server, server.maps, "identity").text
    stream.close()


if __name__ == "__main__":
    main()
