#!/usr/bin/env python3
"""Writes the checks of every generated view: make_view_checks.py OUT.c FILE.types...

For each struct of api/ there is a function that reads each of its fields twice, by the generated accessor and by its name in
JSON, and compares the two. The names of the accessors are made here and not taken from coracle-gen: a name or a type that it
gets wrong does not compile."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "tools"))
import compile_types

TEXTS = {"STRING", "TIME", "MICRO_TIME", "DURATION", "QUANTITY"}
NUMBERS = {"INT32", "INT64"}


def snake(name):
    name = re.sub(r"(?<=[A-Za-z])(V[0-9])", r"_\1", name)
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    name = re.sub(r"([A-Z])([A-Z](?!s(?![a-z]))[a-z])", r"\1_\2", name)
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def c_name(declared):
    return f"cor_{declared.package.stem}_{snake(declared.name)}"


class Checks:
    def __init__(self):
        self.lines, self.places = [], []

    def place(self, text):
        """The number of an accessor, which is counted when it finds something."""
        self.places.append(text)
        return len(self.places) - 1

    def scalar(self, call, shape, at):
        if shape in TEXTS:
            return f"check_text({at}, member, {call});"
        if shape in NUMBERS:
            return f"check_int({at}, member, {call}, {shape});"
        if shape == "BOOL":
            return f"check_bool({at}, member, {call});"
        if shape == "FLOAT64":
            return f"check_double({at}, member, {call});"
        return f"check_view({at}, member, {call});"

    def container(self, call, field_type, at):
        element = field_type.element
        what = "array" if field_type.shape == "LIST" else "map"
        if element.shape == "STRUCT":
            name = c_name(element)
            key = "&key, " if what == "map" else ""
            self.lines += [
                f"    {{ struct {name}_{what} all = {call}; struct {name} one; struct cor_text key;",
                f"      struct cor_view_iter it = cor_view_iter(check_{what}({at}, member, all.at)); (void)key;",
                f"      while (cor_view_next(&it)) {{ assert_true({name}_{what}_next(&all, {key}&one));"]
            if what == "map":
                self.lines.append(f"        check_key(it.key, key); assert_ptr_equal({name}_map_get({call}, key_text(key)).at.p, one.at.p);")
            self.lines += [f"        check_{name}(it.value, one); }}",
                           f"      assert_false({name}_{what}_next(&all, {key}&one)); }}"]
        else:
            form = "text" if element.shape in TEXTS else "int" if element.shape in NUMBERS and what == "array" else "view"
            self.lines.append(f"    check_{form}_{what}({at}, member, {call});")

    def field(self, owner, field):
        name, member = c_name(owner), snake(field.name)
        call = f"{name}_{member}(got)"
        at = self.place(f"{owner.package.stem}.{owner.name}.{field.name}")
        shape = field.type.shape
        self.lines.append(f'    member = cor_view_member(want, COR_STR("{field.name}"));')
        if shape == "STRUCT":
            self.lines += [f"    check_struct({at}, member, {call}.at);",
                           f"    if (cor_view_type(member) == COR_JSON_OBJECT) check_{c_name(field.type)}(member, {call});"]
        elif shape in ("LIST", "MAP"):
            self.container(call, field.type, at)
        else:
            self.lines.append("    " + self.scalar(call, shape, at))
        if "POINTER" in field.flags and shape in NUMBERS | {"BOOL", "FLOAT64"}:
            self.lines.append(f"    check_has(member, {name}_has_{member}(got));")
        if field.list_kind == "MAP" and len(field.keys) == 1 and field.type.element.shape == "STRUCT":
            key = next(f for f, _ in field.type.element.members if f.name == field.keys[0])
            if key.type.shape in TEXTS:
                self.lines.append(f'    check_by_key(member, "{key.name}", '
                                  f"{name}_{member}_by_{snake(key.name)}(got, first_key(member, \"{key.name}\")).at);")

    def struct(self, declared):
        name = c_name(declared)
        self.lines += [f"static void check_{name}(struct cor_view want, struct {name} got)", "{",
                       "    struct cor_view member;", "    (void)member;"]
        for field, _ in declared.members:
            self.field(declared, field)
        for field in declared.fields:
            if field.is_inline:
                # In protobuf it is a message of its own, and its view is not the struct's.
                self.lines.append(f"    if (!cor_value_is_wire(got.at)) "
                                  f"check_{c_name(field.type)}(want, (struct {c_name(field.type)}){{got.at}});")
        self.lines += ["}", ""]


def reach(kinds):
    """The structs that kinds have somewhere in them: no view shows any other."""
    found, todo = set(), list(kinds)
    while todo:
        declared = todo.pop()
        if declared not in found:
            found.add(declared)
            holds = [f.type.element if f.type.shape in ("LIST", "MAP") else f.type for f in declared.fields]
            todo += [t for t in holds if t.shape == "STRUCT"]
    return found


def table(kind):
    """The kind's table for protobuf; lists of objects have none."""
    is_list = {"metadata", "items"} <= {f.name for f, _ in kind.members}
    return "NULL" if is_list else f"&{c_name(kind)}_wire"


def main(arguments):
    out, files = arguments[1], [pathlib.Path(a) for a in arguments[2:]]
    types, packages = {}, []
    for path in files:
        compile_types.read_file(path, types, packages)
    tables = compile_types.Tables(types, packages)
    tables.link()
    structs = [types[full] for full in sorted(types) if types[full].shape == "STRUCT"]
    for declared in structs:
        compile_types.flatten(declared, [], declared.members)
    kinds = [d for d in structs if "KIND" in d.flags and d.package.version]
    reached = reach(kinds)
    structs = [d for d in structs if d in reached]
    checks = Checks()
    for declared in structs:
        checks.struct(declared)
    stems = sorted({declared.package.stem for declared in structs})
    text = ["/* Made by make_view_checks.py. */", '#include "view_checks.h"']
    text += [f'#include "coracle/types/{stem}.h"' for stem in stems]
    text += [f"static void check_{c_name(d)}(struct cor_view want, struct {c_name(d)} got);" for d in structs]
    text += checks.lines
    for d in kinds:
        text += [f"static void run_{c_name(d)}(const struct cor_object *object)", "{",
                 f"    struct {c_name(d)} got = {c_name(d)}(object);", "    assert_true(cor_value_exists(got.at));",
                 f"    check_{c_name(d)}(cor_object_view(object), got);", "}", ""]
    text += ["const struct view_check view_checks[] = {"]
    text += [f'    {{"{d.package.group}", "{d.package.version}", "{d.name}", run_{c_name(d)}, {table(d)}}},' for d in kinds]
    text += ["};", f"const size_t view_checks_n = {len(kinds)};", "const char *const view_places[] = {"]
    text += [f'    "{place}",' for place in checks.places]
    text += ["};", f"const size_t view_places_n = {len(checks.places)};", f"unsigned char view_seen[{len(checks.places)}];", ""]
    pathlib.Path(out).write_text("\n".join(text))


main(sys.argv)
