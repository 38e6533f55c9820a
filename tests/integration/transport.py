#!/usr/bin/env python3
"""How answers go over the wire: compressed with gzip, and as messages of a WebSocket. transport.py PROGRAM

What is expected of this server is expected of the kube-apiserver that COR_KUBE_APISERVER names, too."""

import base64
import http.client
import json
import pathlib
import socket
import ssl
import sys
import tempfile
import zlib

from fixture import REQUEST_S, Answer, Server, config_map, main, test
from web_socket import Socket

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
                # Ages of tables change; a list's revision does when the server renews a Lease between both.
                if accept != TABLE and answer.text != plain.text:
                    assert answer.text == ask(server, path, "identity", accept).text, what
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


TEXT, BINARY, CLOSE, PING, PONG = 0x81, 0x82, 0x88, 0x89, 0x8a


def check_socket_watch(server):
    """Contract server 3.12.3."""
    folder, name = server.maps, "socket"
    one = f"{folder}?watch=1&fieldSelector=metadata.name%3D{name}"
    watch = Socket(server, one)
    assert watch.status == "HTTP/1.1 101 Switching Protocols", watch.status
    assert watch.headers == {"Upgrade": "websocket", "Connection": "Upgrade",
                             "Sec-WebSocket-Accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="}, watch.headers
    server.create(folder, config_map(name, data="x"))
    first, text = watch.frame()
    event = json.loads(text)
    assert first == TEXT and text.endswith(b"}\n") and event["type"] == "ADDED" and event["object"]["kind"] == "ConfigMap", text
    # What a client says is ignored, but for its pings and its end.
    watch.send(1, b"hello")
    watch.send(9, b"are you there")
    assert watch.frame() == (PONG, b"are you there")
    server.request("DELETE", f"{folder}/{name}")
    first, text = watch.frame()
    assert first == TEXT and json.loads(text)["type"] == "DELETED", text
    watch.send(8, (1000).to_bytes(2, "big"))
    assert watch.frame() == (CLOSE, (1000).to_bytes(2, "big")) and watch.frame() is None
    watch.close()
    # Protobuf is binary, and has no length of its own before it. A large event is one frame, too.
    server.create(folder, config_map(name, data="y" * 500_000))
    for accept, kind, start in ((PROTOBUF + ";stream=watch", BINARY, b"\n\x05ADDED\x12"), (TABLE, TEXT, b'{"type":"ADDED","object":{"kind":"Table"'),
                                ("application/json", TEXT, b'{"type":"ADDED"')):
        watch = Socket(server, one, accept)
        first, text = watch.frame()
        assert first == kind and text.startswith(start), (accept, first, text[:100])
        assert accept == TABLE or len(text) > 500_000, len(text)
        watch.close()
    # The end of its time is a plain end of the WebSocket. A slow machine may have no time for the event.
    watch = Socket(server, one + "&timeoutSeconds=1")
    frame = watch.frame()
    while frame[0] == TEXT:
        frame = watch.frame()
    assert frame == (CLOSE, (1000).to_bytes(2, "big")) and watch.frame() is None, frame
    watch.close()


def check_socket_handshakes(server):
    one = f"{server.maps}?watch=1"
    encode = lambda text: "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    token = encode(server.token)
    for token_header, headers, code, answered in (
            (True, dict(Sec_WebSocket_Protocol="v1"), 101, "v1"),
            (True, dict(Sec_WebSocket_Protocol="v1, v2"), 400, None),
            (True, dict(Sec_WebSocket_Protocol=f"{token}, v1"), 400, None),
            (True, dict(Sec_WebSocket_Version="8"), 400, None),
            (True, dict(Sec_WebSocket_Key=""), 400, None),
            (True, dict(Origin=""), 403, None),
            (True, dict(Origin="null"), 403, None),
            (True, dict(Connection="keep-alive, upgrade"), 101, None),
            (False, dict(Sec_WebSocket_Protocol=f"{token}, v1"), 101, "v1"),
            (False, dict(Sec_WebSocket_Protocol=f"v1,{token}"), 101, "v1"),
            (False, dict(Sec_WebSocket_Protocol=token), 401, None),
            (False, dict(Sec_WebSocket_Protocol=f"{token},{token},v1"), 401, None),
            (False, dict(Sec_WebSocket_Protocol=f"{encode('wrong')}, v1"), 401, None),
            (False, dict(Sec_WebSocket_Protocol=f"{token}=, v1"), 401, None),
            (False, dict(Sec_WebSocket_Protocol=f"{token}, v1", Authorization="Bearer wrong"), 101, "v1")):
        watch = Socket(server, one, token=token_header, **headers)
        assert watch.status.split()[1] == str(code), (headers, watch.status)
        assert code != 101 or watch.headers.get("Sec-WebSocket-Protocol") == answered, (headers, watch.headers)
        watch.close()


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
def a_watch_over_websocket_has_an_event_in_each_message(server):
    check_socket_watch(server)


@test
def handshakes_of_websockets(server):
    check_socket_handshakes(server)


@test
def kube_apiserver_answers_the_same(_server):
    from etcd_cluster import Cluster
    from kube_apiserver import KubeApiserver
    with tempfile.TemporaryDirectory() as name, Cluster() as etcd, KubeApiserver(etcd, pathlib.Path(name)) as kube:
        kube.token, kube.maps = "kube-token", "/api/v1/namespaces/default/configmaps"
        kube.create = lambda path, body: kube.request("POST", path, body)
        check_lists(kube)
        check_documents(kube)
        check_watch(kube)
        check_socket_watch(kube)
        check_socket_handshakes(kube)


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
    # The server may renew a Lease while the client reads, so the second list is that of the same revision.
    revision = json.loads(text)["metadata"]["resourceVersion"]
    assert text == ask(server, f"{server.maps}?resourceVersion={revision}&resourceVersionMatch=Exact", "identity").text
    stream.close()


@test
def a_websocket_that_floods_or_does_not_read_harms_nobody(server):
    """Pings without end, whose answers nobody reads: the server stops to read them. Others are served meanwhile."""
    floods = [Socket(server, f"{server.maps}?watch=1") for _ in range(4)]
    ping = bytes([0x89, 0x80 | 125]) + bytes(4) + b"x" * 125
    for flood in floods:
        flood.stream.settimeout(0)
        try:
            while True:
                flood.stream.send(ping * 500)
        except (ssl.SSLWantWriteError, BlockingIOError):
            pass
    server.create(server.maps, config_map("beside"))
    server.get(server.maps).expect(200)
    for flood in floods:
        flood.close()
    watch = Socket(server, f"{server.maps}?watch=1")
    assert json.loads(watch.frame()[1])["object"]["metadata"]["name"] == "beside"
    watch.close()


@test
def many_websockets_end_with_the_server(_server):
    with Server(PROGRAM) as own:
        watches = [Socket(own, "/api/v1/namespaces/default/configmaps?watch=1") for _ in range(20)]
        own.stop()
        for watch in watches:
            frame = watch.frame()
            while frame and frame[0] != CLOSE:
                frame = watch.frame()
            assert frame == (CLOSE, (1000).to_bytes(2, "big")), frame
            watch.close()


if __name__ == "__main__":
    main()
