/* clang-format off */
/* The garbage collector: it deletes objects whose owners are gone, and finishes deletions that wait
 * for dependents (foregroundDeletion) or orphan them (orphan). Behaviour, requests and retries are
 * those of kube-controller-manager's garbagecollector.
 *
 *   feeds ──► follow: list, show, gone ──► gc_graph ──► due nodes ──► two control loops
 *                                             ▲                           │ attempts
 *                                             │                           ▼
 *                     absent, present ◄── gc_decide.c, gc_orphan.c: requests on the API port
 *
 * Nothing is deleted on the word of the graph alone: an attempt reads the object and each of its
 * owners from the server first. An incomplete graph therefore only delays.
 *
 * This part has no feeds and no timer: gc_controller.c joins it with those of the server, and the
 * simulation with its own.
 * Thread: the port's loop, for every function and callback.  Owner: its maker. */
/* clang-format on */
#ifndef COR_SERVER_CONTROLLERS_GC_GARBAGE_COLLECTOR_H
#define COR_SERVER_CONTROLLERS_GC_GARBAGE_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kit/api_port.h"
#include "kit/api_resources.h"
#include "kit/controller/control_loop.h"
#include "server/controllers/gc/gc_graph.h"

/* Attempts at once. Upstream has 20 of each kind. An attempt to delete mostly waits for the store
 * to commit, and commits are shared, so that more of them at once make the store no busier. */
#define COR_GC_DELETES_MAX 64
#define COR_GC_ORPHANS_MAX 20
#define COR_GC_SYNC_MS     30000 /* after which the attempts begin without all lists */

struct cor_gc;
struct cor_gc_followed;

struct cor_gc_opts {
    struct cor_api_port *port;     /* must stay valid, as must the clock */
    const struct cor_clock *clock; /* NULL: the machine's */
    const struct cor_loop *loop;   /* for assertions; NULL: there is none */
    /* Call tick at this time of the clock or later, in a later turn; this replaces the time given
     * before. UINT64_MAX: not at all. */
    void (*wake_at)(void *arg, uint64_t at_ms);
    /* The dependent names an owner that is in another namespace: record an Event on the dependent.
     * `message` is upstream's. Not NULL. */
    void (*on_wrong_namespace)(void *arg, const struct cor_gc_identity *dependent,
                               struct cor_str message);
    /* What a control loop reports; may be NULL. */
    void (*on_report)(void *arg, const struct cor_control_report *report);
    /* After a stop, once, inside tick. `why` is NULL when all attempts have ended. */
    void (*on_stopped)(void *arg, const struct cor_status *why);
    void *arg;
};

/* 0, -COR_ENOMEM. */
int cor_gc_new(const struct cor_gc_opts *opts, struct cor_gc **ret_gc, struct cor_status *reterr);

/* Before the start, or after on_stopped. Returns NULL; NULL is allowed. */
struct cor_gc *cor_gc_free(struct cor_gc *gc);
COR_DEFINE_CLEANUP(struct cor_gc, cor_gc_free)

/* What the server serves now: the resource of each apiVersion and kind. Takes a reference. */
void cor_gc_set_resources(struct cor_gc *gc, struct cor_api_resources *resources);

/* Begins to follow a resource; its objects come with the functions below. 0, -COR_ENOMEM,
 * -COR_ETOOBIG (COR_GC_RESOURCES_MAX). */
int cor_gc_follow(struct cor_gc *gc, const struct cor_port_resource *resource,
                  struct cor_gc_followed **ret_followed);

/* Ends it. The nodes of its objects stay until a look-up finds that the objects are absent. */
void cor_gc_unfollow(struct cor_gc *gc, struct cor_gc_followed *followed);

/* A list of the resource begins: `show` follows for each of its objects, then list_done, or another
 * list_begun when the list has failed. */
void cor_gc_list_begun(struct cor_gc_followed *followed);
void cor_gc_list_done(struct cor_gc_followed *followed);

/* An object of a list, or one that was created or changed. 0, or as cor_gc_graph_observe(): show it
 * again. */
int cor_gc_show(struct cor_gc_followed *followed, const struct cor_object *object);
/* The object was deleted; its last state. */
void cor_gc_gone(struct cor_gc_followed *followed, const struct cor_object *object);

/* Begins the attempts when all resources that are followed have been listed, or COR_GC_SYNC_MS
 * later. 0, -COR_ENOMEM. */
int cor_gc_start(struct cor_gc *gc, struct cor_status *reterr);

void cor_gc_tick(struct cor_gc *gc);

/* Attempts under way are cancelled; on_stopped follows in a tick, `max_ms` later at most. */
void cor_gc_stop(struct cor_gc *gc, uint64_t max_ms);

/* For metrics and tests: which numbers the queues have, and what the graph has. */
struct cor_gc_stats {
    struct cor_control_loop_stats deletes, orphans;
    size_t nodes, uids, uid_bytes, absent;
};

void cor_gc_stats(struct cor_gc *gc, struct cor_gc_stats *ret);

/* The control loop of the attempts to delete. */
struct cor_control_loop *cor_gc_delete_loop(struct cor_gc *gc);
struct cor_control_loop *cor_gc_orphan_loop(struct cor_gc *gc);

#endif
