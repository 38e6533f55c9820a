/* clang-format off */
/* Makes one object as it should be, through an API port: reads it, has the owner compare it, and
 * creates, patches or removes it. After a write that came too late, because another writer was
 * faster, the object is read again.
 *
 *   cor_ensure_start ──► GET ──► judge(found, or NULL) ──► RIGHT ────────────────────────────────► on_done
 *                         ▲                            ──► WRITE: POST body, or merge PATCH body ──┤
 *                         │                            ──► REMOVE: DELETE ────────────────────────┤
 *                         └── 409, or 404 of a PATCH: from the store, COR_ENSURE_TRIES at most ◄──┘
 *
 * A patch that must not overwrite what was not judged has the resourceVersion of `found`.
 * Owner: whoever embeds it, zeroed before cor_ensure_init().  Thread: that of the port. */
/* clang-format on */
#ifndef COR_KIT_ENSURE_H
#define COR_KIT_ENSURE_H

#include "base/buf.h"
#include "kit/api_port.h"

#define COR_ENSURE_TRIES 3 /* after the first one */

struct cor_ensure;

enum cor_ensure_verdict {
    COR_ENSURE_RIGHT = 0, /* the object is as it should be, or should not be there and is not */
    COR_ENSURE_WRITE,     /* `body` is the object, or the merge patch for the one that was found */
    COR_ENSURE_REMOVE,    /* the object that was found has to go */
};

struct cor_ensure_ops {
    /* Looks at the object (NULL: there is none), and fills the body, which is empty. A verdict, or
     * a negative COR_E…, which is the end. */
    int (*judge)(struct cor_ensure *e, const struct cor_object *found);
    /* The end, in a later turn than the start: 0, or the error. `why` is NULL after a success and
     * after a failure of `judge`. It may start the next one. */
    void (*on_done)(struct cor_ensure *e, int err, const struct cor_status *why);
};

struct cor_ensure {
    struct cor_api_port *port;
    const struct cor_ensure_ops *ops;
    struct cor_buf body;
    struct cor_api_request req;
    enum { COR_ENSURE_READS, COR_ENSURE_CREATES, COR_ENSURE_CHANGES, COR_ENSURE_REMOVES } step;
    unsigned late; /* writes that came too late */
};

/* Port and ops must stay valid; `timeout_ms` is that of each request. Cannot fail. */
void cor_ensure_init(struct cor_ensure *e, struct cor_api_port *port,
                     const struct cor_ensure_ops *ops, size_t body_max, uint64_t timeout_ms);
/* Nothing is under way. */
void cor_ensure_deinit(struct cor_ensure *e);

/* `at` names the object; its texts must stay valid until the end. The first look is at
 * `resource_version`, as in GetOptions ("0": from a cache). None may be under way. */
void cor_ensure_start(struct cor_ensure *e, const struct cor_resource_path *at,
                      struct cor_str resource_version);

/* Ends what is under way, without on_done. */
void cor_ensure_cancel(struct cor_ensure *e);

#endif
