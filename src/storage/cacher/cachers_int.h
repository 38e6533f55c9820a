/* Inside cacher/: all cachers together, and what they keep for each loop.
 *
 * The writer is the one thread that changes watch caches: the engine thread, inside the callbacks
 * of the feed, or the home loop while there is no feed. A field that is "the writer's" is used by
 * that thread alone; mail hands it over when the feed opens or closes. */
#ifndef COR_STORAGE_CACHER_CACHERS_INT_H
#define COR_STORAGE_CACHER_CACHERS_INT_H

#include <stdatomic.h>

#include "base/dlist.h"
#include "base/lock.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "storage/cacher/cachers.h"
#include "storage/cacher/decoder.h"
#include "storage/cacher/pins.h"
#include "storage/cacher/ready.h"
#include "storage/cacher/time_budget.h"
#include "storage/engine/engine.h"
#include "storage/store/feed_shares.h"

struct cor_cacher;

/* An event that is younger than this leaves a window only for the byte budget. */
#define EVENT_FRESH_MS 75000
/* A failed list and a broken feed are tried again after this time. */
#define RETRY_MS 1000

/* One loop as all cachers see it: which of its readers have new events, and which of its reads
 * wait for a revision. See cachers_loop.c and fresh_wait.c. */
struct cachers_loop {
    struct cor_loop *loop;
    struct cor_lock lock;   /* a leaf: nothing is called while it is held */
    struct cor_dlist dirty; /* readers with new events; under lock */
    size_t waiting;         /* the length of `waits`; under lock */
    bool posted;            /* `mail` is on its way; under lock */
    struct cor_mail mail;
    struct cor_mail end_mail;                /* of cor_cachers_loop_end() */
    void (*on_ended)(struct cor_mail *mail); /* handles end_mail on the home loop */
    struct cor_dlist waits;                  /* reads that wait for a revision; the loop's */
    struct cor_dlist asked;  /* reads that the question under way will answer; the loop's */
    struct cor_dlist asking; /* reads that came after it was asked; the loop's */
    struct cor_range_req store_rev;
    bool is_asking;                   /* store_rev is with the engine */
    bool is_ending;                   /* end_mail came while store_rev was with the engine */
    struct cor_turn_share deliveries; /* to watches, by dispatches */
    size_t looks; /* of dispatches, since the clock was asked for `deliveries` */
    struct cor_cachers *cachers;
};

struct cor_cachers {
    struct cor_engine *engine;
    struct cor_loop *home;
    const struct cor_clock *clock;
    struct cachers_loop *loops;
    size_t nloops;

    struct cor_mailbox commands; /* to the writer */
    struct cor_lock feed_lock;   /* the engine's own lock may be taken while it is held */
    struct cor_feed *feed;       /* to be woken; NULL: there is none, or it is being closed */
    char feed_error[COR_READY_MESSAGE_MAX]; /* why the last feed broke; under feed_lock */
    _Atomic cor_rev rev;  /* published: every ready watch cache is complete up to here */
    _Atomic cor_rev seen; /* no client can have seen a later revision */

    /* The writer's. */
    struct cor_cacher **sorted; /* by key prefix */
    size_t nsorted, cap;
    bool is_writing;     /* a batch or a command is being worked on; for assertions */
    bool broken;         /* the feed sends nothing any more, or there is none */
    bool sweep;          /* look at every cacher, not only at those that changed */
    cor_rev compact_rev; /* the newest compacted revision of the engine that is known here */
    size_t bytes_max;
    struct cor_time_budget time_budget;
    _Atomic size_t bytes;       /* of the history of all watch caches */
    struct cor_pin_totals pins; /* bytes that only snapshots hold */
    uint64_t pins_due_ms;       /* when pins are looked at again */
    _Atomic uint64_t evicted, put_off;
    struct cor_feed_shares replays;              /* of all readers, also those that are closing */
    _Atomic uint64_t ended_lists, ended_watches; /* for the bytes that their snapshots held */

    /* The home loop's. */
    struct cor_timer timer;   /* the next tick, or the next attempt; always set */
    struct cor_dlist members; /* all cachers */
    struct cor_dlist retries; /* cachers whose next round begins with the next tick */
    struct cor_decoder decoder;
    struct cor_mail broken_mail, feed_closed_mail, sweep_mail, more_mail;
    bool has_feed; /* until feed_closed_mail */
    bool is_closing;
    bool sweeping;            /* sweep_mail is with the writer */
    _Atomic bool more_posted; /* more_mail is on its way: the writer has more to free */
    size_t open;              /* cachers that were opened and not closed */
    size_t loops_left;        /* loops that have not answered cor_cachers_loop_end() */
    void (*on_closed)(void *arg);
    void *closed_arg;
};

/* Runs `mail` on the writer. From any thread. */
void cor_cachers_command(struct cor_cachers *cachers, struct cor_mail *mail);
/* Ends a command: `mail` runs on the home loop. From any thread. */
void cor_cachers_answer(struct cor_cachers *cachers, struct cor_mail *mail);

/* Fills in why a list failed. When the feed broke or cannot be opened, that is the feed's message.
 * From any thread. */
void cor_cachers_list_error(struct cor_cachers *cachers, int err, struct cor_status *reterr_status);

/* A client has seen `rev`: consistent reads that begin later must not be older. From any thread. */
void cor_cachers_saw(struct cor_cachers *cachers, cor_rev rev);

/* From any thread. */
uint64_t cor_cachers_now_ms(const struct cor_cachers *cachers);

/* The writer's: registers a cacher for the changes under its prefix. 0 or -COR_ENOMEM. */
int cor_cachers_add(struct cor_cachers *cachers, struct cor_cacher *cacher);
void cor_cachers_remove(struct cor_cachers *cachers, struct cor_cacher *cacher);

/* The home loop's: the next tick comes after RETRY_MS. */
void cor_cachers_retry_soon(struct cor_cachers *cachers);

/* The writer's, in cache_eviction.c: evicts history until the budget is met, and frees a bounded
 * part of what was evicted. True: there is more to free. */
bool cor_cachers_evict(struct cor_cachers *cachers);

/* In cachers_loop.c. */

/* 0 or -COR_ENOMEM. Deinit is safe when init failed. */
int cor_cachers_loops_init(struct cor_cachers *cachers, struct cor_loop *const *loops, size_t n);
void cor_cachers_loops_deinit(struct cor_cachers *cachers);
/* The writer's, after a batch: mails every loop that has a watch on a touched cacher, and, when the
 * published revision has `advanced`, every loop with a waiting read. */
void cor_cachers_loops_notify(struct cor_cachers *cachers, bool advanced);
/* The home loop's, when nothing writes any more. `on_ended` follows there when all mail to the loop
 * has arrived and it waits for no answer of the engine. */
void cor_cachers_loop_end(struct cachers_loop *loop, void (*on_ended)(struct cor_mail *mail));
/* On the loop: the answer of the engine that the end waited for is here. */
void cor_cachers_loop_ended(struct cachers_loop *loop);

/* In fresh_wait.c, on the loop. */

/* The published revision may have moved: ends the waits that it satisfies. */
void cor_cachers_loop_end_waits(struct cachers_loop *loop);

#endif
