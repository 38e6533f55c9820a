#!/usr/bin/env python3
"""Random histories of one object, written by several managers in every way, on Coracle and on a kube-apiserver: code, message, causes,
object, managedFields and whether the resourceVersion changed are compared after each step.

  histories.py PROGRAM [WORD..]            replays the recorded answers and prints TAP, one test per kind; words choose kinds and steps
  histories.py PROGRAM --live [WORD..]     plays them on the kube-apiserver of COR_KUBE_APISERVER too, and prints what differs
  histories.py PROGRAM --record [WORD..]   asks it, and keeps a digest of each answer in records/histories.txt
  histories.py PROGRAM --update            replays, and brings histories.txt up to date, which names the histories that differ

A history is made from its kind and its number alone. It begins with a creation by POST or by an apply; then two to four managers
update, patch (merge, strategic, JSON), apply with and without force, write to the status, the scale and the approval, and now and
then reset or rename the entries of managedFields. What they write are the pieces of history_pieces.json: members with a few values
each, in lists by keys, sets and atomic parts. Requests that read an object before they write it read it from the same server, so that a
history is compared up to its first difference.

Custom resources have histories as well (custom_histories.py), with configurations in YAML, and such as are refused.

Each built-in kind also has the history "whole": its full object (of differential.py's records) is created, applied, pruned and patched, so that
every field of every kind is in managedFields once, and what an empty object of the kind shows is owned by nobody (Contract apply 4.5.4).

The order of entries is checked against their own times, and times themselves only for being there: two requests may fall into one
second on one server, and into two on the other."""

import argparse
import collections
import copy
import hashlib
import json
import pathlib
import random
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

import answers  # noqa: E402
import custom_histories  # noqa: E402
import records  # noqa: E402
from cases import PATCH_TYPES, SERVER_FIELDS  # noqa: E402
from differential import COMPAT, NAMESPACE, all_kinds, chosen, coracle, kube_apiserver  # noqa: E402
from etcd_cluster import wait_for  # noqa: E402
from fixture import REQUEST_S  # noqa: E402
from tables import Types  # noqa: E402

RECORD = HERE / "records/histories.txt"
KNOWN = HERE / "histories.txt"
PIECES = json.loads((HERE / "history_pieces.json").read_text())
HISTORIES, STEPS = 12, 8
MANAGERS = ("a", "b", "c", "d")
SCALED = {"apps/v1 Deployment", "apps/v1 StatefulSet", "apps/v1 ReplicaSet", "v1 ReplicationController"}
APPLY = "application/apply-patch+yaml"
STEP = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]|\.")
# Entries of the peer's own controllers, which write when they come to it.
OTHERS = {"kube-apiserver", "kube-controller-manager", "api-priority-and-fairness-config-consumer-v1"}


# ---- pieces ----

def read_path(text):
    """Names of members as texts, items of lists as {key: value}, or as a list of one value for a set."""
    steps = []
    for name, inner in STEP.findall(text):
        if name:
            steps.append(name)
        elif inner.startswith("="):
            steps.append([inner[1:]])
        elif inner:
            pairs = [pair.split("=", 1) for pair in inner.split(",")]
            steps.append({key: int(value) if value.isdigit() else value for key, value in pairs})
    return steps


def item_of(items, keys):
    return next((item for item in items if all(item.get(key, "TCP" if key == "protocol" else None) == value for key, value in keys.items())), None)


def put(value, steps, new):
    """Puts a piece into an object."""
    step, rest = steps[0], steps[1:]
    if isinstance(step, list):
        if step[0] not in value:
            value.append(step[0])
    elif isinstance(step, dict):
        item = item_of(value, step)
        if item is None:
            item = dict(step)
            value.append(item)
        if rest:
            put(item, rest, new)
        else:
            for key in set(item) - set(step):
                del item[key]
            item.update(copy.deepcopy(new))
    elif rest:
        if value.get(step) is None:
            value[step] = {} if isinstance(rest[0], str) else []
        put(value[step], rest, new)
    else:
        value[step] = copy.deepcopy(new)


