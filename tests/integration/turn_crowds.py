"""The requests of turns.py about many large objects, many watches and large definitions.

The judge of turn_cases.py measures what each of them takes of a loop's turn. A watch is read as bytes, whatever its form: it has
come when a word has that only the awaited event holds."""

import json

from turn_cases import (APPLY, DEFINITIONS, MERGE, PARTIAL, PROTOBUF, TABLE, Stored, config_map, define, representations,
                        with_query, word_of)
from web_socket import Socket

LAST = "zz-the-last"
WATCH_LIST = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
INITIAL_END = "initial-events-end"
WATCHES = 100
PIECE = 1 << 20


class Stream:
    """The bytes of a watch."""

    def __init__(self, server, path, accept, is_socket=False):
        self.tail = b""
        if is_socket:
            self.socket = Socket(server, path, accept)
            assert "101" in self.socket.status, self.socket.status
            self.read, self.close = self.socket.file.read1, self.socket.close
        else:
            self.watch = server.watch(path, accept=accept)
            self.read, self.close = self.watch.response.read1, self.watch.close

    def until(self, word):
        word = word.encode()
        while word not in self.tail:
            piece = self.read(PIECE)
            assert piece, f"the watch ended before {word}: {self.tail[-300:]}"
            self.tail = self.tail[-len(word):] + piece
        self.tail = b""


def forms_of_watches(stored, is_long):
    """Name, Accept and query; whether it comes over a WebSocket."""
    for form, headers, query in representations(stored, True, is_long):
        accept = headers["Accept"].replace("PartialObjectMetadataList", "PartialObjectMetadata")
        if query.startswith("pretty") or "yaml" in accept or len(headers) > 1:
            continue
        yield form, accept, query, False
        if "protobuf" not in accept:
            yield form + " over a WebSocket", accept, query, True


def paths_of(stored):
    yield stored.name, stored.path
    if stored.other:
        yield stored.name + " in another version", stored.other


def fill(judge, stored, n):
    """n objects, and the revision before them."""
    rv = judge.server.get(stored.path + "?limit=1", connection=judge.connection).expect(200).json()["metadata"]["resourceVersion"]
    for i in range(n):
        name = LAST if i == n - 1 else f"crowd-{i:02}"
        judge.send(f"POST of {stored.name}, one of {n}", "POST", stored.path,
                   {**stored.body, "metadata": {**stored.body["metadata"], "name": name}}, 201)
    return rv


def lists(judge, stored, is_long, n):
    for name, path in paths_of(stored):
        for form, headers, query in representations(stored, True, is_long):
            judge.send(f"LIST of {n} of {name} as {form}", "GET", with_query(path, query), status=200, **headers)
            judge.send(f"LIST of {n} of {name} from the cache as {form}", "GET", with_query(path, query, "resourceVersion=0"),
                       status=200, **headers)
            pages(judge, f"{n} of {name}", path, form, headers, query)
        for query in "labelSelector=a!=b", "fieldSelector=metadata.name!=x", "labelSelector=a=b", "fieldSelector=metadata.name=" + LAST:
            judge.send(f"LIST of {n} of {name} with {query}", "GET", with_query(path, query), status=200)


def pages(judge, what, path, form, headers, query):
    """An exact read and pages, of which the second is read at the revision of the first."""
    plain = judge.server.get(path + "?limit=1", connection=judge.connection).expect(200).json()["metadata"]
    judge.send(f"exact LIST of {what} as {form}", "GET",
               with_query(path, query, f"resourceVersion={plain['resourceVersion']}&resourceVersionMatch=Exact"), status=200, **headers)
    judge.send(f"LIST of the first page of {what} as {form}", "GET", with_query(path, query, "limit=4"), status=200, **headers)
    judge.send(f"LIST of the rest of {what} as {form}", "GET", with_query(path, query, f"limit=500&continue={plain['continue']}"),
               status=200, **headers)


def follow(judge, stored, is_long, n, rv):
    """What happened since a revision, and the state as a streaming list."""
    for name, path in paths_of(stored):
        for form, accept, query, is_socket in forms_of_watches(stored, is_long):
            stream = Stream(judge.server, with_query(path, f"watch=1&resourceVersion={rv}", query), accept, is_socket)
            stream.until(LAST)
            stream.close()
            judge.note(f"watch of {n} creations of {name} as {form}")
            stream = Stream(judge.server, with_query(path, WATCH_LIST, query), accept, is_socket)
            stream.until(INITIAL_END)
            stream.close()
            judge.note(f"WatchList of {n} of {name} as {form}")


