#include "stage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct cor_object *stage_pod(const char *ns, const char *name, const char *app)
{
    struct cor_object *object;
    char json[256];

    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"%s\",\"labels\":{\"app\":\"%s\"}}}",
             name, ns, app);
    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    return object;
}

void stage_begin(struct stage *s)
{
    struct cor_runtime_opts opts = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_PUMPED};

    *s = (struct stage){0};
    assert_int_equal(cor_clock_manual_new(&s->clock), 0);
    opts.clock = cor_clock_manual_peek(s->clock);
    assert_int_equal(cor_runtime_new(&opts, &s->rt), 0);
    assert_int_equal(cor_list_watch_script_new(&s->pods), 0);
}

void stage_end(struct stage *s)
{
    assert_null(cor_list_watch_script_free(s->pods));
    cor_runtime_free(s->rt);
    cor_clock_manual_free(s->clock);
}

void stage_put(struct stage *s, const char *ns, const char *name, const char *app)
{
    struct cor_object *object = stage_pod(ns, name, app);

    assert_int_equal(cor_list_watch_script_put(s->pods, object), 0);
    cor_object_unref(object);
}

void stage_pump(struct stage *s)
{
    assert_int_equal(cor_runtime_pump(s->rt), 0);
}

void stage_advance(struct stage *s, uint64_t ms)
{
    cor_clock_manual_advance(s->clock, ms);
    stage_pump(s);
}

void stage_note(struct stage *s, const char *fmt, ...)
{
    size_t n = strlen(s->seen);
    va_list args;

    va_start(args, fmt);
    vsnprintf(s->seen + n, sizeof(s->seen) - n, fmt, args);
    va_end(args);
}