def drop(value, steps):
    """Takes a piece out of an object, if the object has it."""
    step, rest = steps[0], steps[1:]
    if isinstance(step, list):
        if step[0] in value:
            value.remove(step[0])
    elif isinstance(step, dict):
        item = item_of(value, step)
        if item is not None and rest:
            drop(item, rest)
        elif item is not None:
            value.remove(item)
    elif not rest:
        value.pop(step, None)
    elif value.get(step) is not None:
        drop(value[step], rest)


def merge_patch(old, new):
    """The merge patch that makes `new` out of `old`."""
    patch = {key: None for key in old if key not in new}
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(key), dict):
            inner = merge_patch(old[key], value)
            if inner:
                patch[key] = inner
        elif key not in old or old[key] != value:
            patch[key] = value
    return patch


def json_patch(old, new, path=""):
    """The JSON patch that makes `new` out of `old`; a list is replaced as a whole."""
    def at(key):
        return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"

    found = [{"op": "remove", "path": at(key)} for key in old if key not in new]
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(key), dict):
            found += json_patch(old[key], value, at(key))
        elif key not in old or old[key] != value:
            found.append({"op": "replace" if key in old else "add", "path": at(key), "value": value})
    return found


# ---- histories ----

class Request:
    """One step: what is sent, and the words that describe it."""

    def __init__(self, words, method, target, body, content_type="application/json"):
        self.words, self.method, self.target, self.body, self.content_type = words, method, target, body, content_type


