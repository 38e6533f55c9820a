"""The case files: each case is a request, the contract line that it shows, and what the server must answer.

    # A comment.
    contract validation                               the contract whose lines the cases below show
    let C spec.containers[0]                          "C.image" below is spec.containers[0].image
    [Pod] spec.restartPolicy=Never                    the kind of the cases below, and what changes in its base object
    4.2.2 C.image=""                                  a case: it creates the base object with this change ...
      422                                             ... and expects this code
      - spec.containers[0].image: Required value      ... and this cause
    5.1.12 update spec.selector.matchLabels.a=c       creates the base object, then PUTs it with this change
    types 4.3.1, 4.3.2 create metadata.name=p | get   steps; what the last step answers is compared, the others must succeed
      200
      status.phase = "Pending"                        a member of the object in the answer
      status.reason absent
      warning text of a Warning header
      manager a/A v1 {"f:data":{"f:k":{}}}            an entry of managedFields: manager, operation (Apply or Update), perhaps subresource,
                                                      version, "untimed" if it has no time, FieldsV1; "no manager" when there is none
      not written                                     the resourceVersion is that of the step before; else "written"
    pending 4.2.4 C.ports=[{"containerPort":0}]       our server does not do this yet; a pending case that passes is an error

A file begins its cases with `contract`; `let` before the first section holds for the whole file, later for its section. The base objects
are those of tests/differential/minimal.json and bases.json; a kind that two versions share is written with its version
([events.k8s.io/v1 Event]). The kinds of definitions.json are custom resources, whose base objects have only a name.

A step is VERB[/SUBRESOURCE][?QUERY] [KIND] [BODY] CHANGE.., or a VERB with a path that begins with a slash.
    create (may be left out)      POST of the base object of KIND, or of the section's kind
    update                        PUT of what the server has (the answer of the step before), with the changes
    replace, put                  PUT of the base object with the changes, without a resourceVersion
    status                        short for update/status
    patch, strategic, edits       PATCH: a merge patch of the changes, or BODY
    apply                         PATCH by server-side apply of the base object with the changes
    get, list, delete             delete takes options as its BODY
    row                           GET as a Table: "row" has the cells ("*" is an age), "conditions" those of the row, "columns" the
                                  definitions: NAME[:TYPE][/FORMAT][*], a star for wide output
When the first step is none of create, put, list, apply and a path, the base object of the section is created before it. "as NAME"
before the verb sends the request as that user, by impersonation; "typed TYPE" and "accept TYPE" give its Content-Type and its Accept.
BODY is JSON; a string is sent as the text that it is ("a: 1\\nb: 2").

A change is PATH=VALUE, PATH+=VALUE (adds to a list) or -PATH (removes). A path is written as in causes: metadata.labels[a/b],
spec.ports[0].name. A value is JSON, or a bare word (spec.type=NodePort). VALUE*N repeats a string, the elements of a list or the
members of an object N times; in the last two "%d" is the number of the copy.

Expected causes are written as FIELD: MESSAGE; the reason follows from the first words of the message, else it stands before the field
in parentheses. The status message follows from kind, name and causes, else it is written as "CODE REASON: MESSAGE"; "of Scale.autoscaling "one""
names another kind than that of the request. Text after a line break (a free diff) is not compared, and long text is kept as its beginning and a
digest. <label-value> and the like are the texts of texts.json, which many rules share. "*" is a value that differs from run to run. "? PATH" asks --record for a member of the object,
"? managers" and "? written" for the two last ones. A case whose entries get their times in the order of their names passes however long its steps take."""

