/* A control loop over the scripted port's clock, with a source FOR Pods. What is called is written
 * down as text (`said`); reconciles are under way until the test ends them. Nothing sleeps.
 * Owner: the test.  Thread: the test's. */
#ifndef COR_TEST_CONTROL_FIXTURE_H
#define COR_TEST_CONTROL_FIXTURE_H

#include <stdio.h>

#include "base/err.h"
#include "kit/controller/control_loop.h"
#include "scripted_port.h"
#include "test.h"

struct bench {
    struct scripted_port sp;
    struct cor_control_loop_opts opts;
    struct cor_control_loop *l;
    struct cor_control_source *main;
    char said[2048];
    struct cor_reconcile *under_way[8];
    size_t n; /* of under_way, oldest first */
    struct cor_reconcile_result at_once;
    bool ends_at_once; /* each reconcile, with `at_once` */
    bool stops_itself; /* a reconcile stops the loop with no time left */
    bool is_stopped;
    struct cor_api_request request;
};

static inline void say(struct bench *b, const char *fmt, ...)
{
    size_t n = strlen(b->said);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(b->said + n, sizeof(b->said) - n, fmt, ap);
    va_end(ap);
}

static inline void assert_said(struct bench *b, const char *expected)
{
    assert_string_equal(b->said, expected);
    b->said[0] = '\0';
}

static inline void on_wake_at(void *arg, uint64_t at_ms)
{
    scripted_wake_at(&((struct bench *)arg)->sp, at_ms);
}

static inline void on_wake(void *arg)
{
    cor_control_loop_tick(((struct bench *)arg)->l);
}

static inline void reconcile(void *arg, struct cor_reconcile *rec)
{
    struct bench *b = arg;

    say(b, "%.*s%s%.*s ", COR_STR_ARG(rec->ns), rec->ns.n ? "/" : "", COR_STR_ARG(rec->name));
    if (b->stops_itself)
        cor_control_loop_stop(b->l, 0);
    if (b->ends_at_once) {
        cor_reconcile_done(rec, &b->at_once);
        return;
    }
    assert_true(b->n < COR_ARRAY_LEN(b->under_way));
    b->under_way[b->n++] = rec;
}

static inline void on_cancel(void *arg, struct cor_reconcile *rec)
{
    assert_true(rec->is_cancelled);
    say(arg, "cancel:%.*s ", COR_STR_ARG(rec->name));
}

static inline void on_report(void *arg, const struct cor_control_report *report)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf line;

    cor_buf_init(&line, 512);
    assert_int_equal(cor_control_report_print(report, &line), 0);
    say(arg, "[%s] ", cor_buf_z(&line));
}

static inline void on_stopped(void *arg, const struct cor_status *why)
{
    struct bench *b = arg;

    assert_false(b->is_stopped);
    assert_true(b->sp.wake_ms == UINT64_MAX);
    b->is_stopped = true;
    say(b, "stopped%s%s ", why ? ": " : "", why ? cor_status_message(why) : "");
}

static inline void bench_init(struct bench *b)
{
    *b = (struct bench){0};
    scripted_port_init(&b->sp);
    b->sp.on_wake = on_wake;
    b->sp.arg = b;
    b->opts = (struct cor_control_loop_opts){.clock = &b->sp.clock.clock,
                                             .wake_at = on_wake_at,
                                             .reconcile = reconcile,
                                             .on_cancel = on_cancel,
                                             .on_report = on_report,
                                             .on_stopped = on_stopped,
                                             .arg = b};
}

static const struct cor_control_source_opts for_pods = {
    .kind = COR_CONTROL_FOR, .gk = {.group = {"", 0}, .kind = {"Pod", 3}}};

static inline void bench_make(struct bench *b)
{
    assert_int_equal(cor_control_loop_new(&b->opts, &b->l, NULL), 0);
    assert_int_equal(cor_control_loop_add_source(b->l, &for_pods, &b->main, NULL), 0);
}

/* Turns without time. */
static inline void turn(struct bench *b)
{
    scripted_run(&b->sp, 0);
}

static inline void bench_run(struct bench *b)
{
    bench_make(b);
    cor_control_loop_source_synced(b->l, b->main);
    assert_int_equal(cor_control_loop_start(b->l, NULL), 0);
    turn(b);
}

static inline void bench_begin(struct bench *b)
{
    bench_init(b);
    bench_run(b);
}

static inline void add(struct bench *b, const char *name)
{
    assert_int_equal(cor_control_loop_enqueue(b->l, COR_STR("ns"), cor_strz(name), 0), 0);
}

/* Ends the oldest reconcile. */
static inline void finish(struct bench *b, struct cor_reconcile_result result)
{
    struct cor_reconcile *rec = b->under_way[0];

    assert_true(b->n > 0);
    memmove(b->under_way, b->under_way + 1, --b->n * sizeof(b->under_way[0]));
    cor_reconcile_done(rec, &result);
}

#define OK      ((struct cor_reconcile_result){0})
#define FAILURE ((struct cor_reconcile_result){.err = -COR_EIO})

static inline void bench_end(struct bench *b)
{
    if (!b->is_stopped) {
        cor_control_loop_stop(b->l, 1000);
        while (b->n > 0)
            finish(b, OK);
        turn(b);
    }
    assert_true(b->is_stopped);
    cor_control_loop_free(b->l);
    scripted_port_deinit(&b->sp);
}

static inline struct cor_object *object_of(const char *json)
{
    struct cor_object *object = NULL;

    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    return object;
}

static inline int feed(struct bench *b, const struct cor_control_source *source,
                       enum cor_control_event_kind kind, const char *old_json, const char *json)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *old = old_json ? object_of(old_json) : NULL;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = object_of(json);
    const struct cor_control_event event = {.kind = kind, .object = object, .old = old};

    return cor_control_loop_event(b->l, source, &event);
}

#define POD(name) "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name "\"}}"

static inline size_t queued(struct bench *b)
{
    struct cor_control_loop_stats stats;

    cor_control_loop_stats(b->l, &stats);
    return stats.queue.depth + stats.queue.delayed;
}

#endif
