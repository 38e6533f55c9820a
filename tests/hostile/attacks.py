"""The attacks. Each is one row of docs/internals/limits.md: its name stands there in the last column.

Who attacks is mallory, an ordinary user who may do everything, or nobody; the attacks come from another address than the
second client's."""

import http.client
import json
import random
import socket
import ssl
import string
import threading
import time

import h2

ATTACKS = []
ELSEWHERE = "127.0.0.2"
MAPS = "/api/v1/namespaces/default/configmaps"
# What is large, so that the second client's own lists stay small.
LARGE = "/api/v1/namespaces/kube-public/configmaps"
EVENTS = "/api/v1/namespaces/default/events"
MALLORY = "t-mallory"
CACHE_BYTES = 8 << 20


def registers(group):
    """A decorator of function(field) for attacks of a group; the server gets the decorator's arguments as flags."""
    def with_flags(*flags):
        def register(function):
            function.group, function.flags = group, flags
            ATTACKS.append(function)
            return function
        return register
    return with_flags


before, after = registers("before"), registers("after")


# --- the attacker's tools -------------------------------------------------------------------------------------------------

def plain_socket(server, receive_bytes=None, source=ELSEWHERE):
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if receive_bytes:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    sock.settimeout(60)
    sock.bind((source, 0))
    sock.connect((server.host, server.port))
    return sock


def tls_socket(server, receive_bytes=None):
    context = ssl.create_default_context(cafile=server.data / "pki/ca.crt")
    return context.wrap_socket(plain_socket(server, receive_bytes), server_hostname=server.host)


def head(method, path, token=None, **fields):
    lines = [f"{method} {path} HTTP/1.1", "Host: x"]
    if token:
        lines.append("Authorization: Bearer " + token)
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def send_while_taken(sock, data, step=65536):
    """Sends until the server takes no more for a while, or ends the connection. How much it took."""
    sock.settimeout(2)
    sent = 0
    try:
        while sent < len(data):
            sent += sock.send(data[sent:sent + step])
    except OSError:
        pass
    return sent


class Client:
    """mallory's requests, one after the other."""

    def __init__(self, server, token=MALLORY):
        self.server, self.token, self.connection = server, token, None

    def request(self, method, path, body=None, kind="application/json", **headers):
        if not self.connection:
            self.connection = http.client.HTTPSConnection(self.server.host, self.server.port, timeout=120, source_address=(ELSEWHERE, 0),
                                                          context=ssl.create_default_context(cafile=self.server.data / "pki/ca.crt"))
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        try:
            self.connection.request(method, path, body, {"Authorization": "Bearer " + self.token, "Content-Type": kind, **headers})
            response = self.connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            self.close()
            return 0, b""

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Repeated:
    """Functions that are called again and again, each on a thread of its own, while the block lasts. An error of theirs fails
    the attack."""

    def __init__(self, *functions):
        self.stopping, self.errors, self.turns = threading.Event(), [], [0] * len(functions)
        self.threads = [threading.Thread(target=self.run, args=(i, function)) for i, function in enumerate(functions)]

    def run(self, i, function):
        try:
            while not self.stopping.is_set():
                function()
                self.turns[i] += 1
        except Exception as error:
            self.errors.append(error)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        if self.errors and not value:
            raise self.errors[0]


def large_fields(entries=15):
    """The first time a field of 3.9 KB, afterwards one byte each for the same: a head of 60 KB."""
    first = h2.remembered("x-large", "x" * 3900) + h2.again() * (entries - 1)
    return first, h2.again() * entries


def bearer(token):
    return h2.literal_by_index(23, "Bearer " + token)


def open_streams(field, connections, streams, method, path, fields=b"", end_stream=True):
    """So many requests with heads of 60 KB on each of so many connections."""
    made = [h2.Connection(field.server, ELSEWHERE) for _ in range(connections)]
    for connection in made:
        first, rest = large_fields()
        connection.open(method, path, fields + first, end_stream=end_stream)
        for _ in range(streams - 1):
            if not connection.is_open:
                break
            connection.open(method, path, fields + rest, end_stream=end_stream)
        connection.read()
    return made


