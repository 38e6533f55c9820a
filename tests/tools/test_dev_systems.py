#!/usr/bin/env python3
"""TAP: what ./dev does about packages that are lacking, on the systems that people have. Argument: the source root.
The system is the test's own: an os-release file, and package managers, compilers and pkg-config that know what the test says."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
# The system's own programs that ./dev may use; nothing else is in PATH.
REAL = ["awk", "cat", "cut", "dirname", "env", "grep", "ln", "ls", "mkdir", "mktemp", "nice", "nproc", "rm", "sed", "sh", "touch", "tr",
        "uname"]
TABLE = [line.split() for line in (ROOT / "tools/packages.txt").read_text().splitlines() if line and not line.startswith("#")]
COMMANDS = {"apt": "apt-get install ", "dnf": "dnf install ", "pacman": "pacman -S --needed ", "apk": "apk add "}
COLUMNS = {"apt": 4, "dnf": 5, "pacman": 6, "apk": 7}
DEBIAN_12 = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n'
DEBIAN_13 = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_ID="13"\n'
DEBIAN_SID = 'PRETTY_NAME="Debian GNU/Linux forky/sid"\nID=debian\n'
UBUNTU_24 = 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n'
UBUNTU_26 = 'PRETTY_NAME="Ubuntu 26.04 LTS"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="26.04"\n'
MINT = 'PRETTY_NAME="Linux Mint 22"\nID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_ID="22"\n'
FEDORA = 'PRETTY_NAME="Fedora Linux 43"\nID=fedora\nVERSION_ID=43\n'
ALMA = 'PRETTY_NAME="AlmaLinux 10"\nID="almalinux"\nID_LIKE="rhel centos fedora"\nVERSION_ID="10"\n'
ARCH = 'PRETTY_NAME="Arch Linux"\nID=arch\n'
MANJARO = 'PRETTY_NAME="Manjaro Linux"\nID=manjaro\nID_LIKE=arch\n'
ALPINE = 'PRETTY_NAME="Alpine Linux v3.23"\nID=alpine\nVERSION_ID=3.23.0\n'
UNKNOWN = 'PRETTY_NAME="Some Linux"\nID=some\n'
NEXT = ["libllhttp-dev", "libyyjson-dev"]
NEXT_LIBRARIES = ["yyjson", "libllhttp"]
# Those that configure a folder, in each of their ways.
VERBS = [["test"], ["quick"], ["bench"], ["cost"], ["cost", "requests"], ["cost", "aggregation"], ["hostile"], ["hostile", "leave"],
         ["hostile", "turns"], ["churn", "1", "sanitized"], ["fuzz"]]

# What is there is a line of the file `there`, by its kind and name. A package that is installed adds what the table says that it has.
STANDS_IN = {
    "pkg-config": """shift; name=${1%% *}
[ "$name" = "$1" ] || [ ! -e "$HERE/old-$name" ] || exit 1
grep -qx "library $name" "$HERE/there" || ls "$PKG_CONFIG_PATH"/"${name#lib}".pc >/dev/null 2>&1""",
    "apt-get": """echo "$@" >>"$HERE/apt-get.log"
[ ! -e "$HERE/offline" ] || { echo "E: no network" >&2; exit 100; }
case " $* " in
*" install "*)
    for word in "$@"; do awk -v package="$word" '!/^#/ && $5 == package { print $2, $3 }' "$HERE/tree/tools/packages.txt" >>"$HERE/there"; done
    "$HERE/link" ;;
*" download "*) touch libyyjson0.deb libllhttp9.2.deb ;;
esac""",
    "apt-cache": """grep -qx "$2" "$HERE/known" """,
    "dpkg": """mkdir -p "$3/usr/lib/there/pkgconfig"
for name in yyjson llhttp; do echo "prefix=/usr" >"$3/usr/lib/there/pkgconfig/$name.pc"; done""",
    "dpkg-architecture": "echo there",
    "sudo": """[ ! -e "$HERE/no-sudo" ] || { echo "sudo: you may not" >&2; exit 1; }
echo "$@" >>"$HERE/sudo.log"; exec "$@" """,
    "id": """cat "$HERE/uid" """,
}
# Programs that the table names: these only have to be there, and to say that all is well.
PLAIN = {
    "gcc": """case "$*" in *-E*) grep -qx "header wslay/wslay.h" "$HERE/there" ;; *-dumpversion*) echo 12 ;; esac""",
    # Clang 19 names a folder that is not there.
    "clang": """case "$*" in
