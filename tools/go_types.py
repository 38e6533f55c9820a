"""Reads the struct declarations of Kubernetes' API packages from a checkout: the facts that import_types.py needs.

This is not a Go parser. It reads the declarations as gofmt lays them out (a field a line, a closing brace at the start of a
line), which is how every API package is written, and leaves the bodies of functions alone. A layout that it does not know
stops it with the file and line."""

import json
import pathlib
import re

SKIPPED = re.compile(r"(_test|^zz_generated.*|^generated\.pb|_swagger_doc_generated|^register|^doc)\.go$|_test\.go$")
TYPE = re.compile(r"type (\w+) (=? ?)(.*)$")
FIELD = re.compile(r"\t(?:(\w+(?:, \w+)*)\s+)?(\*?[\w.]+|[^\s`]+)(?:\s+`(.*)`)?\s*$")
TAG = re.compile(r'(\w+):"((?:[^"\\]|\\.)*)"')
CONVERTED = re.compile(r'(?:const |\t)\w+\s*=\s*(\w+)\(("[^"\\]*"|\w+\.\w+)\)')
CONSTANT = re.compile(r'(?:const |\t)(\w+)\s+(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
IMPORT = re.compile(r'(?:import |\t)(?:(\w+) )?"([^"]+)"')


class Unknown(Exception):
    pass


def code_of(line):
    """A line without its comment at the end."""
    return re.sub(r"\s+//[^`\"]*$", "", line)


def field_of(where, line, markers):
    match = FIELD.match(code_of(line))
    if not match:
        raise Unknown(f"{where}: expected a field of a struct")
    names, kind, tag_text = match.groups()
    tags = dict(TAG.findall(tag_text or ""))
    json_name, *options = tags.get("json", "").split(",")
    for name in (names or kind.split(".")[-1].lstrip("*")).split(", "):
        field = {"go": name, "type": kind.replace("interface{}", "interface")}
        if "inline" in options or (not names and not json_name):
            field["inline"] = True
        elif json_name:
            field["json"] = json_name
        omit = " ".join(o for o in options if o in ("omitempty", "omitzero"))
        field |= {"omit": omit} if omit else {}
        field |= {key: tags[key] for key in ("protobuf", "patchStrategy", "patchMergeKey") if key in tags}
        field |= {"markers": markers} if markers else {}
        yield field


def read_struct(path, lines, at):
    """The fields from line `at` on, and the line behind the closing brace."""
    fields, markers = [], []
    while not lines[at].startswith("}"):
        line = lines[at]
        text = line.strip()
        if text.startswith("//"):
            if text[2:].strip().startswith("+"):
                markers.append(text[2:].strip())
        elif not text:
            markers = []
        else:
            fields += field_of(f"{path}:{at + 1}", line, markers)
            markers = []
        at += 1
    return fields, at + 1


def read_source(path, package):
    lines = re.sub(r"^\s*/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), path.read_text(), flags=re.S | re.M).splitlines()
    at, markers, is_import = 0, [], False
    while at < len(lines):
        line = lines[at]
        text = line.strip()
        declared = TYPE.match(line)
        is_import = line.startswith("import") or is_import and line != ")"
        if is_import and IMPORT.match(line):
            name, target = IMPORT.match(line).groups()
            package["imports"][name or target.split("/")[-1]] = target
        constant = CONSTANT.match(line)
        converted = CONVERTED.match(line)
        if converted:
            # Name = Type("value"), or Name = Type(other.Constant), which is found when all packages are read.
            package["constants"].setdefault(converted[1], []).append(
                json.loads(converted[2]) if converted[2].startswith('"') else tuple(converted[2].split(".")))
        if constant:
            package["values"][constant[1]] = constant[3]
            package["constants"].setdefault(constant[2], []).append(constant[3])
        at += 1
        if text.startswith("//"):
            if text[2:].strip().startswith("+"):
                markers.append(text[2:].strip())
            continue
        if declared and declared[3].startswith("struct"):
            fields, at = ([], at) if declared[3].endswith("{}") else read_struct(path, lines, at)
            kind = {"name": declared[1], "kind": "struct", "fields": fields}
        elif declared:
            kind = {"name": declared[1], "kind": re.sub(r"^(interface|func).*", r"\1", code_of(declared[3]))}
        if declared:
            package["types"].append(kind | ({"markers": markers} if markers else {}))
        # Markers may stand in a comment of their own, a blank line above the declaration's.
        if text:
            markers = []


def read_checkout(root, paths):
    """The facts about these packages, in the form that import_types.py describes."""
    found = []
    for path in paths:
        folder = pathlib.Path(root) / "staging" / "src" / path
        if not folder.is_dir():
            raise Unknown(f"{folder}: there is no such folder in this checkout")
        package = {"path": path, "imports": {}, "types": [], "constants": {}, "values": {}}
        for source in sorted(folder.glob("*.go")):
            if not SKIPPED.search(source.name):
                read_source(source, package)
        found.append(package)
    values = {package["path"]: package["values"] for package in found}
    for package in found:
        for declared in package["types"]:
            if declared["name"] in package["constants"]:
                declared["values"] = [
                    value if isinstance(value, str) else values.get(package["imports"].get(value[0]), {}).get(value[1])
                    for value in package["constants"][declared["name"]]]
    return found
