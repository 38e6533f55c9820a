#!/usr/bin/env python3
"""Sends the requests of the case files (*.cases, whose format case_file.py describes) and compares the answers with the expected ones.

  run_cases.py PROGRAM [WORD..]            runs the cases against our server and prints TAP, one test per file. A word is the name of a
                                           file (workloads), or what the header of a case or its kind has (5.1.2, Deployment)
  run_cases.py PROGRAM --live [WORD..]     runs them against the kube-apiserver of COR_KUBE_APISERVER (and the etcd of COR_ETCD), and says
                                           which expectations are wrong. COR_KUBE_APISERVER_PORT names one that runs already
  run_cases.py PROGRAM --record [WORD..]   writes its answers into the cases, then does as --update
  run_cases.py PROGRAM --update [WORD..]   marks the cases that our server does not pass as pending, and unmarks those that it passes

All cases share one server and one namespace; what a case created is deleted before the next one. Causes are compared as a multiset
after a creation, because the order of a map's keys is free. An update may report a cause several times, so that after other requests
they are compared as a set, unless the case has a cause twice."""

import argparse
import collections
import json
import pathlib
import re
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / "differential"), str(HERE.parent / "integration")]

import answers  # noqa: E402
import case_file  # noqa: E402
from differential import coracle, kind_description, kube_apiserver  # noqa: E402
from etcd_cluster import wait_for  # noqa: E402
from fixture import REQUEST_S  # noqa: E402

MINIMAL = HERE.parent / "differential/minimal.json"
METHODS = {"create": "POST", "update": "PUT", "replace": "PUT", "put": "PUT", "patch": "PATCH", "strategic": "PATCH", "edits": "PATCH",
           "apply": "PATCH", "delete": "DELETE"}
BODY_TYPES = {"patch": "application/merge-patch+json", "strategic": "application/strategic-merge-patch+json",
              "edits": "application/json-patch+json", "apply": "application/apply-patch+yaml"}
REASONS = {"Required value": "FieldValueRequired", "Invalid value": "FieldValueInvalid", "Unsupported value": "FieldValueNotSupported",
           "Duplicate value": "FieldValueDuplicate", "Forbidden": "FieldValueForbidden", "Too long": "FieldValueTooLong",
           "Too many": "FieldValueTooMany", "Not found": "FieldValueNotFound", "Internal error": "InternalError"}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ABSENT = object()
CONFLICTS_MAX = 9


class Kinds:
    """The kinds that cases name, with their paths and base objects."""

    def __init__(self):
        self.kinds, self.subresources = {}, {}
        for name, given in {**json.loads(MINIMAL.read_text()), **json.loads((HERE / "bases.json").read_text())}.items():
            if "/" in name.split()[-1]:
                self.subresources[name] = given
                continue
            self.kinds[name] = kind_description(name, given)
        # The definitions of custom resources, by the kinds that they define.
        self.definitions = {}
        for definition in json.loads((HERE / "definitions.json").read_text()):
            spec = definition["spec"]
            for version in (version for version in spec["versions"] if version["served"]):
                name = f"{spec['group']}/{version['name']} {spec['names']['kind']}"
                self.definitions[name] = definition
                self.kinds[name] = kind_description(name, {"in" if spec["scope"] == "Namespaced" else "of": spec["names"]["plural"],
                                                           "object": {}})

    def base(self, name, sub):
        kind = name.split()[-1]
        for key in (name + sub, f"v1 {kind}{sub}", "*" + sub) if sub else ():
            if key in self.subresources:
                return self.subresources[key]
        return self.kinds[name]["minimal"]


