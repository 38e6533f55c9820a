"""What of an answer is compared: the code, the reason, the message and the details of a Status, the warnings,
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
MANAGED_FIELDS = re.compile(r',?"managedFields":\[\{.*\}\]')
VOLATILE = {"resourceVersion", "clusterIP", "nodePort", "healthCheckNodePort"}
YAML_VOLATILE = re.compile(r"(?<=resourceVersion: ).*|(?<=clusterIP: )\d.*|(?<=[nN]odePort: )\d+|(?<=- )10\.0\.0\.\d+"
                           r"|\"(?!2026-01-02T)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\"")
# Warnings that only Coracle gives; docs/COMPAT.md, "a Warning that an object has no effect on this server" and `--allow-privileged`.
OWN_WARNING = re.compile("is stored but has no effect on this server|this server runs without --allow-privileged")
# The cells of tables show how old an object is, and which address a Service was given.
AGE = re.compile(r"^(\d+(\.\d+)?(s|m|h|d))+$|^<(unknown|invalid)>$|^10\.0\.0\.\d+$")
# Of a longer text (Go's comparison of two whole pods) the beginning and a digest are compared.
TEXT_MAX, TEXT_HEAD = 4000, 400
ASPECTS = ("code", "reason", "message", "details", "warnings", "object")


def column_text(column):
    """A column of a table, without its description, which is in our own words."""
    return " ".join(f"{name}={column[name]}" for name in ("name", "type", "format", "priority") if column[name])


def mask(value, key=""):
    if isinstance(value, dict):
        return {name: mask(item, name) for name, item in value.items() if name != "managedFields"}
    if key == "cells":
        return [MASKED if isinstance(cell, str) and AGE.match(cell) else mask(cell) for cell in value or []]
    if key == "columnDefinitions" and value:
        return [column_text(column) for column in value]
    if isinstance(value, list):
        return [MASKED for _ in value] if key == "clusterIPs" else [mask(item) for item in value]
    if key in VOLATILE and value not in (None, "", "None"):
        return MASKED
    # Nothing that is masked in a text is shorter than a time, and most texts are.
    if isinstance(value, str) and len(value) >= len("2006-01-02T15:04:05Z"):
        value = MANAGED_FIELDS.sub("", WHOLE_OBJECT.sub(MASKED, value))
        value = MASKED if TIME.match(value) else UUID.sub(MASKED, value)
        if len(value) > TEXT_MAX:
            value = f"{value[:TEXT_HEAD]} … {hashlib.sha256(value.encode()).hexdigest()[:16]}"
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
    # The managedFields may have been all of the metadata.
    text = re.sub(r"(?m)^metadata:\n(?! )", "metadata: {}\n", "\n".join(lines))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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


def differing(ours, theirs):
    return [aspect for aspect in ASPECTS if ours.get(aspect) != theirs.get(aspect)]


def is_validation(theirs):
    """Whether rules of the kind refused the object; a patch that does not fit the types is 422 too."""
    causes = theirs.get("details", {}).get("causes", [])
    return theirs["code"] == 422 and not any(cause.get("field") == "patch" for cause in causes)


def is_inside(path, place):
    """Whether a path of an edit is a place of the object, or in it; a number in the path of the place is "N"; the item of a list,
    the object of a watch's frame and that of a table's row count as the object. YAML is compared as a whole, so any place explains it."""
    steps = ["N" if step.isdigit() else step for step in path.split("/")]
    if steps[:2] == ["items", "N"]:
        steps = steps[2:]
    elif steps[:1] == ["frames"]:
        steps = steps[3:]
    if steps[:3] == ["rows", "N", "object"]:
        steps = steps[3:]
    wanted = place.split("/")
    return path == "yaml" or steps[:len(wanted)] == wanted


def lacks_deprecations(ours, theirs):
    """Whether our warnings lack nothing but such as do not name a field of the request as unknown or repeated."""
    mine, others = ours.get("warnings", []), theirs.get("warnings", [])
    return all(text in others for text in mine) and not any(
        re.match("(json patch )?(unknown|duplicate) field|line ", text) for text in others if text not in mine)
