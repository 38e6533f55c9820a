"""The requests of the differential test. Each is made from the tables of api/ and from one small valid object of its kind.

A case is a dict that says how its request is built: `verb`, `of` (the object that it sends: minimal, full, empty) or `body`,
`at` and `value` (one place that is set in it), `type` and `accept` (forms of the body and of the answer), `query`, `until` (the frame
after which a watch is left). A case that changes something says so by `keep`; all others are dry runs, so that no case depends on
another but on these."""

import copy
import json
import pathlib

import wire
from tables import members

MODES = ("Strict", "Warn", "Ignore")
PATCH_TYPES = {"merge": "application/merge-patch+json", "strategic": "application/strategic-merge-patch+json",
               "edits": "application/json-patch+json"}
BODY_TYPES = {"json": "application/json", "yaml": "application/yaml", "protobuf": wire.MEDIA_TYPE, **PATCH_TYPES}
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
ACCEPTED = {"json": "application/json", "yaml": "application/yaml", "protobuf": wire.MEDIA_TYPE, "partial": PARTIAL,
            "partial-protobuf": PARTIAL.replace("application/json", wire.MEDIA_TYPE),
            "partial-list": PARTIAL.replace("Metadata", "MetadataList"), "table": TABLE,
            "table-protobuf": TABLE.replace("application/json", wire.MEDIA_TYPE)}
# What a field of each shape does not take; the values take turns from field to field.
WRONG = {
    "STRING": [7, True, {}], "BOOL": ["x", 1], "INT32": ["x", 1.5, 3000000000, True], "INT64": ["x", 1.5, {}],
    "FLOAT64": ["x"], "BYTES": ["%", 7], "TIME": ["x", 7, {}], "MICRO_TIME": ["x", 7], "DURATION": ["x", 7], "QUANTITY": ["x", True, {}],
    "INT_OR_STRING": [True, {}, 1.5], "STRUCT": ["x", [], 7], "LIST": ["x", {}, 7], "MAP": ["x", [], 7],
    "SCHEMA_OR_BOOL": ["x"], "SCHEMA_OR_ARRAY": [7], "SCHEMA_OR_STRINGS": [7],
}
# What stands in a path for the resourceVersion of the case "created", which each server has its own of.
CREATED = "{created}"
SCALED = ("apps/v1 Deployment", "apps/v1 ReplicaSet", "apps/v1 StatefulSet", "v1 ReplicationController")
# Of each kind: what is merged into its minimal object, where null removes, so that a default has its turn or is kept out.
DEFAULTS = json.loads((pathlib.Path(__file__).resolve().parent / "defaults.json").read_text())
SERVER_FIELDS = ("managedFields", "uid", "creationTimestamp", "resourceVersion", "deletionTimestamp", "selfLink", "generation")


def place(body, path, value):
    """Sets a value, making what lies on the way: a number in the path is an index of a list."""
    for step, after in zip(path, path[1:]):
        fresh = [] if isinstance(after, int) else {}
        if isinstance(step, int):
            while len(body) <= step:
                body.append(fresh)
            body = body[step]
        else:
            body = body.setdefault(step, fresh)
    if isinstance(path[-1], int):
        body.append(value)
    else:
        body[path[-1]] = value


