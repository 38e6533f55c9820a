/* The deletion of all objects of one resource in a namespace that is being deleted: how long its
 * pods may take, the deletion, and the count of what remains.
 * Thread: the port's loop.  Owner: whoever embeds it (namespace_pass.c). */
#ifndef COR_SERVER_CONTROLLERS_NAMESPACE_NAMESPACE_CONTENT_H
#define COR_SERVER_CONTROLLERS_NAMESPACE_NAMESPACE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "kit/api_port.h"
#include "kit/api_resources.h"
#include "server/controllers/namespace/namespace_findings.h"

/* How long content with finalizers is expected to stay. */
#define COR_NAMESPACE_FINALIZER_S 15
/* The names of objects that are deleted one by one, together. */
#define COR_NAMESPACE_NAMES_MAX (256u << 20)

struct cor_namespace_content {
    /* Set by the owner, zeroed before. The strings must stay valid until the end. */
    struct cor_api_port *port;
    const struct cor_clock *clock;
    const struct cor_port_resource *resource; /* NULL: the struct is not in use */
    struct cor_str ns;
    int64_t deleted_at_s; /* the namespace's deletionTimestamp */
    size_t place;         /* this and `arg` are for the owner alone */
    void *arg;
    void (*on_done)(struct cor_namespace_content *c);

    /* The result, for on_done. With an error the others may be set, too. */
    struct cor_status error; /* err 0: there is none */
    int64_t estimate_s;      /* until the objects that remain are expected to be gone; 0: unknown */
    size_t nremaining;
    struct cor_finalizer_counts finalizers; /* of the objects that remain */

    /* Private. */
    struct cor_api_request request;
    enum {
        CONTENT_IDLE,
        CONTENT_ESTIMATE,
        CONTENT_DELETE,
        CONTENT_LIST,
        CONTENT_DELETE_EACH,
        CONTENT_VERIFY
    } step;
    struct cor_buf names; /* of DELETE_EACH: each with its NUL */
    size_t next_name;     /* an offset in `names` */
};

/* Has the resource a verb by which its objects are found? Objects of others cannot be deleted. */
bool cor_namespace_content_can_delete(const struct cor_port_resource *resource);

/* Begins with a resource that can be deleted; on_done is called in a later turn, unless the work is
 * ended before. Cannot fail. */
void cor_namespace_content_start(struct cor_namespace_content *c);

/* Is this the resource whose objects take time to end, and which is deleted before all others? */
bool cor_namespace_content_is_pods(const struct cor_port_resource *resource);

/* Cancels the request under way, if there is one, and frees what the struct has; `resource` is NULL
 * afterwards. */
void cor_namespace_content_end(struct cor_namespace_content *c);

#endif
