#!/usr/bin/env python3
"""Fails when a source file includes a layer or a room that stands above its own, or a third-party header that
belongs to another folder; when a header is seen, also through others, by a file that it is closed to; when a room is
too large; when two modules have one name. The tables here are the rule that docs/ARCHITECTURE.md explains."""

import argparse
import fnmatch
import functools
import pathlib
import re
import sys

VALUES = {"loop", "net", "http", "grpc"}  # what a folder of plain values knows nothing of
OVER_HTTP = {"config", "rest", "discovery", "dynamic"}  # what a controller that has a port knows nothing of
# What stands in a folder, bottom to top: a room may include itself and what stands before it, less what DENIED names. The
# first row is src/ itself, whose rooms are the layers. "" is the folder's own top; a folder without a row has no rooms.
ROOMS = {
    "": ["base", "json", "loop", "net", "http", "grpc", "meta", "codec", "schema", "gen", "own", "cel", "queue", "cache", "kit",
         "storage", "server", "client", "testing"],
    "json": ["text", "path", "write", "patch"],
    "net": ["host", "crypto", "stream", "session"],
    "meta": ["status", "value", "names", "object", "select", "metadata"],
    "schema": ["types", "go", "format", "walk", "protobuf", "merge", "convert", "print", "re2", "structural", "kinds", "check",
               "strategies", "hooks", "validate", "apply", "custom"],
    "cache": ["store", "reflector", "queues", "informers"],
    "kit": ["", "config", "rest", "discovery", "dynamic", "controller", "election", "events"],
    "storage": ["engine", "sqlite", "etcd", "store", "encryption", "cacher", "maintenance", ""],
    "server": ["stored", "catalog", "docs", "request", "shared", "access", "metrics", "api", "admission", "alloc", "strategy", "write", "verbs",
               "port", "aggregation", "crd", "controllers", "http", "instance"],
    "server/controllers": ["host", "gc", "namespace", "quota", "small"],
    "client": ["discovery", "runtime", "", "informers", "metrics", "controller"],
}
# A path below src/, and what of its own folder it may not include although that stands before it.
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
    "storage": {"schema", "gen", "own", "cel", "kit"},
    "server": {"client"},
    "client": {"storage", "server"},
    "testing": {"gen", "own", "client"},
    "kit/controller": OVER_HTTP,
    "kit/election": OVER_HTTP | {"controller"},
    "kit/events": OVER_HTTP | {"controller", "election"},
    "storage/etcd": {"sqlite"},
    "storage/store": {"sqlite", "etcd"},
    "storage/encryption": {"sqlite", "etcd"},
    "storage/cacher": {"sqlite", "etcd", "encryption"},
    "storage/maintenance": {"sqlite", "etcd", "cacher"},
    "server/metrics": {"access"},
    "server/port": {"metrics", "admission", "alloc", "strategy", "write", "verbs"},
    "server/aggregation": {"admission", "alloc", "strategy", "write", "verbs"},
    "server/crd": {"metrics", "admission", "alloc", "strategy", "write", "verbs"},
    "server/controllers": {"docs", "aggregation", "crd", "admission", "alloc", "strategy", "write", "verbs"},
    "server/http": {"admission", "strategy", "write", "verbs", "port", "crd", "controllers"},
    "server/instance": {"admission", "strategy", "write", "verbs"},
}
# A prefix of a third-party header, and the folders that may see it.
THIRD_PARTY = {
    "yyjson.h": ["src/json/text"],
    "re2/": ["src/schema/re2"],
    "uv.h": ["src/loop", "src/net/stream", "examples"],
    "protobuf-c/": ["src/storage/etcd"],
    "sqlite3.h": ["src/storage/sqlite", "bench", "tests"],
    "ares.h": ["src/net/stream"],
    "openssl/": ["src/net/crypto", "src/net/stream"],
    "sodium.h": ["src/net/crypto"],
    "nghttp2/": ["src/net/session"],
    "llhttp.h": ["src/net/session"],
    "wslay/": ["src/net/session"],
    "yaml.h": ["src/codec"],
    "zlib.h": ["src/codec"],
    "cmocka.h": ["tests"],
}
# A header of src/, and the sources that may see it, themselves or through other headers. A stage of a write gets a view of it
# (server/write/write_phases.h); who sees the whole write, or makes a view, can write a phase that the view shows as const.
SEEN_BY = {
    "server/write/write.h": ["src/server/write/write*.c", "src/server/verbs/*.c", "tests/*"],
    "server/write/stage_later.h": ["src/server/write/write_run.c", "src/server/write/stage_admit.c",
                                   "src/server/write/stage_allocate.c", "tests/*"],
}
# A module is a .c with its header. A folder with more of them than this is hard to look through, and says here why it is one.
MODULES_MAX = 25
LARGE = {
    "base": "each module is a tool by itself, and none stands on another's shoulders",
    "schema/hooks": "a family of kinds each, side by side",
    "server/write": "a file per stage, side by side: only the lists know their order",
    "storage/cacher": "the cacher, its window and its watches hold each other's state",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def wrong_room(folder, user, used):
    """What is wrong when a file of `user` includes one of `used`, or None. Both are the parts of a path below `folder`."""
    rooms, above = ROOMS[folder], f"{folder}/" if folder else ""
    of, to = (parts[0] if len(parts) > 1 else "" for parts in (user, used))
    for name in (of, to):
        if name not in rooms:
            return f"{above}{name} is not in the table of rooms" if name else f"{folder} has no files beside its rooms"
    if rooms.index(to) > rooms.index(of) or to in DENIED.get(above + of, ()):
        return f"{above}{of} may not include {above}{to}"
    return wrong_room(above + of, user[1:], used[1:]) if of == to and of and above + of in ROOMS else None


def violations(root, path):
    rel = path.relative_to(root)
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = pathlib.PurePath(match.group(2))
        for prefix, homes in THIRD_PARTY.items():
            if match.group(2).startswith(prefix) and not any(str(rel).startswith(h + "/") for h in homes):
                yield f"{rel}:{number}: <{name}> may be used only in {', '.join(homes)}"
        if match.group(1) == '"' and rel.parts[0] == "src" and len(rel.parts) > 2 and name.parts[0] in ROOMS[""] and len(name.parts) > 1:
            wrong = wrong_room("", rel.parts[1:], name.parts)
            if wrong:
                yield f"{rel}:{number}: {wrong}"


def seen_where_closed(root, paths):
    """The sources that see a header which SEEN_BY closes to them, and how."""

    @functools.lru_cache(maxsize=None)
    def quoted(path):
        """The headers of src/ that a file includes itself."""
        names = [match.group(2) for match in map(INCLUDE.match, path.read_text(errors="replace").splitlines()) if match]
        return [name for name in names if (root / "src" / name).is_file()]

    for path in paths:
        rel = path.relative_to(root)
        closed = {header for header, homes in SEEN_BY.items() if not any(fnmatch.fnmatch(str(rel), home) for home in homes)}
        ways, todo = {}, [(path, [])]
        while closed and path.suffix == ".c" and todo:
            at, way = todo.pop()
            for name in quoted(at):
                if name not in ways:
                    ways[name] = [*way, name]
                    todo.append((root / "src" / name, ways[name]))
        for header in sorted(closed & set(ways)):
            through = f", through {', '.join(ways[header][:-1])}" if len(ways[header]) > 1 else ""
            yield f"{rel}: sees {header}{through}, which is for {', '.join(SEEN_BY[header])}"


def modules(root):
    """The names of the modules of each folder of src/."""
    found = {}
    for path in sorted((root / "src").rglob("*.[ch]")):
        found.setdefault(str(path.parent.relative_to(root / "src")), set()).add(path.stem)
    return found


def untidy(folders):
    """Folders with too many modules, and names that two modules have."""
    homes = {}
    for folder, names in folders.items():
        if len(names) > MODULES_MAX and folder not in LARGE:
            yield f"src/{folder}: {len(names)} modules, more than {MODULES_MAX}: cut it, or say in LARGE why it is one room"
        for name in sorted(names):
            if name in homes:
                yield f"src/{folder}/{name}: src/{homes[name]} has a module of that name"
            homes[name] = folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=pathlib.Path(__file__).parent.parent, type=pathlib.Path)
    parser.add_argument("--stamp", type=pathlib.Path)
    args = parser.parse_args()
    root = args.root.resolve()
    folders = ("src", "cmd", "include", "tests", "bench", "examples")
    paths = [path for folder in folders for path in sorted((root / folder).rglob("*.[ch]"))]
    found = [line for path in paths for line in violations(root, path)]
    found.extend(seen_where_closed(root, paths))
    found.extend(untidy(modules(root)))
    for line in found:
        print(line, file=sys.stderr)
    if found:
        return 1
    if args.stamp and not args.stamp.exists():
        args.stamp.write_text("ok\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
