/* Drives an engine synchronously from a test: each call hands one request in and runs the loop
 * until it is answered. `struct sink` collects what a feed delivers. */
#ifndef COR_TEST_ENGINE_FIXTURE_H
#define COR_TEST_ENGINE_FIXTURE_H

#include <pthread.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "storage/engine/engine.h"
#include "test.h"

#define FX_TIMEOUT_MS 60000

struct fx {
    struct cor_loop *loop;
    struct cor_engine *engine;
    const char *dir; /* ":memory:" or a folder */
    struct cor_clock_manual clock;
};

/* Runs the body on an engine in memory and on one on disk. */
#define ON_EACH_STORE(fx)                                                                          \
    for (int on_disk = 0; on_disk < 2 && (fx_open(fx, on_disk ? test_tmpdir() : ":memory:"), 1);   \
         on_disk++, fx_close(fx))

void fx_open(struct fx *fx, const char *dir);
void fx_close(struct fx *fx);
/* Closes the engine and opens it on the same folder. */
void fx_reopen(struct fx *fx);
/* Opens and expects failure; fills `st`. */
int fx_open_fails(const char *dir, bool read_only, struct cor_status *st);

/* Marks a request as under way; fx_wait() runs the loop until none is. */
void fx_on_done(struct cor_engine_req *req);
void fx_submit_write(struct fx *fx, struct cor_write_req *w);
void fx_wait(struct fx *fx);

/* The write's result; its revision in `ret_rev` (may be NULL). */
int fx_put_lease(struct fx *fx, const char *key, const char *value, cor_rev expected, int64_t lease,
                 cor_rev *ret_rev);
int fx_put(struct fx *fx, const char *key, const char *value, cor_rev expected, cor_rev *ret_rev);
int fx_delete(struct fx *fx, const char *key, cor_rev expected, cor_rev *ret_rev);
int64_t fx_lease(struct fx *fx, int64_t ttl_s);
int fx_compact(struct fx *fx, cor_rev rev);
/* `req` is filled; deinit its head. */
int fx_status(struct fx *fx, struct cor_engine_status_req *req);
cor_rev fx_rev(struct fx *fx);

/* Reads [key, end) as "key=value@rev key=value@rev"; `end` NULL: the one key. Borrowed until the
 * next call. An error reads as its name. */
const char *fx_list(struct fx *fx, const char *key, const char *end, cor_rev at);
/* The whole request, initialised by the caller with fx_range_init(). */
void fx_range_init(struct fx *fx, struct cor_range_req *req, const char *key, const char *end);
int fx_range(struct fx *fx, struct cor_range_req *req);

struct sink_event {
    char key[64];
    char value[64];
    char prev[64]; /* "-": none */
    cor_rev rev;
    bool deleted;
};

struct sink {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct sink_event *events;
    size_t n, cap;
    size_t batches, empty_batches;
    cor_rev upto;
    int broken;
    bool closed;
    struct cor_feed *feed;
};

void sink_open(struct sink *sink, struct fx *fx, const char *key, const char *end, cor_rev from,
               size_t credit);
/* Closes the feed, waits for on_closed, releases. */
void sink_close(struct sink *sink);
/* Each waits for its condition and fails the test after the timeout. */
void sink_wait_events(struct sink *sink, size_t n);
void sink_wait_upto(struct sink *sink, cor_rev rev);
void sink_wait_broken(struct sink *sink, int err);
/* "+k=v@r" created, "k=v@r(was)" changed, "-k@r(was)" deleted. Borrowed until the next call. */
const char *sink_text(struct sink *sink);

#endif