def close_all(things):
    for thing in things:
        thing.close()


# --- before authentication ------------------------------------------------------------------------------------------------

@before()
def heads_of_requests_that_never_end(field):
    """Anonymous HTTP/2 requests whose heads are 60 KB after HPACK and whose bodies never come: 225 KB on the wire."""
    base = field.rss_mb()
    made = open_streams(field, field.of(5, 20), 900, "POST", MAPS, end_stream=False)
    field.work()
    field.expect_memory_under(base, 64)
    close_all(made)


@before()
def heads_that_never_end(field):
    """Heads of 60 KB without an end: as an HTTP/2 block that is never completed, and as lines of HTTP/1.1."""
    base = field.rss_mb()
    made = [h2.Connection(field.server, ELSEWHERE) for _ in range(field.of(50, 500))]
    for connection in made:
        connection.open("GET", "/healthz", large_fields()[0], end_headers=False)
    for _ in range(field.of(50, 500)):
        made.append(tls_socket(field.server))
        send_while_taken(made[-1], b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 60_000)
    field.work()
    # An address's 16 MB, and what connections cost.
    field.expect_memory_under(base, field.of(48, 128))
    close_all(made)


@before()
def bodies_of_nobody(field):
    """A hundred anonymous bodies of 3 MB that lack their last byte, again and again."""
    base = field.rss_mb()
    body = b"x" * (3 << 20)
    made = []

    def fill():
        close_all(made)
        made.clear()
        for _ in range(field.of(20, 100)):
            made.append(tls_socket(field.server))
            send_while_taken(made[-1], head("POST", MAPS, Content_Length=len(body)) + body[:-1])

    with Repeated(fill):
        field.work()
        field.expect_memory_under(base, 64)
    close_all(made)


@before()
def bodies_of_nobody_over_http2(field):
    """The same as streams of a few connections."""
    base = field.rss_mb()
    made = [h2.Connection(field.server, ELSEWHERE) for _ in range(field.of(4, 20))]
    for connection in made:
        for _ in range(50):
            stream = connection.open("POST", MAPS, h2.literal("content-length", str(3 << 20)), end_stream=False)
            connection.send(b"".join(h2.frame(h2.DATA, 0, stream, b"x" * 16_000) for _ in range(15)))
            connection.read()
    field.work()
    field.expect_memory_under(base, 64)
    close_all(made)


@before()
def handshakes_that_never_end(field):
    """Connections that say nothing, or the first bytes of a TLS handshake, from several addresses; in the long form more than
    the server may have at all."""
    hello = bytes.fromhex("1603010200010001fc0303") + bytes(100)
    base = field.rss_mb()
    made = []
    for i in range(field.of(400, 17_000)):
        try:
            made.append(plain_socket(field.server, source=f"127.0.0.{2 + i % 4}"))
            if i % 2:
                made[-1].send(hello)
        except OSError:
            pass  # The server has closed it.
    field.work()
    field.expect_memory_under(base, field.of(64, 640))
    close_all(made)


@before()
def handshakes_one_after_the_other(field):
    """Connections that shake hands and go."""
    with Repeated(*[lambda: tls_socket(field.server).close()] * 4) as repeated:
        field.work()
        field.wait_until(lambda: sum(repeated.turns) > 20 or repeated.errors, "handshakes")


