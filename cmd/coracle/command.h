/* The table of commands, and what is done with it: find, explain, run.
 * Thread: main. */
#ifndef COR_CMD_COMMAND_H
#define COR_CMD_COMMAND_H

#include <stddef.h>

#include "base/buf.h"
#include "flags.h"

/* Exit statuses, as the manual pages say. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define COMMAND_ARGS_MAX 256
/* Where serve and store look when no folder is named. */
#define DATA_DIR_DEFAULT "coracle-data"

struct command {
    const char *group;   /* "store" in `coracle store put`; NULL: none */
    const char *name;    /* "put" */
    const char *args;    /* "KEY [FILE]"; "" for none */
    const char *summary; /* one line, no full stop */
    const char *details; /* paragraphs for the help; NULL: none */
    const struct flag *flags;
    size_t nflags;
    size_t args_min, args_max; /* at most COMMAND_ARGS_MAX */
    const void *opts_default;  /* copied for each run; NULL when opts_size is 0 */
    size_t opts_size;
    int (*run)(const void *opts, const char *const *args, size_t nargs); /* exit status */
};

struct command_table {
    const struct command *const *rows;
    size_t nrows;
};

/* What to do about a failure, to be put behind its message: "; …" or "". */
const char *command_hint(int err);

/* Finds the command that `argv` begins with, reads its flags and runs it. Returns the exit status;
 * whatever is wrong with the words is said on stderr. */
int command_main(const struct command_table *table, int argc, char *const *argv);

/* Prints the help of one command (`store put`), of a group (`store`), or the list of all. Returns
 * the exit status. */
int command_help(const struct command_table *table, const char *const *words, size_t nwords);

#endif
