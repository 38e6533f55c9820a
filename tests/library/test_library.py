#!/usr/bin/env python3
"""TAP: libcoracle as others meet it: what it exports, what it uses, its headers, and the installed files with a
program outside the tree; libcoracle-types likewise. Arguments: source root, build folder, shared library, static library, the
folder of yyjson's pkg-config file ("" when the installed library brings its own), and shared and static libcoracle-types, and shared
libcoracle-testing."""

import atexit
import difflib
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import abi

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "gen"))
import round_trips  # noqa: E402

ROOT, BUILD, SHARED, STATIC = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
SHARED_TYPES, STATIC_TYPES = (pathlib.Path(a).resolve() for a in sys.argv[6:8])
SHARED_TESTING = pathlib.Path(sys.argv[8]).resolve()
# Of libcoracle: the others are those of libcoracle-types and libcoracle-testing.
HEADERS = sorted(h for h in (ROOT / "include").rglob("*.h") if h.parent.name != "types" and h.name != abi.TESTING)
TYPES_HEADERS = sorted((BUILD / "include/coracle/types").glob("*.h"))
CLIENTS_HEADERS = [header for header in TYPES_HEADERS if header.name.endswith("_client.h")]
STRIPPED_MAX = 900_000
TYPES_STRIPPED_MAX = 3_000_000
CC = os.environ.get("CC", "cc").split()
CXX = os.environ.get("CXX", "c++").split()
# Output, signals and the end of the process belong to the program. abort() ends it when the kernel has no randomness.
FORBIDDEN = re.compile(r"^(signal|sigaction|sigvec|printf|fprintf|vprintf|vfprintf|puts|putchar|fputs|perror|psignal|syslog"
                       r"|stdout|stderr|exit|_exit|setlocale|setenv|putenv|chdir|umask)$")


def run(*args, **kwargs):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, check=False, timeout=120, **kwargs)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(str(a) for a in args)}: {done.stdout}{done.stderr}")
    return done.stdout


def symbols(file, *flags):
    for line in run("nm", *flags, file).splitlines():
        words = line.split()
        if len(words) >= 2 and not line.endswith(":"):
            yield words[-2], words[-1].split("@")[0]


def exports_what_its_headers_declare():
    declared = set()
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/|^\s*#.*?$", "", header.read_text(), flags=re.S | re.M)
        declared |= set(re.findall(r"COR_API\b[^;(]*?\b(cor_\w+)\s*\(", text))
        for statement in re.findall(r"^[a-z][^;{}]*\bcor_\w+\([^;{}]*\);", text, flags=re.M):
            assert statement.startswith(("typedef", "static")), f"{header.name}: no COR_API: {statement}"
    exported = {name for kind, name in symbols(SHARED, "-D", "--defined-only") if kind in "TDBRVWi"}
    assert exported == declared, f"only declared: {declared - exported}; only exported: {exported - declared}"


def static_library_has_no_other_visible_symbols():
    """A program may have functions of the names that the library uses inside."""
    shared = {name for kind, name in symbols(SHARED, "-D", "--defined-only")}
    visible = {name for kind, name in symbols(STATIC, "--defined-only", "--extern-only")}
    assert visible == shared, f"only static: {sorted(visible - shared)[:20]}; only shared: {sorted(shared - visible)[:20]}"