@before()
def floods_of_small_frames(field):
    """PING, SETTINGS, WINDOW_UPDATE, empty DATA, resets and CONTINUATION as fast as they go."""
    frames = [h2.frame(h2.PING, 0, 0, bytes(8)), h2.frame(h2.SETTINGS, 0, 0), h2.frame(h2.WINDOW_UPDATE, 0, 0, bytes([0, 0, 0, 1])),
              h2.frame(h2.DATA, 0, 1), h2.frame(h2.CONTINUATION, 0, 1, b"\x00" * 16), None]
    ended = [0] * len(frames)

    def flood(i):
        connection = h2.Connection(field.server, ELSEWHERE)
        if frames[i] is not None:
            connection.open("POST", "/healthz", end_stream=False, end_headers=i != 4)
        for _ in range(200):
            if frames[i] is None:
                connection.send(b"".join(h2.frame(h2.RST_STREAM, 0, connection.open("GET", "/healthz"), bytes(4)) for _ in range(50)))
            elif not connection.send(frames[i] * 50):
                break
            if not connection.read():
                break
        ended[i] += not connection.is_open
        connection.close()

    with Repeated(*[lambda i=i: flood(i) for i in range(len(frames))]) as repeated:
        field.work()
        field.wait_until(lambda: min(repeated.turns) > 0, "a flood of each kind")
    assert all(ended), f"the server lets floods go on: {ended}"


@before()
def many_small_fields(field):
    """Heads of thousands of fields, and of thousands that HPACK makes of single bytes."""
    base = field.rss_mb()
    many = b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"a:b\r\n" * 12_000 + b"\r\n"

    def lines():
        sock = tls_socket(field.server)
        send_while_taken(sock, many)
        try:
            answer = sock.recv(64)
            assert b" 431 " in answer, answer
        except OSError:
            pass  # it was closed before everything was sent
        sock.close()

    def bytes_of_hpack():
        connection = h2.Connection(field.server, ELSEWHERE)
        connection.open("GET", "/healthz", h2.remembered("a", "b") + h2.again() * 16_000)
        connection.read(1)
        connection.close()

    with Repeated(lines, bytes_of_hpack):
        field.work()
        field.expect_memory_under(base, 64)


@before()
def label_values_and_log_lines_of_nobody(field):
    """Names that are made up, as often as it goes: they become neither series of metrics nor lines of the log."""
    def made_up(prefix=""):
        return prefix + "".join(random.choices(string.ascii_lowercase, k=12))

    client, nobody = Client(field.server), Client(field.server, "wrong")
    series = lambda: len(field.server.get("/metrics").expect(200).body.splitlines())

    def round_of_names():
        for one in (client, nobody):
            one.request("GET", f"/apis/{made_up()}/v1/{made_up()}/{made_up()}?{made_up()}={made_up()}", **{"User-Agent": made_up()})
            one.request("POST", f"/api/v1/namespaces/{made_up()}/{made_up()}?dryRun={made_up()}", "{")
            one.request(made_up().upper(), "/" + made_up())

    round_of_names()
    before, log = series(), len(field.server.output())
    with Repeated(round_of_names) as repeated:
        field.wait_until(lambda: repeated.turns[0] > field.of(100, 2000), "made-up names")
        field.work()
    more, lines = series() - before, len(field.server.output()) - log
    assert more < 300, f"{more} more lines of metrics after {repeated.turns[0]} rounds"
    assert lines < 20_000, f"{lines} more bytes in the log after {repeated.turns[0]} rounds"


# --- after authentication -------------------------------------------------------------------------------------------------

@after()
def heads_of_watches(field):
    """Watches whose heads are 60 KB after HPACK and that stay open."""
    base = field.rss_mb()
    made = open_streams(field, field.of(4, 10), 250, "GET", MAPS + "?watch=1", bearer(MALLORY))
    field.work()
    field.expect_memory_under(base, field.of(32, 64))
    close_all(made)


@after()
def bodies_of_a_user(field):
    """A user's bodies that lack their last byte: first of 3 MB, then smaller and smaller ones for the room that is left."""
    base = field.rss_mb()
    body = b'{"metadata":{"name":"x"},"data":{"k":"' + b"x" * 3_000_000
    made = []
    for _ in range(field.of(90, 120)):
        made.append(tls_socket(field.server))
        send_while_taken(made[-1], head("POST", MAPS, MALLORY, Content_Length=len(body) + 4, Content_Type="application/json") + body)
    for _ in range(4):
        connection = h2.Connection(field.server, ELSEWHERE)
        made.append(connection)
        for size in (200_000, 20_000, 2_000, 200):
            for _ in range(30):
                stream = connection.open("POST", MAPS, bearer(MALLORY) + h2.literal("content-type", "application/json"), end_stream=False)
                connection.send(b"".join(h2.frame(h2.DATA, 0, stream, body[at:min(at + 16_000, size)]) for at in range(0, size, 16_000)))
            connection.read()
    field.work()
    assert field.metric("coracle_http_refusals_total") > 0, "everything was taken"
    # A user's 64 MB, connections, and the allocator.
    field.expect_memory_under(base, 128)
    close_all(made)


