"""The requests of turns.py that are generated: every verb, every representation, built-in and custom, on objects at their limits.

What the longest turn of each took stands in the histograms of turns: a request whose turn is not the longest since the start is
known to the bound of its bucket."""

import json
import re

MERGE, STRATEGIC, JSON_PATCH, APPLY = ("application/merge-patch+json", "application/strategic-merge-patch+json",
                                       "application/json-patch+json", "application/apply-patch+yaml")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COLUMNS = 500
LEVELS = 60
SERIES = re.compile(r'coracle_loop_turn_(max_)?seconds(_bucket)?\{loop="(\w+)"(?:,le="([^"]+)")?\} (\S+)')
WALL = re.compile(r'coracle_loop_turn_wall_max_seconds\{loop="(\w+)"\} (\S+)')


class Judge:
    """Sends requests, and knows the longest turn of each: a list of (seconds, thread, what). `walls` has the longest on the clock
    of each thread, with the request after which it was seen."""

    def __init__(self, server):
        self.server, self.connection, self.turns, self.exact, self.walls = server, server.connect(), [], set(), {}
        self.before = self.figures()

    def begin_again(self):
        """The server is another process: its figures begin again."""
        self.connection, self.before = self.server.connect(), ({}, {}, {})

    def figures(self):
        text = self.server.get("/metrics", connection=self.connection).expect(200).body.decode()
        longest, counts = {}, {}
        for is_max, is_bucket, thread, bound, value in SERIES.findall(text):
            if is_max:
                longest[thread] = float(value)
            elif is_bucket:
                counts.setdefault(thread, {})[float(bound.replace("+Inf", "inf"))] = float(value)
        return longest, counts, {thread: float(value) for thread, value in WALL.findall(text)}

    def send(self, what, method, path, body=None, status=None, **headers):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        answer = self.server.request(method, path, body, connection=self.connection, **headers)
        if status:
            answer.expect(status)
        elif answer.status >= 500:
            raise AssertionError(f"{what}: {answer.status} {answer.body[:300]!r}")
        self.note(what)
        return answer

    def note(self, what):
        after = self.figures()
        for thread, longest in after[0].items():
            took = longest
            if longest > self.before[0].get(thread, 0):
                self.exact.add((what, thread))
            else:
                took = min(longest, self.highest_bucket(self.before[1].get(thread, {}), after[1][thread]))
            self.turns.append((took, thread, what))
        for thread, took in after[2].items():
            if took > self.walls.get(thread, (0, ""))[0]:
                self.walls[thread] = (took, what)
        self.before = after

    @staticmethod
    def highest_bucket(before, after):
        """The bound of the last bucket in which a turn was counted; the counts are those of all buckets up to each."""
        total = after[float("inf")] - before.get(float("inf"), 0)
        for bound in sorted(after):
            if after[bound] - before.get(bound, 0) >= total:
                return bound
        return 0.0

    def longest(self, n):
        best = {}
        for took, thread, what in self.turns:
            best[what, thread] = max(took, best.get((what, thread), 0))
        return sorted(((took, thread, what) for (what, thread), took in best.items()), reverse=True,
                      key=lambda turn: (turn[0], (turn[2], turn[1]) in self.exact, turn[2]))[:n]


class Stored:
    """A kind of object at one of its limits."""

    def __init__(self, name, path, body, built_in=True, other=None, change=None, managers=None):
        self.name, self.path, self.body, self.managers = name, path, body, managers
        self.built_in, self.other = built_in, other
        self.change = change or {"metadata": {"labels": {"changed": "yes"}}}

    def item(self):
        return f"{self.path}/{self.body['metadata']['name']}"


def config_map(name, data, **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data}


def managers(n, keys, version="v1", inside="f:data"):
    """Entries of managedFields: n managers that own the same fields. An update brings them; who creates an object owns all of it."""
    return [{"manager": f"m{i}", "operation": "Apply", "apiVersion": version, "fieldsType": "FieldsV1",
             "fieldsV1": {inside: {f"f:{key}": {} for key in keys}}} for i in range(n)]


def deep_schema(levels):
    schema = {"type": "object", "properties": {"leaf": {"type": "string", "default": "x" * 100}}}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"next": schema, "name": {"type": "string", "maxLength": 200},
                                                   "size": {"anyOf": [{"type": "integer"}, {"type": "string"}],
                                                            "x-kubernetes-int-or-string": True}}}
    return schema


def deep_value(levels):
    value = {"leaf": "y"}
    for i in range(levels):
        value = {"next": value, "name": "n" * 50, "size": i}
    return value


