#include "base/limits.h"
#include "storage/store/store_backlog.h"

#include "base/mem.h"
#include "storage/store/store_watch.h"
#include "test.h"

/* A batch of `n` events at `rev`, each with a value of `bytes`; without events: a mark at `rev`. */
static struct store_feed_batch *batch_of(size_t n, cor_rev rev, size_t bytes)
{
    struct store_feed_batch *batch =
        cor_calloc(1, sizeof(*batch) + n * sizeof(struct cor_feed_event));
    char *value = cor_calloc(1, bytes + 1);

    assert_true(batch && value);
    batch->upto = rev;
    batch->nevents = n;
    for (size_t i = 0; i < n; i++)
        batch->events[i].kv = cor_kv_new(COR_STR("/k"), cor_str(value, bytes), rev, rev, 0);
    cor_free(value);
    return batch;
}

static size_t pop(struct store_backlog *backlog, cor_rev expected)
{
    struct cor_feed_event event;
    size_t bytes;

    assert_int_equal(cor_store_backlog_next_rev(backlog), expected);
    bytes = cor_store_backlog_pop(backlog, &event);
    assert_int_equal(event.kv->mod_rev, expected);
    cor_kv_unref(event.kv);
    return bytes;
}

TEST(store_backlog, events_and_marks_come_out_in_order)
{
    struct store_backlog backlog;
    cor_rev upto;

    cor_store_backlog_init(&backlog);
    assert_int_equal(cor_store_backlog_next_rev(&backlog), 0);
    cor_store_backlog_push(&backlog, batch_of(2, 7, 100));
    cor_store_backlog_push(&backlog, batch_of(0, 9, 0));
    cor_store_backlog_push(&backlog, batch_of(1, 10, 100));
    assert_true(backlog.bytes >= 3 * 100);
    assert_false(cor_store_backlog_pop_mark(&backlog, &upto));
    pop(&backlog, 7);
    pop(&backlog, 7);
    assert_int_equal(cor_store_backlog_next_rev(&backlog), 0);
    assert_true(cor_store_backlog_pop_mark(&backlog, &upto));
    assert_int_equal(upto, 9);
    pop(&backlog, 10);
    assert_true(store_backlog_is_empty(&backlog));
    assert_int_equal(backlog.bytes, 0);
}

TEST(store_backlog, clearing_one_that_was_read_in_part_frees_the_rest)
{
    struct store_backlog backlog;

    cor_store_backlog_init(&backlog);
    cor_store_backlog_push(&backlog, batch_of(3, 7, 100));
    cor_store_backlog_push(&backlog, batch_of(2, 8, 100));
    pop(&backlog, 7);
    cor_store_backlog_clear(&backlog);
    assert_true(store_backlog_is_empty(&backlog));
    assert_int_equal(backlog.bytes, 0);
    cor_store_backlog_push(&backlog, batch_of(1, 9, 100));
    pop(&backlog, 9);
}

/* What the feed may send and what is here never exceeds the bound, and never falls to nothing. */
TEST(store_backlog, credit_follows_the_size_of_events)
{
    struct store_backlog backlog;
    size_t on_way = STORE_BACKLOG_FIRST_CREDIT;

    cor_store_backlog_init(&backlog);
    for (int i = 0; i < 1000; i++) {
        on_way = on_way - 1 + cor_store_backlog_credit(&backlog, 100);
        assert_uint_in_range(on_way, 1, COR_STORE_WATCH_EVENTS_MAX);
    }
    assert_true(on_way > COR_STORE_WATCH_EVENTS_MAX / 2);
    /* Large ones: a quarter of the bytes each. */
    for (int i = 0; i < 200; i++) {
        on_way = on_way - 1 + cor_store_backlog_credit(&backlog, COR_STORE_WATCH_BYTES_MAX / 4);
        assert_true(on_way >= 1);
    }
    assert_uint_in_range(on_way, 1, 4);
    /* One that is larger than the bound comes alone. */
    on_way = on_way - 1 + cor_store_backlog_credit(&backlog, 2 * COR_STORE_WATCH_BYTES_MAX);
    for (int i = 0; i < 8; i++)
        on_way = on_way - 1 + cor_store_backlog_credit(&backlog, 2 * COR_STORE_WATCH_BYTES_MAX);
    assert_int_equal(on_way, 1);
    /* Small ones again: it recovers. */
    for (int i = 0; i < 400; i++)
        on_way = on_way - 1 + cor_store_backlog_credit(&backlog, 100);
    assert_true(on_way > COR_STORE_WATCH_EVENTS_MAX / 2);
}
