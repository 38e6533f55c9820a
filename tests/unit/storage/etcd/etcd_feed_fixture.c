#include "etcd_feed_fixture.h"

#include "loop/loop.h"

struct etcd_session session;
struct etcd_engine engine;

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

static const struct cor_engine_ops ops = {
    .feed_open = cor_etcd_feed_open,
};

void turn(void)
{
    fake_session_turn(&session);
}

struct etcd_stream *stream_at(size_t n)
{
    return fake_session_stream(&session, n);
}

void open_engine(bool has_progress)
{
    fake_session_open(&session);
    session.has_progress = has_progress;
    engine = (struct etcd_engine){.base.ops = &ops, .loop = session.loop, .session = &session};
    cor_lock_init(&engine.lock, COR_LOCK_ETCD_ENGINE);
    cor_etcd_feeds_init(&engine);
    assert_int_equal(cor_etcd_feeds_start(&engine), 0);
}

void close_engine(void)
{
    cor_etcd_feeds_deinit(&engine);
    cor_lock_deinit(&engine.lock);
    fake_session_close(&session);
}

void sink_prepare(struct sink *sink, const struct cor_feed_opts *opts)
{
    struct cor_feed_opts own = *opts;

    own.on_batch = on_batch;
    own.on_broken = on_broken;
    own.on_closed = on_closed;
    own.arg = sink;
    *sink = (struct sink){.err = 0};
    cor_buf_init(&sink->text, 65536);
    assert_int_equal(cor_feed_open(&engine.base, &own, &sink->feed), 0);
}

void sink_open_with(struct sink *sink, const struct cor_feed_opts *opts)
{
    sink_prepare(sink, opts);
    turn();
}

void sink_open(struct sink *sink, const char *key, const char *end, cor_rev from, size_t credit,
               bool with_prev)
{
    const struct cor_feed_opts opts = {
        .key = cor_strz(key),
        .end = cor_strz(end),
        .from = from,
        .credit = credit,
        .with_prev = with_prev,
    };

    sink_open_with(sink, &opts);
}

void sink_close(struct sink *sink)
{
    cor_feed_close(sink->feed);
    turn();
    assert_true(sink->closed);
    cor_buf_deinit(&sink->text);
}

void say_bytes(struct etcd_stream *stream, const void *p, size_t n)
{
    stream->cbs->on_message(stream->arg, cor_str(p, n));
}

void say_revision(struct etcd_stream *stream, int64_t rev)
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

void say(struct etcd_stream *stream, int64_t id, int64_t rev, bool is_fragment,
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

void say_control(struct etcd_stream *stream, int64_t id, bool created, int64_t rev,
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

void say_created(struct etcd_stream *stream, int64_t id, int64_t rev)
{
    say_control(stream, id, true, rev, NULL);
}

void cut(struct etcd_stream *stream)
{
    fake_stream_fail(stream, COR_GRPC_UNAVAILABLE, "connection lost", false);
    turn();
}

void assert_nth_watches(struct etcd_stream *stream, size_t n, const char *key, int64_t start,
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

void assert_watches(struct etcd_stream *stream, const char *key, int64_t start, bool prev)
{
    assert_nth_watches(stream, 0, key, start, prev);
}

struct etcd_stream *start_at_10(struct sink *sink, const char *key, const char *end, size_t credit)
{
    sink_open(sink, key, end, 0, credit, false);
    say_revision(stream_at(0), 10);
    assert_watches(stream_at(0), "", 11, false);
    return stream_at(0);
}