ITEMS = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
    "type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9-]+$"}, "value": {"type": "string"},
        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
        "mode": {"type": "string", "enum": ["a", "b", "c"], "default": "a"}}}}


def define(judge, plural, spec, columns=None):
    """A kind in two versions, with a status."""
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": spec}}}
    versions = [{"name": name, "served": True, "storage": name == "v1", "schema": schema, "subresources": {"status": {}}}
                for name in ("v1", "v2")]
    for version in versions:
        if columns:
            version["additionalPrinterColumns"] = columns
    judge.send(f"definition of {plural}", "POST", DEFINITIONS, {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.limits.io"},
        "spec": {"group": "limits.io", "scope": "Namespaced", "names": {"plural": plural, "kind": plural.capitalize()},
                 "versions": versions}}, 201)
    path = f"/apis/limits.io/v1/namespaces/default/{plural}"
    for _ in range(6000):
        if judge.server.get(path).status == 200:
            break
    judge.note(f"definition of {plural}, until it is served")
    return path


def custom(judge, plural, spec, value, columns=None):
    path = define(judge, plural, spec, columns)
    body = {"apiVersion": "limits.io/v1", "kind": plural.capitalize(), "metadata": {"name": "a"}, "spec": value}
    return Stored(plural, path, body, built_in=False, other=path.replace("/v1/", "/v2/"))


