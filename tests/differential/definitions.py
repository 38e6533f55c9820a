"""The CustomResourceDefinitions of instances.py: random ones, those of well_known.py, and mistakes in them.

Everything is made from the name of a definition alone. A random schema may have a property that a server refuses: who plays a definition
tells it which (`drop`), and they become plain texts."""

import copy
import json
import random

from schema_maker import DEFINITIONS, Maker
from well_known import FITTING, SCALE, WELL_KNOWN

RANDOM = 300
DOMAIN = "example.org"
GROUPS = 12
FORMATS = {"date-time": ["2026-01-02T03:04:05Z", "2026-01-02"], "date": ["2026-01-02", "2026-13-02"], "duration": ["5s", "1 day", "x"],
           "byte": ["aGk=", "?"], "uri": ["https://example.org/x", "::"], "email": ["a@b.org", "a"], "hostname": ["a.example.org", "-"],
           "ipv4": ["10.0.0.1", "10.0.0.256"], "ipv6": ["::1", "10.0.0.1"], "cidr": ["10.0.0.0/8", "10.0.0.0/99"], "mac": ["01:23:45:67:89:ab", "x"],
           "uuid": ["123e4567-e89b-12d3-a456-426614174000", "x"], "uuid4": ["123e4567-e89b-42d3-a456-426614174000",
           "123e4567-e89b-12d3-a456-426614174000"], "isbn10": ["0-306-40615-2", "1"], "creditcard": ["4111111111111111", "1"], "ssn": ["111-22-3333",
           "1"], "hexcolor": ["#fff", "fff"], "rgbcolor": ["rgb(1,2,3)", "red"], "bsonobjectid": ["507f1f77bcf86cd799439011", "x"], "password": ["x"],
           "nope": ["x"], "k8s-short-name": ["a", "A_"]}
PATTERNS = {"^a": ["a", "abc"], "^[a-z]*$": ["abc", ""], "[0-9]+": ["5", "a1"], "^.{2}$": ["ab", "äö"], "b": ["b"], **FITTING}
OPTIONAL_MAX = 5  # so that an instance of a schema with thousands of fields stays small


