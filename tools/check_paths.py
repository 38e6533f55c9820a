#!/usr/bin/env python3
"""Fails when a page, a comment or a tool names a file or a folder of this tree that is not there, and when a link of a page
leads nowhere.

What is looked at: the pages (*.md) as a whole, the comments of C files, and of scripts and build files what begins with a
folder of the root (`tools/lint`). A path may leave out folders at its beginning: `cacher/window.c` and `window.c` name
src/storage/cacher/window.c. A part in capitals stands for many (`hooks/check_FAMILY.c`), as x does for a file (`x.c`).

A page may name a file alone only while nobody can take it for another one: `history.c` is refused where it is in another folder,
or outside of src/, and cache_history.c stands beside the files that the paragraph names as well."""

import argparse
import collections
import os
import pathlib
import re
import sys

# What is named but not in the tree, and why.
ELSEWHERE = {
    "first.c": "the program that docs/guide-client.md has its reader write",
    "doc/http-grpc-status-mapping.md": "gRPC's",
}
ROOMS_ELSEWHERE = {"apps": "a group of the API in a path", "crds": "a folder of each chart of helm"}
SKIPPED_FOLDERS = {".git", ".ci", "build-deps", "texts"}
# The contracts name upstream's files; of this tree only the reasons in them speak.
BOOKS, REASON = ("docs", "contract"), re.compile(r"^(?! *> Here).*$", re.M)
EXAMPLES = "tests/tools"  # The tests of this script and of others name files that they make.
ROOT_FOLDERS = "api|bench|cmd|contrib|docs|examples|include|src|tests|tools"
BEFORE, AFTER = r"(?<![\w./*<>{}$~:@%-])", r"(?![\w/*{-])"
FILE = re.compile(rf"{BEFORE}((?:\.\./)*(?:[\w.-]+/)*(?:[\w-]+(?:\.\w+)*\.(?:c|h|cc|py|md)|[a-z0-9_-]+\.(?:types|rules|strategies|columns|objects|cases))){AFTER}")
FOLDER = re.compile(rf"{BEFORE}((?:{ROOT_FOLDERS})(?:/[\w.-]+)*)/(?![\w.*{{<-])")
FROM_ROOT = re.compile(rf"{BEFORE}((?:{ROOT_FOLDERS})/(?:[\w.-]+/)*[\w-]+(?:\.\w+)*\.(?:c|h|cc|py|md|txt|sh)){AFTER}")
# coracle-gen and the build make these.
MADE = re.compile(r"\w+_v\d\w*\.[ch]|clients\.h|\w+_table\.c|\w+_digest\.c|(types|rows)\.rules")
STANDS_FOR_MANY = re.compile(r"[A-Z]{2}|(^|/)[Xx]\.")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ROOM = re.compile(r"`((?:[a-z_]+/)+)`")
ITEM = re.compile(r"\||#|[-*] |\d+\. ")
CODE_BLOCK = re.compile(r"^```.*?^```", re.S | re.M)


def paths_of(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith(("build", "__pycache__")))
        for name in sorted(names):
            yield pathlib.Path(folder, name).relative_to(root)


def endings(parts):
    return {"/".join(parts[i:]) for i in range(len(parts))}


def blanks(text):
    return re.sub(r"[^\n]", " ", text)


def comments(text):
    """The text with blanks for all that is no comment."""
    found, at = [], 0
    for match in COMMENT.finditer(text):
        found += [blanks(text[at:match.start()]), match.group(0)]
        at = match.end()
    return "".join(found)


def is_script(path):
    return path.suffix in (".py", ".sh") or path.name in ("meson.build", "dev", "lint")


def named(path, text):
    """(line, name, is_folder) of all that the file names."""
    if path.suffix in (".c", ".h", ".cc"):
        text = comments(text)
    elif path.suffix == ".md":
        text = LINK.sub(lambda m: blanks(m.group(0)), text)
    for number, line in enumerate(text.split("\n"), 1):
        for match in (FROM_ROOT if is_script(path) else FILE).finditer(line):
            yield number, match.group(1), False
        for match in FOLDER.finditer(line):
            yield number, match.group(1), True


