/* Inside server/api/: what the API and the loops' parts of it keep for themselves. */
#ifndef COR_SERVER_API_INT_H
#define COR_SERVER_API_INT_H

#include "base/cleanup.h"
#include "loop/mailbox.h"
#include "server/api/api_loop.h"
#include "server/api/held.h"
#include "server/api/publisher.h"
#include "server/docs/kept_docs.h"
#include "server/shared/variants.h"

struct cor_loop_part {
    struct cor_api_loop loop;               /* what all rooms see */
    _Atomic uint64_t served_generation;     /* of `loop.served`, for other threads */
    _Atomic(struct cor_served *) published; /* replaces it with the next mail; NULL: nothing */
    struct cor_mail served_mail;            /* is under way while `published` is not NULL */
    struct cor_dlist served_followers;      /* struct cor_served_follower */
    struct cor_backing **backings;          /* by cor_row_place(); NULL: not used yet */
    size_t nbackings;
    struct cor_variants variants;
    struct cor_dlist event_jobs;        /* what event_maker.h makes */
    struct cor_turn_share events_given; /* of that, to watches */
    struct cor_held_loop held;
    struct cor_kept_docs_loop kept_docs;
    struct cor_dlist openapi_jobs; /* documents that are being made (openapi_reply.h) */
};

struct cor_api {
    struct cor_api_settings settings;
    struct cor_api_shared shared;
    char *address;                   /* "host:port", for /api; NULL: not known */
    _Atomic uint64_t *decode_errors; /* by the place of a built-in resource: values that could not
                                      * be decoded */
    struct cor_held_account held;
    struct cor_kept_docs kept_docs; /* OpenAPI */
    struct cor_publisher publisher;
    size_t nloops;
    struct cor_loop_part parts[];
};

static inline struct cor_loop_part *cor_loop_part(struct cor_api_loop *loop)
{
    return COR_CONTAINER_OF(loop, struct cor_loop_part, loop);
}

/* Makes a store of `resource` for a loop, with all that the stores of a resource have in common:
 * prefix, encryption, metrics. `ret_prefix` is the resource's prefix, which the store borrows; it
 * is set up in any case, and the caller frees it after the store. 0, -COR_ENOMEM. */
int cor_api_store_new(struct cor_api *api, const struct cor_resource_row *resource,
                      struct cor_loop *loop, struct cor_buf *ret_prefix,
                      struct cor_store **ret_store, struct cor_status *reterr_status);

/* Ends the watches of custom resources that are retired in this generation; what is stored by their
 * backings is freed with their last calls. */
void cor_api_retire_backings(struct cor_api_loop *loop, uint64_t generation);
void cor_api_free_backings(struct cor_api_loop *loop); /* all; no call may hold one */

#endif
