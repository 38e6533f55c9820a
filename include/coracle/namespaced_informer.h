/* One resource in several namespaces, for a program that may read these namespaces and no others:
 * controller-runtime's cache of several namespaces. Each namespace has an informer of its own, and
 * these functions read and handle all of them as one.
 *
 *   static const char *const namespaces[] = {"shop", "bank"};
 *   const struct cor_informer_opts pods = {COR_INFORMER_OPTS, .resource = {"", "v1", "pods"}};
 *
 *   cor_namespaced_informer_new(informers, &pods, namespaces, 2, &all, &why);
 *   cor_namespaced_informer_add_handler(all, &handler, NULL);
 *   cor_informers_start(informers);
 *   cor_informers_wait_for_sync(informers, 60000, &why);
 *
 * The informers belong to the set, which starts and stops them as all others; they are the ones
 * that cor_informers_for_resource() returns for these namespaces. Owner: the maker.  Thread: any.
 */
#ifndef CORACLE_NAMESPACED_INFORMER_H
#define CORACLE_NAMESPACED_INFORMER_H

#include <stdbool.h>
#include <stddef.h>

#include "coracle/api.h"
#include "coracle/informer.h"
#include "coracle/informers.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_namespaced_informer;
struct cor_namespaced_handler;

/* `opts` has no namespace; `namespaces` are copied, and one that is repeated counts once. 0,
 * -COR_EINVAL (no namespace, an empty one, one in `opts`, or as cor_informers_for_resource()),
 * -COR_ETOOBIG (more than COR_INFORMERS_MAX), -COR_ENOMEM. Informers that were made before a
 * failure stay in the set. */
COR_API int cor_namespaced_informer_new(struct cor_informers *set,
                                        const struct cor_informer_opts *opts,
                                        const char *const *namespaces, size_t n,
                                        struct cor_namespaced_informer **ret_informer,
                                        struct cor_status *reterr);

/* Frees what joins the informers; they and their handlers stay as they are. It is freed before the
 * set. Returns NULL; NULL is allowed. */
COR_API struct cor_namespaced_informer *
cor_namespaced_informer_free(struct cor_namespaced_informer *all);

/* Returns the informer of one namespace, borrowed from the set: for a controller
 * (coracle/controller.h), or what else one informer can do. NULL: none has this namespace. */
COR_API struct cor_informer *cor_namespaced_informer_of(const struct cor_namespaced_informer *all,
                                                        struct cor_str ns);

/* Adds a handler to every namespace. Its calls for one namespace are made one after the other;
 * those for two namespaces may be made at the same time on two threads of the runtime. on_removed
 * is called once, when no call of any namespace is under way or follows. `ret_handler` (NULL: not
 * wanted) is valid until cor_namespaced_handler_remove() or the end of the set. 0, or as
 * cor_informer_add_handler(): then nothing is called. */
COR_API int cor_namespaced_informer_add_handler(struct cor_namespaced_informer *all,
                                                const struct cor_handler_opts *opts,
                                                struct cor_namespaced_handler **ret_handler);

/* As cor_handler_remove(), in every namespace. */
COR_API void cor_namespaced_handler_remove(struct cor_namespaced_handler *handler);

/* Has the handler returned from every add of the first list of every namespace? */
COR_API bool cor_namespaced_handler_has_synced(struct cor_namespaced_handler *handler);

/* Adds indexes to every namespace. 0, or as cor_informer_add_indexes(): then some namespaces may
 * have them. */
COR_API int cor_namespaced_informer_add_indexes(struct cor_namespaced_informer *all,
                                                const struct cor_index_def *defs, size_t n);

/* Have the first lists of all namespaces been cached? */
COR_API bool cor_namespaced_informer_has_synced(struct cor_namespaced_informer *all);

/* Reading. Each namespace is read at an instant of its own. */
COR_API size_t cor_namespaced_informer_len(struct cor_namespaced_informer *all);

/* As cor_informer_get(); an object of a namespace that is not followed is -COR_ENOTFOUND. */
COR_API int cor_namespaced_informer_get(struct cor_namespaced_informer *all, struct cor_str ns,
                                        struct cor_str name, struct cor_object **ret_object,
                                        struct cor_status *reterr);

/* As cor_informer_get_by_key(). */
COR_API int cor_namespaced_informer_get_by_key(struct cor_namespaced_informer *all,
                                               struct cor_str key, struct cor_object **ret_object);

/* Calls `fn` for each object of a namespace (empty: all that are followed, in the order of their
 * names) that the selector matches (NULL: all objects). 0, -COR_ENOMEM, or what `fn` returned. */
COR_API int cor_namespaced_informer_each(struct cor_namespaced_informer *all, struct cor_str ns,
                                         const struct cor_label_selector *selector, cor_each_fn fn,
                                         void *arg);

/* The same for each object that has this value in an index. Also -COR_ENOTFOUND: there is no such
 * index. */
COR_API int cor_namespaced_informer_each_by_index(struct cor_namespaced_informer *all,
                                                  struct cor_str index, struct cor_str value,
                                                  cor_each_fn fn, void *arg);

#ifdef __cplusplus
}
#endif

#endif
