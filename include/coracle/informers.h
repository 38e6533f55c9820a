/* clang-format off */
/* The informers of a client, one for each scope: client-go's SharedInformerFactory. However many
 * there are, they share the runtime's threads and the client's connections.
 *
 *   cor_informers_new() ──► cor_informers_for_resource() …
 *                              ▲             │
 *      more informers may follow             ▼
 *                              └── cor_informers_start() ──► cor_informers_wait_for_sync()
 *
 * Owner: the maker.  Thread: any. */
/* clang-format on */
#ifndef CORACLE_INFORMERS_H
#define CORACLE_INFORMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/client.h"
#include "coracle/informer.h"
#include "coracle/informer_request.h"
#include "coracle/list_watch.h"
#include "coracle/reflector_report.h"
#include "coracle/transform.h"
#include "coracle/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_informers;

#define COR_INFORMERS_MAX 1024 /* of one set */

struct cor_informer_opts;

/* Makes the list-watch of an informer in place of the set's own; the set takes the list-watch and
 * frees it with the informer. `opts` is borrowed for the call. Called once for each informer, on
 * the runtime's I/O thread or on the thread that pumps: it must not block. 0, or a negative code,
 * with which the making of the informer fails. */
typedef int (*cor_make_list_watch_fn)(void *arg, const struct cor_informer_opts *opts,
                                      struct cor_list_watch **ret_list_watch);

/* How changes wait on their way into a cache. */
enum cor_informer_fifo {
    COR_INFORMER_FIFO_IN_ORDER, /* each by itself, as client-go since 1.33 */
    COR_INFORMER_FIFO_DELTA,    /* gathered by key: client-go's DeltaFIFO */
};

/* Zeros are client-go 1.34's defaults. */
struct cor_informers_opts {
    size_t size;        /* of this struct: COR_INFORMERS_OPTS sets it (coracle/api.h) */
    uint64_t resync_ms; /* the handlers' default; 0: never */
    /* A watch that has received nothing for this long, no answer and not even a bookmark, is ended,
     * and a new watch continues from the same resourceVersion: the server or the network may have
     * failed without closing the connection. Servers send bookmarks about once a minute. 0: only a
     * dead HTTP/2 connection is found (by pings), and a watch that is still silent 30 s after the
     * time (5 to 10 minutes) at which the server should have ended it. */
    uint64_t watch_silence_ms;
    /* True: the first state is asked for as a watch (sendInitialEvents), and as a list where the
     * server cannot do that. False: always as a list. */
    bool stream_initial;
    enum cor_informer_fifo fifo;
    /* True: a change that an index function refuses is put back, unless a newer change of the
     * object waits, and is tried again with the next changes and every second. This is for
     * functions that fail for a time. on_report is called for each try. False: the change is
     * dropped, as client-go does, and the cache keeps the older state of the object until its next
     * change. */
    bool retry_on_error;
    /* A list or a watch failed, and is tried again. Called on the I/O thread or inside the pump;
     * may be NULL. */
    void (*on_watch_error)(void *arg, struct cor_str plural, const struct cor_status *error);
    /* Reports, which the log of the runtime has as text: objects that were left out, watches that
     * ended or were silent, slow lists, changes and handlers. `status` has the details. Called like
     * on_watch_error; may be NULL. */
    void (*on_report)(void *arg, struct cor_str plural, enum cor_reflector_report what,
                      const struct cor_status *status);
    /* Called once for each cached object that the program has written into, which it must not do.
     * The objects are checked every second, and each is held for some minutes: this is for
     * debugging. Called like on_watch_error, with locks held: it must not call the informers.
     * NULL: nothing is checked. */
    void (*on_mutation)(void *arg, const struct cor_object *object);
    /* For every informer of the set; each may be NULL. An informer's own tweak is called after the
     * set's, and its own transform before the set's. */
    cor_tweak_fn tweak;
    cor_transform_fn transform;
    void *arg;
    /* Where the objects of every informer come from; NULL: the client's server. With `arg`. */
    cor_make_list_watch_fn make_list_watch;
};

#define COR_INFORMERS_OPTS .size = sizeof(struct cor_informers_opts)

/* `opts` may be NULL, and is copied; its `arg` must stay valid until the set is freed. 0,
 * -COR_ENOMEM, -COR_ECANCELED (the client was stopped), -COR_EINVAL (in a forked child). */
COR_API int cor_informers_new(struct cor_client *client, const struct cor_informers_opts *opts,
                              struct cor_informers **ret_informers);

