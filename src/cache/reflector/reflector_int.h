/* Inside the reflector, shared by its files: reflector.c has the life, the round and the outputs;
 * reflector_list.c, reflector_stream.c and reflector_watch.c one phase each. */
#ifndef COR_CACHE_REFLECTOR_INT_H
#define COR_CACHE_REFLECTOR_INT_H

#include "base/backoff.h"
#include "base/buf.h"
#include "cache/reflector/reflector.h"
#include "cache/reflector/retry_with_deadline.h"
#include "cache/store/object_set.h"
#include "meta/select/page_walk.h"

/* A copy of a struct cor_reflector_at. */
struct cor_reflector_rv {
    cor_rev rev;
    size_t n;
    char p[COR_REFLECTOR_RV_MAX + 1];
};

struct cor_reflector {
    struct cor_reflector_opts opts;
    struct cor_reflector_driver *driver;
    struct cor_reflector_store *store;
    char *name, *type_description, *expected_api_version, *expected_kind;
    struct cor_backoff backoff;
    struct cor_reflector_stats stats;
    uint64_t watch_sent_ms; /* of the watch under way, for the statistics */

    enum cor_reflector_state state;
    uint64_t now_ms;         /* of the input under way, or the last one */
    bool busy;               /* an input is under way */
    bool stop_wanted;        /* by a callback of it */
    bool cancel_due;         /* outputs that wait for the input's end */
    bool request_due;        /* of the state: LISTING a list, …_OPENING a watch */
    uint64_t told_wake_ms;   /* the driver's timer */
    uint64_t pause_until_ms; /* in the PAUSE states */

    struct cor_reflector_rv last_rv; /* the store is at it */
    bool rv_unavailable;             /* last_rv is too old or too new for the server */
    bool paginates;                  /* a list from "0" came in pages: the server has no cache */

    struct {
        struct cor_reflector_rv asked_rv; /* of the list, when it began */
        struct cor_reflector_rv rv;       /* of its first page */
        struct cor_page_walk walk;        /* to the page asked for */
        int64_t page_size;
        uint64_t began_ms;
        size_t objects;
        struct cor_object *first; /* of the list that is staged, while all are of its type */
        bool from_zero;           /* the phase began with "0" */
        bool retried;             /* at "" */
        bool paged;               /* a token was followed */
        bool full;                /* the pages expired: all in one */
        bool staging;             /* the store is between begin and its end */
    } list;

    struct {
        struct cor_object_set set;
        uint64_t began_ms; /* the phase, of all its tries */
        uint64_t late_ms;  /* when to ask again where the bookmark is */
        unsigned ends;     /* streams of this phase that ended too soon */
    } stream;

    struct {
        uint64_t began_ms; /* when the request was sent */
        uint64_t heard_ms; /* when the last event came */
        uint64_t events;   /* that counted */
        bool
            rv_stands; /* until the first event that is not ADDED: the initial ones have no order */
        struct cor_retry_with_deadline retry;
        uint64_t resync_ms; /* when it is due; COR_REFLECTOR_NEVER: not at all */
    } watch;
};

/* reflector_backoff.c */
void cor_reflector_backoff_init(struct cor_reflector *r);
uint64_t cor_reflector_backoff_until(struct cor_reflector *r); /* when to try again */

/* reflector.c */
void cor_reflector_move(struct cor_reflector *r, enum cor_reflector_state to);
void cor_reflector_request(struct cor_reflector *r, enum cor_reflector_state to);
void cor_reflector_drop(struct cor_reflector *r); /* the request under way is not wanted any more */
void cor_reflector_pause(struct cor_reflector *r, enum cor_reflector_state to, uint64_t until_ms);
void cor_reflector_end_round(struct cor_reflector *r, const struct cor_status *error);
void cor_reflector_say(struct cor_reflector *r, enum cor_reflector_report what,
                       const struct cor_status *status);
/* False: the text is too long, and nothing is kept. */
bool cor_reflector_rv_set(struct cor_reflector_rv *to, struct cor_reflector_at from);
struct cor_reflector_at cor_reflector_rv_at(const struct cor_reflector_rv *rv);
struct cor_str cor_reflector_rv_str(const struct cor_reflector_rv *rv);
/* A copy of `from` with "what: " before its message. */
void cor_reflector_wrap(struct cor_status *to, const struct cor_status *from, const char *what);

/* Events of another type than the object's are skipped from now on; NULL: none are. */
void cor_reflector_expect(struct cor_reflector *r, const struct cor_object *like);

/* reflector_list.c */
void cor_reflector_list_begin(struct cor_reflector *r);
void cor_reflector_list_send(struct cor_reflector *r);
void cor_reflector_list_take(struct cor_reflector *r, const struct cor_list_page *page);
void cor_reflector_list_error(struct cor_reflector *r, const struct cor_status *status);
void cor_reflector_unstage(struct cor_reflector *r);
/* Begins when needed, and adds. 0, or negative with `reterr` filled. */
int cor_reflector_stage(struct cor_reflector *r, struct cor_str key, struct cor_object *object,
                        struct cor_status *reterr);
int cor_reflector_commit(struct cor_reflector *r, struct cor_reflector_at at,
                         struct cor_status *reterr);

/* reflector_stream.c */
void cor_reflector_stream_begin(struct cor_reflector *r);
void cor_reflector_stream_open(struct cor_reflector *r);
void cor_reflector_stream_send(struct cor_reflector *r, struct cor_list_options *opts);
void cor_reflector_stream_take(struct cor_reflector *r, const struct cor_reflector_event *event);
void cor_reflector_stream_error(struct cor_reflector *r, const struct cor_status *status);
void cor_reflector_stream_end(struct cor_reflector *r);
void cor_reflector_stream_tick(struct cor_reflector *r);

/* reflector_watch.c */
void cor_reflector_watch_begin(struct cor_reflector *r);
void cor_reflector_watch_open(struct cor_reflector *r);
void cor_reflector_watch_send(struct cor_reflector *r);
void cor_reflector_watch_take(struct cor_reflector *r, const struct cor_reflector_event *event);
void cor_reflector_watch_refused(struct cor_reflector *r, const struct cor_status *status);
void cor_reflector_watch_error(struct cor_reflector *r, const struct cor_status *status);
void cor_reflector_watch_end(struct cor_reflector *r);
void cor_reflector_watch_tick(struct cor_reflector *r);
/* When the watch or stream that was asked for will have been silent for too long. */
uint64_t cor_reflector_watch_silent_at(const struct cor_reflector *r);

/* Drops one that has been; the caller opens the next. */
bool cor_reflector_watch_give_up_silent(struct cor_reflector *r);
/* The stream of a watch or streamed list begins or begins to count anew. */
void cor_reflector_watch_count(struct cor_reflector *r);
bool cor_reflector_watch_was_short(struct cor_reflector *r, struct cor_status *ret);
/* Is the event of the expected type, with a resourceVersion that is understood? Reports if not. */
bool cor_reflector_watch_accepts(struct cor_reflector *r, const struct cor_reflector_event *event);

#endif
