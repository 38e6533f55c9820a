/* A garbage collector over the scripted port: objects are shown to it as its feeds would, and its
 * requests are compared. Included by the tests of the collector's requests.
 * Owner: the test.  Thread: the test's. */
#ifndef COR_TEST_GC_FIXTURE_H
#define COR_TEST_GC_FIXTURE_H

#include <stdio.h>

#include "base/err.h"
#include "scripted_port.h"
#include "server/controllers/gc/garbage_collector.h"
#include "test.h"

enum { MAPS, PODS, NODES, THINGS, UNFOLLOWED, BETA_THINGS, KINDS };

#define RESOURCE(group_, plural_, kind_, is_namespaced_)                                           \
    {                                                                                              \
        .gvr = {COR_STR_INIT(group_), COR_STR_INIT("v1"), COR_STR_INIT(plural_)},                  \
        .kind = COR_STR_INIT(kind_), .is_namespaced = is_namespaced_, .is_preferred = true         \
    }

static const struct cor_port_resource served[KINDS] = {
    [MAPS] = RESOURCE("", "configmaps", "ConfigMap", true),
    [PODS] = RESOURCE("", "pods", "Pod", true),
    [NODES] = RESOURCE("", "nodes", "Node", false),
    [THINGS] = RESOURCE("example.com", "things", "Thing", true),
    [UNFOLLOWED] = RESOURCE("example.com", "notes", "Note", true),
    [BETA_THINGS] = {.gvr = {COR_STR_INIT("example.com"), COR_STR_INIT("v1beta1"),
                             COR_STR_INIT("things")},
                     .kind = COR_STR_INIT("Thing"),
                     .is_namespaced = true},
};

#define OBJECT_IN(ns, name, uid, rv, more)                                                         \
    "{\"kind\":\"Any\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                       \
    "\",\"namespace\":\"" ns "\",\"resourceVersion\":\"" rv "\",\"uid\":\"" uid "\"" more "}}"
#define OBJECT(name, uid, rv, more) OBJECT_IN("default", name, uid, rv, more)
#define REFS(list)                  ",\"ownerReferences\":[" list "]"
#define REF_TO(api_version, kind, name, uid, more)                                                 \
    "{\"apiVersion\":\"" api_version "\",\"kind\":\"" kind "\",\"name\":\"" name                   \
    "\",\"uid\":\"" uid "\"" more "}"
#define REF(name, uid)      REF_TO("v1", "ConfigMap", name, uid, "")
#define BLOCKS              ",\"blockOwnerDeletion\":true"
#define BLOCKING(name, uid) REF_TO("v1", "ConfigMap", name, uid, BLOCKS)
#define DELETING            ",\"deletionTimestamp\":\"2023-11-14T22:13:20Z\""
#define FINALIZERS(list)    ",\"finalizers\":[" list "]"
#define FOREGROUND          DELETING FINALIZERS("\"foregroundDeletion\"")
#define ORPHAN              DELETING FINALIZERS("\"orphan\"")
#define OWNER(more)         OBJECT("o", "u-o", "3", more)
#define DEPENDENT(rv, refs) OBJECT("d", "u-d", rv, REFS(refs))

struct world {
    struct scripted_port sp;
    struct cor_gc *gc;
    struct cor_gc_followed *followed[KINDS];
    char reports[2048], events[1024];
    bool is_stopped;
};

static inline void on_wake(void *arg)
{
    struct world *w = arg;

    cor_gc_tick(w->gc);
}

static inline void wake_at(void *arg, uint64_t at_ms)
{
    struct world *w = arg;

    scripted_wake_at(&w->sp, at_ms);
}

static inline void on_wrong_namespace(void *arg, const struct cor_gc_identity *dependent,
                                      struct cor_str message)
{
    struct world *w = arg;
    size_t n = strlen(w->events);

    snprintf(w->events + n, sizeof(w->events) - n, "%.*s: %.*s\n", COR_STR_ARG(dependent->name),
             COR_STR_ARG(message));
}

