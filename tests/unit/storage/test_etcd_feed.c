/* The feeds over a session that the test plays: it sees what is asked of etcd, and says what etcd
 * answers, one message at a time. */
#include "storage/etcd/feed.h"

#include "base/err.h"
#include "base/mem.h"
#include "etcd_fake_session.h"
#include "loop/loop.h"
#include "test.h"

static struct etcd_session session;

/* What feeds deliver, as text: "+key@rev(prev)" "-key@rev(prev)" "|upto". */
struct sink {
    struct cor_feed *feed;
    struct cor_buf text;
    int err;
    bool closed;
};

static void on_batch(void *arg, const struct cor_feed_batch *batch)
{
    struct sink *sink = arg;

    test_fail_alloc(0, false);
    for (size_t i = 0; i < batch->nevents; i++) {
        const struct cor_feed_event *e = &batch->events[i];

        cor_buf_addf(&sink->text, "%c%.*s@%d", e->deleted ? '-' : '+',
                     COR_STR_ARG(cor_kv_key(e->kv)), (int)e->kv->mod_rev);
        if (e->prev)
            cor_buf_addf(&sink->text, "(%d)", (int)e->prev->mod_rev);
    }
    cor_buf_addf(&sink->text, "|%d ", (int)batch->upto);
}

static void on_broken(void *arg, int err, const char *message)
{
    ((struct sink *)arg)->err = err;
}

static void on_closed(void *arg)
{
    ((struct sink *)arg)->closed = true;
}

#define assert_sink(sink, expected)                                                                \
    do {                                                                                           \
        turn();                                                                                    \
        assert_string_equal(cor_buf_z(&(sink)->text), expected);                                   \
        cor_buf_reset(&(sink)->text);                                                              \
    } while (0)

static struct etcd_engine engine;
static const struct cor_engine_ops ops = {
    .feed_open = etcd_feed_open,
};

static void turn(void)
{
    fake_session_turn(&session);
}

static struct etcd_stream *stream_at(size_t n)
{
    return fake_session_stream(&session, n);
}

static void open_engine(bool has_progress)
{
    fake_session_open(&session);
    session.has_progress = has_progress;
    engine = (struct etcd_engine){.base.ops = &ops, .loop = session.loop, .session = &session};
    pthread_mutex_init(&engine.lock, NULL);
    etcd_feeds_init(&engine);
}

static void close_engine(void)
{
    etcd_feeds_deinit(&engine);
    pthread_mutex_destroy(&engine.lock);
    fake_session_close(&session);
}

static void sink_open(struct sink *sink, const char *key, const char *end, cor_rev from,
                      size_t credit, bool with_prev)
{
    const struct cor_feed_opts opts = {
        .key = cor_strz(key),
        .end = cor_strz(end),
        .from = from,
        .credit = credit,
        .with_prev = with_prev,
        .on_batch = on_batch,
        .on_broken = on_broken,
        .on_closed = on_closed,
        .arg = sink,
    };

    *sink = (struct sink){.err = 0};
    cor_buf_init(&sink->text, 65536);
    assert_int_equal(cor_feed_open(&engine.base, &opts, &sink->feed), 0);
    turn();
}

static void sink_close(struct sink *sink)
{
    cor_feed_close(sink->feed);
    turn();
    assert_true(sink->closed);
    cor_buf_deinit(&sink->text);
}

static void say_bytes(struct etcd_stream *stream, const void *p, size_t n)
{
    stream->cbs->on_message(stream->arg, cor_str(p, n));
}

/* Answers the question for the store's revision. */
static void say_revision(struct etcd_stream *stream, int64_t rev)
{
    Etcd__ResponseHeader header = ETCD__RESPONSE_HEADER__INIT;
    Etcd__RangeResponse m = ETCD__RANGE_RESPONSE__INIT;
    uint8_t bytes[64];

    size_t n;

    header.revision = rev;
    m.header = &header;
    n = etcd__range_response__pack(&m, bytes);
    fake_stream_reply(stream, cor_str((char *)bytes, n));
    turn();
}

struct said {
    const char *key; /* NULL: the end; a leading '-' deletes */
    int64_t rev, prev;
};

