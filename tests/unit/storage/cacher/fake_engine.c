#include "fake_engine.h"

#include <stdio.h>

#include "base/mem.h"
#include "server/stored/kind_codec.h"
#include "storage/engine/feed.h"

#define MAIL_MAX 65536

static struct cor_lock lock = COR_LOCK_INITIALIZER(COR_LOCK_SQLITE_ENGINE);

struct fake_feed {
    struct cor_feed base;
    struct fake *f;
    struct cor_dlist link;
    struct cor_feed_opts opts;
    struct cor_mail mail;
    bool posted, closing, broken;
    size_t logged; /* of the engine's log, how much it has had */
    char *key, *end;
};

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

static int by_key(const void *a, const void *b)
{
    return cor_str_cmp(cor_kv_key(*(struct cor_kv *const *)a),
                       cor_kv_key(*(struct cor_kv *const *)b));
}

static bool within(struct cor_str key, struct cor_str begin, struct cor_str end)
{
    if (end.n == 0)
        return cor_str_eq(key, begin);
    return cor_str_cmp(key, begin) >= 0 && cor_str_cmp(key, end) < 0;
}

static bool hold(struct fake *f, struct cor_engine_req *req)
{
    if (!f->hold_next)
        return false;
    f->hold_next = false;
    f->held = req;
    return true;
}

static void fake_range(struct cor_engine *engine, struct cor_range_req *req)
{
    struct fake *f = (struct fake *)engine;

    req->req.op = COR_ENGINE_RANGE;
    if (hold(f, &req->req))
        return;
    req->ret_rev = f->rev;
    req->ret_kvs = cor_calloc(cor_map_len(&f->kvs) + 1, sizeof(struct cor_kv *));
    if (!req->ret_kvs) {
        cor_engine_req_done(&req->req, cor_status_set_err(&req->req.status, -COR_ENOMEM));
        return;
    }
    COR_MAP_FOREACH(it, &f->kvs) {
        if (within(it.key, req->key, req->end))
            req->ret_kvs[req->ret_nkvs++] = cor_kv_ref(it.value);
    }
    qsort(req->ret_kvs, req->ret_nkvs, sizeof(struct cor_kv *), by_key);
    req->ret_more = f->page_max > 0 && req->ret_nkvs > f->page_max;
    while (req->ret_more && req->ret_nkvs > f->page_max)
        cor_kv_unref(req->ret_kvs[--req->ret_nkvs]);
    cor_engine_req_done(&req->req, 0);
}

static void fake_submit(struct cor_engine *engine, struct cor_engine_req *req)
{
    struct fake *f = (struct fake *)engine;
    struct cor_engine_status_req *status = COR_CONTAINER_OF(req, struct cor_engine_status_req, req);

    assert_int_equal(req->op, COR_ENGINE_STATUS);
    f->statuses++;
    if (hold(f, req))
        return;
    status->ret_rev = f->rev;
    status->ret_compact_rev = f->compact_rev;
    cor_engine_req_done(req, f->status_err);
}

void fake_release(struct fake *f)
{
    struct cor_engine_req *req = f->held;

    assert_non_null(req);
    f->held = NULL;
    if (req->op == COR_ENGINE_RANGE)
        fake_range(&f->engine, COR_CONTAINER_OF(req, struct cor_range_req, req));
    else
        fake_submit(&f->engine, req);
}

/* A feed from a revision has what was logged since then, as far as its credit reaches. */
static struct cor_feed_batch next_batch(struct fake_feed *feed)
{
    const struct fake *f = feed->f;
    struct cor_feed_batch batch = {.upto = f->rev};

    if (feed->opts.from == 0)
        return batch;
    while (feed->logged < f->nlog && f->log[feed->logged].kv->mod_rev <= feed->opts.from)
        feed->logged++;
    batch.events = f->log + feed->logged;
    batch.nevents = f->nlog - feed->logged;
    if (batch.nevents > feed->opts.credit) {
        batch.nevents = feed->opts.credit;
        while (batch.nevents < f->nlog - feed->logged &&
               batch.events[batch.nevents].kv->mod_rev ==
                   batch.events[batch.nevents - 1].kv->mod_rev)
            batch.nevents++;
        batch.upto = batch.events[batch.nevents - 1].kv->mod_rev;
    }
    feed->logged += batch.nevents;
    feed->opts.credit -= batch.nevents < feed->opts.credit ? batch.nevents : feed->opts.credit;
    return batch;
}

