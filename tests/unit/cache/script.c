#include "script.h"

#include <stdio.h>

#include "base/mem.h"

static void note(struct script *s, const char *fmt, ...) COR_PRINTF(2, 3);

static void note(struct script *s, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(s->log + s->log_n, sizeof(s->log) - s->log_n, fmt, ap);
    va_end(ap);
    assert_true(n >= 0 && s->log_n + (size_t)n < sizeof(s->log));
    s->log_n += (size_t)n;
}

static void maybe_stop(struct script *s, const char *op)
{
    if (s->stop_op && strcmp(s->stop_op, op) == 0)
        cor_reflector_stop(s->r, s->now);
}

static int outcome(struct script *s, const char *op, struct cor_status *reterr)
{
    maybe_stop(s, op);
    if (s->fail_op && strcmp(s->fail_op, op) == 0)
        return cor_status_untyped(reterr, s->fail_err, "%s refused", op);
    return 0;
}

static void keep(char *to, size_t cap, struct cor_str from)
{
    assert_true(from.n < cap);
    memcpy(to, from.n > 0 ? from.p : "", from.n);
    to[from.n] = '\0';
}

static struct script *of_driver(struct cor_reflector_driver *d)
{
    return COR_CONTAINER_OF(d, struct script, driver);
}

static void take_request(struct script *s, enum script_request request,
                         const struct cor_list_options *opts)
{
    assert_int_equal(s->request, SCRIPT_NONE);
    s->request = request;
    keep(s->rv, sizeof(s->rv), opts->resource_version);
    keep(s->token, sizeof(s->token), opts->continue_token);
    s->limit = opts->limit;
}

static void on_list(struct cor_reflector_driver *d, const struct cor_list_options *opts)
{
    struct script *s = of_driver(d);

    take_request(s, SCRIPT_LIST, opts);
    assert_false(opts->watch);
    assert_int_equal(opts->resource_version_match.n, 0); /* Contract client 1.14.3. */
    if (s->token[0])
        note(s, "L(%s,%d,%s) ", s->rv, (int)s->limit, s->token);
    else
        note(s, "L(%s,%d) ", s->rv, (int)s->limit);
    maybe_stop(s, "list");
}

static void on_watch(struct cor_reflector_driver *d, const struct cor_list_options *opts,
                     uint32_t timeout_s)
{
    struct script *s = of_driver(d);
    bool stream = opts->send_initial_events == COR_TRUE;

    take_request(s, stream ? SCRIPT_STREAM : SCRIPT_WATCH, opts);
    assert_true(opts->watch);
    assert_true(opts->allow_bookmarks);
    assert_str(opts->resource_version_match, stream ? "NotOlderThan" : "");
    s->timeout_s = timeout_s;
    note(s, "%s(%s) ", stream ? "S" : "W", s->rv);
    maybe_stop(s, "watch");
}

static void on_cancel(struct cor_reflector_driver *d)
{
    struct script *s = of_driver(d);

    assert_int_not_equal(s->request, SCRIPT_NONE);
    s->request = SCRIPT_NONE;
    note(s, "cancel ");
    maybe_stop(s, "cancel");
}

static void on_wake_at(struct cor_reflector_driver *d, uint64_t at_ms)
{
    struct script *s = of_driver(d);

    assert_true(at_ms == COR_REFLECTOR_NEVER || at_ms >= s->now);
    s->wake_ms = at_ms;
    maybe_stop(s, "wake_at");
}

static const struct cor_reflector_driver_ops driver_ops = {
    .list = on_list,
    .watch = on_watch,
    .cancel = on_cancel,
    .wake_at = on_wake_at,
};

static struct script *of_store(struct cor_reflector_store *store)
{
    return COR_CONTAINER_OF(store, struct script, store);
}

static void note_object(struct script *s, const char *op, const struct cor_object *object)
{
    struct cor_str ns = cor_object_namespace(object);

    note(s, "%s(%.*s%s%.*s@%llu) ", op, COR_STR_ARG(ns), ns.n > 0 ? "/" : "",
         COR_STR_ARG(cor_object_name(object)), (unsigned long long)object->rev);
}

static size_t find(const struct script_content *c, const struct cor_object *object)
{
    size_t i = 0;

    while (i < c->n &&
           !(cor_str_eq(cor_object_name(c->nodes[i]->object), cor_object_name(object)) &&
             cor_str_eq(cor_object_namespace(c->nodes[i]->object), cor_object_namespace(object))))
        i++;
    return i;
}