class RichMaker(Maker):
    """Every keyword and every extension; instances that mostly fit."""

    def structure(self, kind, depth):
        if depth < 3 and self.chance(0.2):
            return getattr(self, self.random.choice(["embedded", "pairs", "whole_map", "whole_list", "filled", "whole_set"]))(depth)
        node = super().structure(kind, depth)
        if kind == "string" and self.chance(0.3):
            node["format"] = self.random.choice(sorted(FORMATS))
        return node

    def embedded(self, _):
        node = {"type": "object", "x-kubernetes-embedded-resource": True}
        if self.chance(0.5):
            node["x-kubernetes-preserve-unknown-fields"] = True
        else:
            node["properties"] = {"spec": self.schema(2)}
        return node

    def pairs(self, depth):
        key = {"type": "string", "default": "TCP", **({"enum": ["TCP", "UDP"]} if self.chance(0.5) else {})}
        item = {"type": "object", "properties": {"port": {"type": "integer"}, "proto": key, "v": self.schema(depth + 1)}, "required": ["port"]}
        return {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "proto"], "items": item}

    def whole_map(self, depth):
        kind = self.random.choice(["atomic", "granular"])
        return {"type": "object", "x-kubernetes-map-type": kind, "additionalProperties": self.schema(depth + 1)}

    def whole_list(self, depth):
        return {"type": "array", "x-kubernetes-list-type": "atomic", "items": self.schema(depth + 1)}

    def whole_set(self, _):
        item = {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 1}}}
        return {"type": "array", "x-kubernetes-list-type": "set", "items": item}

    def filled(self, _):
        """Defaults within defaults."""
        inner = {"type": "object", "properties": {"b": {"type": "integer", "default": 3}, "c": {"type": "string", "nullable": True, "default": "x"}},
                 "default": {}}
        return {"type": "object", "properties": {"a": inner, "l": {"type": "array", "items": inner}, "m": {"type": "object", "additionalProperties": inner}},
                **({"default": {"a": {"b": 5}}} if self.chance(0.5) else {})}

    def text_of(self, node):
        if "pattern" in node and self.chance(0.85):
            return self.random.choice(PATTERNS.get(node["pattern"], ["a"]))
        if "format" in node:
            fitting, *other = FORMATS.get(node["format"], ["x"])
            return self.random.choice(other) if other and self.chance(self.wild) else fitting
        made = self.random.choice(["a", "abc", "x-y", "äöü", "b"])
        return (made * node["minLength"] if len(made) < node.get("minLength", 0) else made)[:node.get("maxLength", 99)]

    def number_of(self, node):
        least, most = node.get("minimum", -3), node.get("maximum", node.get("minimum", 0) + 12)
        if least > most or self.chance(self.wild):
            return self.random.choice([0, -1, 2.5, 3.0, 1e7, 70000])
        made = self.random.randint(int(least), int(most)) if self.chance(0.8) else self.random.choice([least, most])
        factor = node.get("multipleOf", 0)
        return made // factor * factor if factor >= 1 else made

    def value(self, node):
        if self.chance(self.wild):
            return self.anything()
        if "enum" in node:
            return self.random.choice(node["enum"])
        kind = node.get("type")
        if kind == "object":
            return self.object_of(node)
        if kind == "array":
            return self.list_of(node)
        if kind == "boolean":
            return self.chance(0.5)
        if node.get("x-kubernetes-int-or-string"):
            return self.random.choice([self.number_of(node), self.text_of(node)])
        if kind == "string":
            return self.text_of(node)
        return self.number_of(node) if kind else self.anything()

    def object_of(self, node):
        properties, needed = node.get("properties", {}), node.get("required", [])
        optional = [name for name in properties if name not in needed]
        drawn = [name for name in needed if not self.chance(self.wild / 2)]
        drawn += self.random.sample(optional, self.random.randint(0, min(OPTIONAL_MAX, len(optional))))
        made = {name: self.value(properties.get(name, {"type": "string"})) for name in drawn}
        if node.get("x-kubernetes-embedded-resource"):
            made.update({"apiVersion": "v1", "kind": "Pod" if not self.chance(self.wild) else "%",
                         "metadata": self.random.choice([{"name": "a"}, {"name": "A_"}, {"labels": {"a": "b"}, "colour": "red"}, {}])})
            if self.chance(self.wild):
                made.pop(self.random.choice(["apiVersion", "kind"]))
        if isinstance(node.get("additionalProperties"), dict):
            keys = self.random.sample(["k1", "k2", "k.3"], max(node.get("minProperties", 0), self.random.randint(0, 2)) % 4)
            made.update({key: self.value(node["additionalProperties"]) for key in keys})
        if self.chance(self.stray):
            made[self.random.choice(["zz", "a b", "Name"])] = self.anything()
        return made

    def list_of(self, node):
        keys, made = node.get("x-kubernetes-list-map-keys", []), []
        count = max(node.get("minItems", 0), self.random.randint(0, 2))
        for item in (self.value(node["items"]) for _ in range(min(count, node.get("maxItems", count)))):
            is_keyed = keys and isinstance(item, dict)
            place = [item.get(key) for key in keys] if is_keyed else item
            is_there = any(place == ([other.get(key) for key in keys] if keys and isinstance(other, dict) else other) for other in made)
            if not is_there or self.chance(self.wild) or "x-kubernetes-list-type" not in node:
                made.append(item)
        return made


