#!/usr/bin/env python3
"""Generated objects that rules of the kinds refuse or just accept, sent to Coracle and to a kube-apiserver: code and causes are compared.

  invalid.py PROGRAM [WORD..]            replays the recorded answers and prints TAP, one test per kind
  invalid.py PROGRAM --report [WORD..]   replays, and prints what differs
  invalid.py PROGRAM --live [WORD..]     asks the kube-apiserver of COR_KUBE_APISERVER now, and prints what differs
  invalid.py PROGRAM --record            asks it, and keeps its answers in records/invalid.txt
  invalid.py PROGRAM --update            replays, and writes how much differs into invalid.txt

Every request is made from the full object of a kind, which the records of differential.py have. A creation and a write to the status
give one member of the object another value: an empty, negative, huge, odd, long or repeated one, or none. Each member of each
struct is changed once, in the first kind that has it, so that every rule about a single value gets an object that breaks it whoever wrote
the rule. Kinds with a pod template get the full pod in it, and some members of that pod are changed. An update changes a few
members of the stored object at random. All requests but the creation of the stored object are dry runs.

The share of equal answers is printed for each kind, for the kinds whose rules are complete (COMPLETE), and for all.

The answer to a request is its code and the set of its causes, each by field and reason; a digest stands for the messages. What differs is counted
for each kind: invalid.txt has how many answers, and how many messages, differ at most. The replay fails when there are more."""

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

import records  # noqa: E402
from cases import SERVER_FIELDS  # noqa: E402
from differential import all_kinds, chosen, coracle, kube_apiserver  # noqa: E402
from tables import Types, members  # noqa: E402

RECORD = HERE / "records/invalid.txt"
LIMITS = HERE / "invalid.txt"
NONE = object()
ODD = "-A b"
LONG = "a" * 300
UPDATES = 20
# Where kinds have the pod of a template, and how many members of it are changed there.
TEMPLATES = {"v1 PodTemplate": ["template"], "batch/v1 CronJob": ["spec", "jobTemplate", "spec", "template"],
             **{kind: ["spec", "template"] for kind in ("v1 ReplicationController", "apps/v1 Deployment", "apps/v1 StatefulSet", "apps/v1 DaemonSet",
                                                        "apps/v1 ReplicaSet", "batch/v1 Job")}}
