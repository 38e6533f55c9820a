#!/usr/bin/env python3
"""Turns the files api/*.types and their overlays into the const tables of src/schema/types/types.h and rules.h:
compile_types.py OUT.c FILE... where a FILE is a .types, a .rules (below a folder "validation": rules of validation), a .words, a
.facts, a .strategies, a .columns, a .gates, a .conversions, or a header that lists hooks or formats.

Everything is checked before a line is written: a type that is declared nowhere or twice, a field number or a JSON name that
a type has twice, a key that a list's elements lack, an unknown word. The message names file and line, and the build stops.
docs/internals/types.md describes the format."""

import json
import pathlib
import re
import sys

import compile_columns
import compile_conversions
import compile_rules
import compile_gates
import compile_strategies
import compile_validation
import compile_words
from compile_rules import Wrong

CUSTOM = {
    # word of the format: (shape, what Go calls it)
    "string": ("STRING", "string"), "bool": ("BOOL", "bool"), "int32": ("INT32", "int32"), "int64": ("INT64", "int64"),
    "float64": ("FLOAT64", "float64"), "bytes": ("BYTES", "[]uint8"), "time": ("TIME", "v1.Time"),
    "microTime": ("MICRO_TIME", "v1.MicroTime"), "duration": ("DURATION", "v1.Duration"),
    "quantity": ("QUANTITY", "resource.Quantity"), "intOrString": ("INT_OR_STRING", "intstr.IntOrString"),
    "raw": ("RAW", "runtime.RawExtension"), "fieldsV1": ("FIELDS_V1", "v1.FieldsV1"), "json": ("JSON", "v1.JSON"),
    "schemaOrBool": ("SCHEMA_OR_BOOL", "v1.JSONSchemaPropsOrBool"),
    "schemaOrArray": ("SCHEMA_OR_ARRAY", "v1.JSONSchemaPropsOrArray"),
    "schemaOrStrings": ("SCHEMA_OR_STRINGS", "v1.JSONSchemaPropsOrStringArray"),
}
SCHEMA = "apiextensions_v1.JSONSchemaProps"
LISTS = {"atomic": "ATOMIC", "set": "SET", "map": "MAP"}
MAPS = {"atomic": "ATOMIC", "granular": "GRANULAR"}
PATCHES = {"merge": ["MERGE"], "retainKeys": ["RETAIN_KEYS"], "merge,retainKeys": ["MERGE", "RETAIN_KEYS"],
           "replace": ["REPLACE"]}
INLINE_MAX = 2
MEMBERS_MAX = 64  # COR_TYPE_MEMBERS_MAX of src/schema/types/types.h


class Field:
    def __init__(self, where, number, name, text):
        self.where, self.number, self.name, self.text = where, number, name, text
        self.go = name[:1].upper() + name[1:]
        self.flags, self.keys, self.patch, self.patch_key = [], [], [], ""
        self.list_kind, self.map_kind, self.default, self.gate = "NONE", "NONE", "", ""
        self.type = None

    is_inline = property(lambda self: self.name == "inline")


class Type:
    """What is declared under a name, or a list, map or scalar."""

    def __init__(self, where, shape, go, package=None, name=""):
        self.where, self.shape, self.go, self.package, self.name = where, shape, go, package, name
        self.flags, self.fields, self.values, self.members, self.rules = [], [], [], [], []
        self.reaches = None  # does a default lie in it, or below?
        self.element = self.key = None
        self.text = ""  # of an alias


class Package:
    def __init__(self, stem):
        self.stem, self.path, self.group, self.version = stem, "", "", ""

    def openapi(self):
        """What the names of its schemas begin with: io.k8s.api.core.v1 for k8s.io/api/core/v1."""
        host, _, rest = self.path.partition("/")
        return ".".join(host.split(".")[::-1] + rest.split("/")) if rest else ""


def read_flag(field, word, rest):
    """One word behind a field's type; `rest` is the line from there on."""
    name, _, value = word.partition("=")
    kind, _, keys = value.partition(":")
    if word in ("omitempty", "omitzero", "optional"):
        field.flags.append(word.upper())
    elif name == "list" and kind in LISTS:
        field.list_kind, field.keys = LISTS[kind], [k for k in keys.split(",") if k]
    elif name == "map" and value in MAPS or name == "struct" and value in MAPS:
        field.map_kind = MAPS[value]
    elif name == "patch" and kind in PATCHES:
        field.patch, field.patch_key = PATCHES[kind], keys
    elif name == "gate" and value:
        field.gate = value if not field.gate else f"{field.gate},{value}"
    elif name == "go" and value:
        field.go = value
    elif name == "default":
        field.default = rest[len("default="):]
        try:
            json.loads(field.default)
        except ValueError as error:
            raise Wrong(f"{field.where}: the default is not JSON: {error}") from error
        return True
    else:
        raise Wrong(f"{field.where}: unknown word '{word}'")
    return False