class Definition:
    """One custom resource. `storage` is the version that is stored; `versions` has its name and those of the others."""

    def __init__(self, name):
        self.name, self.dropped = name, set()
        self.status = self.scale = None
        self.columns, self.selectable, self.versions = [], [], ["v1"]
        self.is_loose_first = False  # objects are stored under a schema that preserves everything before the definition gets its own
        self.old = {}  # the specs of those objects, by name

    def maker(self, words, wild=0.2):
        made = RichMaker(f"{self.name} {words}")
        made.wild = made.stray = wild
        return made

    @property
    def collection(self):
        """The path of its instances, with VERSION for the version."""
        place = "" if self.scope == "Cluster" else "namespaces/differential/"
        return f"/apis/{self.group}/VERSION/{place}{self.plural}"

    @property
    def path(self):
        return f"{DEFINITIONS}/{self.plural}.{self.group}"

    def drop(self, names):
        """Makes plain texts of the properties that a server refuses. False if it has none of them."""
        known = {name for name in names if name in self.spec["properties"] and name not in self.dropped}
        self.dropped |= known
        for name in known:
            self.spec["properties"][name] = {"type": "string"}
        self.selectable = [path for path in self.selectable if path.rpartition(".")[2] not in known]
        return bool(known)

    def schema_of(self, version):
        """The other version lacks a property of the stored one and has one with a default instead."""
        spec = self.spec
        if version != self.versions[0]:
            properties = dict(spec["properties"])
            gone = next((name for name in properties if name not in spec.get("required", []) and f".spec.{name}" not in self.selectable), None)
            properties.pop(gone, None)
            spec = {**spec, "properties": {**properties, "added": {"type": "string", "default": "new"}}}
        return {"type": "object", "properties": {"spec": spec, **({"status": self.status} if self.status else {}), **self.beside}}

    def body(self, is_loose=False):
        versions = []
        for version in self.versions:
            schema = LOOSE if is_loose else self.schema_of(version)
            made = {"name": version, "served": True, "storage": version == self.versions[0], "schema": {"openAPIV3Schema": schema}}
            subresources = {**({"status": {}} if self.has_status else {}), **({"scale": self.scale} if self.scale else {})}
            if subresources:
                made["subresources"] = subresources
            if self.columns:
                made["additionalPrinterColumns"] = self.columns
            if self.selectable and not is_loose:
                made["selectableFields"] = [{"jsonPath": path} for path in self.selectable]
            versions.append(made)
        names = {"plural": self.plural, "kind": self.kind}
        return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{self.plural}.{self.group}"},
                "spec": {"group": self.group, "scope": self.scope, "names": names, "versions": versions}}

    def instance(self, name, spec, version=None, **more):
        return {"apiVersion": f"{self.group}/{version or self.versions[0]}", "kind": self.kind, "metadata": {"name": name}, "spec": spec, **more}


