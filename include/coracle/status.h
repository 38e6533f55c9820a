/* What a server, or the library in its place, says about a failure: Kubernetes' Status object.
 * Functions that can fill one take `struct cor_status *reterr`, which may be NULL; it is written on
 * failure only, and what it held before is released then, so that one does for call after call.
 *
 *   struct cor_status why;
 *
 *   cor_status_init(&why);
 *   if (cor_object_from_json(json, &object, &why) < 0)
 *       puts(cor_status_message(&why));
 *   cor_status_deinit(&why);
 *
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef CORACLE_STATUS_H
#define CORACLE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One entry of details.causes; on the wire the type stands under "reason". NULL: absent. */
struct cor_status_cause {
    char *type;
    char *message;
    char *field;
};

/* At most this many causes are kept; upstream cuts nothing, a client reads a handful. */
#define COR_STATUS_CAUSES_MAX 100
/* A longer message is cut here. */
#define COR_STATUS_MESSAGE_MAX (64u * 1024)

/* For reading; what it points at is its own. */
struct cor_status {
    int err;            /* negative COR_E…; 0: nothing was filled */
    int code;           /* HTTP status: the server's, or that of `err` when the library refused a
                           request before it was sent; 0: it was sent, and nobody answered */
    const char *reason; /* a static text; "" when Kubernetes has none */
    char *message;      /* NULL: out of memory; cor_status_message() has the table's text then */
    char *name, *group, *kind, *uid; /* details; NULL when absent */
    struct cor_status_cause *causes;
    size_t ncauses;
    int64_t retry_after_s; /* details.retryAfterSeconds; absent unless positive */
    bool has_details;      /* `details` appears even when empty */
    char *continue_token;  /* metadata.continue; NULL when absent */
};

COR_API void cor_status_init(struct cor_status *st);

/* Safe on a zeroed struct; leaves it initialised. */
COR_API void cor_status_deinit(struct cor_status *st);

/* Moves `from` into `to`, whose old content is released; `from` is left initialised. */
COR_API void cor_status_move(struct cor_status *to, struct cor_status *from);

/* 0, or -COR_ENOMEM (`to` then still has err, code and reason). */
COR_API int cor_status_copy(struct cor_status *to, const struct cor_status *from);

/* Never NULL; the status's own, until it changes. */
COR_API const char *cor_status_message(const struct cor_status *st);

#ifdef __cplusplus
}
#endif

#endif
