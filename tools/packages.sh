# shellcheck shell=sh
# What ./dev needs of the system: installs what is lacking on Debian, and names it elsewhere. ./dev reads this file; it has set
# ROOT, say() and die(). Which program or library is in which package is data, in packages.txt.

DEPS="$ROOT/build-deps"
# How the system calls itself (os-release(5)), and where apt has its sources. The variables name others; the tests plant theirs.
OS_RELEASE=${COR_OS_RELEASE:-/etc/os-release}
APT=${COR_APT:-/etc/apt}
# Debian 12 lacks these: they are unpacked from the next release, and the system stays as it is.
PKGS_NEXT="libyyjson-dev libyyjson0 libllhttp-dev libllhttp9.2"
NEXT_SUITE=trixie
OLDEST_DEBIAN=12

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# os_field NAME: what the system says of itself, or nothing. The file is a shell's assignments, by its specification.
os_field() {
    [ -r "$OS_RELEASE" ] || return 0
    # shellcheck disable=SC1090
    (. "$OS_RELEASE" && eval "printf '%s' \"\${$1:-}\"") 2>/dev/null || true
}

is_debian() { [ "$(os_field ID)" = debian ] && command -v apt-get >/dev/null 2>&1; }

# The column of the table for this system, or nothing: its ID, or the first of those that it says it is like.
package_manager() {
    for id in $(os_field ID) $(os_field ID_LIKE); do
        case $id in
        debian | ubuntu) echo apt && return ;;
        fedora) echo dnf && return ;;
        arch) echo pacman && return ;;
        alpine) echo apk && return ;;
        esac
    done
}

# rows GROUP: kind, name, version and package of each. Where the system is unknown the name stands for the package.
rows() {
    awk -v group="$1" -v column="$(package_manager)" '
        /^# group/ { for (i = 2; i <= NF; i++) at[$i] = i - 1 }
        !/^#/ && $1 == group && !(column in at && $at[column] == "none") {
            print $2, $3, $4, (column in at ? $at[column] : $3)
        }' "$ROOT/tools/packages.txt"
}

# is_there KIND NAME VERSION
is_there() {
    case $1 in
    program) command -v "$2" ;;
    library) if [ "$3" = - ]; then pkg-config --exists "$2"; else pkg-config --exists "$2 >= $3"; fi ;;
    header) echo "#include <$2>" | gcc -E - ;;
    # Which folder they are in differs between releases of clang; -print-runtime-dir may name one that is not there.
    runtime) echo 'int main(void) { return 0; }' | clang -fsanitize=address,undefined -x c -o /dev/null - ;;
    esac >/dev/null 2>&1
}

# lacking GROUP..: the packages of what is not there, each once, in one line.
lacking() {
    for group in "$@"; do
        rows "$group" | while read -r kind name version package; do
            is_there "$kind" "$name" "$version" || echo "$package"
        done
    done | awk '!seen[$0]++ { printf "%s%s", separator, $0; separator = " " }'
}

# The sanitizers of a clang that is there already must be of its own release.
named_by_clang() {
    major=$(clang -dumpversion 2>/dev/null | cut -d. -f1)
    for package in "$@"; do
        if [ "$package" = libclang-rt-dev ] && apt-cache show "libclang-rt-$major-dev" >/dev/null 2>&1; then
            package=libclang-rt-$major-dev
        fi
        printf ' %s' "$package"
    done
}

# need GROUP..: installs what is lacking of these groups, or ends and says what to install.
need() {
    missing=$(lacking "$@")
    [ -n "$missing" ] || return 0
    is_debian || die "$(elsewhere "$missing")"
    # shellcheck disable=SC2086
    install_on_debian $missing
    missing=$(lacking "$@")
    [ -z "$missing" ] || die "what these packages have is not found, although they are installed: $missing"
}

# want GROUP: for what only some tests need, which are skipped without it. What cannot be had is named, and is no failure.
want() {
    (need "$1") || say "skipped: what needs $(lacking "$1"), which could not be installed"
}

install_on_debian() {
    release=$(os_field VERSION_ID)
    # Testing and unstable have no number.
    release=${release:-$((OLDEST_DEBIAN + 1))}
    [ "${release%%.*}" -ge "$OLDEST_DEBIAN" ] || die "Debian $release is too old: $OLDEST_DEBIAN is the oldest that has the libraries"
    packages="" next=""
    for package in "$@"; do
        case "$release:$package" in
        "$OLDEST_DEBIAN:libyyjson-dev" | "$OLDEST_DEBIAN:libllhttp-dev") next=yes ;;
        *) packages="$packages $package" ;;
        esac
    done
    # shellcheck disable=SC2086
    [ -z "$packages" ] || apt_install $(named_by_clang $packages)
    [ -z "$next" ] || unpack_next
}