*-dumpversion*) echo 14.0.6 ;;
*-print-runtime-dir*) echo "$HERE/nowhere" ;;
*-fsanitize*) grep -q '^runtime ' "$HERE/there" ;;
esac""",
    "meson": """[ "$1" != setup ] || { mkdir -p "$2/meson-logs"; touch "$2/build.ninja"; echo "${CCACHE_DISABLE:-}" >"$HERE/cache-disabled"
echo "$2 ${PKG_CONFIG_PATH:-nothing}" >>"$HERE/configured.log"; }""",
}


NEAR = "deb http://near/debian bookworm main\n"


class System:
    def __init__(self, folder, os_release, root=True, sudo=True):
        self.folder = pathlib.Path(folder)
        self.tree, programs = self.folder / "tree", self.folder / "programs"
        for made in (self.tree / "tools", self.folder / "waiting", programs):
            made.mkdir(parents=True)
        shutil.copy(ROOT / "dev", self.tree)
        for name in ("packages.sh", "packages.txt"):
            shutil.copy(ROOT / "tools" / name, self.tree / "tools")
        for name in REAL:
            if path := shutil.which(name, path=os.defpath):
                (programs / name).symlink_to(path)
        for name, text in STANDS_IN.items():
            if name not in ("sudo", "pkg-config") or (name == "sudo" and sudo):
                self.program(programs / name, text)
        # These are installed with their packages.
        for name in {row[2] for row in TABLE if row[1] == "program"}:
            self.program(self.folder / "waiting" / name, PLAIN.get(name, STANDS_IN.get(name, "exit 0")))
        self.program(self.folder / "link", """grep '^program ' "$HERE/there" | while read -r kind name; do
    ln -sf "$HERE/waiting/$name" "$HERE/programs/$name"
done""")
        (self.folder / "uid").write_text("0\n" if root else "1000\n")
        (self.folder / "known").write_text("".join(f"{row[COLUMNS['apt']]}\n" for row in TABLE))
        (self.folder / "there").write_text("")
        if os_release is not None:
            (self.folder / "os-release").write_text(os_release)
        self.env = {"PATH": str(programs), "HERE": str(self.folder), "COR_OS_RELEASE": str(self.folder / "os-release"), "COR_APT": str(self.folder / "apt"),
                    "HOME": str(self.folder)}

    @staticmethod
    def program(path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def flag(self, name):
        (self.folder / name).touch()

    def sources(self, **texts):
        """What apt's files say, by the kind of the file."""
        for name, text in texts.items():
            path = self.folder / "apt" / {"list": "sources.list", "other": "sources.list.d/a.list", "deb822": "sources.list.d/z.sources"}[name]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def unknown_to_apt(self, *packages):
        known = (self.folder / "known").read_text().split()
        (self.folder / "known").write_text("".join(f"{name}\n" for name in known if name not in packages))

    def has(self, *groups, but=()):
        rows = [row for row in TABLE if row[0] in groups and row[2] not in but]
        (self.folder / "there").write_text("".join(f"{row[1]} {row[2]}\n" for row in rows))
        subprocess.run([self.folder / "link"], env=self.env, check=True)

    def dev(self, *words):
        done = subprocess.run(["sh", self.tree / "dev", *words], capture_output=True, text=True, timeout=120, env=self.env, check=False)
        return done.returncode, done.stdout + done.stderr

    def log(self, name):
        path = self.folder / f"{name}.log"
        return path.read_text().splitlines() if path.exists() else []

    def installed(self):
        return [sorted(word for word in line.split() if word[0] != "-" and word != "install") for line in self.log("apt-get") if "install" in line]


def packages(column, *groups, but=()):
    """Those of the groups, each once, in the order of the table."""
    names = [row[COLUMNS[column]] for row in TABLE if row[0] in (groups or ["build"])]
    return [name for name in dict.fromkeys(names) if name not in (*but, "none")]


def equal(got, want):
    assert got == want, f"got {got!r}\nwant {want!r}"


