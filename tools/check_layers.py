#!/usr/bin/env python3
"""Fails when a source file includes a layer that stands below its own, or a third-party header that
belongs to another folder. The tables here are the rule that docs/ARCHITECTURE.md explains."""

import argparse
import pathlib
import re
import sys

# Bottom to top; a folder may include itself and what stands before it, less what DENIED names.
LAYERS = ["base", "json", "loop", "net", "http", "grpc", "meta", "codec", "cache", "storage", "server", "client"]
DENIED = {
    "json": {"loop"},
    "meta": {"loop", "net", "http", "grpc"},
    "codec": {"loop", "net", "http", "grpc"},
    "client": {"storage", "server"},
    "server": {"client"},
}
# Third-party header prefix -> the folders that may see it.
THIRD_PARTY = {
    "yyjson.h": ["src/json"],
    "uv.h": ["src/loop", "src/net", "examples"],
    "protobuf-c/": ["src/storage/etcd"],
    "sqlite3.h": ["src/storage/sqlite", "bench", "tests"],
    "openssl/": ["src/net"],
    "sodium.h": ["src/net"],
    "nghttp2/": ["src/net"],
    "llhttp.h": ["src/net"],
    "wslay/": ["src/net"],
    "yaml.h": ["src/codec"],
    "zlib.h": ["src/codec"],
    "cmocka.h": ["tests"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def layer_of(path):
    parts = path.parts
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def violations(root, path):
    rel = path.relative_to(root)
    layer = layer_of(rel)
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match.group(2)
        top = name.split("/")[0]
        for prefix, homes in THIRD_PARTY.items():
            if name.startswith(prefix) and not any(str(rel).startswith(h + "/") for h in homes):
                yield f"{rel}:{number}: <{name}> may be used only in {', '.join(homes)}"
        if layer is None or match.group(1) != '"' or top not in LAYERS or "/" not in name:
            continue
        if layer not in LAYERS:
            yield f"{rel}:{number}: folder {layer} is not in the table of layers"
        elif LAYERS.index(top) > LAYERS.index(layer) or top in DENIED.get(layer, ()):
            yield f"{rel}:{number}: {layer} may not include {name}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=pathlib.Path(__file__).parent.parent, type=pathlib.Path)
    parser.add_argument("--stamp", type=pathlib.Path)
    args = parser.parse_args()
    root = args.root.resolve()
    found = []
    for folder in ("src", "cmd", "include", "tests", "bench", "examples"):
        for path in sorted((root / folder).rglob("*.[ch]")):
            found.extend(violations(root, path))
    for line in found:
        print(line, file=sys.stderr)
    if found:
        return 1
    if args.stamp and not args.stamp.exists():
        args.stamp.write_text("ok\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
