"""The columns of tables: reads api/*.columns for compile_types.py, which writes them into its tables.

A block names a kind and lists its columns: the name, and the cell, which says how the value is found in an object. Everything is
checked against the types: a kind or member that is missing, a cell that a member cannot fill, a hook that C does not have, a
column that nothing describes. The message names file and line, and the build stops.
docs/internals/tables.md describes the format."""

import re

from compile_rules import Wrong, member_named

# As enum cor_cell of src/schema/types/columns.h has them.
CELLS = ["name", "age", "created", "text", "number", "bool", "truth", "count", "join", "labels", "selector", "print", "since", "hook"]
SHAPES = {
    "text": {"STRING", "QUANTITY", "INT_OR_STRING"}, "number": {"INT32", "INT64"}, "bool": {"BOOL"}, "truth": {"BOOL"},
    "count": {"LIST", "MAP"}, "join": {"LIST"}, "labels": {"MAP"}, "selector": {"STRUCT"}, "since": {"TIME", "MICRO_TIME"},
    "print": {"STRING", "QUANTITY", "INT32", "INT64"}, "when": None,
}
NUMBERS = {"INT32", "INT64"}
TYPES = {"": ("STRING", ""), "name": ("STRING", "NAME"), "string": ("STRING", ""), "integer": ("INTEGER", ""),
         "boolean": ("BOOLEAN", ""), "date": ("DATE", "")}
STEPS_MAX, PARTS_MAX = 255, 255
METADATA = {"name": "name", "age": "creationTimestamp", "created": "creationTimestamp"}


class Part:
    """A literal text, the path that follows it, and how many of its steps lead to the last pointer."""

    def __init__(self, text="", steps=(), guard=0, is_number=False):
        self.text, self.steps, self.guard, self.is_number = text, list(steps), guard, is_number


class Column:
    def __init__(self, where, name):
        self.where, self.name, self.words = where, name, ""
        self.type, self.flags, self.cell, self.hook, self.parts, self.otherwise = "STRING", [], "", "", [], None


class Table:
    def __init__(self, made, where):
        self.made, self.where, self.columns = made, where, []
        self.conditions, self.has_always, self.order = "", False, None


def read_path(where, made, text, cell):
    """The steps of a path, how many of them lead to the last pointer, and the field at its end, None in a map."""
    steps, guard, field = [], 0, None
    if not re.fullmatch(r"[\w.]+", text):
        raise Wrong(f"{where}: {text} is not a path")
    for name in text.split("."):
        steps.append(name)
        if made.shape == "MAP":
            made, field = made.element, None
            continue
        if made.shape != "STRUCT":
            raise Wrong(f"{where}: {made.go} has no fields, so no {name}")
        field = member_named(where, made, name)[1]
        if "POINTER" in field.flags:
            guard = len(steps)
        made = field.type
    shapes = SHAPES[cell]
    if shapes and made.shape not in shapes:
        raise Wrong(f"{where}: {text} is a {made.shape.lower()}, which a cell '{cell}' cannot show")
    return Part("", steps, guard, made.shape in NUMBERS), field, made


def read_print(where, made, text):
    """The parts of a template: texts with {paths}."""
    at, parts = 0, []
    for match in re.finditer(r"\{([^}]*)\}", text):
        part = read_path(where, made, match[1], "print")[0]
        part.text = text[at:match.start()]
        parts.append(part)
        at = match.end()
    return parts + ([Part(text[at:])] if text[at:] else [])


def read_cell(where, made, column, text, hooks):
    """Fills the column; returns the field that it shows, for its description."""
    text, _, otherwise = text.partition(" or ")
    column.otherwise = otherwise.strip().strip('"') if otherwise else None
    word, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    if word not in CELLS:
        raise Wrong(f"{where}: there is no cell {word}")
    column.cell = word
    if word in METADATA:
        if rest or otherwise:
            raise Wrong(f"{where}: expected nothing behind {word}")
        return member_named(where, member_named(where, made, "metadata")[1].type, METADATA[word])[1] if made else None
    if word == "hook":
        if rest not in hooks:
            raise Wrong(f"{where}: C has no hook {rest}")
        column.hook = rest
        return None
    if word == "print":
        template, _, guard = rest.partition(" when ")
        if guard:
            column.parts.append(read_path(where, made, guard.strip(), "when")[0])
            column.flags.append("WHEN")
        column.parts += read_print(where, made, template.strip())
        return None
    words = rest.split()
    if not words or len(words) > (2 if word in ("count", "join") else 1):
        raise Wrong(f"{where}: expected a path behind {word}")
    part, field, below = read_path(where, made, words[0], word)
    column.parts.append(part)
    if word == "count" and len(words) == 2:
        column.parts.append(read_path(where, made, words[1], word)[0])
    elif word == "join" and len(words) == 2:
        if below.element.shape != "STRUCT" or member_named(where, below.element, words[1])[1].type.shape != "STRING":
            raise Wrong(f"{where}: {words[1]} is not a text of the elements")
        part.text = words[1]
    elif word == "join" and below.element.shape != "STRING":
        raise Wrong(f"{where}: the elements are no texts")
    return field


