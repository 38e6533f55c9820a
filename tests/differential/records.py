"""What a kube-apiserver answered, as the files of records/ keep it: one file for each group and version, and common.jsonl.

Most kinds answer a case in the same way when their own words (the kind, its plural, its group …) are left out of the answer. So
common.jsonl has one answer for each case, the one that most kinds give, and a kind's file has only the answers that differ from
it. Nothing is lost by that: every answer is rebuilt whole before it is compared.

A kind's lines, in their order:
  {"kind": .., "full": .., "empty": .., "status": .., "requests": ..}
                            its objects, without what common.jsonl has of their metadata, and a digest of the requests, which
                            the cases are made from again: what the peer answered to other requests says nothing
  {"DeploymentSpec": ["int32", ..]}
                            the answers to wrong types, in the order of the cases: the Go struct that the message names, and the
                            Go type of each field; an answer in other words is a list, [code, the rest] or [message]
  [cases, code, the rest]   cases that share an answer, or [cases, message] for a 400 with a message alone. An object is kept as
                            edits of another one: of what was sent, or of an earlier answer
  [cases, number]           cases whose answer is on that line of common.jsonl, but is not the one that most kinds give"""

import collections
import copy
import hashlib
import json
import pathlib
import re

import cases
from answers import MASKED, difference, edited

RECORDS = pathlib.Path(__file__).resolve().parent / "records"
COMMON = "common"
GROWN = ("full", "empty", "status")
NO_GROUP = "⟨g⟩"


def file_of(kind_name):
    return kind_name.split()[0].replace("/", "_")


def case_class(case):
    """(the name under which kinds share a case, the path of the object that the case is about)."""
    found = re.match(r"(strategic patch (?:that \w+ (?:from|into)|that replaces|without the key of)) (.*)", case)
    return (found[1] + " …", found[2]) if found else (case, None)


