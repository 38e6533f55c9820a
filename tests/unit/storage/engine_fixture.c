#include "engine_fixture.h"

#include <stdio.h>
#include <time.h>

#include "base/mem.h"

static size_t under_way;

void fx_on_done(struct cor_engine_req *req)
{
    under_way--;
}

static bool none_under_way(void *arg)
{
    return under_way == 0;
}

void fx_wait(struct fx *fx)
{
    assert_true(cor_loop_run_until(fx->loop, none_under_way, NULL, FX_TIMEOUT_MS));
}

static void open_engine(struct fx *fx)
{
    struct cor_engine_config config = {
        .backend = "sqlite", .data_dir = fx->dir, .clock = &fx->clock.clock};
    struct cor_status st;
    int r;

    cor_status_init(&st);
    r = cor_engine_open(&config, &fx->engine, &st);
    if (r < 0)
        fail_msg("open %s: %s", fx->dir, cor_status_message(&st));
}

void fx_open(struct fx *fx, const char *dir)
{
    under_way = 0;
    fx->dir = dir;
    cor_clock_manual_init(&fx->clock, 1000, 1700000000000);
    assert_int_equal(cor_loop_new(100000, &fx->loop), 0);
    open_engine(fx);
}

void fx_close(struct fx *fx)
{
    fx->engine = cor_engine_close(fx->engine);
    fx->loop = cor_loop_free(fx->loop);
}

void fx_reopen(struct fx *fx)
{
    cor_engine_close(fx->engine);
    open_engine(fx);
}

int fx_open_fails(const char *dir, bool read_only, struct cor_status *st)
{
    struct cor_engine_config config = {
        .backend = "sqlite", .data_dir = dir, .read_only = read_only};
    struct cor_engine *engine;
    int r;

    cor_status_init(st);
    r = cor_engine_open(&config, &engine, st);
    if (r == 0)
        cor_engine_close(engine);
    return r;
}

void fx_submit_write(struct fx *fx, struct cor_write_req *w)
{
    under_way++;
    cor_engine_write(fx->engine, w);
}

static int run_write(struct fx *fx, struct cor_write_req *w, cor_rev *ret_rev)
{
    int r;

    fx_submit_write(fx, w);
    fx_wait(fx);
    r = w->req.result;
    if (r == 0 && ret_rev)
        *ret_rev = w->ret_rev;
    cor_write_req_deinit(w);
    return r;
}

int fx_put_lease(struct fx *fx, const char *key, const char *value, cor_rev expected, int64_t lease,
                 cor_rev *ret_rev)
{
    struct cor_write_req w;

    cor_write_req_init(&w, fx->loop, fx_on_done);
    w.key = cor_strz(key);
    w.value = cor_strz(value);
    w.expected = expected;
    w.lease = lease;
    return run_write(fx, &w, ret_rev);
}

int fx_put(struct fx *fx, const char *key, const char *value, cor_rev expected, cor_rev *ret_rev)
{
    return fx_put_lease(fx, key, value, expected, 0, ret_rev);
}

int fx_delete(struct fx *fx, const char *key, cor_rev expected, cor_rev *ret_rev)
{
    struct cor_write_req w;

    cor_write_req_init(&w, fx->loop, fx_on_done);
    w.key = cor_strz(key);
    w.is_delete = true;
    w.expected = expected;
    return run_write(fx, &w, ret_rev);
}

int64_t fx_lease(struct fx *fx, int64_t ttl_s)
{
    struct cor_lease_req req = {.ttl_s = ttl_s};
    int r;

    cor_engine_req_init(&req.req, fx->loop, fx_on_done);
    under_way++;
    cor_engine_lease(fx->engine, &req);
    fx_wait(fx);
    r = req.req.result;
    cor_engine_req_deinit(&req.req);
    assert_true((r == 0) == (req.ret_id != 0));
    return r < 0 ? r : req.ret_id;
}

int fx_compact(struct fx *fx, cor_rev rev)
{
    struct cor_compact_req req = {.rev = rev};

    cor_engine_req_init(&req.req, fx->loop, fx_on_done);
    under_way++;
    cor_engine_compact(fx->engine, &req);
    fx_wait(fx);
    cor_engine_req_deinit(&req.req);
    return req.req.result;
}

int fx_status(struct fx *fx, struct cor_engine_status_req *req)
{
    memset(req, 0, sizeof(*req));
    cor_engine_req_init(&req->req, fx->loop, fx_on_done);
    under_way++;
    cor_engine_status(fx->engine, req);
    fx_wait(fx);
    return req->req.result;
}

cor_rev fx_rev(struct fx *fx)
{
    struct cor_engine_status_req req;

    fx_status(fx, &req);
    cor_engine_req_deinit(&req.req);
    return req.ret_rev;
}

void fx_range_init(struct fx *fx, struct cor_range_req *req, const char *key, const char *end)
{
    cor_range_req_init(req, fx->loop, fx_on_done);
    req->key = cor_strz(key);
    req->end = cor_strz(end);
}

int fx_range(struct fx *fx, struct cor_range_req *req)
{
    under_way++;
    cor_engine_range(fx->engine, req);
    fx_wait(fx);
    return req->req.result;
}