/* Makes a set without a client, for informers over list-watches of the program, which
 * `make_list_watch` of the set's or of each informer's options makes. A test passes such a set to a
 * controller instead of one with a client (coracle/list_watch_script.h). 0, -COR_ENOMEM,
 * -COR_EINVAL, -COR_ENOTSUP (coracle/api.h). */
COR_API int cor_informers_new_on(struct cor_runtime *runtime, const struct cor_informers_opts *opts,
                                 struct cor_informers **ret_informers);

/* Stops the informers, removes their handlers, waits until none runs, and frees the caches. It must
 * not be called inside a callback or a handler, which would wait for itself (an assertion). Returns
 * NULL; NULL is allowed. */
COR_API struct cor_informers *cor_informers_free(struct cor_informers *set);

struct cor_informer_opts {
    size_t size; /* of this struct: COR_INFORMER_OPTS sets it (coracle/api.h) */
    struct cor_resource resource;
    const char *ns; /* NULL: all namespaces, or a resource without any */
    /* The kind of the resource's objects, such as "Pod": a watch event with an object of another
     * kind or apiVersion is skipped and reported (COR_REFLECTOR_UNEXPECTED_TYPE), as client-go does
     * with an expected GVK. NULL: the kind that all objects of the last list had; nothing is
     * checked after a list without objects or with several kinds. Lists are not checked, nor is
     * anything of metadata_only. Two scopes with different kinds have two informers. */
    const char *kind;
    const char *label_selector, *field_selector;
    uint64_t resync_ms; /* its handlers' default; the first caller's is used. 0: the set's */
    bool metadata_only; /* asks the server for PartialObjectMetadata only */
    /* Cuts each object before it is cached; may be NULL. Scopes with different functions have
     * different informers. */
    cor_transform_fn transform;
    void *transform_arg;
    /* Changes the options of each list and watch; the same rules. */
    cor_tweak_fn tweak;
    void *tweak_arg;
    /* Makes the list-watch of this informer: client-go's InformerFor. NULL: the set's function. The
     * same rules. */
    cor_make_list_watch_fn make_list_watch;
    void *make_arg;
    /* The kind's table for protobuf (coracle/wire.h), which typed informers set: lists and watches
     * ask for protobuf, and objects are kept as they came. A server or a resource without protobuf
     * answers in JSON. NULL: JSON is asked for; so it is for metadata_only, and where a transform,
     * the informer's or the set's, changes the objects. The first caller's is used. */
    const struct cor_wire_type *wire;
};

#define COR_INFORMER_OPTS .size = sizeof(struct cor_informer_opts)

/* Returns the one informer of this scope, which is made at the first call and lives as long as the
 * set. The texts are copied; what the arguments of transform and tweak point to must live as long
 * as the set. 0,
 * -COR_EINVAL (no version or no resource), -COR_ETOOBIG (too many), -COR_ENOMEM. */
COR_API int cor_informers_for_resource(struct cor_informers *set,
                                       const struct cor_informer_opts *opts,
                                       struct cor_informer **ret_informer,
                                       struct cor_status *reterr);

/* Starts the informers that were not started yet. */
COR_API void cor_informers_start(struct cor_informers *set);

/* Waits until the first list of every informer that is started is cached. 0, -COR_ETIMEOUT,
 * -COR_ECANCELED (stopped), -COR_EINVAL (inside a callback of the runtime). The message in `reterr`
 * (may be NULL) names each informer that is not synced, with the last error of its list or watch; a
 * misspelt resource is recognised by the server's 404. */
COR_API int cor_informers_wait_for_sync(struct cor_informers *set, uint64_t timeout_ms,
                                        struct cor_status *reterr);

/* One informer of a set, after a wait for all. */
struct cor_informer_sync {
    struct cor_informer *informer;
    struct cor_str group, plural;
    int r;                        /* 0, or as cor_informer_sync_error() */
    const struct cor_status *why; /* when it is not 0; borrowed for the call */
};

/* The same; afterwards `fn` is called for each informer that is started, on this thread. Also
 * -COR_ENOMEM, and then it was called for none. */
COR_API int cor_informers_wait_for_each(struct cor_informers *set, uint64_t timeout_ms,
                                        void (*fn)(void *arg, const struct cor_informer_sync *sync),
                                        void *arg);

/* Stops the informers for good: no handler is called any more. A call that is under way continues,
 * and is not waited for. The caches stay readable. A handler may call this. */
COR_API void cor_informers_stop(struct cor_informers *set);

#ifdef __cplusplus
}
#endif

#endif
