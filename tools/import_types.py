#!/usr/bin/env python3
"""Writes the files api/*.types from the declarations of a Kubernetes release.

  import_types.py FACTS VERSION OUT    writes OUT/*.types, and removes the files there that were made before
  import_types.py --check FACTS OUT    lists what FACTS declares and OUT/*.types does not describe

FACTS is a checkout of Kubernetes (read by go_types.py), or a JSON file with the struct declarations of the API packages: a list of {path, imports, types}, each type with its
name, kind ("struct", "string", "[]string", "map[K]V" or the name of another type), fields, markers and string constants.
Each field has its Go name and type, its JSON name, what of omitempty and omitzero it has, whether it is inlined, its
protobuf tag, its keys for strategic merge, and its markers. Texts of the declarations are not read.

Only kinds (structs that begin with TypeMeta) and what they refer to are written. docs/internals/types.md describes the format.
"""

import json
import pathlib
import re
import sys

import go_types

# The packages whose types are written, and the name of each in the files.
PACKAGES = {
    "k8s.io/api/admission/v1": "admission_v1",
    "k8s.io/api/admissionregistration/v1": "admissionregistration_v1",
    "k8s.io/api/apidiscovery/v2": "apidiscovery_v2",
    "k8s.io/api/apps/v1": "apps_v1",
    "k8s.io/api/authentication/v1": "authentication_v1",
    "k8s.io/api/authorization/v1": "authorization_v1",
    "k8s.io/api/autoscaling/v1": "autoscaling_v1",
    "k8s.io/api/autoscaling/v2": "autoscaling_v2",
    "k8s.io/api/batch/v1": "batch_v1",
    "k8s.io/api/certificates/v1": "certificates_v1",
    "k8s.io/api/coordination/v1": "coordination_v1",
    "k8s.io/api/core/v1": "core_v1",
    "k8s.io/api/discovery/v1": "discovery_v1",
    "k8s.io/api/events/v1": "events_v1",
    "k8s.io/api/flowcontrol/v1": "flowcontrol_v1",
    "k8s.io/api/networking/v1": "networking_v1",
    "k8s.io/api/node/v1": "node_v1",
    "k8s.io/api/policy/v1": "policy_v1",
    "k8s.io/api/rbac/v1": "rbac_v1",
    "k8s.io/api/resource/v1": "resource_v1",
    "k8s.io/api/scheduling/v1": "scheduling_v1",
    "k8s.io/api/storage/v1": "storage_v1",
    "k8s.io/apimachinery/pkg/apis/meta/v1": "meta_v1",
    "k8s.io/apimachinery/pkg/types": "types",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1": "apiextensions_v1",
    "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1": "apiregistration_v1",
}
# The group of a package, where it is not the package's own name followed by ".k8s.io".
GROUPS = {
    "core_v1": "", "meta_v1": "meta.k8s.io", "types": "", "apps_v1": "apps", "autoscaling_v1": "autoscaling",
    "autoscaling_v2": "autoscaling", "batch_v1": "batch", "policy_v1": "policy",
    "flowcontrol_v1": "flowcontrol.apiserver.k8s.io", "rbac_v1": "rbac.authorization.k8s.io",
}
# Types with an encoding of their own: words of the format.
CUSTOM = {
    "k8s.io/apimachinery/pkg/apis/meta/v1.Time": "time",
    "k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime": "microTime",
    "k8s.io/apimachinery/pkg/apis/meta/v1.Duration": "duration",
    "k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1": "fieldsV1",
    "k8s.io/apimachinery/pkg/api/resource.Quantity": "quantity",
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString": "intOrString",
    "k8s.io/apimachinery/pkg/runtime.RawExtension": "raw",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON": "json",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool": "schemaOrBool",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray": "schemaOrArray",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "schemaOrStrings",
}
SCALARS = {"string", "bool", "int32", "int64", "float64"}
# Named strings of a package that has no kinds.
PLAIN = {"k8s.io/apimachinery/pkg/types": ["UID", "NodeName"]}
# Kinds that are decoded from a query only, or that no request and no answer ever has.
LEFT_OUT = {
    "k8s.io/apimachinery/pkg/apis/meta/v1": {"InternalEvent", "TypeMeta"},
}