class Writer:
    """Makes the requests of one history. `current` is the object as the server has it, or None."""

    def __init__(self, kind, number):
        self.kind, self.random = kind, random.Random(f"{kind['kind']} {number}")
        self.managers = MANAGERS[:self.random.randint(2, 4)]
        self.pieces = {**PIECES["*"], **PIECES.get(kind["kind"], {})}
        self.applied = {}  # (manager, subresource) -> {piece: value}
        self.owns_base = None  # the manager whose apply created the object
        self.versions = ["v2", "v1"] if kind["kind"].startswith("autoscaling/v2") else [""]
        self.group, _, self.version = kind["kind"].split()[0].rpartition("/")
        self.has_scale, self.ways = kind["kind"] in SCALED, ("update", "merge", "strategic", "edits")
        self.scale_ways = ("apply", "forced apply", "update", "merge")

    def pieces_of(self, sub, version):
        """The pieces of the main resource or of a subresource, by their paths in the object."""
        found = {}
        for path, values in self.pieces.items():
            where, _, inner = path.rpartition(": ")
            if where in ("status", "approval"):
                if where == sub:
                    found[f"status.{inner}"] = values
            elif sub in ("", None) and where in ("", version):
                found[inner] = values
        if sub == "status" and self.random.random() < 0.2:
            found["metadata.labels.x"] = self.pieces["metadata.labels.x"]
        return found

    def target(self, sub, version, query, is_collection=False):
        path = self.kind["path"]
        if version:
            path = path.replace(f"/{self.group}/{self.version}/", f"/{self.group}/{version}/")
        name = "" if is_collection else f"/{self.kind['name']}{'/' + sub if sub else ''}"
        return f"{path}{name}?{query}"

    def identity(self, version):
        found = {word: self.kind["minimal"][word] for word in ("apiVersion", "kind")}
        if version:
            found["apiVersion"] = f"{self.group}/{version}"
        return {**found, "metadata": {"name": self.kind["name"]}}

    def draw(self, pieces, least, most):
        paths = self.random.sample(sorted(pieces), min(len(pieces), self.random.randint(least, most)))
        return {path: self.random.choice(pieces[path]) for path in paths}

    def next(self, current):
        rng, manager, version = self.random, self.random.choice(self.managers), self.random.choice(self.versions)
        query = f"fieldManager={manager}"
        if current is None:
            return self.create(manager, version, query)
        subs = [""] * 6 + [sub for sub in ("status", "approval") if self.pieces_of(sub, version)]
        if self.has_scale:
            subs += ["scale", "scale"]
        sub = rng.choice(subs)
        if rng.random() < 0.05:
            query += "&dryRun=All"
        if sub == "scale":
            return self.scale(manager, version, query)
        pieces, way = self.pieces_of(sub, version), rng.random()
        if way < 0.5:
            return self.apply(manager, version, sub, query, pieces)
        if way < 0.56 and not sub and not self.kind["volatile"]:
            return self.edit_entries(manager, version, query, current)
        return self.update(manager, version, sub, query, pieces, current)

    def create(self, manager, version, query):
        pieces = self.pieces_of("", version)
        values = self.draw(pieces, 0, 4)
        is_apply = self.random.random() < 0.5
        body = copy.deepcopy(self.kind["minimal"])
        body["apiVersion"] = self.identity(version)["apiVersion"]
        for path, value in values.items():
            put(body, read_path(path), value)
        if not is_apply:
            return Request(f"create by {manager}", "POST", self.target("", version, query, True), body)
        self.applied[manager, ""], self.owns_base = values, manager
        return Request(f"apply by {manager}", "PATCH", self.target("", version, query), body, APPLY)

    def apply(self, manager, version, sub, query, pieces):
        rng = self.random
        values = dict(self.applied.get((manager, sub), {}))
        values = {path: value for path, value in values.items() if path in pieces}
        way = rng.random()
        if way < 0.7 or not values:
            values.update(self.draw(pieces, 1, 3))
        if 0.4 < way < 0.9 and len(values) > 1:
            for path in rng.sample(sorted(values), rng.randint(1, 2)):
                values.pop(path)
        body = self.identity(version)
        if manager == self.owns_base and not sub and rng.random() < 0.9:
            body = {**copy.deepcopy(self.kind["minimal"]), "apiVersion": body["apiVersion"]}
        for path, value in values.items():
            put(body, read_path(path), value)
        self.applied[manager, sub] = values
        is_forced = rng.random() < 0.4
        words = f"{'forced ' if is_forced else ''}apply{'/' + sub if sub else ''} by {manager}"
        return Request(words, "PATCH", self.target(sub, version, query + ("&force=true" if is_forced else "")), body, APPLY)

    def update(self, manager, version, sub, query, pieces, current):
        rng, old = self.random, copy.deepcopy(current)
        if version and old["apiVersion"] != f"{self.group}/{version}":
            version = old["apiVersion"].split("/")[1]
            pieces = self.pieces_of(sub, version)
        old["metadata"].pop("managedFields", None)
        new, partial, words = copy.deepcopy(old), self.identity(version), f"{'/' + sub if sub else ''} by {manager}"
        for path, value in self.draw(pieces, 1, 3).items():
            if rng.random() < 0.3:
                drop(new, read_path(path))
            else:
                put(new, read_path(path), value)
                put(partial, read_path(path), value)
        way, target = rng.choice(self.ways), self.target(sub, version, query)
        if way == "update":
            if rng.random() < 0.5:
                del new["metadata"]["resourceVersion"]
            return Request("update" + words, "PUT", target, new)
        body = {"merge": lambda: merge_patch(old, new), "strategic": lambda: partial, "edits": lambda: json_patch(old, new)}[way]()
        return Request(f"{way} patch{words}", "PATCH", target, body, PATCH_TYPES[way])

    def scale(self, manager, version, query):
        rng, replicas = self.random, self.random.randint(0, 3)
        target, way = self.target("scale", version, query), rng.choice(self.scale_ways)
        body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": self.kind["name"], "namespace": "differential"},
                "spec": {"replicas": replicas}}
        if way == "update":
            return Request(f"update/scale by {manager}", "PUT", target, body)
        if way == "merge":
            return Request(f"merge patch/scale by {manager}", "PATCH", target, {"spec": {"replicas": replicas}}, PATCH_TYPES["merge"])
        return Request(f"{way}/scale by {manager}", "PATCH", target + ("&force=true" if way != "apply" else ""), body, APPLY)

    def edit_entries(self, manager, version, query, current):
        # In an order that does not depend on the times.
        entries = sorted(copy.deepcopy(current["metadata"].get("managedFields") or []), key=entry_key)
        if version:
            version = current["apiVersion"].split("/")[1]
        way = self.random.choice(("reset", "rename", "drop"))
        if way == "reset" or not entries:
            entries = [{}]
        elif way == "rename":
            self.random.choice(entries)["manager"] = self.random.choice(self.managers)
        else:
            entries.pop(self.random.randrange(len(entries)))
        return Request(f"{way} of entries by {manager}", "PATCH", self.target("", version, query), {"metadata": {"managedFields": entries}},
                       PATCH_TYPES["merge"])


