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

/* The newest revision that a writer was told. */
uint64_t writers_rev(const struct writers *w);

/* The last writes: every object is deleted and made again, so that the last event of every scope is
 * an ADDED. writers_are_done() when all answers have come. */
void writers_finish(struct writers *w);
bool writers_are_done(void *writers);

/* Every write that was acknowledged is in the history, and none that was refused. */
void writers_check(const struct writers *w, const struct history *h, struct verdict *verdict);

size_t writers_acknowledged(const struct writers *w);

void writers_free(struct writers *w);

#endif
