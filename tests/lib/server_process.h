/* A server in a process of its own, which dies with this one, is killed and started again.
 * Thread: one.  Owner: whoever embeds it. */
#ifndef COR_TEST_SERVER_PROCESS_H
#define COR_TEST_SERVER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct server_process {
    const char *program;
    const char *flags; /* separated by spaces */
    const char *data;
    pid_t pid; /* 0: not running */
    uint16_t port;
    int port_fd; /* holds the port; 0: none yet */
    struct cor_buf token;
    struct cor_buf ca;
};

/* Starts it on a free port, the next time on the same; returns when it is ready. False: it did not
 * start. */
bool server_process_start(struct server_process *sp);

/* kill -9; returns when it is gone. */
void server_process_kill(struct server_process *sp);

/* Asks it to end; server_process_has_ended() says when it has, and whether with success. */
void server_process_ask(struct server_process *sp);
bool server_process_has_ended(struct server_process *sp, bool *ret_is_clean);

void server_process_deinit(struct server_process *sp);

#endif
