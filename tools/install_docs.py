#!/usr/bin/env python3
"""Run by `meson install`: puts the guides and the examples that they speak of below DATADIR/doc/coracle, so that whoever has the
installed files alone can follow every link. install_docs.py DATADIR INCLUDEDIR MANDIR

A link to a header or a man page leads to the installed one; a link to anything that is not installed becomes plain text."""

import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["guide-client.md", "guide-gen.md", "custom-resources.md", "three-controllers.md", "from-kubernetes.md"]
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)#]*)(#[^)]*)?\)")


def installed_place(target, folders):
    """Where what a page of docs/ names is installed; None: it is not."""
    for begin, folder in folders.items():
        if target.startswith(begin):
            return folder / target[len(begin):]
    return folders["examples"].parent / target if target in PAGES or not target else None


def with_installed_links(text, folders):
    def place(found):
        name, target, anchor = found.group(1), found.group(2), found.group(3) or ""
        if not target:
            return found.group(0)
        to = installed_place(target, folders)
        if to is None:
            return name
        return f"[{name}]({os.path.relpath(to, folders['examples'].parent)}{anchor})"

    return LINK.sub(place, text)


def main(datadir, includedir, mandir):
    if os.environ.get("MESON_INSTALL_DRY_RUN"):
        return
    to = pathlib.Path(datadir) / "doc/coracle"
    folders = {"../examples/": to / "examples", "../include/": pathlib.Path(includedir), "man/": pathlib.Path(mandir) / "man1",
               "examples": to / "examples"}
    prefix = pathlib.Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"])
    if to.is_absolute():
        prefix = pathlib.Path(os.environ.get("DESTDIR") or "/")
    target = prefix / str(to).lstrip("/")
    (target / "examples").mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        (target / page).write_text(with_installed_links((ROOT / "docs" / page).read_text(), folders))
    for file in sorted((ROOT / "examples").iterdir()):
        if file.suffix in (".c", ".h", ".yaml"):
            shutil.copyfile(file, target / "examples" / file.name)


main(*sys.argv[1:])
