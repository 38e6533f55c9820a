/* The description of a failure: Kubernetes' Status object, as a server sent it or as the library
 * made it. Functions that describe their failures take `struct cor_status *reterr`, which may be
 * NULL. They write it on failure only, and release its former content then, so that one struct can
 * be used for one call after the other.
 *
 *   struct cor_status why;
 *
 *   cor_status_init(&why);
 *   if (cor_object_from_json(json, &object, &why) < 0)
 *       puts(cor_status_message(&why));
 *   cor_status_deinit(&why);
 *
 * Owner: the program that embeds it.  Thread: one at a time. */
#ifndef CORACLE_STATUS_H
#define CORACLE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An entry of details.causes. `type` is the member "reason" in JSON. A member that is absent is
 * NULL. */
struct cor_status_cause {
    char *type;
    char *message;
    char *field;
};

/* At most so many causes are kept; Kubernetes itself has no limit. */
#define COR_STATUS_CAUSES_MAX 100
/* The bytes of a message; a longer one is truncated. */
#define COR_STATUS_MESSAGE_MAX (64u * 1024)

/* Programs read the members; the struct owns what they point to. */
struct cor_status {
    int err;            /* negative COR_E…; 0: nothing was filled */
    int code;           /* the server's HTTP status; when the library refused a request before it
                           was sent, the status that belongs to `err`; 0 when a request was sent and
                           no server answered */
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

/* The message, or the text of `err` when there was no memory for the message. Never NULL; valid
 * until the status changes. */
COR_API const char *cor_status_message(const struct cor_status *st);

#ifdef __cplusplus
}
#endif

#endif
