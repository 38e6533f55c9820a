/* What the files of the garbage collector share: the collector itself, and an attempt.
 *
 * An attempt is one item of a queue under way. It sends one request at a time; `on_answer` is what
 * happens with the answer. It ends with one of the cor_gc_attempt_… functions below, after which it
 * does not exist.
 * Thread: the port's loop.  Owner: the collector; of an attempt, its reconcile. */
#ifndef COR_SERVER_CONTROLLERS_GC_GC_INT_H
#define COR_SERVER_CONTROLLERS_GC_GC_INT_H

#include "base/buf.h"
#include "base/due_heap.h"
#include "server/controllers/gc/garbage_collector.h"

#define COR_GC_PATCH_MAX       (4u * 1024 * 1024)
#define COR_GC_FINALIZER_TRIES 4

struct cor_gc_followed {
    struct cor_gc *gc;
    struct cor_dlist link; /* in the collector's `followed` */
    struct cor_gvr gvr;    /* the texts are in `strings` */
    struct cor_gc_origin origin;
    char *strings;
    bool is_listing;   /* a list has begun and is not complete */
    bool was_listed;   /* a list was complete once */
    bool is_unchecked; /* it does not hold back the start: it came afterwards */
};

/* One of the two queues with its attempts. */
struct cor_gc_queue {
    struct cor_gc *gc;
    struct cor_control_loop *loop;
    struct cor_control_source *source; /* its first sync lets the attempts begin */
    uint64_t wake_at_ms;
    bool is_stopped;
};

struct cor_gc {
    struct cor_gc_opts opts;
    struct cor_gc_graph graph;
    struct cor_api_resources *resources; /* NULL: not known yet */
    struct cor_dlist followed;
    struct cor_gc_queue deletes, orphans;
    struct cor_due_heap sleeping; /* attempts that wait before they try again */
    uint64_t pump_at_ms;          /* when due nodes are put into the queues */
    uint64_t sync_by_ms;          /* when the attempts begin at the latest */
    enum { COR_GC_NEW, COR_GC_SYNCING, COR_GC_RUNS, COR_GC_STOPPING, COR_GC_STOPPED } state;
    bool is_late;          /* an end of an attempt or queue was not in time */
    bool in_tick;          /* no wake-up is asked for while a tick runs */
    uint64_t asked_for_ms; /* what wake_at was called with last */
};

struct cor_gc_attempt {
    struct cor_gc *gc;
    struct cor_reconcile *rec;
    struct cor_api_request req;
    void (*on_answer)(struct cor_gc_attempt *a, const struct cor_api_answer *answer);
    struct cor_gc_identity id; /* of the object, as the graph had it when the attempt began */
    char *id_strings;
    struct cor_object *latest; /* what the server has answered; NULL: nothing yet */
    struct cor_buf patch;

    /* gc_decide.c: the references of `latest`, one after the other. */
    uint32_t number; /* of the feed of the object's kind; COR_GC_RESOURCES_MAX: there was none */
    uint32_t list;   /* of that feed, when the request was sent */
    struct cor_gc_refs_iter refs;
    struct cor_gc_ref ref; /* the one that is looked up */
    struct cor_str *uids;  /* room for two lists: dangling, then waiting */
    size_t nrefs, nsolid, ndangling, nwaiting;
    struct cor_str policy; /* of the deletion */

    /* gc_finalizer.c */
    const char *finalizer;
    unsigned tries;
    struct cor_due sleep;

    /* gc_orphan.c */
    struct cor_gc_orphaning *orphaning;
};

/* gc_attempt.c */

/* Begins an attempt for the node that the reconcile names. NULL: the reconcile was ended, because
 * there is no such node or no memory. */
struct cor_gc_attempt *cor_gc_attempt_new(struct cor_gc *gc, struct cor_reconcile *rec);

/* The ends. */
void cor_gc_attempt_done(struct cor_gc_attempt *a);  /* the item is forgotten */
void cor_gc_attempt_again(struct cor_gc_attempt *a); /* with the delay of a failure */
/* With the delay of a failure, which is reported. `why` may be NULL. */
void cor_gc_attempt_fail(struct cor_gc_attempt *a, int err, const struct cor_status *why);
/* The end of an attempt whose answer was an error. */
void cor_gc_attempt_fail_with(struct cor_gc_attempt *a, const struct cor_api_answer *answer);

/* Finds the resource of an apiVersion and kind; NULL: the server has none, and `why` is filled. */
const struct cor_port_resource *cor_gc_map_kind(const struct cor_gc *gc, struct cor_str api_version,
                                                struct cor_str kind, struct cor_status *why);

/* The path of an object; false: the server does not have its kind, and `why` is filled. */
bool cor_gc_path(const struct cor_gc *gc, const struct cor_gc_identity *id,
                 struct cor_resource_path *ret_path, struct cor_status *why);

/* The feed that shows the resource, in any version, and the feed with this number; NULL: none. */
struct cor_gc_followed *cor_gc_followed_of(const struct cor_gc *gc, const struct cor_gvr *gvr);
struct cor_gc_followed *cor_gc_followed_by_number(const struct cor_gc *gc, uint32_t number);

/* Each sends a request about the attempt's own object, or about `path`. */
void cor_gc_attempt_read(struct cor_gc_attempt *a, const struct cor_resource_path *path,
                         void (*on_answer)(struct cor_gc_attempt *, const struct cor_api_answer *));
/* Sends `a->patch`. */
void cor_gc_attempt_patch(struct cor_gc_attempt *a, enum cor_patch_type type,
                          void (*on_answer)(struct cor_gc_attempt *,
                                            const struct cor_api_answer *));
void cor_gc_attempt_remove(struct cor_gc_attempt *a, const struct cor_removal_options *opts,
                           void (*on_answer)(struct cor_gc_attempt *,
                                             const struct cor_api_answer *));

/* Is the answer an error of this kind from the server? */
bool cor_gc_answer_is(const struct cor_api_answer *answer, int err);

/* garbage_collector.c: new due nodes are put into the queues soon; an attempt sleeps until then.
 * The latter returns -COR_ENOMEM when it cannot. */
void cor_gc_pump_soon(struct cor_gc *gc);
int cor_gc_attempt_sleep(struct cor_gc_attempt *a, uint64_t ms);

/* gc_decide.c, gc_orphan.c: the reconcile functions of the two queues. */
void cor_gc_delete(void *arg, struct cor_reconcile *rec);
void cor_gc_orphan(void *arg, struct cor_reconcile *rec);
void cor_gc_orphaning_cancel(struct cor_gc_attempt *a);

/* gc_finalizer.c: removes the finalizer from the attempt's object, then ends the attempt. */
void cor_gc_remove_finalizer(struct cor_gc_attempt *a, const char *finalizer);
void cor_gc_finalizer_woken(struct cor_gc_attempt *a);

#endif
