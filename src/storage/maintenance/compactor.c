/* Two activities beside each other. Every interval: write the key, then compact, or on a lost
 * compare read the current revision and wait. And all the time: read the key, then follow it by a
 * feed, and begin anew a second after the feed broke. */
#include "storage/maintenance/compactor.h"

#include <stdatomic.h>

#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "storage/engine/engine.h"
#include "storage/store/store_feed.h"

#define FOLLOW_RETRY_MS 1000
#define DIGITS_MAX      20

struct cor_compactor {
    struct cor_engine *engine;
    struct cor_loop *loop;
    uint64_t interval_ms;
    _Atomic cor_rev compacted;

    struct cor_timer tick;
    struct cor_write_req write;
    struct cor_compact_req compact;
    struct cor_range_req current;
    struct cor_buf digits;
    cor_rev expected; /* the key's mod_rev as last seen: whose turn it is; 0: absent */
    cor_rev recorded; /* the revision to compact to next time; 0: none yet */

    struct cor_timer retry;
    struct cor_range_req read;
    struct store_feed feed;

    unsigned pending; /* requests, the feed and the closing mail that are still to come back */
    bool closing;
    struct cor_mail close_mail;
    void (*on_closed)(void *arg);
    void *arg;
};

static void compactor_free(struct cor_compactor *c)
{
    cor_write_req_deinit(&c->write);
    cor_engine_req_deinit(&c->compact.req);
    cor_range_req_deinit(&c->current);
    cor_range_req_deinit(&c->read);
    cor_buf_deinit(&c->digits);
    cor_free(c);
}

/* True: the compactor is closing, and the caller does nothing more with it. */
static bool came_back(struct cor_compactor *c)
{
    void (*on_closed)(void *arg) = c->on_closed;
    void *arg = c->arg;

    c->pending--;
    if (!c->closing)
        return false;
    if (c->pending == 0) {
        compactor_free(c);
        if (on_closed)
            on_closed(arg);
    }
    return true;
}

static void learn(struct cor_compactor *c, cor_rev rev)
{
    if (rev > atomic_load(&c->compacted))
        atomic_store(&c->compacted, rev);
}

/* A value that is not a number is a peer's mistake; nothing is learned from it. */
static void learn_from(struct cor_compactor *c, const struct cor_kv *kv)
{
    cor_rev rev;

    if (cor_str_to_u64(cor_kv_value(kv), &rev) == 0)
        learn(c, rev);
}

cor_rev cor_compactor_revision(const struct cor_compactor *compactor)
{
    return atomic_load(&compactor->compacted);
}

static void set_timer(struct cor_timer *timer, uint64_t delay_ms)
{
    if (cor_timer_set(timer, delay_ms) < 0)
        COR_LOG_ERROR("compaction stops: out of memory");
}

static void next_interval(struct cor_compactor *c)
{
    set_timer(&c->tick, c->interval_ms);
}

static void on_compacted(struct cor_engine_req *req)
{
    struct cor_compactor *c = COR_CONTAINER_OF(req, struct cor_compactor, compact.req);
    int r = req->result;

    if (came_back(c))
        return;
    if (r < 0)
        COR_LOG_ERROR("compact failed", COR_F_U64("rev", c->compact.rev),
                      COR_F_STR("err", cor_status_message(&req->status)));
    else
        learn(c, c->compact.rev);
    next_interval(c);
}

static void on_current(struct cor_engine_req *req)
{
    struct cor_compactor *c = COR_CONTAINER_OF(req, struct cor_compactor, current.req);

    if (came_back(c))
        return;
    if (req->result == 0)
        c->recorded = c->current.ret_rev;
    next_interval(c);
}

/* Another server has compacted in this interval. */
static void yield_to_peer(struct cor_compactor *c)
{
    c->expected = 0;
    if (c->write.ret_prev) {
        c->expected = c->write.ret_prev->mod_rev;
        learn_from(c, c->write.ret_prev);
    }
    cor_range_req_deinit(&c->current);
    cor_range_req_init(&c->current, c->loop, on_current);
    c->current.keys_only = true;
    c->pending++;
    cor_engine_range(c->engine, &c->current);
}

/* It is this one's turn. The first time after the start there is nothing to compact to. */
static void take_turn(struct cor_compactor *c)
{
    cor_rev rev = c->recorded;

    c->expected = c->write.ret_rev;
    c->recorded = c->write.ret_rev;
    if (rev == 0) {
        next_interval(c);
        return;
    }
    cor_engine_req_deinit(&c->compact.req);
    cor_engine_req_init(&c->compact.req, c->loop, on_compacted);
    c->compact.rev = rev;
    c->pending++;
    cor_engine_compact(c->engine, &c->compact);
}