static void say(struct etcd_stream *stream, int64_t id, int64_t rev, bool is_fragment,
                const struct said *said)
{
    Etcd__ResponseHeader header = ETCD__RESPONSE_HEADER__INIT;
    Etcd__WatchResponse m = ETCD__WATCH_RESPONSE__INIT;
    Etcd__Event events[16], *all[16];
    Etcd__KeyValue kvs[16], prevs[16];
    uint8_t bytes[4096];

    header.revision = rev;
    m.header = &header;
    m.watch_id = id;
    m.fragment = is_fragment;
    m.events = all;
    for (; said && said->key; said++) {
        size_t i = m.n_events++;
        bool deleted = said->key[0] == '-';

        etcd__event__init(&events[i]);
        etcd__key_value__init(&kvs[i]);
        etcd__key_value__init(&prevs[i]);
        kvs[i].key.data = prevs[i].key.data = (uint8_t *)said->key + deleted;
        kvs[i].key.len = prevs[i].key.len = strlen(said->key + deleted);
        kvs[i].mod_revision = said->rev;
        kvs[i].create_revision = said->prev ? 1 : said->rev;
        prevs[i].mod_revision = said->prev;
        events[i].kv = &kvs[i];
        events[i].prev_kv = said->prev ? &prevs[i] : NULL;
        events[i].type = deleted ? ETCD__EVENT__TYPE__DELETE : ETCD__EVENT__TYPE__PUT;
        all[i] = &events[i];
    }
    say_bytes(stream, bytes, etcd__watch_response__pack(&m, bytes));
}

/* To the first watch of the stream, or to another one. */
#define SAY(stream, rev, ...)        SAY_TO(stream, 1, rev, __VA_ARGS__)
#define SAY_TO(stream, id, rev, ...) say(stream, id, rev, false, (struct said[]){__VA_ARGS__, {0}})
#define SAY_PART(stream, rev, ...)   SAY_PART_TO(stream, 1, rev, __VA_ARGS__)
#define SAY_PART_TO(stream, id, rev, ...)                                                          \
    say(stream, id, rev, true, (struct said[]){__VA_ARGS__, {0}})
#define SAY_PROGRESS(stream, rev) say(stream, -1, rev, false, NULL)

/* A watch is announced, or given up: id -1 is what a refused one gets. */
static void say_control(struct etcd_stream *stream, int64_t id, bool created, int64_t rev,
                        const char *canceled)
{
    Etcd__ResponseHeader header = ETCD__RESPONSE_HEADER__INIT;
    Etcd__WatchResponse m = ETCD__WATCH_RESPONSE__INIT;
    uint8_t bytes[256];

    header.revision = rev;
    m.header = &header;
    m.watch_id = id;
    m.created = created;
    m.canceled = canceled != NULL;
    m.cancel_reason = (char *)(canceled ? canceled : "");
    say_bytes(stream, bytes, etcd__watch_response__pack(&m, bytes));
}

static void say_created(struct etcd_stream *stream, int64_t id, int64_t rev)
{
    say_control(stream, id, true, rev, NULL);
}

static void cut(struct etcd_stream *stream)
{
    fake_stream_fail(stream, COR_GRPC_UNAVAILABLE, "connection lost", false);
    turn();
}

static void assert_nth_watches(struct etcd_stream *stream, size_t n, const char *key, int64_t start,
                               bool prev)
{
    const Etcd__WatchCreateRequest *create;

    assert_true(stream && n < stream->ncreates);
    create = stream->creates[n]->create_request;
    assert_int_equal(create->key.len, *key ? strlen(key) : 1);
    assert_memory_equal(create->key.data, key, create->key.len);
    assert_int_equal(create->start_revision, start);
    assert_int_equal(create->prev_kv, prev);
    assert_true(create->fragment);
}

static void assert_watches(struct etcd_stream *stream, const char *key, int64_t start, bool prev)
{
    assert_nth_watches(stream, 0, key, start, prev);
}

/* The first feed is in step at revision 10. */
static struct etcd_stream *start_at_10(struct sink *sink, const char *key, const char *end,
                                       size_t credit)
{
    sink_open(sink, key, end, 0, credit, false);
    say_revision(stream_at(0), 10);
    assert_watches(stream_at(0), "", 11, false);
    return stream_at(0);
}

