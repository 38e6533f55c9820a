#!/usr/bin/env python3
"""Field ownership as the contract of server-side apply describes it, beside the real one: random types, managers
and histories are run by apply_history and by the model here, which shares no code with it. What differs is printed
with the seed of its history.

The model works on sets of paths and says what the result is (contract apply, sections 5 to 7); it does not follow the
steps by which the server gets there. A path is a tuple of elements: ("f", name), ("k", items), ("v", value)."""

import argparse
import json
import random
import subprocess
import sys

ABSENT = object()
MAX_UPDATES = 10


# ---- types (tests/unit/schema/apply_schema.h) ----

def forms(t):
    """Which forms the type allows, in the order in which null picks one."""
    if t in ("deduced", "atomic"):
        return ["map", "scalar", "list"]
    if isinstance(t, str):
        return ["scalar"]
    return ["list"] if "list" in t or "set" in t or "keyed" in t else ["map"]


def form_of(t, v):
    own = "map" if isinstance(v, dict) else "list" if isinstance(v, list) else None if v is None or v is ABSENT else "scalar"
    return [own] if own in forms(t) else forms(t)


def is_atomic(t, form):
    if form == "scalar" or t == "atomic":
        return True
    if form == "list":
        return t == "deduced" or "list" in t
    return t != "deduced" and t.get("atomic", False)


def member_type(t, name):
    """The type of a member, and whether the schema names the field."""
    if t in ("deduced", "atomic"):
        return t, False
    if name in t.get("fields", {}):
        return t["fields"][name], True
    return t.get("map", t.get("others")), False


def item_type(t):
    return t.get("set") or t.get("keyed")


def element(t, item):
    """4.4: the path element of an item of a set or of a list with keys."""
    if "set" in t:
        return ("v", scalar(item))
    defaults = t["keyed"].get("defaults", {})
    keys = [(k, scalar(item.get(k, defaults.get(k)))) for k in sorted(t["keys"]) if k in item or k in defaults]
    return ("k", tuple(keys))


def scalar(v):
    """A scalar that sorts as 3.2.3 has it."""
    if isinstance(v, bool):
        return (2, v)
    if isinstance(v, (int, float)):
        return (0, v)
    return (5, 0) if v is None else (1, v)


# ---- the walks (section 5) ----

def fields(t, v, path, out):
    form = form_of(t, v)[0]
    if is_atomic(t, form):
        out.add(path)
    elif form == "map":
        for name, value in (v or {}).items():
            sub, is_named = member_type(t, name)
            fields(sub, value, path + (("f", name),), out)
            if value is None or value == {} or not is_named:
                out.add(path + (("f", name),))
    else:
        elements = [element(t, item) for item in v or []]
        for e, item in zip(elements, v or []):
            out.add(path + (e,))
            if elements.count(e) == 1:
                fields(item_type(t), item, path + (e,), out)
    return out - {()}


def compare(t, old, new, path, out):
    """Adds the changed paths to out["added"], out["modified"], out["removed"]."""
    a, b = form_of(t, old), form_of(t, new)
    leaf = False
    for form in ([a[0]] if new is ABSENT else [b[0]] if old is ABSENT or a == b else [a[0], b[0]]):
        kind = dict if form == "map" else list
        left = old if form != "scalar" and isinstance(old, kind) else kind()
        right = new if form != "scalar" and isinstance(new, kind) else kind()
        leaf = is_atomic(t, form) or not (left or right)
        if leaf:
            if old is ABSENT:
                out["added"].add(path)
            elif new is ABSENT:
                out["removed"].add(path)
            elif not same(old, new):
                out["modified"].add(path)
        elif form == "map":
            for name in set(left) | set(right):
                compare(member_type(t, name)[0], left.get(name, ABSENT), right.get(name, ABSENT), path + (("f", name),), out)
        else:
            compare_items(t, left, right, path, out)
    if not leaf:
        if old is ABSENT:
            out["added"].add(path)
        elif new is ABSENT:
            out["removed"].add(path)