static void on_written(struct cor_engine_req *req)
{
    struct cor_compactor *c = COR_CONTAINER_OF(req, struct cor_compactor, write.req);

    if (came_back(c))
        return;
    if (req->result == 0) {
        take_turn(c);
    } else if (req->result == -COR_ECONFLICT) {
        yield_to_peer(c);
    } else {
        COR_LOG_ERROR("compact failed", COR_F_STR("err", cor_status_message(&req->status)));
        next_interval(c);
    }
}

static void on_tick(struct cor_timer *timer)
{
    struct cor_compactor *c = COR_CONTAINER_OF(timer, struct cor_compactor, tick);

    cor_buf_reset(&c->digits);
    if (cor_buf_addu64(&c->digits, c->recorded) < 0) {
        next_interval(c);
        return;
    }
    cor_write_req_deinit(&c->write);
    cor_write_req_init(&c->write, c->loop, on_written);
    c->write.key = COR_COMPACT_KEY;
    c->write.value = cor_buf_str(&c->digits);
    c->write.expected = c->expected;
    c->pending++;
    cor_engine_write(c->engine, &c->write);
}

/* Following the key. */

static void on_batch(struct store_feed *feed, struct store_feed_batch *take_batch)
{
    struct cor_compactor *c = COR_CONTAINER_OF(feed, struct cor_compactor, feed);

    for (size_t i = 0; i < take_batch->nevents; i++)
        if (!take_batch->events[i].deleted)
            learn_from(c, take_batch->events[i].kv);
    cor_store_feed_batch_free(take_batch);
}

static void on_broken(struct store_feed *feed, int err, const char *message)
{
    cor_store_feed_close(feed);
}

static void on_feed_closed(struct store_feed *feed)
{
    struct cor_compactor *c = COR_CONTAINER_OF(feed, struct cor_compactor, feed);

    if (!came_back(c))
        set_timer(&c->retry, FOLLOW_RETRY_MS);
}

static void on_key_read(struct cor_engine_req *req)
{
    struct cor_compactor *c = COR_CONTAINER_OF(req, struct cor_compactor, read.req);
    int r = req->result;

    if (came_back(c))
        return;
    if (r == 0) {
        if (c->read.ret_nkvs > 0)
            learn_from(c, c->read.ret_kvs[0]);
        r = cor_store_feed_open(&c->feed, c->engine, c->loop, COR_COMPACT_KEY, cor_str("", 0),
                                c->read.ret_rev, SIZE_MAX);
    }
    if (r < 0)
        set_timer(&c->retry, FOLLOW_RETRY_MS);
    else
        c->pending++;
}

static void follow(struct cor_compactor *c)
{
    cor_range_req_deinit(&c->read);
    cor_range_req_init(&c->read, c->loop, on_key_read);
    c->read.key = COR_COMPACT_KEY;
    c->pending++;
    cor_engine_range(c->engine, &c->read);
}

static void on_retry(struct cor_timer *timer)
{
    follow(COR_CONTAINER_OF(timer, struct cor_compactor, retry));
}

static void on_close_mail(struct cor_mail *mail)
{
    came_back(COR_CONTAINER_OF(mail, struct cor_compactor, close_mail));
}

int cor_compactor_open(const struct cor_compactor_opts *opts, struct cor_compactor **ret_compactor)
{
    struct cor_compactor *c = cor_calloc(1, sizeof(*c));

    assert(cor_loop_is_current(opts->loop));
    if (!c)
        return -COR_ENOMEM;
    c->engine = opts->engine;
    c->loop = opts->loop;
    c->interval_ms = opts->interval_ms;
    c->feed = (struct store_feed){
        .on_batch = on_batch, .on_broken = on_broken, .on_closed = on_feed_closed};
    c->close_mail.on_mail = on_close_mail;
    cor_buf_init(&c->digits, DIGITS_MAX);
    cor_write_req_init(&c->write, c->loop, on_written);
    cor_engine_req_init(&c->compact.req, c->loop, on_compacted);
    cor_range_req_init(&c->current, c->loop, on_current);
    cor_range_req_init(&c->read, c->loop, on_key_read);
    cor_timer_init(&c->tick, c->loop, on_tick);
    cor_timer_init(&c->retry, c->loop, on_retry);
    if (c->interval_ms > 0 && cor_timer_set(&c->tick, c->interval_ms) < 0) {
        compactor_free(c);
        return -COR_ENOMEM;
    }
    follow(c);
    *ret_compactor = c;
    return 0;
}

void cor_compactor_close(struct cor_compactor *c, void (*on_closed)(void *arg), void *arg)
{
    assert(!c->closing && cor_loop_is_current(c->loop));
    c->closing = true;
    c->on_closed = on_closed;
    c->arg = arg;
    cor_timer_cancel(&c->tick);
    cor_timer_cancel(&c->retry);
    c->pending++;
    cor_loop_post_always(c->loop, &c->close_mail);
    if (c->feed.feed)
        cor_store_feed_close(&c->feed);
}
