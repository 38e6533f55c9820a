/* A child process on a loop, whose standard output is gathered. Its end is seen by a pidfd, so
 * there is no signal handler and no use of SIGCHLD. Standard error is the parent's; standard input
 * is the parent's or empty. Owner: its opener.  Thread: the loop's. No function calls back before
 * it returns. */
#ifndef COR_LOOP_PROCESS_H
#define COR_LOOP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct cor_loop;
struct cor_process;

struct cor_process_end {
    /* 0: it ended by itself. -COR_ETIMEOUT: it was killed at the time limit. -COR_ETOOBIG: it was
     * killed because it wrote too much. -COR_EIO: its output could not be read. -COR_ENOMEM. */
    int r;
    int exit_code;         /* 128 + n: signal n ended it; -1: somebody else has waited for it */
    struct cor_str output; /* may be secret; wiped after the callback */
};

struct cor_process_opts {
    const char *command;     /* without a slash it is looked for in PATH */
    const char *const *argv; /* all three must end with NULL; nothing is kept */
    const char *const *envp;
    bool has_stdin; /* else it reads an end of file */
    size_t output_max;
    uint64_t timeout_ms;
    void (*on_end)(void *arg, const struct cor_process_end *end); /* the process is gone after it */
    void *arg;
};

/* 0, -COR_ENOTFOUND (no such command), -COR_EFORBIDDEN (it may not be run), -COR_EIO, -COR_ENOMEM.
 */
int cor_process_open(struct cor_loop *loop, const struct cor_process_opts *opts,
                     struct cor_process **ret_process);

/* Kills the process; on_end is not called any more. When it has ended, in a later turn, its memory
 * is freed and `on_closed` is called (it may be NULL). */
void cor_process_close(struct cor_process *p, void (*on_closed)(void *arg), void *arg);

#endif
