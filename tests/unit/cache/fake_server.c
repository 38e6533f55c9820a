#include "fake_server.h"

#include <stdio.h>

#include "base/err.h"
#include "test.h"

static struct fake_server *of(struct cor_reflector_driver *d)
{
    return COR_CONTAINER_OF(d, struct fake_server, driver);
}

void trace_note(char trace[TRACE_MAX], const char *fmt, ...)
{
    size_t n = strlen(trace);
    va_list ap;

    if (n > 0)
        trace[n++] = ' ';
    va_start(ap, fmt);
    assert_true((size_t)vsnprintf(trace + n, TRACE_MAX - n, fmt, ap) < TRACE_MAX - n);
    va_end(ap);
}

static void on_list(struct cor_reflector_driver *d, const struct cor_list_options *opts)
{
    trace_note(of(d)->trace, "L(%.*s,%d)", COR_STR_ARG(opts->resource_version), (int)opts->limit);
}

static void on_watch(struct cor_reflector_driver *d, const struct cor_list_options *opts,
                     uint32_t timeout_s)
{
    uint32_t min_s = of(d)->timeout_min_s;

    assert_true(timeout_s >= min_s && timeout_s < 2 * min_s && opts->allow_bookmarks);
    trace_note(of(d)->trace, "%c(%.*s)", opts->send_initial_events == COR_TRUE ? 'S' : 'W',
               COR_STR_ARG(opts->resource_version));
}

static void on_cancel(struct cor_reflector_driver *d)
{
    trace_note(of(d)->trace, "cancel");
}

static void on_wake_at(struct cor_reflector_driver *d, uint64_t at_ms)
{
    of(d)->wake_ms = at_ms;
}

static const struct cor_reflector_driver_ops driver_ops = {on_list, on_watch, on_cancel,
                                                           on_wake_at};

void fake_server_init(struct fake_server *s, char trace[TRACE_MAX])
{
    *s = (struct fake_server){.driver = {&driver_ops},
                              .wake_ms = COR_REFLECTOR_NEVER,
                              .timeout_min_s = 300,
                              .trace = trace};
    cor_clock_manual_init(&s->clk, 1000, 0);
    trace[0] = '\0';
}

uint64_t fake_server_now(const struct fake_server *s)
{
    return cor_clock_mono_ms(&s->clk.clock);
}

struct cor_object *fake_object_json(const char *json, int rv)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_object *bare, *o, *keyed;

    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &bare, &status), 0);
    assert_int_equal(cor_object_at(bare, (cor_rev)rv, &o), 0);
    cor_object_unref(bare);
    if (cor_object_with_key(o, &keyed) < 0)
        return o;
    cor_object_unref(o);
    return keyed;
}

struct cor_object *fake_object(const char *name, int rv)
{
    char json[128];

    snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"%s\"}}", name);
    return fake_object_json(json, rv);
}

void fake_server_list(struct fake_server *s, const char *objects, const char *rv)
{
    struct cor_object *list[16];
    struct cor_list_page page = {.objects = list, .resource_version = cor_strz(rv)};
    struct cor_str rest = cor_strz(objects);

    while (rest.p && rest.n > 0) {
        struct cor_str word = cor_str_cut(&rest, ' ');
        char name[2] = {word.p[0], '\0'};

        list[page.n++] = fake_object(name, (int)strtol(word.p + 1, NULL, 10));
    }
    cor_reflector_list_page(s->to, fake_server_now(s), &page);
    for (size_t i = 0; i < page.n; i++)
        cor_object_unref(list[i]);
}

static void fill(struct cor_status *status, int err)
{
    if (err == -COR_EEXPIRED)
        cor_status_expired(status, "too old resource version");
    else if (err == -COR_EFUTURE)
        cor_status_too_large_rv(status, 10, 1, 1);
    else
        cor_status_set(status, err, "%s", cor_err_text(err));
}

void fake_server_list_fails(struct fake_server *s, int err)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};

    fill(&status, err);
    cor_reflector_list_failed(s->to, fake_server_now(s), &status);
}

void fake_server_opened(struct fake_server *s)
{
    cor_reflector_watch_opened(s->to, fake_server_now(s));
}

void fake_server_ended(struct fake_server *s, int err)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};

    if (err < 0)
        fill(&status, err);
    cor_reflector_watch_ended(s->to, fake_server_now(s), err < 0 ? &status : NULL);
}

void fake_server_object(struct fake_server *s, enum cor_watch_type type, struct cor_object *object)
{
    const struct cor_reflector_event e = {.type = type, .object = object};

    cor_reflector_watch_event(s->to, fake_server_now(s), &e);
}

void fake_server_event(struct fake_server *s, enum cor_watch_type type, const char *name, int rv)
{
    struct cor_object *o = fake_object(name, rv);

    fake_server_object(s, type, o);
    cor_object_unref(o);
}

void fake_server_bookmark(struct fake_server *s, int rv, bool ends_initial)
{
    struct cor_object *o = fake_object_json(
        ends_initial ? "{\"metadata\":{\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}"
                     : "{\"metadata\":{}}",
        rv);

    fake_server_object(s, COR_WATCH_BOOKMARK, o);
    cor_object_unref(o);
}

void fake_server_error(struct fake_server *s, int err)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    const struct cor_reflector_event e = {.type = COR_WATCH_ERROR, .status = &status};

    fill(&status, err);
    cor_reflector_watch_event(s->to, fake_server_now(s), &e);
}

static void tick(struct fake_server *s)
{
    s->wake_ms = COR_REFLECTOR_NEVER;
    cor_reflector_tick(s->to, fake_server_now(s));
}

void fake_server_pass(struct fake_server *s, uint64_t ms)
{
    cor_clock_manual_advance(&s->clk, ms);
    if (s->wake_ms <= fake_server_now(s))
        tick(s);
}

void fake_server_wake(struct fake_server *s)
{
    assert_true(s->wake_ms != COR_REFLECTOR_NEVER);
    if (s->wake_ms > fake_server_now(s))
        cor_clock_manual_advance(&s->clk, s->wake_ms - fake_server_now(s));
    tick(s);
}

static struct cor_str rv_of(const struct cor_object *o)
{
    return o ? cor_object_resource_version(o) : COR_STR("?");
}

static void on_add(void *arg, struct cor_object *o, bool in_initial_list)
{
    const struct listener *l = arg;

    trace_note(l->trace, "%sadd(%.*s%.*s%s)", l->prefix, COR_STR_ARG(cor_object_name(o)),
               COR_STR_ARG(rv_of(o)), in_initial_list ? "!" : "");
}

static void on_update(void *arg, struct cor_object *old, struct cor_object *o)
{
    const struct listener *l = arg;

    trace_note(l->trace, "%supdate(%.*s%.*s-%.*s)", l->prefix, COR_STR_ARG(cor_object_name(o)),
               COR_STR_ARG(rv_of(old)), COR_STR_ARG(rv_of(o)));
}

static void on_delete(void *arg, struct cor_str key, struct cor_object *o, bool unknown)
{
    const struct listener *l = arg;

    trace_note(l->trace, "%s%s(%.*s%.*s)", l->prefix, unknown ? "lost" : "delete", COR_STR_ARG(key),
               COR_STR_ARG(rv_of(o)));
}

struct cor_handler_fns listener_handler(struct listener *l)
{
    return (struct cor_handler_fns){on_add, on_update, on_delete, NULL, l};
}
