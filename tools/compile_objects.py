#!/usr/bin/env python3
"""The objects that the server makes at its start: compile_objects.py OUT.c IN turns api/all.objects into the table of
src/schema/kinds/bootstrap_objects.h, with the bodies as canonical JSON. A line that is wrong stops the build, and the message names it.
docs/internals/bootstrap.md describes the format."""

import json
import pathlib
import re
import sys

RULES = {"once": "COR_BOOTSTRAP_ONCE", "suggested": "COR_BOOTSTRAP_SUGGESTED", "mandatory": "COR_BOOTSTRAP_MANDATORY"}


class Wrong(Exception):
    pass


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def c_text(text):
    return "COR_STR_INIT(" + json.dumps(text, ensure_ascii=False) + ")"


def blocks(path):
    """(where, line, text of the lines below it that are indented)."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line.startswith(" "):
            if not found:
                raise Wrong(f"{path.name}:{number}: an indented line without a line above it")
            found[-1][2].append(line.strip())
        else:
            found.append((f"{path.name}:{number}", line, []))
    return found


def body_of(where, lines, lets):
    def value(match):
        if match[1] not in lets:
            raise Wrong(f"{where}: ${match[1]} has no value")
        return lets[match[1]]

    text = re.sub(r"\$([a-z-]+)", value, " ".join(lines))
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Wrong(f"{where}: {error}") from error


def read(path):
    lets, kind, annotations, undeletable, rows, seen = {}, None, {}, "", [], set()
    for where, line, below in blocks(path):
        words = line.split()
        if words[0] == "let":
            lets[words[1]] = " ".join([line.split(None, 2)[2], *below])
        elif words[0] == "kind" and len(words) == 4:
            kind, annotations, undeletable = words[1:], {}, ""
            for extra in below:
                if extra.startswith("undeletable "):
                    undeletable = extra.partition(" ")[2]
                elif extra.startswith("annotation ") and len(extra.split()) == 3:
                    annotations[extra.split()[1]] = extra.split()[2]
                else:
                    raise Wrong(f"{where}: below a kind there are only `annotation KEY VALUE` and `undeletable TEXT`")
        elif words[0] in RULES and (len(words) == 2 or words[2:] == ["any-spec"]):
            if kind is None or (kind[0], words[1]) in seen:
                raise Wrong(f"{where}: {words[1]} is there twice, or has no kind")
            seen.add((kind[0], words[1]))
            body = body_of(where, below, lets)
            metadata = {"name": words[1], **({"annotations": annotations} if annotations else {})}
            group, version = kind[1].split("/")
            whole = {"apiVersion": kind[1], "kind": kind[0], "metadata": metadata, **body}
            if words[0] != "once" and "spec" not in body:
                raise Wrong(f"{where}: an object that is kept needs a spec")
            rows.append([RULES[words[0]], kind[0], group, version, kind[2], words[1], canonical(whole),
                         canonical(body["spec"]) if "spec" in body else "", len(words) == 2,
                         undeletable])
        else:
            raise Wrong(f"{where}: not a let, a kind or an object")
    return rows


def main(out, source):
    rows = read(pathlib.Path(source))
    lines = ["/* Made of api/all.objects by tools/compile_objects.py. */", '#include "schema/kinds/bootstrap_objects.h"', "",
             "const struct cor_bootstrap_object cor_bootstrap_objects[] = {"]
    for rule, kind, group, version, resource, name, body, spec, is_compared, undeletable in rows:
        lines += [f"    {{.rule = {rule},", f"     .kind = {c_text(kind)},",
                  f"     .gvr = {{{c_text(group)}, {c_text(version)}, {c_text(resource)}}},", f"     .name = {c_text(name)},",
                  f"     .body = {c_text(body)},", f"     .spec = {c_text(spec)},",
                  f"     .is_spec_compared = {'true' if is_compared else 'false'},",
                  f"     .undeletable = {json.dumps(undeletable) if undeletable else 'NULL'}}},"]
    lines += ["};", "", f"const size_t cor_bootstrap_nobjects = {len(rows)};", ""]
    pathlib.Path(out).write_text("\n".join(lines))


try:
    main(*sys.argv[1:])
except Wrong as wrong:
    sys.exit(f"compile_objects.py: {wrong}")