def installs_on(os_release, unpacks):
    def test(folder):
        system = System(folder, os_release)
        system.sources(list=NEAR)
        code, said = system.dev("build")
        equal(system.installed(), [sorted(packages("apt", but=NEXT if unpacks else ()))])
        equal(any("download" in line for line in system.log("apt-get")), unpacks)
        equal((system.tree / "build-deps").exists(), unpacks)
        assert code == 0 and said.startswith("installing: gcc g++ "), said
        # The second time nothing is asked.
        asked = len(system.log("apt-get"))
        equal(system.dev("build"), (0, ""))
        equal(len(system.log("apt-get")), asked)
    return test


def finds_what_was_unpacked_in_each_verb(folder):
    """Whichever comes first after the libraries were unpacked has to configure its folders with them."""
    system = System(folder, DEBIAN_12)
    system.has(*{row[0] for row in TABLE}, but=NEXT_LIBRARIES)
    system.sources(list=NEAR)
    equal(system.dev("build")[0], 0)
    for words in VERBS:
        for made in system.tree.glob("build*/build.ninja"):
            shutil.rmtree(made.parent)
        (system.folder / "configured.log").unlink()
        system.dev(*words)
        lines = system.log("configured")
        assert lines and all(line.endswith("/build-deps/root/usr/lib/there/pkgconfig") for line in lines), (words, lines)


def installs_only_what_is_lacking(folder):
    system = System(folder, DEBIAN_13)
    system.has("build", but=("libuv", "protoc-c"))
    code, said = system.dev("build")
    equal(system.installed(), [["libuv1-dev", "protobuf-c-compiler"]])
    equal((code, said), (0, "installing: libuv1-dev protobuf-c-compiler\n"))


def asks_sudo(folder):
    system = System(folder, DEBIAN_13, root=False)
    equal(system.dev("build")[0], 0)
    equal([line.split()[0] for line in system.log("sudo")], ["apt-get", "env"])


def says_what_to_install(folder):
    system = System(folder, DEBIAN_13, root=False, sudo=False)
    system.has("build", but=("libuv", "yyjson"))
    equal(system.dev("build"), (1, "dev: packages are lacking; as root run: apt-get install libuv1-dev libyyjson-dev\n"))
    equal(system.log("apt-get"), [])


def says_so_when_sudo_refuses(folder):
    system = System(folder, DEBIAN_13, root=False)
    system.has("build", but=("libuv",))
    system.flag("no-sudo")
    code, said = system.dev("build")
    equal((code, said.splitlines()[-1]), (1, "dev: apt-get could not install them; as root run: apt-get install libuv1-dev"))


def says_so_without_a_network(folder):
    system = System(folder, DEBIAN_12)
    system.has("build", but=("yyjson",))
    system.sources(list=NEAR)
    system.flag("offline")
    code, said = system.dev("build")
    assert code == 1 and said.splitlines()[-1].startswith("dev: http") and "docs/building.md" in said.splitlines()[-1], said


def says_so_without_an_archive(folder):
    system = System(folder, DEBIAN_12)
    system.has("build", but=("yyjson",))
    code, said = system.dev("build")
    assert code == 1 and said.startswith("dev: apt's sources name no archive of Debian") and "docs/building.md" in said, said
    assert not any("download" in line for line in system.log("apt-get"))


def asks_the_archive(want, **sources):
    """Which archive is asked for what Debian 12 lacks."""
    def test(folder):
        system = System(folder, DEBIAN_12)
        system.has("build", but=("yyjson",))
        system.sources(**sources)
        system.flag("offline")
        equal(system.dev("build")[1].splitlines()[-1].split()[1], want)
    return test


def says_which_path_pkg_config_does_not_understand(folder):
    """It finds the package, and then gives no flags: the compiler would say that a header is not there."""
    system = System(pathlib.Path(folder) / "it's here", DEBIAN_12)
    system.sources(list=NEAR)
    equal(system.dev("build")[1].splitlines()[-1], "dev: pkg-config does not understand the path of this clone, which has a quote, a colon "
                                                   "or a backslash; move the clone")
    assert not any("download" in line for line in system.log("apt-get"))
    system = System(pathlib.Path(folder) / "it's there", DEBIAN_13)
    equal(system.dev("build")[0], 0)


def refuses_an_old_debian(folder):
    system = System(folder, 'ID=debian\nVERSION_ID="11"\n')
    equal(system.dev("build"), (1, "dev: Debian 11 is too old: 12 is the oldest that has the libraries\n"))


