/* A cache of one list-watch for one handler: client-go's NewInformer, and with indexes its
 * NewIndexerInformer. The handler runs on the runtime's I/O thread, or inside the pump, with the
 * queue's lock held: a slow handler delays the runtime, and it must not call the informer. Several
 * handlers, or handlers that block, are for coracle/informers.h.
 *
 * An update is reported also when a relist brought nothing new; compare resourceVersions to skip
 * it. Owner: the maker. Runtime and list-watch outlive it.  Thread: any. */
#ifndef CORACLE_PLAIN_INFORMER_H
#define CORACLE_PLAIN_INFORMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/handler_fns.h"
#include "coracle/indexer.h"
#include "coracle/list_watch.h"
#include "coracle/reflector.h"
#include "coracle/reflector_report.h"
#include "coracle/reflector_stats.h"
#include "coracle/runtime.h"
#include "coracle/status.h"
#include "coracle/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_plain_informer_run;

struct cor_plain_informer_run_opts {
    size_t size; /* of this struct: COR_PLAIN_INFORMER_RUN_OPTS sets it (coracle/api.h) */
    struct cor_handler_fns handler; /* on_behind is never called: nothing waits for the handler */
    const struct cor_index_def *indexes;
    size_t nindexes;
    const char *name;          /* for messages; copied. NULL: "informer" */
    uint64_t resync_ms;        /* 0: never */
    uint64_t watch_silence_ms; /* as in coracle/informers.h, and so are: */
    bool stream_initial, retry_on_error;
    bool by_key; /* pending changes are gathered by key: client-go's DeltaFIFO */
    cor_transform_fn transform;
    void (*on_watch_error)(void *arg, const struct cor_status *error);
    void (*on_report)(void *arg, enum cor_reflector_report what, const struct cor_status *status);
    void *arg; /* of transform, on_watch_error and on_report; each of these may be NULL */
    const char *api_version, *kind; /* as in coracle/reflector.h, and so is: */
    int64_t page_size;
};

#define COR_PLAIN_INFORMER_RUN_OPTS .size = sizeof(struct cor_plain_informer_run_opts)

/* Makes an informer and starts it. 0, -COR_ENOMEM, -COR_EINVAL (the list-watch is of another
 * runtime's client, or in use; coracle/api.h), -COR_ENOTSUP, or as cor_indexer_add_indexes(). */
COR_API int cor_plain_informer_run_new(struct cor_runtime *runtime,
                                       const struct cor_plain_informer_run_opts *opts,
                                       struct cor_list_watch *lw,
                                       struct cor_plain_informer_run **ret_run);

/* Stops it, and waits for that; nothing is called afterwards. Not from inside a callback. NULL is
 * fine; returns NULL. */
COR_API struct cor_plain_informer_run *
cor_plain_informer_run_free(struct cor_plain_informer_run *run);

/* The cache, live; for reading, and for adding indexes. Borrowed. */
COR_API struct cor_indexer *cor_plain_informer_run_indexer(struct cor_plain_informer_run *run);

/* Has the handler returned from every add of the first list? */
COR_API bool cor_plain_informer_run_has_synced(struct cor_plain_informer_run *run);

/* Waits until that is so. 0, -COR_ETIMEOUT, -COR_EINVAL (inside a callback, or in a forked child),
 * -COR_EBUSY (1024 wait already), -COR_ENOMEM. The informer must outlive the call. */
COR_API int cor_plain_informer_run_wait_for_sync(struct cor_plain_informer_run *run,
                                                 uint64_t timeout_ms);

/* The resourceVersion that list and watch have brought the informer to; "" before the first list.
 * Its last changes may still wait for the handler. */
COR_API void cor_plain_informer_run_last_version(struct cor_plain_informer_run *run,
                                                 char to[COR_REFLECTOR_VERSION_MAX]);

COR_API void cor_plain_informer_run_stats(struct cor_plain_informer_run *run,
                                          struct cor_reflector_stats *ret);

#ifdef __cplusplus
}
#endif

#endif