TEST(etcd_feed, live_feeds_get_their_keys_from_one_watch_of_all)
{
    struct sink a, b;
    struct etcd_stream *main;

    open_engine(true);
    main = start_at_10(&a, "/a/", "/a0", SIZE_MAX);
    sink_open(&b, "/b/", "/b0", 10, SIZE_MAX, false);
    assert_null(stream_at(1));
    SAY(main, 12, {"/a/1", 11}, {"/b/1", 12});
    SAY(main, 13, {"-/a/1", 13});
    assert_sink(&a, "+/a/1@11|12 -/a/1@13|13 ");
    assert_sink(&b, "+/b/1@12|12 ");
    sink_close(&a);
    sink_close(&b);
    close_engine();
}

TEST(etcd_feed, one_key_is_not_its_children)
{
    struct sink sink;

    open_engine(true);
    start_at_10(&sink, "/a", "", SIZE_MAX);
    SAY(stream_at(0), 13, {"/a/1", 11}, {"/a", 12}, {"/b", 13});
    assert_sink(&sink, "+/a@12|13 ");
    sink_close(&sink);
    close_engine();
}

TEST(etcd_feed, fragments_of_a_revision_are_delivered_together)
{
    struct sink sink;
    struct etcd_stream *main;

    open_engine(true);
    main = start_at_10(&sink, "/", "0", SIZE_MAX);
    SAY_PART(main, 12, {"/1", 11}, {"/2", 12});
    assert_sink(&sink, "+/1@11|11 ");
    SAY_PART(main, 12, {"/3", 12});
    assert_sink(&sink, "");
    SAY(main, 12, {"/4", 12});
    assert_sink(&sink, "+/2@12+/3@12+/4@12|12 ");
    sink_close(&sink);
    close_engine();
}

TEST(etcd_feed, a_lost_stream_goes_on_after_the_last_whole_revision)
{
    struct sink sink;

    open_engine(true);
    start_at_10(&sink, "/", "0", SIZE_MAX);
    SAY_PART(stream_at(0), 12, {"/1", 11}, {"/2", 12});
    assert_sink(&sink, "+/1@11|11 ");
    cut(stream_at(0));
    assert_watches(stream_at(0), "", 12, false);
    SAY(stream_at(0), 13, {"/2", 12}, {"/3", 12}, {"/4", 13});
    assert_sink(&sink, "+/2@12+/3@12+/4@13|13 ");
    /* What a member repeats is dropped. */
    SAY(stream_at(0), 14, {"/4", 13}, {"/5", 14});
    assert_sink(&sink, "+/5@14|14 ");
    sink_close(&sink);
    close_engine();
}