def abi_is_the_promised_one():
    """Functions, callbacks, enumerations and structs are those of abi.txt, which is changed on purpose."""
    promised = (ROOT / "tests/library/abi.txt").read_text().splitlines()
    changes = [line for line in difflib.unified_diff(promised, abi.describe(ROOT), lineterm="", n=0)
               if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert not changes, "\n".join(["the ABI has changed; if it may (docs/internals/libcoracle.md, ABI), run",
                                   "python3 tests/library/abi.py . > tests/library/abi.txt", *changes])


def option_structs_can_grow():
    """A member that is appended must not come to lie in the padding at the end of the older struct: what is there is
    not defined in a program that was compiled before."""
    members = re.findall(r"^struct (\w+)\.(\w+) at (\d+), (\d+)$", "\n".join(abi.describe(ROOT)), flags=re.M)
    sizes = dict(re.findall(r"^struct (\w+) (\d+)$", "\n".join(abi.describe(ROOT)), flags=re.M))
    last = {struct: int(at) + int(n) for struct, _, at, n in members}
    sized = {struct for struct, name, at, _ in members if (name, at) == ("size", "0")}
    assert len(sized) >= 12, sized
    for struct in sized:
        assert last[struct] == int(sizes[struct]), f"{struct} ends in padding: move its small members up"


def soname_is_of_the_minor_version_until_1_0():
    major, minor = run(*CC, "-E", "-P", "-xc", "-", input=f'#include "{ROOT}/include/coracle/version.h"\nCOR_VERSION',
                       cwd=ROOT / "include", env={**os.environ, "CPATH": str(ROOT / "include")}).split('"')[-2].split(".")[:2]
    soname = re.search(r"SONAME.*\[(.*)\]", run("readelf", "-d", SHARED)).group(1)
    assert soname == (f"libcoracle.so.{major}" if int(major) else f"libcoracle.so.{major}.{minor}"), soname


def needs_no_signals_and_prints_nothing():
    used = {name for kind, name in symbols(SHARED, "-D", "--undefined-only") if FORBIDDEN.match(name)}
    used |= {name for kind, name in symbols(STATIC) if kind == "U" and FORBIDDEN.match(name)}
    assert not used, f"uses {used}"


def contains_no_storage_and_no_server():
    """Only cmd/ joins client and storage: of what these folders define, the library has nothing, in either form."""
    ours = set()
    for archive in [*BUILD.glob("src/storage/**/*.a"), *BUILD.glob("src/server/**/*.a")]:
        ours |= {name for kind, name in symbols(archive, "--defined-only") if kind in "TDBR" and name.startswith("cor_")}
    assert len(ours) > 100, f"no symbols of storage and server were found in {BUILD}"
    for file in (SHARED, STATIC):
        found = {name for kind, name in symbols(file) if name in ours}
        assert not found, f"{file.name} contains or wants {sorted(found)[:10]}"
    needed = run("readelf", "-d", SHARED)
    assert "sqlite" not in needed and "protobuf" not in needed, needed


def is_small():
    """Contract controllers 9.2."""
    for library, maximum in ((SHARED, STRIPPED_MAX), (SHARED_TYPES, TYPES_STRIPPED_MAX)):
        with tempfile.TemporaryDirectory() as folder:
            stripped = pathlib.Path(folder) / "stripped.so"
            run("strip", "-o", stripped, library)
            size = stripped.stat().st_size
        print(f"# {library.name} stripped: {size} bytes")
        assert size < maximum, f"{library.name}: {size} bytes"


def types_abi_is_the_promised_one():
    """Both forms of libcoracle-types export what their headers declare, and that is what abi_types.txt lists."""
    found = abi.describe_types(ROOT, BUILD / "include/coracle/types")
    declared = {re.search(r"\b(cor_\w+)\(", line).group(1) for line in found if "(" in line}
    declared |= {line.split()[-1] for line in found if line.startswith(("const struct cor_own_type ", "const struct cor_wire_type "))}
    for flags, file in ((["-D"], SHARED_TYPES), (["--extern-only"], STATIC_TYPES)):
        exported = {name for kind, name in symbols(file, *flags, "--defined-only")}
        assert exported == declared, f"{file.name}: {sorted(exported ^ declared)[:20]}"
    promised = (ROOT / "tests/library/abi_types.txt").read_text().splitlines()
    changes = [line for line in difflib.unified_diff(promised, found, lineterm="", n=0)
               if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert not changes, "\n".join(["the ABI of libcoracle-types has changed; if it may (docs/internals/gen.md), run",
                                   "python3 tests/library/abi.py . build/include/coracle/types > tests/library/abi_types.txt",
                                   *changes[:40]])


def testing_abi_is_the_promised_one():
    """libcoracle-testing exports what its header declares, which is what abi_testing.txt lists, and nothing of its server."""
    found = abi.describe_testing(ROOT)
    declared = {re.search(r"\b(cor_testing_\w+)\(", line).group(1) for line in found if line.startswith("function ")}
    exported = {name for kind, name in symbols(SHARED_TESTING, "-D", "--defined-only")}
    assert exported == declared, f"only declared: {declared - exported}; only exported: {sorted(exported - declared)[:20]}"
    promised = (ROOT / "tests/library/abi_testing.txt").read_text().splitlines()
    changes = [line for line in difflib.unified_diff(promised, found, lineterm="", n=0)
               if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert not changes, "\n".join(["the ABI of libcoracle-testing has changed; if it may, run",
                                   "python3 tests/library/abi.py . testing > tests/library/abi_testing.txt", *changes])


def both_languages():
    """Each compiler that is there, as C11 and C++17."""
    return [c for c in ([*CC, "-std=c11", "-xc"], [*CXX, "-std=c++17", "-xc++"], ["clang", "-std=c11", "-xc"],
                        ["clang++", "-std=c++17", "-xc++"]) if shutil.which(c[0])]


def mkdir(folder):
    folder.mkdir(exist_ok=True)
    return folder


def types_compile_in_c_and_cpp_without_warnings():
    """As C11 and C++17, by each compiler that is there: libcoracle-types, and the kept output for other inputs."""
    sources = sorted(f for f in (BUILD / "include/coracle/types").glob("*.c") if not f.name.endswith("_test.c"))
    kept = ROOT / "tests/gen/kept"
    flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ROOT / 'include'}", f"-I{BUILD / 'include'}"]
    with tempfile.TemporaryDirectory() as folder:
        one = pathlib.Path(folder) / "all.c"
        for file in kept.iterdir():
            shutil.copy(file, pathlib.Path(folder) / file.stem)
        one.write_text("".join(f'#include "{source}"\n'
                               for source in [*sources, *CLIENTS_HEADERS, *(f.stem for f in kept.glob("*.c.txt")),
                                              *(f.stem for f in kept.glob("*_client.h.txt"))]))
        for compiler in both_languages():
            run(*compiler, *flags, one)
    # Clients have no source, and clients.h includes all of them.
    assert len(CLIENTS_HEADERS) > 20 and len(TYPES_HEADERS) == len(sources) + len(CLIENTS_HEADERS) + 1, len(TYPES_HEADERS)
    for header in TYPES_HEADERS:
        for name in re.findall(r'^#include "(.*?)"', header.read_text(), flags=re.M):
            assert name.startswith("coracle/"), f"{header.name} includes {name}"


def a_view_is_typed_and_cannot_be_written():
    """The wrong type, and a write through a view, do not compile (Contract controllers 5.4.2, 8.1)."""
    head = '#include <coracle/types/core_v1.h>\nvoid f(struct cor_core_v1_pod p, struct cor_core_v1_node n);\n' \
           'void f(struct cor_core_v1_pod p, struct cor_core_v1_node n) { (void)p; (void)n;\n'
    flags = ["-fsyntax-only", "-Wall", "-Werror", f"-I{ROOT / 'include'}", f"-I{BUILD / 'include'}", "-xc", "-"]
    run(*CC, *flags, input=head + "(void)cor_core_v1_pod_spec(p); }")
    for wrong in ("(void)cor_core_v1_pod_spec(n);", "(void)cor_core_v1_node_spec(cor_core_v1_pod_spec(p));",
                  "*(char *)cor_core_v1_pod_spec(p) = 0;",
                  "cor_core_v1_pod_spec_node_name(cor_core_v1_pod_spec(p)).raw.p[0] = 'x';",
                  "cor_core_v1_pod_spec_priority(cor_core_v1_pod_spec(p)) = 1;"):
        done = subprocess.run([*CC, *flags], input=head + wrong + " }", capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode != 0, f"compiles: {wrong}"


def a_client_is_typed():
    """Objects, informers, handlers and answers of another kind do not compile."""
    head = "#include <coracle/types/clients.h>\n" \
           "int f(struct cor_client *c, struct cor_informers *set, struct cor_status *why);\n" \
           "static void on_pod(void *arg, struct cor_core_v1_pod pod, bool first) { (void)arg; (void)pod; (void)first; }\n" \
           "int f(struct cor_client *c, struct cor_informers *set, struct cor_status *why) {\n" \
           "struct cor_core_v1_pod_object pod = {NULL}; struct cor_core_v1_node_object node = {NULL};\n" \
           "struct cor_core_v1_pod_informer pods; struct cor_core_v1_node_informer nodes;\n" \
           "struct cor_core_v1_pod_handler handler = {on_pod, NULL, NULL, NULL, NULL, NULL}; struct cor_core_v1_node_handler of_nodes;\n" \
           "(void)pod; (void)node; (void)pods; (void)nodes; (void)handler; (void)of_nodes; (void)c; (void)set; (void)why;\n"
    flags = ["-fsyntax-only", "-Wall", "-Werror", f"-I{ROOT / 'include'}", f"-I{BUILD / 'include'}", "-xc", "-"]
    right = ['return cor_core_v1_pods_create(c, "a", pod, NULL, &pod, why);', "return cor_core_v1_pods_informer(set, NULL, NULL, &pods, why);",
             "return cor_core_v1_pod_informer_add_handler(pods, &handler, NULL, NULL);"]
    for text in right:
        run(*CC, *flags, input=head + text + " }")
    for wrong in ('return cor_core_v1_pods_create(c, "a", node, NULL, &pod, why);', 'return cor_core_v1_pods_get(c, "a", "b", NULL, &node, why);',
                  "return cor_core_v1_pods_informer(set, NULL, NULL, &nodes, why);", "of_nodes.on_add = on_pod; return 0;",
                  "return cor_core_v1_pod_informer_add_handler(nodes, &handler, NULL, NULL);",
                  "return cor_core_v1_node_informer_add_handler(nodes, &handler, NULL, NULL);",
                  'return cor_core_v1_pods_create_binding(c, "a", "b", pod, NULL, NULL, why);',
                  "return cor_core_v1_nodes_update_scale(c, node, NULL, NULL, why);"):
        done = subprocess.run([*CC, *flags], input=head + wrong + " }", capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode != 0, f"compiles: {wrong}"


def headers_include_only_standard_ones():
    for header in [*HEADERS, ROOT / "include/coracle" / abi.TESTING]:
        for name in re.findall(r'^#include ["<](.*?)[">]', header.read_text(), flags=re.M):
            assert name.startswith(("coracle/", "std")) or name == "string.h", f"{header.name} includes {name}"


def all_headers_are_in_the_one():
    one = (ROOT / "include" / "coracle.h").read_text()
    for header in HEADERS:
        name = str(header.relative_to(ROOT / "include"))
        assert name == "coracle.h" or f'#include "{name}"' in one, name


def the_guides_program_compiles_without_warnings():
    """As a reader types it in, with the warnings that a careful one has switched on."""
    blocks = re.findall(r"^```c\n(.*?)^```$", (ROOT / "docs/guide-client.md").read_text(), flags=re.M | re.S)
    programs = [block for block in blocks if "int main(" in block]
    assert programs, "the guide has no program"
    flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'include'}"]
    for standard in ("c11", "gnu17"):
        for program in programs:
            run(*CC, *flags, f"-std={standard}", "-xc", "-", input=program)
    texts = "#include <coracle.h>\nextern const struct cor_str texts[];\n" \
            'const struct cor_str texts[] = {COR_STR_INIT("a"), COR_STR_INIT("b")};\n'
    run(*CC, *flags, "-std=c11", "-xc", "-", input=texts)


def the_guides_commands_build_their_programs():
    """The lines that begin with cc in docs/guide-client.md and docs/guide-gen.md, as they stand, with what is installed."""
    with tempfile.TemporaryDirectory() as folder:
        work, env = pathlib.Path(folder), installed_once().env
        for page, source, program in (("guide-client", "first.c", "first"), ("guide-gen", "program.c", "a.out")):
            text = (ROOT / f"docs/{page}.md").read_text()
            commands = re.findall(r"^cc .*$", text, flags=re.M)
            assert len(commands) == 1, commands
            code = next((code for code in re.findall(r"^```c\n(.*?)^```$", text, flags=re.M | re.S) if "int main(" in code), None)
            (work / source).write_text(code or (ROOT / "tests/library/typed.c").read_text())
            run("sh", "-ec", commands[0], cwd=work, env=env)
            assert (work / program).exists(), commands[0]
        assert run(work / "a.out", env=env).split()[0] == "node-1"


class Installed:
    """The tree that `meson install` makes, with a pkg-config file that points at it."""

    def __init__(self, folder):
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder)
        self.pc = next(pathlib.Path(folder).rglob("coracle.pc"))
        prefix = re.search(r"^prefix=(.*)$", self.pc.read_text(), flags=re.M).group(1)
        self.root, self.prefix = pathlib.Path(folder), pathlib.Path(folder) / prefix.lstrip("/")
        for pc in (self.pc, self.pc.parent / "coracle-types.pc", self.pc.parent / "coracle-testing.pc"):
            pc.write_text(pc.read_text().replace(f"prefix={prefix}\n", f"prefix={self.prefix}\n"))
        self.libdir = self.pc.parent.parent
        self.env = {**os.environ, "PKG_CONFIG_PATH": f"{self.pc.parent}:{sys.argv[5]}"}
        self.env["LD_LIBRARY_PATH"] = ":".join([str(self.libdir)])
        if sys.argv[5]:
            self.env["LD_LIBRARY_PATH"] += ":" + self.pkg_config("--variable=libdir", "yyjson")[0]

    def pkg_config(self, *args):
        return run("pkg-config", *args, env=self.env).split()

    def program(self, compiler, language, static):
        exe = self.prefix / f"program-{language}-{static}"
        flags = self.pkg_config("--cflags", "--libs", *(["--static"] if static else []), "coracle")
        if static:
            flags = ["-l:libcoracle.a" if f == "-lcoracle" else f for f in flags]
        standard = "-std=c++11" if language == "c++" else "-std=c11"
        run(*compiler, "-Wall", "-Wextra", "-Werror", "-pedantic", standard, "-x", language, ROOT / "tests/library/program.c", "-o", exe,
            *flags, env=self.env)
        said = run(exe, env=self.env).strip()
        assert [said] == self.pkg_config("--modversion", "coracle"), said
        return exe

    def typed_program(self, compiler, language, static):
        """A program on libcoracle-types, as its pkg-config file says, with the header of one group (Contract controllers 5.2.11)."""
        exe = self.prefix / f"typed-{language}-{static}"
        flags = self.pkg_config("--cflags", "--libs", *(["--static"] if static else []), "coracle-types")
        if static:
            flags = [f"-l:lib{f[2:]}.a" if f.startswith("-lcoracle") else f for f in flags]
        standard = "-std=c++17" if language == "c++" else "-std=c11"
        run(*compiler, "-Wall", "-Wextra", "-Werror", "-pedantic", standard, "-x", language, ROOT / "tests/library/typed.c",
            "-o", exe, *flags, env=self.env)
        said = run(exe, env=self.env).split()
        assert said == ["node-1", "3", "web:v2", "True", "node-2", "0"], said


    def test_program(self):
        """A unit test on libcoracle-testing."""
        exe = self.prefix / "test"
        flags = self.pkg_config("--cflags", "--libs", "coracle-types", "coracle-testing")
        run(*CC, "-Wall", "-Wextra", "-Werror", "-pedantic", "-std=c11", ROOT / "tests/testing/fake.c", "-o", exe, *flags, env=self.env)
        said = run(exe, env=self.env)
        assert "ok 6" in said and "not ok" not in said, said


@functools.cache
def installed_once():
    """All tests use one tree, which goes with the program."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return Installed(folder.name)


def installed_library_serves_programs():
    installed = installed_once()
    for language, compiler in (("c", CC), ("c++", CXX)):
        for static in (False, True):
            installed.program(compiler, language, static)
            installed.typed_program(compiler, language, static)
    installed.test_program()
    for name in ("bin/coracle-gen", "share/man/man1/coracle-gen.1", "share/man/man3/coracle_client.3",
                 "share/man/man3/cor_client_new.3", "share/doc/coracle/guide-client.md", "include/coracle/types/apps_v1.h", "include/coracle.h",
                 "share/man/man1/coracle.1", "bin/coracle"):
        found = list(installed.prefix.glob(name + "*"))
        assert found, f"{name} is not installed"


def projects_generate_views_with_meson_and_cmake():
    """As docs/guide-gen.md shows it, from installed files alone."""
    with tempfile.TemporaryDirectory() as folder:
        installed = installed_once()
        project = pathlib.Path(folder) / "project"
        shutil.copytree(ROOT / "tests/gen/project", project)
        shutil.copy(ROOT / "tests/gen/website.yaml", project)
        env = {**installed.env, "PATH": f"{installed.prefix / 'bin'}:{os.environ['PATH']}"}
        run("meson", "setup", project / "meson", project, env=env)
        run("ninja", "-C", project / "meson", env=env)
        built = [project / "meson/site"]
        if shutil.which("cmake"):
            run("cmake", "-S", project, "-B", project / "cmake", env=env)
            run("cmake", "--build", project / "cmake", env=env)
            built.append(project / "cmake/site")
        for program in built:
            said = run(program, env=env)
            assert said == "home web:v2 2 443 0\n", said
    guide = (ROOT / "docs/guide-gen.md").read_text()
    for name in ("meson.build", "CMakeLists.txt"):
        text = (ROOT / "tests/gen/project" / name).read_text().split("\n", 1)[1].strip()
        assert text in guide, f"docs/guide-gen.md does not show {name}"


def guides_and_examples_are_installed_and_lead_somewhere():
    """Every link of an installed page has its file, and the programs that the guides name are built from installed files."""
    with tempfile.TemporaryDirectory() as folder:
        installed = installed_once()
        docs = installed.prefix / "share/doc/coracle"
        pages = sorted(docs.glob("*.md"))
        assert len(pages) == 5, pages
        for page in pages:
            for link in re.findall(r"\]\((?!https?:|#)([^)#]*)", page.read_text()):
                assert (docs / link).exists(), f"{page.name} leads to {link}"
        work = mkdir(pathlib.Path(folder) / "work")
        run(installed.prefix / "bin/coracle-gen", "--crd", docs / "examples/website.yaml", "--out", work, env=installed.env)
        flags = [f"-I{work}", *installed.pkg_config("--cflags", "--libs", "coracle-types")]
        for name, more in (("enricher", []), ("website_operator", [work / "example_v1.c"]), ("binder", [docs / "examples/pod_binder.c"]),
                           ("boat_operator", []), ("secret_keeper", []), ("crud", [])):
            for compiler in (CC, ["clang"]):
                if shutil.which(compiler[0]):
                    run(*compiler, "-std=gnu11", "-Wall", "-Werror", docs / f"examples/{name}.c", *more, "-o", work / name, *flags, env=installed.env)
            assert run(work / name, "--help", env=installed.env).startswith(f"usage: {name}")


ROLES = """#include <stdio.h>

#include "rbac_v1_client.h"

int main(void)
{
    struct my_rbac_v1_role_own role;
    struct my_rbac_v1_policy_rule_own *rule;
    struct my_rbac_v1_role_object object = {NULL};
    struct cor_pool *pool;
    struct cor_status why;
    int r;

    cor_status_init(&why);
    if (cor_pool_new(0, &pool) < 0)
        return 1;
    my_rbac_v1_role_own_init(&role);
    role.metadata.name = COR_STR("reader");
    rule = my_rbac_v1_policy_rule_own_list_add(pool, &role.rules);
    if (!rule || cor_str_list_add(pool, &rule->verbs, COR_STR("get")) < 0)
        return 1;
    r = my_rbac_v1_role_object_of_own(pool, &role, &object, &why);
    if (r == 0)
        printf("%.*s\\n", COR_STR_ARG(cor_object_json(object.object)));
    my_rbac_v1_role_object_unref(&object);
    cor_pool_free(pool);
    cor_status_deinit(&why);
    return r < 0;
}
"""


def structs_of_other_kinds_are_generated_beside_the_librarys():
    """As docs/guide-gen.md says, from installed files alone: what the named package needs is written, too."""
    with tempfile.TemporaryDirectory() as folder:
        installed = installed_once()
        made = mkdir(pathlib.Path(folder) / "made")
        run(installed.prefix / "bin/coracle-gen", "--structs", "Role,RoleBinding", "--prefix", "my_", "--out", made, "rbac_v1", env=installed.env)
        names = {f"{package}{end}" for package in ("meta_v1", "rbac_v1") for end in (".h", ".c", "_client.h", "_structs.h", "_structs.c")}
        assert {file.name for file in made.iterdir()} == names, sorted(made.iterdir())
        (made / "main.c").write_text(ROLES)
        flags = installed.pkg_config("--cflags", "--libs", "coracle-types")
        for number, compiler in enumerate(both_languages()):
            exe = made / f"roles{number}"
            run(*compiler, "-Wall", "-Wextra", "-Werror", "-pedantic", *made.glob("*.c"), "-o", exe, *flags, env=installed.env)
            said = run(exe, env=installed.env)
            assert said == '{"kind":"Role","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"reader"},"rules":[{"verbs":["get"]}]}\n', said


def definitions_of_ten_styles_become_types():
    """Each gives the same files twice, they compile as C11 and C++17, each struct makes its round trip, and views see what it has."""
    definitions = sorted((ROOT / "tests/gen/definitions").iterdir())
    assert len(definitions) == 10, definitions
    gen = BUILD / "cmd/coracle-gen/coracle-gen"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in ("one", "two"):
            for file in definitions:
                run(gen, "--crd", file, "--structs", "all", "--out", mkdir(folder / name))
        made = sorted((folder / "one").iterdir())
        assert [f.read_text() for f in made] == [(folder / "two" / f.name).read_text() for f in made]
        program = folder / "one/program.c"
        program.write_text(round_trips.program(folder / "one"))
        flags = ["-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{ROOT / 'include'}", f"-I{BUILD / 'include'}"]
        sources = [f for f in made if f.suffix == ".c"] + [program]
        libraries = [SHARED_TYPES, SHARED]
        paths = ":".join(str(library.parent) for library in libraries) + ":" + os.environ.get("LD_LIBRARY_PATH", "")
        for number, compiler in enumerate(both_languages()):
            exe = folder / f"program{number}"
            run(*compiler, *flags, *sources, "-x", "none", *libraries, "-Wl,--allow-shlib-undefined", "-o", exe)
            said = run(exe, env={**os.environ, "LD_LIBRARY_PATH": paths})
            assert said == "79 structs, 230 views\n", said


class Skip(Exception):
    pass


def own_rpath():
    """An rpath that the build was configured with stays in what is installed: whoever set it wants it."""
    options = json.loads(run("meson", "introspect", BUILD, "--buildoptions"))
    arguments = [str(option["value"]) for option in options if option["name"] == "c_link_args"]
    return any("rpath" in a for a in arguments)


def check_runpath(installed, file):
    dynamic = run("readelf", "-d", file)
    for path in ":".join(re.findall(r"(?:RUNPATH|RPATH).*\[(.*)\]", dynamic)).split(":"):
        assert not path or path.startswith("$ORIGIN/"), f"{file.name} looks for libraries in {path}"
        inside = pathlib.Path(os.path.normpath(path.replace("$ORIGIN", str(file.resolve().parent))))
        assert not path or installed.prefix in inside.parents, f"{file.name} looks for libraries in {path}"


def installed_files_need_nothing_of_the_clone():
    if own_rpath():
        raise Skip("the build was configured with an rpath of its own")
    installed = installed_once()
    files = [installed.libdir / "libcoracle.so", installed.libdir / "libcoracle-types.so", installed.prefix / "bin/coracle",
             installed.prefix / "bin/coracle-gen"]
    for file in files:
        check_runpath(installed, file)
    files += [installed.program(CC, "c", static) for static in (False, True)]
    assert str(ROOT) not in installed.pc.read_text(), installed.pc.read_text()
    for file in files:
        found = run("ldd", file, env=installed.env)
        assert "not found" not in found and str(ROOT) not in found.replace(str(installed.prefix), ""), f"{file}: {found}"
    said = run(installed.prefix / "bin/coracle", "--version", env={**installed.env, "LD_LIBRARY_PATH": ""})
    assert said, "coracle does not run"


def the_installed_unit_starts_the_installed_program():
    installed = installed_once()
    unit = (installed.prefix / "lib/systemd/system/coracle.service").read_text()
    program, command, *flags = re.search(r"^ExecStart=(.*)$", unit, flags=re.M).group(1).split()
    assert installed.root / program.lstrip("/") == installed.prefix / "bin/coracle", program
    known = run(installed.prefix / "bin/coracle", "help", command, env=installed.env)
    assert [flag for flag in flags if flag.startswith("--") and f"{flag} " not in known] == [], known


CASES = [exports_what_its_headers_declare, static_library_has_no_other_visible_symbols, abi_is_the_promised_one,
         option_structs_can_grow, soname_is_of_the_minor_version_until_1_0, needs_no_signals_and_prints_nothing,
         contains_no_storage_and_no_server, is_small, types_abi_is_the_promised_one,
         testing_abi_is_the_promised_one, types_compile_in_c_and_cpp_without_warnings, a_view_is_typed_and_cannot_be_written, a_client_is_typed,
         headers_include_only_standard_ones, all_headers_are_in_the_one,
         the_guides_program_compiles_without_warnings, the_guides_commands_build_their_programs, installed_library_serves_programs,
         projects_generate_views_with_meson_and_cmake, structs_of_other_kinds_are_generated_beside_the_librarys, definitions_of_ten_styles_become_types,
         installed_files_need_nothing_of_the_clone, the_installed_unit_starts_the_installed_program, guides_and_examples_are_installed_and_lead_somewhere]


def main():
    if not shutil.which(CXX[0]):
        print("1..0 # SKIP no C++ compiler")
        return 0
    if sys.maxsize < 1 << 32:
        CASES.remove(abi_is_the_promised_one)
        CASES.remove(option_structs_can_grow)
    print(f"1..{len(CASES)}")
    failed = 0
    for number, case in enumerate(CASES, 1):
        what = case.__name__.replace("_", " ")
        try:
            case()
            print(f"ok {number} - {what}")
        except Skip as why:
            print(f"ok {number} - {what} # SKIP {why}")
        except AssertionError as error:
            failed += 1
            print(f"not ok {number} - {what}")
            print("# " + str(error).replace("\n", "\n# "))
    return 1 if failed else 0


sys.exit(main())
