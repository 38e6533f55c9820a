/* Which of several processes may act: client-go's leader election on a Lease. There is no fencing:
 * after a pause of the process there may briefly be two leaders. A leader that could not renew its
 * lease in time stops being one and does not try again.
 * Owner: the maker.  Thread: any. */
#ifndef CORACLE_ELECTION_H
#define CORACLE_ELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/client.h"
#include "coracle/events.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_election;

#define COR_ELECTION_LABELS_MAX 16

struct cor_election_opts {
    size_t size;           /* of this struct: COR_ELECTION_OPTS sets it (coracle/api.h) */
    const char *ns, *name; /* of the Lease, which is made when it is missing */
    const struct cor_string_pair *labels; /* set on the Lease; its other labels stay */
    size_t nlabels;                       /* at most COR_ELECTION_LABELS_MAX */
    const char *identity;                 /* of this process; unique among the candidates */
    uint64_t lease_ms;                    /* 0: 15 s; whole seconds are written */
    uint64_t renew_ms;                    /* 0: 10 s; less than the lease */
    uint64_t retry_ms;                    /* 0: 2 s; renew is more than 1.2 times as long */
    bool release_on_cancel; /* releases the lease at the end, so that the next leader need not wait.
                               The guarded work must have ended by then */

    /* Records "became leader" and "stopped leading" as Events on the Lease; it must outlive the
     * election. NULL: they are not recorded. */
    struct cor_events *events;

    /* On the runtime's I/O thread or inside the pump: they must not block. */
    void (*on_started)(void *arg); /* this process leads */
    void (*on_stopped)(void *arg); /* called once when the election is over, even if it never led */
    void (*on_new_leader)(void *arg, const char *identity); /* also itself; may be NULL */
    /* A request for the Lease failed and will be retried: it was forbidden, the server was
     * unreachable, or another candidate was faster (-COR_ECONFLICT, -COR_EEXIST). May be NULL. */
    void (*on_error)(void *arg, const struct cor_status *error);
    void *arg;
};

#define COR_ELECTION_OPTS .size = sizeof(struct cor_election_opts)

/* Starts the election. `opts` and its texts are copied. 0, -COR_EINVAL (the message names the
 * option), -COR_ECANCELED (the client was stopped), -COR_ENOMEM. */
COR_API int cor_election_new(struct cor_client *client, const struct cor_election_opts *opts,
                             struct cor_election **ret_election, struct cor_status *reterr);

/* Stops the election and returns at once; on_stopped is called when it has stopped. A leader with
 * release_on_cancel gives the lease back first, for at most the renew time and the client's end_ms.
 * Calling this twice is allowed. */
COR_API void cor_election_cancel(struct cor_election *election);

/* Waits: cancels the election, and returns after on_stopped has returned. Not inside a callback
 * (coracle/runtime.h). Returns NULL; NULL is allowed. */
COR_API struct cor_election *cor_election_free(struct cor_election *election);

/* By the record last seen. */
COR_API bool cor_election_is_leader(const struct cor_election *election);

/* Writes the identity of the leader to `to`, truncated to `cap` bytes with its NUL; "" when there
 * is none, or when it is not known yet. Returns the length of the whole identity. */
COR_API size_t cor_election_leader(struct cor_election *election, char *to, size_t cap);

/* For a health check: the last record seen names this process, which has not renewed it for
 * lease_ms plus `tolerance_ms`. This also holds when the election is over and the lease was not
 * released. Never true for a process that did not lead. */
COR_API bool cor_election_is_stale(struct cor_election *election, uint64_t tolerance_ms);

#ifdef __cplusplus
}
#endif

#endif