TEST(etcd_feed, a_feed_from_an_old_revision_catches_up_by_its_own_watch)
{
    struct sink first, old;
    struct etcd_stream *own;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, true);
    own = stream_at(1);
    assert_watches(own, "/b/", 5, true);
    say_created(own, 1, 10);
    assert_int_equal(own->progress, 1);
    SAY(own, 10, {"/b/1", 6, 3}, {"/b/2", 9});
    assert_sink(&old, "+/b/1@6(3)+/b/2@9|9 ");
    /* The main watch is further: its event comes by the own watch too, and only from there. */
    SAY(stream_at(0), 11, {"/b/3", 11});
    assert_sink(&old, "");
    SAY(own, 11, {"/b/3", 11});
    assert_sink(&old, "+/b/3@11|11 ");
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, progress_ends_the_catching_up_of_a_quiet_range)
{
    struct sink first, old;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, false);
    say_created(stream_at(1), 1, 10);
    SAY_PROGRESS(stream_at(1), 12);
    assert_sink(&old, "|12 ");
    assert_null(stream_at(1));
    /* In step now; what progress has covered does not come again. */
    SAY(stream_at(0), 13, {"/b/1", 12}, {"/b/1", 13});
    assert_sink(&old, "+/b/1@13|13 ");
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, progress_that_the_main_watch_has_passed_is_asked_for_again)
{
    struct sink first, old;
    struct etcd_stream *own;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, false);
    own = stream_at(1);
    say_created(own, 1, 10);
    SAY(stream_at(0), 12, {"/a/1", 11}, {"/a/2", 12});
    SAY_PROGRESS(own, 11);
    assert_sink(&old, "|11 ");
    assert_int_equal(own->progress, 2);
    SAY_PROGRESS(own, 12);
    assert_sink(&old, "|12 ");
    assert_null(stream_at(1));
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, progress_that_etcd_dropped_is_asked_for_again)
{
    struct sink first, old;
    struct etcd_stream *own;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, false);
    own = stream_at(1);
    while (own->progress < 3)
        turn();
    cut(own);
    assert_watches(stream_at(1), "/b/", 5, false);
    say_created(stream_at(1), 1, 10);
    assert_int_equal(stream_at(1)->progress, 1);
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, without_progress_answers_all_keys_show_how_far_it_is)
{
    struct sink first, old;
    struct etcd_stream *own;

    open_engine(false);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, false);
    own = stream_at(1);
    assert_watches(own, "", 5, false);
    SAY(own, 10, {"/a/1", 5}, {"/b/1", 6}, {"/c/1", 7});
    assert_sink(&old, "+/b/1@6|7 ");
    SAY(own, 10, {"/a/1", 8}, {"/a/2", 9}, {"/a/3", 10});
    turn();
    assert_null(stream_at(1));
    SAY(stream_at(0), 11, {"/b/2", 11});
    assert_sink(&old, "+/b/2@11|11 ");
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, without_credit_only_the_position_is_kept)
{
    struct sink first, slow;
    struct etcd_stream *main;

    open_engine(true);
    main = start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&slow, "/b/", "/b0", 10, 2, false);
    SAY(main, 13, {"/b/1", 11}, {"/b/2", 12}, {"/b/3", 13});
    assert_sink(&slow, "+/b/1@11+/b/2@12|12 ");
    assert_null(stream_at(1));
    SAY(main, 14, {"/b/4", 14});
    assert_sink(&slow, "");
    cor_feed_credit(slow.feed, 1);
    turn();
    assert_watches(stream_at(1), "/b/", 13, false);
    SAY(stream_at(1), 14, {"/b/3", 13}, {"/b/4", 14});
    assert_sink(&slow, "+/b/3@13|13 ");
    assert_null(stream_at(1));
    sink_close(&slow);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, credit_never_splits_a_revision)
{
    struct sink sink;

    open_engine(true);
    start_at_10(&sink, "/", "0", 1);
    SAY(stream_at(0), 12, {"/1", 11}, {"/2", 11}, {"/3", 11}, {"/4", 12});
    assert_sink(&sink, "+/1@11+/2@11+/3@11|11 ");
    sink_close(&sink);
    close_engine();
}

TEST(etcd_feed, previous_versions_are_asked_for_while_somebody_wants_them)
{
    struct sink plain, picky;

    open_engine(true);
    start_at_10(&plain, "/a/", "/a0", SIZE_MAX);
    SAY(stream_at(0), 11, {"/a/1", 11});
    sink_open(&picky, "/a/", "/a0", 11, SIZE_MAX, true);
    turn();
    assert_watches(stream_at(0), "", 12, true);
    assert_null(stream_at(1));
    SAY(stream_at(0), 12, {"/a/1", 12, 11});
    assert_sink(&picky, "+/a/1@12(11)|12 ");
    assert_sink(&plain, "+/a/1@11|11 +/a/1@12(11)|12 ");
    sink_close(&picky);
    turn();
    assert_watches(stream_at(0), "", 13, false);
    sink_close(&plain);
    close_engine();
}

static void say_compacted(struct etcd_stream *stream)
{
    Etcd__WatchResponse m = ETCD__WATCH_RESPONSE__INIT;
    uint8_t bytes[64];

    m.watch_id = 1;
    m.canceled = true;
    m.compact_revision = 20;
    say_bytes(stream, bytes, etcd__watch_response__pack(&m, bytes));
}

TEST(etcd_feed, a_compacted_revision_breaks_the_feed)
{
    struct sink first, old;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, false);
    say_compacted(stream_at(1));
    assert_int_equal(old.err, -COR_EEXPIRED);
    assert_int_equal(first.err, 0);
    /* The main watch was away for too long: everybody in step begins anew. */
    say_compacted(stream_at(0));
    assert_int_equal(first.err, -COR_EEXPIRED);
    sink_close(&old);
    sink_close(&first);
    sink_open(&first, "/a/", "/a0", 0, SIZE_MAX, false);
    say_revision(stream_at(0), 30);
    assert_watches(stream_at(0), "", 31, false);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, an_event_whose_previous_version_was_compacted_breaks_the_feed)
{
    struct sink first, old;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, true);
    SAY(stream_at(1), 10, {"-/b/1", 5});
    assert_int_equal(old.err, -COR_EEXPIRED);
    assert_sink(&old, "");
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, a_request_for_progress_is_answered_with_the_position)
{
    struct sink sink;

    open_engine(true);
    start_at_10(&sink, "/a/", "/a0", SIZE_MAX);
    SAY(stream_at(0), 12, {"/b/1", 11}, {"/b/1", 12});
    cor_feed_progress(sink.feed);
    assert_sink(&sink, "|12 ");
    sink_close(&sink);
    close_engine();
}