def unmarshalled(value, go_type):
    """What Go's decoder calls a value of JSON that does not fit."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return f"number {json.dumps(value)}" if re.match("u?int|float", go_type) else "number"
    return {str: "string", list: "array", dict: "object"}[type(value)]


def unknown_warnings(case):
    return [f'unknown field \\"{path}\\"' for path in case.get("unknown", [])]


def unknown_message(case):
    return ", ".join(f'unknown field "{path}"' for path in case.get("unknown", [])) or "⟨unknown⟩"


class Packer:
    """The answers of one kind in their short form, [code, the rest] or [message], and back. Both ways take the cases in their order,
    since an answer may be kept as edits of an earlier one."""

    BASES = ("minimal", "full in json", "created", "minimal in protobuf", "full in protobuf", "read as protobuf",
             "update of the status", "read as table", "read of the scale as json", "initial events as json", "watch as json")
    LISTED = {"created": "created, listed", "read as partial": "partial, listed"}

    def __init__(self, kind):
        group_version, self.name = kind["kind"].split()
        self.group, _, version = group_version.rpartition("/")
        plural = kind["path"].split("/")[-1]
        self.head = f'{self.name} in version "{version}" cannot be handled as a {self.name}: '
        self.bases = {f"{word} sent": self.made(kind, kind[word]) for word in ("minimal", "full") if word in kind}
        self.warning = kind.get("warns")
        dotted = f".{self.group}" if self.group else ""
        self.words = [(self.head + "json: cannot unmarshal ", "≠"), (self.head, "≈"), (" into Go struct field ", "→"),
                      (f"{plural}{dotted} ", "⟨p.g⟩ "), (f"{self.name}{dotted} ", "⟨K.g⟩ "),
                      (f'for version "{group_version}"', 'for version "⟨gv⟩"')]
        self.whole_words = {plural: "⟨p⟩", self.name: "⟨K⟩", kind["name"]: "⟨n⟩"}

    @staticmethod
    def made(kind, sent):
        """What was sent, with what a creation adds to every object."""
        added = {"creationTimestamp": MASKED, "uid": MASKED}
        if "/namespaces/" in kind["path"]:
            added["namespace"] = kind["path"].split("/namespaces/")[1].split("/")[0]
        return {**sent, "metadata": {**sent["metadata"], **added}}

    def shorten(self, text, path):
        for long, short in self.words:
            text = text.replace(long, short)
        if path:
            text = text.replace(path, "⟨…⟩")
        return re.sub(r"\b(" + "|".join(map(re.escape, self.whole_words)) + r")\b", lambda m: self.whole_words[m[1]], text)

    def lengthen(self, text, path):
        for long, short in self.whole_words.items():
            text = text.replace(short, long)
        if path:
            text = text.replace("⟨…⟩", path)
        for long, short in reversed(self.words):
            text = text.replace(short, long)
        return text

    def in_texts(self, change, value, path):
        """`value` with each string in it changed."""
        if isinstance(value, str):
            return change(value, path)
        if isinstance(value, list):
            return [self.in_texts(change, item, path) for item in value]
        if isinstance(value, dict):
            return {name: self.in_texts(change, item, path) for name, item in value.items()}
        return value

    def remember(self, case, answer):
        if case in self.BASES and "object" in answer:
            self.bases[case] = answer["object"]
        if case == "created" and "object" in answer:
            self.bases["created, partial"] = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                                              "metadata": answer["object"]["metadata"]}
            self.bases["created, initial"] = {"frames": [["ADDED", answer["object"]], ["BOOKMARK", {
                "kind": self.name, "apiVersion": answer["object"]["apiVersion"], "metadata": {
                    "resourceVersion": MASKED, "annotations": {"k8s.io/initial-events-end": "true"}}}]]}
            self.bases["created, table"] = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": MASKED},
                                            "rows": [{"cells": [], "object": self.bases["created, partial"]}]}
        if case == "read as table" and "rows" in answer.get("object", {}):
            whole = copy.deepcopy(answer["object"])
            whole["rows"][0]["object"] = self.bases.get("created")
            self.bases["created, whole table"] = whole
        if case == "changed" and "object" in answer:
            self.remember_changed(answer["object"])
        if case in self.LISTED and "object" in answer:
            item = {name: value for name, value in answer["object"].items() if name not in ("kind", "apiVersion") or case != "created"}
            self.bases[self.LISTED[case]] = {"items": [item], "metadata": {"resourceVersion": MASKED},
                                             "kind": answer["object"]["kind"] + "List", "apiVersion": answer["object"]["apiVersion"]}

    def remember_changed(self, changed):
        """What a watch shows of a change and a deletion; of some kinds the deletion is a change as well."""
        tables = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": MASKED}, "rows": [{"object": {
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": changed["metadata"]}}]}
        read = self.bases.get("read as table", {})
        if read.get("rows"):
            tables = {**tables, "columnDefinitions": None, "rows": [{**tables["rows"][0], "cells": read["rows"][0]["cells"]}]}
        first = {**tables, "columnDefinitions": read.get("columnDefinitions")}
        shown = {"changed": [changed, changed], "changed, tables": [first, tables]}
        for name, (one, other) in shown.items():
            frames = [["MODIFIED", one], ["DELETED", other]]
            # Copies: edits of one frame must not be seen in another.
            self.bases[f"{name}, watched"] = {"frames": json.loads(json.dumps(frames))}
            self.bases[f"{name} twice, watched"] = {"frames": json.loads(json.dumps([frames[0], ["MODIFIED", other], frames[1]]))}

    def pack_object(self, found):
        if set(found) == {"yaml"}:
            return found["yaml"]
        ways = [[name, difference(base, found)] for name, base in self.bases.items()]
        return min([*ways, ["", [["", found]]]], key=lambda way: len(json.dumps(way)))

    def unpack_object(self, packed):
        if isinstance(packed, str):
            return {"yaml": packed}
        name, edits = packed
        return edited(self.bases.get(name), edits)

    @staticmethod
    def listed(details):
        """The causes as a message has them at its end."""
        texts = [f"{cause.get('field')}: {cause.get('message')}" for cause in details.get("causes", [])]
        return f"[{', '.join(texts)}]" if len(texts) > 1 else "".join(texts)

    def pack_details(self, rest):
        details = rest["details"] = copy.deepcopy(rest["details"])
        if "kind" in details and details.get("group", "") == self.group:
            details["group"] = NO_GROUP
        listed = self.listed(details)
        if listed and rest.get("message", "").endswith(listed):
            rest["message"] = rest["message"].removesuffix(listed) + "⟨causes⟩"

    def unpack_details(self, rest):
        details = rest["details"]
        if details.get("group") == NO_GROUP:
            details["group"] = self.group
            if not self.group:
                del details["group"]
        if rest.get("message", "").endswith("⟨causes⟩"):
            rest["message"] = rest["message"].removesuffix("⟨causes⟩") + self.listed(details)

    def pack_warnings(self, case, rest, code):
        """Leaves out the warning that every success of the kind has, and writes one word for those of all unknown fields."""
        found = list(rest.get("warnings", []))
        if self.warning and code < 300:
            if found[:1] != [self.warning]:
                rest["silent"] = True
            else:
                found = found[1:]
        if found and found == unknown_warnings(case):
            found = "⟨unknown⟩"
        rest.pop("warnings", None)
        if found:
            rest["warnings"] = found

    def unpack_warnings(self, case, rest, code):
        found = rest.pop("warnings", [])
        if found == "⟨unknown⟩":
            found = unknown_warnings(case)
        if self.warning and code < 300 and not rest.pop("silent", False):
            found = [self.warning, *found]
        if found:
            rest["warnings"] = found

    def pack(self, given, answer):
        rest, case = {name: value for name, value in answer.items() if name != "code"}, given["case"]
        path = case_class(case)[1]
        self.pack_warnings(given, rest, answer["code"])
        if "object" in answer:
            rest["object"] = self.pack_object(answer["object"])
        if "details" in rest:
            self.pack_details(rest)
        self.remember(case, answer)
        if answer["code"] == 400 and set(rest) == {"reason", "message"} and rest["reason"] == "BadRequest":
            return [self.shorten(rest["message"].replace(unknown_message(given), "⟨unknown⟩"), path)]
        return [answer["code"], self.in_texts(self.shorten, rest, path)]

    def unpack(self, given, packed):
        case = given["case"]
        path = case_class(case)[1]
        if len(packed) == 1:
            message = self.lengthen(packed[0], path).replace("⟨unknown⟩", unknown_message(given))
            return {"code": 400, "reason": "BadRequest", "message": message}
        code, rest = packed[0], self.in_texts(self.lengthen, packed[1], path)
        self.unpack_warnings(given, rest, code)
        if "object" in rest:
            rest["object"] = self.unpack_object(rest["object"])
        if "details" in rest:
            self.unpack_details(rest)
        answer = {"code": code, **rest}
        self.remember(case, answer)
        return answer

    def wrong_message(self, case, struct, go_type):
        path = ".".join(step for step in map(str, case["at"]) if not step.isdigit())
        return (f"{self.head}json: cannot unmarshal {unmarshalled(case['value'], go_type)} into Go struct field "
                f"{struct}.{path} of type {go_type}")

    def pack_wrong(self, case, answer):
        """(Go struct, Go type) if the answer is the message that they make, else ("", the answer in its short form)."""
        found = re.search(r" into Go struct field (\w+)\..* of type (\S+)$", answer.get("message", ""))
        if found and answer == {"code": 400, "reason": "BadRequest", "message": self.wrong_message(case, found[1], found[2])}:
            return found[1], found[2]
        return "", self.pack(case, answer)

    def unpack_wrong(self, case, struct, packed):
        if isinstance(packed, list):
            return self.unpack(case, packed)
        return {"code": 400, "reason": "BadRequest", "message": self.wrong_message(case, struct, packed)}


def is_wrong(case):
    return case["case"].startswith("wrong ")


class Record:
    """A kind with its objects, its cases and the peer's answers."""

    def __init__(self, kind):
        self.kind, self.cases, self.is_stale = kind, [], False

    def digest(self, types):
        whole = hashlib.sha256()
        for case in self.cases:
            whole.update(repr((case["case"], cases.request_of(case, self.kind, types))).encode())
        return whole.hexdigest()[:16]

    def pack(self):
        """(the answers to wrong types, as [Go struct, [types]] pairs; [case, packed] of the others)."""
        packer, wrong, others = Packer(self.kind), [], []
        for case in self.cases:
            if is_wrong(case):
                struct, packed = packer.pack_wrong(case, case["answer"])
                if not wrong or struct not in ("", wrong[-1][0]):
                    wrong.append([struct, []])
                wrong[-1][1].append(packed)
            else:
                others.append([case["case"], packer.pack(case, case["answer"])])
        return wrong, others

    def unpack(self, wrong, own, common):
        packer, left = Packer(self.kind), collections.deque((struct, packed) for struct, types in wrong for packed in types)
        for case in self.cases:
            if is_wrong(case):
                case["answer"] = packer.unpack_wrong(case, *left.popleft()) if left else None
            else:
                packed = own.get(case["case"]) or common.get(case_class(case["case"])[0])
                case["answer"] = packer.unpack(case, packed) if packed else None