def crowd(judge, stored, is_long):
    """Many watches of one change, in all forms."""
    forms = [(path, *form) for _, path in paths_of(stored) for form in forms_of_watches(stored, is_long)]
    streams = []
    for i in range(WATCHES):
        path, _, accept, query, is_socket = forms[i % len(forms)]
        streams.append(Stream(judge.server, with_query(path, "watch=1", query, f"fieldSelector=metadata.name={LAST}"), accept, is_socket))
    for stream in streams:
        stream.until(LAST)
    judge.note(f"{WATCHES} watches of {stored.name}, the state")
    for method, body, word in ("PATCH", {"metadata": {"labels": {"mark": "a-label"}}}, "a-label"), ("DELETE", None, "DELETED"):
        what = f"{method} of {stored.name} with {WATCHES} watches"
        judge.send(what, method, f"{stored.path}/{LAST}", body, 200, Content_Type=MERGE if body else "application/json")
        for stream in streams:
            stream.until(word)
        judge.note(what + ", its delivery")
    for stream in streams:
        stream.close()


def select(judge, n):
    """n watches look for a label among 5,000, and select nothing."""
    item = {"metadata": {"name": "labelled", "labels": {**{f"l{i:05}": "v" for i in range(5000)}, "zz": "no"}}}
    maps = "/api/v1/namespaces/default/configmaps"
    streams = [Stream(judge.server, maps + "?watch=1&labelSelector=zz=yes", "application/json") for _ in range(n)]
    judge.send(f"POST of 5,000 labels with {n} selectors", "POST", maps, item, 201)
    selected = Stream(judge.server, maps + "?watch=1&labelSelector=zz=no", "application/json")
    for i in range(3):
        judge.send(f"PATCH of 5,000 labels with {n} selectors", "PATCH", maps + "/labelled", {"data": {"a": f"value-{i}"}}, 200,
                   Content_Type=MERGE)
    selected.until("value-2")
    judge.note(f"PATCH of 5,000 labels with {n} selectors, its delivery")
    for stream in (*streams, selected):
        stream.close()


def remove(judge, stored, is_long, n):
    for form, headers, query in representations(stored, True, is_long):
        judge.send(f"deletion of {n} of {stored.name} as {form}, in a dry run", "DELETE", with_query(stored.path, query, "dryRun=All"),
                   status=200, **headers)
    stream = Stream(judge.server, stored.path + "?watch=1&resourceVersion=0", TABLE)
    judge.send(f"deletion of {n} of {stored.name} as YAML", "DELETE", stored.path, status=200, Accept="application/yaml")
    stream.until("DELETED")
    stream.close()
    judge.note(f"deletion of {n} of {stored.name}, its delivery as a table")


def restart(judge, what):
    """The server reads what it has."""
    judge.server.restart()
    judge.begin_again()
    judge.note(f"the start with {what}")


def crowds(judge):
    maps = "/api/v1/namespaces/default/configmaps"
    yield Stored("ConfigMaps of 20,000 values", maps, config_map("a", {f"k{i:06}": "v" * 5 for i in range(20000)}))
    path = define(judge, "crowds", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, [
        {"name": f"C{i}", "type": "string", "jsonPath": f".spec.f{i:05}.a"} for i in range(20)])
    yield Stored("custom resources of 9,000 members", path, {
        "apiVersion": "limits.io/v1", "kind": "Crowds", "metadata": {"name": "a"},
        "spec": {f"f{i:05}": {"a": i, "b": [1.5, None, True], "c": "<&>" * 5} for i in range(9000)}},
        built_in=False, other=path.replace("/v1/", "/v2/"))


def large_definitions(is_long):
    """Name, schema of the spec, number of versions."""
    yield "of 9,000 properties", {"type": "object", "properties": {
        f"p{i:05}": {"type": "string", "description": "d" * 60, "maxLength": 64} for i in range(9000)}}, 1
    if is_long:
        yield "of 40 versions", {"type": "object", "properties": {
            f"p{i:05}": {"type": "string", "description": "d" * 60, "maxLength": 64} for i in range(250)}}, 40
        yield "of one description", {"type": "object", "description": "d\"" * 500_000}, 1