def takes_the_sanitizers_of_the_compiler(folder):
    system = System(folder, DEBIAN_12)
    system.has(*{row[0] for row in TABLE}, but=("sanitizers",))
    (system.folder / "known").write_text("gcc\nlibclang-rt-14-dev\nlibclang-rt-dev\n")
    system.dev("test")
    equal(system.installed(), [["libclang-rt-14-dev"]])


def names_them(os_release, column, command):
    def test(folder):
        system = System(folder, os_release)
        name = re.search('"(.*)"', os_release).group(1)
        equal(system.dev("build"), (1, f"dev: {name} lacks packages; as root run: {command} {' '.join(packages(column))}\n"))
        equal(system.log("apt-get"), [])
    return test


def says_what_apt_does_not_know(os_release, name):
    def test(folder):
        system = System(folder, os_release)
        system.has("build", but=("libuv", "yyjson", "libllhttp"))
        system.unknown_to_apt(*NEXT)
        equal(system.dev("build"), (1, f"dev: {name} lacks packages; as root run: apt-get install libuv1-dev; apt knows no "
                                       "libllhttp-dev libyyjson-dev: docs/building.md says what to do\n"))
        equal(system.log("apt-get"), [])
        assert not (system.tree / "build-deps").exists()
    return test


def blames_nothing_on_empty_lists(folder):
    system = System(folder, UBUNTU_26)
    system.has("build", but=("yyjson",))
    (system.folder / "known").write_text("")
    equal(system.dev("build"), (1, "dev: Ubuntu 26.04 LTS lacks packages; as root run: apt-get install libyyjson-dev\n"))


def builds_elsewhere_with_what_is_there(folder):
    system = System(folder, FEDORA, root=False, sudo=False)
    system.has("build")
    equal(system.dev("build"), (0, ""))


def sees_that_a_library_is_old(folder):
    system = System(folder, ALPINE)
    system.has("build")
    system.flag("old-libllhttp")
    equal(system.dev("build"), (1, "dev: Alpine Linux v3.23 lacks packages; as root run: apk add llhttp-dev\n"))


def names_libraries_where_it_knows_no_packages(os_release, name):
    def test(folder):
        system = System(folder, os_release)
        system.has("build", but=("libuv", "wslay/wslay.h"))
        equal(system.dev("build"), (1, f"dev: {name} is not known to ./dev; install with its package manager what docs/building.md lists: "
                                       "libuv wslay/wslay.h\n"))
    return test


def builds_beside_a_cache(place, disabled):
    """meson runs ccache before each compiler where it finds it, and ccache fails where it cannot write."""
    def test(folder):
        system = System(folder, FEDORA, root=False, sudo=False)
        system.has("build")
        system.flag("file")
        system.program(system.folder / "programs/ccache", f'echo "$HERE/{place}"')
        equal(system.dev("build"), (0, ""))
        equal((system.folder / "cache-disabled").read_text(), disabled)
    return test


def skips_what_it_cannot_have(folder):
    system = System(folder, ARCH)
    system.has("build", "clang", "glib")
    code, said = system.dev("test")
    for packages_of_one in ("etcd openssl", "musl", "valgrind"):
        assert f"skipped: what needs {packages_of_one}, which could not be installed\n" in said, (code, said)


def wants_nothing_that_the_system_is(folder):
    """On Alpine every gcc is one for musl."""
    system = System(folder, ALPINE)
    system.has("build", "clang", "glib", "etcd")
    said = system.dev("test")[1]
    assert "skipped: what needs valgrind," in said and "musl" not in said and "none" not in said, said


def wants_the_versions_of_the_build(folder):
    del folder
    build = (ROOT / "meson.build").read_text()
    for row in TABLE:
        if row[0] == "build" and row[1] == "library" and row[2] in build:
            found = re.search(rf"dependency\('{re.escape(row[2])}'(?:, version: '>=([\d.]+)')?", build)
            equal((row[2], row[3]), (row[2], found.group(1) or "-"))
    named = {name for name in re.findall(r"dependency\('([^']+)'", build)} - {"threads", "libwslay"}
    equal(named - {row[2] for row in TABLE}, set())


def is_documented(folder):
    """The commands of each system name every package of the table, first what builds it, then what tests and tools want."""
    del folder
    text = (ROOT / "docs/building.md").read_text()
    others = list(dict.fromkeys(row[0] for row in TABLE if row[0] != "build"))
    for column, command in COMMANDS.items():
        found = [line.removeprefix(command).split() for line in text.splitlines() if line.startswith(command)]
        equal(found, [packages(column), packages(column, *others)])