def common_metadata(records, word):
    """The metadata that most objects of a word (full, empty) have."""
    found = collections.Counter(json.dumps(record.kind[word]["metadata"]) for record in records if word in record.kind)
    return json.loads(found.most_common(1)[0][0]) if found else {}


def warning_of_all(record):
    """The warning with which every success of a kind that is deprecated begins, or None."""
    firsts = {case["answer"].get("warnings", [None])[0] for case in record.cases if case["answer"]["code"] < 300}
    return firsts.pop() if len(firsts) == 1 else None


def pack_head(kind, metadata):
    head = {word: kind[word] for word in ("kind", "warns") if word in kind}
    for word in GROWN:
        if word in kind:
            head[word] = kind[word]
            if word in metadata:
                head[word] = {name: value for name, value in kind[word].items() if name not in ("apiVersion", "kind")}
                if head[word]["metadata"] == {**metadata[word], "name": kind["name"]}:
                    del head[word]["metadata"]
    return head


def unpack_head(head, kind, metadata):
    if "warns" in head:
        kind["warns"] = head["warns"]
    for word in GROWN:
        if word in head:
            kind[word] = head[word]
            if word in metadata:
                api_version, name = kind["kind"].split()
                given = {"metadata": {**metadata[word], "name": kind["name"]}, **head[word]}
                kind[word] = {"apiVersion": api_version, "kind": name, **given}


