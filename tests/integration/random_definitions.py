"""Random schemas of custom resources, small changes of them, and random values that need not follow them."""

import copy

# Those of kube-openapi that are checked, and names that nobody knows.
FORMATS = ["date-time", "date", "byte", "email", "ipv4", "cidr", "uuid", "duration", "int32", "int-or-string", "unheard-of"]
LIST_TYPES = ["atomic", "set", "map", None]


# --- schemas -------------------------------------------------------------------------------------------------------------

def scalar_schema(dice):
    kind = dice.choice(["string", "integer", "number", "boolean"])
    schema = {"type": kind}
    if kind == "string":
        more = dice.choice([{}, {}, {"maxLength": 2}, {"minLength": 3}, {"pattern": "^a*$"}, {"enum": ["a", "b"]}, {"format": dice.choice(FORMATS)}])
        schema.update(more)
        if not more and dice.random() < 0.4:
            schema["default"] = dice.choice(["d", "d" * 4096])
    elif kind == "integer":
        schema.update(dice.choice([{}, {"minimum": 5}, {"maximum": 0}, {"multipleOf": 7}, {"default": 3}, {"format": "int32"}]))
    elif kind == "boolean" and dice.random() < 0.3:
        schema["default"] = True
    if dice.random() < 0.2:
        schema["nullable"] = True
    return schema