class Facts:
    """The declarations by package and name."""

    def __init__(self, path):
        path = pathlib.Path(path)
        if path.is_dir():
            packages = go_types.read_checkout(path, [p for p in PACKAGES if p not in PLAIN])
        else:
            packages = json.loads(path.read_text())
        self.packages = {p["path"].replace("staging/src/", ""): p for p in packages}
        self.types = {name: {t["name"]: t for t in p["types"]} for name, p in self.packages.items()}
        for declared in (t for types in self.types.values() for t in types.values()):
            for field in declared.get("fields", ()):
                # A line of the declarations may have two markers.
                field["markers"] = [part for m in field.get("markers", ()) for part in re.split(r" (?=\+[a-z]+$)", m)]
        for name, plain in PLAIN.items():
            self.packages.setdefault(name, {"imports": {}})
            self.types.setdefault(name, {n: {"name": n, "kind": "string"} for n in plain})

    def resolve(self, package, name):
        """The package and name that a type's name means inside of a package."""
        if "." in name:
            prefix, name = name.split(".")
            return self.packages[package]["imports"][prefix], name
        return package, name

    def is_kind(self, package, declared):
        return declared["kind"] == "struct" and declared["name"] not in LEFT_OUT.get(package, ()) and any(
            f.get("inline") and f["go"] == "TypeMeta" for f in declared.get("fields", ()))


def base_name(text):
    """The named type inside of a Go type, or None: *T, []T, map[K]V."""
    text = re.sub(r"^(\*|\[\]|map\[[^]]*\])*", "", text)
    return None if text in SCALARS or text in ("byte", "interface") else text


def reachable(facts):
    """{package: names} of what is written."""
    found = {package: set() for package in PACKAGES}
    todo = [(package, t["name"]) for package in PACKAGES for t in facts.types.get(package, {}).values()
            if facts.is_kind(package, t)]
    todo += [("k8s.io/apimachinery/pkg/apis/meta/v1", name) for name in ("TypeMeta", "ListMeta", "LabelSelector", "Condition", "WatchEvent")]
    while todo:
        package, name = todo.pop()
        if f"{package}.{name}" in CUSTOM or name in found.get(package, ()):
            continue
        if package not in found or name not in facts.types[package]:
            raise SystemExit(f"{package}.{name} is declared nowhere")
        found[package].add(name)
        declared = facts.types[package][name]
        texts = [f["type"] for f in declared.get("fields", ()) if is_written(f)]
        if declared["kind"] not in ("struct", "string"):
            texts.append(declared["kind"])
        for text in texts:
            for part in [base_name(text)] + re.findall(r"map\[([^]]*)\]", text):
                if part and part not in SCALARS:
                    todo.append(facts.resolve(package, part))
    # A schema's alternatives hold schemas, although their own declarations are not written.
    return found


def type_text(facts, package, text):
    """A Go type in the words of the format: a pointer is a question mark behind the type."""
    if text.startswith("*"):
        return type_text(facts, package, text[1:]) + "?"
    if text == "[]byte":
        return "bytes"
    if text.startswith("[]"):
        return "[]" + type_text(facts, package, text[2:])
    match = re.match(r"map\[([^]]*)\](.*)", text)
    if match:
        return f"map[{type_text(facts, package, match[1])}]{type_text(facts, package, match[2])}"
    if text in SCALARS:
        return text
    if text == "interface":
        return "json"
    home, name = facts.resolve(package, text)
    if f"{home}.{name}" in CUSTOM:
        return CUSTOM[f"{home}.{name}"]
    return name if home == package else f"{PACKAGES[home]}.{name}"


def marker(markers, name):
    return [m[len(name) + 2:] for m in markers if m.startswith(f"+{name}=")]


def list_flag(markers):
    kinds = marker(markers, "listType")
    if not kinds:
        return []
    keys = marker(markers, "listMapKey")
    return ["list=" + kinds[0] + (":" + ",".join(keys) if keys else "")]


def default_value(facts, package, field, value):
    """The JSON of a default: ref(Name) means a constant of the field's type, whose value is part of its name."""
    named = re.fullmatch(r"ref\((.*)\)", value)
    if named:
        home, name = facts.resolve(package, base_name(field["type"]))
        value = max((v for v in facts.types[home][name]["values"] if v in named[1]), key=len)
        return json.dumps(value)
    json.loads(value)
    return value


def field_flags(facts, package, field):
    markers = field.get("markers", ())
    flags = field.get("omit", "").split()
    flags += ["optional"] if "+optional" in markers or "+k8s:optional" in markers else []
    # Some fields that are no lists have the marker, too: []byte, which is base64 in JSON, and a struct.
    flags += list_flag(markers) if field["type"].startswith("[]") and field["type"] != "[]byte" else []
    flags += [f"map={kind}" for kind in marker(markers, "mapType")[:1]]
    flags += [f"struct={kind}" for kind in marker(markers, "structType")[:1]]
    if "patchStrategy" in field:
        key = ":" + field["patchMergeKey"] if "patchMergeKey" in field else ""
        flags.append(f"patch={field['patchStrategy']}{key}")
    flags += [f"gate={gate}" for gate in sorted({g.split(",")[0] for g in marker(markers, "featureGate")})]
    json_name = field.get("json", "")
    if not field.get("inline") and field["go"] != json_name[:1].upper() + json_name[1:]:
        flags.append(f"go={field['go']}")
    # The value is JSON and may have spaces, so it comes last.
    for value in marker(markers, "default")[:1]:
        flags.append(f"default={default_value(facts, package, field, value)}")
    return flags


