/* A reader: how the verbs read one resource's objects on one loop. It has two implementations: over
 * the store (store_reader.c) and over a watch cache (cacher/). Writes go to the store in either
 * case; a watch cache only helps them with a suggestion (cor_reader_suggest()).
 *
 * The predicate of a list must outlive its cursor, because a watch cache selects objects while the
 * cursor is read.
 *
 * As in store.h: a call returns a negative code with `reterr_status` and never calls back, or it
 * returns 0 and calls back once, later, on the loop. Keys are logical. Errors are upstream's
 * storage errors (meta/status/storage_error.h). Thread: the loop's.  Owner: its maker, who frees it
 * when nothing is under way. */
#ifndef COR_STORAGE_READER_H
#define COR_STORAGE_READER_H

#include "storage/store/store.h"
#include "storage/store/store_list.h"
#include "storage/store/store_watch.h"

/* How often a watch that allows bookmarks gets one. */
#define COR_READER_BOOKMARK_MS 60000

/* Objects that a selector looks at in one turn of the loop: a few milliseconds. Large ones, and
 * those that a selector of many terms looks at, count several times (cor_predicate_cost). */
#define COR_LIST_LOOKS_AT_ONCE 4096

/* The answer of a list: its head, then its objects one at a time in key order, those that the
 * predicate selects and no more than the limit. It may be kept while the answer is written; what it
 * shows does not change. Embedded as the first part of an implementation. */
struct cor_list_cursor {
    const struct cor_list_cursor_ops *ops;
    cor_rev rev;                /* of the whole list, and of all its pages */
    const char *continue_token; /* "": nothing is left; borrowed from the cursor */
    int64_t remaining;          /* objects after this page; -1: not known, or nothing is left */
    size_t bytes;               /* memory that it holds and that no watch cache counts */
    bool is_cached;             /* its objects are a watch cache's: an object that is not changed
                                 * has the same address in the next list */
    /* A selector may pass over any number of objects before one matches. A caller on a loop sets a
     * bound: when `looks_left` objects have been looked at, `next` returns NULL and sets
     * `is_paused`. It goes on there when the caller has set new looks. */
    bool is_bounded, is_paused;
    size_t looks_left;
    /* The memory that the list keeps is wanted back. True: the owner has given the answer up,
     * because its client is slow, and has freed the cursor. False: the owner goes on, and is asked
     * again later. NULL: as false. */
    bool (*on_lost)(void *arg);
    void *lost_arg;
};

struct cor_list_cursor_ops {
    struct cor_object *(*next)(struct cor_list_cursor *cursor);
    void (*rewind)(struct cor_list_cursor *cursor);
    void (*free)(struct cor_list_cursor *cursor);
};

/* The next object, served form; NULL at the end, or when the cursor paused. Cannot fail. The object
 * is borrowed and valid as long as the cursor, so that several can be written at once. */
static inline struct cor_object *cor_list_cursor_next(struct cor_list_cursor *cursor)
{
    return cursor->ops->next(cursor);
}

/* Goes back to the first object: the same objects follow once more. */
static inline void cor_list_cursor_rewind(struct cor_list_cursor *cursor)
{
    cursor->is_paused = false;
    cursor->ops->rewind(cursor);
}

/* Returns NULL; NULL is fine. Must be called before the reader is freed. */
static inline struct cor_list_cursor *cor_list_cursor_free(struct cor_list_cursor *cursor)
{
    if (cursor)
        cursor->ops->free(cursor);
    return NULL;
}
COR_DEFINE_CLEANUP(struct cor_list_cursor, cor_list_cursor_free)

/* err < 0: `status` (may be moved out) says why and `take_cursor` is NULL; else the status is NULL.
 */
typedef void (*cor_reader_list_cb)(void *arg, int err, struct cor_status *status,
                                   struct cor_list_cursor *take_cursor);

/* A watch in progress. Embedded as the first part of an implementation. */
struct cor_watch {
    const struct cor_watch_ops *ops;
};

struct cor_watch_ops {
    void (*pause)(struct cor_watch *watch);
    void (*resume)(struct cor_watch *watch);
    bool (*finish)(struct cor_watch *watch, cor_rev upto);
    void (*close)(struct cor_watch *watch, void (*on_closed)(void *arg), void *arg);
    size_t (*held)(struct cor_watch *watch); /* NULL: nothing */
    bool (*waits)(const struct cor_watch *watch);
};

struct cor_reader_watch_opts {
    struct cor_list_options options;       /* recursive, resource_version, send_initial_events and
                                            * allow_bookmarks count; borrowed for the call only */
    const struct cor_predicate *predicate; /* NULL: everything; must stay until on_closed */
    struct cor_str
        client; /* whose watch it is; must stay until on_closed. Empty: the server's own */
    uint64_t deadline_ms; /* when its owner will close it: a watch cache sends a bookmark 2 s
                           * before; 0: never */