/* What a feed from a revision may meet. */
static void break_if_due(struct fake_feed *feed)
{
    const struct fake *f = feed->f;
    int err = feed->opts.from < f->feed_compact_rev ? -COR_EEXPIRED : f->feed_err;

    if (feed->opts.from == 0 || err == 0)
        return;
    feed->broken = true;
    feed->opts.on_broken(feed->opts.arg, err, cor_err_text(err));
}

static void on_feed_mail(struct cor_mail *mail)
{
    struct fake_feed *feed = COR_CONTAINER_OF(mail, struct fake_feed, mail);

    feed->posted = false;
    if (!feed->closing && !feed->broken)
        break_if_due(feed);
    if (!feed->closing) {
        struct cor_feed_batch batch = next_batch(feed);

        if (!feed->broken)
            feed->opts.on_batch(feed->opts.arg, &batch);
        return;
    }
    cor_dlist_remove(&feed->link);
    feed->opts.on_closed(feed->opts.arg);
    cor_free(feed->key);
    cor_free(feed->end);
    cor_free(feed);
}

static void post(struct fake_feed *feed)
{
    if (feed->posted)
        return;
    feed->posted = true;
    cor_loop_post_always(feed->f->loop, &feed->mail);
}

/* Orders are taken at once: the tests have one thread. */
static void obey(struct cor_feed *base)
{
    struct fake_feed *feed = (struct fake_feed *)base;
    bool has_credit = base->credit_added > 0;

    if (feed->opts.from > 0)
        feed->opts.credit += base->credit_added;
    feed->closing = cor_feed_take_orders(base);
    if (!has_credit || feed->opts.from > 0)
        post(feed);
}

static int fake_feed_open(struct cor_engine *engine, const struct cor_feed_opts *opts,
                          struct cor_feed **ret_feed)
{
    struct fake_feed *feed;

    if (((struct fake *)engine)->refuse_feeds)
        return -COR_EBUSY;
    feed = cor_calloc(1, sizeof(*feed));
    if (!feed)
        return -COR_ENOMEM;
    feed->base.lock = &lock;
    feed->base.tell = obey;
    feed->f = (struct fake *)engine;
    feed->f->feeds_opened++;
    feed->opts = *opts;
    feed->key = cor_strndup(opts->key.p, opts->key.n);
    feed->end = cor_strndup(opts->end.p, opts->end.n);
    feed->opts.key.p = feed->key;
    feed->opts.end.p = feed->end;
    feed->mail.on_mail = on_feed_mail;
    cor_dlist_push(&feed->f->feeds, &feed->link);
    *ret_feed = &feed->base;
    return 0;
}

static const struct cor_engine_ops engine_ops = {
    .range = fake_range,
    .submit = fake_submit,
    .feed_open = fake_feed_open,
};

void fake_wait(struct fake *f, bool (*done)(void *arg), void *arg)
{
    if (!cor_loop_run_until(f->loop, done, arg, FAKE_TIMEOUT_MS))
        fail_msg("nothing after %d ms", FAKE_TIMEOUT_MS);
}

struct settling {
    struct cor_mail mail;
    struct fake *f;
    size_t left;
    bool done;
};

static void on_settling(struct cor_mail *mail)
{
    struct settling *s = COR_CONTAINER_OF(mail, struct settling, mail);

    s->done = --s->left == 0;
    if (!s->done)
        cor_loop_post_always(s->f->loop, mail);
}

/* Mail that mail causes comes in the next batch: some rounds are enough for every chain here. */
void fake_settle(struct fake *f)
{
    struct settling s = {.mail.on_mail = on_settling, .f = f, .left = 16};

    cor_loop_post_always(f->loop, &s.mail);
    fake_wait(f, is_true, &s.done);
}

static bool is_ready(void *arg)
{
    return cor_cacher_is_ready(arg);
}

void fake_wait_ready(struct fake *f)
{
    fake_wait(f, is_ready, f->cacher);
}

