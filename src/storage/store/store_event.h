/* From a change of the engine to the event that a watch delivers. Thread: any. */
#ifndef COR_STORAGE_STORE_EVENT_H
#define COR_STORAGE_STORE_EVENT_H

#include "storage/store/store_int.h"
#include "storage/store/store_watch.h"

/* Decides what a watch with this predicate (NULL: everything) sees of a change. True in `ret_seen`:
 * `ret_event`, whose object the caller releases. False: nothing, and `ret_event` is not set. 0,
 * -COR_ENOMEM, -COR_EINTERNAL (an unreadable object; no previous version although there must be
 * one). */
int cor_store_event_read(const struct cor_store *store, const struct cor_predicate *predicate,
                         const struct cor_feed_event *change, bool *ret_seen,
                         struct cor_reader_event *ret_event, struct cor_status *reterr_status);

/* The same for an object of the initial state. */
int cor_store_event_initial(const struct cor_store *store, const struct cor_predicate *predicate,
                            const struct cor_kv *kv, bool *ret_seen,
                            struct cor_reader_event *ret_event, struct cor_status *reterr_status);

/* Makes a bookmark: an object of the store's kind with nothing but its revision and, with
 * `initial_end`, the annotation that ends the initial events. 0 or -COR_ENOMEM. */
int cor_store_event_bookmark(const struct cor_store *store, cor_rev rev, bool initial_end,
                             struct cor_reader_event *ret_event, struct cor_status *reterr_status);

/* Makes such a bookmark and delivers it. 0, or -COR_ENOMEM: on_event was not called. */
int cor_store_event_deliver_bookmark(const struct cor_store *store, cor_rev rev, bool initial_end,
                                     cor_watch_cb on_event, void *arg,
                                     struct cor_status *reterr_status);

#endif
