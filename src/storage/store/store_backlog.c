/* Keeps the batches of a feed until their events have been delivered, and counts the credit that
 * the feed has. Batches are queued as they arrive and freed with their last event; the credit that
 * is given again follows from the largest event lately, so that about COR_STORE_WATCH_BYTES_MAX
 * bytes are on their way. Nothing here allocates, so nothing fails. Thread: the loop's. */
#include "storage/store/store_backlog.h"

#include <assert.h>

#include "base/limits.h"
#include "storage/store/store_watch.h"

static struct store_feed_batch *backlog_first(const struct store_backlog *backlog)
{
    return COR_CONTAINER_OF(backlog->batches.next, struct store_feed_batch, link);
}

static size_t event_bytes(const struct cor_feed_event *event)
{
    return sizeof(*event->kv) + event->kv->key_len + event->kv->value_len +
           (event->prev ? event->prev->value_len : 0);
}

void cor_store_backlog_init(struct store_backlog *backlog)
{
    *backlog = (struct store_backlog){.ahead = STORE_BACKLOG_FIRST_CREDIT};
    cor_dlist_init(&backlog->batches);
}

static void backlog_drop_first(struct store_backlog *backlog)
{
    struct store_feed_batch *batch = backlog_first(backlog);

    cor_dlist_remove(&batch->link);
    backlog->at = 0;
    cor_store_feed_batch_free(batch);
}

void cor_store_backlog_clear(struct store_backlog *backlog)
{
    while (!store_backlog_is_empty(backlog))
        backlog_drop_first(backlog);
    backlog->bytes = 0;
}

void cor_store_backlog_push(struct store_backlog *backlog, struct store_feed_batch *take_batch)
{
    for (size_t i = 0; i < take_batch->nevents; i++) {
        size_t bytes = event_bytes(&take_batch->events[i]);

        backlog->largest = bytes > backlog->largest ? bytes : backlog->largest;
        backlog->bytes += bytes;
    }
    cor_dlist_push(&backlog->batches, &take_batch->link);
}

cor_rev cor_store_backlog_next_rev(const struct store_backlog *backlog)
{
    const struct store_feed_batch *batch;

    if (store_backlog_is_empty(backlog))
        return 0;
    batch = backlog_first(backlog);
    return batch->nevents > 0 ? batch->events[backlog->at].kv->mod_rev : 0;
}

bool cor_store_backlog_pop_mark(struct store_backlog *backlog, cor_rev *ret_upto)
{
    const struct store_feed_batch *batch = backlog_first(backlog);

    assert(!store_backlog_is_empty(backlog));
    if (batch->nevents > 0)
        return false;
    *ret_upto = batch->upto;
    backlog_drop_first(backlog);
    return true;
}

size_t cor_store_backlog_pop(struct store_backlog *backlog, struct cor_feed_event *ret_event)
{
    struct store_feed_batch *batch = backlog_first(backlog);
    size_t bytes;

    assert(!store_backlog_is_empty(backlog) && backlog->at < batch->nevents);
    *ret_event = batch->events[backlog->at];
    batch->events[backlog->at++] = (struct cor_feed_event){0};
    if (backlog->at == batch->nevents)
        backlog_drop_first(backlog);
    bytes = event_bytes(ret_event);
    backlog->bytes -= bytes;
    return bytes;
}

size_t cor_store_backlog_credit(struct store_backlog *backlog, size_t bytes)
{
    size_t most, credit;

    backlog->largest -= backlog->largest / 16;
    backlog->largest = bytes > backlog->largest ? bytes : backlog->largest;
    most = COR_STORE_WATCH_BYTES_MAX / (backlog->largest > 0 ? backlog->largest : 1);
    if (most == 0)
        most = 1;
    if (most > COR_STORE_WATCH_EVENTS_MAX)
        most = COR_STORE_WATCH_EVENTS_MAX;
    if (backlog->ahead > 0)
        backlog->ahead--;
    if (backlog->ahead > most / 2)
        return 0;
    credit = most - backlog->ahead;
    backlog->ahead = most;
    return credit;
}
