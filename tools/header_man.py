#!/usr/bin/env python3
"""Man pages of section 3 from the public headers. Run by `meson install`, or by hand:

  header_man.py install MANDIR VERSION     below the prefix of the installation
  header_man.py FOLDER VERSION             into a folder

A header becomes one page: include/coracle/client.h is coracle_client(3), include/coracle/types/own.h coracle_types_own(3). Its first comment is the description; each declaration
is shown as it stands in the header, with the comment above it as text. Every function also has a page of its own name, which
leads to the page of its header: man cor_client_new shows coracle_client(3)."""

import os
import pathlib
import re
import sys

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include"
FUNCTION = re.compile(r"\b(cor_\w+)\(")
GUARDS = ("#ifdef __cplusplus", "COR_STRUCT_NAMES_", "#ifndef CORACLE_", "#define CORACLE_", "#endif", 'extern "C" {', "}")


def escape(text):
    """Text of a header as roff in ASCII: backslashes, dashes that are part of names, and lines that would be requests."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", text)
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def marked(text):
    """Text of a comment: what stands in backticks is set in bold."""
    return re.sub(r"`([^`\n]+)`", r"\\fB\1\\fR", escape(text))


def comment_lines(comment):
    """The lines of a comment without its frame; an indentation beyond the usual one is kept."""
    lines = [re.sub(r"^ ?\* ?", "", line) for line in comment.strip().removeprefix("/*").removesuffix("*/").split("\n")]
    return [lines[0].strip()] + [line.rstrip() for line in lines[1:]]


def paragraphs(comment):
    """[(is_drawing, lines)] of a comment: what is indented is a drawing, an example or a table, and keeps its form."""
    found = []
    for line in comment_lines(comment):
        drawn = line.startswith("  ") and not (found and found[-1][1] and found[-1][1][-1].startswith("- "))
        if not line:
            found.append((False, []))
        elif found and found[-1][1] and (found[-1][0] == drawn or not drawn and line.startswith("  ")):
            found[-1][1].append(line)
        else:
            found.append((drawn, [line]))
    return [(drawn, lines) for drawn, lines in found if lines]


def prose(comment):
    """A comment as roff."""
    out = []
    for drawn, lines in paragraphs(comment):
        if drawn:
            out += [".PP", ".nf", escape("\n".join(lines)), ".fi"]
            continue
        out.append(".PP")
        inside = False  # of a list, whose lines are indented after the first
        for line in lines:
            if line.startswith("- "):
                out.append(".IP \\(bu 2")
            elif inside and not line.startswith("  "):
                out.append(".PP")
            inside = line.startswith("- ") or inside and line.startswith("  ")
            out.append(marked(line.strip().removeprefix("- ")))
    return "\n".join(out)


def without_notes(text):
    """The header without the comments that are for clang-format only."""
    return re.sub(r"/\* clang-format (?:on|off) \*/\n", "", text)


def split_head(text):
    """(the first comment, the rest)"""
    end = text.index("*/") + 2
    return text[:end], text[end:]


def blocks(body):
    """The blocks of a header between empty lines; braces and comments are never split."""
    block, depth, inside = [], 0, False
    for line in body.split("\n"):
        if not line.strip() and not depth and not inside:
            if block:
                yield "\n".join(block)
            block = []
            continue
        block.append(line)
        inside = line.rfind("/*") > line.rfind("*/") or inside and "*/" not in line
        if not line.startswith("extern"):
            depth += line.count("{") - line.count("}")
            depth = max(depth, 0)
    if block:
        yield "\n".join(block)


def is_frame(block):
    return all(line.startswith(GUARDS) or line.startswith("#include") for line in block.split("\n"))


def split_comment(block):
    """(the comment that the block begins with, or "", the declarations)"""
    if not block.startswith("/*"):
        return "", block
    end = block.index("*/") + 2
    rest = block[end:]
    if rest and not rest.startswith("\n"):
        return "", block
    return block[:end], rest.strip("\n")


def bare(code):
    """Code without comments, bodies of functions and strings: only declared names are left."""
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    return re.sub(r"^(static inline [^{;]*)\{.*?^\}", r"\1;", code, flags=re.S | re.M)


def declared(code):
    """The names of the functions that a block declares or defines inline, in order."""
    names = []
    for part in re.split(r";|\n(?=static inline)", bare(code)):
        part = part.strip()
        if part.startswith(("COR_API", "static inline")):
            names.append(FUNCTION.search(part)[1])
    return names


def prototypes(code):
    """Declarations for the page: an inline function without its body, nothing of COR_API, and parameters below each other."""
    code = re.sub(r"^(static inline [^{;]*?)\s*\{.*?^\}", r"\1;", code, flags=re.S | re.M)

    return re.sub(r"^(COR_API |static inline )([^;]*;)", lambda found: found[2].replace("\n" + " " * len(found[1]), "\n"), code,
                  flags=re.M)


def first_sentence(head):
    """What the page's NAME says: the first sentence of the header, on one line."""
    text = " ".join(line.strip() for line in paragraphs(head)[0][1])
    sentence = re.split(r"(?<=[a-z0-9)])[.:?](?: |$)", text)[0].rstrip(".")
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() or sentence[1:2] == " " else sentence