def read_column(where, made, line, hooks):
    match = re.fullmatch(r"\s+(.*?)(:\w+)?( \*)?\s+= (.+)", line)
    if not match:
        raise Wrong(f"{where}: expected 'COLUMN[:TYPE][ *] = CELL'")
    column = Column(where, match[1])
    field = read_cell(where, made, column, match[4], hooks)
    kind = (match[2] or (":name" if column.cell == "name" else ":"))[1:]
    if kind not in TYPES:
        raise Wrong(f"{where}: there is no type {kind}")
    column.type, format_flag = TYPES[kind]
    column.flags += [format_flag] if format_flag else []
    column.flags += ["WIDE"] if match[3] else []
    if column.name == "-":
        column.flags.append("UNNAMED")
        column.name, column.words = "", "-"
    column.words = column.words or getattr(field, "words", "")
    if column.otherwise is not None:
        column.flags.append("OTHERWISE")
    return column


def read_order(where, made, text):
    part, _, below = read_path(where, made, text, "number")
    if below.shape not in NUMBERS:
        raise Wrong(f"{where}: {text} is no number")
    return part


def read_columns(path, named, hooks):
    """The tables of a file, sorted by the number of their type; that of all other kinds is the last."""
    found, stem, current = {}, None, None
    meta = named["meta_v1.ObjectMeta"]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where, text = f"{path.name}:{number}", line.strip()
        if not text or text.startswith("#"):
            continue
        if line.startswith("package "):
            stem, current = text[len("package "):], None
        elif not line.startswith(" "):
            made = None if text == "others" else named.get(f"{stem}.{text}")
            if text != "others" and (made is None or "KIND" not in made.flags):
                raise Wrong(f"{where}: there is no kind {stem}.{text}")
            index = made.index if made else None
            if index in found:
                raise Wrong(f"{where}: the columns of {text} are at {found[index].where}")
            current = found[index] = Table(made, where)
        elif current is None:
            raise Wrong(f"{where}: a line outside of a kind")
        elif line.startswith("    "):
            if not current.columns:
                raise Wrong(f"{where}: there is no column to describe")
            column = current.columns[-1]
            column.words = f"{column.own} {text}" if hasattr(column, "own") else text
            column.own = column.words
        elif text == "columns in every event":
            current.has_always = True
        elif text.startswith("order by "):
            current.order = read_order(where, current.made, text[len("order by "):])
        elif text.startswith("conditions hook "):
            current.conditions = text[len("conditions hook "):]
            if current.conditions not in hooks:
                raise Wrong(f"{where}: C has no hook {current.conditions}")
        else:
            column = read_column(where, current.made, line, hooks)
            if not current.made and column.cell in METADATA:
                column.words = getattr(member_named(where, meta, METADATA[column.cell])[1], "words", "")
            current.columns.append(column)
    bare = [column for table in found.values() for column in table.columns if not column.words]
    if bare:
        raise Wrong("\n".join(f"{column.where}: {column.name} has no description, and neither has its field" for column in bare))
    if None not in found:
        raise Wrong(f"{path.name}: there are no columns for others")
    return [found[index] for index in sorted(index for index in found if index is not None)] + [found[None]]


class Out:
    """The rows of the tables of src/schema/types/columns.c."""

    def __init__(self, pool):
        self.pool, self.tables, self.columns, self.parts, self.steps = pool, [], [], [], []

    def part(self, part):
        first = len(self.steps)
        self.steps += [self.pool.add(step) for step in part.steps]
        return f"{{{self.pool.add(part.text)}, {first}, {len(part.steps)}, {part.guard}, {int(part.is_number)}}}"

    def add(self, tables):
        for table in tables:
            order = 0
            if table.order:
                self.parts.append(self.part(table.order))
                order = len(self.parts)
            self.tables.append(f"{{{table.made.index if table.made else 'UINT32_MAX'}, {len(self.columns)}, {order}, {len(table.columns)}, "
                               f"COR_CELL_HOOK_{table.conditions or 'none'}, {int(table.has_always)}}}")
            for column in table.columns:
                first = len(self.parts)
                self.parts += [self.part(part) for part in column.parts]
                flags = " | ".join(f"COR_COLUMN_{flag}" for flag in column.flags) or "0"
                self.columns.append(
                    f"{{{self.pool.add(column.name)}, {self.pool.add('' if column.words == '-' else column.words)}, "
                    f"{self.pool.add(column.otherwise or '')}, {first}, {len(column.parts)}, COR_COLUMN_{column.type}, {flags}, "
                    f"COR_CELL_{column.cell.upper()}, COR_CELL_HOOK_{column.hook or 'none'}}}")

    def rows(self, array):
        return [
            array("struct cor_table_columns", "cor_column_tables", self.tables),
            array("struct cor_column", "cor_column_rows", self.columns),
            array("struct cor_column_part", "cor_column_parts", self.parts),
            array("uint32_t", "cor_column_steps", self.steps),
            f"const size_t cor_column_tables_n = {len(self.tables)};\n",
        ]