def names(n, prefix="n"):
    return [f"{prefix}{i}" for i in range(n)]


def anchors(levels=30):
    """A YAML document that is two to the power of `levels` when its aliases are followed."""
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, levels)]
    return "metadata: {name: x}\n" + "\n".join(lines)


def large_requests(n):
    """Requests of a few hundred KB whose work could grow with the square of what they hold, by name."""
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name} for name in names(n)]
    labels = {name: "v" for name in names(n // 4)}
    variables = [{"name": name, "value": "v"} for name in names(n // 2)]
    pod = {"metadata": {"name": "large"}, "spec": {"containers": [{"name": "c", "image": "i", "env": variables}]}}
    pods = "/api/v1/namespaces/default/pods"
    operations = [{"op": "add", "path": "/data/" + name, "value": "v"} for name in names(n // 2)]
    copies = [{"op": "add", "path": "/data/a", "value": "x" * 10_000}] + [{"op": "copy", "from": "/data", "path": f"/data/{name}"}
                                                                          for name in names(40)]
    order = {"spec": {"containers": [{"name": "c", "$setElementOrder/env": [{"name": name} for name in names(n // 4)],
                                      "env": [{"name": name, "value": "w"} for name in names(n // 4)]}]}}
    selector = "a+in+(" + ",".join(names(6000)) + ")"
    review = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
              "spec": {"user": "x", "groups": names(n), "resourceAttributes": {"verb": "get", "resource": "pods"}}}
    merge, strategic = "application/merge-patch+json", "application/strategic-merge-patch+json"
    return [
        ("owner references", "POST", MAPS, {"metadata": {"name": "x", "ownerReferences": owners}}, "application/json"),
        ("the same owner again and again", "POST", MAPS, {"metadata": {"name": "x", "ownerReferences": owners[:1] * n}}, "application/json"),
        ("finalizers", "POST", MAPS, {"metadata": {"name": "f", "finalizers": ["a.b/" + name for name in names(n)]}}, "application/json"),
        ("deletion of what has finalizers", "DELETE", MAPS + "/f", {}, "application/json"),
        ("finalizers under deletion", "PATCH", MAPS + "/f", {"metadata": {"finalizers": ["a.b/" + name for name in names(n - 1)]}}, merge),
        ("labels and annotations", "POST", MAPS, {"metadata": {"name": "x", "labels": labels, "annotations": labels}}, "application/json"),
        ("data", "POST", MAPS, {"metadata": {"name": "d"}, "data": labels}, "application/json"),
        ("JSON Patch", "PATCH", MAPS + "/d", operations, "application/json-patch+json"),
        ("copies of JSON Patch", "PATCH", MAPS + "/d", copies, "application/json-patch+json"),
        ("merge patch", "PATCH", MAPS + "/d", {"data": {name: None for name in names(n // 2)}}, merge),
        ("a list merged by key", "POST", pods, pod, "application/json"),
        ("strategic merge patch", "PATCH", pods + "/large", order, strategic),
        ("members given twice", "POST", MAPS, '{"metadata":{"name":"y"},"data":{' + ",".join(f'"{name}":"1","{name}":"2"' for name in names(n // 8)) + "}}",
         "application/json"),
        ("anchors of YAML", "POST", MAPS, anchors(), "application/yaml"),
        ("depth", "POST", MAPS, '{"metadata":{"name":"z"},"x":' + "[" * n + "]" * n + "}", "application/json"),
        ("groups of a review", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review, "application/json"),
        ("a selector", "GET", MAPS + "?labelSelector=" + selector, None, "application/json"),
        ("a token that is none", "GET", MAPS + "?limit=1&continue=" + "A" * 50_000, None, "application/json"),
    ]


@after()
def large_work(field):
    """32,000 owner references, finalizers, large patches, anchors of YAML and their kin."""
    requests = [(what, method, path, json.dumps(body) if isinstance(body, (dict, list)) else body, kind)
                for what, method, path, body, kind in large_requests(field.of(8000, 32_000))]

    def each_once(client):
        for what, method, path, body, kind in requests:
            status, text = client.request(method, path, body, kind)
            assert status, f"{what}: the connection was ended"
            assert status != 500 or b"unmarshal" in text, f"{what}: {status} {text[:300]}"

    with Repeated(*[lambda client=Client(field.server): each_once(client) for _ in range(field.of(1, 4))]) as repeated:
        field.work()
        field.wait_until(lambda: min(repeated.turns) > 0 or repeated.errors, "every large request once")
    if field.is_long:
        field.expect_turns_under(0.02)


@after("--watch-cache-bytes", str(CACHE_BYTES))
def watches_that_dribble(field):
    """Watches from resourceVersion=0 that read a little now and then, while all objects are rewritten."""
    slow_readers(field, LARGE + "?watch=1&resourceVersion=0&allowWatchBookmarks=1")


@after("--watch-cache-bytes", str(CACHE_BYTES))
def lists_that_dribble(field):
    """The same for lists."""
    slow_readers(field, LARGE + "?resourceVersion=0")


def slow_readers(field, path):
    objects, size, generations = 60, 100_000, field.of(5, 40)
    client = Client(field.server)

    def write(generation):
        for i in range(objects):
            body = {"metadata": {"name": f"large-{i}"}, "data": {"k": f"{generation}" + "x" * size}}
            method, where, wanted = ("PUT", f"{LARGE}/large-{i}", 200) if generation else ("POST", LARGE, 201)
            status, text = client.request(method, where, body)
            assert status == wanted, (status, text[:300])

    write(0)
    base = field.rss_mb()
    readers = []
    for generation in range(1, generations):
        reader = tls_socket(field.server, receive_bytes=16_384)
        reader.sendall(head("GET", path, MALLORY))
        # With the head of its answer it has its snapshot.
        assert reader.recv(1000).startswith(b"HTTP/1.1 200 ")
        readers.append(reader)
        for one in readers:
            one.settimeout(0.01)
            try:
                one.recv(1000)
            except OSError:
                pass
        write(generation)
        # A reader has a second from when the budget asks for it.
        field.wait_until(lambda: field.metric("coracle_watch_cache_pinned_bytes") <= CACHE_BYTES, "readers that end")
    # The generations do not fit beside each other. The server looks every few seconds where nothing is written.
    field.wait_until(lambda: field.metric("coracle_watch_cache_ended_readers_total") > 0, "a reader that had to end")
    field.work()
    # The budget, the events that a window keeps whatever they hold (some 200 of 100 KB), sockets and the allocator.
    field.expect_memory_under(base, 8 + 23 + 24)
    close_all(readers)


@after()
def watches_of_events(field):
    """Watches of a resource without a cache, each of which is a feed of the store: five connections full."""
    base = field.rss_mb()
    made = []
    for _ in range(field.of(2, 6)):
        connection = h2.Connection(field.server, ELSEWHERE)
        made.append(connection)
        token = h2.remembered("authorization", "Bearer " + MALLORY)
        for i in range(1000):
            connection.open("GET", EVENTS + "?watch=1", h2.again() if i else token)
            if i % 100 == 0:
                connection.read()
    watch = field.server.watch(EVENTS + "?watch=1", token="t-bea")
    field.server.create(EVENTS, {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}})
    assert next(watch)["object"]["metadata"]["name"] == "e"
    watch.close()
    field.work()
    field.expect_memory_under(base, field.of(64, 128))
    close_all(made)


@after("--watch-cache-bytes", str(CACHE_BYTES))
def watches_from_long_ago(field):
    """Watches from falling revisions that are long out of the window, so that none can share the reading of another, and read slowly."""
    client, revisions, readers = Client(field.server), [], []
    for i in range(400):
        body = {"metadata": {"name": f"large-{i % 10}"}, "data": {"k": f"{i}" + "x" * 60_000}}
        status, text = client.request("POST", LARGE, body) if i < 10 else client.request("PUT", f"{LARGE}/large-{i % 10}", body)
        assert status in (200, 201), (status, text[:300])
        revisions.append(json.loads(text)["metadata"]["resourceVersion"])
    base = field.rss_mb()

    def begin(revision):
        reader, text = tls_socket(field.server, receive_bytes=16_384), b""
        reader.sendall(head("GET", f"{LARGE}?watch=1&resourceVersion={revision}", MALLORY))
        reader.settimeout(1)
        # With its first event it has its reading, or shares one that is slow.
        try:
            while b'{"type":' not in text and b'"code":429' not in text:
                text += reader.recv(1000)
        except TimeoutError:
            pass
        return reader, b'"code":429' in text

    def read_slowly():
        """Fast enough to keep the readings, whose watches are put aside after 5 s: about 400 KB/s each."""
        time.sleep(0.15)
        for reader in list(readers):
            reader.settimeout(0.01)
            try:
                for _ in range(4):
                    reader.recv(16_384)
            except OSError:
                pass

    def take_all():
        """Readings end. Refused six times, the user has all that it gets on each of the loops."""
        refused = 0
        while refused < 6:
            reader, is_refused = begin(revisions[250 - len(readers)])
            refused += is_refused
            reader.close() if is_refused else readers.append(reader)

    with Repeated(read_slowly):
        for i in range(field.of(6, 20)):
            take_all()
            watch = field.server.watch(f"{LARGE}?watch=1&resourceVersion={revisions[20 - i]}", token="t-bea")
            assert next(watch)["object"]["metadata"]["resourceVersion"] == revisions[21 - i]
            watch.close()
        field.work()
    # What the readings may hold, beside the window and the sockets.
    field.expect_memory_under(base, 64 * 5 + 32)
    close_all(readers)


@after()
def answers_that_nobody_reads(field):
    """Lists of megabytes, asked for on many streams whose windows stay closed and on sockets that are not read."""
    client = Client(field.server)
    for i in range(20):
        client.request("POST", MAPS, {"metadata": {"name": f"big-{i}"}, "data": {"k": "x" * 100_000}})
    base = field.rss_mb()
    made = []
    for _ in range(field.of(4, 10)):
        connection = h2.Connection(field.server, ELSEWHERE, window=0)
        made.append(connection)
        for _ in range(20):
            connection.open("GET", MAPS + "?limit=20", bearer(MALLORY))
        connection.read()
    for _ in range(field.of(20, 60)):
        made.append(tls_socket(field.server, receive_bytes=4096))
        made[-1].sendall(head("GET", MAPS + "?limit=20", MALLORY))
    field.work()
    field.expect_memory_under(base, field.of(64, 96))
    close_all(made)


@after()
def documents_that_nobody_reads(field):
    """Answers that are made whole (discovery, OpenAPI, metrics), on streams whose windows stay closed."""
    documents = ("/apis", "/openapi/v3/apis/apps/v1", "/metrics", "/openapi/v2")
    base = field.rss_mb()
    made = []
    for _ in range(field.of(3, 10)):
        connection = h2.Connection(field.server, ELSEWHERE, window=0)
        made.append(connection)
        token = h2.remembered("authorization", "Bearer " + MALLORY)
        wanted = h2.literal("accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
        for i in range(900):
            connection.open("GET", documents[i % 4], (h2.again() if i else token) + wanted)
            if i % 100 == 0:
                connection.read()
    field.work()
    field.expect_memory_under(base, 64)
    close_all(made)
