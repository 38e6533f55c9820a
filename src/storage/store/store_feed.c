/* The engine's callbacks become mails to the loop, in order. A batch needs an allocation on the
 * engine thread; when it fails, the feed counts as broken, and the mail that reports this is part
 * of the feed. After that the engine's batches are dropped. Closing: cor_feed_close(), and
 * on_closed when the engine's last call has come over as a mail; batches that are still in the
 * mailbox come first. */
#include "storage/store/store_feed.h"

#include "base/mem.h"
#include "loop/loop.h"

struct store_feed_batch *cor_store_feed_batch_free(struct store_feed_batch *batch)
{
    for (size_t i = 0; i < batch->nevents; i++) {
        cor_kv_unref(batch->events[i].kv);
        cor_kv_unref(batch->events[i].prev);
    }
    return cor_free(batch);
}

static void on_batch_mail(struct cor_mail *mail)
{
    struct store_feed_batch *batch = COR_CONTAINER_OF(mail, struct store_feed_batch, mail);

    batch->feed->on_batch(batch->feed, batch);
}

static void on_broken_mail(struct cor_mail *mail)
{
    struct store_feed *feed = COR_CONTAINER_OF(mail, struct store_feed, broken_mail);

    feed->on_broken(feed, feed->err, feed->message ? feed->message : cor_err_text(feed->err));
}

static void on_closed_mail(struct cor_mail *mail)
{
    struct store_feed *feed = COR_CONTAINER_OF(mail, struct store_feed, closed_mail);

    feed->feed = NULL;
    feed->message = cor_free(feed->message);
    feed->on_closed(feed);
}

/* The engine thread's half. */

static void break_feed(struct store_feed *feed, int err, const char *message)
{
    if (feed->broken)
        return;
    feed->broken = true;
    feed->err = err;
    feed->message = cor_strdup(message);
    cor_loop_post_always(feed->loop, &feed->broken_mail);
}

static void on_engine_batch(void *arg, const struct cor_feed_batch *from)
{
    struct store_feed *feed = arg;
    struct store_feed_batch *batch;

    if (feed->broken)
        return;
    batch = cor_alloc(sizeof(*batch) + from->nevents * sizeof(batch->events[0]));
    if (!batch) {
        break_feed(feed, -COR_ENOMEM, cor_err_text(-COR_ENOMEM));
        return;
    }
    batch->mail.on_mail = on_batch_mail;
    batch->feed = feed;
    batch->upto = from->upto;
    batch->nevents = from->nevents;
    for (size_t i = 0; i < from->nevents; i++) {
        batch->events[i].kv = cor_kv_ref(from->events[i].kv);
        batch->events[i].prev = from->events[i].prev ? cor_kv_ref(from->events[i].prev) : NULL;
        batch->events[i].deleted = from->events[i].deleted;
    }
    cor_loop_post_always(feed->loop, &batch->mail);
}

static void on_engine_broken(void *arg, int err, const char *message)
{
    break_feed(arg, err, message);
}

static void on_engine_closed(void *arg)
{
    struct store_feed *feed = arg;

    cor_loop_post_always(feed->loop, &feed->closed_mail);
}

int cor_store_feed_open(struct store_feed *feed, struct cor_engine *engine, struct cor_loop *loop,
                        struct cor_str key, struct cor_str end, cor_rev from, size_t credit)
{
    struct cor_feed_opts opts = {
        .key = key,
        .end = end,
        .from = from,
        .credit = credit,
        .with_prev = feed->with_prev,
        .on_batch = on_engine_batch,
        .on_broken = on_engine_broken,
        .on_closed = on_engine_closed,
        .arg = feed,
    };

    assert(cor_loop_is_current(loop) && !feed->feed);
    assert(feed->on_batch && feed->on_broken && feed->on_closed);
    feed->loop = loop;
    feed->is_closing = false;
    feed->broken = false;
    feed->broken_mail.on_mail = on_broken_mail;
    feed->closed_mail.on_mail = on_closed_mail;
    return cor_feed_open(engine, &opts, &feed->feed);
}

void cor_store_feed_close(struct store_feed *feed)
{
    assert(feed->feed && cor_loop_is_current(feed->loop));
    if (feed->is_closing)
        return;
    feed->is_closing = true;
    cor_feed_close(feed->feed);
}