def definition(plural, spec, n):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.limits.io"},
            "spec": {"group": "limits.io", "scope": "Namespaced", "names": {"plural": plural, "kind": plural.capitalize()},
                     "versions": [{"name": f"v{i + 1}", "served": True, "storage": i == 0,
                                   "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}} for i in range(n)]}}


def wait_for(judge, path, is_there):
    for _ in range(6000):
        if (judge.server.get(path, connection=judge.connection).status == 200) == is_there:
            return
    raise AssertionError(f"{path} has not changed")


def documents(judge, name):
    """Of all definitions and their group, as a client asks for them after a change."""
    for path in "/apis/limits.io/v1", "/apis/limits.io", "/apis", "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/limits.io/v1":
        judge.send(f"{path} with {name}", "GET", path, status=200)
        judge.send(f"{path} with {name}, compressed", "GET", path, status=200, Accept_Encoding="gzip")
    judge.send(f"/openapi/v2 with {name} in protobuf", "GET", "/openapi/v2", status=200,
               Accept="application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    judge.send(f"/openapi/v3 with {name} in protobuf", "GET", "/openapi/v3/apis/limits.io/v1", status=200,
               Accept="application/com.github.proto-openapi.spec.v3@v1.0+protobuf")


def define_large(judge, is_long):
    for i, (kind, spec, n) in enumerate(large_definitions(is_long)):
        plural, name = f"larges{i}", f"a definition {kind}"
        body = definition(plural, spec, n)
        item = f"{DEFINITIONS}/{plural}.limits.io"
        stored = Stored(name, DEFINITIONS, body)
        streams = [Stream(judge.server, with_query(DEFINITIONS, "watch=1", query), accept, is_socket)
                   for _, accept, query, is_socket in forms_of_watches(stored, is_long)]
        print(f"# {name}: {len(json.dumps(body)) / 1024:.0f} KB", flush=True)
        judge.send(f"POST of {name}", "POST", DEFINITIONS, body, 201)
        for stream in streams:
            stream.until(f"{plural}.limits.io")
            stream.close()
        objects = f"/apis/limits.io/v1/namespaces/default/{plural}"
        wait_for(judge, objects, True)
        judge.note(f"POST of {name}, until it is served")
        documents(judge, name)
        judge.send(f"POST of an object of {name}", "POST", objects, {
            "apiVersion": "limits.io/v1", "kind": plural.capitalize(), "metadata": {"name": "a"}, "spec": {"p00001": "x"}}, 201)
        for form, headers, query in representations(stored, False, is_long):
            judge.send(f"GET of {name} as {form}", "GET", with_query(item, query), status=200, **headers)
        for form, headers, query in representations(stored, True, is_long):
            judge.send(f"LIST of {name} as {form}", "GET", with_query(DEFINITIONS, query), status=200, **headers)
        for form, headers, query in representations(stored, False, is_long):
            judge.send(f"patch of {name}, answered as {form}", "PATCH", with_query(item, query), {"metadata": {"labels": {"form": word_of(form)}}},
                       200, Content_Type=MERGE, **headers)
        head = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": {"name": body["metadata"]["name"]}}
        judge.send(f"apply of a label of {name}", "PATCH", item + "?fieldManager=x", {**head, "metadata": {
            **head["metadata"], "labels": {"applied": "yes"}}}, 200, Content_Type=APPLY)
        judge.send(f"apply of all of {name}", "PATCH", item + "?fieldManager=y&force=true", body, 200, Content_Type=APPLY)
        judge.send(f"patch of the schema of {name}", "PATCH", item, [
            {"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/more", "value": {"type": "string"}}], 200,
            Content_Type="application/json-patch+json")
        judge.send(f"PATCH of an object of {name}", "PATCH", objects + "/a", {"metadata": {"labels": {"a": "b"}}}, 200, Content_Type=MERGE)
        documents(judge, name + ", changed")
        restart(judge, name)
        wait_for(judge, objects, True)
        judge.note(f"the start with {name}, until it is served")
        judge.send(f"DELETE of {name}", "DELETE", item, status=200)
        wait_for(judge, item, False)
        judge.note(f"DELETE of {name}, until it is gone")


def play(judge, is_long):
    n = 20 if is_long else 8
    for stored in crowds(judge):
        rv = fill(judge, stored, n)
        lists(judge, stored, is_long, n)
        follow(judge, stored, is_long, n, rv)
        crowd(judge, stored, is_long)
        restart(judge, f"{n} of {stored.name}")
        remove(judge, stored, is_long, n)
    select(judge, 8 * WATCHES if is_long else WATCHES)
    define_large(judge, is_long)
