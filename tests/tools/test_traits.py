#!/usr/bin/env python3
"""TAP: traits.py counts what a made-up tree has: its files, modules, heads, asserts and comments, names that stand twice, and
functions that only tests use. Arguments: the source root, the compiler's command."""

import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT, COMPILER = pathlib.Path(sys.argv[1]), sys.argv[2:]
FUNCTION = "int {0}(void)\n{{\n    return {1};\n}}\n"


def function(name, result=0):
    return FUNCTION.format(name, result)


PUBLIC = '/* A head. */\n#define COR_API\nCOR_API int cor_x_public(void);\n'
TREE = {
    # Used by another file, by its own file, by a table of another file, by a program, and by nobody.
    "src/base/x.c": "/* What x is. */\n" + function("cor_x_called") + function("cor_x_inside") + function("cor_x_tabled")
                    + function("cor_x_of_program") + function("cor_x_only_tested") + function("cor_x_public")
                    + function("cor_x_entry", "cor_x_inside()")
                    + "static int once(void)\n{\n    return 0;\n}\nstatic int twice(void)\n{\n    return once();\n}\n"
                    + "int cor_x_folds(void);\n" + function("cor_x_folds", "twice() + twice()"),
    "src/base/x.h": "/* x, in\n * two lines. */\nint cor_x_called(void);\n",
    "src/net/host/y.c": '#include "base/x.h"\n' + "int cor_x_tabled(void);\nint cor_x_entry(void);\n"
                        + "extern int (*const cor_y_table[])(void);\nint (*const cor_y_table[])(void) = {cor_x_tabled, cor_x_entry};\n"
                        + "int cor_y_start(void)\n{\n    assert(1);\n    return cor_x_called(); /* \"cor_x_only_tested\" */\n}\n",
    "src/net/host/twin.c": function("cor_twin_host"),
    "src/net/stream/twin.h": "/* Another twin. */\n",
    "cmd/z/main.c": "int cor_x_of_program(void);\nint cor_y_start(void);\nint cor_twin_host(void);\nint cor_x_folds(void);\n"
                    "int main(void)\n{\n    return cor_x_of_program() + cor_y_start() + cor_twin_host() + cor_x_folds();\n}\n",
    "tests/t.c": "int cor_x_only_tested(void);\nint main(void)\n{\n    return cor_x_only_tested();\n}\n",
    "include/coracle/x.h": PUBLIC,
}


def build(tree):
    """Compiles each source as the build would, and notes how."""
    commands = []
    for path in (path for path in TREE if path.endswith(".c")):
        made = f"{path.replace('/', '_')}.o"
        command = [*COMPILER, "-w", "-Isrc", "-Dassert(x)=", "-c", path, "-o", f"build/{made}"]
        subprocess.run(command, cwd=tree, check=True)
        commands.append({"directory": str(tree), "file": path, "output": made, "command": shlex.join(command)})
    (tree / "build/compile_commands.json").write_text(json.dumps(commands))


def run(tree, *arguments):
    command = [sys.executable, "-S", str(ROOT / "tools/traits.py"), "--root", str(tree), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def traits(tree, *arguments):
    done = run(tree, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(tree):
    """Exit code and lines of --check."""
    done = subprocess.run([sys.executable, "-S", str(ROOT / "tools/traits.py"), "--root", str(tree), "--check"], capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def main():
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        for path, text in {**TREE, "build/x": ""}.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
        unbuilt = traits(tree)
        build(tree)
        said = traits(tree, "--functions")
        checked = run(tree, "--only-tests")
        refused = check(tree)
        for path in ("src/net/host/twin.c", "src/net/host/y.c"):
            (tree / path).unlink()
        accepted = check(tree)
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line}
    named = [line.split()[1] for line in said.splitlines() if line.startswith("  src/")]
    checks = [
        ("a row has files, modules, heads and comments", rows["base"][:2] == ["2", "1"] and rows["base"][3] == "1/1"),
        ("names that stand twice and files without a head are refused",
         refused == (1, ["src/net/host/twin.c:1: has no head, and its header neither", "src/net/host/y.c:1: has no head, and its header neither",
                         "src: two modules have the name twin"])),
        ("and nothing else is", accepted == (0, [])),
        ("asserts are counted", rows["net/host"][4] == "1"),
        ("a file without a head has none", rows["net/host"][3] == "0/2"),
        ("a name that two modules have is named", "names that stand twice: twin\n" in said),
        ("a module is a .c with its header", "x" not in said.split("twice: ")[1].split("\n")[0].split()),
        ("a function that only tests use is named, and no other", named == ["cor_x_only_tested"]),
        ("and counted, with its lines", "functions that only tests use: 1, of 4 lines\n" in said),
        ("a static that is called once is counted", "of them static and called once: 1\n" in said),
        ("a function that only tests use fails without a reason, and a reason without a function",
         checked.returncode == 1 and "only tests use cor_x_only_tested()" in checked.stdout
         and "cor_grpc_call_end() needs no reason any more" in checked.stdout),
        ("without a build they are not known", "functions that only tests use: not known without a build\n" in unbuilt),
    ]
    print(f"1..{len(checks)}")
    for number, (what, ok) in enumerate(checks, 1):
        print(f"{'ok' if ok else 'not ok'} {number} - {what}")
    if not all(ok for _, ok in checks):
        print("\n".join(f"# {line}" for line in said.splitlines()))
    return 0 if all(ok for _, ok in checks) else 1


sys.exit(main())
