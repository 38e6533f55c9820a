/* Shared informers by what they watch, one for each scope: client-go's SharedInformerFactory
 * without its threads, over any maker of drivers (HTTP, a script).
 * See docs/internals/informer_factory.md.
 *
 * Thread: informers are made, started, stepped and stopped on one thread at a time, the factory's.
 * Waiting is for any other thread.  Owner: the program. */
#ifndef COR_CACHE_INFORMER_FACTORY_H
#define COR_CACHE_INFORMER_FACTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "cache/informers/informer_scope.h"
#include "cache/informers/shared_informer.h"
#include "coracle/informers.h"

struct cor_informer_factory;

/* Makes and frees the drivers, which do the I/O of the informers. All are called on the factory's
 * thread. */
struct cor_driver_maker {
    /* 0 or negative. `scope` stays valid until free_driver; its tweak is the driver's to
     * call. */
    int (*make_driver)(void *arg, const struct cor_informer_scope *scope,
                       struct cor_reflector_driver **ret_driver);
    /* Where the driver's answers go; once, after it was made. */
    void (*set_reflector)(void *arg, struct cor_reflector_driver *driver,
                          struct cor_reflector *reflector);
    void (*free_driver)(void *arg, struct cor_reflector_driver *driver);
    void *arg;
};

/* `set` is the program's own struct of options for all informers. Its `make_list_watch` and `tweak`
 * are for the maker of drivers; the factory does not use them. */
struct cor_informer_factory_opts {
    struct cor_driver_maker maker;
    struct cor_informers_opts set;
    const struct cor_clock *clock; /* NULL: the machine's */
    void (*on_work)(void *arg);    /* as cor_cache_controller_opts; may be NULL */
    /* Called before the functions of `set` with the same names; may be NULL. */
    void (*on_watch_error)(void *arg, const struct cor_informer_scope *scope,
                           const struct cor_status *error);
    void (*on_report)(void *arg, const struct cor_informer_scope *scope,
                      enum cor_reflector_report what, const struct cor_status *status);
    void *arg; /* of these three */
};

/* 0 or -COR_ENOMEM. */
int cor_informer_factory_new(const struct cor_informer_factory_opts *opts,
                             struct cor_informer_factory **ret_factory);

/* After stop, or before start. Its informers and drivers go with it. Returns NULL. */
struct cor_informer_factory *cor_informer_factory_free(struct cor_informer_factory *f);
COR_DEFINE_CLEANUP(struct cor_informer_factory, cor_informer_factory_free)

/* Returns the one informer of this scope, which is made at the first call; the factory owns it. 0,
 * -COR_ENOMEM, -COR_ETOOBIG (too many), or what make_driver returned. */
int cor_informer_factory_informer_for(struct cor_informer_factory *f,
                                      const struct cor_informer_scope *scope,
                                      struct cor_shared_informer **ret_informer);

/* Starts the informers that were not started yet; those that were stopped stay stopped. */
void cor_informer_factory_start(struct cor_informer_factory *f);

/* Steps the informers that were started, one after the other, for about COR_TURN_MS or until a
 * handler had a long call; the next step goes on with the next informer. True while there is more.
 */
bool cor_informer_factory_step(struct cor_informer_factory *f, size_t max);

/* Returns whether an informer has refused changes that the next step tries again. */
bool cor_informer_factory_has_retries(struct cor_informer_factory *f);

/* cor_shared_informer_check_mutations() of every informer that was started. */
void cor_informer_factory_check_mutations(struct cor_informer_factory *f);

/* Stops all informers for good, as closing client-go's stop channel does. */
void cor_informer_factory_stop(struct cor_informer_factory *f);

/* Waits, on another thread, for the first list of each informer that is started now; `fn` (may be
 * NULL) is called for each with whether its list is cached. True: all are. False: an informer was
 * stopped, or the time is up. */
bool cor_informer_factory_wait_for_sync(
    struct cor_informer_factory *f, uint64_t timeout_ms,
    void (*fn)(void *arg, const struct cor_informer_scope *scope, bool synced), void *arg);

/* Returns why the first list of an informer of the factory is not cached; from any thread. 0: it is
 * cached. Else, with `reterr` (may be NULL): -COR_EINVAL (not started), -COR_ECANCELED (stopped),
 * -COR_EBUSY (nothing has failed so far), or the error of the last list, streamed list or watch. */
int cor_informer_factory_sync_error(struct cor_informer_factory *f, struct cor_shared_informer *inf,
                                    struct cor_status *reterr);

#endif
