"""Objects with as many fields set as kube-apiserver accepts: a member is added with one value after the other until a dry run
takes the object and keeps the member. What no value makes valid is left out; which fields those are depends on validation."""

import copy

from cases import SERVER_FIELDS
from tables import members

# Values for fields that take no plain word, by their names.
BY_NAME = {
    "image": ["i:1"], "path": ["/a", "a"], "mountPath": ["/m"], "devicePath": ["/d"], "workingDir": ["/w"], "port": [80, "http"],
    "containerPort": [81], "hostPort": [0], "namespace": ["d"], "ip": ["10.2.0.1", "127.0.0.1"], "kind": ["Pod", "Deployment", "User"],
    "apiVersion": ["v1", "apps/v1"], "url": ["https://u.example.com"], "driver": ["d.example.com"], "protocol": ["UDP", "TCP"],
    "operator": ["In", "Exists", "Equal"], "values": [["v"], []], "topologyKey": ["example.com/t"], "cron": ["0 * * * *"],
    "expression": ["true"], "cidr": ["10.3.0.0/16"], "host": ["h.example.com"], "fieldPath": ["metadata.name"],
    "resource": ["limits.cpu"], "apiGroups": [[""], ["example.com"]], "verbs": [["get"]], "name": ["n", "n.example.com", "example.com/n", "cpu"],
    "timeZone": ["Etc/UTC"], "loadBalancerClass": ["example.com/l"], "sizeLimit": ["1Gi"], "type": ["t", "Opaque", "Always", "ClusterIP"],
    "restartPolicy": ["Always", "Never"], "pathType": ["Exact"], "signerName": ["example.com/s"], "suspend": [False, True],
    "labelSelector": [{"matchLabels": {"a": "b"}}], "selector": [{"matchLabels": {"a": "b"}}, {"a": "b"}],
    "finalizers": [["example.com/f"]], "ownerReferences": [[{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}]],
    "requests": [{"cpu": "100m"}, {"storage": "1Gi"}], "limits": [{"cpu": "1"}, {"storage": "2Gi"}],
}
BY_SHAPE = {
    "STRING": ["a", "/a", "example.com/a", "a.example.com", "10.4.0.1", "IPv4", "1", "true", "https://a.example.com"],
    "BOOL": [True, False], "INT32": [1, 0, 5, 80, 100, 600], "INT64": [1, 0, 30, 600], "FLOAT64": [0.5],
    "BYTES": ["YQ=="], "TIME": ["2026-01-02T03:04:05Z"], "MICRO_TIME": ["2026-01-02T03:04:05.000006Z"], "DURATION": ["5s"],
    "QUANTITY": ["1", "1Gi", "100m"], "INT_OR_STRING": [1, "50%", 80], "RAW": [{"r": 1}], "JSON": [{"j": 1}, "j"],
    "SCHEMA_OR_BOOL": [True, {"type": "string"}], "SCHEMA_OR_ARRAY": [{"type": "string"}], "SCHEMA_OR_STRINGS": [["a"]],
}
KEYS = ("a", "cpu", "example.com/a", "storage")
ZERO = {"STRING": "", "BOOL": False, "INT32": 0, "INT64": 0, "FLOAT64": 0.0, "BYTES": "", "QUANTITY": "0", "INT_OR_STRING": 0,
        "STRUCT": {}, "LIST": [], "MAP": {}}
DEPTH_MAX = 9
ENUM_TRIES = 5
UNION_TRIES = 8
ELEMENTS_MAX = 40


def needed(struct, depth=0):
    """The members that a declaration requires, with the first value of each."""
    value = {}
    for field in members(struct):
        if "OMITEMPTY" not in field.flags and "OPTIONAL" not in field.flags and depth < 3:
            value[field.name] = next(iter(values(field.name, field.type, depth + 1)), None)
    return {name: item for name, item in value.items() if item is not None}


def values(name, kind, depth=0):
    """What to try for a field, the most likely first."""
    if kind.shape == "STRING" and kind.values:
        return [value for value in kind.values if value][:ENUM_TRIES]
    own = BY_NAME.get(name, []) if kind.shape not in ("BOOL",) or name == "suspend" else []
    own = [value for value in own if fits(kind, value)]
    if kind.shape == "STRUCT":
        return own + structs(kind, depth)
    if kind.shape == "LIST":
        return own + [[value] for value in values(name, kind.element, depth)][:UNION_TRIES]
    if kind.shape == "MAP":
        first = values("", kind.element, depth)[:2]
        return own + [{key: value} for value in first for key in KEYS]
    return own + BY_SHAPE.get(kind.shape, [])


def structs(kind, depth):
    """The required members alone, then with one of the others: for unions."""
    base = needed(kind, depth)
    tries = [base]
    if depth < 3:
        for field in members(kind):
            if field.name not in base:
                tries += [{**base, field.name: value} for value in values(field.name, field.type, depth + 2)[:1]]
    return tries[:UNION_TRIES]