def metadata_in(body):
    metadata = body.get("metadata") if isinstance(body, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def name_in(body, other):
    """The name of the object in a body, or another name if it has none."""
    return metadata_in(body).get("name", other)


def in_path(name):
    return urllib.parse.quote(name, safe=":")


def without_generated(answer, sent):
    """An answer in which "*" is what the server added to a generateName."""
    prefix = metadata_in(sent).get("generateName")
    if not prefix or sent["metadata"].get("name") or not isinstance(answer, dict):
        return answer
    name = answer.get("details", {}).get("name", "") if answer.get("kind") == "Status" else answer["metadata"]["name"]
    if not name.startswith(prefix) or name == prefix:
        return answer
    return json.loads(json.dumps(answer).replace(json.dumps(name)[1:-1], json.dumps(prefix)[1:-1] + "*"))


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
# The cells that show how long ago something was; others may have such a text at their end.
AGES = {"Age", "Created At", "First Seen", "Last Schedule", "Last Seen"}
AGO = re.compile(r"\((\d+[smhdy])+ ago\)")


def column_text(column):
    kind = "" if column["type"] == "string" else ":" + column["type"]
    return column["name"] + kind + ("/" + column["format"] if column["format"] else "") + ("*" if column["priority"] else "")


def row_of(table):
    """What a case compares of a table with one row."""
    row, columns = table["rows"][0], table["columnDefinitions"]
    names = [column["name"] for column in columns] + ["Age"] * (len(row["cells"]) - len(columns))
    cells = [answers.UUID.sub(answers.MASKED, AGO.sub("(* ago)", cell)) if isinstance(cell, str) else cell for cell in row["cells"]]
    cells = [answers.MASKED if name in AGES and not str(cell).startswith("<") else cell for name, cell in zip(names, cells)]
    return {"row": cells, "columns": [column_text(column) for column in columns],
            **({"conditions": row["conditions"]} if "conditions" in row else {})}


def keeps_set(case):
    """Whether the causes of a case are a set: an update may report a cause several times, which matters only to a case that says so."""
    return case.steps[-1].verb != "create" and len(set(case.expected)) == len(case.expected)


def rendered(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def at_path(value, path):
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return value


def member_paths(lines):
    """The paths of the object's members that a case expects or asks for."""
    for line in lines:
        if line in ("? managers", "? written"):
            continue
        if line.startswith("? "):
            yield line[2:]
        elif line.endswith(" absent"):
            yield line.removesuffix(" absent")
        elif " = " in line and not line.startswith(("- ", "warning ", "of ", "manager ")) and not line[:3].isdigit():
            yield line.split(" = ")[0]


def manager_lines(entries):
    """Entries of managedFields as lines "manager NAME/A|U[/SUBRESOURCE] VERSION [untimed] FIELDSV1", in the server's order."""
    lines = []
    for entry in entries:
        name = f"{entry.get('manager', '')}/{entry.get('operation', '')[:1]}"
        if "subresource" in entry:
            name += f"/{entry['subresource']}"
        fields = json.dumps(entry.get("fieldsV1"), separators=(",", ":"), ensure_ascii=False)
        lines.append(f"manager {name} {entry.get('apiVersion', '')} {'' if 'time' in entry else 'untimed '}{fields}")
    return lines or ["no manager"]


def own_lines(expected, found):
    """What a case asks for beside the members of the object: its managers, and whether the request wrote something."""
    lines = []
    if any(line == "? managers" or line == "no manager" or line.startswith("manager ") for line in expected):
        lines += manager_lines(found.get("metadata", {}).get("managedFields", []))
    if any(line in ("? written", "written", "not written") for line in expected):
        lines.append("written" if found.get("metadata", {}).get("resourceVersion") != found.get("before") else "not written")
    return lines


def describe_invalid(answer, gk, name, is_creation):
    """The lines of a 422 answer; repeated causes stay only after a creation. The message is left out when it follows from the causes, and so is the kind of the request."""
    details, message = answer.get("details", {}), answer.get("message", "")
    causes = [(cause.get("field", ""), cause.get("message", ""), cause.get("reason", "")) for cause in details.get("causes", [])]
    head = f'{details.get("kind", "")}{"." + details["group"] if details.get("group") else ""} "{details.get("name", "")}"'
    texts = list(dict.fromkeys(f"{field}: {text}" for field, text, _ in causes))
    aggregate = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    is_derived = texts and message == f"{head} is invalid: {aggregate}" and answer.get("reason") == "Invalid"
    lines = [] if head == f'{gk} "{name}"' else [f"of {head}"]
    if not is_derived:
        lines.append(f"422 {answer.get('reason', '')}: {case_file.shortened(message)}")
    else:
        lines.append("422")
    for field, text, reason in causes if is_creation else dict.fromkeys(causes):
        stated = "" if REASONS.get(text.split(":")[0]) == reason else f"({reason}) "
        lines.append(f"- {stated}{field}: {case_file.shortened(text)}")
    return lines


def describe(answer, body, expected, is_creation=True):
    """An answer to a request with a body as the lines of a case."""
    code, lines = answer["code"], []
    group, _, _ = str((body or {}).get("apiVersion", "")).rpartition("/")
    gk = str((body or {}).get("kind", "")) + ("." + group if group else "")
    if code == 422:
        lines = describe_invalid(answer, gk, name_in(body, ""), is_creation)
    elif "object" in answer:
        lines = [str(code)]
        for path in member_paths(expected):
            value = at_path(answer["object"], case_file.read_path(path, {}))
            lines.append(f"{path} absent" if value is ABSENT else f"{path} = {rendered(value)}")
    elif "message" in answer:
        causes = answer.get("details", {}).get("causes", []) if code == 409 else []
        # A conflict with several managers is a list of lines.
        message = answer["message"].replace("\n", "\\n") if causes else answer["message"]
        lines = [f"{code} {answer.get('reason', '')}: {case_file.shortened(message)}"]
        lines += [f"- ({cause.get('reason')}) {cause.get('field')}: {cause.get('message')}" for cause in causes]
    else:
        lines = [str(code)]
    return lines + [f"warning {text}" for text in answer.get("warnings", [])]


class Player:
    """Plays cases on a server. With `is_peer` it waits until a kube-apiserver, whose roles come to effect some time after they are
    written, lets another user try."""

    def __init__(self, target, kinds, is_peer=False):
        self.target, self.kinds, self.created, self.is_peer = target, kinds, [], is_peer
        target.prepare()

    def define(self, names):
        """Defines those of the kinds that are custom resources, and waits until all of them are served."""
        made = {self.kinds.definitions[name]["metadata"]["name"]: name for name in sorted(names) if name in self.kinds.definitions}
        for name in made:
            self.send("DELETE", f"{DEFINITIONS}/{name}", None)
        for name, kind in made.items():
            def is_made():
                status, _, text = self.send("POST", DEFINITIONS, self.kinds.definitions[kind])
                assert status in (201, 409), text.decode()
                return status == 201
            wait_for(f"an earlier {name} to be deleted", REQUEST_S, is_made)
        for kind in (kind for kind in self.kinds.definitions if self.kinds.definitions[kind]["metadata"]["name"] in made):
            wait_for(f"{kind} to be served", REQUEST_S, lambda kind=kind: self.send("GET", self.kinds.kinds[kind]["path"], None)[0] == 200)

    def send(self, method, path, body, headers=None):
        text = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body, separators=(",", ":"))
        return self.target.request(method, path, text, {"Content-Type": "application/json", **(headers or {})})

    def play(self, case):
        """The lines that describe the last answer of a case, or an AssertionError when an earlier step fails."""
        steps = case.steps
        if steps[0].verb not in ("create", "put", "list", "apply") and not steps[0].path:
            first = case_file.Step()
            first.kind = case.kind
            steps = [first, *steps]
        elif steps[0].verb == "create" and steps[0].sub:
            first = case_file.Step()
            first.kind = case.kind
            steps = [first, *steps]
        # Of each kind, the object that the server answered last, and its name.
        self.created, known, before = [], {}, None
        try:
            for number, step in enumerate(steps):
                method, path, body, headers = self.request(case, step, known)
                before = known.get(step.kind, {}).get("metadata", {}).get("resourceVersion")
                status, found, text = self.send(method, path, body, headers)
                if status == 409 and method == "POST" and not step.sub and b"AlreadyExists" in text and not self.created:
                    # A program that was interrupted has left it on a server that goes on running.
                    self.created.append((step.kind, body["metadata"]["name"]))
                    self.clean()
                    status, found, text = self.send(method, path, body, headers)
                if "Impersonate-User" in step.headers and self.is_peer and number + 1 == len(steps):
                    def is_let_in():
                        nonlocal status, found, text
                        status, found, text = self.send(method, path, body, headers)
                        return status != 403 or b" cannot " not in text
                    if status == 403:
                        wait_for("a role's effect", REQUEST_S, is_let_in)
                for _ in range(CONFLICTS_MAX):
                    if not (status == 409 and step.verb == "update" and b"the object has been modified" in text):
                        break
                    # A controller of the peer has written to the object meanwhile.
                    known[step.kind] = json.loads(self.send("GET", path.removesuffix(step.query).removesuffix(step.sub), None)[2])
                    method, path, body, headers = self.request(case, step, known)
                    status, found, text = self.send(method, path, body, headers)
                try:
                    decoded = json.loads(text)
                except ValueError:
                    decoded = text.decode(errors="replace")
                self.remember(step, method, status, decoded, known)
                if number + 1 < len(steps):
                    assert status < 300, f"step {number + 1} of {len(steps)} was answered with {status} {text.decode()[:1000]}"
            sent = body if isinstance(body, dict) else known.get(step.kind, self.kinds.kinds[step.kind]["minimal"])
            if method == "PATCH" and step.verb != "apply":
                sent = known.get(step.kind)
            if step.verb == "row" and status == 200:
                return describe({"code": status, "object": row_of(decoded)}, sent, case.expected)
            answer = answers.reduce(status, found, without_generated(decoded, sent))
            lines = describe(answer, sent, case.expected, not keeps_set(case))
            has_object = status < 300 and isinstance(decoded, dict)
            return lines + (own_lines(case.expected, {**decoded, "before": before}) if has_object else [])
        finally:
            self.clean()

    def request(self, case, step, known):
        """Method, path, body and headers."""
        kind = self.kinds.kinds[step.kind]
        method = METHODS.get(step.verb, "GET")
        base = self.kinds.base(step.kind, step.sub)
        if step.kind == case.kind and base is kind["minimal"]:
            base = case_file.changed(base, case.base_changes)
        stored = known.get(step.kind, base)
        name = stored.get("metadata", {}).get("name", "one")
        body = step.body
        if step.verb == "apply":
            body = case_file.changed(base if body is None else body, step.changes)
            name = name_in(body, name)
        elif method == "PATCH":
            body = case_file.as_merge_patch(step.changes) if body is None else body
        elif method in ("POST", "PUT"):
            if body is None:
                body = stored if step.verb == "update" and base is not self.kinds.subresources.get("*" + step.sub) else base
            body = case_file.changed(body, step.changes)
            if method == "PUT" and step.verb != "update":
                name = name_in(body, name)
        if step.path:
            path = step.path
        elif step.verb in ("create", "list") and not step.sub:
            path = kind["path"] + step.query
        else:
            path = f"{kind['path']}/{in_path(name)}{step.sub}{step.query}"
        if step.verb == "row":
            return method, path + "?includeObject=None", None, {"Accept": TABLE}
        return method, path, body, {"Content-Type": BODY_TYPES.get(step.verb, "application/json"), **step.headers}

    def remember(self, step, method, status, answer, known):
        """Keeps what an answer says about the object, and that it must be deleted."""
        if not isinstance(answer, dict) or status >= 300 or answer.get("kind") == "Status":
            return
        if status == 201 and method in ("POST", "PUT", "PATCH") and not step.sub and not step.path and answer.get("metadata", {}).get("uid"):
            if "dryRun" not in step.query:
                self.created.append((step.kind, answer["metadata"]["name"]))
        if answer.get("kind") == step.kind.split()[-1]:
            known[step.kind] = answer

    def clean(self):
        """Deletes what the case created."""
        while self.created:
            kind_name, name = self.created.pop()
            kind = {**self.kinds.kinds[kind_name], "name": in_path(name)}
            kind["minimal"] = {**kind["minimal"], "metadata": {"name": name}}
            status, _, text = self.send("DELETE", f"{kind['path']}/{kind['name']}?gracePeriodSeconds=0&propagationPolicy=Background", None)
            answer = json.loads(text) if text[:1] == b"{" else {}
            if status != 404 and (status != 200 or answer.get("metadata", {}).get("deletionTimestamp") or
                                  answer.get("metadata", {}).get("finalizers")):
                self.target.clean(kind)


def groups(lines):
    """The causes of an answer, whose order is free, and its other lines."""
    return sorted(line for line in lines if line.startswith("- ")), [line for line in lines if not line.startswith("- ")]


def difference(case, found):
    """What differs between the lines that a case expects and those that were found, or nothing."""
    if not case.expected:
        return "the case has no expectation; ./dev cases --record asks a kube-apiserver"
    wanted, got = groups(case.expected), groups(found)
    if wanted == got:
        return ""
    lines = []
    for ours, theirs in zip(got, wanted):
        more, less = collections.Counter(ours), collections.Counter(theirs)
        lines += [f"instead of  {line}" for line in (less - more).elements()] + [f"there is    {line}" for line in (more - less).elements()]
    return "\n".join(lines) or "the order of the lines differs:\n" + "\n".join(found)


def is_chosen(case, words):
    texts = (" ".join(case.header), case.kind, case.name)
    return all(any(word in text for text in texts) for word in words)


def play_all(player, files, words):
    """(file, case, the lines of the answer or nothing, what differs) of each chosen case."""
    names = {path.stem for path in HERE.glob("*.cases")}
    words = [word for word in words if word not in names]
    player.define({step.kind for one in files for case in one.cases if is_chosen(case, words) for step in case.steps})
    for one in files:
        for case in one.cases:
            if is_chosen(case, words):
                try:
                    found = player.play(case)
                    yield one, case, found, difference(case, found)
                except AssertionError as failure:
                    yield one, case, None, str(failure)


def show(case, wrong):
    print(f"# {case.name}: {case.header[0]}")
    for line in wrong.splitlines():
        print(f"#     {line}")


def judge(results):
    """TAP, one test per file. A pending case fails when it passes."""
    passed, pending, failures = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    stems = []
    for one, case, _, wrong in results:
        stem = one.path.stem
        if stem not in stems:
            stems.append(stem)
        if case.is_pending and wrong and case.expected:
            pending[stem] += 1
        elif case.is_pending or wrong:
            failures[stem].append((case, wrong or "passes and is marked as pending; ./dev cases --update removes the mark"))
        else:
            passed[stem] += 1
    for number, stem in enumerate(stems, 1):
        print(f"{'not ok' if failures[stem] else 'ok'} {number} - {stem}")
        for case, wrong in failures[stem]:
            show(case, wrong)
        print(f"# {passed[stem]} passed, {pending[stem]} pending, {len(failures[stem])} failed")
    print(f"1..{len(stems)}\n# all: {passed.total()} passed, {pending.total()} pending, {sum(map(len, failures.values()))} failed")
    return 1 if any(failures.values()) else 0


def compare_live(results):
    wrong_cases = total = 0
    for _, case, _, wrong in results:
        total += 1
        if wrong:
            wrong_cases += 1
            show(case, wrong)
    print(f"kube-apiserver: {total} cases, {wrong_cases} expectations are wrong")
    return 1 if wrong_cases else 0


def record(results, files):
    failed = 0
    for _, case, found, wrong in results:
        if found is None:
            failed += 1
            show(case, wrong)
        elif wrong:
            if any(not line.startswith("? ") for line in case.expected):
                show(case, wrong)
            case.expected = found
    for one in files:
        one.write()
    return failed


def update(results, files):
    marked = unmarked = 0
    for _, case, _, wrong in results:
        if wrong and not case.is_pending:
            marked += 1
            print(f"{case.name} becomes pending: {case.header[0]}")
        unmarked += not wrong and case.is_pending
        case.is_pending = bool(wrong)
    for one in files:
        one.write()
    print(f"{marked} cases became pending, {unmarked} are no longer pending")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for flag in ("live", "record", "update"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_intermixed_args()
    kinds = Kinds()
    files = case_file.read_all(kinds.kinds, options.words)
    failed = 0
    if options.live or options.record:
        with kube_apiserver(None) as peer:
            results = play_all(Player(peer, kinds, is_peer=True), files, options.words)
            if options.live:
                return compare_live(results)
            failed = record(results, files)
            files = case_file.read_all(kinds.kinds, options.words)
    with coracle(options.program, None) as target:
        results = play_all(Player(target, kinds), files, options.words)
        if options.record or options.update:
            update(results, files)
            return 1 if failed else 0
        return judge(results)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except case_file.Mistake as mistake:
        print(f"1..0\nBail out! {mistake}")
        sys.exit(1)