    /* Once, before any event: 0, it has begun; negative, it could not (`status` may be moved out),
     * no event follows, and it must still be closed. */
    void (*on_open)(void *arg, int err, struct cor_status *status);
    /* As in store_watch.h, with one difference: a DELETED event's object may be the last state as
     * it was stored, and is shown with `rev` as its resourceVersion. The receiver keeps what it
     * cannot write at once (a reference, and how far it got) and pauses. After an ERROR, or the end
     * of the stream (event NULL: a plain end, the client comes back), no event follows. */
    cor_watch_cb on_event;
    /* The watch will have a feed of the store to itself: a watch cache has no part in it. 0, or
     * negative with a status: the watch is not opened, and that is what opening it returns. Called
     * while it is opened. NULL: it may have one. */
    int (*on_feed)(void *arg, struct cor_status *reterr_status);
    /* The watch is paused, and what it holds has grown. NULL: not wanted. */
    void (*on_held)(void *arg);
    void *arg;
};

/* Bytes of events and of its initial state that the watch holds and has not delivered. What a watch
 * cache holds does not count. */
static inline size_t cor_watch_held(struct cor_watch *watch)
{
    return watch->ops->held ? watch->ops->held(watch) : 0;
}

/* No event is delivered between pause and resume. Calling either twice is harmless. */
static inline void cor_watch_pause(struct cor_watch *watch)
{
    watch->ops->pause(watch);
}

static inline void cor_watch_resume(struct cor_watch *watch)
{
    watch->ops->resume(watch);
}

/* Its owner wants to end the stream, with the revision `upto` or, for 0, as soon as may be. True:
 * everything up to `upto` has been delivered, the watch is between two revisions, and it may be
 * closed now. False: what is missing follows, and then the end (event NULL), or an ERROR when it
 * cannot be had. A client resumes after the last revision that it saw, so it must have seen all of
 * that revision. Called again, the earlier end counts. */
static inline bool cor_watch_finish(struct cor_watch *watch, cor_rev upto)
{
    return watch->ops->finish(watch, upto);
}

/* Returns whether the store has not told yet where the watch begins, or which objects there are. An
 * empty stream means nothing until then. */
static inline bool cor_watch_waits(const struct cor_watch *watch)
{
    return watch->ops->waits(watch);
}

/* Called once; no callback but `on_closed` (NULL: not wanted) follows, on the loop. The watch is
 * freed before it. */
static inline void cor_watch_close(struct cor_watch *watch, void (*on_closed)(void *arg), void *arg)
{
    watch->ops->close(watch, on_closed, arg);
}

/* Embedded as the first part of an implementation. */
struct cor_reader {
    const struct cor_reader_ops *ops;
};

struct cor_reader_ops {
    int (*get)(struct cor_reader *reader, struct cor_str key, const struct cor_store_get_opts *opts,
               cor_store_cb on_done, void *arg, struct cor_status *reterr_status);
    int (*list)(struct cor_reader *reader, struct cor_str key,
                const struct cor_store_list_opts *opts, cor_reader_list_cb on_done, void *arg,
                struct cor_status *reterr_status);
    int (*watch)(struct cor_reader *reader, struct cor_str key,
                 const struct cor_reader_watch_opts *opts, struct cor_watch **ret_watch,
                 struct cor_status *reterr_status);
    struct cor_object *(*suggest)(struct cor_reader *reader, struct cor_str key);
    void (*free)(struct cor_reader *reader);
};

static inline int cor_reader_get(struct cor_reader *reader, struct cor_str key,
                                 const struct cor_store_get_opts *opts, cor_store_cb on_done,
                                 void *arg, struct cor_status *reterr_status)
{
    return reader->ops->get(reader, key, opts, on_done, arg, reterr_status);
}

static inline int cor_reader_list(struct cor_reader *reader, struct cor_str key,
                                  const struct cor_store_list_opts *opts,
                                  cor_reader_list_cb on_done, void *arg,
                                  struct cor_status *reterr_status)
{
    return reader->ops->list(reader, key, opts, on_done, arg, reterr_status);
}

static inline int cor_reader_watch(struct cor_reader *reader, struct cor_str key,
                                   const struct cor_reader_watch_opts *opts,
                                   struct cor_watch **ret_watch, struct cor_status *reterr_status)
{
    return reader->ops->watch(reader, key, opts, ret_watch, reterr_status);
}

/* A new reference to the object that a watch cache holds for `key`, as a suggestion for
 * cor_store_update() and cor_store_delete(); NULL: there is none. */
static inline struct cor_object *cor_reader_suggest(struct cor_reader *reader, struct cor_str key)
{
    return reader->ops->suggest(reader, key);
}

/* Returns NULL; NULL is fine. No read may be under way, and no cursor or watch may be left. */
static inline struct cor_reader *cor_reader_free(struct cor_reader *reader)
{
    if (reader)
        reader->ops->free(reader);
    return NULL;
}
COR_DEFINE_CLEANUP(struct cor_reader, cor_reader_free)

/* The store itself as a reader (--watch-cache=false). It borrows the store. 0 or -COR_ENOMEM. */
int cor_store_reader_new(struct cor_store *store, struct cor_reader **ret_reader);

#endif
