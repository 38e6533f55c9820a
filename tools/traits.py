#!/usr/bin/env python3
"""What kind of house src/ is: a line for each room with its files, modules, lines, heads, asserts and comments, the names that
stand twice, and the functions that only tests use. `./dev lint` prints it after its checks.
Arguments: [--root ROOT] [--build BUILD] [--functions], which also names those functions.
--check: nothing is printed but names that stand twice and files without a head, and there may be none.
--only-tests: nothing is printed but functions that only tests use and that have no reason here, and there may be none."""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
# Functions that only tests use, and why they stay. Whatever else a test needs is a helper of the tests.
ALLOWED = {
    # The other half of a protocol, which tests play.
    "cor_grpc_call_end": "the caller's end of a stream: etcd's watches have none",
    "cor_h2_write_trailers": "the server's end of a gRPC call",
    "cor_h2_stream_id": "what a peer calls a stream",
    # What client-go's parts offer to programs.
    "cor_leader_is_stale": "a leader's health, as client-go's HealthzAdaptor asks for it",
    "cor_pager_resume": "a reader of a list that has paused it",
    "cor_rest_mapper_category": "resources by category, as kubectl asks for them",
    # What is kept inside, and shown by nothing else.
    "cor_alloc_repair": "what a repair has done",
    "cor_compactor_revision": "what the compactor has reached",
    "cor_control_feed_is_synced": "a feed's own sync, beside that of its loop",
    "cor_leader_is_over": "the end of an election",
    "cor_reviews_kept": "answers that are kept have a maximum",
    "cor_reviews_pending": "questions under way have a maximum",
    "cor_structural_bytes": "a compiled schema is charged by its bytes",
    # Rows of tables that are private to their file.
    "cor_api_builtin": "a built-in row by its names",
    "cor_api_resources_find": "a port's resource by its names",
    "cor_internal_type_at": "each row of a table",
    # What the conformance suite asks of every store.
    "cor_store_count": "the number of objects below a key",
    "cor_store_revision": "the revision of the store",
    "cor_store_watch_progress": "a watch's progress, when it is asked for",
}
FUNCTION = re.compile(r"^(static )?[a-z][^;{}()=\n]*?\b(\w+)\([^;{}]*\)\n\{", re.M)
EXPORTED = re.compile(r"COR_API\b[^;(]*?\b(cor_\w+)\s*\(")


def modules_of(paths):
    """A module is a .c with its header."""
    return {path.with_suffix("") for path in paths}


def has_head(text):
    """Does a comment say what the file does before its first include or declaration?"""
    return text.lstrip().startswith("/*")


def row_of(paths):
    row = collections.Counter(files=len(paths), modules=len(modules_of(paths)))
    for path in paths:
        text = path.read_text()
        row["lines"] += text.count("\n")
        row["asserts"] += len(re.findall(r"\bassert\(", text))
        row["comments"] += sum(m.group(0).count("\n") + 1 for m in COMMENT.finditer(text))
        if path.suffix == ".c":
            row["sources"] += 1
            row["heads"] += module_has_head(path)
    return row


def module_has_head(path):
    """The source, or its header."""
    return any(p.exists() and has_head(p.read_text()) for p in (path, path.with_suffix(".h")))


def check(root, paths):
    """Prints what may not be, and says whether there was anything."""
    found = [f"{path.relative_to(root)}:1: has no head, and its header neither" for path in paths
             if path.suffix == ".c" and not module_has_head(path)]
    found += [f"src: two modules have the name {name}" for name in clashes(paths)]
    for line in found:
        print(line)
    return 1 if found else 0


def functions_of(paths):
    """How many functions there are, and how many of them are static and called from one place only."""
    count = once = 0
    for path in paths:
        text = STRING.sub('""', COMMENT.sub(" ", path.read_text()))
        defined = FUNCTION.findall(text)
        count += len(defined)
        for name in {name for is_static, name in defined if is_static}:
            calls = len(re.findall(rf"\b{name}\b", text)) - len(re.findall(rf"^static [^;{{}}=]*?\b{name}\([^;{{}}]*\)[;\n]", text, re.M))
            once += calls == 1 and bool(re.search(rf"[^\n]\b{name}\(", text))
    return count, once


