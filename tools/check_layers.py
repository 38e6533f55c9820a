#!/usr/bin/env python3
"""Fails when a source file includes a layer that stands below its own, or a third-party header that
belongs to another folder. The tables here are the rule that docs/ARCHITECTURE.md explains."""

import argparse
import pathlib
import re
import sys

# Bottom to top; a folder may include itself and what stands before it, less what DENIED names.
LAYERS = ["base", "json", "loop", "net", "http", "grpc", "meta", "codec", "schema", "gen", "own", "cel", "queue", "cache", "kit",
          "storage", "server", "client", "testing"]
VALUES = {"loop", "net", "http", "grpc"}  # what a folder of plain values knows nothing of
DENIED = {
    "json": {"loop"},
    "meta": VALUES,
    "codec": VALUES,
    "schema": VALUES,
    "gen": VALUES,
    "own": VALUES | {"meta", "codec", "gen"},
    "cel": VALUES | {"gen", "own"},
    "queue": VALUES | {"json", "meta", "codec", "schema", "cel"},
    "cache": VALUES | {"codec", "schema", "cel"},
    "storage": {"kit"},
    "server": {"client"},
    "client": {"storage", "server"},
    "testing": {"gen", "own", "client"},
}
# The rooms of a folder, bottom to top: a room may include itself and the rooms before it, less what ROOMS_DENIED names.
# "" is the folder's own top.
ROOMS = {
    "cache": ["store", "reflector", "queues", "informers"],
    "kit": ["", "config", "controller", "election", "events"],
    "storage": ["engine", "sqlite", "etcd", "store", "encryption", "cacher", "maintenance", ""],
    "server": ["catalog", "docs", "request", "access", "metrics", "api", "alloc", "strategy", "write", "verbs", "port", "aggregation", "crd", "controllers", "http", "instance"],
    "client": ["config", "rest", "dynamic", "discovery", "runtime", "", "informers", "metrics", "controller"],
}
ROOMS_DENIED = {
    "kit/controller": {"config"},
    "kit/election": {"config", "controller"},
    "kit/events": {"config", "controller", "election"},
    "storage/etcd": {"sqlite"},
    "storage/store": {"sqlite", "etcd"},
    "storage/encryption": {"sqlite", "etcd"},
    "storage/cacher": {"sqlite", "etcd", "encryption"},
    "storage/maintenance": {"sqlite", "etcd", "cacher"},
    "server/metrics": {"access"},
    "server/port": {"metrics", "alloc", "strategy", "write", "verbs"},
    "server/aggregation": {"alloc", "strategy", "write", "verbs"},
    "server/crd": {"metrics", "alloc", "strategy", "write", "verbs"},
    "server/controllers": {"docs", "aggregation", "crd", "alloc", "strategy", "write", "verbs"},
    "server/http": {"strategy", "write", "verbs", "port", "crd", "controllers"},
    "server/instance": {"strategy", "write", "verbs"},
}
# Third-party header prefix -> the folders that may see it.
THIRD_PARTY = {
    "yyjson.h": ["src/json"],
    "re2/": ["src/schema/re2"],
    "uv.h": ["src/loop", "src/net", "examples"],
    "protobuf-c/": ["src/storage/etcd"],
    "sqlite3.h": ["src/storage/sqlite", "bench", "tests"],
    "ares.h": ["src/net"],
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


def room_of(parts):
    """The room of the path of a file below src/: "" for the folder's own top."""
    return parts[1] if len(parts) > 2 else ""


def room_violation(layer, room, used):
    """What is wrong with a file of this room that includes a file of the room `used`, or None."""
    rooms = ROOMS[layer]
    for name in (room, used):
        if name not in rooms:
            return f"{layer}/{name} is not in the table of rooms" if name else f"{layer} has no files beside its rooms"
    if rooms.index(used) > rooms.index(room) or used in ROOMS_DENIED.get(f"{layer}/{room}", ()):
        return f"{layer}/{room} may not include {layer}/{used}"
    return None


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
        elif top == layer and layer in ROOMS:
            wrong = room_violation(layer, room_of(rel.parts[1:]), room_of(pathlib.PurePath(name).parts))
            if wrong:
                yield f"{rel}:{number}: {wrong}"


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
