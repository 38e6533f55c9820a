/* clang-format off */
/* A reflector on a runtime: it keeps a store equal to what a list-watch lists and watches, forever:
 * client-go's Reflector and its Run. A list or watch that fails is tried again with a growing
 * pause.
 *
 *   struct cor_indexer *pods;                          cor_indexer_new(NULL, 0, &pods);
 *   struct cor_reflector_store *store;                 cor_indexer_store_new(pods, &store);
 *   struct cor_list_watch *lw;                         cor_list_watch_from_client(client, &of_pods, &lw);
 *   struct cor_reflector_run *run;                     cor_reflector_run_new(runtime, NULL, lw, store, &run);
 *
 * Owner: the maker. Runtime, list-watch and store outlive it.
 * Thread: any; the list-watch and the store are called on the runtime's I/O thread, or inside the
 * pump. */
/* clang-format on */
#ifndef CORACLE_REFLECTOR_H
#define CORACLE_REFLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/list_watch.h"
#include "coracle/reflector_report.h"
#include "coracle/reflector_stats.h"
#include "coracle/runtime.h"
#include "coracle/status.h"
#include "coracle/store.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_reflector_run;

#define COR_REFLECTOR_VERSION_MAX 128 /* with its NUL */

struct cor_reflector_run_opts {
    size_t size;      /* of this struct: COR_REFLECTOR_RUN_OPTS sets it (coracle/api.h) */
    const char *name; /* for messages; copied. NULL: "reflector" */
    /* The version and kind of the objects, such as "v1" and "Pod"; copied. An event with an object
     * of another type is skipped and reported. NULL: the type that all objects of the last list
     * had. */
    const char *api_version, *kind;
    int64_t page_size;         /* of lists; 0: 500 where paging helps, as client-go decides */
    uint64_t resync_ms;        /* the store's resync function is called so often; 0: never */
    uint64_t watch_silence_ms; /* as in coracle/informers.h */
    bool stream_initial;       /* likewise */
    /* A list failed, or a watch could not be opened; it is tried again. On the I/O thread or inside
     * the pump; may be NULL. */
    void (*on_watch_error)(void *arg, const struct cor_status *error);
    /* What client-go logs; likewise. */
    void (*on_report)(void *arg, enum cor_reflector_report what, const struct cor_status *status);
    void *arg; /* of these functions */
    /* The resync period is over: false spares the store this time. On the I/O thread or inside the
     * pump; NULL: always. */
    bool (*should_resync)(void *arg);
};

#define COR_REFLECTOR_RUN_OPTS .size = sizeof(struct cor_reflector_run_opts)

/* Makes a reflector and starts it. `opts` may be NULL. 0, -COR_ENOMEM, -COR_EINVAL (the list-watch
 * is of another runtime's client, or in use; coracle/api.h), -COR_ENOTSUP. */
COR_API int cor_reflector_run_new(struct cor_runtime *runtime,
                                  const struct cor_reflector_run_opts *opts,
                                  struct cor_list_watch *lw, struct cor_reflector_store *store,
                                  struct cor_reflector_run **ret_run);

/* Stops it, and waits for that: the request under way is cancelled, and nothing is called
 * afterwards. Not from inside a callback. NULL is fine; returns NULL. */
COR_API struct cor_reflector_run *cor_reflector_run_free(struct cor_reflector_run *run);

/* The resourceVersion that the store is at; "" before the first list. */
COR_API void cor_reflector_run_last_version(struct cor_reflector_run *run,
                                            char to[COR_REFLECTOR_VERSION_MAX]);

COR_API void cor_reflector_run_stats(struct cor_reflector_run *run,
                                     struct cor_reflector_stats *ret);

#ifdef __cplusplus
}
#endif

#endif