class CustomWriter(Writer):
    """The history of a custom resource."""

    def __init__(self, kind, number, versions, pieces, has_scale):
        self.kind, self.random = kind, random.Random(f"{kind['kind']} {number}")
        self.managers = MANAGERS[:self.random.randint(2, 4)]
        self.pieces = {**PIECES["*"], **pieces}
        self.applied, self.owns_base, self.versions, self.has_scale = {}, None, versions, has_scale
        self.group, _, self.version = kind["kind"].split()[0].rpartition("/")
        self.ways = ("update", "merge", "edits")
        self.scale_ways = ("update", "merge")  # an apply is `scales` of docs/COMPAT.md

    def apply(self, manager, version, sub, query, pieces):
        way, body = self.random.random(), self.identity(version)
        if way < 0.1:
            words, query, text = custom_histories.yaml_body(self.random, body)
            return Request(f"apply of {words}", "PATCH", self.target(sub, version, f"fieldManager={manager}{query}"), text, APPLY)
        if way < 0.25:
            words, body = custom_histories.odd_body(self.random, body)
            return Request(f"apply of {words}", "PATCH", self.target(sub, version, query), body, APPLY)
        return super().apply(manager, version, sub, query, pieces)


class WholeWriter(Writer):
    """The history of a kind's full object."""

    def __init__(self, kind):
        super().__init__(kind, 0)
        self.number = 0

    def next(self, current):
        kind, self.number = self.kind, self.number + 1
        minimal, full, sub = kind["minimal"], kind["full"], "status" if "status" in kind and not kind["volatile"] else ""
        written = {**minimal, "status": kind.get("status", {}).get("status")}
        forced = "fieldManager={}&force=true"
        steps = [
            Request("create of all", "POST", self.target("", "", "fieldManager=k&dryRun=All", True), full),
            Request("apply of all", "PATCH", self.target("", "", "fieldManager=a&dryRun=All"), full, APPLY),
            Request("apply of little", "PATCH", self.target("", "", "fieldManager=a"), minimal, APPLY),
            Request("update to all", "PUT", self.target("", "", "fieldManager=k"), full),
            Request("strategic patch to all", "PATCH", self.target("", "", "fieldManager=l"), full, PATCH_TYPES["strategic"]),
            Request("apply of all by another", "PATCH", self.target("", "", "fieldManager=b"), full, APPLY),
            Request("forced apply of all", "PATCH", self.target("", "", forced.format("a")), full, APPLY),
            Request("forced apply of little", "PATCH", self.target("", "", forced.format("b")), minimal, APPLY),
            Request("apply of little again", "PATCH", self.target("", "", "fieldManager=a"), minimal, APPLY),
            Request("apply of nothing", "PATCH", self.target("", "", "fieldManager=a"), self.identity(""), APPLY),
        ]
        if sub:
            steps[9:9] = [
                Request("apply/status", "PATCH", self.target(sub, "", "fieldManager=s"), written, APPLY),
                Request("apply/status of nothing", "PATCH", self.target(sub, "", "fieldManager=s"), self.identity(""), APPLY),
                Request("merge patch/status", "PATCH", self.target(sub, "", "fieldManager=t"), {"status": written["status"]}, PATCH_TYPES["merge"]),
            ]
        return steps[self.number - 1] if self.number <= len(steps) else None


# ---- answers ----

def entry_key(entry):
    return (entry.get("operation", ""), entry.get("manager", ""), entry.get("apiVersion", ""), entry.get("subresource", ""), "time" in entry)