static void open_cacher(struct fake *f)
{
    struct cor_cacher_opts cacher = {.cachers = f->cachers,
                                     .store = f->store,
                                     .namespaced = true,
                                     .trigger_fields =
                                         (const char *const[]){"spec.nodeName", NULL}};

    assert_int_equal(cor_cacher_open(&cacher, &f->cacher, NULL), 0);
    assert_int_equal(cor_cacher_reader_new(f->cacher, f->store, &f->reader), 0);
    fake_wait_ready(f);
}

static void close_cacher(struct fake *f)
{
    bool closed = false;

    if (!f->cacher)
        return;
    f->reader = cor_reader_free(f->reader);
    cor_cacher_close(f->cacher, set_true, &closed);
    fake_wait(f, is_true, &closed);
    f->cacher = NULL;
}

void fake_restart(struct fake *f)
{
    close_cacher(f);
    open_cacher(f);
}

void fake_stop_cacher(struct fake *f)
{
    close_cacher(f);
}

void fake_start_cacher(struct fake *f)
{
    struct cor_cacher_opts cacher = {.cachers = f->cachers, .store = f->store, .namespaced = true};

    assert_int_equal(cor_cacher_open(&cacher, &f->cacher, NULL), 0);
    assert_int_equal(cor_cacher_reader_new(f->cacher, f->store, &f->reader), 0);
}

static void open_fake(struct fake *f, size_t bytes_max, struct cor_offload *offload)
{
    struct cor_store_opts store = {
        .engine = &f->engine,
        .resource_prefix = "/pods",
        .api_version = COR_STR("v1"),
        .kind = COR_STR("Pod"),
    };
    const struct cor_kind_codec_opts codec = {
        .api_version = store.api_version, .kind = store.kind, .old_rev = COR_REV_MAX};
    struct cor_cachers_opts cachers = {
        .offload = offload,
        .engine = &f->engine,
        .loops = &f->loop,
        .nloops = 1,
        .bytes_max = bytes_max,
        .clock = &f->clock.clock,
    };

    memset(f, 0, sizeof(*f));
    f->engine.ops = &engine_ops;
    f->engine.old_rev = COR_REV_MAX;
    f->rev = 1;
    cor_map_init(&f->kvs, 1u << 20);
    cor_dlist_init(&f->feeds);
    cor_clock_manual_init(&f->clock, 1000000, 0);
    assert_int_equal(cor_loop_new(MAIL_MAX, &f->loop), 0);
    store.loop = f->loop;
    if (offload)
        assert_int_equal(cor_kind_codec_new(&codec, &store.take_codec), 0);
    assert_int_equal(cor_store_new(&store, &f->store, NULL), 0);
    assert_int_equal(cor_cachers_open(&cachers, &f->cachers), 0);
    open_cacher(f);
}

void fake_open(struct fake *f, size_t bytes_max)
{
    open_fake(f, bytes_max, NULL);
}

void fake_open_old(struct fake *f, struct cor_offload *offload)
{
    open_fake(f, 0, offload);
}

void fake_close(struct fake *f)
{
    bool closed = false;

    close_cacher(f);
    cor_cachers_close(f->cachers, set_true, &closed);
    fake_wait(f, is_true, &closed);
    cor_store_free(f->store);
    for (size_t i = 0; i < f->nlog; i++) {
        cor_kv_unref(f->log[i].kv);
        cor_kv_unref(f->log[i].prev);
    }
    cor_free(f->log);
    COR_MAP_FOREACH(it, &f->kvs)
        cor_kv_unref(it.value);
    cor_map_deinit(&f->kvs);
    cor_loop_free(f->loop);
}

/* A feed from a revision gets the log as it is: all that is kept is of the resource. */
static void keep(struct fake *f, const struct cor_feed_event *events, size_t n)
{
    f->log = cor_realloc(f->log, (f->nlog + n + 1) * sizeof(*f->log));
    assert_non_null(f->log);
    for (size_t i = 0; i < n; i++) {
        f->log[f->nlog] = events[i];
        cor_kv_ref(events[i].kv);
        if (events[i].prev)
            cor_kv_ref(events[i].prev);
        f->nlog++;
    }
}