import copy
import hashlib
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
NUMBER = r"(?:\d+(?:\.\d+)+|[A-H]\d+[a-z]?)"
HEADER = re.compile(rf"(pending )?((?:[a-z]+ )?{NUMBER}(?:, (?:[a-z]+ )?{NUMBER})*)(?: +(.*))?$")
# What stands before a verb, and the header that it gives to the request.
PREFIXES = {"as": "Impersonate-User", "typed": "Content-Type", "accept": "Accept"}
VERBS = ("create", "update", "replace", "put", "status", "patch", "strategic", "edits", "apply", "get", "list", "row", "delete")
PREFIX = re.compile(rf"({'|'.join(PREFIXES)}) +")
VERB = re.compile(rf"({'|'.join(VERBS)})(/[\w/]+)?(\?\S*)?(?=\s|$)")
KIND = re.compile(r"((?:[\w.]+/)?v\d\w* )?[A-Z]\w*(?=\s|$)")
STEP = re.compile(r"([^.\[\]=+\s]+)|\[([^\]]*)\]|\.")
DECODER = json.JSONDecoder()
# Times of the server's clock. Cases send those of the year 2001 and of the second of January 2026.
NOW = re.compile(r"(?!2001-|2026-01-02T)20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
# A longer text of a message is kept as its beginning and a digest.
TEXT_MAX = 700
# What the validators that many rules share say, by the names that the contract gives them.
TEXTS = json.loads((HERE / "texts.json").read_text())


class Mistake(Exception):
    """What is wrong with a case file."""


class Step:
    """One request of a case. `changes` are (operation, path, value), in which a path is a list of keys and indexes."""

    def __init__(self):
        self.verb, self.sub, self.query, self.kind, self.path, self.body, self.changes = "create", "", "", None, None, None, []
        self.headers = {}


class Case:
    def __init__(self, name, kind, base_changes):
        self.name, self.kind, self.base_changes = name, kind, base_changes
        self.citations, self.is_pending, self.steps = [], False, []
        # Lines of the file, from `begin` to `end`; `expected` are those that say what the answer is.
        self.begin = self.end = 0
        self.header, self.expected = [], []


def read_path(text, lets):
    steps, at = [], 0
    while at < len(text):
        found = STEP.match(text, at)
        if not found:
            raise Mistake(f"{text} is no path")
        name, key = found.groups()
        if name is not None:
            steps += lets[name] if not steps and name in lets else [name]
        elif key is not None:
            steps.append(int(key) if key.isdigit() else key)
        at = found.end()
    return steps


def numbered(value, number):
    return json.loads(json.dumps(value).replace("%d", str(number)))


def repeated(value, times):
    if isinstance(value, str):
        return value * times
    if isinstance(value, list):
        return [numbered(item, n) for n in range(times) for item in value]
    return {key: item for n in range(times) for key, item in numbered(value, n).items()}


def read_value(text, at):
    """The value at a place of a line, and where it ends."""
    if text[at:at + 1] in ("{", "[", '"'):
        value, end = DECODER.raw_decode(text, at)
        times = re.compile(r"\*(\d+)").match(text, end)
        if times:
            return repeated(value, int(times.group(1))), times.end()
        return value, end
    word = re.compile(r"\S*").match(text, at).group()
    try:
        return json.loads(word), at + len(word)
    except ValueError:
        return word, at + len(word)


def skip_space(text, at):
    while at < len(text) and text[at] == " ":
        at += 1
    return at


def read_changes(text, at, lets):
    """The changes from a place of a line to its end or to a " | "; and that place."""
    changes = []
    at = skip_space(text, at)
    while at < len(text) and not text.startswith("| ", at):
        if text[at] == "-":
            word = re.compile(r"-((?:[^\[\s]|\[[^\]]*\])+)").match(text, at)
            changes.append(("remove", read_path(word.group(1), lets), None))
            at = word.end()
        else:
            word = re.compile(r"((?:[^\[\s=+]|\[[^\]]*\])+)(\+?=)").match(text, at)
            if not word:
                raise Mistake(f"{text[at:]} is no change")
            value, at = read_value(text, word.end())
            changes.append(("append" if word.group(2) == "+=" else "set", read_path(word.group(1), lets), value))
        at = skip_space(text, at)
    return changes, at


def read_steps(text, lets):
    steps, at = [], 0
    while at < len(text) or not steps:
        step = Step()
        prefix = PREFIX.match(text, at)
        while prefix:
            step.headers[PREFIXES[prefix.group(1)]], at = read_value(text, prefix.end())
            at = skip_space(text, at)
            prefix = PREFIX.match(text, at)
        verb = VERB.match(text, at)
        if verb:
            step.verb, step.sub, step.query = verb.group(1), verb.group(2) or "", verb.group(3) or ""
            at = skip_space(text, verb.end())
        if text[at:at + 1] == "/":
            step.path = text[at:].split(" ")[0]
            at = skip_space(text, at + len(step.path))
        kind = KIND.match(text, at)
        if kind:
            step.kind = kind.group()
            at = skip_space(text, kind.end())
        if text[at:at + 1] in ("{", "[", '"'):
            step.body, at = read_value(text, at)
        step.changes, at = read_changes(text, at, lets)
        if step.verb == "status":
            step.verb, step.sub = "update", "/status"
        steps.append(step)
        if at < len(text):
            at = skip_space(text, at + 1)
    return steps


def changed(body, changes):
    """A copy of an object with changes."""
    body = copy.deepcopy(body)
    for operation, path, value in changes:
        inner = body
        for step, after in zip(path, path[1:]):
            fresh = [] if isinstance(after, int) else {}
            if isinstance(inner, list):
                if step == len(inner):
                    inner.append(fresh)
                inner = inner[step]
            else:
                if inner.get(step) is None:
                    inner[step] = fresh
                inner = inner[step]
        last = path[-1]
        if operation == "remove":
            if isinstance(inner, list):
                del inner[last]
            else:
                inner.pop(last, None)
        elif operation == "append":
            inner[last] = [*(inner.get(last) or []), value]
        elif isinstance(inner, list) and last == len(inner):
            inner.append(value)
        else:
            inner[last] = value
    return body


def as_merge_patch(changes):
    """Changes as the body of a merge patch, in which null removes."""
    return changed({}, [("set", path, None if operation == "remove" else value) for operation, path, value in changes])


class CaseFile:
    """A file of cases: what it says, and its lines, so that expectations can be written into it."""

    def __init__(self, path, kinds):
        self.path, self.kinds = path, kinds
        self.lines, self.cases = path.read_text().splitlines(), []
        self.contract, self.kind, self.base_changes, self.lets, self.file_lets = None, None, [], {}, {}
        number = 0
        while number < len(self.lines):
            try:
                number = self.read_line(number)
            except (Mistake, ValueError) as mistake:
                raise Mistake(f"{path.name}:{number + 1}: {mistake}") from None

    def read_line(self, number):
        """Reads what begins at a line, and returns the line after it."""
        line = self.lines[number]
        word = line.split(" ")[0]
        if not line.strip() or line.startswith("#"):
            return number + 1
        if line.startswith("["):
            name, _, rest = line[1:].partition("]")
            self.kind, self.lets = self.kind_named(name), dict(self.file_lets)
            self.base_changes, _ = read_changes(rest, 0, self.lets)
            return number + 1
        if word == "contract":
            self.contract = line.split()[1]
            return number + 1
        if word == "let":
            _, name, path = line.split()
            self.lets[name] = read_path(path, self.lets)
            if self.kind is None:
                self.file_lets[name] = self.lets[name]
            return number + 1
        return self.read_case(number)

    def kind_named(self, name):
        found = [kind for kind in self.kinds if name in (kind, kind.split()[-1])]
        if len(found) != 1:
            raise Mistake(f"{name} is {'no kind that has a base object' if not found else 'in ' + ' and '.join(found)}")
        return found[0]

    def read_case(self, number):
        found = HEADER.match(self.lines[number])
        if not found:
            raise Mistake(f"{self.lines[number]} is no case")
        if self.kind is None or self.contract is None:
            raise Mistake("a case stands before the first [KIND] or before the contract is named")
        case = Case(f"{self.path.name}:{number + 1}", self.kind, self.base_changes)
        case.is_pending, case.begin = bool(found.group(1)), number
        for citation in found.group(2).split(", "):
            *contract, line = citation.split(" ")
            case.citations.append((contract[0] if contract else self.contract, line))
        text = found.group(3) or ""
        case.header.append(self.lines[number].removeprefix("pending "))
        number += 1
        while number < len(self.lines) and re.match(r"\s+\| ", self.lines[number]):
            case.header.append(self.lines[number])
            text += " " + self.lines[number].strip()
            number += 1
        while number < len(self.lines) and self.lines[number].startswith("  "):
            case.expected.append(self.lines[number].strip())
            number += 1
        case.steps, case.end = read_steps(text, self.lets), number
        for step in case.steps:
            step.kind = self.kind_named(step.kind) if step.kind else self.kind
        self.cases.append(case)
        return number

    def write(self):
        """Writes the marks and the expectations of the cases back."""
        lines, at = [], 0
        for case in self.cases:
            lines += self.lines[at:case.begin]
            lines += [("pending " if case.is_pending else "") + case.header[0], *case.header[1:]]
            lines += ["  " + line for line in case.expected]
            at = case.end
        self.path.write_text("\n".join(lines + self.lines[at:]) + "\n")


def read_all(kinds, words):
    """The case files that a word names, or all of them."""
    paths = sorted(HERE.glob("*.cases"))
    chosen = [path for path in paths if path.stem in words] or paths
    return [CaseFile(path, kinds) for path in chosen]


def shortened(text):
    """A message as case files keep it."""
    head, line_break, _ = NOW.sub("*", text).partition("\n")
    for name, shared in TEXTS.items():
        head = head.replace(shared, f"<{name}>")
    if len(head) > TEXT_MAX:
        head = f"{head[:TEXT_MAX // 4]}… {hashlib.sha256(head.encode()).hexdigest()[:12]}"
    return (head + ("\\n" if line_break else "")).rstrip()