TEST(etcd_feed, a_failed_allocation_loses_no_event)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct sink sink;
        bool failed;

        test_fail_alloc(0, false);
        open_engine(true);
        start_at_10(&sink, "/", "0", SIZE_MAX);
        test_fail_alloc(n, false);
        SAY(stream_at(0), 12, {"/1", 11}, {"/2", 12});
        failed = test_alloc_failed();
        test_fail_alloc(0, false);
        turn();
        if (failed && sink.text.n == 0) {
            /* The watch began anew, or the feed fell behind and has a watch of its own. */
            struct etcd_stream *again = stream_at(1) ? stream_at(1) : stream_at(0);

            assert_int_equal(again->creates[0]->create_request->start_revision, 11);
            SAY(again, 12, {"/1", 11}, {"/2", 12});
        }
        assert_sink(&sink, "+/1@11+/2@12|12 ");
        sink_close(&sink);
        close_engine();
    }
}

/* A user who may not read all keys. */

#define REFUSED "etcdserver: permission denied"

/* A cache's feed, in step at 10 over the prefix /r/. */
static void narrow_open(struct sink *cache)
{
    static char bytes[16];
    const struct cor_feed_opts opts = {
        .key = COR_STR("\0"),
        .end = COR_STR("\xff"),
        .credit = SIZE_MAX,
        .in_step = true,
        .on_batch = on_batch,
        .on_broken = on_broken,
        .on_closed = on_closed,
        .arg = cache,
    };

    open_engine(true);
    cor_feed_range_copy(&engine.prefix, bytes, COR_STR("/r/"), COR_STR("/r0"));
    *cache = (struct sink){.err = 0};
    cor_buf_init(&cache->text, 65536);
    assert_int_equal(cor_feed_open(&engine.base, &opts, &cache->feed), 0);
    turn();
    say_revision(stream_at(0), 10);
    assert_watches(stream_at(0), "", 11, false);
    say_control(stream_at(0), -1, true, 10, REFUSED);
    turn();
    assert_int_equal(cache->err, 0);
    assert_watches(stream_at(0), "/r/", 11, false);
    say_created(stream_at(0), 1, 10);
}

TEST(etcd_feed, where_all_keys_are_refused_the_prefix_is_watched)
{
    struct sink cache, one;

    narrow_open(&cache);
    sink_open(&one, "/r/a/", "/r/a0", 0, SIZE_MAX, false);
    assert_null(stream_at(1));
    SAY(stream_at(0), 12, {"/r/a/1", 11}, {"/r/b/1", 12});
    assert_sink(&cache, "+/r/a/1@11+/r/b/1@12|12 ");
    assert_sink(&one, "+/r/a/1@11|12 ");
    sink_close(&one);
    sink_close(&cache);
    close_engine();
}

TEST(etcd_feed, over_a_prefix_a_revision_that_was_seen_is_reached_by_progress)
{
    struct sink cache, one;

    narrow_open(&cache);
    sink_open(&one, "/r/a/", "/r/a0", 0, SIZE_MAX, false);
    etcd_feeds_saw(&engine, 10);
    assert_int_equal(stream_at(0)->progress, 0);
    /* A write outside of the prefix: only progress shows that nothing is missing. */
    etcd_feeds_saw(&engine, 13);
    etcd_feeds_saw(&engine, 13);
    assert_int_equal(stream_at(0)->progress, 1);
    SAY_PROGRESS(stream_at(0), 13);
    assert_sink(&cache, "|13 ");
    assert_sink(&one, "");
    SAY(stream_at(0), 14, {"/r/a/1", 14});
    assert_sink(&one, "+/r/a/1@14|14 ");
    sink_close(&one);
    sink_close(&cache);
    close_engine();
}

TEST(etcd_feed, over_a_prefix_a_request_for_progress_asks_etcd_too)
{
    struct sink cache, one;

    narrow_open(&cache);
    sink_open(&one, "/r/a/", "/r/a0", 0, SIZE_MAX, false);
    cor_feed_progress(one.feed);
    assert_sink(&one, "|10 ");
    SAY_PROGRESS(stream_at(0), 13);
    assert_sink(&one, "|13 ");
    SAY_PROGRESS(stream_at(0), 14);
    assert_sink(&one, "");
    sink_close(&one);
    sink_close(&cache);
    close_engine();
}