def read_field(where, line):
    match = re.match(r"\s+(\d+|-)\s+(\S+)\s+(\S+)\s*", line)
    if not match:
        raise Wrong(f"{where}: expected a number (or -), a JSON name and a type")
    number = 0 if match[1] == "-" else int(match[1])
    text = match[3]
    field = Field(where, number, match[2], text.rstrip("?"))
    if text.endswith("?"):
        field.flags.append("POINTER")
    at = match.end()
    for word in re.finditer(r"\S+", line[at:]):
        if read_flag(field, word[0], line[at + word.start():]):
            break
    if field.is_inline:
        field.go = field.text.split(".")[-1]
        field.flags.append("INLINE")
    return field


def read_values(text):
    """Words, or JSON strings where a value has a space."""
    return [json.loads(w) if w.startswith('"') else w for w in re.findall(r'"(?:[^"\\]|\\.)*"|\S+', text)]


def read_file(path, types, packages):
    package = Package(path.stem)
    packages.append(package)
    current = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.name}:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            if current is None or current.shape != "STRUCT":
                raise Wrong(f"{where}: a field outside of a type")
            current.fields.append(read_field(where, line))
            continue
        word, _, rest = line.partition(" ")
        if word in ("package", "group", "version"):
            setattr(package, {"package": "path"}.get(word, word), "" if rest == "-" else rest)
            continue
        name, _, more = rest.partition(" ")
        full = f"{package.stem}.{name}"
        if full in types:
            raise Wrong(f"{where}: {full} is declared twice, first at {types[full].where}")
        shape = {"kind": "STRUCT", "type": "STRUCT", "enum": "STRING", "string": "STRING", "alias": "ALIAS"}.get(word)
        if not shape:
            raise Wrong(f"{where}: unknown word '{word}'")
        go = f"{package.path.split('/')[-1]}.{name}"
        current = types[full] = Type(where, shape, go, package, name)
        if word == "kind":
            current.flags.append("KIND")
        if word in ("kind", "type") and more:
            if more not in MAPS:
                raise Wrong(f"{where}: unknown word '{more}'")
            current.flags.append(MAPS[more])
        if word == "enum":
            current.flags.append("ENUM")
            current.values = read_values(more)
        if word == "alias":
            current.text, _, wrapped = more.partition(" ")
            if wrapped not in ("", "wrapped"):
                raise Wrong(f"{where}: unknown word '{wrapped}'")
            current.flags += ["WRAPPED"] if wrapped else []


class Tables:
    """All types in the order of their numbers; lists and maps are made when something refers to them."""

    def __init__(self, types, packages):
        self.named, self.packages = types, packages
        self.order, self.made = [], {}
        for word, (shape, go) in CUSTOM.items():
            self.made[word] = Type("", shape, go)
            self.order.append(self.made[word])
        for full in sorted(types):
            if types[full].shape != "ALIAS":
                self.order.append(types[full])

    def refer(self, where, stem, text):
        """The type that a text means in a file."""
        if text in CUSTOM:
            return self.made[text]
        match = re.fullmatch(r"\[\](.+)", text)
        if match:
            element = self.refer(where, stem, match[1])
            return self.container(("list", id(element)), "LIST", f"[]{element.go}", element, None)
        match = re.fullmatch(r"map\[([^]]+)\](.+)", text)
        if match:
            key, element = self.refer(where, stem, match[1]), self.refer(where, stem, match[2])
            go = f"map[{key.go}]{element.go}"
            return self.container(("map", id(key), id(element)), "MAP", go, element, key)
        full = text if "." in text else f"{stem}.{text}"
        found = self.named.get(full)
        if not found:
            raise Wrong(f"{where}: there is no type {full}")
        return self.alias(found) if found.shape == "ALIAS" else found

    def container(self, identity, shape, go, element, key):
        if identity not in self.made:
            made = self.made[identity] = Type("", shape, go)
            made.element, made.key = element, key
            self.order.append(made)
        return self.made[identity]

    def alias(self, declared):
        """A list or a map with a name of its own."""
        if declared.where not in self.made:
            real = self.refer(declared.where, declared.package.stem, declared.text)
            made = Type(declared.where, real.shape, declared.go, declared.package, declared.name)
            made.element, made.key, made.values = real.element, real.key, real.values
            made.flags = declared.flags + real.flags
            self.made[declared.where] = made
            self.order.append(made)
        return self.made[declared.where]

    def link(self):
        for declared in list(self.named.values()):
            if declared.shape == "ALIAS":
                self.alias(declared)
            for field in declared.fields:
                field.type = self.refer(field.where, declared.package.stem, field.text)
        schema = self.named.get(SCHEMA)
        for word in ("schemaOrBool", "schemaOrArray", "schemaOrStrings"):
            self.made[word].element = schema
        for index, made in enumerate(self.order):
            made.index = index