static int put(struct script_content *c, struct cor_object *object)
{
    size_t i = find(c, object);

    if (i == c->n) {
        struct script_node *node = cor_alloc(sizeof(*node));

        if (!node)
            return -COR_ENOMEM;
        assert_true(c->n < SCRIPT_OBJECTS_MAX);
        c->nodes[c->n++] = node;
    } else {
        cor_object_unref(c->nodes[i]->object);
    }
    c->nodes[i]->object = cor_object_ref(object);
    return 0;
}

static void drop(struct script_content *c, size_t i)
{
    cor_object_unref(c->nodes[i]->object);
    cor_free(c->nodes[i]);
    c->nodes[i] = c->nodes[--c->n];
}

static void drop_all(struct script_content *c)
{
    while (c->n > 0)
        drop(c, c->n - 1);
}

static void keep_at(struct script *s, struct cor_reflector_at at)
{
    keep(s->store_rv, sizeof(s->store_rv), at.rv);
    s->store_rev = at.rev;
}

static int change(struct script *s, const char *op, struct cor_object *object,
                  struct cor_reflector_at at, struct cor_status *reterr)
{
    int r;

    assert_false(s->staging);
    note_object(s, op, object);
    r = outcome(s, op, reterr);
    if (r < 0)
        return r;
    if (strcmp(op, "del") != 0)
        r = put(&s->content, object);
    else if (find(&s->content, object) < s->content.n)
        drop(&s->content, find(&s->content, object));
    if (r < 0)
        return cor_status_set(reterr, r, "%s", op);
    keep_at(s, at);
    return 0;
}

static int on_add(struct cor_reflector_store *store, struct cor_str key, struct cor_object *object,
                  struct cor_reflector_at at, struct cor_status *reterr)
{
    return change(of_store(store), "add", object, at, reterr);
}

static int on_update(struct cor_reflector_store *store, struct cor_str key,
                     struct cor_object *object, struct cor_reflector_at at,
                     struct cor_status *reterr)
{
    return change(of_store(store), "update", object, at, reterr);
}

static int on_del(struct cor_reflector_store *store, struct cor_str key, struct cor_object *object,
                  struct cor_reflector_at at, struct cor_status *reterr)
{
    if (!object) {
        note(of_store(store), "del(%.*s) ", COR_STR_ARG(key));
        keep_at(of_store(store), at);
        return 0;
    }
    return change(of_store(store), "del", object, at, reterr);
}

static void on_bookmark(struct cor_reflector_store *store, struct cor_reflector_at at)
{
    struct script *s = of_store(store);

    assert_false(s->staging);
    keep_at(s, at);
    note(s, "bookmark(%s) ", s->store_rv);
    maybe_stop(s, "bookmark");
}

static int on_begin(struct cor_reflector_store *store, struct cor_status *reterr)
{
    struct script *s = of_store(store);
    int r;

    assert_false(s->staging);
    note(s, "begin ");
    r = outcome(s, "begin", reterr);
    s->staging = r == 0;
    return r;
}

static int on_stage(struct cor_reflector_store *store, struct cor_str key,
                    struct cor_object *object, struct cor_status *reterr)
{
    struct script *s = of_store(store);
    int r;

    assert_true(s->staging);
    note_object(s, "stage", object);
    r = outcome(s, "stage", reterr);
    if (r < 0)
        return r;
    r = put(&s->staged, object);
    return r < 0 ? cor_status_set(reterr, r, "stage") : 0;
}

static int on_commit(struct cor_reflector_store *store, struct cor_reflector_at at,
                     struct cor_status *reterr)
{
    struct script *s = of_store(store);
    int r;

    assert_true(s->staging);
    s->staging = false;
    note(s, "commit(%.*s) ", COR_STR_ARG(at.rv));
    r = outcome(s, "commit", reterr);
    if (r == 0) {
        drop_all(&s->content);
        s->content = s->staged;
        s->staged.n = 0;
        s->commits++;
        keep_at(s, at);
    }
    drop_all(&s->staged);
    return r;
}

static void on_abort(struct cor_reflector_store *store)
{
    struct script *s = of_store(store);

    assert_true(s->staging);
    s->staging = false;
    drop_all(&s->staged);
    note(s, "abort ");
}