TEST(etcd_feed, a_key_outside_of_the_prefix_keeps_its_own_watch)
{
    struct sink cache, key, refused;

    narrow_open(&cache);
    sink_open(&key, "compact_rev_key", "", 10, SIZE_MAX, false);
    assert_watches(stream_at(1), "compact_rev_key", 11, false);
    say_created(stream_at(1), 1, 10);
    SAY(stream_at(1), 12, {"compact_rev_key", 12});
    assert_sink(&key, "+compact_rev_key@12|12 ");
    cor_feed_progress(key.feed);
    turn();
    SAY_PROGRESS(stream_at(1), 12);
    assert_sink(&key, "|12 ");
    assert_non_null(stream_at(1));
    sink_open(&refused, "/other/", "/other0", 10, SIZE_MAX, false);
    say_control(stream_at(1), -1, true, 10, REFUSED);
    assert_int_equal(refused.err, -COR_EINTERNAL);
    sink_close(&refused);
    sink_close(&key);
    sink_close(&cache);
    close_engine();
}

TEST(etcd_feed, without_progress_answers_a_prefix_is_not_enough)
{
    static char bytes[16];
    struct sink sink;

    open_engine(false);
    cor_feed_range_copy(&engine.prefix, bytes, COR_STR("/r/"), COR_STR("/r0"));
    start_at_10(&sink, "/r/", "/r0", SIZE_MAX);
    say_control(stream_at(0), -1, true, 10, REFUSED);
    assert_int_equal(sink.err, -COR_EINTERNAL);
    sink_close(&sink);
    close_engine();
}

/* Watches that share a stream. */

struct pair {
    struct sink first, b, c;
    struct etcd_stream *shared;
};

/* Two feeds from revision 4 catch up. */
static void pair_open(struct pair *p)
{
    open_engine(true);
    start_at_10(&p->first, "/a/", "/a0", SIZE_MAX);
    sink_open(&p->b, "/b/", "/b0", 4, SIZE_MAX, false);
    sink_open(&p->c, "/c/", "/c0", 4, SIZE_MAX, true);
    p->shared = stream_at(1);
    assert_null(stream_at(2));
    assert_nth_watches(p->shared, 0, "/b/", 5, false);
    assert_nth_watches(p->shared, 1, "/c/", 5, true);
}

static void pair_close(struct pair *p)
{
    sink_close(&p->b);
    sink_close(&p->c);
    sink_close(&p->first);
    close_engine();
}

TEST(etcd_watch_stream, feeds_that_catch_up_share_a_stream)
{
    struct pair p;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_created(p.shared, 2, 10);
    assert_int_equal(p.shared->progress, 1);
    SAY_TO(p.shared, 2, 10, {"/c/1", 6, 3});
    SAY_TO(p.shared, 1, 10, {"/b/1", 7});
    assert_sink(&p.b, "+/b/1@7|7 ");
    assert_sink(&p.c, "+/c/1@6(3)|6 ");
    SAY_PROGRESS(p.shared, 10);
    assert_sink(&p.b, "|10 ");
    assert_sink(&p.c, "|10 ");
    assert_watches(stream_at(0), "", 11, true);
    assert_null(stream_at(1));
    pair_close(&p);
}

TEST(etcd_watch_stream, fragments_are_put_together_for_each_watch)
{
    struct pair p;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_created(p.shared, 2, 10);
    SAY_PART_TO(p.shared, 1, 10, {"/b/1", 6}, {"/b/2", 7});
    SAY_PART_TO(p.shared, 2, 10, {"/c/1", 8});
    assert_sink(&p.b, "+/b/1@6|6 ");
    assert_sink(&p.c, "");
    /* Both hold a part of a revision: what etcd says of progress is asked for again. */
    SAY_PROGRESS(p.shared, 10);
    assert_int_equal(p.shared->progress, 2);
    SAY_TO(p.shared, 1, 10, {"/b/3", 7});
    assert_sink(&p.b, "+/b/2@7+/b/3@7|7 ");
    assert_sink(&p.c, "");
    SAY_TO(p.shared, 2, 10, {"/c/2", 8});
    assert_sink(&p.c, "+/c/1@8+/c/2@8|8 ");
    pair_close(&p);
}