def anchors(text):
    """The anchors of a page's headings, as the forges make them."""
    found = set()
    for heading in re.findall(r"^#+ (.+?) *$", CODE_BLOCK.sub("", text), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor, n = re.sub(r"[^\w\- ]", "", words).replace(" ", "-"), 0
        while anchor + (f"-{n}" if n else "") in found:
            n += 1
        found.add(anchor + (f"-{n}" if n else ""))
    return found


def broken_links(root, path, text):
    for match in LINK.finditer(CODE_BLOCK.sub(lambda m: blanks(m.group(0)), text)):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        number = text.count("\n", 0, match.start()) + 1
        page = (root / path.parent / target) if target else root / path
        if not page.exists():
            yield f"{path}:{number}: the link {match.group(1)} leads nowhere"
        elif anchor and page.suffix == ".md" and anchor not in anchors(page.read_text()):
            yield f"{path}:{number}: {target or 'the page'} has no heading #{anchor}"


def unknown_modules(path, text, known):
    """The tables of pages have columns of files, which are named without their ending."""
    columns = None
    for number, line in enumerate(text.split("\n"), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            columns = None
        elif columns is None:
            columns = [i for i, cell in enumerate(cells) if cell in ("file", "files", "module", "modules")]
        for column in columns or ():
            for name in re.findall(r"`(\w+)`", cells[column] if column < len(cells) else ""):
                if name not in known:
                    yield f"{path}:{number}: there is no file {name}.*"


def paragraphs(text):
    """The numbers of the lines of each paragraph; an item of a list and a row of a table is one of its own."""
    found, is_open = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            is_open = False
        elif not is_open or ITEM.match(line):
            found.append([number])
            is_open = not line.startswith(("|", "#"))
        else:
            found[-1].append(number)
    return found


def mistakable(path, text, paths):
    """Files that a page names alone, when a file with a longer name stands beside the others of the paragraph and they do not."""
    homes = collections.defaultdict(list)
    for known in paths:
        homes[known.name].append(known)

    def rooms(name):
        return {str(known.parent) for known in homes[name.rsplit("/", 1)[-1]] if str(known).endswith(name) and known.parts[0] == "src"}

    names = collections.defaultdict(list)
    for number, name, is_folder in named(path, text):
        if not is_folder and name.endswith((".c", ".h")):
            names[number].append(name)
    for lines in paragraphs(text):
        here = [(number, name) for number in lines for name in names[number]]
        for number, name in here:
            near = set().union(*(rooms(other) for _, other in here if other != name))
            if "/" in name or rooms(name) & near or not homes[name]:
                continue
            for known in paths:
                if known.name.endswith(f"_{name}") and str(known.parent) in near:
                    yield f"{path}:{number}: {name} is {homes[name][0]}, or is {known.name} meant?"


def unknown_rooms(path, text, folders):
    """A page may name a folder of src/ or of the root alone; what lies elsewhere, it names from the root."""
    for number, line in enumerate(text.split("\n"), 1):
        for match in ROOM.finditer(line):
            name = match.group(1)[:-1]
            if "/" not in name and name not in folders | ROOMS_ELSEWHERE.keys():
                yield f"{path}:{number}: there is no folder {name}/"


def wrong(root, paths):
    files, folders, rooms = set(), set(), set()
    for path in paths:
        files |= endings(path.parts)
        rooms |= set(path.parts[:-1] if path.parts[0] == "src" else path.parts[:-1][:1])
        for i in range(1, len(path.parts)):
            folders |= endings(path.parts[:i])
    for path in paths:
        if str(path).startswith(EXAMPLES) or not (path.suffix in (".md", ".c", ".h", ".cc") or is_script(path)):
            continue
        text = (root / path).read_text(errors="replace")
        if path.parts[:2] == BOOKS and path.name != "README.md":
            text = REASON.sub("", text)
        if path.suffix == ".md":
            yield from broken_links(root, path, text)
            yield from unknown_modules(path, text, {known.stem for known in paths})
            yield from mistakable(path, text, paths)
            yield from unknown_rooms(path, text, rooms)
        for number, name, is_folder in named(path, text):
            plain = re.sub(r"^(\.\./)+", "", name)
            if STANDS_FOR_MANY.search(plain) or plain in ELSEWHERE or MADE.fullmatch(plain.rsplit("/", 1)[-1]):
                continue
            if plain not in (folders if is_folder else files):
                yield f"{path}:{number}: there is no {plain}{'/' if is_folder else ''}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=pathlib.Path(__file__).parent.parent, type=pathlib.Path)
    root = parser.parse_args().root.resolve()
    found = list(wrong(root, list(paths_of(root))))
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