static void tell(struct fake *f, const struct cor_feed_event *events, size_t n)
{
    struct cor_feed_batch batch = {.events = events, .nevents = n, .upto = f->rev};

    if (f->keeps_history &&
        (n == 0 || cor_str_starts(cor_kv_key(events[0].kv), COR_STR("/registry/"))))
        keep(f, events, n);
    COR_DLIST_FOREACH(link, &f->feeds) {
        struct fake_feed *feed = COR_CONTAINER_OF(link, struct fake_feed, link);

        if (!feed->broken && !feed->closing && feed->opts.from == 0 &&
            (n == 0 || within(cor_kv_key(events[0].kv), feed->opts.key, feed->opts.end)))
            feed->opts.on_batch(feed->opts.arg, &batch);
    }
}

/* The event of a put at the engine's revision; its `prev` is the caller's to release. */
static struct cor_feed_event put(struct fake *f, const char *ns, const char *name, const char *node,
                                 const char *more)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf value = {.max = 1u << 20};
    struct cor_feed_event event = {0};
    char key[128];

    snprintf(key, sizeof(key), "/registry/pods/%s/%s", ns, name);
    if (f->junk && strcmp(name, f->junk) == 0)
        assert_int_equal(cor_buf_addz(&value, "junk"), 0);
    else
        assert_int_equal(
            cor_buf_addf(
                &value,
                "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{%s%s%s\"name\":\"%s\","
                "\"namespace\":\"%s\"},\"spec\":{\"more\":\"%s\",\"nodeName\":\"%s\"}}",
                f->labels ? "\"labels\":" : "", f->labels ? f->labels : "", f->labels ? "," : "",
                name, ns, more ? more : "", node ? node : ""),
            0);
    event.prev = cor_map_peek(&f->kvs, cor_strz(key));
    event.kv = cor_kv_new(cor_strz(key), cor_buf_str(&value),
                          event.prev ? event.prev->create_rev : f->rev, f->rev, 0);
    assert_non_null(event.kv);
    assert_int_equal(cor_map_put(&f->kvs, cor_kv_key(event.kv), event.kv, NULL), 0);
    if (f->brings_objects)
        assert_int_equal(
            cor_object_parse(cor_buf_str(&value), NULL, NULL, NULL, &event.kv->object, NULL), 0);
    return event;
}

cor_rev fake_put(struct fake *f, const char *ns, const char *name, const char *node,
                 const char *more)
{
    struct cor_feed_event event;

    f->rev++;
    event = put(f, ns, name, node, more);
    tell(f, &event, 1);
    cor_kv_unref(event.prev);
    return f->rev;
}

cor_rev fake_put_two(struct fake *f, const char *ns, const char *name, const char *other,
                     const char *node)
{
    struct cor_feed_event events[2];

    f->rev++;
    events[0] = put(f, ns, name, node, NULL);
    events[1] = put(f, ns, other, node, NULL);
    tell(f, events, 2);
    cor_kv_unref(events[0].prev);
    cor_kv_unref(events[1].prev);
    return f->rev;
}

/* The event of a deletion at the engine's revision, which is the caller's to release. */
static struct cor_feed_event take_out(struct fake *f, const char *ns, const char *name)
{
    struct cor_feed_event event = {.deleted = true};
    char key[128];

    snprintf(key, sizeof(key), "/registry/pods/%s/%s", ns, name);
    event.prev = cor_map_remove(&f->kvs, cor_strz(key));
    assert_non_null(event.prev);
    event.kv = cor_kv_new(cor_strz(key), cor_str("", 0), 0, f->rev, 0);
    assert_non_null(event.kv);
    return event;
}

cor_rev fake_delete(struct fake *f, const char *ns, const char *name)
{
    struct cor_feed_event event;

    f->rev++;
    event = take_out(f, ns, name);
    tell(f, &event, 1);
    cor_kv_unref(event.kv);
    cor_kv_unref(event.prev);
    return f->rev;
}

static cor_rev change_many(struct fake *f, const char *ns, size_t n, const char *node, bool deletes)
{
    struct cor_feed_event *events = cor_calloc(n, sizeof(*events));

    assert_non_null(events);
    f->rev++;
    for (size_t i = 0; i < n; i++) {
        char name[24];

        snprintf(name, sizeof(name), "p%03zu", i);
        events[i] = deletes ? take_out(f, ns, name) : put(f, ns, name, node, NULL);
    }
    tell(f, events, n);
    for (size_t i = 0; i < n; i++) {
        if (deletes)
            cor_kv_unref(events[i].kv);
        cor_kv_unref(events[i].prev);
    }
    cor_free(events);
    return f->rev;
}