def keyed_list(dice):
    """Objects, told apart by a field that the stored ones need not have, or have twice."""
    key = {**dice.choice([{"type": "string"}, {"type": "integer"}]), **dice.choice([{}, {"nullable": True}])}
    items = {"type": "object", "properties": {"a": key, "b": scalar_schema(dice)}, "required": ["a"]}
    if dice.random() < 0.3 and key["type"] == "string":
        items = {"type": "object", "properties": {"a": {"type": "string", "default": "k"}, "b": scalar_schema(dice)}}
    return {"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}


def list_schema(dice, depth):
    items = schema(dice, depth - 1)
    if dice.random() < 0.3:
        return keyed_list(dice)
    if items.get("type") in (None, "array", "object") and items.get("x-kubernetes-list-type") != "atomic":
        return {"type": "array", "items": items, **dice.choice([{}, {"maxItems": 1}])}
    items.pop("nullable", None)
    return {"type": "array", "items": items, **dice.choice([{}, {"x-kubernetes-list-type": "set"}, {"minItems": 3}])}


def schema(dice, depth):
    shape = dice.random()
    if depth == 0 or shape < 0.35:
        return dice.choice([scalar_schema(dice), scalar_schema(dice), {"x-kubernetes-int-or-string": True}])
    if shape < 0.6:
        return list_schema(dice, depth)
    if shape < 0.7:
        return {"type": "object", "additionalProperties": schema(dice, depth - 1), **dice.choice([{}, {"maxProperties": 1}])}
    if shape < 0.8:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if shape < 0.85:
        return {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    properties = {name: schema(dice, depth - 1) for name in dice.sample("abcde", dice.randint(1, 4))}
    made = {"type": "object", "properties": properties}
    if dice.random() < 0.3:
        made["required"] = [dice.choice(sorted(properties))]
    if dice.random() < 0.15:
        made["default"] = {}
    return made


def version(dice, name, stored, marker, large):
    """`large`: fields of objects that have many items, each of which may get a long default. The marker says which state of the
    definition is served."""
    fields = {name: schema(dice, 3) for name in dice.sample("abcde", dice.randint(1, 5))}
    for field in large:
        if dice.random() < 0.3:
            item = {"type": "object", "properties": {"a": {"type": "string", "default": "d" * 4096}}}
            fields[field] = {"type": "array", "items": item}
    root = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    if dice.random() < 0.6:
        status = {name: schema(dice, 2) for name in dice.sample("abc", dice.randint(1, 3))}
        root["properties"]["status"] = {"type": "object", "properties": status}
    if dice.random() < 0.2:
        root = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    made = {"name": name, "served": stored or dice.random() < 0.8, "storage": stored, "schema": {"openAPIV3Schema": root},
            "additionalPrinterColumns": [{"name": marker, "type": "string", "jsonPath": ".metadata.name"},
                                         {"name": "A", "type": dice.choice(["string", "integer", "date", "boolean"]), "jsonPath": ".spec.a"}]}
    if dice.random() < 0.4:
        made["subresources"] = {"status": {}}
    if dice.random() < 0.2 and fields.get("a", {}).get("type") in ("string", "integer", "boolean") and "properties" in root:
        made["selectableFields"] = [{"jsonPath": ".spec.a"}]
    return made


# --- small changes -------------------------------------------------------------------------------------------------------

def nodes(schema):
    yield schema
    for below in [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]:
        if isinstance(below, dict):
            yield from nodes(below)


def twist_list(dice, node):
    """Another list type, or other keys; the items become such as it asks for."""
    kind = dice.choice(LIST_TYPES)
    for word in ("x-kubernetes-list-type", "x-kubernetes-list-map-keys"):
        node.pop(word, None)
    items = node.setdefault("items", scalar_schema(dice))
    items.pop("x-kubernetes-map-type", None)
    if kind:
        node["x-kubernetes-list-type"] = kind
    if kind == "set":
        items.pop("nullable", None)
        if items.get("type") in ("array", "object"):
            items[f"x-kubernetes-{'list' if items['type'] == 'array' else 'map'}-type"] = "atomic"
    elif kind == "map":
        keys = dice.choice([["a"], ["b"], ["a", "b"]])
        node["x-kubernetes-list-map-keys"] = keys
        if items.get("type") != "object" or "properties" not in items:
            items = node["items"] = {"type": "object", "properties": {}}
        for key in keys:
            if items["properties"].get(key, {}).get("type") not in ("string", "integer", "number", "boolean"):
                items["properties"][key] = {"type": "string"}
        items["required"] = sorted(key for key in keys if "default" not in items["properties"][key]) or ["a"]


def twist_object(dice, node):
    way = dice.choice(["atomic", "granular", "drop", "add", "required"])
    properties = node.get("properties")
    if way in ("atomic", "granular"):
        node["x-kubernetes-map-type"] = way
    elif properties and way == "drop":
        properties.pop(dice.choice(sorted(properties)))
    elif properties is not None and way == "add":
        properties[dice.choice("abcde")] = schema(dice, 1)
    elif properties:
        node["required"] = [dice.choice(sorted(properties))]


def twist(dice, root):
    """Changes one thing in a schema, which is refused now and then. `root` is that of a version."""
    below = [node for part in root.get("properties", {}).values() for node in nodes(part)]
    if not below:
        root["properties"] = {"spec": {"type": "object", "properties": {name: schema(dice, 2) for name in "abc"}}}
        root.pop("x-kubernetes-preserve-unknown-fields", None)
        return
    lists = [node for node in below if node.get("type") == "array"]
    node = dice.choice(lists if lists and dice.random() < 0.5 else below)
    if node.get("type") == "array":
        twist_list(dice, node)
    elif node.get("type") == "object":
        twist_object(dice, node)
    else:
        node.clear()
        node.update(scalar_schema(dice))


def twisted(dice, versions, marker):
    made = copy.deepcopy(versions)
    for one in made:
        for _ in range(dice.randint(1, 4)):
            twist(dice, one["schema"]["openAPIV3Schema"])
        one["additionalPrinterColumns"][0]["name"] = marker
        one.pop("selectableFields", None)
    return made


# --- values --------------------------------------------------------------------------------------------------------------

def text(dice):
    return dice.choice(["", "a", "abc", "12", "true", "x" * 50, "ü€", "2026-01-02T03:04:05Z", "10.0.0.1", "QUJD"])


def value(dice, depth):
    shape = dice.random()
    if depth == 0 or shape < 0.5:
        return dice.choice([text(dice), dice.randint(-3, 9), 1.5, 3.0, True, None, 1 << 40])
    if shape < 0.65:
        return [value(dice, depth - 1) for _ in range(dice.choice([0, 1, 2, 2, 5]))]
    if shape < 0.78:  # what a list of the type map may have, with keys that come twice or are missing
        return [{name: dice.choice(["a", "b", 1, 2]) for name in dice.choice(["a", "ab", "ab", "b"])} for _ in range(dice.randint(1, 4))]
    return {dice.choice("abcdez"): value(dice, depth - 1) for _ in range(dice.randint(0, 4))}


def spec(dice):
    made = {name: value(dice, 3) for name in "abcde" if dice.random() < 0.8}
    if dice.random() < 0.25:  # a default in each of many items makes them large
        made[dice.choice("abcde")] = [{} for _ in range(dice.choice([200, 1000, 5000]))]
    return made


def large(spec):
    """The fields of it that have many items."""
    return [name for name, many in spec.items() if isinstance(many, list) and len(many) > 100]


def status(dice):
    return {name: value(dice, 2) for name in "abc" if dice.random() < 0.8}