def objects(judge):
    maps, pods = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/pods"
    yield Stored("a ConfigMap of 20,000 values", maps, config_map("many", {f"k{i:06}": "v" * 5 for i in range(20000)}))
    yield Stored("a ConfigMap of one value", maps, config_map("one", {"k": "x\n" * 500_000}))
    yield Stored("a ConfigMap with annotations", maps, config_map(
        "notes", {"a": "b"}, annotations={f"n{i:05}": "v" * 20 for i in range(8000)}))
    yield Stored("a ConfigMap with 18 managers of 5,000 fields", maps, config_map("owned-by-18", {"p00001": "b"}),
                 managers=managers(18, [f"p{i:05}" for i in range(5000)]))
    yield Stored("a ConfigMap with 300 managers", maps, config_map("owned-by-300", {"z": "b", **{f"{i:04x}": "" for i in range(1500)}}),
                 managers=managers(300, ["z"]))
    yield Stored("a Pod of 3,000 containers", pods, {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "limits"}, "spec": {"containers": [
            {"name": f"c{i}", "image": "i", "env": [{"name": "A", "value": "b"}]} for i in range(3000)]}})
    events = "/api/v1/namespaces/default/events"
    yield Stored("an Event with annotations and 5,000 managed fields", events, {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "annotations": {f"n{i:05}": "v" * 20 for i in range(5000)}},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "R", "message": "m" * 1000, "type": "Normal"},
        other="/apis/events.k8s.io/v1/namespaces/default/events", change={"metadata": {"labels": {"changed": "yes"}}, "count": 2})
    hpas = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    yield Stored("an autoscaler of 2,000 metrics", hpas, {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": {
            "maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "metrics": [{"type": "Pods", "pods": {"metric": {"name": f"m{i}"}, "target": {
                "type": "AverageValue", "averageValue": f"{i + 1}m"}}} for i in range(2000)]}},
        other=hpas.replace("/v2/", "/v1/"))
    yield custom(judge, "lists", {"type": "object", "properties": {"items": ITEMS}},
                 {"items": [{"name": f"n-{i}"} for i in range(10000)]})
    yield custom(judge, "shortlists", {"type": "object", "properties": {"items": ITEMS}},
                 {"items": [{"name": f"n{i}", "port": i + 1} for i in range(1500)]})
    yield custom(judge, "deeps", {"type": "object", "properties": {"trees": {"type": "array", "items": deep_schema(LEVELS)}}},
                 {"trees": [deep_value(LEVELS) for _ in range(160)]})
    yield custom(judge, "frees", {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                 {f"f{i:05}": {"a": i, "b": [1.5, None, True], "c": "<&>" * 5} for i in range(9000)})
    yield custom(judge, "wides", {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                 {f"f{i:04}": {"x": i} for i in range(5000)},
                 [{"name": f"C{i}", "type": "string", "jsonPath": f".spec.f{i:04}.x"} for i in range(COLUMNS)])
    yield custom(judge, "searches", {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                 {"list": [{"type": f"t{i}", "status": "True"} for i in range(1000)]},
                 [{"name": f"C{i}", "type": "string", "jsonPath": f'.spec.list[?(@.type=="t{i}")].status'} for i in range(50)])
    yield custom(judge, "numbers", {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                 {"list": [(i + 1) / 7 * (1e-300 if i % 2 else 1) for i in range(50000)]})
    tree = {"type": "object", "properties": {"a": {"type": "string", "default": "d" * 2000}}}
    yield custom(judge, "fills", {"type": "object", "properties": {"list": {"type": "array", "items": tree}}},
                 {"list": [{} for _ in range(600)]})


def representations(stored, is_list, is_long):
    """Name, headers and query of each form that an answer can have."""
    partial = PARTIAL.format("List" if is_list else "")
    yield "JSON", {"Accept": "application/json"}, ""
    yield "a table", {"Accept": TABLE}, ""
    yield "YAML", {"Accept": "application/yaml"}, ""
    yield "a table with objects", {"Accept": TABLE}, "includeObject=Object"
    if stored.built_in:
        yield "protobuf", {"Accept": PROTOBUF}, ""
    if not is_long:
        return
    yield "indented JSON", {"Accept": "application/json"}, "pretty=true"
    yield "gzip", {"Accept": "application/json", "Accept_Encoding": "gzip"}, ""
    yield "a table in YAML", {"Accept": TABLE.replace("json", "yaml", 1)}, ""
    yield "a table, indented", {"Accept": TABLE}, "pretty=true"
    yield "metadata", {"Accept": partial}, ""
    yield "metadata in YAML", {"Accept": partial.replace("json", "yaml", 1)}, ""
    yield "metadata in protobuf", {"Accept": partial.replace("application/json", PROTOBUF)}, ""


def word_of(form):
    """The name of a form as the value of a label."""
    return re.sub("[^a-zA-Z]", "-", form)


def with_query(path, *queries):
    query = "&".join(q for q in queries if q)
    return f"{path}?{query}" if query else path


def read(judge, stored, is_long):
    for path in (stored.path, stored.other) if stored.other else (stored.path,):
        name = stored.name + (" in another version" if path != stored.path else "")
        item = stored.item().replace(stored.path, path)
        for form, headers, query in representations(stored, False, is_long):
            judge.send(f"GET of {name} as {form}", "GET", with_query(item, query), **headers)
        for form, headers, query in representations(stored, True, is_long):
            judge.send(f"LIST of {name} as {form}", "GET", with_query(path, query), **headers)
        for query in ("labelSelector=a!=b", "fieldSelector=metadata.name!=x", "limit=1")[:3 if is_long else 1]:
            judge.send(f"LIST of {name} with {query}", "GET", with_query(path, query))


def write(judge, stored, is_long):
    item, change = stored.item(), stored.change
    current = judge.server.get(item, connection=judge.connection).expect(200).json()
    text = json.dumps(current)
    managed = len(json.dumps(current["metadata"].get("managedFields", [])))
    print(f"# {stored.name}: {len(text) / 1024:.0f} KB, {managed / 1024:.0f} KB of them managedFields", flush=True)
    for form in (MERGE, STRATEGIC) if stored.built_in else (MERGE,):
        judge.send(f"{form} of {stored.name}", "PATCH", item, change, 200, Content_Type=form)
        change = {"metadata": {"labels": {"changed": "again"}}}
    judge.send(f"JSON patch of {stored.name}", "PATCH", item,
               [{"op": "add", "path": "/metadata/labels/b", "value": "c"}], 200, Content_Type=JSON_PATCH)
    head = {name: stored.body[name] for name in ("apiVersion", "kind")}
    judge.send(f"apply of a label of {stored.name}", "PATCH", item + "?fieldManager=small&force=true",
               {**head, "metadata": {"name": stored.body["metadata"]["name"], "labels": {"applied": "yes"}}}, 200, Content_Type=APPLY)
    judge.send(f"PUT of {stored.name}, unchanged", "PUT", item, stored.body)
    judge.send(f"apply of all of {stored.name}", "PATCH", item + "?fieldManager=large&force=true", stored.body, Content_Type=APPLY)
    judge.send(f"apply of nothing more of {stored.name}", "PATCH", item + "?fieldManager=large&force=true",
               {**head, "metadata": {"name": stored.body["metadata"]["name"]}}, Content_Type=APPLY)
    if not is_long:
        return
    if not stored.built_in:
        judge.send(f"PUT of the status of {stored.name}", "PUT", item + "/status",
                   {**stored.body, "status": stored.body["spec"]})
    if stored.other:
        other = item.replace(stored.path, stored.other)
        judge.send(f"patch of {stored.name} in another version", "PATCH", other, {"metadata": {"labels": {"o": "p"}}},
                   Content_Type=MERGE)
    judge.send(f"PUT of {stored.name}, in a dry run", "PUT", item + "?dryRun=All", {**stored.body, "metadata": {
        **stored.body["metadata"], "labels": {"dry": "run"}}})
    copy = {**stored.body, "metadata": {**stored.body["metadata"], "name": "copy"}}
    judge.send(f"POST of {stored.name}, in a dry run", "POST", stored.path + "?dryRun=All", copy)
    judge.send(f"POST of {stored.name} as YAML, in a dry run", "POST", stored.path + "?dryRun=All", copy, Content_Type="application/yaml")
    judge.send(f"PUT of {stored.name} as YAML", "PUT", item, stored.body, Content_Type="application/yaml")
    if stored.built_in:
        body = judge.server.get(item, connection=judge.connection, Accept=PROTOBUF).expect(200).body
        judge.send(f"PUT of {stored.name} in protobuf", "PUT", item, body, 200, Content_Type=PROTOBUF)
    for form, headers, query in representations(stored, False, is_long):
        judge.send(f"patch of {stored.name}, answered as {form}", "PATCH", with_query(item, query),
                   {"metadata": {"labels": {"form": word_of(form)}}}, 200, Content_Type=MERGE, **headers)
        judge.send(f"apply of {stored.name}, answered as {form}", "PATCH", with_query(item, "fieldManager=large&force=true", query), {
            **stored.body, "metadata": {**stored.body["metadata"], "labels": {"form": word_of(form)}}}, Content_Type=APPLY, **headers)


def write_copies(judge, stored, is_long):
    """Each form as the answer of everything else that writes; the short form has one that is made of the whole object."""
    forms = list(representations(stored, False, is_long))
    for form, headers, query in forms if is_long else [form for form in forms if form[0] == "YAML"]:
        copy = {**stored.body, "metadata": {**stored.body["metadata"], "name": "copy"}}
        item = f"{stored.path}/copy"
        judge.send(f"POST of {stored.name}, answered as {form}", "POST", with_query(stored.path, query), copy, 201, **headers)
        rv = judge.server.get(item, connection=judge.connection).expect(200).json()["metadata"]["resourceVersion"]
        judge.send(f"PUT of {stored.name}, answered as {form}", "PUT", with_query(item, query), {**copy, "metadata": {
            **copy["metadata"], "resourceVersion": rv, "labels": {"form": word_of(form)}}}, 200, **headers)
        judge.send(f"DELETE of {stored.name}, answered as {form}", "DELETE", with_query(item, query), **headers)


def watch(judge, stored, is_long):
    """The state, and a change, in each form."""
    for form, headers, query in representations(stored, True, is_long):
        accept = headers["Accept"].replace("PartialObjectMetadataList", "PartialObjectMetadata")
        if query.startswith("pretty") or "yaml" in accept or len(headers) > 1:
            continue
        stream = judge.server.watch(with_query(stored.path, "watch=1&resourceVersion=0", query), accept=accept)
        is_text = "protobuf" not in accept
        if is_text:
            next(stream)
        judge.note(f"watch of {stored.name} as {form}, the state")
        judge.send(f"watch of {stored.name} as {form}, a change", "PATCH", stored.item(),
                   {"metadata": {"labels": {"watched": word_of(form)}}}, 200, Content_Type=MERGE)
        if is_text:
            next(stream)
            judge.note(f"watch of {stored.name} as {form}, a change")
        stream.close()


def remove(judge, stored, is_long):
    judge.send(f"DELETE of {stored.name}, in a dry run", "DELETE", stored.item() + "?dryRun=All", Accept=TABLE)
    if is_long:
        judge.send(f"deletion of a collection with {stored.name}, in a dry run", "DELETE", stored.path + "?dryRun=All")
    judge.send(f"DELETE of {stored.name}", "DELETE", stored.item())


def play(judge, is_long):
    for stored in objects(judge):
        judge.send(f"POST of {stored.name}", "POST", stored.path, stored.body, 201)
        if stored.managers:
            judge.send(f"PUT of the managers of {stored.name}", "PUT", stored.item(), {**stored.body, "metadata": {
                **stored.body["metadata"], "managedFields": stored.managers}}, 200)
        for step in write, write_copies, read, watch, remove:
            step(judge, stored, is_long)