static int on_resync(struct cor_reflector_store *store, struct cor_status *reterr)
{
    struct script *s = of_store(store);

    assert_false(s->staging);
    note(s, "resync ");
    return outcome(s, "resync", reterr);
}

static const struct cor_reflector_store_ops store_ops = {
    .add = on_add,
    .update = on_update,
    .del = on_del,
    .bookmark = on_bookmark,
    .replace_begin = on_begin,
    .replace_add = on_stage,
    .replace_commit = on_commit,
    .replace_abort = on_abort,
    .resync = on_resync,
};

static bool should_resync(void *arg)
{
    return !((struct script *)arg)->refuse_resync;
}

static void on_round_end(void *arg, const struct cor_status *error)
{
    struct script *s = arg;

    note(s, "end(%s) ", error ? cor_status_message(error) : "");
    maybe_stop(s, "end");
}

static void on_report(void *arg, enum cor_reflector_report what, const struct cor_status *status)
{
    static const char *const names[] = {
        [COR_REFLECTOR_UNEXPECTED_TYPE] = "UNEXPECTED_TYPE",
        [COR_REFLECTOR_UNREADABLE] = "UNREADABLE",
        [COR_REFLECTOR_UNKNOWN_EVENT] = "UNKNOWN_EVENT",
        [COR_REFLECTOR_STORE_FAILED] = "STORE_FAILED",
        [COR_REFLECTOR_RESYNC_FAILED] = "RESYNC_FAILED",
        [COR_REFLECTOR_WATCH_EXPIRED] = "WATCH_EXPIRED",
        [COR_REFLECTOR_WATCH_FAILED] = "WATCH_FAILED",
        [COR_REFLECTOR_WATCH_RETRY] = "WATCH_RETRY",
        [COR_REFLECTOR_WATCH_SILENT] = "WATCH_SILENT",
        [COR_REFLECTOR_STREAM_FAILED] = "STREAM_FAILED",
        [COR_REFLECTOR_STREAM_RETRY] = "STREAM_RETRY",
        [COR_REFLECTOR_STREAM_LATE] = "STREAM_LATE",
        [COR_REFLECTOR_SLOW] = "SLOW",
    };
    struct script *s = arg;

    assert_non_null(status);
    assert_int_not_equal(status->err, 0);
    note(s, "say(%s) ", names[what]);
    maybe_stop(s, "say");
}

void script_init(struct script *s)
{
    memset(s, 0, sizeof(*s));
    s->driver.ops = &driver_ops;
    s->store.ops = &store_ops;
    s->now = 1000000;
    s->wake_ms = COR_REFLECTOR_NEVER;
    cor_rand_init_seeded(&s->rand, 1);
    s->opts = (struct cor_reflector_opts){
        .name = COR_STR("test"),
        .rand = &s->rand,
        .should_resync = should_resync,
        .resync_arg = s,
        .on_round_end = on_round_end,
        .on_report = on_report,
        .arg = s,
    };
}

int script_new(struct script *s)
{
    return cor_reflector_new(&s->opts, &s->driver, &s->store, &s->r);
}

void script_start(struct script *s)
{
    assert_int_equal(script_new(s), 0);
    cor_reflector_start(s->r, s->now);
}

void script_deinit(struct script *s)
{
    s->stop_op = NULL;
    if (s->r)
        cor_reflector_stop(s->r, s->now);
    assert_int_equal(s->request, SCRIPT_NONE);
    assert_false(s->staging);
    assert_true(s->wake_ms == COR_REFLECTOR_NEVER);
    s->r = cor_reflector_free(s->r);
    drop_all(&s->content);
    drop_all(&s->staged);
}

void script_forget(struct script *s)
{
    s->log_n = 0;
    s->log[0] = '\0';
}

void script_expect(struct script *s, const char *want)
{
    if (s->log_n > 0)
        s->log[s->log_n - 1] = '\0';
    assert_string_equal(s->log, want);
    script_forget(s);
}

struct cor_object *script_json(const char *json, cor_rev rev)
{
    struct cor_object *object = NULL;
    struct cor_status st = {0};

    if (cor_object_from_stored(cor_strz(json), rev, &object, NULL, &st) < 0)
        fail_msg("%s: %s", json, cor_status_message(&st));
    return object;
}