apt_install() {
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null 2>&1 || die "packages are lacking; as root run: apt-get install $*"
    say "installing: $*"
    # One source that does not answer need not be the one that is asked.
    as_root apt-get update -qq || say "apt-get update failed; trying with what apt knows"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
        die "apt-get could not install them; as root run: apt-get install $*"
    case " $* " in
    *" etcd-server "*)
        # The tests start members of their own.
        [ ! -d /run/systemd/system ] || say "etcd-server also starts a service, which is not needed here: systemctl disable --now etcd"
        ;;
    esac
}

# What to tell the user of a system on which nothing is installed for him.
elsewhere() {
    name=$(os_field PRETTY_NAME)
    case $(package_manager) in
    apt) command="apt-get install" ;;
    dnf) command="dnf install" ;;
    pacman) command="pacman -S --needed" ;;
    apk) command="apk add" ;;
    *)
        echo "${name:-this system} is not known to ./dev; install with its package manager what docs/building.md lists: $1"
        return
        ;;
    esac
    available="" nowhere=""
    for package in $1; do
        if [ "$command" = "apt-get install" ] && ! known_to_apt "$package"; then
            nowhere="$nowhere $package"
        else
            available="$available $package"
        fi
    done
    text="$name lacks packages"
    [ -z "$available" ] || text="$text; as root run: $command$available"
    [ -z "$nowhere" ] || text="$text; apt knows no$nowhere: docs/building.md says what to do"
    echo "$text"
}

# An apt that knows not even gcc has no lists yet: then nothing can be said of the others.
known_to_apt() { apt-cache show "$1" >/dev/null 2>&1 || ! apt-cache show gcc >/dev/null 2>&1; }

# The archive that apt already uses: one that has main, as Debian's have and those of others' packages for Debian have not. Security
# updates have an archive without other suites. Cloud images have a list of mirrors in its place, which apt reads. Nothing: there is none.
debian_mirror() {
    {
        cat "$APT"/sources.list "$APT"/sources.list.d/*.list 2>/dev/null | grep '^deb .* main' || true
        cat "$APT"/sources.list.d/*.sources 2>/dev/null |
            awk -v RS= '/(^|\n)Components:[^\n]* main/ && !/(^|\n)Enabled: *no/ { gsub(/(^|\n)#[^\n]*/, ""); print }'
    } | awk '
        { for (i = 1; i <= NF; i++) if (!found && $i ~ /^(https?:.*\/debian\/?|mirror\+file:.*\/debian\.list)$/) found = $i }
        END { print found }'
}

# pkg-config gives no flags for packages in such a place, and says that all is well.
check_path() {
    case $DEPS in
    *[\'\"\\:]*) die "pkg-config does not understand the path of this clone, which has a quote, a colon or a backslash; move the clone" ;;
    esac
}

# Unpacks PKGS_NEXT into build-deps/, as any user.
unpack_next() {
    check_path
    [ -n "$(debian_mirror)" ] ||
        die "apt's sources name no archive of Debian to ask for $PKGS_NEXT; install yyjson and llhttp by hand (docs/building.md)"
    say "unpacking $PKGS_NEXT from $NEXT_SUITE into build-deps/"
    rm -rf "$DEPS"
    mkdir -p "$DEPS/apt/lists/partial" "$DEPS/apt/deb" "$DEPS/root"
    echo "deb $(debian_mirror) $NEXT_SUITE main" >"$DEPS/apt/next.list"
    set -- -qq -o Dir::Etc::sourcelist="$DEPS/apt/next.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$DEPS/apt/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o APT::Sandbox::User=root -o Acquire::Languages=none
    # shellcheck disable=SC2086
    (apt-get "$@" update && cd "$DEPS/apt/deb" && apt-get "$@" download $PKGS_NEXT) ||
        die "$(debian_mirror) did not give these packages; try again, or install yyjson and llhttp by hand (docs/building.md)"
    for deb in "$DEPS"/apt/deb/*.deb; do dpkg -x "$deb" "$DEPS/root"; done
    rm -rf "$DEPS/apt"
    triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -dumpmachine)
    # They say where they are by their own place: the clone may move, and its path may have spaces, which pkg-config then quotes.
    # shellcheck disable=SC2016
    for pc in "$DEPS/root/usr/lib/$triplet/pkgconfig"/*.pc; do
        sed -i 's#^prefix=.*#prefix=${pcfiledir}/../../..#; s#=/usr/#=${prefix}/#' "$pc"
    done
    echo "root/usr/lib/$triplet" >"$DEPS/.done"
    use_next
}

# Lets pkg-config find what was unpacked.
use_next() {
    [ -f "$DEPS/.done" ] || return 0
    check_path
    lib=$(cat "$DEPS/.done")
    # An absolute path is of an earlier form, and of the place where the clone was then.
    case $lib in
    /*) ;;
    *) lib=$DEPS/$lib ;;
    esac
    PKG_CONFIG_PATH="$lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
    export PKG_CONFIG_PATH
}
