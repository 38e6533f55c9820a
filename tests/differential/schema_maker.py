"""Random schemas of custom resources, and values for them: what custom.py and definitions.py draw from."""

import random

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TEXTS = ["a", "b", "abc", "x-y", "10.0.0.1", "2024-01-02T03:04:05Z", "äöü", "", "A", "5s", "a@b.c", "/x", "1.5", "aGk="]
FORMATS = ["date-time", "ipv4", "duration", "byte", "uri", "hostname", "email", "int32", "nope", "uuid", "date", "password"]
NAMES = ["a", "b", "c", "name"]
DEFAULTS = {"string": "abc", "integer": 4, "boolean": True}


class Maker:
    """Schemas, and values that fit them more or less: `wild` is how often a value is anything at all, `stray` how often an object has an unknown field."""

    wild, stray = 0.2, 0.2

    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, share):
        return self.random.random() < share

    def anything(self):
        return self.random.choice([self.random.choice(TEXTS), self.random.randint(-5, 20), 0.5, 2.5, 3.0, 1e7, -1.25, True, False, None,
                                   [], {}, ["a"], {"a": 1}, [1, 1]])

    def keywords(self, kind, node):
        pick = self.random.choice
        texts = {"maxLength": [0, 1, 2, 4], "minLength": [0, 1, 3], "pattern": ["^a", "b", "^[a-z]*$", "[0-9]+", "^.{2}$"]}
        numbers = {"minimum": [0, 2, 5, 2.5], "maximum": [3, 10, 7.9, 1000000], "multipleOf": [2, 5, 0.5, 3]}
        lists, maps = {"minItems": [0, 1, 3], "maxItems": [0, 1, 3]}, {"minProperties": [0, 1, 2], "maxProperties": [0, 1, 3]}
        of = {"string": texts, "integer": numbers, "number": numbers, "array": lists, "object": maps,
              "any": {**texts, **numbers, **lists, **maps}}
        for keyword, values in of.get(kind, {}).items():
            if self.chance(0.25):
                node[keyword] = pick(values)
        for bound in ("minimum", "maximum"):
            if bound in node and self.chance(0.3):
                node["exclusive" + bound.capitalize()] = True

    def restriction(self, node, depth):
        """A schema below allOf, anyOf, oneOf or not."""
        made, kind = {}, node.get("type", "any")
        self.keywords(kind, made)
        if node.get("properties") and self.chance(0.6):
            name = self.random.choice(list(node["properties"]))
            if self.chance(0.6):
                made["required"] = [name]
            if self.chance(0.5):
                made["properties"] = {name: self.restriction(node["properties"][name], depth + 1)}
        if self.chance(0.2):
            made["enum"] = [self.random.choice(["a", "b", 1, 2.5])]
        if depth < 2 and self.chance(0.2):
            made["not"] = self.restriction(node, depth + 1)
        return made

    def structure(self, kind, depth):
        if kind == "int-or-string":
            return {"x-kubernetes-int-or-string": True, **({"maximum": 10} if self.chance(0.3) else {})}
        if kind == "enum":
            return {"type": self.random.choice(["string", "integer", "number"]), "enum": self.random.sample(["a", "b", 1, 2, 2.5], 2)}
        if kind == "object":
            node = {"type": "object", "properties": {name: self.schema(depth + 1) for name in self.random.sample(NAMES, 2)}}
            if self.chance(0.3):
                node["required"] = self.random.sample(NAMES, 1)
            if self.chance(0.15):
                node["x-kubernetes-preserve-unknown-fields"] = True
            return node
        if kind == "map":
            return {"type": "object", "additionalProperties": True if self.chance(0.3) else self.schema(depth + 1)}
        if kind == "any":
            return {"x-kubernetes-preserve-unknown-fields": True}
        if kind == "set":
            return {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": self.random.choice(["string", "integer"])}}
        if kind == "keyed":
            item = {"type": "object", "properties": {"name": {"type": "string"}, "n": self.schema(2), "v": {"type": "integer", "maximum": 5}},
                    "required": ["name"]}
            return {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": item}
        if kind == "array":
            return {"type": "array", "items": self.schema(depth + 1)}
        return {"type": kind, **({"format": self.random.choice(FORMATS)} if self.chance(0.25) else {})}

    def schema(self, depth=0):
        flat = ["string", "string", "integer", "number", "boolean", "int-or-string", "any", "enum"]
        node = self.structure(self.random.choice(flat + ["object", "object", "map", "set", "keyed", "array"] if depth < 3 else flat), depth)
        self.keywords(node.get("type"), node)
        if self.chance(0.12) and node.get("type"):
            node["nullable"] = True
        if self.chance(0.25) and node.get("type"):
            node[self.random.choice(["anyOf", "oneOf", "allOf"])] = [self.restriction(node, 0) for _ in range(self.random.randint(1, 3))]
        if self.chance(0.08) and node.get("type"):
            node["not"] = self.restriction(node, 1)
        if self.chance(0.1) and node.get("type") in DEFAULTS:
            node["default"] = DEFAULTS[node["type"]]
        return node

    def value(self, node):
        """A value that the schema may well accept."""
        pick, kind = self.random.choice, node.get("type")
        if self.chance(self.wild):
            return self.anything()
        if "enum" in node and self.chance(0.7):
            return pick(node["enum"])
        if kind == "array":
            items = [self.value(node["items"]) for _ in range(self.random.randint(0, 3))]
            for item in items:
                if "x-kubernetes-list-map-keys" in node and isinstance(item, dict) and self.chance(0.85):
                    item["name"] = pick(["a", "b", "c"])
            return items
        if kind == "object":
            made = {name: self.value(child) for name, child in node.get("properties", {}).items() if self.chance(0.75)}
            if isinstance(node.get("additionalProperties"), dict):
                made.update({key: self.value(node["additionalProperties"]) for key in self.random.sample(["k1", "k2", "k.3"], 2)})
            if self.chance(self.stray):
                made["zz"] = self.anything()
            return made
        values = {"string": TEXTS, "integer": [0, 1, 2, 3, 5, 10, 15, 20, 3.0, 2.5], "number": [0, 1, 2.5, 3, 7.5, 10, 1234567.5, 1e-7],
                  "boolean": [True, False]}
        return pick(values.get(kind, [1, "5", "x", 20]))

    def poked(self, value):
        """The value with something in it changed."""
        if isinstance(value, dict) and value and self.chance(0.8):
            key = self.random.choice(list(value))
            return {**value, key: self.poked(value[key])}
        if isinstance(value, list) and value and self.chance(0.8):
            at = self.random.randrange(len(value))
            return value[::-1] if self.chance(0.3) else value[:at] + [self.poked(value[at])] + value[at + 1:]
        return self.anything()

    def changed(self, spec, properties):
        made = {}
        for key, value in spec.items():
            if self.chance(0.1):
                continue
            made[key] = self.value(properties[key]) if self.chance(0.25) else self.poked(value) if self.chance(0.3) else value
        return made
