/* An engine that a test plays by hand, on the loop's own thread: it holds kvs, answers ranges and
 * status at once, and tells its feeds when the test writes. What the engine thread does in earnest
 * happens here inside fake_put(), so that a test can count what an event costs. */
#ifndef COR_TEST_FAKE_ENGINE_H
#define COR_TEST_FAKE_ENGINE_H

#include "base/clock.h"
#include "base/dlist.h"
#include "base/map.h"
#include "loop/loop.h"
#include "loop/offload.h"
#include "storage/cacher/cacher.h"
#include "storage/engine/engine_int.h"
#include "test.h"

#define FAKE_TIMEOUT_MS 60000

struct fake {
    struct cor_engine engine;
    struct cor_loop *loop;
    struct cor_clock_manual clock; /* of the caches */
    cor_rev rev;
    cor_rev compact_rev;      /* as the status tells it */
    cor_rev feed_compact_rev; /* feeds from before it break: somebody else compacted */
    int status_err, feed_err; /* not 0: what a status request, or a feed from a revision, meets */
    struct cor_map kvs;       /* by key; with a reference */
    struct cor_dlist feeds;
    bool refuse_feeds;   /* feeds cannot be opened */
    size_t feeds_opened; /* so far */
    bool brings_objects; /* puts hand their object to the feeds, as the store does */
    const char *labels;  /* of the pods that puts write, as JSON; NULL: none */
    const char *junk;    /* puts of a pod of this name write a value that cannot be decoded */
    size_t statuses;     /* status requests so far */
    size_t page_max;     /* keys of an answer to a range without a limit; 0: all */
    bool hold_next;      /* the next range or status request waits for fake_release() */
    struct cor_engine_req *held;
    bool keeps_history; /* changes are kept in `log`, and feeds from a revision get them */
    struct cor_feed_event *log;
    size_t nlog;
    struct cor_store *store;
    struct cor_cachers *cachers;
    struct cor_cacher *cacher;
    struct cor_reader *reader;
};

/* With an open cacher of pods, indexed by spec.nodeName, that is ready. `bytes_max` 0: the default.
 */
void fake_open(struct fake *f, size_t bytes_max);
/* The same over values that are all older than the schema, with threads that decode them. */
void fake_open_old(struct fake *f, struct cor_offload *offload);
void fake_close(struct fake *f);

/* The cacher is made anew over what the engine holds. */
void fake_restart(struct fake *f);
/* The two halves of it; the second one does not wait until the cacher is ready. */
void fake_stop_cacher(struct fake *f);
void fake_start_cacher(struct fake *f);

/* Each is one commit with one revision, which is returned. */
cor_rev fake_put(struct fake *f, const char *ns, const char *name, const char *node,
                 const char *more);
cor_rev fake_delete(struct fake *f, const char *ns, const char *name);
/* One commit that changes two objects of a namespace, as a transaction of etcd's does. */
cor_rev fake_put_two(struct fake *f, const char *ns, const char *name, const char *other,
                     const char *node);
/* One commit that puts or deletes pods p000, p001 … of a namespace, as a range deletion of etcd's
 * does. */
cor_rev fake_put_many(struct fake *f, const char *ns, size_t n, const char *node);
cor_rev fake_delete_many(struct fake *f, const char *ns, size_t n);
/* A commit outside of all caches. */
cor_rev fake_bump(struct fake *f);
/* The store forgets what is before `rev`, and says so as stores do: by a key. */
void fake_compact(struct fake *f, cor_rev rev);
/* Breaks all feeds. */
void fake_break(struct fake *f);
void fake_release(struct fake *f);

/* Runs the loop until nothing is on its way to it. */
void fake_settle(struct fake *f);
/* Until the cacher is filled, again. */
void fake_wait_ready(struct fake *f);
void fake_wait(struct fake *f, bool (*done)(void *arg), void *arg);

/* One watch, and what it saw. */
struct fake_watch {
    struct fake *f;
    struct cor_watch *watch;
    struct cor_predicate predicate;
    size_t n, opened;
    bool pause_each;                       /* pauses after every event */
    void (*on_each)(struct fake_watch *w); /* NULL, or told of every event */
    bool ended, closed;
    int error;       /* of an ERROR event, or of a refusal: its HTTP code */
    bool refused;    /* it was not opened */
    int64_t retry_s; /* of the refusal */
    size_t pause_at; /* not 0: pauses after so many events */
    char message[128];
    cor_rev last;
    enum cor_watch_type last_type;
    size_t bookmarks;
    cor_rev bookmark;
    size_t n_before_bookmark;
    bool initial_end;
};

struct cor_reader_watch_opts fake_watch_opts(struct fake_watch *w, const char *rv,
                                             const char *fields);
void fake_watch_open(struct fake *f, struct fake_watch *w, const char *key,
                     struct cor_reader_watch_opts *opts);
void fake_watch_close(struct fake_watch *w);

#endif
