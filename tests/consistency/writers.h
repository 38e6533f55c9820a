/* Clients that write without pause, and the notes they keep of what they were told.
 * Thread: the loop's.  Owner: the test. */
#ifndef COR_TEST_WRITERS_H
#define COR_TEST_WRITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "history.h"

struct cor_loop;
struct http_client;
struct writers;

struct writers *writers_start(struct cor_loop *loop, struct http_client *client, size_t n,
                              uint64_t seed, struct verdict *verdict);

/* Nobody writes while the history is more than `lag_max` revisions behind: caches that hold little
 * then still hold what the history's watcher has not seen, however slow the machine is. None is
 * large then. */
void writers_follow(struct writers *w, const struct history *history, uint64_t lag_max);
bool writers_must_wait(const struct writers *w);

/* The newest revision that a writer was told. */
uint64_t writers_rev(const struct writers *w);

/* The last writes: every object is deleted and made again, so that the last event of every scope is
 * an ADDED. writers_are_done() when all answers have come. */
void writers_finish(struct writers *w);
bool writers_are_done(void *writers);

/* Every write that was acknowledged is in the history, and none that was refused. */
void writers_check(const struct writers *w, const struct history *h, struct verdict *verdict);

/* What somebody writes past the servers: the token of a pod that is to be written, and when it was,
 * the revision that the store told. */
uint32_t writers_note_outside(struct writers *w, unsigned key);
void writers_done_outside(struct writers *w, uint32_t token, uint64_t rev);

size_t writers_acknowledged(const struct writers *w);

void writers_free(struct writers *w);

#endif