TEST(etcd_watch_stream, a_lost_stream_resumes_each_watch_at_its_own_revision)
{
    struct pair p;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_created(p.shared, 2, 10);
    SAY_TO(p.shared, 1, 10, {"/b/1", 8});
    SAY_PART_TO(p.shared, 2, 10, {"/c/1", 6}, {"/c/2", 7});
    assert_sink(&p.b, "+/b/1@8|8 ");
    assert_sink(&p.c, "+/c/1@6|6 ");
    cut(p.shared);
    assert_nth_watches(stream_at(1), 0, "/b/", 9, false);
    assert_nth_watches(stream_at(1), 1, "/c/", 7, true);
    SAY_TO(stream_at(1), 2, 10, {"/c/2", 7}, {"/c/3", 7});
    assert_sink(&p.c, "+/c/2@7+/c/3@7|7 ");
    pair_close(&p);
}

TEST(etcd_watch_stream, one_that_leaves_is_given_up_by_its_id)
{
    struct pair p;

    pair_open(&p);
    sink_close(&p.b);
    assert_int_equal(p.shared->canceled, 1);
    /* What was on its way to it is dropped. */
    say_created(p.shared, 1, 10);
    SAY_TO(p.shared, 1, 10, {"/b/1", 6});
    say_control(p.shared, 1, false, 10, "");
    say_created(p.shared, 2, 10);
    SAY_TO(p.shared, 2, 10, {"/c/1", 6});
    assert_sink(&p.c, "+/c/1@6|6 ");
    sink_open(&p.b, "/b/", "/b0", 4, SIZE_MAX, false);
    assert_nth_watches(p.shared, 2, "/b/", 5, false);
    pair_close(&p);
}

TEST(etcd_watch_stream, a_consumer_without_credit_holds_nobody_back)
{
    struct pair p;
    struct sink slow;

    pair_open(&p);
    sink_open(&slow, "/d/", "/d0", 4, 1, false);
    SAY_TO(p.shared, 3, 10, {"/d/1", 5}, {"/d/2", 6});
    assert_sink(&slow, "+/d/1@5|5 ");
    assert_int_equal(p.shared->canceled, 3);
    SAY_TO(p.shared, 1, 10, {"/b/1", 6});
    assert_sink(&p.b, "+/b/1@6|6 ");
    sink_close(&slow);
    pair_close(&p);
}

TEST(etcd_watch_stream, a_refused_watch_is_the_next_to_be_announced)
{
    struct pair p;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_control(p.shared, -1, true, 10, "etcdserver: permission denied");
    assert_int_equal(p.c.err, -COR_EINTERNAL);
    assert_int_equal(p.b.err, 0);
    SAY_TO(p.shared, 1, 10, {"/b/1", 6});
    assert_sink(&p.b, "+/b/1@6|6 ");
    pair_close(&p);
}

TEST(etcd_watch_stream, a_refused_stream_breaks_all_its_watches)
{
    struct pair p;

    pair_open(&p);
    fake_stream_fail(p.shared, COR_GRPC_PERMISSION_DENIED, "etcdserver: permission denied", false);
    assert_int_equal(p.b.err, -COR_EINTERNAL);
    assert_int_equal(p.c.err, -COR_EINTERNAL);
    assert_int_equal(p.first.err, 0);
    pair_close(&p);
}

TEST(etcd_watch_stream, an_expired_login_of_one_opens_the_stream_anew_for_all)
{
    struct pair p;

    pair_open(&p);
    session.has_user = true;
    say_created(p.shared, 1, 10);
    say_control(p.shared, -1, true, 10, "etcdserver: invalid auth token");
    assert_int_equal(session.when, ETCD_WAIT_LOGIN);
    turn();
    assert_nth_watches(stream_at(1), 0, "/b/", 5, false);
    assert_nth_watches(stream_at(1), 1, "/c/", 5, true);
    pair_close(&p);
}

TEST(etcd_watch_stream, announcements_out_of_order_end_the_stream)
{
    struct pair p;

    pair_open(&p);
    say_created(p.shared, 2, 10);
    turn();
    assert_nth_watches(stream_at(1), 1, "/c/", 5, true);
    assert_int_equal(stream_at(1)->progress, 0);
    pair_close(&p);
}