struct cor_object *script_object(const char *key, cor_rev rev)
{
    const char *slash = strchr(key, '/');
    char json[256], ns[96] = "";

    if (slash)
        snprintf(ns, sizeof(ns), ",\"namespace\":\"%.*s\"", (int)(slash - key), key);
    snprintf(json, sizeof(json),
             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\"%s}}",
             slash ? slash + 1 : key, ns);
    return script_json(json, rev);
}

static size_t parse_items(const char *items, struct cor_object **ret)
{
    struct cor_str rest = cor_strz(items);
    size_t n = 0;

    while (rest.n > 0) {
        struct cor_str rev = cor_str_cut(&rest, ' ');
        struct cor_str name = cor_str_cut(&rev, '@');
        char key[64];
        uint64_t number;

        keep(key, sizeof(key), name);
        assert_int_equal(cor_str_to_u64(rev, &number), 0);
        ret[n++] = script_object(key, number);
    }
    return n;
}

static void give_page(struct script *s, const char *items, struct cor_list_page page)
{
    struct cor_object *objects[SCRIPT_OBJECTS_MAX] = {0};

    assert_int_equal(s->request, SCRIPT_LIST);
    page.objects = objects;
    page.n = parse_items(items, objects);
    if (!page.more_parts)
        s->request = SCRIPT_NONE;
    cor_reflector_list_page(s->r, s->now, &page);
    for (size_t i = 0; i < page.n; i++)
        cor_object_unref(objects[i]);
}

void script_page(struct script *s, const char *items, const char *rv, const char *token)
{
    struct cor_list_page page = {.resource_version = cor_strz(rv),
                                 .continue_token = cor_strz(token)};

    give_page(s, items, page);
}

void script_part(struct script *s, const char *items)
{
    struct cor_list_page page = {.more_parts = true};

    give_page(s, items, page);
}

void script_list_fails_with(struct script *s, const struct cor_status *st)
{
    assert_int_equal(s->request, SCRIPT_LIST);
    s->request = SCRIPT_NONE;
    cor_reflector_list_failed(s->r, s->now, st);
}

void script_list_fails(struct script *s, int err)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

    cor_status_set(&st, err, "%s", cor_err_name(err));
    script_list_fails_with(s, &st);
}

static bool is_watch(const struct script *s)
{
    return s->request == SCRIPT_WATCH || s->request == SCRIPT_STREAM;
}

void script_opened(struct script *s)
{
    assert_true(is_watch(s));
    cor_reflector_watch_opened(s->r, s->now);
}

static void give(struct script *s, enum cor_watch_type type, struct cor_object *take_object)
{
    struct cor_reflector_event event = {.type = type, .object = take_object};

    assert_true(is_watch(s));
    cor_reflector_watch_event(s->r, s->now, &event);
    cor_object_unref(take_object);
}

void script_event(struct script *s, enum cor_watch_type type, const char *key, cor_rev rev)
{
    give(s, type, script_object(key, rev));
}

void script_event_json(struct script *s, enum cor_watch_type type, const char *json, cor_rev rev)
{
    give(s, type, script_json(json, rev));
}

void script_end_bookmark(struct script *s, cor_rev rev)
{
    script_event_json(s, COR_WATCH_BOOKMARK,
                      "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
                      "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}",
                      rev);
}

void script_error_event(struct script *s, int err)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    struct cor_reflector_event event = {.type = COR_WATCH_ERROR, .status = &st};

    assert_true(is_watch(s));
    cor_status_set(&st, err, "%s", cor_err_name(err));
    cor_reflector_watch_event(s->r, s->now, &event);
}

void script_ended(struct script *s, int err)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

    assert_true(is_watch(s));
    s->request = SCRIPT_NONE;
    cor_status_set(&st, err, "%s", cor_err_name(err));
    cor_reflector_watch_ended(s->r, s->now, err < 0 ? &st : NULL);
}

uint64_t script_tick(struct script *s)
{
    uint64_t from = s->now;

    assert_true(s->wake_ms != COR_REFLECTOR_NEVER);
    s->now = s->wake_ms;
    s->wake_ms = COR_REFLECTOR_NEVER;
    cor_reflector_tick(s->r, s->now);
    return s->now - from;
}

void script_to_watching(struct script *s)
{
    script_start(s);
    script_page(s, "a@1", "10", "");
    script_opened(s);
    script_forget(s);
}
