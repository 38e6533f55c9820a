/* Command-line flags: `--name value`, `--name=value`, `--switch`, `-x value`; `--` ends them. A
 * table of rows says what a command takes, and is also its help text. Thread: main. */
#ifndef COR_CMD_FLAGS_H
#define COR_CMD_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum flag_kind {
    FLAG_SWITCH,   /* bool; also --name=true and --name=false */
    FLAG_TEXT,     /* const char * */
    FLAG_CHOICE,   /* const char *, one of `value`'s words, which are separated by | */
    FLAG_NUMBER,   /* uint64_t from `min` to `max` */
    FLAG_DURATION, /* uint64_t, milliseconds; given as Go does: 90s, 1m30s, 0 */
};

struct flag {
    const char *name; /* without dashes */
    char letter;      /* '\0': none */
    enum flag_kind kind;
    size_t at;         /* where the value goes in the command's options struct */
    const char *value; /* what the help calls it; NULL for a switch */
    const char *help;  /* a % stands for the default */
    uint64_t min, max; /* FLAG_NUMBER; max 0: INT64_MAX */
    bool required;
};

/* Reads `argv`, writes values into `opts` (texts are borrowed from argv), and collects what is not
 * a flag into `args`. A flag that stands twice: the last counts. 0; -COR_EINVAL with a line in
 * `reterr_message` that names the flag and what was expected; -COR_ECANCELED: --help or -h was met.
 * `args_max` of args is checked by the caller: at most that many are stored, all are counted. */
int flags_parse(const struct flag *flags, size_t nflags, int argc, char *const *argv, void *opts,
                const char **args, size_t args_max, size_t *ret_nargs,
                struct cor_buf *reterr_message);

/* One line per flag, aligned. `defaults` is the command's options before flags are read; NULL when
 * no help shows one. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int flags_help(const struct flag *flags, size_t nflags, const void *defaults, struct cor_buf *out);

/* The word of `words` that begins with `word`, or that a slip of the finger turns into it; or NULL.
 */
const char *flags_nearest(const char *word, const char *const *words, size_t nwords);

#endif
