"""How two versions of a kind differ: reads api/*.conversions for compile_types.py, which writes them as tables (src/schema/types/conversion_data.h).

Everything is checked against the types: a member that is missing, two of different shapes under one declaration, a difference that is not
declared, a declaration of what does not differ. The message names file and line, and the build stops. docs/internals/conversion.md
describes the format."""

import re

from compile_rules import Wrong


class Conversion:
    def __init__(self, where, a, b):
        self.where, self.a, self.b = where, a, b
        self.renamed, self.by_hand, self.settles = [], ([], []), False

    symbol = property(lambda self: "cor_declared_" + snake(self.a))


def snake(full):
    package, _, kind = full.partition(".")
    return package + "_" + re.sub(r"(?<!^)([A-Z])", r"_\1", kind).lower()


def member(declared, path):
    """The field at a path of JSON names; None: there is none."""
    field = None
    for name in path.split("."):
        if declared is None or declared.shape != "STRUCT":
            return None
        field = next((f for f, _ in declared.members if f.name == name), None)
        declared = field.type if field else None
    return field


def shape(declared):
    element = getattr(declared, "element", None)
    return declared.shape, element.shape if element else None


def inner(declared):
    return getattr(declared, "element", None) or declared


def parent_of(path):
    return path.rpartition(".")[0]


def differences(a, b, renamed, path, depth=0):
    """The paths of `a` that have no counterpart in `b`. A name of `b` that another member is renamed to is none."""
    taken = {there for here, there in renamed.items()}
    out = []
    if a is b or depth == 16:
        return out
    for field, _ in a.members:
        whole = f"{path}.{field.name}" if path else field.name
        there = renamed.get(whole)
        if there is None and whole in taken:
            out.append(whole)
            continue
        other = member(b, (there or whole).rpartition(".")[2])
        if other is None or shape(other.type) != shape(field.type):
            out.append(whole)
        elif inner(field.type).shape == "STRUCT":
            out += differences(inner(field.type), inner(other.type), renamed, whole, depth + 1)
    return out


def check(conversion, named):
    sides = []
    for full in (conversion.a, conversion.b):
        if full not in named:
            raise Wrong(f"{conversion.where}: there is no kind {full}")
        sides.append(named[full])
    for here, there in conversion.renamed:
        for declared, full, path in ((sides[0], conversion.a, here), (sides[1], conversion.b, there)):
            if member(declared, path) is None:
                raise Wrong(f"{conversion.where}: {full} has no member {path}")
        if parent_of(here) != parent_of(there):
            raise Wrong(f"{conversion.where}: {here} and {there} are not in the same struct: convert them by hand")
        if shape(member(sides[0], here).type) != shape(member(sides[1], there).type):
            raise Wrong(f"{conversion.where}: {here} and {there} are of different shapes")
    forth, back = dict(conversion.renamed), {there: here for here, there in conversion.renamed}
    for side, renames, full in ((0, forth, conversion.a), (1, back, conversion.b)):
        found = differences(sides[side], sides[1 - side], renames, "")
        declared = conversion.by_hand[side]
        for path in found:
            if path not in declared:
                raise Wrong(f"{conversion.where}: {full} has {path}, which the other one has not: declare it renamed or by-hand")
        for path in declared:
            if path not in found:
                raise Wrong(f"{conversion.where}: {path} of {full} does not differ")


def read_conversions(path, named):
    made = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where, words = f"{path.name}:{number}", line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "convert" and len(words) == 4 and words[2] == "=":
            made.append(Conversion(where, words[1], words[3]))
        elif not made:
            raise Wrong(f"{where}: \"convert KIND = KIND\" was expected")
        elif words[0] == "renamed" and len(words) == 4 and words[2] == "=":
            made[-1].renamed.append((words[1], words[3]))
        elif words[0] == "by-hand" and len(words) > 1:
            side = 1 if words[1] == "=" else 0
            made[-1].by_hand[side].extend(words[1 + side:])
        elif words == ["settles"]:
            made[-1].settles = True
        else:
            raise Wrong(f"{where}: \"renamed A = B\", \"by-hand [=] PATH ...\" or \"settles\" was expected")
    for conversion in made:
        check(conversion, named)
    return made


def split(path):
    parent, _, name = path.rpartition(".")
    return f'COR_STR("{parent}"), COR_STR("{name}")'


def rows(conversions):
    out = []
    for c in conversions:
        names = {}
        for key, kind, items in (
                ("renamed", "cor_declared_rename", [f'{{{split(a)}, COR_STR("{b.rpartition(".")[2]}")}}' for a, b in c.renamed]),
                ("a", "cor_declared_path", [f"{{{split(p)}}}" for p in c.by_hand[0]]),
                ("b", "cor_declared_path", [f"{{{split(p)}}}" for p in c.by_hand[1]])):
            names[key] = "NULL"
            if items:
                names[key] = f"{c.symbol}_{key}"
                out.append(f"static const struct {kind} {names[key]}[] = {{\n" + "".join(f"    {i},\n" for i in items) + "};\n")
        out.append(f'const struct cor_conversion_data {c.symbol} = {{\n    COR_STR("{c.a}"), COR_STR("{c.b}"),\n'
                   f'    {names["renamed"]}, {len(c.renamed)},\n'
                   f'    {{{{{names["a"]}, {len(c.by_hand[0])}}}, {{{names["b"]}, {len(c.by_hand[1])}}}}}, {"true" if c.settles else "false"}}};\n')
    out.append("const struct cor_conversion_data *const cor_conversions_declared[] = {\n"
               + "".join(f"    &{c.symbol},\n" for c in conversions) + "    NULL,\n};\n")
    return out
