"""The overlays of OpenAPI, for compile_types.py: api/*.words (what people read about types and fields) and api/openapi.facts
(what upstream's documents have and the declarations do not say). docs/internals/openapi.md describes both formats."""

import fnmatch
import json
import re

from compile_rules import Wrong

FACTS = ("required", "plain", "kinds", "extension")


def member_of(declared, name):
    return next((field for field, _ in declared.members if field.name == name), None)


COMMON = "common.words"


def read_blocks(path):
    """(where, name, text, [(where, field, text)]) of each type. A line without indentation is about a type, the lines below it
    are about its fields, and a line with four spaces continues the text above it."""
    blocks, last = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.name}:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("    "):
            if last is None:
                raise Wrong(f"{where}: there is no text to continue")
            last[2] += " " + line.strip()
            continue
        name, _, text = line.strip().partition(" ")
        if line.startswith("  "):
            if not blocks:
                raise Wrong(f"{where}: a field outside of a type")
            last = [where, name, text.strip()]
            if not last[2]:
                raise Wrong(f"{where}: {name} has no text")
            blocks[-1][3].append(last)
        else:
            last = [where, name, text.strip(), []]
            blocks.append(last)
    return blocks


def give(where, target, name, text):
    if getattr(target, "words", ""):
        raise Wrong(f"{where}: {name} has a text already")
    target.words = text


def read_words(path, types):
    """Texts of types and fields. `TYPE like OTHER` takes the texts of another type's fields where there are none."""
    stem = path.name[:-len(".words")]
    likes = []

    def struct(where, name):
        full = name if "." in name else f"{stem}.{name}"
        declared = types.get(full)
        if not declared or declared.shape != "STRUCT":
            raise Wrong(f"{where}: there is no struct {full}")
        return declared

    for where, name, text, fields in read_blocks(path):
        declared = struct(where, name)
        other = re.fullmatch(r"like (\w+)", text)
        if other:
            likes.append((declared, struct(where, other[1])))
        elif text:
            give(where, declared, name, text)
        else:
            raise Wrong(f"{where}: {name} has no text")
        for field_where, field, words in fields:
            target = member_of(declared, field)
            if not target:
                raise Wrong(f"{field_where}: there is no field {field}")
            give(field_where, target, field, words)
    for declared, other in likes:
        for field, _ in declared.members:
            same = member_of(other, field.name)
            if same and not getattr(field, "words", ""):
                field.words = getattr(same, "words", "")


def read_common(path, types):
    """Texts for whatever has none, by patterns for the names of structs: the first pattern that matches counts."""
    for where, pattern, text, fields in read_blocks(path):
        for declared in types.values():
            if declared.shape != "STRUCT" or not fnmatch.fnmatchcase(declared.name, pattern):
                continue
            if text and not getattr(declared, "words", ""):
                declared.words = text
            for _, name, words in fields:
                field = next((f for f in declared.fields if f.name == name), None)
                if field and not getattr(field, "words", ""):
                    field.words = words


def read_facts(path, types):
    """Lines `TYPE[.FIELD] WORD TEXT`; each fact is added to its type or field."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.name}:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        name, word, text = (line.split(None, 2) + ["", ""])[:3]
        match = re.fullmatch(r"(\w+\.\w+)(?:\.(\S+))?", name)
        declared = match and types.get(match[1])
        target = declared and (member_of(declared, match[2]) if match[2] else declared)
        if not target:
            raise Wrong(f"{where}: there is no {name}")
        if word not in FACTS or bool(text) != (word in ("kinds", "extension")):
            raise Wrong(f"{where}: expected {', '.join(FACTS[:-1])} or {FACTS[-1]}, the last two with a text")
        if word == "extension":
            try:
                json.loads(text.partition(" ")[2])
            except ValueError as error:
                raise Wrong(f"{where}: the extension is not JSON: {error}") from error
        target.facts = getattr(target, "facts", []) + [(word, text)]


def rows(tables, fields, array):
    """The C of both: offsets into a pool of texts of their own, and the facts, those of types first."""
    parts, offsets, size = [""], {"": 0}, 1

    def add(text):
        nonlocal size
        if text not in offsets:
            offsets[text] = size
            parts.append(text)
            size += len(text.encode()) + 1
        return offsets[text]

    facts = []
    for kind, targets in (("COR_FACT_OF_TYPE", tables.order), ("COR_FACT_OF_FIELD", fields)):
        for target in targets:
            for word, text in getattr(target, "facts", []):
                name, _, value = text.partition(" ")
                name, value = (name, value) if word == "extension" else ("", text)
                facts.append(f"{{{target.index}, {add(name)}, {add(value)}, {kind}, COR_FACT_{word.upper()}}}")
    type_words = [add(getattr(made, "words", "")) for made in tables.order]
    field_words = [add(getattr(field, "words", "")) for field in fields]
    quoted = [part.replace("\\", "\\\\").replace('"', '\\"') for part in parts]
    return [
        "const char cor_words_pool[] =\n" + "\n".join(f'    "{text}\\0"' for text in quoted) + ";\n",
        array("uint32_t", "cor_type_words_of", type_words),
        array("uint32_t", "cor_field_words_of", field_words),
        array("struct cor_openapi_fact", "cor_openapi_facts", facts or ["{0}"]),
        f"const size_t cor_openapi_facts_n = {len(facts)};\n",
    ]
