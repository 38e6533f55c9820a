#!/usr/bin/env python3
"""TAP: every C block of the guides compiles as it stands. A block that is a whole program has a main(); the
others are taken as what they are, declarations or the statements of a function. test_guide.py SOURCE_ROOT BUILD_ROOT"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT, BUILD = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
PAGES = ["docs/guide-client.md", "docs/guide-gen.md", "README.md"]
FENCE = re.compile(r"^```c\n(.*?)^```$", re.M | re.S)
HEAD = '#define _GNU_SOURCE\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/epoll.h>\n#include <coracle.h>\n'


def is_statements(code):
    return not re.search(r"^[a-z].*\)\n\{", code, re.M) and not code.startswith("#include")


class Skip(Exception):
    pass


def flags_for(code):
    """What a block needs beyond the library's headers."""
    if "#include <glib" not in code:
        return []
    try:
        return subprocess.run(["pkg-config", "--cflags", "glib-2.0"], capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        raise Skip("GLib is not installed: libglib2.0-dev") from None


def compile_block(code, folder):
    # What a block of statements speaks of; a name that it declares itself is its own.
    around = ("void block(struct cor_runtime *runtime, struct cor_client *client, struct cor_informers *informers,\n"
              "           struct cor_informer *pods, struct cor_workqueue *queue, struct cor_object *pod,\n"
              "           struct cor_status *why, int r);\n"
              "void block(struct cor_runtime *runtime, struct cor_client *client, struct cor_informers *informers,\n"
              "           struct cor_informer *pods, struct cor_workqueue *queue, struct cor_object *pod,\n"
              "           struct cor_status *why, int r)\n{{\n{{\n{}\n}}\n}}\n")
    source = pathlib.Path(folder) / "block.c"
    source.write_text(HEAD + (around.format(code) if is_statements(code) else code))
    command = [*os.environ.get("CC", "cc").split(), "-std=gnu17", "-Wall", "-Werror", "-Wno-unused", "-fsyntax-only",
               f"-I{ROOT / 'include'}", f"-I{BUILD / 'include'}", *flags_for(code), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def main():
    blocks = [(page, code) for page in PAGES for code in FENCE.findall((ROOT / page).read_text())]
    failed = not blocks
    with tempfile.TemporaryDirectory() as folder:
        for number, (page, code) in enumerate(blocks, 1):
            name = f"{page}: {code.splitlines()[0][:60]}".replace("#", "")
            try:
                compile_block(code, folder)
                print(f"ok {number} - {name}")
            except Skip as why:
                print(f"ok {number} - {name} # SKIP {why}")
            except AssertionError as error:
                failed = True
                print(f"not ok {number} - {name}")
                for line in str(error).splitlines():
                    print("#", line)
    print(f"1..{len(blocks)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