def read_entries(entries):
    """managedFields as they are compared. The server's order must follow from the times that it gives."""
    def time_key(entry):
        operation, *names, _ = entry_key(entry)
        return (operation, entry.get("time", ""), *names)

    is_sorted = all(time_key(one) <= time_key(other) for one, other in zip(entries, entries[1:]))
    found = []
    for entry in sorted(entries, key=entry_key):
        if entry.get("manager") not in OTHERS:
            # The order of members is that of the server's JSON, but in FieldsV1 it is upstream's.
            fields = json.dumps(entry.get("fieldsV1"), separators=(",", ":"))
            found.append({**entry, "fieldsV1": fields, **({"time": "*"} if "time" in entry else {})})
    return {"sorted": is_sorted, "entries": found}


def reduce(status, headers, body, kind, before):
    """What is compared of an answer; `before` is the resourceVersion that the object had."""
    metadata = body.get("metadata", {}) if isinstance(body, dict) else {}
    if kind["volatile"]:
        body.pop(kind["volatile"], None)
    answer = answers.reduce(status, headers, body)
    if "object" in answer:
        answer["managed"] = read_entries(metadata.get("managedFields", []))
        if not kind["volatile"]:
            answer["written"] = metadata.get("resourceVersion") != before
    causes = answer.get("details", {}).get("causes", [])
    causes.sort(key=lambda cause: json.dumps(cause, sort_keys=True))
    # The order of several mistakes is free, and so is the text that shows what an update may not change.
    if status == 422:
        for cause in causes:
            cause["message"] = cause["message"].partition("\n")[0]
        answer["message"] = answer["message"].partition("\n")[0] if len(causes) < 2 else ""
    return answer


def digest(answer):
    return f"{answer['code']}:{hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()[:10]}"


def play(target, kind, writer):
    """(request, answer, digest) of each step."""
    def read():
        if kind["kind"].endswith("CustomResourceDefinition"):
            target.settle(f"{kind['path']}/{kind['name']}")
        status, _, text = target.request("GET", f"{kind['path']}/{kind['name']}")
        return json.loads(text) if status == 200 else None

    target.clean(kind)
    current, count = None, STEPS if not isinstance(writer, WholeWriter) else 99
    for _ in range(count):
        request = writer.next(current)
        if request is None:
            break
        before = (current or {}).get("metadata", {}).get("resourceVersion")
        body = request.body if isinstance(request.body, str) else json.dumps(request.body, separators=(",", ":"))
        status, headers, text = target.request(request.method, request.target, body, {"Content-Type": request.content_type})
        answer = reduce(status, headers, json.loads(text), kind, before)
        is_read = "/scale" not in request.target and "dryRun" not in request.target and status < 300 and "v1 Event" not in kind["kind"]
        current = json.loads(text) if is_read and not kind["volatile"] else read()
        if "/scale" in request.target and current:
            # A scale shows no managedFields: the object has them.
            answer["managed"] = read_entries(current["metadata"].get("managedFields", []))
        yield request, answer, digest(answer)
    target.clean(kind)


def all_histories(types):
    """(name, kind, writer) of each history, in the order of the record."""
    full = {record.kind["kind"]: record.kind for record in records.read_all(all_kinds(types), types)}
    for name, kind in all_kinds(types):
        if kind["is_review"]:
            continue
        kind = full[name]
        if "full" in kind:
            for member in SERVER_FIELDS:
                kind["full"]["metadata"].pop(member, None)
            yield f"{name} whole", kind, lambda kind=kind: WholeWriter(kind)
        for number in range(HISTORIES if name in PIECES else 0):
            yield f"{name} {number}", kind, lambda kind=kind, number=number: Writer(kind, number)
    for kind, versions, pieces, has_scale, histories in custom_histories.all_kinds(NAMESPACE):
        for number in range(histories):
            yield (f"{kind['kind']} {number}", kind, lambda kind=kind, number=number, rest=(versions, pieces, has_scale):
                   CustomWriter(kind, number, *rest))


def prepare(target):
    target.prepare()
    custom_histories.define_all(target, wait_for, REQUEST_S)


def read_lines(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.split(" | ", 1) for line in lines if line and not line.startswith("#"))


def show(name, step, request, ours, theirs):
    print(f"{name}: step {step}: {request.words}\n    {request.method} {request.target}\n    {json.dumps(request.body)[:1500]}")
    show_edits(ours, theirs)


