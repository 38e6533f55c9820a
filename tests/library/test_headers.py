#!/usr/bin/env python3
"""TAP: the public headers in programs of others: with every compiler that is installed, and with the warnings that a careful program has
switched on. Arguments: source root, build folder."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT, BUILD = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
INCLUDES = [f"-I{ROOT / 'include'}", f"-I{BUILD / 'include'}"]
OWN = sorted(f"coracle/{h.name}" for h in (ROOT / "include/coracle").glob("*.h"))
TYPES = sorted({f"coracle/types/{h.name}" for folder in (ROOT, BUILD) for h in (folder / "include/coracle/types").glob("*.h")})
# What coracle-gen wrote for other inputs.
KEPT = sorted((ROOT / "tests/gen/kept").glob("*.h.txt"))
C, CPP = ("c11", "c17", "c23"), ("c++11", "c++17")
# One program that uses what is inline, as a user has it: with options, optimised as a release is. C++17 has no names in braces.
OPTIONS = {"c": """
    const struct cor_request opts = {COR_REQUEST, .dry_run = true, .field_manager = "me"};
    const struct cor_informer_opts informer_opts = {COR_INFORMER_OPTS, .label_selector = "a=b"};
    const struct cor_handler_opts handler_opts = {COR_HANDLER_OPTS, .name = "one"};
    struct cor_core_v1_pod_handler handler = {.on_add = on_add};
""", "c++": """
    struct cor_request opts = {};
    struct cor_informer_opts informer_opts = {};
    struct cor_handler_opts handler_opts = {};
    struct cor_core_v1_pod_handler handler = {};

    opts.size = sizeof opts;
    opts.dry_run = true;
    opts.field_manager = "me";
    informer_opts.size = sizeof informer_opts;
    informer_opts.label_selector = "a=b";
    handler_opts.size = sizeof handler_opts;
    handler_opts.name = "one";
    handler.on_add = on_add;
"""}
PROGRAM = r"""
#include <coracle/types/clients.h>

int main(void);

static void on_add(void *arg, struct cor_core_v1_pod pod, bool is_initial)
{
    *(bool *)arg = is_initial && cor_core_v1_pod_spec_node_name(cor_core_v1_pod_spec(pod)).raw.n > 0;
}

int main(void)
{
    // OPTIONS
    struct cor_core_v1_pod_informer informer;
    struct cor_core_v1_pod_object pod;
    struct cor_informers *set = NULL;
    struct cor_client *client = NULL;
    struct cor_status why;
    bool seen = false;

    handler.arg = &seen;
    cor_status_init(&why);
    if (cor_core_v1_pods_get(client, "a", "b", &opts, &pod, &why) == 0)
        cor_core_v1_pod_object_unref(&pod);
    if (cor_informers_new(client, NULL, &set) < 0)
        return 1;
    if (cor_core_v1_pods_informer(set, "a", &informer_opts, &informer, &why) == 0)
        (void)cor_core_v1_pod_informer_add_handler(informer, &handler, &handler_opts, NULL);
    cor_informers_free(set);
    return seen ? 0 : 1;
}
"""


def compilers(c, cpp):
    """Those of the build and those of the PATH, each once."""
    found = {}
    for command, language in (*((c, "c") for c in c), *((c, "c++") for c in cpp)):
        if shutil.which(command[0]):
            version = subprocess.run([*command, "--version"], capture_output=True, check=False, timeout=60).stdout.split()[1:]
            found.setdefault((*version, language), (command, language))
    return list(found.values())


COMPILERS = compilers([os.environ.get("CC", "cc").split(), ["gcc"], ["clang"]], [os.environ.get("CXX", "c++").split(), ["g++"], ["clang++"]])


def run(*args):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(str(a) for a in args)}: {(done.stdout + done.stderr)[:4000]}")


def understands(command, standard):
    done = subprocess.run([*command, f"-std={standard}", "-fsyntax-only", "-xc", "/dev/null"], capture_output=True, check=False, timeout=60)
    return done.returncode == 0


def standards(command, language):
    """As this compiler calls them: an older one has C23 as c2x."""
    if language == "c++":
        return CPP
    return [s if s != "c23" or understands(command, s) else "c2x" for s in C]


def each(jobs):
    """Runs jobs on every core, and raises what the first of them raised."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(*job) for job in jobs]:
            done.result()