def fits(kind, value):
    shapes = {str: ("STRING", "INT_OR_STRING", "QUANTITY"), bool: ("BOOL",), int: ("INT32", "INT64", "INT_OR_STRING"), list: ("LIST",),
              dict: ("STRUCT", "MAP", "RAW")}
    return kind.shape in shapes[type(value)]


class Grower:
    """accepts(object) is the object that a dry run answers, or None. Fields that an earlier kind has grown are not grown again
    below a kind's own first two levels: every field of every struct is set somewhere, and the records stay small."""

    def __init__(self, accepts):
        self.accepts, self.seen = accepts, set()

    def full(self, minimal, struct):
        self.object = copy.deepcopy(minimal)
        self.grow(struct, self.object, 0, ())
        return self.object

    def status(self, stored, struct):
        """The object with a full status; `accepts` writes to /status."""
        self.object = {**copy.deepcopy(stored), "status": {}}
        field = next((f for f in members(struct) if f.name == "status" and f.type.shape == "STRUCT"), None)
        if field and self.accepts(self.object):
            self.grow(field.type, self.object["status"], 1, ("status",))
        return self.object["status"]

    def keeps(self, path):
        """Whether the object is valid as it is now, and the answer has what the path leads to."""
        value = self.accepts(self.object)
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return False
        return value is not None

    def grow(self, struct, value, depth, path):
        for field in members(struct):
            name, kind = field.name, field.type
            if name in ("apiVersion", "kind", "status") and depth == 0 or path[-1:] == ("metadata",) and name in SERVER_FIELDS:
                continue
            is_new = (struct.go, name) not in self.seen
            if name not in value and (is_new or depth < 2) and depth < DEPTH_MAX:
                self.add(value, name, kind, (*path, name))
            if name in value and is_new:
                self.seen.add((struct.go, name))
                self.descend(kind, value[name], depth + 1, (*path, name))

    def add(self, value, name, kind, path):
        for candidate in values(name, kind):
            value[name] = copy.deepcopy(candidate)
            if self.keeps(path):
                return True
        value.pop(name, None)
        return False

    def descend(self, kind, value, depth, path):
        if kind.shape == "STRUCT":
            self.grow(kind, value, depth, path)
        elif kind.shape == "LIST" and kind.element.shape == "STRUCT" and value:
            first = copy.deepcopy(value[0])
            self.grow(kind.element, value[0], depth, (*path, 0))
            self.alternatives(kind.element, value, first, depth, path)
        elif kind.shape == "MAP" and kind.element.shape == "STRUCT" and value:
            for key in value:
                self.grow(kind.element, value[key], depth, (*path, key))

    def alternatives(self, struct, value, first, depth, path):
        """Members that an element cannot have beside its others get an element of their own."""
        key = next((name for name in ("name", "key", "ip", "mountPath") if isinstance(first.get(name), str)), None)
        for field in members(struct):
            if field.name in value[0] or (struct.go, field.name) in self.seen or len(value) >= ELEMENTS_MAX:
                continue
            fresh = {key: f"{first[key]}{len(value)}"} if key else copy.deepcopy(first)
            value.append(fresh)
            where = (*path, len(value) - 1)
            if self.add(fresh, field.name, field.type, (*where, field.name)):
                self.seen.add((struct.go, field.name))
                self.descend(field.type, fresh[field.name], depth + 1, (*where, field.name))
            else:
                value.pop()

    def empty(self, minimal, struct):
        """The minimal object with each absent member of its structs empty, where the server takes that."""
        self.object = copy.deepcopy(minimal)
        self.add_empty(struct, self.object, ())
        return self.object

    def add_empty(self, struct, value, path):
        for field in members(struct):
            name, kind = field.name, field.type
            if name in ("apiVersion", "kind") or path[-1:] == ("metadata",) and name in SERVER_FIELDS:
                continue
            if name in value:
                inner, below, where = value[name], kind, (*path, name)
                if kind.shape == "LIST" and inner:
                    inner, below, where = inner[0], kind.element, (*where, 0)
                if below.shape == "STRUCT" and isinstance(inner, dict):
                    self.add_empty(below, inner, where)
            elif kind.shape in ZERO:
                value[name] = copy.deepcopy(ZERO[kind.shape])
                if not self.accepts(self.object):
                    del value[name]


def with_nulls(minimal, struct):
    """The minimal object with each absent member of its structs null."""
    value = copy.deepcopy(minimal)
    for field in members(struct):
        inner = value.get(field.name)
        if field.name not in value:
            value[field.name] = None
        elif field.type.shape == "STRUCT" and isinstance(inner, dict):
            value[field.name] = with_nulls(inner, field.type)
        elif field.type.shape == "LIST" and field.type.element.shape == "STRUCT" and inner:
            value[field.name] = [with_nulls(item, field.type.element) for item in inner]
    return value