def place(header):
    """How a program includes it: coracle/client.h, coracle/types/own.h."""
    return f"coracle/types/{header.name}" if header.parent.name == "types" else f"coracle/{header.name}"


def page_name(header):
    return place(header).removesuffix(".h").replace("/", "_")


def page(header, version):
    """(the page of a header, the functions that it describes)"""
    head, body = split_head(without_notes(header.read_text()))
    name, functions = page_name(header), []
    see = sorted({f"coracle_{stem}".replace("/", "_") for stem in re.findall(r'#include "coracle/([\w/]+)\.h"', body)
                  if not stem.endswith("_structs")} - {name})
    parts, protos = [], []
    for block in blocks(body):
        if is_frame(block):
            continue
        comment, code = split_comment(block)
        names = declared(code)
        functions += names
        if names:
            protos.append(escape(prototypes(re.sub(r"[ \t]*/\*.*?\*/", "", code, flags=re.S)).strip("\n")))
        parts.append((names, comment, code))
    out = [f'.TH {name.upper()} 3 "" "Coracle {version}" "libcoracle manual"', ".SH NAME",
           f"{name} \\- {escape(first_sentence(head))}", ".SH SYNOPSIS", ".nf", f"#include <{place(header)}>"]
    for proto in protos:
        out += ["", proto]
    out += [".fi", ".SH DESCRIPTION", prose(head)]
    for names, comment, code in parts:
        if names:
            out.append(".SS " + escape(", ".join(f"{n}()" for n in names)))
        if code:
            out += [".PP", ".nf", escape(prototypes(code)), ".fi"]
        if comment:
            out.append(prose(comment))
    if see:
        out += [".SH SEE ALSO"] + [f".BR {name} (3)," for name in see[:-1]] + [f".BR {see[-1]} (3)"]
    return "\n".join(out) + "\n", functions


def write_pages(folder, version):
    folder.mkdir(parents=True, exist_ok=True)
    for header in sorted([*(INCLUDE / "coracle").glob("*.h"), *(INCLUDE / "coracle/types").glob("*.h")]):
        text, functions = page(header, version)
        (folder / f"{page_name(header)}.3").write_text(text)
        for function in functions:
            (folder / f"{function}.3").write_text(f".so man3/{page_name(header)}.3\n")


def installed_folder(mandir):
    mandir = pathlib.Path(mandir)
    if mandir.is_absolute():
        mandir = pathlib.Path(os.environ.get("DESTDIR") or "/") / mandir.relative_to("/")
    return pathlib.Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"]) / mandir / "man3"


def main():
    if sys.argv[1] != "install":
        write_pages(pathlib.Path(sys.argv[1]), sys.argv[2])
    elif not os.environ.get("MESON_INSTALL_DRY_RUN"):
        write_pages(installed_folder(sys.argv[2]), sys.argv[3])


if __name__ == "__main__":
    main()