def yaml_text(value, indent=0):
    pad = "  " * indent
    if isinstance(value, dict) and value:
        return "".join(f"{pad}{json.dumps(k)}:{yaml_inner(v, indent)}" for k, v in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{pad}-{yaml_inner(v, indent)}" for v in value)
    return pad + json.dumps(value) + "\n"


def yaml_inner(value, indent):
    return "\n" + yaml_text(value, indent + 1) if isinstance(value, (dict, list)) and value else f" {json.dumps(value)}\n"


class WrongTypes:
    """One case for each field of each struct, in the first kind that reaches the field; and for each kind its own first fields."""

    def __init__(self):
        self.seen, self.turns = set(), {}

    def turn(self):
        self.turns[""] = self.turns.get("", 0) + 1
        return self.turns[""] % 2

    def wrong(self, shape):
        turn = self.turns[shape] = self.turns.get(shape, -1) + 1
        return WRONG[shape][turn % len(WRONG[shape])]

    def of(self, struct, path=()):
        inner = []
        for field in members(struct):
            where, kind = (*path, field.name), field.type
            is_new = (struct.go, field.name) not in self.seen
            self.seen.add((struct.go, field.name))
            wrong = (where, kind)
            while kind.element is not None and kind.shape in ("LIST", "MAP"):
                where, kind = (*where, 0 if kind.shape == "LIST" else "k"), kind.element
            # Of a list or a map, in turns the whole and its element.
            if where != wrong[0] and len(wrong[0]) > 1 and kind.shape in WRONG and self.turn():
                wrong = (where, kind)
            if wrong[1].shape in WRONG and (is_new or len(wrong[0]) == 1):
                yield list(wrong[0]), self.wrong(wrong[1].shape)
            if kind.shape == "STRUCT" and is_new:
                inner.append((kind, where))
        for kind, where in inner:
            yield from self.of(kind, where)


def merged(body, edits):
    """As a merge patch does it."""
    body = dict(body)
    for key, value in edits.items():
        if value is None:
            body.pop(key, None)
        else:
            body[key] = merged(body[key], value) if isinstance(value, dict) and isinstance(body.get(key), dict) else value
    return body


def creations(kind):
    yield {"case": "minimal", "of": "minimal"}
    for form in ("yaml", "protobuf"):
        yield {"case": f"minimal in {form}", "of": "minimal", "type": form, "accept": form}
    if "full" in kind:
        for form in ("json", "yaml", "protobuf"):
            yield {"case": f"full in {form}", "of": "full", "type": form, "accept": form}
    if "empty" in kind:
        yield {"case": "empty values", "of": "empty"}
        yield {"case": "empty values in protobuf", "of": "empty", "type": "protobuf"}
    if "nulls" in kind:
        yield {"case": "null values", "of": "nulls"}
    for number, edits in enumerate(DEFAULTS.get(kind["kind"], []), 1):
        yield {"case": f"defaults {number}", "body": merged(kind["minimal"], edits)}
    yield {"case": "no body", "body": ""}
    yield {"case": "another kind", "of": "minimal", "at": ["kind"], "value": "Other"}
    yield {"case": "another version", "of": "minimal", "at": ["apiVersion"], "value": "v7"}


def struct_places(kind, types):
    """The root, and the first structs below it that the minimal object has, through lists too."""
    found, value, struct, path = [()], kind["minimal"], types.of(kind["kind"]), ()
    while True:
        for field in members(struct):
            inner, here, below = value.get(field.name), [field.name], field.type
            if field.name == "metadata" or not inner:
                continue
            if below.shape == "LIST" and isinstance(inner, list):
                inner, here, below = inner[0], [field.name, 0], below.element
            if below.shape == "STRUCT" and isinstance(inner, dict):
                value, struct, path = inner, below, (*path, *here)
                found.append(path)
                break
        else:
            return found


def spelled(path):
    """A path as messages have it."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def unknown_fields(kind, types):
    places = struct_places(kind, types)
    body = copy.deepcopy(kind["minimal"])
    body["metadata"]["unheard"] = {"a": 1}
    for path in places:
        inner = body
        for step in path:
            inner = inner[step]
        inner["unknown"] = "x"
    # In the order in which both servers name them; records.py writes one word for all of them.
    names = sorted(["metadata.unheard", *(spelled((*path, "unknown")) for path in places)])
    doubled = json.dumps(kind["minimal"])[:-1] + ', "kind": %s, "metadata": {"labels": {"a": "b", "a": "c"}}}' % (
        json.dumps(kind["minimal"]["kind"]))
    for mode in MODES:
        yield {"case": f"unknown fields, {mode}", "body": body, "query": f"fieldValidation={mode}", "unknown": names}
        yield {"case": f"unknown fields in yaml, {mode}", "body": body, "type": "yaml", "query": f"fieldValidation={mode}",
               "unknown": names}
        yield {"case": f"repeated fields, {mode}", "body": doubled, "query": f"fieldValidation={mode}"}
    yield {"case": "unknown fields", "body": body, "unknown": names}
    yield {"case": "unknown fieldValidation", "of": "minimal", "query": "fieldValidation=Perhaps"}


def stored(kind):
    """What patches, updates and reads are tried on."""
    return kind.get("full", kind["minimal"])


def lists_with_keys(struct, value, path=()):
    """Lists of an object that strategic merge patch merges by a key."""
    for field in members(struct):
        inner, kind = value.get(field.name), field.type
        if not inner:
            continue
        if kind.shape == "LIST" and kind.element.shape == "STRUCT":
            if field.patch_key and "MERGE" in field.patch and field.patch_key in inner[0]:
                yield (*path, field.name), field.patch_key, inner[0]
            elif isinstance(inner[0], dict):
                continue
        elif kind.shape == "STRUCT" and isinstance(inner, dict):
            yield from lists_with_keys(kind, inner, (*path, field.name))


def nest(path, value):
    for step in reversed(path):
        value = {step: value}
    return value


def patches(kind, types):
    whole = stored(kind)
    for form, nothing in (("merge", {}), ("strategic", {}), ("edits", [])):
        yield {"case": f"{form} patch of nothing", "verb": "patch", "type": form, "body": nothing}
    for form in ("merge", "strategic"):
        yield {"case": f"{form} patch with the object itself", "verb": "patch", "type": form, "of": "stored"}
        yield {"case": f"{form} patch of a label", "verb": "patch", "type": form, "body": {"metadata": {"labels": {"l": "1"}}}}
        yield {"case": f"{form} patch of a wrong type", "verb": "patch", "type": form, "body": {"metadata": {"labels": {"l": 1}}}}
        yield {"case": f"{form} patch that is no object", "verb": "patch", "type": form, "body": [1]}
        yield {"case": f"{form} patch of the name", "verb": "patch", "type": form, "body": {"metadata": {"name": "other"}}}
        for mode in MODES:
            yield {"case": f"{form} patch of unknown fields, {mode}", "verb": "patch", "type": form, "query": f"fieldValidation={mode}",
                   "body": {"unknown": 1, "metadata": {"unheard": 2}}}
    edits = {"a label": [{"op": "add", "path": "/metadata/labels", "value": {"l": "1"}}],
             "a missing place": [{"op": "remove", "path": "/metadata/labels/none"}],
             "a failing test": [{"op": "test", "path": "/kind", "value": "x"}],
             "an unknown field": [{"op": "add", "path": "/unknown", "value": 1}],
             "a wrong type": [{"op": "add", "path": "/metadata/labels", "value": 7}],
             "no list": {"op": "add"}}
    for name, body in edits.items():
        yield {"case": f"edits patch of {name}", "verb": "patch", "type": "edits", "body": body}
    for path, key, element in list(lists_with_keys(types.of(kind["kind"]), whole))[:8]:
        if path[0] == "metadata" and kind["kind"] != "v1 ConfigMap":
            continue  # one kind shows it for all
        name = ".".join(path)
        yield {"case": f"strategic patch that deletes from {name}", "verb": "patch", "type": "strategic",
               "body": nest(path, [{key: element[key], "$patch": "delete"}])}
        yield {"case": f"strategic patch that merges into {name}", "verb": "patch", "type": "strategic", "body": nest(path, [{key: element[key]}])}
        yield {"case": f"strategic patch that replaces {name}", "verb": "patch", "type": "strategic",
               "body": nest(path, [element, {"$patch": "replace"}])}
        yield {"case": f"strategic patch without the key of {name}", "verb": "patch", "type": "strategic", "body": nest(path, [{"x": 1}])}


def reads_and_updates():
    for accept in ("json", "yaml", "protobuf", "partial", "partial-protobuf"):
        yield {"case": f"read as {accept}", "verb": "get", "accept": accept}
    yield {"case": "read of none as protobuf", "verb": "get", "accept": "protobuf", "name": "none"}
    yield {"case": "update with itself", "verb": "update", "of": "stored"}
    yield {"case": "update of a label", "verb": "update", "of": "stored", "at": ["metadata", "labels"], "value": {"l": "1"}}
    yield {"case": "update in protobuf", "verb": "update", "of": "stored", "type": "protobuf", "accept": "protobuf"}


def lists_and_deletions():
    for accept in ("json", "protobuf", "partial-list"):
        yield {"case": f"list as {accept}", "verb": "list", "accept": accept}
    # Options in a body are all that counts.
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background", "dryRun": ["All"]}
    yield {"case": "deletion", "verb": "delete", "body": options}
    yield {"case": "deletion with unknown options", "verb": "delete", "body": {**options, "unknown": 1}}
    yield {"case": "deletion with a wrong type", "verb": "delete", "body": {**options, "gracePeriodSeconds": "x"}}


def statuses(kind):
    """Writes to /status of an object with a full status."""
    if "status" not in kind or kind["volatile"]:
        return
    yield {"case": "update of the status", "verb": "update", "sub": "status", "of": "stored", "at": ["status"], "value": kind["status"]}
    for form in ("merge", "strategic"):
        yield {"case": f"{form} patch of the status", "verb": "patch", "sub": "status", "type": form, "body": {"status": kind["status"]}}
    yield {"case": "update of an empty status", "verb": "update", "sub": "status", "of": "stored", "at": ["status"], "value": {}}
    yield {"case": "update of the status in protobuf", "verb": "update", "sub": "status", "of": "stored", "at": ["status"],
           "value": kind["status"], "type": "protobuf", "accept": "protobuf"}


def tables():
    for accept in ("table", "table-protobuf"):
        yield {"case": f"read as {accept}", "verb": "get", "accept": accept}
        yield {"case": f"list as {accept}", "verb": "list", "accept": accept}
    yield {"case": "list as table without objects", "verb": "list", "accept": "table", "query": "includeObject=None"}
    yield {"case": "read as table with whole objects", "verb": "get", "accept": "table", "query": "includeObject=Object"}
    yield {"case": "read of none as table", "verb": "get", "accept": "table", "name": "none"}


def scales(kind):
    """The subresource scale, which is an object of its own."""
    if kind["kind"] not in SCALED:
        return
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": kind["name"]}, "spec": {"replicas": 3}}
    for accept in ("json", "yaml", "protobuf", "partial", "table"):
        yield {"case": f"read of the scale as {accept}", "verb": "get", "sub": "scale", "accept": accept}
    yield {"case": "update of the scale", "verb": "update", "sub": "scale", "body": scale}
    yield {"case": "update of the scale to zero", "verb": "update", "sub": "scale", "body": {**scale, "spec": {}}}
    yield {"case": "update of the scale to less", "verb": "update", "sub": "scale", "body": {**scale, "spec": {"replicas": -1}}}
    yield {"case": "update of the scale with unknown fields", "verb": "update", "sub": "scale",
           "body": {**scale, "unknown": 1, "spec": {"replicas": 2, "unheard": {}}}}
    yield {"case": "update of the scale with a wrong type", "verb": "update", "sub": "scale", "body": {**scale, "spec": {"replicas": "3"}}}
    yield {"case": "update of the scale of another kind", "verb": "update", "sub": "scale", "body": {**scale, "kind": "Other"}}
    yield {"case": "update of the scale of another name", "verb": "update", "sub": "scale", "body": {**scale, "metadata": {"name": "other"}}}
    for form in ("merge", "strategic"):
        yield {"case": f"{form} patch of the scale", "verb": "patch", "sub": "scale", "type": form, "body": {"spec": {"replicas": 4}}}
    yield {"case": "edits patch of the scale", "verb": "patch", "sub": "scale", "type": "edits",
           "body": [{"op": "replace", "path": "/spec/replicas", "value": 5}]}


def pod_actions(kind):
    """Objects that are sent to a pod, and are not stored."""
    if kind["kind"] != "v1 Pod":
        return
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": kind["name"]}, "target": {"kind": "Node", "name": "n"}}
    yield {"case": "binding", "verb": "post", "sub": "binding", "body": binding}
    yield {"case": "binding to no node", "verb": "post", "sub": "binding", "body": {**binding, "target": {"name": ""}}}
    yield {"case": "binding to another kind", "verb": "post", "sub": "binding", "body": {**binding, "target": {"kind": "Pod", "name": "n"}}}
    yield {"case": "binding with unknown fields", "verb": "post", "sub": "binding", "body": {**binding, "unknown": 1}}
    yield {"case": "binding with a wrong type", "verb": "post", "sub": "binding", "body": {**binding, "target": []}}
    yield {"case": "binding of none", "verb": "post", "sub": "binding", "name": "none", "body": {**binding, "metadata": {"name": "none"}}}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": kind["name"]}}
    yield {"case": "eviction", "verb": "post", "sub": "eviction", "body": eviction}
    yield {"case": "eviction with options", "verb": "post", "sub": "eviction",
           "body": {**eviction, "deleteOptions": {"gracePeriodSeconds": 0, "dryRun": ["All"]}}}
    yield {"case": "eviction with a wrong uid", "verb": "post", "sub": "eviction",
           "body": {**eviction, "deleteOptions": {"preconditions": {"uid": "x"}}}}
    yield {"case": "eviction with unknown fields", "verb": "post", "sub": "eviction", "body": {**eviction, "unknown": 1}}
    yield {"case": "eviction with a wrong type", "verb": "post", "sub": "eviction", "body": {**eviction, "deleteOptions": 7}}
    yield {"case": "eviction of another name", "verb": "post", "sub": "eviction", "body": {**eviction, "metadata": {"name": "other"}}}
    yield {"case": "eviction of none", "verb": "post", "sub": "eviction", "name": "none", "body": {**eviction, "metadata": {"name": "none"}}}


def watches(kind):
    """Initial events with their bookmark; then what a change and a deletion look like to a watch from before. A watch is read until
    `until`, a type of frames. Where controllers of kube-apiserver write to the object, nobody knows what comes."""
    initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    for accept in ("json", "protobuf"):
        yield {"case": f"initial events as {accept}", "verb": "watch", "accept": accept, "query": initial, "until": "BOOKMARK"}
    if kind["volatile"] or kind["kind"] == "v1 Namespace":
        return
    yield {"case": "changed", "verb": "patch", "type": "merge", "keep": True,
           "body": {"metadata": {"labels": {"watched": "1"}, "finalizers": None, "ownerReferences": None}}}
    yield {"case": "deleted", "verb": "delete", "keep": True,
           "body": {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}}
    for accept in ("json", "protobuf", "partial", "partial-protobuf", "table"):
        yield {"case": f"watch as {accept}", "verb": "watch", "accept": accept, "query": "resourceVersion=" + CREATED, "until": "DELETED"}


def all_cases(kind, types, wrong_types):
    yield from creations(kind)
    yield from unknown_fields(kind, types)
    for path, value in wrong_types.of(types.of(kind["kind"])):
        if path[0] not in ("kind", "apiVersion"):
            yield {"case": f"wrong {'.'.join(map(str, path))}", "of": "head", "at": path, "value": value}
    if kind.get("is_review"):
        return
    yield {"case": "created", "of": "stored", "keep": True}
    yield from reads_and_updates()
    yield from patches(kind, types)
    yield from lists_and_deletions()
    yield from statuses(kind)
    yield from tables()
    yield from scales(kind)
    yield from pod_actions(kind)
    yield from watches(kind)


def body_of(case, kind, types):
    """The bytes of a request, or None."""
    if case.get("verb") in ("get", "list", "watch"):
        return None
    body = case.get("body")
    if isinstance(body, str):
        return body.encode()
    if "of" in case:
        head = {name: kind["minimal"][name] for name in ("apiVersion", "kind", "metadata")}
        body = {"stored": stored(kind), "head": head}.get(case["of"]) or kind[case["of"]]
    body = copy.deepcopy(body)
    if "at" in case:
        place(body, case["at"], case["value"])
    form = case.get("type", "json")
    if form == "protobuf":
        return wire.encode(types.of(kind["kind"]), body)
    # Compact, because a raw value keeps its bytes, and a patch writes them so.
    return (yaml_text(body) if form == "yaml" else json.dumps(body, separators=(",", ":"))).encode()


def request_of(case, kind, types):
    """Method, path, body, headers."""
    verb, path = case.get("verb", "create"), kind["path"]
    method = {"create": "POST", "patch": "PATCH", "update": "PUT", "delete": "DELETE", "post": "POST"}.get(verb, "GET")
    if verb not in ("create", "list", "watch"):
        path += "/" + case.get("name", kind["name"]) + ("/" + case["sub"] if "sub" in case else "")
    query = [] if case.get("keep") or method in ("GET", "DELETE") else ["dryRun=All"]
    query += [case["query"]] if "query" in case else []
    query += [f"fieldSelector=metadata.name%3D{kind['name']}"] if verb in ("list", "watch") else []
    query += ["watch=1"] if verb == "watch" else []
    headers = {"Content-Type": BODY_TYPES[case.get("type", "json")], "Accept": ACCEPTED[case.get("accept", "json")]}
    return method, path + ("?" + "&".join(query) if query else ""), body_of(case, kind, types), headers