TESTS = [
    ("Debian 12 gets its packages, and two of the next release beside the system", installs_on(DEBIAN_12, True)),
    ("each verb finds what was unpacked", finds_what_was_unpacked_in_each_verb),
    ("Debian 13 gets its packages", installs_on(DEBIAN_13, False)),
    ("Debian sid gets its packages", installs_on(DEBIAN_SID, False)),
    ("what is there is not installed", installs_only_what_is_lacking),
    ("a user with sudo gets the packages", asks_sudo),
    ("a user without sudo is told what to install", says_what_to_install),
    ("a user whom sudo refuses is told what to install", says_so_when_sudo_refuses),
    ("without a network the mirror is named", says_so_without_a_network),
    ("apt's archive is asked for what Debian 12 lacks", asks_the_archive(
        "https://near/debian/", list="# deb http://old/debian bookworm main\ndeb-src http://src/debian bookworm main\n"
                                     "deb http://security/debian-security bookworm-security main\ndeb [trusted=yes] https://near/debian/ bookworm main\n",
        other="deb https://others/linux/debian bookworm stable\n")),
    ("apt's archive is found in the newer form", asks_the_archive(
        "http://near/debian", deb822="Types: deb\nURIs: http://others/debian\nSuites: bookworm\nComponents: stable\n\n"
                                      "Types: deb\n# URIs: http://old/debian\nURIs: http://near/debian\nSuites: bookworm\nComponents: contrib main\n")),
    ("without an archive nothing is asked", says_so_without_an_archive),
    ("a list of mirrors is left to apt", asks_the_archive(
        "mirror+file:///etc/apt/mirrors/debian.list", deb822="Types: deb\nURIs: mirror+file:///etc/apt/mirrors/debian.list\nSuites: bookworm\nComponents: main\n")),
    ("a path that pkg-config does not understand is named", says_which_path_pkg_config_does_not_understand),
    ("an old Debian is refused", refuses_an_old_debian),
    ("the sanitizers are of the compiler's release", takes_the_sanitizers_of_the_compiler),
    ("Ubuntu 24.04 is told of what it lacks, and no suite of Debian is asked", says_what_apt_does_not_know(UBUNTU_24, "Ubuntu 24.04.3 LTS")),
    ("Ubuntu 26.04 is told its packages", names_them(UBUNTU_26, "apt", "apt-get install")),
    ("a system like Ubuntu is told of what it lacks", says_what_apt_does_not_know(MINT, "Linux Mint 22")),
    ("apt without lists does not say what there is", blames_nothing_on_empty_lists),
    ("Fedora is told its packages", names_them(FEDORA, "dnf", "dnf install")),
    ("a system like Fedora is told its packages", names_them(ALMA, "dnf", "dnf install")),
    ("Arch is told its packages", names_them(ARCH, "pacman", "pacman -S --needed")),
    ("a system like Arch is told its packages", names_them(MANJARO, "pacman", "pacman -S --needed")),
    ("Alpine is told its packages", names_them(ALPINE, "apk", "apk add")),
    ("an unknown system is told the libraries", names_libraries_where_it_knows_no_packages(UNKNOWN, "Some Linux")),
    ("a system without os-release is told the libraries", names_libraries_where_it_knows_no_packages(None, "this system")),
    ("where all is there nothing is asked for", builds_elsewhere_with_what_is_there),
    ("a library that is too old is lacking", sees_that_a_library_is_old),
    ("a compiler's cache is used", builds_beside_a_cache("home/.cache/ccache", "\n")),
    ("a compiler's cache that cannot be written to is not used", builds_beside_a_cache("file/.cache/ccache", "1\n")),
    ("what only some tests need is skipped by name", skips_what_it_cannot_have),
    ("what the system itself is is not wanted", wants_nothing_that_the_system_is),
    ("the table has the versions of meson.build", wants_the_versions_of_the_build),
    ("docs/building.md has the packages of every group", is_documented),
]

print(f"1..{len(TESTS)}")
for n, (what, test) in enumerate(TESTS, 1):
    with tempfile.TemporaryDirectory() as place:
        try:
            test(place)
            print(f"ok {n} - {what}", flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            print(f"not ok {n} - {what}\n# " + str(error).replace("\n", "\n# "), flush=True)