# A field that only this schema knows shows whether a server has the other one already.
LOOSE = {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, "loose": {"type": "boolean"},
                                          "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}


def random_definition(number):
    made = Definition(f"random-{number}")
    maker = made.maker("schema")
    made.plural, made.kind, made.group = f"things{number}", f"Thing{number}", f"g{number % GROUPS}.{DOMAIN}"
    made.scope = "Cluster" if maker.chance(0.3) else "Namespaced"
    properties = {f"p{i}": maker.schema() for i in range(maker.random.randint(3, 7))}
    made.spec = {"type": "object", "properties": properties}
    if maker.chance(0.4):
        made.spec["required"] = [maker.random.choice(sorted(properties))]
    made.beside = {"data": maker.schema(1)} if maker.chance(0.2) else {}
    made.has_status, made.is_loose_first = maker.chance(0.5), number % 2 == 0
    if made.has_status or maker.chance(0.3):
        made.status = {"type": "object", "properties": {"phase": {"type": "string", "enum": ["Up", "Down"]}, "replicas": {"type": "integer", "maximum": 10},
                                                        "selector": {"type": "string"}, "deep": maker.schema(1)}}
    if maker.chance(0.35):
        properties["replicas"] = {"type": "integer", **({"maximum": 5} if maker.chance(0.3) else {})}
        made.scale = SCALE if maker.chance(0.5) else {name: path for name, path in SCALE.items() if name != "labelSelectorPath"}
    if maker.chance(0.5):
        paths = [f".spec.{name}" for name in properties] + [".status.phase", ".metadata.creationTimestamp", ".metadata.name", ".spec.p0.a",
            ".spec.p1[0]", ".spec.p2[*].name", ".spec['p0']", ".spec.p1[?(@.name=='a')].v"]
        made.columns = [{"name": f"C{i}", "type": maker.random.choice(["string", "integer", "number", "boolean", "date"]),
                        "jsonPath": maker.random.choice(paths),
                        **({"priority": 1} if maker.chance(0.2) else {})} for i in range(maker.random.randint(1, 4))]
    if maker.chance(0.4):
        flat = [name for name, node in properties.items() if node.get("type") in ("string", "integer", "boolean")]
        made.selectable = [f".spec.{name}" for name in flat[:2]]
    if maker.chance(0.3):
        made.versions = ["v1", maker.random.choice(["v2", "v1beta1"])]
    return made


def well_known_definition(row):
    plural, kind, group, scope, spec, status, columns, has_scale, selectable, other = row
    made = Definition(plural)
    made.plural, made.kind, made.group, made.scope = plural, kind, f"{group}.{DOMAIN}", scope
    made.spec, made.beside = copy.deepcopy(spec()), {}
    made.status = status() if status else None
    made.has_status, made.columns, made.selectable = status is not None, columns, list(selectable)
    made.scale = SCALE if has_scale else None
    made.versions = ["v1"] + ([other] if other else [])
    return made


def all_definitions():
    return [well_known_definition(row) for row in WELL_KNOWN] + [random_definition(number) for number in range(RANDOM)]


# ---- mistakes ----

KEYWORDS = [("type", "text"), ("type", "null"), ("type", None), ("pattern", "("), ("pattern", "a{2000}"), ("uniqueItems", True),
            ("additionalProperties", False), ("additionalProperties", True), ("additionalProperties", {"type": "string"}), ("nullable", True),
            ("default", {"zz": 1}), ("default", []), ("default", "x"), ("default", 7), ("x-kubernetes-list-type", "bag"),
            ("x-kubernetes-list-type", "set"), ("x-kubernetes-list-type", "map"), ("x-kubernetes-map-type", "bag"),
            ("x-kubernetes-map-type", "atomic"), ("x-kubernetes-list-map-keys", ["a", "a"]), ("x-kubernetes-list-map-keys", ["nope"]),
            ("x-kubernetes-embedded-resource", True), ("x-kubernetes-int-or-string", True), ("x-kubernetes-preserve-unknown-fields", False),
            ("x-kubernetes-preserve-unknown-fields", True), ("$ref", "#/x"), ("items", [{"type": "string"}]), ("items", None), ("items", {}),
            ("items", {"type": "array"}), ("definitions", {"a": {"type": "string"}}), ("dependencies", {"a": ["b"]}),
            ("patternProperties", {"a": {"type": "string"}}), ("id", "x"), ("$schema", "x"), ("anyOf", [{"type": "string"}]),
            ("anyOf", [{"type": "integer"}, {"type": "string"}]), ("oneOf", [{"properties": {"q": {"minLength": 1}}}]),
            ("allOf", [{"description": "x", "title": "y"}]), ("not", {"nullable": True, "default": 1}),
            ("allOf", [{"additionalProperties": {"maxLength": 1}}]), ("properties", {"metadata": {"type": "string"}, "kind": {"type": "object"}}),
            ("properties", {"x": {}}), ("required", ["q"]), ("enum", []), ("enum", [{}]), ("format", "nope"), ("maxLength", -1), ("minimum", 1e300),
            ("multipleOf", 0), ("additionalItems", True), ("x-kubernetes-validations", [{"rule": ""}]),
            ("x-kubernetes-validations", [{"rule": "true", "message": "a\nb"}]), ("x-kubernetes-validations", [{"rule": "true", "message": " "}])]
PARTS = [(("names", "plural"), "No"), (("names", "kind"), "no_"), (("names", "kind"), ""), (("names", "listKind"), "Same"),
         (("names", "singular"), "A"), (("names", "shortNames"), ["ok", "No"]), (("names", "categories"), ["all", "-"]), (("group",), ""),
         (("group",), "nodot"), (("group",), "Bad.Group"), (("group",), "x.k8s.io"), (("scope",), ""), (("scope",), "Galaxy"), (("versions",), []),
         (("versions", 0, "name"), "1"), (("versions", 0, "storage"), False), (("versions", 0, "served"), False), (("versions", 0, "schema"), None),
         (("versions", 0, "deprecationWarning"), "old"), (("versions", 0, "schema"), {}),
         (("versions", 0, "additionalPrinterColumns"), [{"name": "", "type": "text", "jsonPath": "x"}]),
         (("versions", 0, "additionalPrinterColumns"), [{"name": "a", "type": "string", "format": "huge", "jsonPath": ""}]),
         (("versions", 0, "selectableFields"), [{"jsonPath": ".spec.nope"}]),
         (("versions", 0, "selectableFields"), [{"jsonPath": "spec"}, {"jsonPath": ".spec[0]"}, {"jsonPath": ""}]),
         (("versions", 0, "subresources"), {"scale": {"specReplicasPath": ".status.x", "statusReplicasPath": ".spec.x", "labelSelectorPath": ".metadata.x"}}),
         (("versions", 0, "subresources"), {"scale": {"specReplicasPath": "", "statusReplicasPath": "x"}}),
         (("conversion",), {"strategy": "Sometimes"}), (("conversion",), {"strategy": "Webhook"}),
         (("conversion",), {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v9", "v9"], "clientConfig": {"url": "http://u@x/?q#f"}}}),
         (("conversion",), {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {"name": "a", "port": 0}}}}),
         (("preserveUnknownFields",), True)]


def nodes_of(schema, found):
    """Every schema within a schema."""
    found.append(schema)
    for child in schema.get("properties", {}).values():
        nodes_of(child, found)
    for word in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(word), dict):
            nodes_of(schema[word], found)
    for word in ("anyOf", "oneOf", "allOf"):
        for child in schema.get(word, []):
            nodes_of(child, found)
    return found