const char *fx_list(struct fx *fx, const char *key, const char *end, cor_rev at)
{
    static char text[4096];
    struct cor_range_req req;
    size_t n = 0;

    fx_range_init(fx, &req, key, end);
    req.at = at;
    text[0] = '\0';
    if (fx_range(fx, &req) < 0)
        snprintf(text, sizeof(text), "%s", cor_err_name(req.req.result));
    for (size_t i = 0; i < req.ret_nkvs && n < sizeof(text); i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s=%.*s@%llu", i ? " " : "",
                              COR_STR_ARG(cor_kv_key(req.ret_kvs[i])),
                              COR_STR_ARG(cor_kv_value(req.ret_kvs[i])),
                              (unsigned long long)req.ret_kvs[i]->mod_rev);
    cor_range_req_deinit(&req);
    return text;
}

static void copy_text(char *to, size_t size, struct cor_str from)
{
    size_t n = from.n < size ? from.n : size - 1;

    memcpy(to, from.p, n);
    to[n] = '\0';
}

static void add_event(struct sink *sink, const struct cor_feed_event *event)
{
    struct sink_event *to;

    if (sink->n == sink->cap) {
        sink->cap = sink->cap ? sink->cap * 2 : 64;
        sink->events = cor_realloc(sink->events, sink->cap * sizeof(*sink->events));
    }
    to = &sink->events[sink->n++];
    copy_text(to->key, sizeof(to->key), cor_kv_key(event->kv));
    copy_text(to->value, sizeof(to->value), cor_kv_value(event->kv));
    copy_text(to->prev, sizeof(to->prev), event->prev ? cor_kv_value(event->prev) : COR_STR("-"));
    to->rev = event->kv->mod_rev;
    to->deleted = event->deleted;
}

static void on_batch(void *arg, const struct cor_feed_batch *batch)
{
    struct sink *sink = arg;

    pthread_mutex_lock(&sink->lock);
    for (size_t i = 0; i < batch->nevents; i++)
        add_event(sink, &batch->events[i]);
    sink->upto = batch->upto;
    sink->batches++;
    sink->empty_batches += batch->nevents == 0;
    pthread_cond_broadcast(&sink->changed);
    pthread_mutex_unlock(&sink->lock);
}

static void on_broken(void *arg, int err, const char *message)
{
    struct sink *sink = arg;

    pthread_mutex_lock(&sink->lock);
    sink->broken = err;
    pthread_cond_broadcast(&sink->changed);
    pthread_mutex_unlock(&sink->lock);
}

static void on_closed(void *arg)
{
    struct sink *sink = arg;

    pthread_mutex_lock(&sink->lock);
    sink->closed = true;
    pthread_cond_broadcast(&sink->changed);
    pthread_mutex_unlock(&sink->lock);
}

void sink_open(struct sink *sink, struct fx *fx, const char *key, const char *end, cor_rev from,
               size_t credit)
{
    struct cor_feed_opts opts = {
        .key = cor_strz(key),
        .end = cor_strz(end),
        .from = from,
        .credit = credit,
        .on_batch = on_batch,
        .on_broken = on_broken,
        .on_closed = on_closed,
        .arg = sink,
    };

    memset(sink, 0, sizeof(*sink));
    pthread_mutex_init(&sink->lock, NULL);
    pthread_cond_init(&sink->changed, NULL);
    assert_int_equal(cor_feed_open(fx->engine, &opts, &sink->feed), 0);
}

static bool wait_for(struct sink *sink, bool (*is)(const struct sink *sink, uint64_t n), uint64_t n)
{
    struct timespec until;
    bool ok;
    int r = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FX_TIMEOUT_MS / 1000;
    pthread_mutex_lock(&sink->lock);
    while (!(ok = is(sink, n)) && r == 0)
        r = pthread_cond_timedwait(&sink->changed, &sink->lock, &until);
    pthread_mutex_unlock(&sink->lock);
    return ok;
}

static bool is_closed(const struct sink *sink, uint64_t n)
{
    return sink->closed;
}

static bool has_events(const struct sink *sink, uint64_t n)
{
    return sink->n >= n;
}

static bool is_upto(const struct sink *sink, uint64_t n)
{
    return sink->upto >= n;
}

static bool is_broken(const struct sink *sink, uint64_t n)
{
    return sink->broken < 0;
}

void sink_close(struct sink *sink)
{
    cor_feed_close(sink->feed);
    assert_true(wait_for(sink, is_closed, 0));
    cor_free(sink->events);
    pthread_cond_destroy(&sink->changed);
    pthread_mutex_destroy(&sink->lock);
}

void sink_wait_events(struct sink *sink, size_t n)
{
    assert_true(wait_for(sink, has_events, n));
}

void sink_wait_upto(struct sink *sink, cor_rev rev)
{
    assert_true(wait_for(sink, is_upto, rev));
}

void sink_wait_broken(struct sink *sink, int err)
{
    assert_true(wait_for(sink, is_broken, 0));
    assert_int_equal(sink->broken, err);
}

const char *sink_text(struct sink *sink)
{
    static char text[4096];
    size_t n = 0;

    text[0] = '\0';
    pthread_mutex_lock(&sink->lock);
    for (size_t i = 0; i < sink->n && n < sizeof(text); i++) {
        const struct sink_event *e = &sink->events[i];
        const char *space = i ? " " : "";
        unsigned long long rev = e->rev;

        if (e->deleted)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s-%s@%llu(%s)", space, e->key, rev,
                                  e->prev);
        else if (strcmp(e->prev, "-") == 0)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s+%s=%s@%llu", space, e->key,
                                  e->value, rev);
        else
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s=%s@%llu(%s)", space, e->key,
                                  e->value, rev, e->prev);
    }
    pthread_mutex_unlock(&sink->lock);
    return text;
}