def flatten(declared, via, out):
    """The JSON members of a struct: those of an inlined struct stand among its own."""
    for field in declared.fields:
        if not field.is_inline:
            out.append((field, via))
        elif len(via) == INLINE_MAX or field.type.shape != "STRUCT":
            raise Wrong(f"{field.where}: cannot be inlined")
        else:
            flatten(field.type, via + [field], out)


def check_struct(declared):
    numbers = {}
    for field in declared.fields:
        if field.number and numbers.setdefault(field.number, field) is not field:
            raise Wrong(f"{field.where}: number {field.number} is used at {numbers[field.number].where}, too")
    members = []
    flatten(declared, [], members)
    if len(members) > MEMBERS_MAX:
        raise Wrong(f"{declared.where}: more than {MEMBERS_MAX} fields")
    members.sort(key=lambda m: m[0].name.encode())
    for (one, _), (other, _) in zip(members, members[1:]):
        if one.name == other.name:
            raise Wrong(f"{other.where}: the JSON name {one.name} is used at {one.where}, too")
    declared.members = members


def wire(declared, places, out):
    """What protobuf writes of a struct, in the order of the wire: (field, place among the members of the outermost struct,
    0), or for an inlined struct, which is a message of its own, (field, INLINED, how many of the next ones are in it)."""
    for field in sorted((f for f in declared.fields if f.number), key=lambda f: f.number):
        if field.is_inline:
            at = len(out)
            out.append(None)
            wire(field.type, places, out)
            out[at] = (field.index, "COR_WIRE_INLINED", len(out) - at - 1)
        else:
            out.append((field.index, places[field.name], 0))


# Shapes whose zero value omitempty leaves out; Go never finds a struct empty.
CAN_BE_EMPTY = {"LIST", "MAP", "STRING", "BOOL", "INT32", "INT64", "FLOAT64", "BYTES"}


# The headers of hooks that strategies, gates and columns name; every other one is of overlays.
STRATEGY_HOOKS, GATE_HOOKS, CELL_HOOKS = "strategy_hooks", "gates", "cell_hooks"
RAW = {"RAW", "JSON"}


def mark_raw(tables):
    """Notes which types hold raw values. Those of managedFields, which the server makes itself, do not count."""
    def holds(made):
        if made.shape == "STRUCT":
            return any("RAW" in f.type.flags or f.type.shape in RAW for f in made.fields)
        return made.element is not None and ("RAW" in made.element.flags or made.element.shape in RAW)

    changed = True
    while changed:
        changed = False
        for made in tables.order:
            if "RAW" not in made.flags and made.shape not in RAW and holds(made):
                made.flags.append("RAW")
                changed = True


def mark_written(declared):
    """Notes which fields Go writes although they were never set."""
    for field in declared.fields:
        leaves_out = "OMITEMPTY" in field.flags and ("POINTER" in field.flags or field.type.shape in CAN_BE_EMPTY)
        if not field.is_inline and "OMITZERO" not in field.flags and not leaves_out:
            field.flags.append("WRITTEN")


def check_keys(declared):
    for field in declared.fields:
        wanted = field.keys + ([field.patch_key] if field.patch_key else [])
        if field.list_kind != "NONE" and field.type.shape != "LIST":
            raise Wrong(f"{field.where}: {field.text} is not a list")
        if (field.list_kind == "MAP") != bool(field.keys):
            raise Wrong(f"{field.where}: a list of the kind map has keys, and no other")
        if not wanted:
            continue
        if field.type.shape != "LIST" or field.type.element.shape != "STRUCT":
            raise Wrong(f"{field.where}: keys need a list of structs")
        names = {f.name for f, _ in field.type.element.members}
        for key in wanted:
            if key not in names:
                raise Wrong(f"{field.where}: {field.type.element.go} has no field {key}")


