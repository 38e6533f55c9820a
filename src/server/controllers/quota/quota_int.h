/* What the files of the quota controller share: resource_quota.c (queues and life), quota_sync.c
 * (one quota) and quota_monitors.c (what changes in the namespaces).
 * Thread: the host's loop. */
#ifndef COR_SERVER_CONTROLLERS_QUOTA_QUOTA_INT_H
#define COR_SERVER_CONTROLLERS_QUOTA_QUOTA_INT_H

#include <assert.h>

#include "kit/controller/control_feed.h"
#include "kit/controller/feed_handler.h"
#include "kit/controller/reconciler.h"
#include "server/controllers/host/server_controller.h"
#include "server/controllers/quota/quota_rules.h"
#include "server/controllers/quota/quota_table.h"

/* Each quota is computed so often at least, and while there are quotas the resources of the server
 * are enumerated so often. Changes of objects are gathered for the third time, so that a burst of
 * them is computed once. */
#define COR_QUOTA_RESYNC_MS    300000
#define COR_QUOTA_ENUMERATE_MS 30000
#define COR_QUOTA_REPLENISH_MS 250

/* Contract controllers 3.3.1. */
enum cor_quota_queue_kind {
    COR_QUOTA_PRIMARY,
    COR_QUOTA_PRIORITY, /* quotas whose status does not show what their spec has */
    COR_QUOTA_QUEUES,
};

struct cor_quota_controller;

/* A work queue with its reconciles. */
struct cor_quota_queue {
    struct cor_quota_controller *c;
    struct cor_reconciler reconciler; /* it synced with the first list of quotas */
    bool is_stopped;
};

struct cor_quota_controller {
    struct cor_server_controller_env env;
    struct cor_quota_queue queues[COR_QUOTA_QUEUES];
    struct cor_feed_handler handler; /* of the quotas */
    struct cor_quota_table quotas;
    struct cor_dlist monitors;
    struct cor_map by_resource;          /* cor_gvr_key() -> one of `monitors` */
    struct cor_api_resources *resources; /* the last enumeration; NULL: there was none yet */
    bool is_stopping;
    struct cor_status failure; /* why the first queue ended by itself; err is 0 when none did */
};

/* The task of a key; it serves both a quota and the enumeration. */
struct cor_quota_task {
    struct cor_task task; /* first */
    struct cor_object *quota;
    struct cor_api_resources *resources;
    struct cor_quota_line *lines; /* one for each name of spec.hard, in the order of the names */
    size_t nlines;
    size_t at;                 /* the resource whose objects are listed */
    int64_t now_ms;            /* of the wall clock */
    struct cor_buf page;       /* where the list goes on */
    struct cor_status failure; /* the first of a part; err is 0 when there is none */
};

static inline struct cor_quota_task *cor_quota_task_of(struct cor_task *task)
{
    struct cor_quota_task *own = COR_CONTAINER_OF(task, struct cor_quota_task, task);

    assert(cor_task_size(task) == sizeof(*own));
    return own;
}

static inline struct cor_quota_controller *cor_quota_of(const struct cor_task *task)
{
    return COR_CONTAINER_OF(task->reconciler, struct cor_quota_queue, reconciler)->c;
}

/* Queues a quota. 0, also when the controller stops; or as cor_control_loop_enqueue(). */
int cor_quota_enqueue(struct cor_quota_controller *c, enum cor_quota_queue_kind queue,
                      struct cor_str ns, struct cor_str name, uint64_t delay_ms);

/* Has the quota a name that the resource counts? */
bool cor_quota_concerns(const struct cor_object *quota, const struct cor_gvr *gvr);

/* quota_sync.c: a reconcile of a quota, and the end of every task. */
void cor_quota_sync(struct cor_quota_task *w);
void cor_quota_task_deinit(struct cor_task *task);

/* quota_monitors.c: the reconcile of the key of no namespace, which enumerates the resources and
 * follows those that quotas count. */
void cor_quota_monitors_sync(struct cor_quota_task *w);
/* Queues that reconcile. Returns as cor_quota_enqueue(). */
int cor_quota_monitors_enqueue(struct cor_quota_controller *c);
/* The feeds must have been freed. */
void cor_quota_monitors_deinit(struct cor_quota_controller *c);

#endif
