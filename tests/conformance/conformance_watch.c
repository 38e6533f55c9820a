#include "conformance.h"

static void event_deinit(struct conf_event *e)
{
    cor_object_unref(e->object);
    cor_status_deinit(&e->status);
}

static void on_event(void *arg, const struct cor_reader_event *event)
{
    struct conf_watch *w = arg;
    struct conf_event *e;

    assert_false(w->ended);
    w->ended = !event;
    if (!event)
        return;
    if (w->has_progress && event->type == COR_WATCH_BOOKMARK && w->n > w->at &&
        w->events[w->n - 1].type == COR_WATCH_BOOKMARK)
        event_deinit(&w->events[--w->n]);
    e = &w->events[w->n++];
    assert_true(w->n < COR_ARRAY_LEN(w->events));
    assert_false(w->closed);
    if (w->n > 1)
        assert_int_not_equal(w->events[w->n - 2].type, COR_WATCH_ERROR);
    *e = (struct conf_event){.type = event->type, .rev = event->rev};
    cor_status_init(&e->status);
    if (event->status)
        cor_status_move(&e->status, event->status);
    e->object = event->object ? cor_object_ref(event->object) : NULL;
    if (e->type == COR_WATCH_DELETED && e->object->rev != e->rev) {
        struct cor_object *stored = e->object;

        assert_non_null(w->reader_watch);
        assert_int_equal(cor_object_at(stored, e->rev, &e->object), 0);
        cor_object_unref(stored);
    }
}

static void on_open(void *arg, int err, struct cor_status *status)
{
    struct conf_watch *w = arg;

    assert_int_equal(err, 0);
    assert_int_equal(w->n, 0);
}

static int open_on_reader(struct conf *c, struct conf_watch *w, const char *key,
                          const struct cor_store_watch_opts *opts, struct cor_status *status)
{
    struct cor_reader_watch_opts own = {
        .options = opts->options,
        .predicate = opts->predicate,
        .on_open = on_open,
        .on_event = on_event,
        .arg = w,
    };

    return cor_reader_watch(c->reader, cor_strz(key), &own, &w->reader_watch, status);
}

void conf_watch_open(struct conf *c, struct conf_watch *w, const char *key,
                     const struct cor_store_watch_opts *opts)
{
    struct cor_store_watch_opts own = *opts;
    struct cor_status status;
    int r;

    *w = (struct conf_watch){.c = c, .has_progress = opts->progress_ms > 0};
    own.on_event = on_event;
    own.arg = w;
    cor_status_init(&status);
    if (c->reader && opts->progress_ms == 0)
        r = open_on_reader(c, w, key, opts, &status);
    else
        r = cor_store_watch_open(c->store, cor_strz(key), &own, &w->watch, &status);
    if (r < 0)
        fail_msg("%s", cor_status_message(&status));
}

static bool has_next(void *arg)
{
    struct conf_watch *w = arg;

    return w->at < w->n;
}

const struct conf_event *conf_watch_next(struct conf_watch *w)
{
    if (!cor_loop_run_until(w->c->loop, has_next, w, CONF_TIMEOUT_MS))
        fail_msg("no event after %d ms", CONF_TIMEOUT_MS);
    return &w->events[w->at++];
}

static const char *type_name(enum cor_watch_type type)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};

    return names[type];
}

const struct conf_event *conf_watch_expect(struct conf_watch *w, enum cor_watch_type type,
                                           const char *name, cor_rev rev)
{
    const struct conf_event *e = conf_watch_next(w);

    if (e->type != type)
        fail_msg("expected %s %s, got %s %s %s", type_name(type), name ? name : "",
                 type_name(e->type), e->object ? e->object->bytes : "",
                 e->type == COR_WATCH_ERROR ? cor_status_message(&e->status) : "");
    if (name && !cor_str_eqz(cor_object_name(e->object), name))
        fail_msg("expected %s, got %s", name, e->object->bytes);
    if (rev > 0) {
        assert_int_equal(e->rev, rev);
        assert_int_equal(e->object->rev, rev);
    }
    return e;
}

static bool nothing_more(void *arg)
{
    struct conf_watch *w = arg;

    if (w->n > w->at)
        return true;
    cor_store_watch_progress(w->watch);
    return false;
}

/* The cache is written before a write is acknowledged, and the loop told before the writer: after
 * some writes a watch has had its turns. */
static void expect_silence(struct conf_watch *w)
{
    for (int i = 0; i < 4; i++)
        conf_bump(w->c);
    if (w->n > w->at)
        fail_msg("unexpected %s %s", type_name(w->events[w->at].type),
                 w->events[w->at].object ? w->events[w->at].object->bytes : "");
}

/* The request counts only once the watch is live: it is repeated. */
void conf_watch_expect_idle(struct conf_watch *w)
{
    if (w->reader_watch) {
        expect_silence(w);
        return;
    }
    if (!cor_loop_run_until(w->c->loop, nothing_more, w, CONF_TIMEOUT_MS))
        fail_msg("no bookmark after %d ms", CONF_TIMEOUT_MS);
    conf_watch_expect(w, COR_WATCH_BOOKMARK, NULL, 0);
}

static void on_closed(void *arg)
{
    ((struct conf_watch *)arg)->closed = true;
}

void conf_watch_pause(struct conf_watch *w)
{
    if (w->reader_watch)
        cor_watch_pause(w->reader_watch);
    else
        cor_store_watch_pause(w->watch);
}

void conf_watch_resume(struct conf_watch *w)
{
    if (w->reader_watch)
        cor_watch_resume(w->reader_watch);
    else
        cor_store_watch_resume(w->watch);
}

void conf_watch_close(struct conf_watch *w)
{
    if (w->reader_watch)
        cor_watch_close(w->reader_watch, on_closed, w);
    else
        cor_store_watch_close(w->watch, on_closed, w);
    conf_wait(w->c, &w->closed);
    for (size_t i = 0; i < w->n; i++)
        event_deinit(&w->events[i]);
}
