/* clang-format off */
/* A collection for tests, in place of an API server's: a program adds, changes and deletes objects,
 * and lets requests fail. Its list-watches list and watch it as they would a server: client-go's
 * FakeControllerSource.
 *
 *   cor_list_watch_script_new(&pods);
 *   cor_list_watch_script_put(pods, pod);           // ADDED to whoever watches
 *   cor_list_watch_script_fail_next(pods, -COR_EUNREACHABLE, 1);
 *
 * With a runtime on a manual clock (coracle/clock.h) nothing sleeps: each cor_runtime_pump() runs
 * until everything that was scripted is delivered. Owner: the maker, and it outlives its
 * list-watches.  Thread: any. */
/* clang-format on */
#ifndef CORACLE_LIST_WATCH_SCRIPT_H
#define CORACLE_LIST_WATCH_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/list_watch.h"
#include "coracle/object.h"
#include "coracle/status.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_list_watch_script;

#define COR_LIST_WATCH_SCRIPT_CHANGES_MAX (1u << 20)

/* An empty collection at resourceVersion "1". 0 or -COR_ENOMEM. */
COR_API int cor_list_watch_script_new(struct cor_list_watch_script **ret_script);

/* All of its list-watches are freed before. NULL is fine; returns NULL. */
COR_API struct cor_list_watch_script *
cor_list_watch_script_free(struct cor_list_watch_script *script);

/* A list-watch of the script's objects, of one namespace (NULL: all) and with matching labels
 * (NULL: all). Any number of them may exist. 0, -COR_ENOMEM, or as cor_label_selector_parse(). */
COR_API int cor_list_watch_script_list_watch(struct cor_list_watch_script *script, const char *ns,
                                             const char *label_selector,
                                             struct cor_list_watch **ret_list_watch,
                                             struct cor_status *reterr);

/* Adds the object, or changes the one of its namespace and name; it gets the next resourceVersion.
 * Whoever watches receives ADDED or MODIFIED. 0, -COR_ENOMEM, -COR_EINVAL (no name), -COR_EBUSY
 * (COR_LIST_WATCH_SCRIPT_CHANGES_MAX): then nothing has changed. */
COR_API int cor_list_watch_script_put(struct cor_list_watch_script *script,
                                      struct cor_object *object);

/* Deletes the object with this key ("namespace/name", or the name). Also -COR_ENOTFOUND. */
COR_API int cor_list_watch_script_remove(struct cor_list_watch_script *script, struct cor_str key);

/* The next `n` lists and watches fail with this code; those that are under way go on. */
COR_API void cor_list_watch_script_fail_next(struct cor_list_watch_script *script, int err,
                                             unsigned n);

/* Ends every watch that is open: as a server does after its timeout (err 0), or with an ERROR event
 * of this negative code, such as -COR_EEXPIRED. */
COR_API void cor_list_watch_script_end_watches(struct cor_list_watch_script *script, int err);

/* Forgets all changes: a watch from an older resourceVersion is answered with 410 Expired. */
COR_API void cor_list_watch_script_compact(struct cor_list_watch_script *script);

/* Requests so far. */
COR_API uint64_t cor_list_watch_script_lists(struct cor_list_watch_script *script);
COR_API uint64_t cor_list_watch_script_watches(struct cor_list_watch_script *script);

#ifdef __cplusplus
}
#endif

#endif