/* Etcd's sender may pass the announcement, and the events behind it, with a progress answer. */
TEST(etcd_watch_stream, progress_says_nothing_of_a_watch_that_is_not_announced)
{
    struct pair p;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    while (p.shared->progress < 1)
        turn();
    SAY_PROGRESS(p.shared, 12);
    assert_sink(&p.b, "|12 ");
    assert_sink(&p.c, "");
    say_created(p.shared, 2, 10);
    SAY_TO(p.shared, 2, 12, {"/c/1", 6});
    SAY_PROGRESS(p.shared, 12);
    assert_sink(&p.c, "+/c/1@6|6 |12 ");
    pair_close(&p);
}

TEST(etcd_watch_stream, an_answer_to_an_older_question_says_nothing_of_a_new_watch)
{
    struct pair p;
    struct sink d;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_created(p.shared, 2, 10);
    assert_int_equal(p.shared->progress, 1);
    sink_open(&d, "/d/", "/d0", 4, SIZE_MAX, false);
    say_created(p.shared, 3, 10);
    assert_int_equal(p.shared->progress, 2);
    /* The answer to the first question, on its way when the third watch was announced. */
    SAY_PROGRESS(p.shared, 10);
    assert_sink(&p.b, "|10 ");
    assert_sink(&d, "");
    assert_int_equal(p.shared->progress, 3);
    SAY_TO(p.shared, 3, 10, {"/d/1", 6});
    SAY_PROGRESS(p.shared, 10);
    assert_sink(&d, "+/d/1@6|6 |10 ");
    sink_close(&d);
    pair_close(&p);
}

TEST(etcd_watch_stream, an_answer_above_the_announcement_is_younger_than_it)
{
    struct pair p;
    struct sink d;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_created(p.shared, 2, 10);
    sink_open(&d, "/d/", "/d0", 4, SIZE_MAX, false);
    say_created(p.shared, 3, 10);
    SAY_PROGRESS(p.shared, 11);
    assert_sink(&d, "|11 ");
    sink_close(&d);
    pair_close(&p);
}

TEST(etcd_watch_stream, a_watch_that_others_hold_up_goes_on_alone)
{
    struct pair p;

    pair_open(&p);
    say_created(p.shared, 1, 10);
    say_created(p.shared, 2, 10);
    while (!stream_at(2))
        turn();
    turn();
    /* The first left for a stream of its own; then the other has the stream for itself. */
    assert_nth_watches(stream_at(1), 1, "/c/", 5, true);
    assert_int_equal(stream_at(1)->canceled, 1);
    assert_watches(stream_at(2), "/b/", 5, false);
    say_created(stream_at(2), 1, 10);
    SAY_PROGRESS(stream_at(2), 10);
    assert_sink(&p.b, "|10 ");
    assert_null(stream_at(2));
    pair_close(&p);
}

TEST(etcd_watch_stream, a_full_queue_loses_no_watch)
{
    struct pair p;
    struct sink d;

    pair_open(&p);
    session.send_err = -COR_EBUSY;
    sink_open(&d, "/d/", "/d0", 4, SIZE_MAX, false);
    assert_int_equal(p.shared->ncreates, 2);
    session.send_err = 0;
    turn();
    assert_nth_watches(p.shared, 2, "/d/", 5, false);
    /* One that cannot be given up ends the stream. */
    session.send_err = -COR_EBUSY;
    sink_close(&d);
    session.send_err = 0;
    turn();
    assert_nth_watches(stream_at(1), 0, "/b/", 5, false);
    assert_nth_watches(stream_at(1), 1, "/c/", 5, true);
    pair_close(&p);
}

TEST(etcd_watch_stream, a_failed_allocation_loses_no_event)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct pair p;

        test_fail_alloc(0, false);
        pair_open(&p);
        test_fail_alloc(n, false);
        say_created(p.shared, 1, 10);
        turn();
        test_fail_alloc(0, false);
        turn();
        p.shared = stream_at(1);
        test_fail_alloc(n, false);
        SAY_TO(p.shared, 2, 10, {"/c/1", 6});
        test_fail_alloc(0, false);
        turn();
        if (p.c.text.n == 0) {
            /* The watch, or all of its stream, began anew. */
            p.shared = stream_at(1);
            SAY_TO(p.shared, p.shared->ncreates, 10, {"/c/1", 6});
        }
        assert_sink(&p.c, "+/c/1@6|6 ");
        pair_close(&p);
    }
}