class Pool:
    """All strings in one, each once, with their ends; offset 0 is the empty one."""

    def __init__(self):
        self.offsets, self.parts, self.size = {"": 0}, [""], 1

    def add(self, text):
        if text not in self.offsets:
            self.offsets[text] = self.size
            self.parts.append(text)
            self.size += len(text.encode()) + 1
        return self.offsets[text]

    def c_text(self):
        for text in self.parts:
            escaped = text.replace("\\", "\\\\").replace('"', '\\"')
            # The next part must not go on with an escape's digits.
            yield f'    "{escaped}\\0"'


def flag_text(prefix, words):
    return " | ".join(f"{prefix}_{word}" for word in words) or "0"


def write(out, tables, validation, strategies, gated, columns, conversions):
    pool, fields, members, values, keys = Pool(), [], [], [], []
    rows, rules = [], compile_rules.Out(pool)
    packages = {package.stem: i for i, package in enumerate(tables.packages)}
    for made in tables.order:
        first, nfirst = len(fields), len(made.fields)
        for field in made.fields:
            field.index = len(fields)
            fields.append(field)
        made.first, made.count = (first, nfirst) if made.shape == "STRUCT" else (len(values), len(made.values))
        values += [pool.add(v) for v in made.values]
    # The fields of each struct once more, in the order of their numbers, which is that of the wire.
    numbers = []
    for made in tables.order:
        numbers += [f.index for f in sorted(made.fields, key=lambda f: (f.number == 0, f.number))]
    wires = []
    for made in tables.order:
        first_member, first_wire = len(members), len(wires)
        wire(made, {field.name: i for i, (field, _) in enumerate(made.members)}, wires)
        for field, via in made.members:
            chain = [f.index + 1 for f in via] + [0] * (INLINE_MAX - len(via))
            members.append(f"{{{field.index}, {{{', '.join(map(str, chain))}}}}}")
        package = packages[made.package.stem] if made.package else len(packages)
        flags = made.flags + (["DEFAULTS"] if made.reaches else [])
        flags += ["LATE"] if any(rule.is_late for rule in made.rules) else []
        rows.append(f"{{{pool.add(made.name)}, {pool.add(made.go)}, {made.element.index if made.element else 0}, "
                    f"{made.key.index if made.key else 0}, {made.first}, {first_member}, {rules.add(made)}, {first_wire}, "
                    f"{made.count}, {len(made.members)}, {len(wires) - first_wire}, {len(made.rules)}, {package}, COR_SHAPE_{made.shape}, "
                    f"{flag_text('COR_TYPE', flags)}}}")
    field_rows = []
    for field in fields:
        first_key = len(keys)
        keys += [pool.add(k) for k in field.keys]
        field_rows.append(
            f"{{{pool.add('' if field.is_inline else field.name)}, {pool.add(field.go)}, {field.type.index}, "
            f"{pool.add(field.default)}, {pool.add(field.gate)}, {pool.add(field.patch_key)}, {first_key}, {field.number}, "
            f"{len(field.keys)}, COR_LIST_KIND_{field.list_kind}, COR_MAP_KIND_{field.map_kind}, "
            f"{flag_text('COR_PATCH_FLAG', field.patch)}, {flag_text('COR_FIELD', field.flags)}}}")
    gated_fields, gated_types = compile_gates.rows(gated, tables.order)
    strategy_rows, step_rows, counted_rows = compile_strategies.rows(strategies, pool)
    package_rows = []
    for package in tables.packages:
        # Sorted by package and name: a range of each package's own.
        own = [made.index for made in tables.order if made.package is package and made.shape in ("STRUCT", "STRING")
               and made.name and not made.text and made in tables.named.values()]
        package_rows.append(f"{{{pool.add(package.stem)}, {pool.add(package.group)}, {pool.add(package.version)}, "
                            f"{pool.add(package.openapi())}, {own[0] if own else 0}, {len(own)}}}")
    package_rows.append("{0, 0, 0, 0, 0, 0}")

    checks = compile_validation.Out(pool)
    checks.add(validation)
    shown = compile_columns.Out(pool)
    shown.add(columns)

    def array(kind, name, items):
        return f"const {kind} {name}[] = {{\n" + "".join(f"    {i},\n" for i in items or ["0"]) + "};\n"

    parts = [
        "/* Made by tools/compile_types.py from the files of api/. */\n",
        '#include "schema/print/cell_hooks.h"\n#include "schema/types/conversion_data.h"\n#include "schema/walk/default_hooks.h"\n#include "schema/format/format.h"\n#include "schema/hooks/hooks.h"\n#include "schema/walk/gates.h"\n#include "schema/strategies/strategy_hooks.h"\n'
        '#include "schema/types/types_int.h"\n#include "schema/validate/validate_int.h"\n',
        "const char cor_type_pool[] =\n" + "\n".join(pool.c_text()) + ";\n",
        array("struct cor_type", "cor_types", rows),
        array("struct cor_type_field", "cor_type_fields", field_rows),
        array("struct cor_type_member", "cor_type_members", members),
        array("struct cor_type_package", "cor_type_packages", package_rows),
        array("uint32_t", "cor_type_numbers", numbers),
        array("struct cor_type_wire", "cor_type_wires", [f"{{{f}, {m}, {n}}}" for f, m, n in wires]),
        array("uint32_t", "cor_type_values", values),
        array("uint32_t", "cor_type_keys", keys),
        array("struct cor_rule", "cor_rules", rules.rules),
        array("struct cor_rule_condition", "cor_rule_conditions", rules.conditions),
        array("uint8_t", "cor_rule_steps", rules.steps),
        array("uint32_t", "cor_rule_values", rules.values),
        *compile_words.rows(tables, fields, array),
        array("struct cor_strategy", "cor_strategies", strategy_rows),
        array("struct cor_strategy_step", "cor_strategy_steps", step_rows),
        array("struct cor_strategy_counted", "cor_strategy_members", counted_rows),
        f"const size_t cor_strategies_n = {len(strategy_rows)};\n",
        array("struct cor_gated_field", "cor_gated_fields", gated_fields),
        array("uint8_t", "cor_gated_types", gated_types),
        f"const size_t cor_gated_fields_n = {len(gated_fields)};\n",
        f"const size_t cor_types_n = {len(rows)}, cor_type_packages_n = {len(tables.packages)};\n",
        *checks.parts(array),
        *shown.rows(array),
        *compile_conversions.rows(conversions),
    ]
    out.write_text("\n".join(parts))


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    types, packages = {}, []
    try:
        paths = [pathlib.Path(name) for name in sorted(arguments[1:])]
        for path in paths:
            if path.suffix == ".types":
                read_file(path, types, packages)
        tables = Tables(types, packages)
        tables.link()
        for declared in types.values():
            check_struct(declared)
            mark_written(declared)
        mark_raw(tables)
        for declared in types.values():
            check_keys(declared)
        headers = {path: path.read_text() for path in paths if path.suffix == ".h"}
        hooks = [hook for path in headers if path.name != "format.h" and path.parent.name != "hooks" and path.stem not in (STRATEGY_HOOKS, GATE_HOOKS, CELL_HOOKS)
                 for hook in compile_rules.read_hooks(path)]
        for path in paths:
            if path.suffix == ".rules" and path.parent.name != "validation":
                compile_rules.read_rules(path, types, hooks)
            elif path.suffix == ".words" and path.name != compile_words.COMMON:
                compile_words.read_words(path, types)
            elif path.suffix == ".facts":
                compile_words.read_facts(path, types)
        for path in paths:
            if path.name == compile_words.COMMON:
                compile_words.read_common(path, types)
        compile_rules.finish(tables, hooks)
        formats = "".join(text for path, text in headers.items() if path.name == "format.h")
        validation = compile_validation.Compiler(
            tables, formats, [text for path, text in headers.items() if path.parent.name == "hooks"])
        for path in paths:
            if path.suffix == ".rules" and path.parent.name == "validation":
                validation.read(path)
        validation.finish()
        hooks = [hook for path in headers if path.stem == STRATEGY_HOOKS for hook in compile_rules.read_hooks(path)]
        gate_hooks = [hook for path in headers if path.stem == GATE_HOOKS for hook in compile_rules.read_hooks(path)]
        gated = compile_gates.Gated()
        for path in paths:
            if path.suffix == ".gates":
                compile_gates.read_gates(path, types, gate_hooks, gated)
        gated.mark()
        strategies = [strategy for path in paths if path.suffix == ".strategies"
                      for strategy in compile_strategies.read_strategies(path, types, hooks)]
        cell_hooks = [hook for path in headers if path.stem == CELL_HOOKS for hook in compile_rules.read_hooks(path)]
        columns = [table for path in paths if path.suffix == ".columns"
                   for table in compile_columns.read_columns(path, types, cell_hooks)]
        conversions = [made for path in paths if path.suffix == ".conversions"
                       for made in compile_conversions.read_conversions(path, types)]
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 1
    write(pathlib.Path(arguments[0]), tables, validation, strategies, gated, columns, conversions)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