static inline void on_report(void *arg, const struct cor_control_report *report)
{
    struct world *w = arg;
    size_t n = strlen(w->reports);

    snprintf(w->reports + n, sizeof(w->reports) - n, "%s\n",
             report->why ? cor_status_message(report->why) : cor_err_text(report->err));
}

static inline void on_stopped(void *arg, const struct cor_status *why)
{
    struct world *w = arg;

    assert_null(why);
    w->is_stopped = true;
}

/* A collector that follows the resources, has listed none, and was not started. */
static inline void make_world(struct world *w)
{
    const struct cor_gc_opts opts = {.port = &w->sp.port,
                                     .clock = &w->sp.clock.clock,
                                     .wake_at = wake_at,
                                     .on_wrong_namespace = on_wrong_namespace,
                                     .on_report = on_report,
                                     .on_stopped = on_stopped,
                                     .arg = w};
    struct cor_api_resources *resources;

    *w = (struct world){0};
    scripted_port_init(&w->sp);
    w->sp.on_wake = on_wake;
    w->sp.arg = w;
    assert_int_equal(cor_gc_new(&opts, &w->gc, NULL), 0);
    assert_int_equal(cor_api_resources_new(served, KINDS, NULL, 0, &resources), 0);
    cor_gc_set_resources(w->gc, resources);
    cor_api_resources_unref(resources);
    for (int kind = 0; kind < UNFOLLOWED; kind++)
        assert_int_equal(cor_gc_follow(w->gc, &served[kind], &w->followed[kind]), 0);
}

/* A collector that has listed everything, and found nothing. */
static inline void open_world(struct world *w)
{
    make_world(w);
    for (int kind = 0; kind < UNFOLLOWED; kind++) {
        cor_gc_list_begun(w->followed[kind]);
        cor_gc_list_done(w->followed[kind]);
    }
    assert_int_equal(cor_gc_start(w->gc, NULL), 0);
    scripted_run(&w->sp, 0);
}

static inline void close_world(struct world *w)
{
    cor_gc_stop(w->gc, 1000);
    scripted_run(&w->sp, 1000);
    assert_true(w->is_stopped);
    w->gc = cor_gc_free(w->gc);
    scripted_port_deinit(&w->sp);
}

static inline void change(struct world *w, int kind, const char *json, bool is_gone)
{
    struct cor_object *object = NULL;
    int r = -COR_ENOMEM;

    /* A feed that has no memory shows the object again. */
    for (int tries = 0; r == -COR_ENOMEM && tries < 2; tries++) {
        r = cor_object_from_json(cor_strz(json), &object, NULL);
        if (r == 0 && is_gone)
            cor_gc_gone(w->followed[kind], object);
        else if (r == 0)
            r = cor_gc_show(w->followed[kind], object);
        object = cor_object_unref(object);
    }
    assert_int_equal(r, 0);
}

static inline void show(struct world *w, int kind, const char *json)
{
    change(w, kind, json, false);
}

static inline void gone(struct world *w, int kind, const char *json)
{
    change(w, kind, json, true);
}

static inline void run_and_expect(struct world *w, uint64_t ms, const char *log)
{
    scripted_run(&w->sp, ms);
    scripted_assert_log(&w->sp, log);
}

/* The log has this line alone, as often as it may be. */
static inline void run_and_expect_only(struct world *w, uint64_t ms, const char *line)
{
    scripted_run(&w->sp, ms);
    for (const char *at = w->sp.log; *at; at += strlen(line))
        assert_int_equal(strncmp(at, line, strlen(line)), 0);
    w->sp.log[0] = '\0';
}

/* The owner exists, and the pod d, which names it rightly, has let the collector look it up. */
static inline void show_owner_and_dependent(struct world *w)
{
    show(w, MAPS, OWNER(""));
    show(w, PODS, DEPENDENT("5", BLOCKING("o", "u-o")));
    scripted_answer(&w->sp, 0, OWNER(""));
    run_and_expect(w, 0, "GET v1 configmaps default/o\n");
}

#endif