def field_row(facts, package, field):
    tag = field.get("protobuf", "").split(",")
    number = tag[1] if len(tag) > 1 else "-"
    name = "inline" if field.get("inline") else field["json"]
    return [number, name, type_text(facts, package, field["type"])], field_flags(facts, package, field)


def is_written(field):
    return field.get("inline") or field.get("json", "-") not in ("", "-")


def struct_lines(facts, package, declared):
    word = "kind" if facts.is_kind(package, declared) else "type"
    head = f"{word} {declared['name']}"
    for kind in marker(declared.get("markers", ()), "structType")[:1]:
        head += f" {kind}"
    rows = [field_row(facts, package, f) for f in declared.get("fields", ()) if is_written(f)]
    widths = [max((len(row[i]) for row, _ in rows), default=0) for i in range(3)]
    yield head
    for row, flags in rows:
        text = f"  {row[0]:>{widths[0]}} {row[1]:<{widths[1]}} {row[2]:<{widths[2]}} {' '.join(flags)}"
        yield text.rstrip()


def type_lines(facts, package, declared):
    kind, name = declared["kind"], declared["name"]
    markers = declared.get("markers", ())
    if kind == "struct":
        yield from struct_lines(facts, package, declared)
    elif kind == "string" and "+enum" in markers:
        yield f"enum {name} " + " ".join(v if re.fullmatch(r"[^\s\"#]+", v) else json.dumps(v)
                                         for v in declared.get("values", ()))
    elif kind == "string":
        yield f"string {name}"
    else:
        wrapped = " wrapped" if marker(markers, "protobuf.nullable") else ""
        yield f"alias {name} {type_text(facts, package, kind)}{wrapped}"


def used_packages(text):
    return sorted(set(re.findall(r"\b([a-z]+(?:_v\d+)?)\.[A-Z]", text)))


def package_text(facts, package, names, version):
    stem = PACKAGES[package]
    order = [t for t in facts.types[package].values() if t["name"] in names]
    blocks = ["\n".join(type_lines(facts, package, t)) for t in order]
    plain = "\n".join(b for b in blocks if b.split()[0] in ("enum", "string", "alias"))
    structs = "\n\n".join(b for b in blocks if b.split()[0] in ("kind", "type"))
    parts = stem.split("_")
    group = GROUPS.get(stem, parts[0] + ".k8s.io")
    head = f"# Kubernetes {version}: {package}. Made by tools/import_types.py; what it cannot know stands in overlays.\n"
    head += f"package {package}\n"
    if len(parts) > 1:
        head += f"group {group or '-'}\nversion {parts[1]}\n"
    return head + "".join(f"\n{part}\n" for part in (plain, structs) if part)


def write(facts_path, version, out):
    facts = Facts(facts_path)
    found = reachable(facts)
    for old in out.glob("*.types"):
        old.unlink()
    for package, names in found.items():
        if names:
            (out / f"{PACKAGES[package]}.types").write_text(package_text(facts, package, names, version))


def described(out):
    """{(stem, type): field names} of the files that are there."""
    found = {}
    for path in out.glob("*.types"):
        current = None
        for line in path.read_text().splitlines():
            words = line.split()
            if words and not line.startswith((" ", "#")) and words[0] in ("kind", "type", "enum", "string", "alias"):
                current = found.setdefault((path.stem, words[1]), set())
            elif line.startswith("  ") and current is not None:
                current.add((words[1], words[2]) if words[1] == "inline" else words[1])
    return found


def check(facts_path, out):
    """Prints what is missing; the number of lines is the number of differences."""
    facts = Facts(facts_path)
    there = described(out)
    missing = []
    for package, names in reachable(facts).items():
        stem = PACKAGES[package]
        for name in sorted(names):
            declared = facts.types[package][name]
            if (stem, name) not in there:
                missing.append(f"{stem}.{name}")
                continue
            for field in filter(is_written, declared.get("fields", ())):
                row, _ = field_row(facts, package, field)
                key = (row[1], row[2]) if row[1] == "inline" else row[1]
                if key not in there[(stem, name)]:
                    missing.append(f"{stem}.{name}.{field['go']}")
    for line in missing:
        print(line)
    return len(missing)


def main(arguments):
    try:
        if len(arguments) == 3 and arguments[0] == "--check":
            return 1 if check(arguments[1], pathlib.Path(arguments[2])) else 0
        if len(arguments) == 3:
            write(arguments[0], arguments[1], pathlib.Path(arguments[2]))
            return 0
    except (OSError, go_types.Unknown) as error:
        print(error, file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