cor_rev fake_put_many(struct fake *f, const char *ns, size_t n, const char *node)
{
    return change_many(f, ns, n, node, false);
}

cor_rev fake_delete_many(struct fake *f, const char *ns, size_t n)
{
    return change_many(f, ns, n, NULL, true);
}

cor_rev fake_bump(struct fake *f)
{
    f->rev++;
    tell(f, NULL, 0);
    return f->rev;
}

/* Only the caches' own feed is over all keys. */
void fake_compact(struct fake *f, cor_rev rev)
{
    struct cor_feed_event event = {0};
    char text[24];

    snprintf(text, sizeof(text), "%llu", (unsigned long long)rev);
    f->compact_rev = f->feed_compact_rev = rev;
    f->rev++;
    event.kv = cor_kv_new(COR_COMPACT_KEY, cor_strz(text), f->rev, f->rev, 0);
    assert_non_null(event.kv);
    tell(f, &event, 1);
    cor_kv_unref(event.kv);
}

void fake_break(struct fake *f)
{
    COR_DLIST_FOREACH(link, &f->feeds) {
        struct fake_feed *feed = COR_CONTAINER_OF(link, struct fake_feed, link);

        feed->broken = true;
        feed->opts.on_broken(feed->opts.arg, -COR_EIO, "the disk is gone");
    }
}

static void on_open(void *arg, int err, struct cor_status *status)
{
    struct fake_watch *w = arg;

    w->opened++;
    if (err == 0)
        return;
    w->refused = true;
    w->error = status->code;
    w->retry_s = status->retry_after_s;
}

static void on_event(void *arg, const struct cor_reader_event *event)
{
    struct fake_watch *w = arg;

    assert_false(w->ended || w->error);
    assert_int_equal(w->opened, 1);
    if (!event) {
        w->ended = true;
        return;
    }
    if (event->type == COR_WATCH_ERROR) {
        w->error = event->status->code;
        snprintf(w->message, sizeof(w->message), "%s", cor_status_message(event->status));
        return;
    }
    if (event->type == COR_WATCH_BOOKMARK) {
        assert_true(event->rev >= w->last && event->rev >= w->bookmark);
        w->bookmarks++;
        w->n_before_bookmark = w->n;
        w->bookmark = event->rev;
        w->initial_end = strstr(event->object->bytes, "initial-events-end") != NULL;
        return;
    }
    assert_true(w->bookmarks == 0 || event->rev > w->bookmark);
    w->n++;
    w->last_type = event->type;
    w->last = event->rev;
    if (w->on_each)
        w->on_each(w);
    if (w->pause_each || w->n == w->pause_at)
        cor_watch_pause(w->watch);
}

struct cor_reader_watch_opts fake_watch_opts(struct fake_watch *w, const char *rv,
                                             const char *fields)
{
    static const struct cor_field_label known[] = {
        {.label = "metadata.name"}, {.label = "metadata.namespace"}, {.label = "spec.nodeName"}};
    static const struct cor_field_labels table = {known, COR_ARRAY_LEN(known), NULL};

    memset(w, 0, sizeof(*w));
    assert_int_equal(
        cor_predicate_parse(cor_str("", 0), cor_strz(fields), &table, &w->predicate, NULL), 0);
    return (struct cor_reader_watch_opts){
        .options = {.recursive = true, .resource_version = cor_strz(rv)},
        .predicate = &w->predicate,
        .on_open = on_open,
        .on_event = on_event,
        .arg = w,
    };
}

void fake_watch_open(struct fake *f, struct fake_watch *w, const char *key,
                     struct cor_reader_watch_opts *opts)
{
    w->f = f;
    assert_int_equal(cor_reader_watch(f->reader, cor_strz(key), opts, &w->watch, NULL), 0);
}

void fake_watch_close(struct fake_watch *w)
{
    cor_watch_close(w->watch, set_true, &w->closed);
    fake_wait(w->f, is_true, &w->closed);
    cor_predicate_deinit(&w->predicate);
}
