/* From an engine's change to what a watcher sees of it. */
#ifndef COR_STORAGE_STORE_EVENT_H
#define COR_STORAGE_STORE_EVENT_H

#include "storage/store/store_int.h"
#include "storage/store/store_watch.h"

/* True in `ret_seen`: the watcher sees `ret_event`, whose object the caller releases; false: the
 * change is outside of its predicate (NULL: everything). 0, -COR_ENOMEM, -COR_EINTERNAL
 * (unreadable, or no version before it although there must be one). */
int cor_store_event_read(const struct cor_store *store, const struct cor_predicate *predicate,
                         const struct cor_feed_event *change, bool *ret_seen,
                         struct cor_reader_event *ret_event, struct cor_status *reterr_status);

/* The same for an object of the initial state. */
int cor_store_event_initial(const struct cor_store *store, const struct cor_predicate *predicate,
                            const struct cor_kv *kv, bool *ret_seen,
                            struct cor_reader_event *ret_event, struct cor_status *reterr_status);

/* A bookmark: an object of the store's kind with nothing but its revision, and the annotation that
 * ends the initial events. 0, -COR_ENOMEM. */
int cor_store_event_bookmark(const struct cor_store *store, cor_rev rev, bool initial_end,
                             struct cor_reader_event *ret_event, struct cor_status *reterr_status);

/* Makes such a bookmark and delivers it. As above. */
int cor_store_event_deliver_bookmark(const struct cor_store *store, cor_rev rev, bool initial_end,
                                     cor_watch_cb on_event, void *arg,
                                     struct cor_status *reterr_status);

#endif