def clashes(paths):
    """Base names that two modules have."""
    named = collections.defaultdict(set)
    for module in modules_of(paths):
        named[module.name].add(module)
    return sorted(name for name, modules in named.items() if len(modules) > 1)


def program_objects(root, build):
    """The object files of src/, of cmd/ and of what the build makes for them, wherever it puts them."""
    folders = [top / name for top in (root, build.resolve()) for name in ("src", "cmd", "include")]
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if any(source.is_relative_to(folder) for folder in folders):
            yield build / entry["output"]


def symbols(root, build):
    """Of each object file: the functions that it defines for others, and the names that it needs of others."""
    found = {}
    for path in sorted(set(program_objects(root, build))):
        if not path.exists():
            continue
        said = subprocess.run(["nm", "-P", "-g", path], capture_output=True, text=True, check=True).stdout
        defined, needed = set(), set()
        for line in said.splitlines():
            name, kind = line.split()[:2]
            if name.startswith("cor_") and kind in "TU":
                (defined if kind == "T" else needed).add(name)
        found[path] = (defined, needed)
    return found


def only_tests_use(root, build):
    """The functions that no other file of src/ or cmd/ needs, that their own file does not use, and that the public headers do not
    export. What is asked are the object files, because a table or a macro may name a function that no search for its name finds."""
    objects = symbols(root, build)
    needed = set().union(*(needs for _, needs in objects.values())) if objects else set()
    exported = set()
    for header in (root / "include").rglob("*.h"):
        exported |= set(EXPORTED.findall(COMMENT.sub(" ", header.read_text())))
    suspects = {name for defined, _ in objects.values() for name in defined} - needed - exported
    found = []
    for path in sorted((root / "src").rglob("*.c")):
        text = STRING.sub('""', COMMENT.sub(" ", path.read_text()))
        for match in re.finditer(r"^[a-z][\w \*]*?\b(cor_\w+)\([^;{}]*\)\n\{.*?^\}", text, re.S | re.M):
            name = match.group(1)
            if name in suspects and len(re.findall(rf"\b{name}\b", text)) == 1:
                found.append((path.relative_to(root), name, match.group(0).count("\n") + 1))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only-tests", action="store_true")
    args = parser.parse_args()
    root = args.root.resolve()
    build = args.build or root / "build"
    if args.only_tests:
        return check_only_tests(only_tests_use(root, build))
    paths = sorted(p for p in (root / "src").rglob("*.[ch]"))
    if args.check:
        return check(root, paths)
    rooms = collections.defaultdict(list)
    for path in paths:
        rooms[str(path.parent.relative_to(root / "src"))].append(path)
    print(f"{'room':28}{'files':>7}{'modules':>9}{'lines':>8}{'heads':>9}{'asserts':>9}{'comments':>10}")
    total = collections.Counter()
    for room, files in sorted(rooms.items()):
        row = row_of(files)
        total += row
        print_row(room, row)
    print_row("all", total)
    print("functions: {}, of them static and called once: {}".format(*functions_of(paths)))
    print(f"names that stand twice: {' '.join(clashes(paths)) or 'none'}")
    if not (build / "compile_commands.json").is_file():
        print("functions that only tests use: not known without a build")
        return 0
    functions = only_tests_use(root, build)
    print(f"functions that only tests use: {len(functions)}, of {sum(lines for _, _, lines in functions)} lines")
    for path, name, lines in functions if args.functions else ():
        print(f"  {path}: {name} ({lines})")
    return 0


def check_only_tests(functions):
    """1 when a function that only tests use has no reason in ALLOWED, or a reason has no such function."""
    names = {name for _, name, _ in functions}
    found = [f"{path}: only tests use {name}(): delete it, or make it a helper of the tests" for path, name, _ in functions
             if name not in ALLOWED]
    found += [f"tools/traits.py: {name}() needs no reason any more" for name in sorted(ALLOWED.keys() - names)]
    for line in found:
        print(line)
    return 1 if found else 0


def print_row(room, row):
    heads = f"{row['heads']}/{row['sources']}"
    comments = f"{100 * row['comments'] / max(row['lines'], 1):.0f} %"
    print(f"{room:28}{row['files']:7}{row['modules']:9}{row['lines']:8}{heads:>9}{row['asserts']:9}{comments:>10}")


if __name__ == "__main__":
    sys.exit(main())