def put_part(value, path, new):
    *way, last = path
    for step in way:
        value = value[step]
    value[last] = copy.deepcopy(new)


def mistakes(definition, count):
    """(words, body) of the definition with one or two things wrong."""
    rng = random.Random(f"{definition.name} mistakes")
    for number in range(count):
        body, words = json.loads(json.dumps(definition.body())), []  # the versions share nothing
        for _ in range(rng.choice([1, 1, 2])):
            if rng.random() < 0.3:
                path, new = rng.choice(PARTS)
                if path[0] != "versions" or len(path) == 1 or body["spec"]["versions"]:
                    put_part(body["spec"], path, new)
                    words.append(f"{'.'.join(map(str, path))}={new}")
                continue
            versions = [version for version in body["spec"]["versions"] if (version.get("schema") or {}).get("openAPIV3Schema")]
            if versions:
                node, (keyword, new) = rng.choice(nodes_of(rng.choice(versions)["schema"]["openAPIV3Schema"], [])), rng.choice(KEYWORDS)
                node[keyword] = copy.deepcopy(new)
                words.append(f"{keyword}={new}")
        # The name follows the group and the plural, so that it is not what is refused.
        body["metadata"]["name"] = f"{body['spec']['names']['plural']}.{body['spec']['group']}" if rng.random() < 0.9 else "other.example.org"
        yield f"mistake {number}: {', '.join(words)}", body