def sources(folder, headers):
    """One file for each header, which includes nothing else."""
    for number, header in enumerate(headers):
        (folder / f"{number}.c").write_text(f"#include <{header}>\nint main(void);\n")
    return [folder / f"{number}.c" for number in range(len(headers))]


def checks(command, language, standard, files):
    """Jobs that compile each of the files, and keep nothing. A compiler is started for a few of them at a time."""
    flags = [*command, "-fsyntax-only", *WARNINGS, *INCLUDES, f"-std={standard}", f"-x{language}"]
    return [(run, *flags, *files[at:at + 8]) for at in range(0, len(files), 8)]


def stands_alone(folder):
    """Each header includes what it needs, in the oldest standard that it is for, which brings along least (C23 has bool without a header);
    the clients of types want C++17."""
    own = sources(folder, ["coracle.h", *OWN])
    generated = sources(folder / "types", TYPES)
    each(job for command, language in COMPILERS
         for files, standard in (((own + generated, "c11"),) if language == "c" else ((own, "c++11"), (generated, "c++17")))
         for job in checks(command, language, standard, files))


def all_together(folder):
    """All headers in one program, in each standard (clients want C++17): warnings do not depend on a header's neighbours."""
    for header in KEPT:
        shutil.copy(header, folder / header.stem)
    one, own = folder / "all.c", folder / "own.c"
    own.write_text("".join(f"#include <{name}>\n" for name in ["coracle.h", *OWN]))
    one.write_text(own.read_text() + "".join(f"#include <{name}>\n" for name in TYPES) +
                   "".join(f'#include "{header.stem}"\n' for header in KEPT))
    each(job for command, language in COMPILERS for standard in standards(command, language)
         for job in checks(command, language, standard, [own if standard == "c++11" else one]))


def is_inlined_without_warnings(folder):
    """A compiler that optimises sees into inline functions, and the objects of the program."""
    jobs = []
    for number, (command, language) in enumerate(COMPILERS):
        program = folder / ("program.c" if language == "c" else "program.cpp")
        program.write_text(PROGRAM.replace("// OPTIONS", OPTIONS[language]))
        jobs += [(run, *command, "-c", level, *WARNINGS, *INCLUDES, f"-std={'c11' if language == 'c' else 'c++17'}", program,
                  "-o", folder / f"{number}{level}.o") for level in ("-O2", "-O3")]
    each(jobs)


def musl_understands_them(folder):
    """Another C library: what a header needs it includes."""
    files = sources(folder, ["coracle.h", *OWN]) + sources(folder / "types", TYPES)
    each(checks(["musl-gcc"], "c", "c11", files))


TESTS = [(stands_alone, None), (all_together, None), (is_inlined_without_warnings, None), (musl_understands_them, "musl-gcc")]

print(f"1..{len(TESTS)}")
print(f"# {', '.join(' '.join(command) for command, _ in COMPILERS)}; {len(OWN)} headers, {len(TYPES)} generated, {len(KEPT)} kept")
for n, (test, need) in enumerate(TESTS, 1):
    if need and not shutil.which(need):
        print(f"ok {n} - {test.__name__} # SKIP {need} is not installed")
        continue
    with tempfile.TemporaryDirectory() as temporary:
        (pathlib.Path(temporary) / "types").mkdir()
        try:
            test(pathlib.Path(temporary))
            print(f"ok {n} - {test.__name__}")
        except AssertionError as failure:
            print(f"not ok {n} - {test.__name__}\n# " + str(failure).replace("\n", "\n# "))