def same(a, b):
    """Equality of JSON: true is not 1."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def group(t, items):
    groups = {}
    for item in items:
        groups.setdefault(element(t, item), []).append(item)
    return groups


def compare_items(t, left, right, path, out):
    a, b = group(t, left), group(t, right)
    for e in set(a) | set(b):
        x, y = a.get(e, []), b.get(e, [])
        if len(x) <= 1 and len(y) <= 1:
            compare(item_type(t), x[0] if x else ABSENT, y[0] if y else ABSENT, path + (e,), out)
        elif len(x) >= 2 and len(y) >= 2:
            if not same(x, y):
                out["modified"].add(path + (e,))
        elif len(x) >= 2:
            if y:
                compare(item_type(t), ABSENT, y[0], path + (e,), out)
            out["removed"].add(path + (e,))
        else:
            if x:
                compare(item_type(t), x[0], ABSENT, path + (e,), out)
            out["added"].add(path + (e,))


def merge(t, live, config):
    if config is ABSENT or live is ABSENT:
        return live if config is ABSENT else config
    form = form_of(t, config)[0]
    if is_atomic(t, form):
        return config
    kind = dict if form == "map" else list
    left = live if isinstance(live, kind) else kind()
    right = config if isinstance(config, kind) else kind()
    if not left and not right:
        return config
    if form == "map":
        return {name: merge(member_type(t, name)[0], left.get(name, ABSENT), right.get(name, ABSENT)) for name in set(left) | set(right)}
    return merge_items(t, left, right)


def merge_items(t, left, right):
    """5.3.3 and 5.3.4."""
    a, b = [element(t, i) for i in left], [element(t, i) for i in right]
    out, i, j = [], 0, 0

    def emit(k):
        partner = left[a.index(b[k])] if a.count(b[k]) == 1 else ABSENT
        out.append(merge(item_type(t), partner, right[k]))

    while i < len(a) or j < len(b):
        shared = next((e for e in b[j:] if e in a), None)
        if i < len(a) and j < len(b):
            if a[i] == b[j]:
                emit(j)
                i, j = i + 1, j + 1
                continue
            if a[i] in b and shared is not None and a[i] != shared:
                i += 1
                continue
        if i < len(a):
            if a[i] not in b:
                out.append(left[i])
                i += 1
                continue
            if a[i] in b[:j]:
                i += 1
        if j < len(b):
            emit(j)
            j += 1
    return out


def remove(t, v, path, gone):
    """5.4: what is emptied is null."""
    if not any(p[:len(path)] == path and len(p) > len(path) for p in gone):
        return v
    form = form_of(t, v)[0]
    if form == "scalar":
        return v
    if not v or is_atomic(t, form):
        return None
    if form == "map":
        left = {name: remove(member_type(t, name)[0], value, path + (("f", name),), gone)
                for name, value in v.items() if path + (("f", name),) not in gone}
    else:
        left = [remove(item_type(t), item, path + (element(t, item),), gone)
                for item in v if path + (element(t, item),) not in gone]
    return left or None


def type_at(t, path):
    """The type below a path; None: the schema has none."""
    for kind, name in path:
        if t is None or isinstance(t, str) and t not in ("deduced", "atomic"):
            return None
        if kind == "f":
            t = member_type(t, name)[0] if "map" in forms(t) else None
        else:
            t = item_type(t) if isinstance(t, dict) and "list" in forms(t) else None
    return t


def with_parents(t, paths):
    """3.6.4: the named fields above the members."""
    out = set(paths)
    for path in paths:
        for n in range(1, len(path)):
            around = type_at(t, path[:n - 1])
            kind, name = path[n - 1]
            if kind == "f" and isinstance(around, dict) and name in around.get("fields", {}):
                out.add(path[:n])
    return out


def has_repeated(t, v):
    """Has a list an item whose keys another item has? What is inside of atomic values counts as well (4.3.1)."""
    form = form_of(t, v)[0]
    if v is None or form == "scalar" or t in ("deduced", "atomic"):
        return False
    if form == "map":
        return any(has_repeated(member_type(t, name)[0], value) for name, value in v.items())
    if "list" in t:
        return any(has_repeated(t["list"], item) for item in v)
    elements = [element(t, i) for i in v]
    return len(set(elements)) < len(elements) or any(has_repeated(item_type(t), i) for i in v)


# ---- managers (sections 6 and 7) ----

class Refused(Exception):
    pass


class Broken(Exception):
    pass


class Object:
    """An object and its managers: (name, operation, version of updates, subresource) -> [set, version, time]."""

    def __init__(self, schema):
        self.schema, self.live, self.managers = schema, None, {}

    def run(self, op, step):
        time = "2026-01-01T00:00:%02dZ" % (step % 60)
        reset = ("f", "a") if op["sub"] else ("f", "status")
        if op["verb"] == "update":
            if self.live is None or self.managers:
                try:
                    self.update(op["manager"], op["version"], op["sub"], reset, time, self.live or {}, op["body"])
                except Broken:
                    self.managers = {}
            self.live = op["body"]
            return
        keep = dict((k, list(v)) for k, v in self.managers.items())
        try:
            self.apply(op, reset, time)
        except (Refused, Broken):
            self.managers = keep
            raise

    def changes(self, old, new, reset):
        out = {"added": set(), "modified": set(), "removed": set()}
        compare(self.schema, old, new, (), out)
        return {k: {p for p in v if p and p[0] != reset} for k, v in out.items()}

    def judge_versions(self, version, *objects):
        """6.6.4: another version is compared without repeated keys."""
        if any(m[1] != version for m in self.managers.values()) and any(has_repeated(self.schema, o) for o in objects):
            raise Broken

    def give_up(self, paths, own=None):
        for key in list(self.managers):
            if key != own:
                self.managers[key][0] = self.managers[key][0] - paths
        for key in list(self.managers):
            if not self.managers[key][0]:
                del self.managers[key]

    def update(self, name, version, sub, reset, time, old, new):
        self.judge_versions(version, old, new)
        c = self.changes(old, new, reset)
        taken = c["added"] | c["modified"]
        self.give_up(taken | c["removed"])
        if taken:
            key = (name, "Update", version, sub)
            self.managers[key] = [taken | self.managers.get(key, [set()])[0], version, time]
        self.cap()

    def cap(self):
        """7.2.7."""
        updates = sorted((k for k in self.managers if k[1] == "Update"), key=lambda k: (self.managers[k][2] or "", identifier(k)))
        count, first = len(updates), {}
        for key in updates:
            if count <= MAX_UPDATES:
                return
            paths, version, time = self.managers[key]
            if version not in first:
                first[version] = key
                continue
            bucket = ("ancient-changes", "Update", version, "")
            if bucket not in self.managers:
                self.managers[bucket] = self.managers.pop(first[version])
            if bucket != key:
                self.managers[bucket] = [paths | self.managers[bucket][0], version, time]
                del self.managers[key]
            count -= 1

    def apply(self, op, reset, time):
        t, version, live, config = self.schema, op["version"], self.live or {}, op["body"]
        if not self.managers:
            self.update("before-first-apply", version, op["sub"], reset, time, {}, live)
        self.judge_versions(version, live)
        key = (op["manager"], "Apply", "", op["sub"])
        last = self.managers.get(key, [set(), version, None])
        mine = {p for p in fields(t, config, (), set()) if p[0] != reset}
        self.managers[key] = [mine, version, last[2]]
        merged = merge(t, live, config)
        result = self.prune(last, merged) if last[0] else merged
        self.judge_versions(version, result or {})
        c = self.changes(live, result, reset) if result is not None else self.changes(live, {}, reset)
        taken = c["added"] | c["modified"]
        conflicts = [(identifier(k), k, m[0] & taken) for k, m in self.managers.items() if k != key and m[0] & taken]
        if conflicts and op["verb"] != "force":
            raise Refused(words(conflicts))
        self.give_up(taken | c["removed"], key)
        if not same(live, result) and key in self.managers:
            self.managers[key][2] = time
        self.live = result

    def prune(self, last, merged):
        """6.3.3: a path of the merged object goes iff it was owned before and is owned by nobody now. Where what is left of a
        removed container is nothing that anybody could own, such as an empty list with keys, it goes with the container."""
        t = self.schema
        known = with_parents(t, fields(t, merged, (), set()))
        before = with_parents(t, last[0])
        owned = {}
        for paths, version, _ in self.managers.values():
            owned.setdefault(version, set()).update(paths)
        # Each version puts back what is owned in it, into what the one before has left: the last applied one is first.
        result = remove(t, merged, (), before)
        for version in sorted(owned, key=lambda v: v != last[1]):
            left = with_parents(t, fields(t, result, (), set())) | with_parents(t, owned[version])
            result = remove(t, merged, (), known - left)
        # What the applier never owned comes back.
        return remove(t, merged, (), (before & known) - with_parents(t, fields(t, result, (), set())))

    def entries(self):
        """The list as 3.1.6 orders it."""
        def order(key):
            name, operation, _, sub = key
            return operation, self.managers[key][2] or "", name, self.managers[key][1], sub
        out = []
        for key in sorted(self.managers, key=order):
            name, operation, _, sub = key
            paths, version, time = self.managers[key]
            entry = [("apiVersion", version), ("fieldsType", "FieldsV1"), ("fieldsV1", Raw(fields_v1(paths))), ("manager", name),
                     ("operation", operation), ("subresource", sub), ("time", time)]
            out.append("{" + ",".join(f'"{k}":' + (v.text if isinstance(v, Raw) else json.dumps(v)) for k, v in entry if v) + "}")
        return "[" + ",".join(out) + "]" if out else "null"


class Raw:
    def __init__(self, text):
        self.text = text


def identifier(key):
    name, operation, version, sub = key
    text = '{"manager":' + json.dumps(name) + ',"operation":"' + operation + '"'
    return text + (f',"apiVersion":"{version}"' if version else "") + (f',"subresource":"{sub}"' if sub else "") + "}"


def show(value):
    """A scalar as JSON."""
    rank, v = value
    return "null" if rank == 5 else json.dumps(v)


def element_order(e):
    return "fkv".index(e[0]), e[1]


def element_text(e):
    if e[0] == "f":
        return "f:" + e[1]
    if e[0] == "v":
        return "v:" + show(e[1])
    return "k:{" + ",".join(f'"{k}":{show(v)}' for k, v in e[1]) + "}"


def fields_v1(paths, is_member=False):
    children = {}
    for p in paths:
        children.setdefault(p[0], set()).add(p[1:])
    parts = ['".":{}'] if is_member and children else []
    for e in sorted(children, key=element_order):
        below = {p for p in children[e] if p}
        parts.append(json.dumps(element_text(e)) + ":" + fields_v1(below, () in children[e]))
    return "{" + ",".join(parts) + "}"


def path_text(path):
    out = ""
    for kind, v in path:
        out += "." + v if kind == "f" else f"[={show(v)}]" if kind == "v" else "[" + ",".join(f"{k}={show(x)}" for k, x in v) + "]"
    return out


def members_in_order(paths):
    """3.6.5: the members of a level, then what is below each element."""
    heads = sorted({p[0] for p in paths}, key=element_order)
    out = [(e,) for e in heads if (e,) in paths]
    for e in heads:
        out += [(e,) + p for p in members_in_order({p[1:] for p in paths if p[0] == e and len(p) > 1})]
    return out


def words(conflicts):
    """9.3 to 9.6."""
    n = sum(len(paths) for _, _, paths in conflicts)
    parts = []
    for _, (name, operation, version, sub), paths in sorted(conflicts, key=lambda c: c[0]):
        who = f'"{name}"' + (f' with subresource "{sub}"' if sub else "") + (f" using {version}" if operation == "Update" else "")
        if n == 1:
            return f"Apply failed with 1 conflict: conflict with {who}: {path_text(next(iter(paths)))}"
        parts.append(f"conflicts with {who}:" + "".join("\n- " + path_text(p) for p in members_in_order(paths)))
    return f"Apply failed with {n} conflicts: " + "\n".join(parts)


# ---- random histories ----

def random_type(rng, depth):
    if depth == 0 or rng.random() < 0.25:
        return rng.choice(["string", "number", "bool", "any"])
    kind = rng.choice(["map", "amap", "struct", "struct", "astruct", "list", "set", "keyed", "keyed", "deduced", "atomic"])
    if kind in ("deduced", "atomic"):
        return kind
    if kind in ("map", "amap"):
        t = {"map": random_type(rng, depth - 1)}
    elif kind in ("struct", "astruct"):
        t = {"fields": {n: random_type(rng, depth - 1) for n in rng.sample("abcd", rng.randint(1, 3))}}
        if rng.random() < 0.2:
            t["others"] = random_type(rng, depth - 1)
    elif kind == "list":
        return {"list": random_type(rng, depth - 1)}
    elif kind == "set":
        return {"set": rng.choice(["string", "number", "any"])}
    else:
        keys = sorted(rng.sample("kl", rng.randint(1, 2)))
        item = {"fields": {n: random_type(rng, depth - 1) for n in rng.sample("abcd", rng.randint(1, 2))}, "defaults": {}}
        item["fields"].update({k: "string" for k in keys})
        if len(keys) == 2:
            item["defaults"]["l"] = "x"
        return {"keyed": item, "keys": keys}
    if kind[0] == "a":
        t["atomic"] = True
    return t


def random_value(rng, t, repeats=False):
    if t in ("deduced", "atomic"):
        t = rng.choice(["number", "string", {"list": "number"}, {"map": "deduced" if rng.random() < 0.3 else "number"}])
    if rng.random() < 0.03:
        return None
    if isinstance(t, str):
        choices = {"string": ["x", "y"], "number": [1, 2], "bool": [False, True], "any": ["x", 1, True]}
        return rng.choice(choices[t])
    if "list" in t:
        return [v for v in (random_value(rng, t["list"]) for _ in range(rng.randint(0, 2)))]
    if "set" in t or "keyed" in t:
        return random_items(rng, t, repeats)
    out = {}
    for name, sub in t.get("fields", {}).items():
        if rng.random() < 0.6:
            out[name] = random_value(rng, sub, repeats)
    other = t.get("map", t.get("others"))
    if other is not None:
        for name in rng.sample("efg", rng.randint(0, 2)):
            out[name] = random_value(rng, other, repeats)
    return out


def random_items(rng, t, repeats):
    items, seen = [], set()
    for _ in range(rng.randint(0, 3)):
        if "set" in t:
            item = rng.choice({"string": ["x", "y", "z"], "number": [1, 2, 3], "any": ["x", 1, True]}[t["set"]])
        else:
            item = random_value(rng, t["keyed"], repeats) or {}
            for k in t["keys"]:
                item.pop(k, None)
                if k == t["keys"][0] or rng.random() < 0.5:
                    item[k] = rng.choice("xy")
        e = element(t, item)
        if e not in seen or repeats:
            items.append(item)
        seen.add(e)
    return items


def change(rng, t, v):
    """The object with a few of its members made anew or dropped."""
    out = json.loads(json.dumps(v or {}))
    for name, sub in t["fields"].items():
        if rng.random() < 0.4:
            out[name] = random_value(rng, sub, rng.random() < 0.05)
        if rng.random() < 0.15:
            out.pop(name, None)
    return out


def random_history(seed):
    rng = random.Random(seed)
    schema = {"fields": {n: random_type(rng, 3) for n in ["a", "b", "c", "status"]}}
    many = rng.random() < 0.05
    names = [f"u{i}" for i in range(14)] if many else rng.sample(["m", "n", "o", "p"], rng.randint(2, 4))
    model, ops, want = Object(schema), [], []
    for step in range(24 if many else rng.randint(3, 9)):
        verb = "update" if many else rng.choice(["apply", "apply", "apply", "force", "update"])
        body = change(rng, schema, model.live) if verb == "update" else random_value(rng, schema) or {}
        op = {"verb": verb, "manager": rng.choice(names), "body": body, "version": "v2" if rng.random() < 0.1 else "v1",
              "sub": "status" if rng.random() < 0.15 else ""}
        ops.append(op)
        try:
            model.run(op, step)
            want.append('{"managers":' + model.entries() + ',"object":' + dump(model.live) + "}")
        except Refused as refused:
            want.append('{"words":' + json.dumps(str(refused)) + "}")
        except Broken:
            want.append('{"error":true}')
        if model.live is None and want[-1].startswith('{"managers'):
            break  # an object that is null altogether is no object any more
    return {"ops": ops, "schema": schema}, want


def dump(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=None, help="of the first history; each one has the next seed")
    args = parser.parse_args()
    first = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 40)
    wrong = steps = 0
    for start in range(first, first + args.histories, 1000):
        seeds = range(start, min(start + 1000, first + args.histories))
        made = [random_history(seed) for seed in seeds]
        text = "".join(dump(history) + "\n" for history, _ in made)
        run = subprocess.run([args.program], input=text, capture_output=True, text=True, check=False)
        lines = run.stdout.splitlines()
        if run.returncode != 0:
            print(f"the program ended with {run.returncode} after history {start + len(lines)}: {run.stderr}")
            return 1
        for seed, (history, want), line in zip(seeds, made, lines):
            steps += len(want)
            if line == "[" + ",".join(want) + "]":
                continue
            wrong += 1
            got = [dump(x) for x in json.loads(line)]
            at = next((i for i, (g, w) in enumerate(zip(got, want)) if g != dump(json.loads(w))), None)
            print(f"history {seed}: " + (f"step {at}\n  op   {dump(history['ops'][at])}\n  got  {got[at]}\n  want {want[at]}" if at is not None else
                                         f"other bytes\n  got  {line}\n  want {want}"))
            if wrong == 5:
                print(f"schema {dump(history['schema'])}")
                return 1
    print(f"{args.histories} histories with {steps} operations from seed {first}: {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
