/* Clients that watch: each selects something, starts in every way there is, also from revisions of
 * long ago, goes away and comes back, reads slowly, and keeps what it saw. One that went away by
 * itself, or lost its connection, cannot know whether it saw all of its last revision, and resumes
 * before it; one whose stream the server ended has seen all of it. Whoever is refused (429) for a
 * minute, however often it asks, fails the test. The first one sees everything
 * and never starts anew: what it saw is the history that the others are compared with. Thread: the
 * loop's.  Owner: the test. */
#ifndef COR_TEST_WATCHERS_H
#define COR_TEST_WATCHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "history.h"

struct cor_loop;
struct http_client;
struct watchers;
struct writers;

struct watchers *watchers_start(struct cor_loop *loop, struct http_client *client, size_t n,
                                uint64_t seed, struct verdict *verdict);

/* The history has begun: from now on there may be writes. */
bool watchers_have_begun(void *watchers);

/* Whose acknowledgements a start must not be older than; until then there are none. */
void watchers_heed(struct watchers *w, const struct writers *writers);

/* The store forgets all before `rev`, which is not above watchers_history()'s `whole`: only who
 * asks for less may be told 410, unless the caches are so small that they forget by themselves. */
void watchers_compacting(struct watchers *w, uint64_t rev);
void watchers_allow_410(struct watchers *w);

/* The server begins anew, with empty windows: half of the watchers come back from long ago. */
void watchers_restarted(struct watchers *w);

const struct history *watchers_history(const struct watchers *w);

/* No more going away. The history is complete at `final_rev`; watchers_are_done() when each has
 * seen its last event of it. */
void watchers_settle(struct watchers *w, uint64_t final_rev);
bool watchers_are_done(void *watchers);

/* Says who is not, and what it waits for. */
void watchers_blame(const struct watchers *w);

/* Compares what is left to compare, and each watcher's last state with a list at its revision. Runs
 * the loop. */
void watchers_check(struct watchers *w);

struct watchers_totals {
    size_t events, segments, resumes, bookmarks, lists;
    size_t relists;      /* because the server said 410, to a watch or to the last list */
    size_t olds;         /* starts at a revision of long ago */
    size_t refusals;     /* answers with 429: they came again at once */
    uint64_t longest_ms; /* that one of them was given nothing */
};
struct watchers_totals watchers_totals(const struct watchers *w);

void watchers_free(struct watchers *w);

#endif
