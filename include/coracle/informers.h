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

#ifdef __cplusplus
extern "C" {
#endif

struct cor_informers;

#define COR_INFORMERS_MAX 1024 /* of one set */

struct cor_informer_opts;

/* Makes the list-watch of an informer in the place of the set's own; the set takes the list-watch
 * and frees it with the informer. `opts` is borrowed for the call. Called once for each informer,
 * on the runtime's I/O thread or on the thread that pumps: it must not block. 0, or a negative
 * code, with which the making of the informer fails. */
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
    /* A watch from which nothing has come for so long, no answer and not even a bookmark, is given
     * up, and goes on in a new one without a list: the server, or the way to it, may have died
     * without a word. Servers send bookmarks about once a minute. 0: only a dead HTTP/2 connection
     * is found (by pings), and a watch that is silent 30 s after its end (of 5 to 10 minutes). */
    uint64_t watch_silence_ms;
    /* The first state comes as a watch (sendInitialEvents) where the server can do that, else as a
     * list; without it always as a list. */
    bool stream_initial;
    enum cor_informer_fifo fifo;
    /* A change that an index function refuses is put back, unless a newer one of the object waits,
     * and tried again with the next changes and every second: for functions that fail for a time.
     * Each try is told to on_report. Without it the change is dropped, as client-go does, and the
     * cache keeps what it had of the object until the next change of it. */
    bool retry_on_error;
    /* A list or a watch failed; it is tried again. On the I/O thread or inside the pump; may be
     * NULL. */
    void (*on_watch_error)(void *arg, struct cor_str plural, const struct cor_status *error);
    /* What the library does not write to a log: objects that were left out, watches that ended or
     * fell silent, slow lists, changes and handlers. `status` says more. Like on_watch_error; may
     * be NULL. */
    void (*on_report)(void *arg, struct cor_str plural, enum cor_reflector_report what,
                      const struct cor_status *status);
    /* For debugging, because it holds every object for some minutes: what is cached is looked at
     * every second, and an object that the program has written into is told of, once. As
     * on_watch_error, with locks held: it must not call the informers. NULL: off. */
    void (*on_mutation)(void *arg, const struct cor_object *object);
    /* Of every informer of the set; each may be NULL. An informer's own tweak is called after
     * this one, and its own transform before this. */
    cor_tweak_fn tweak;
    cor_transform_fn transform;
    void *arg;
    /* Where the objects of every informer come from; NULL: the client's server. With `arg`. */
    cor_make_list_watch_fn make_list_watch;
};

#define COR_INFORMERS_OPTS .size = sizeof(struct cor_informers_opts)

/* `opts` may be NULL, and is copied; its `arg` stays valid until the set is freed. 0,
 * -COR_ENOMEM, -COR_ECANCELED (the client was stopped), -COR_EINVAL (in a forked child). */
COR_API int cor_informers_new(struct cor_client *client, const struct cor_informers_opts *opts,
                              struct cor_informers **ret_informers);

/* A set without a client, for informers over list-watches of the program's own: `make_list_watch`
 * of the set's options or of each informer's makes them. A test gives a controller such a set in
 * the place of the one with a client (coracle/list_watch_script.h). 0, -COR_ENOMEM, -COR_EINVAL,
 * -COR_ENOTSUP (coracle/api.h). */
COR_API int cor_informers_new_on(struct cor_runtime *runtime, const struct cor_informers_opts *opts,
                                 struct cor_informers **ret_informers);

/* Waits: stops them, removes their handlers, frees the caches. Not inside a callback or a handler,
 * which would wait for itself (an assertion). Returns NULL; NULL is allowed. */
COR_API struct cor_informers *cor_informers_free(struct cor_informers *set);

struct cor_informer_opts {
    size_t size; /* of this struct: COR_INFORMER_OPTS sets it (coracle/api.h) */
    struct cor_resource resource;
    const char *ns; /* NULL: all namespaces, or a resource without any */
    /* Of the resource's objects, such as "Pod": a watch event with an object of another kind or
     * apiVersion is skipped and reported (COR_REFLECTOR_UNEXPECTED_TYPE), as client-go does with an
     * expected GVK. NULL: the kind that all objects of the last list had; none after a list without
     * objects or with several kinds. Lists are not checked, nor is anything of metadata_only.
     * Informers with different ones are different. */
    const char *kind;
    const char *label_selector, *field_selector;
    uint64_t resync_ms; /* its handlers' default, of who asks for it first; 0: the set's */
    bool metadata_only; /* asks the server for PartialObjectMetadata only */
    /* What is kept of each object; may be NULL. Informers with different ones are different. */
    cor_transform_fn transform;
    void *transform_arg;
    /* Changes what is asked of the server; likewise. */
    cor_tweak_fn tweak;
    void *tweak_arg;
    /* A constructor of the program's own for what this informer lists and watches: client-go's
     * InformerFor. NULL: the set's. Informers with different ones are different. */
    cor_make_list_watch_fn make_list_watch;
    void *make_arg;
};

#define COR_INFORMER_OPTS .size = sizeof(struct cor_informer_opts)

/* The one informer of this scope, made when it is first asked for; it lives as long as the set. The
 * texts are copied; what the arguments of transform and tweak point to lives as long, too. 0,
 * -COR_EINVAL (no version or no resource), -COR_ETOOBIG (too many), -COR_ENOMEM. */
COR_API int cor_informers_for_resource(struct cor_informers *set,
                                       const struct cor_informer_opts *opts,
                                       struct cor_informer **ret_informer,
                                       struct cor_status *reterr);

/* Starts those that were not started yet. */
COR_API void cor_informers_start(struct cor_informers *set);

/* Waits until the first list of every informer that is started is cached. 0, -COR_ETIMEOUT,
 * -COR_ECANCELED (stopped), -COR_EINVAL (inside a callback of the runtime). The message in `reterr`
 * (may be NULL) names each informer that is not synced, with the last failure of its list or watch:
 * a resource whose name is misspelt is told by the server's words. */
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

/* Ends them for good: handlers hear nothing any more, but for a call that is under way, which is
 * not waited for; the caches stay readable. A handler may call it. */
COR_API void cor_informers_stop(struct cor_informers *set);

#ifdef __cplusplus
}
#endif

#endif