def lines_of(pairs, shared=()):
    """[cases, code, the rest] lines of [case, packed] pairs; cases with the same answer share one. An answer that is one of
    `shared` is only its number there."""
    lines, numbers = {}, {json.dumps(packed): number for number, packed in enumerate(shared)}
    for case, packed in pairs:
        text = json.dumps(packed)
        lines.setdefault(text, [[], *([numbers[text]] if text in numbers else packed)])[0].append(case)
    return [[names if len(names) != 1 else names[0], *packed] for names, *packed in lines.values()]


def pairs_of(lines, shared=()):
    """case -> packed."""
    return {case: shared[packed[0]] if len(packed) == 1 and isinstance(packed[0], int) else packed
            for names, *packed in lines for case in ([names] if isinstance(names, str) else names)}


def read_lines(name):
    path = RECORDS / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def read_all(kinds, types):
    """The records of (name, kind) pairs; those that were never recorded are left out."""
    head, *lines = read_lines(COMMON) or [{}]
    common, metadata, found, files = pairs_of(lines), head.get("metadata", {}), [], {}
    shared = [packed for _, *packed in lines]
    wrong_types = cases.WrongTypes()
    for name, kind in kinds:
        if file_of(name) not in files:
            files[file_of(name)] = {}
            for line in read_lines(file_of(name)):
                if isinstance(line, dict) and "kind" in line:
                    current = files[file_of(name)][line["kind"]] = (line, [], [])
                else:
                    current[1 if isinstance(line, dict) else 2].append(line)
        if name not in files[file_of(name)]:
            continue
        head, wrong, lines = files[file_of(name)][name]
        unpack_head(head, kind, metadata)
        record = Record(kind)
        record.cases = [dict(case) for case in cases.all_cases(kind, types, wrong_types)]
        record.is_stale = record.digest(types) != head["requests"]
        record.unpack([pair for line in wrong for pair in line.items()], pairs_of(lines, shared), common)
        found.append(record)
    return found


def common_lines(packed):
    """Lines of the answers that several kinds give, each with the cases to which most kinds give it, or with none."""
    counted = collections.defaultdict(collections.Counter)
    for _, _, others in packed:
        for case, answer in others:
            counted[case_class(case)[0]][json.dumps(answer)] += 1
    lines = {}
    for case, counter in counted.items():
        text, count = counter.most_common(1)[0]
        if count > 1:
            lines.setdefault(text, []).append(case)
    for counter in counted.values():
        for text, count in counter.items():
            if count > 1:
                lines.setdefault(text, [])
    return [[names, *json.loads(text)] for text, names in lines.items()]


def write_all(records, types):
    RECORDS.mkdir(exist_ok=True)
    metadata = {word: common_metadata(records, word) for word in ("full", "empty")}
    for record in records:
        if warning_of_all(record):
            record.kind["warns"] = warning_of_all(record)
    packed = [(record, *record.pack()) for record in records]
    shared, files = common_lines(packed), collections.defaultdict(list)
    common, shared_answers = pairs_of(shared), [answer for _, *answer in shared]
    files[COMMON] = [{"metadata": metadata}, *shared]
    for record, wrong, others in packed:
        own = [[case, answer] for case, answer in others if common.get(case_class(case)[0]) != answer]
        head = {**pack_head(record.kind, metadata), "requests": record.digest(types)}
        files[file_of(record.kind["kind"])] += [head, *({struct: found} for struct, found in wrong), *lines_of(own, shared_answers)]
    for path in RECORDS.glob("*.jsonl"):
        path.unlink()
    for name, lines in files.items():
        text = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)
        (RECORDS / f"{name}.jsonl").write_text(text)
