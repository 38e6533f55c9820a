/* Reads an object, has it changed, and writes it; again from the start when another writer was
 * faster: client-go's RetryOnConflict around get and update.
 * Owner: the REST client that it runs on.  Thread: that one's loop. No function calls back before
 * it returns. */
#ifndef COR_CLIENT_RETRY_ON_CONFLICT_H
#define COR_CLIENT_RETRY_ON_CONFLICT_H

#include "base/backoff.h"
#include "client/dynamic/dynamic_client.h"

/* Several writers of one object: 5 tries, 10 ms apart. */
extern const struct cor_backoff_opts COR_RETRY_DEFAULT;
/* Writers that are in each other's way: 4 tries, after 10, 50 and 250 ms. */
extern const struct cor_backoff_opts COR_RETRY_BACKOFF;

struct cor_conflict_retry;

struct cor_conflict_retry_opts {
    struct cor_rest_client *client;
    struct cor_resource_path at; /* of the object; copied. The subresource is only written to */
    struct cor_backoff_opts backoff;
    struct cor_rand *rand;          /* must stay valid */
    struct cor_write_options write; /* copied */
    uint64_t timeout_ms;            /* of all of it; 0: the REST client's, of each request */
    /* Makes the object to write of the present one, with its resourceVersion. A new reference;
     * `current` itself: nothing is to be changed, and all is done. A failure ends it. Called anew
     * for each try. */
    int (*change)(void *arg, struct cor_object *current, struct cor_object **ret_object,
                  struct cor_status *reterr);
    /* The object as it is then, borrowed; or the error, which is the last conflict when no try is
     * left. */
    void (*on_done)(void *arg, struct cor_object *object, const struct cor_status *error);
    void *arg;
};

/* 0, or as cor_dynamic_get(). */
int cor_conflict_retry_open(const struct cor_conflict_retry_opts *opts,
                            struct cor_conflict_retry **ret_retry, struct cor_status *reterr);

/* No callback after this, and it is gone. Not from inside its callbacks. */
void cor_conflict_retry_cancel(struct cor_conflict_retry *retry);

#endif
