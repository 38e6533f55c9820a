# shellcheck shell=sh
# Read by the scripts of this folder that print commands for their reader to type.

# typed WORD: as a shell wants it, in quotes if it needs them.
typed() {
    case $1 in
    '' | *[!A-Za-z0-9_./:=@%+,-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s' "$1" ;;
    esac
}