TEMPLATE_MEMBERS = 40
# Kinds whose rules are meant to be upstream's: at least 98 % of their answers are equal.
COMPLETE = {*(f"v1 {kind}" for kind in ("Pod", "PodTemplate", "ReplicationController", "Service", "Endpoints", "ConfigMap", "Secret", "ServiceAccount",
                                        "Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "ResourceQuota", "LimitRange", "Event")),
            *(f"apps/v1 {kind}" for kind in ("ReplicaSet", "Deployment", "StatefulSet", "DaemonSet")), "batch/v1 Job", "batch/v1 CronJob",
            "discovery.k8s.io/v1 EndpointSlice", "networking.k8s.io/v1 Ingress", "networking.k8s.io/v1 IngressClass",
            "networking.k8s.io/v1 NetworkPolicy", "autoscaling/v1 HorizontalPodAutoscaler", "autoscaling/v2 HorizontalPodAutoscaler",
            "policy/v1 PodDisruptionBudget", "coordination.k8s.io/v1 Lease", "scheduling.k8s.io/v1 PriorityClass", "node.k8s.io/v1 RuntimeClass",
            "certificates.k8s.io/v1 CertificateSigningRequest", "apiregistration.k8s.io/v1 APIService", "events.k8s.io/v1 Event",
            *(f"storage.k8s.io/v1 {kind}" for kind in ("StorageClass", "CSIDriver", "CSINode", "CSIStorageCapacity", "VolumeAttachment")),
            *(f"rbac.authorization.k8s.io/v1 {kind}" for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")),
            *(f"admissionregistration.k8s.io/v1 {kind}WebhookConfiguration" for kind in ("Mutating", "Validating")),
            "flowcontrol.apiserver.k8s.io/v1 FlowSchema", "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration"}
LETTERS = {"FieldValueRequired": "R", "FieldValueInvalid": "I", "FieldValueNotSupported": "N", "FieldValueDuplicate": "D",
           "FieldValueForbidden": "F", "FieldValueTooLong": "L", "FieldValueTooMany": "M", "FieldValueNotFound": "X",
           "FieldValueTypeInvalid": "T", "InternalError": "E"}
VALUES = {
    "INT32": {"negative": -1, "zero": 0, "huge": 2147483647}, "INT64": {"negative": -1, "zero": 0, "huge": 2147483648},
    "QUANTITY": {"negative": "-1", "zero": "0", "fraction": "1500m"},
    "INT_OR_STRING": {"negative": -1, "zero": 0, "odd": ODD, "percent": "101%"},
    "STRUCT": {"none": NONE, "empty": {}}, "TIME": {"none": NONE}, "MICRO_TIME": {"none": NONE},
    "BYTES": {"empty": "", "odd": "eA=="}, "RAW": {"none": NONE},
}
# What differs from run to run in messages: uids, times, addresses of services, the names of objects that a server makes.
VOLATILE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?!2026-01-02T)20\d\d-\d\d-\d\dT[\d:.]+Z|10\.0\.0\.\d+"
                      r"|\b3[0-2]\d\d\d\b")


def bad_values(kind, value):
    """{word: value} of what a member of a type becomes."""
    if kind.shape == "STRING":
        return {"empty": "", "odd": ODD} if kind.values else {"empty": "", "odd": ODD, "long": LONG}
    if kind.shape == "BOOL":
        return {"flipped": not value}
    if kind.shape == "LIST":
        return {"empty": [], "repeated": [*value, value[0]]} if value else {}
    if kind.shape == "MAP":
        first = next(iter(value.values()), None)
        found = {"empty": {}, "odd": {**value, ODD: first}} if value else {}
        return {**found, "value": {**value, "a": ODD}} if isinstance(first, str) and kind.element.shape == "STRING" else found
    return VALUES.get(kind.shape, {})


def members_of(struct, value, path, seen):
    """(path, type, value) of each member of an object whose struct has not shown that member before."""
    for field in members(struct):
        inner = value.get(field.name)
        if inner is None or (struct.go, field.name) in seen or not path and field.name in ("apiVersion", "kind", "status"):
            continue
        if path[-1:] == ["metadata"] and field.name in (*SERVER_FIELDS, "name", "namespace"):
            continue
        seen.add((struct.go, field.name))
        where, kind = [*path, field.name], field.type
        yield where, kind, inner
        yield from inner_members(kind, inner, where, seen)


def inner_members(kind, value, path, seen):
    if kind.shape == "STRUCT" and isinstance(value, dict):
        yield from members_of(kind, value, path, seen)
    elif kind.shape == "LIST" and kind.element.shape in ("STRUCT", "LIST", "MAP"):
        for number, item in enumerate(value):
            yield from inner_members(kind.element, item, [*path, number], seen)
    elif kind.shape == "LIST" and value:
        yield [*path, 0], kind.element, value[0]
    elif kind.shape == "MAP" and value:
        key = next(iter(value))
        if kind.element.shape != "STRING":
            yield [*path, key], kind.element, value[key]
        yield from inner_members(kind.element, value[key], [*path, key], seen)


def text_of(path):
    """A path as causes have it."""
    text = path[0]
    for step in path[1:]:
        text += f"[{step}]" if isinstance(step, int) or re.search(r"[^\w]", step) else f".{step}"
    return text


def with_value(body, path, value):
    body = copy.deepcopy(body)
    inner = body
    for step in path[:-1]:
        inner = inner[step]
    if value is NONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return body


def leaves(value, path=()):
    """Paths of what an update may change."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if not path and key in ("apiVersion", "kind", "metadata", "status"):
            continue
        yield [*path, key], inner
        if isinstance(inner, (dict, list)):
            yield from leaves(inner, (*path, key))


def other_value(value, draw):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return draw.choice([value + "x", "", NONE])
    if isinstance(value, list):
        return draw.choice([NONE, [], [*value, value[0]] if value else [1], value[:-1]])
    return NONE


class Request:
    """One generated request; `where` is the path that was changed, as causes have it. Changes are (path, value)."""

    def __init__(self, name, where, verb, changes):
        self.name, self.where, self.verb, self.changes = name, where, verb, changes


def template_requests(kind, pod, types):
    """Creations of a kind with the pod of a template: the full pod as it is, and with one member changed."""
    place, draw = TEMPLATES[kind["kind"]], random.Random(kind["kind"])
    spec = {name: value for name, value in pod["full"]["spec"].items() if name != "ephemeralContainers"}
    spec["restartPolicy"] = "Never" if kind["kind"].startswith("batch") else "Always"
    whole = ([*place, "spec"], spec)
    yield Request("template full", "", "create", [whole])
    found = list(members_of(types.of("v1 Pod"), {"spec": spec}, [], set()))
    for path, shape, value in draw.sample(found, TEMPLATE_MEMBERS):
        word, bad = draw.choice([*bad_values(shape, value).items(), ("none", NONE)])
        if not isinstance(path[-1], int):
            yield Request(f"template {text_of(path)} {word}", text_of([*place, *path]), "create", [whole, ([*place, *path], bad)])


def requests_of(record, types, seen, pod=None):
    """All requests of a kind, without their bodies. `pod` is the kind Pod."""
    kind, struct = record.kind, types.of(record.kind["kind"])
    full = kind.get("full", kind["minimal"])
    for path, shape, value in members_of(struct, full, [], seen):
        for word, bad in bad_values(shape, value).items():
            yield Request(f"{text_of(path)} {word}", text_of(path), "create", [(path, bad)])
    if pod and kind["kind"] in TEMPLATES:
        yield from template_requests(kind, pod, types)
    if isinstance(kind.get("status"), dict) and not kind["volatile"]:
        field = next(f for f in members(struct) if f.name == "status")
        for path, shape, value in members_of(field.type, kind["status"], ["status"], seen):
            for word, bad in bad_values(shape, value).items():
                yield Request(f"{text_of(path)} {word}", text_of(path), "status", [(path, bad)])
    draw, found = random.Random(kind["kind"]), list(leaves(full))
    for number in range(UPDATES if found and not kind["volatile"] and not kind["is_review"] else 0):
        changes = [(path, other_value(value, draw)) for path, value in draw.sample(found, min(len(found), draw.choice([1, 1, 2])))]
        yield Request(f"update {number}", "", "update", changes)


def digest_of(record, requests):
    whole = hashlib.sha256(json.dumps([record.kind.get(word) for word in ("minimal", "full", "status")]).encode())
    for request in requests:
        whole.update(repr((request.name, request.verb, [(path, "none" if value is NONE else value) for path, value in request.changes])).encode())
    return whole.hexdigest()[:12]


def result_of(status, answer, where):
    """An answer in its short form: "ok", a code, or the causes of a 422, and a digest of its messages."""
    if status < 300:
        return "ok", ""
    causes = answer.get("details", {}).get("causes", []) if isinstance(answer, dict) else []
    if status != 422 or not causes:
        return str(status), ""
    found, texts = set(), set()
    for cause in causes:
        field = cause.get("field", "")
        found.add(LETTERS.get(cause.get("reason"), "?") + ("" if field == where else field))
        texts.add(VOLATILE.sub("*", field + ": " + cause.get("message", "").partition("\n")[0]))
    return ",".join(sorted(found)), hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()[:4]


def all_requests(types):
    """(record, its requests) of every kind."""
    seen, recorded = set(), records.read_all(all_kinds(types), types)
    pod = next(record.kind for record in recorded if record.kind["kind"] == "v1 Pod")
    return [(record, list(requests_of(record, types, seen, pod))) for record in recorded]


def ask(target, record, requests):
    """(request, result, digest, answer) of each request of a kind."""
    kind = record.kind
    full, headers = kind.get("full", kind["minimal"]), {"Content-Type": "application/json"}
    stored, name = None, f"{kind['path']}/{kind['name']}"
    for request in requests:
        if request.verb != "create" and stored is None:
            _, stored = target.json("POST", kind["path"], full)
        base = full if request.verb == "create" else stored
        if request.verb == "status":
            base = {**stored, "status": kind["status"]}
        body = base
        for path, value in request.changes:
            try:
                body = with_value(body, path, value)
            except (KeyError, IndexError, TypeError):
                pass  # A change before it has removed the member, or the server did not keep it.
        method, path = ("POST", kind["path"]) if request.verb == "create" else ("PUT", name + ("/status" if request.verb == "status" else ""))
        status, _, text = target.request(method, path + "?dryRun=All", json.dumps(body, separators=(",", ":")), headers)
        answer = json.loads(text) if text[:1] == b"{" else text.decode(errors="replace")
        yield request, *result_of(status, answer, request.where), answer
    if stored is not None:
        target.clean(kind)


def read_record():
    """{kind: (digest of the requests, {name: (result, digest of the messages)})}"""
    found, answers = {}, {}
    for line in RECORD.read_text().splitlines() if RECORD.exists() else []:
        if line.startswith("= "):
            kind, digest = line[2:].rsplit(" ", 1)
            answers = {}
            found[kind] = digest, answers
        else:
            where, *words = line.split("\t")
            for word in words:
                name, _, result = word.partition("=")
                result, _, digest = result.partition("#")
                answers[f"{where} {name}"] = result, digest
    return found


def write_record(recorded):
    lines = []
    for kind, (digest, answers) in recorded.items():
        lines.append(f"= {kind} {digest}")
        by_place = collections.defaultdict(list)
        for name, (result, messages) in answers.items():
            where, word = name.rsplit(" ", 1)
            by_place[where].append(f"{word}={result}" + (f"#{messages}" if messages else ""))
        lines += ["\t".join([where, *words]) for where, words in by_place.items()]
    RECORD.write_text("\n".join(lines) + "\n")


def read_limits():
    """{kind: (answers that may differ, messages that may)}"""
    lines = [line.split(" | ") for line in LIMITS.read_text().splitlines() if not line.startswith("#")] if LIMITS.exists() else []
    return {kind: (int(answers), int(messages)) for kind, answers, messages in lines}


class Tally:
    """How the answers of one kind compare."""

    def __init__(self):
        self.total = self.answers = self.messages = 0
        self.differing = []

    def add(self, request, ours, theirs, answer):
        self.total += 1
        if ours[0] != theirs[0]:
            self.answers += 1
        elif ours[1] != theirs[1]:
            self.messages += 1
        else:
            return
        self.differing.append((request, ours, theirs, answer))

    def include(self, other):
        self.total, self.answers, self.messages = self.total + other.total, self.answers + other.answers, self.messages + other.messages

    def __str__(self):
        share = 100 * (self.total - self.answers) / max(1, self.total)
        return f"{share:5.1f} % of {self.total}: {self.answers} answers differ, {self.messages} only in their messages"


def compare(target, kinds, recorded, words):
    """{kind: Tally}; an AssertionError when the requests are not the recorded ones."""
    tallies = {}
    for record, requests in kinds:
        name = record.kind["kind"]
        wanted, answers = recorded.get(name, ("", {}))
        assert wanted == digest_of(record, requests), \
            f"the requests of {name} are not the recorded ones: ./dev differential --invalid --record asks a kube-apiserver again"
        requests = [request for request in requests if chosen(words, name, request.name)]
        tally = tallies[name] = Tally()
        for request, result, messages, answer in ask(target, record, requests):
            tally.add(request, (result, messages), answers[request.name], answer)
    return tallies


def report(tallies):
    whole, complete = Tally(), Tally()
    for name, tally in tallies.items():
        for request, ours, theirs, answer in tally.differing:
            what = "messages" if ours[0] == theirs[0] else "answer"
            print(f"{name}: {request.name}: {what}: ours {ours[0]} kube-apiserver's {theirs[0]}")
            causes = answer.get("details", {}).get("causes", []) if isinstance(answer, dict) else []
            for cause in causes:
                print(f"    {cause.get('field')}: {cause.get('message', '')[:300]}")
        whole.include(tally)
        if name in COMPLETE:
            complete.include(tally)
    print()
    for name, tally in tallies.items():
        if tally.total:
            print(f"{name:66} {tally}")
    print(f"{f'{len(COMPLETE)} kinds whose rules are complete':66} {complete}")
    print(f"{'all':66} {whole}")
    return 0


def judge(tallies):
    """TAP: a kind fails when more answers or messages differ than invalid.txt has."""
    limits, failed = read_limits(), 0
    for number, (name, tally) in enumerate(tallies.items(), 1):
        answers, messages = limits.get(name, (0, 0))
        is_worse = tally.answers > answers or tally.answers + tally.messages > answers + messages
        failed |= is_worse
        print(f"{'not ok' if is_worse else 'ok'} {number} - {name.replace(' ', '-')}\n# {tally}")
        for request, ours, theirs, _ in tally.differing if is_worse else ():
            print(f"# {request.name}: ours {ours[0]}, kube-apiserver's {theirs[0]}")
    print(f"1..{len(tallies)}")
    return failed


def update(tallies):
    lines = ["# How many answers to generated invalid objects differ at most from kube-apiserver's: kind, answers, answers that differ only in",
             "# their messages. ./dev differential --invalid --update writes it."]
    lines += [f"{name} | {tally.answers} | {tally.messages}" for name, tally in tallies.items() if tally.differing]
    LIMITS.write_text("\n".join(lines) + "\n")
    print(f"{sum(tally.answers for tally in tallies.values())} answers differ, {sum(tally.messages for tally in tallies.values())} in their messages alone")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for flag in ("report", "live", "record", "update"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_intermixed_args()
    types = Types()
    kinds = all_requests(types)
    recorded = read_record()
    assert COMPLETE <= {record.kind["kind"] for record, _ in kinds}, COMPLETE - {record.kind["kind"] for record, _ in kinds}
    assert not (options.words and (options.record or options.update)), "records and counts have all kinds"
    if options.live or options.record:
        with kube_apiserver(types) as peer:
            peer.prepare()
            recorded = {}
            for record, requests in kinds:
                peer.clean(record.kind)
                answers = {request.name: (result, messages) for request, result, messages, _ in ask(peer, record, requests)}
                recorded[record.kind["kind"]] = digest_of(record, requests), answers
        if options.record:
            write_record(recorded)
    with coracle(options.program, types) as target:
        target.prepare()
        tallies = compare(target, kinds, recorded, options.words)
    if options.update:
        return update(tallies)
    return report(tallies) if options.report or options.live or options.record else judge(tallies)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AssertionError as failure:
        print(f"1..0\nBail out! {failure}")
        sys.exit(1)
