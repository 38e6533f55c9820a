"""What of an answer is compared, and how it is kept: the code, the reason, the message and the details of a Status, the warnings,
and the object, in which values that differ from run to run are masked."""

import copy
import hashlib
import json
import re

MASKED = "*"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# The requests' own times are all of this day.
TIME = re.compile(r"^(?!2026-01-02T)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
# Some messages print the whole object, with its times and managedFields.
WHOLE_OBJECT = re.compile(r'(?<=Invalid value: )"\{.*\}"(?=: )')
VOLATILE = {"resourceVersion", "clusterIP", "nodePort", "healthCheckNodePort"}
YAML_VOLATILE = re.compile(r"(?<=resourceVersion: ).*|(?<=clusterIP: )\d.*|(?<=[nN]odePort: )\d+|(?<=- )10\.0\.0\.\d+"
                           r"|\"(?!2026-01-02T)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\"")
# Warnings that only Coracle gives; docs/COMPAT.md, "a Warning that an object has no effect on this server".
OWN_WARNING = re.compile("is stored but has no effect on this server")
ASPECTS = ("code", "reason", "message", "details", "warnings", "object")


def mask(value, key=""):
    if isinstance(value, dict):
        return {name: mask(item, name) for name, item in value.items() if name != "managedFields"}
    if isinstance(value, list):
        return [MASKED for _ in value] if key == "clusterIPs" else [mask(item) for item in value]
    if key in VOLATILE and value not in (None, "", "None"):
        return MASKED
    if isinstance(value, str):
        value = WHOLE_OBJECT.sub(MASKED, value)
        return MASKED if TIME.match(value) else UUID.sub(MASKED, value)
    return value


def yaml_digest(text, volatile):
    """Of the lines of an answer in YAML, without those that differ from run to run. What the object is, other cases compare."""
    lines, is_managed = [], False
    for line in text.splitlines():
        if volatile and line.startswith(volatile + ":"):
            break  # status, which is the last
        if re.match(r"  managedFields:", line):
            is_managed = True
        elif is_managed and re.match(r"  (-|  )", line):
            continue
        else:
            is_managed = False
            line = UUID.sub(MASKED, YAML_VOLATILE.sub(MASKED, line))
            lines.append(line)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def warnings(headers):
    texts = [re.sub(r'^\d+ \S+ "(.*)"$', r"\1", value) for value in headers.get_all("Warning") or []]
    return [text for text in texts if not OWN_WARNING.search(text)]


def reduce(status, headers, body):
    """`body` is the decoded answer."""
    answer = {"code": status}
    if isinstance(body, dict) and body.get("kind") == "Status":
        for aspect in ("reason", "message", "details"):
            if body.get(aspect):
                answer[aspect] = mask(body[aspect])
    else:
        answer["object"] = mask(body)
    found = warnings(headers)
    if found:
        answer["warnings"] = found
    return answer


def pointer(path):
    return "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in path)


def difference(base, value, path=()):
    """The edits that make `value` out of `base`: [path, value], or [path] for what is not there any more."""
    if type(base) is type(value) is dict:
        edits = []
        for name in sorted({*base, *value}):
            if name not in value:
                edits.append([pointer((*path, name))])
            elif name not in base:
                edits.append([pointer((*path, name)), value[name]])
            else:
                edits += difference(base[name], value[name], (*path, name))
        return edits
    if type(base) is type(value) is list and len(base) == len(value):
        return [edit for i, pair in enumerate(zip(base, value)) for edit in difference(*pair, (*path, i))]
    return [] if base == value and type(base) is type(value) else [[pointer(path), value]]


def edited(base, edits):
    value = copy.deepcopy(base)
    for text, *new in edits:
        if not text:
            value = copy.deepcopy(new[0])
            continue
        *way, last = (step.replace("~1", "/").replace("~0", "~") for step in text.split("/"))
        inner = value
        for step in way:
            inner = inner[int(step) if isinstance(inner, list) else step]
        if isinstance(inner, list):
            last = int(last)
        if new:
            inner[last] = copy.deepcopy(new[0])
        else:
            del inner[last]
    return value


class Packer:
    """Answers in the short form of records/: [cases, code, the rest]. Cases with the same answer share a line. An object is kept as
    edits of another one: of what was sent, or of an earlier answer. Words that follow from the kind, the case or the message
    itself are abbreviated; the line of a type error is [case, message]."""

    BASES = ("minimal", "full in json", "created", "minimal in protobuf", "full in protobuf", "read as protobuf",
             "update of the status")
    LISTED = {"created": "created, listed", "read as partial": "partial, listed"}

    def __init__(self, kind):
        version, name = kind["kind"].split()[0].split("/")[-1], kind["kind"].split()[1]
        self.head = f'{name} in version "{version}" cannot be handled as a {name}: '
        self.bases = {f"{word} sent": kind[word] for word in ("minimal", "full") if word in kind}

    def words(self, case):
        """(text, abbreviation), the longest first."""
        path = ".".join(step for step in case.removeprefix("wrong ").split(".") if not step.isdigit())
        return [(self.head + "json: cannot unmarshal ", "\u2260"), (self.head, "\u2248"),
                (" into Go struct field ", "\u2192"), (f".{path} of type ", ".\u2026 "), (" of type ", "\u2237")]

    def remember(self, case, answer):
        if case in self.BASES and "object" in answer:
            self.bases[case] = answer["object"]
        if case in self.LISTED and "object" in answer:
            item = {name: value for name, value in answer["object"].items() if name not in ("kind", "apiVersion") or case != "created"}
            self.bases[self.LISTED[case]] = {"items": [item], "metadata": {"resourceVersion": MASKED},
                                             "kind": answer["object"]["kind"] + "List", "apiVersion": answer["object"]["apiVersion"]}

    def pack(self, case, answer):
        rest = {name: value for name, value in answer.items() if name != "code"}
        if "object" in answer:
            ways = [[name, difference(base, answer["object"])] for name, base in self.bases.items()]
            rest["object"] = min([*ways, ["", [["", answer["object"]]]]], key=lambda way: len(json.dumps(way)))
        self.remember(case, answer)
        if set(rest) == {"reason", "message"} and answer["code"] == 400:
            rest = answer["message"]
            for text, short in self.words(case):
                rest = rest.replace(text, short)
            return [case, rest]
        for cause in rest.get("details", {}).get("causes", []):
            if rest["message"].endswith(": " + cause["message"]):
                rest["details"] = copy.deepcopy(rest["details"])
                rest["details"]["causes"] = [{**c, "message": "\u2026"} if c == cause else c for c in rest["details"]["causes"]]
                rest["cut"] = len(rest["message"]) - len(cause["message"])
        return [case, answer["code"], rest]

    def unpack(self, case, code, rest=None):
        if rest is None:
            for text, short in self.words(case):
                code = code.replace(short, text)
            return {"code": 400, "reason": "BadRequest", "message": code}
        rest = copy.deepcopy(rest)
        if "object" in rest:
            name, edits = rest["object"]
            rest["object"] = edited(self.bases.get(name), edits)
        if "cut" in rest:
            cut = rest.pop("cut")
            for cause in rest["details"]["causes"]:
                if cause["message"] == "\u2026":
                    cause["message"] = rest["message"][cut:]
        answer = {"code": code, **rest}
        self.remember(case, answer)
        return answer

    def pack_all(self, case_answers):
        """Lines of (case, answer) pairs."""
        lines, places = [], {}
        for case, answer in case_answers:
            _, *packed = self.pack(case, answer)
            text = json.dumps(packed)
            if text not in places or case in self.BASES or case in self.LISTED:
                places[text] = len(lines)
                lines.append([[], *packed])
            lines[places[text]][0].append(case)
        return [[names if len(names) > 1 else names[0], *packed] for names, *packed in lines]

    def unpack_all(self, lines):
        return {case: self.unpack(case, *packed)
                for names, *packed in lines for case in ([names] if isinstance(names, str) else names)}


def differing(ours, theirs):
    return [aspect for aspect in ASPECTS if ours.get(aspect) != theirs.get(aspect)]


def is_validation(theirs):
    """Whether rules of the kind refused the object; a patch that does not fit the types is 422 too."""
    causes = theirs.get("details", {}).get("causes", [])
    return theirs["code"] == 422 and not any(cause.get("field") == "patch" for cause in causes)


def is_inside(path, place):
    """Whether a path of an edit is a place of the object, or in it; a number in the path of the place is "N", the item of a list
    counts as the object. YAML is compared as a whole, so any place explains it."""
    steps = ["N" if step.isdigit() else step for step in path.split("/")]
    if steps[:2] == ["items", "N"]:
        steps = steps[2:]
    wanted = place.split("/")
    return path == "yaml" or steps[:len(wanted)] == wanted


def lacks_deprecations(ours, theirs):
    """Whether our warnings lack nothing but such as do not name a field of the request as unknown or repeated."""
    mine, others = ours.get("warnings", []), theirs.get("warnings", [])
    return all(text in others for text in mine) and not any(
        re.match("(json patch )?(unknown|duplicate) field|line ", text) for text in others if text not in mine)
