/* Watches: the changes of one key or of all keys under a prefix, in order of revision, from a
 * revision on or after the current state.
 *
 * A watch holds at most COR_STORE_WATCH_EVENTS_MAX events that its owner has not taken, or about
 * COR_STORE_WATCH_BYTES_MAX. Beyond that the engine keeps only the position of the watch, and reads
 * on from history when the owner has caught up.
 * Thread: the loop's.  Owner: whoever opened it. */
#ifndef COR_STORAGE_STORE_WATCH_H
#define COR_STORAGE_STORE_WATCH_H

#include "meta/names/watch_type.h"
#include "meta/select/list_options.h"
#include "meta/select/predicate.h"
#include "storage/store/store.h"

struct cor_reader_event {
    enum cor_watch_type type;
    struct cor_object *object; /* served form, borrowed; a DELETED one has the old content at the
                                * revision of the change; a BOOKMARK's has only a type, a
                                * resourceVersion and perhaps the annotation; NULL for ERROR */
    struct cor_status *status; /* ERROR: may be moved out; NULL otherwise */
    cor_rev rev;               /* everything before it has been delivered; 0 for ERROR */
};

/* Called on the loop, never before cor_store_watch_open() returns. It may pause and close the
 * watch. An ERROR is the last event; so is NULL, the end that cor_store_watch_finish() asked for.
 */
typedef void (*cor_watch_cb)(void *arg, const struct cor_reader_event *event);

struct cor_store_watch_opts {
    struct cor_list_options options;       /* recursive, resource_version, send_initial_events and
                                            * allow_bookmarks (for the one after those) count */
    uint64_t progress_ms;                  /* the period of bookmarks; 0: none */
    const struct cor_predicate *predicate; /* NULL: everything; must stay until on_closed */
    cor_watch_cb on_event;
    void (*on_held)(
        void *arg); /* the watch is paused and holds more than before; NULL: not wanted */
    void *arg;
};

struct cor_store_watch;

/* 0, -COR_EINVAL (key, resource version), -COR_EINTERNAL (progress without a kind), -COR_ENOMEM.
 * Later failures are ERROR events. */
int cor_store_watch_open(struct cor_store *store, struct cor_str key,
                         const struct cor_store_watch_opts *opts,
                         struct cor_store_watch **ret_watch, struct cor_status *reterr_status);

/* No event is delivered between pause and resume. Calling either twice is harmless. */
void cor_store_watch_pause(struct cor_store_watch *watch);
void cor_store_watch_resume(struct cor_store_watch *watch);

/* Bytes of what the watch holds and has not delivered: a page of its initial state, events. */
size_t cor_store_watch_held(const struct cor_store_watch *watch);

/* Asks for a bookmark as soon as all before it has been delivered. The store needs a kind. */
void cor_store_watch_progress(struct cor_store_watch *watch);

/* As cor_watch_finish(). True: the watch may be closed now. False: the rest follows, and then the
 * end (event NULL). */
bool cor_store_watch_finish(struct cor_store_watch *watch, cor_rev upto);

/* As cor_watch_waits(). */
bool cor_store_watch_waits(const struct cor_store_watch *watch);

/* Called once; no event is delivered after it. `on_closed` (NULL: not wanted) follows on the loop;
 * the watch is freed before it. */
void cor_store_watch_close(struct cor_store_watch *watch, void (*on_closed)(void *arg), void *arg);

#endif
