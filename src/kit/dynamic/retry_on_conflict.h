/* Gets an object, lets the program change it, and updates it; starts again when another writer was
 * faster: client-go's RetryOnConflict around get and update.
 * Owner: the REST client that it runs on.  Thread: that one's loop. No function calls back before
 * it returns. */
#ifndef COR_KIT_RETRY_ON_CONFLICT_H
#define COR_KIT_RETRY_ON_CONFLICT_H

#include "base/backoff.h"
#include "kit/dynamic/dynamic_client.h"

/* Several writers of one object: 5 tries, 10 ms apart. */
extern const struct cor_backoff_opts COR_RETRY_DEFAULT;
/* Writers that conflict often: 4 tries, after 10, 50 and 250 ms. */
extern const struct cor_backoff_opts COR_RETRY_BACKOFF;

struct cor_conflict_retry;

struct cor_conflict_retry_opts {
    struct cor_rest_client *client;
    struct cor_resource_path at; /* of the object; copied. The subresource is only written to */
    struct cor_backoff_opts backoff;
    struct cor_rand *rand;          /* must stay valid */
    struct cor_write_options write; /* copied */
    uint64_t timeout_ms;            /* of all of it; 0: the REST client's, of each request */
    /* Makes the object to write from the current one, whose resourceVersion it keeps: a new
     * reference, or `current` itself when nothing is to be changed, which ends the retry with
     * success. A failure ends the retry. Called for each try. */
    int (*change)(void *arg, struct cor_object *current, struct cor_object **ret_object,
                  struct cor_status *reterr);
    /* The object as it is after the update, borrowed; or the error, which is the last conflict when
     * no try is left. */
    void (*on_done)(void *arg, struct cor_object *object, const struct cor_status *error);
    void *arg;
};

/* 0, or as cor_dynamic_send(). */
int cor_conflict_retry_open(const struct cor_conflict_retry_opts *opts,
                            struct cor_conflict_retry **ret_retry, struct cor_status *reterr);

/* As cor_rest_request_failure(), of the request that is under way. */
const char *cor_conflict_retry_failure(const struct cor_conflict_retry *retry);

/* Ends the retry without a callback, and frees it. Not inside its callbacks. */
void cor_conflict_retry_cancel(struct cor_conflict_retry *retry);

#endif
