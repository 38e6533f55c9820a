/* Somebody who writes into etcd past the servers, many keys in one revision: transactions that put
 * pods, and deletions of ranges of them.
 * Thread: the loop's; a request blocks it, for as long as a local etcd needs.  Owner: the test. */
#ifndef COR_TEST_OUTSIDER_H
#define COR_TEST_OUTSIDER_H

#include <stddef.h>
#include <stdint.h>

#include "history.h"

struct cor_loop;
struct outsider;
struct writers;

/* Of the etcd in $COR_ETCD_URLS. NULL: there is none, or it asks for more than an address. */
struct outsider *outsider_start(struct cor_loop *loop, struct writers *writers, uint64_t seed,
                                struct verdict *verdict);

/* Compacts without telling the servers, as etcdctl does. */
void outsider_compact(struct outsider *o, uint64_t rev);

/* Writes nothing more. NULL is fine. */
void outsider_stop(struct outsider *o);
/* How many revisions it has written. NULL is fine. */
size_t outsider_written(const struct outsider *o);
void outsider_free(struct outsider *o);

#endif