def show_edits(ours, theirs):
    for edit in answers.difference(theirs, ours):
        print(f"    {json.dumps(edit)[:1500]}")
        base = theirs
        for part in edit[0].split("/"):
            part = part.replace("~1", "/").replace("~0", "~")
            try:
                base = base[int(part) if isinstance(base, list) else part]
            except (KeyError, IndexError, TypeError):
                base = "nothing"
                break
        print(f"        kube-apiserver: {json.dumps(base)[:1500]}")


def compare_live(ours, peer, histories):
    different = total = steps = 0
    for name, kind, make in histories:
        total += 1
        for number, (one, other) in enumerate(zip(play(ours, kind, make()), play(peer, kind, make())), 1):
            steps += 1
            if one[2] != other[2]:
                different += 1
                show(name, number, one[0], one[1], other[1])
                break
    print(f"{total} histories, {steps} steps, {different} histories differ")
    return 1 if different else 0


def replay(target, histories, recorded, known):
    """TAP, one test per kind; {history: the step that differs} with its words."""
    kinds, found = collections.defaultdict(list), {}
    for name, kind, make in histories:
        wanted = recorded.get(name, "").split()
        failures = kinds[kind["kind"]]
        first = 0
        for number, (request, answer, got) in enumerate(play(target, kind, make()), 1):
            if number > len(wanted) or wanted[number - 1] != got:
                first, words = number, request.words
                break
        if first:
            found[name] = f"step {first}, {words}"
            if name not in known:
                failures.append(f"{name}: step {first} ({words}) is answered with {json.dumps(answer)[:3000]}, kube-apiserver's answer was "
                                f"{wanted[first - 1] if first <= len(wanted) else 'not recorded'}; --live shows what differs")
        elif name in known:
            failures.append(f"{name} has no difference any more: ./dev differential --histories --update")
    return kinds, found


def judge(kinds):
    for number, (name, failures) in enumerate(kinds.items(), 1):
        print(f"{'not ok' if failures else 'ok'} {number} - {name.replace(' ', '-')}")
        for failure in failures:
            print(f"# {failure}")
    print(f"1..{len(kinds)}")
    return 1 if any(kinds.values()) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for flag in ("live", "record", "update"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_intermixed_args()
    types = Types()
    histories = [history for history in all_histories(types) if chosen(options.words, history[0])]
    if options.record:
        with kube_apiserver(types) as peer:
            prepare(peer)
            asked = {name: " ".join(got for _, _, got in play(peer, kind, make())) for name, kind, make in histories}
        asked = {**read_lines(RECORD), **asked}
        RECORD.write_text("".join(f"{name} | {asked[name]}\n" for name, *_ in all_histories(types) if name in asked))
    with coracle(options.program, types) as target:
        prepare(target)
        if options.live:
            with kube_apiserver(types) as peer:
                prepare(peer)
                return compare_live(target, peer, histories)
        known = read_lines(KNOWN)
        kinds, found = replay(target, histories, read_lines(RECORD), known)
    if options.update or options.record:
        lines = ["# Histories that differ from kube-apiserver's: the history, the reason (a row of docs/COMPAT.md), and where. ./dev differential",
                 "# --histories --update removes those that have become equal, and adds those that differ."]
        reasons = {name: line.split(" | ")[0] for name, line in known.items()}
        kept = {name: line for name, line in known.items() if not chosen(options.words, name)}
        lines += [f"{name} | {line}" for name, line in kept.items()]
        lines += [f"{name} | {reasons.get(name, 'unknown')} | {where}" for name, where in found.items()]
        KNOWN.write_text("\n".join(lines) + "\n")
        print(f"{len(found)} of {len(histories)} histories differ")
        return 0
    lacking = {line.split(" | ")[0] for line in known.values()} - set(re.findall(r"^\| `(\w+)` \|", COMPAT.read_text(), re.M))
    kinds["reasons"] = [f"docs/COMPAT.md has no row for the reason {reason}" for reason in sorted(lacking)]
    return judge(kinds)


if __name__ == "__main__":
    sys.exit(main())
