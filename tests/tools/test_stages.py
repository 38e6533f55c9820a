#!/usr/bin/env python3
"""TAP: a stage that writes an earlier phase of a write, or reaches more of it than its view shows, does not compile: stages are
planted beside those of the tree and compiled as these are. Arguments: the source root, the build folder."""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT, BUILD = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
NEIGHBOUR = "src/server/write/stage_check_uid.c"  # whose command compiles the planted stages
VIEWS = ("applying", "receiving", "managing", "admitting", "storing", "judging")
# What writes a phase, and the views that may.
WRITES = [
    ("write->asked->is_applied = true;", ()),
    ("write->asked->manager.n = 0;", ()),
    ("write->present->is_create = true;", ()),
    ("write->received->applies_nothing = true;", ("applying", "receiving")),
    ("cor_buf_reset(&write->received->text);", ("applying", "receiving")),
    ("write->managed->next = cor_str(NULL, 0);", ("applying", "managing")),
    ("write->admitted->body = NULL;", ("admitting",)),
    ("write->to_store->removes = true;", ("storing",)),
    ("cor_storing_of(write->call).to_store->removes = true;", ()),
    ("cor_write_of(write->call)->received.body = NULL;", ()),
    ("((struct cor_write *)write->call)->received.body = NULL;", ()),
]
READS = {
    "applying": "write->asked->is_applied && write->present->is_create && write->received->body && write->managed->old",
    "receiving": "write->asked->is_applied && write->present->is_create && write->received->body",
    "managing": "write->present->is_create && write->received->body && write->managed->old",
    "admitting": "write->received->body && write->managed->old && write->admitted->body && write->to_store->object",
    "storing": "write->managed->old && write->admitted->body && write->to_store->object",
    "judging": "write->asked->is_applied && write->received->body && write->managed->old && write->to_store->object",
}


def stage(number, view, body):
    """A stage on a line of its own, which is how an error names it."""
    head = f"int cor_planted_{number}(const struct cor_{view} *write)"
    return f"{head}; {head} {{ {body} return 0; }}"


def row(number, view, member):
    """A row of a list: its function must take the view that its member promises."""
    name = f"cor_planted_{number}"
    return (f"int {name}(const struct cor_{view} *write); extern const struct cor_stage_row {name}_row; "
            f"const struct cor_stage_row {name}_row = {{COR_STAGE_DECODE, .{member} = {name}}};")


def compiler():
    """The command that compiles NEIGHBOUR, less its files; a warning is an error, as in CI."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        if (pathlib.Path(entry["directory"]) / entry["file"]).resolve() != (ROOT / NEIGHBOUR).resolve():
            continue
        words, kept = iter(shlex.split(entry["command"])), []
        for word in words:
            if word in ("-o", "-MF", "-MQ"):
                next(words)
            elif word not in ("-c", "-MD", entry["file"]):
                kept.append(word)
        all_errors = "-ferror-limit=0" if any("clang" in word for word in kept[:2]) else "-fmax-errors=0"
        return [*kept, "-Werror", "-fsyntax-only", all_errors, "-fdiagnostics-color=never"], entry["directory"]
    sys.exit(f"no command compiles {NEIGHBOUR}")


def cases():
    """(what, what makes its line, the view, its body or member, does it compile)"""
    for view in VIEWS:
        yield f"cor_{view}: reads what it shows", stage, view, f"if ({READS[view]}) return 1;", True
        for line, may in WRITES:
            yield f"cor_{view}: {line}", stage, view, line, view in may
    members = dict(zip(("apply", "receive", "manage", "admit", "store", "judge"), VIEWS))
    for member, own in members.items():
        for view in VIEWS:
            yield f".{member} = a stage with cor_{view}", row, view, member, view == own


def refused(lines):
    """The numbers of the lines, from 1 on, in which the compiler finds an error."""
    command, folder = compiler()
    with tempfile.TemporaryDirectory() as tree:
        file = pathlib.Path(tree, "planted.c")
        file.write_text("\n".join([*lines, ""]))
        done = subprocess.run([*command, str(file)], cwd=folder, capture_output=True, text=True, check=False)
    found = {int(number) for number in re.findall(r"planted\.c:(\d+):\d+: error:", done.stderr)}
    if bool(found) != (done.returncode != 0):
        sys.exit(f"the compiler has failed: {done.stderr[:500]}")
    return found


def main():
    todo = list(cases())
    includes = ['#include "server/write/stages.h"', '#include "server/write/stage_list.h"']
    lines = [make(number, view, what) for number, (_, make, view, what, _) in enumerate(todo, 1)]
    found = {number - len(includes) for number in refused([*includes, *lines])}
    failed = 0
    print(f"1..{len(todo)}")
    for number, (what, _, _, _, compiles) in enumerate(todo, 1):
        ok = (number not in found) == compiles
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} {number} - {what}{'' if compiles else ' does not compile'}")
    return 1 if failed or min(found) < 1 else 0


sys.exit(main())
