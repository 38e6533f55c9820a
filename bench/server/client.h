/* The benchmark's side of the connections: one loop, run by the thread that calls, with any number
 * of HTTP/1.1 connections on it. Failures that a benchmark cannot go on with end the program.
 * Thread: one.  Owner: whoever opened it. */
#ifndef COR_BENCH_CLIENT_H
#define COR_BENCH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct client;
struct conn;

struct client *client_open(void);
void client_close(struct client *client);

/* Runs the loop until `done`; false after `ms`. */
bool client_run(struct client *client, bool (*done)(void *arg), void *arg, uint64_t ms);

/* All may be NULL. */
struct conn_cbs {
    void (*on_open)(void *arg);
    void (*on_head)(int status, void *arg);
    void (*on_body)(struct cor_str piece, void *arg);
    void (*on_response)(int status, void *arg); /* the response is whole */
    void (*on_lost)(int why, void *arg);        /* NULL: the program ends */
};

/* To 127.0.0.1. `cbs` must stay valid. */
struct conn *conn_open(struct client *client, uint16_t port, bool is_plain,
                       const struct conn_cbs *cbs, void *arg);
void conn_close(struct conn *conn);

/* The text of a whole request. One at a time. */
void conn_send(struct conn *conn, struct cor_str request);

#endif
