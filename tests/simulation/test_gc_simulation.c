/* Histories of the garbage collector, from a seed: random graphs of owners over two namespaces and
 * four kinds, deletions with each policy, foreign finalizers, references that are written again,
 * cycles and references to itself, wrong coordinates, slow and failing requests, feeds that lose
 * their watch, lists that fail in the middle, and restarts of the collector.
 *
 * At each deletion by the collector: no owner of the object is alive. When an orphan finalizer
 * goes: no dependent that the collector knew still has the reference. When all is quiet: nothing is
 * left that has no living owner, and no deletion waits for the collector. After all objects were
 * deleted: the collector's memory is empty.
 *
 * The second test lets the model make mistakes in the place of the collector: each must be found.
 *
 * COR_SIM_HISTORIES: how many (100); COR_SIM_SEED: this one alone. */
#include <stdio.h>

#include "base/err.h"
#include "gc_model.h"
#include "server/controllers/gc/garbage_collector.h"
#include "sim_check.h"
#include "test.h"

#define EVENTS_MAX 4096
#define QUIET_MS   (3u * 3600 * 1000) /* longer than several of the longest delays of a queue */
#define STEPS_MAX  200

struct history;

/* What a watch will show. */
struct feed_event {
    struct cor_object *object;
    int place;
    bool is_deleted;
};

/* The feed of one kind: a watch with a delay, which may be lost, and lists. */
struct feed {
    struct sim_event deliver, relist;
    struct history *h;
    int kind;
    struct cor_gc_followed *followed;
    struct feed_event *events; /* EVENTS_MAX, as a ring */
    size_t head, n;
    bool is_watching;
};

struct history {
    struct sim_time time;
    struct model model;
    struct cor_gc *gc;
    struct sim_event tick, step, restart;
    struct feed feeds[MODEL_KINDS];
    size_t nsteps, steps_max, nwrong;
    bool has_chaos; /* watches are lost, requests fail, the collector restarts */
    bool is_stopping, is_stopped;
};

static void collector_start(struct history *h);

/* The feeds. */

static void feed_drop(struct feed *f)
{
    for (; f->n > 0; f->n--, f->head = (f->head + 1) % EVENTS_MAX)
        cor_object_unref(f->events[f->head].object);
    sim_cancel(&f->h->time, &f->deliver);
}

static void feed_note_shown(struct feed *f, int place, const struct cor_object *object)
{
    struct model_object *o = &f->h->model.objects[place];
    COR_CLEANUP(cor_object_unrefp) struct cor_object *now = NULL;

    if (!o->exists)
        return;
    now = model_json(&f->h->model, place);
    if (!cor_str_eq(cor_object_uid(now), cor_object_uid(object)))
        return;
    if (o->shown_ms == 0 && object->rev >= o->refs_rv)
        o->shown_ms = sim_now(&f->h->time);
    if (o->gone_shown_ms == 0 && cor_gc_deletion(object).is_begun)
        o->gone_shown_ms = sim_now(&f->h->time);
}

static void feed_on_deliver(struct sim_event *event)
{
    struct feed *f = COR_CONTAINER_OF(event, struct feed, deliver);
    struct feed_event e = f->events[f->head];
    enum model_fault fault = f->h->model.fault;

    assert_true(f->n > 0 && f->is_watching);
    f->head = (f->head + 1) % EVENTS_MAX;
    f->n--;
    if (e.is_deleted) {
        if (fault != MODEL_LOSES_DELETIONS)
            cor_gc_gone(f->followed, e.object);
    } else if (fault != MODEL_LOSES_CHANGES || f->h->model.objects[e.place].shown_ms == 0) {
        assert_int_equal(cor_gc_show(f->followed, e.object), 0);
        feed_note_shown(f, e.place, e.object);
    }
    cor_object_unref(e.object);
    if (f->n > 0)
        sim_in(&f->h->time, &f->deliver, 0, f->h->model.delay_max_ms);
}

static void model_on_change(void *arg, int place, bool is_deleted, struct cor_object *take_object)
{
    struct history *h = arg;
    struct feed *f = &h->feeds[model_kind_of(place)];

    if (!f->is_watching) {
        cor_object_unref(take_object);
        return;
    }
    assert_true(f->n < EVENTS_MAX);
    f->events[(f->head + f->n++) % EVENTS_MAX] =
        (struct feed_event){take_object, place, is_deleted};
    if (f->n == 1)
        sim_in(&h->time, &f->deliver, 0, h->model.delay_max_ms);
}

/* A list, which may fail in the middle; then another one follows. */
static void feed_on_relist(struct sim_event *event)
{
    struct feed *f = COR_CONTAINER_OF(event, struct feed, relist);
    struct history *h = f->h;
    bool fails = h->has_chaos && sim_chance(&h->time, 20);

    cor_gc_list_begun(f->followed);
    for (int place = 0; place < MODEL_PLACES; place++) {
        struct cor_object *object;

        if (model_kind_of(place) != f->kind || !h->model.objects[place].exists)
            continue;
        if (fails && sim_chance(&h->time, 30)) {
            sim_in(&h->time, &f->relist, 0, 1000);
            return;
        }
        object = model_json(&h->model, place);
        assert_int_equal(cor_gc_show(f->followed, object), 0);
        feed_note_shown(f, place, object);
        cor_object_unref(object);
    }
    cor_gc_list_done(f->followed);
    f->is_watching = true;
}

/* The watch breaks: what it has not shown is lost. */
static void feed_lose(struct feed *f)
{
    feed_drop(f);
    f->is_watching = false;
    sim_in(&f->h->time, &f->relist, 0, 2000);
}

/* The collector. */

static void collector_wake_at(void *arg, uint64_t at_ms)
{
    struct history *h = arg;

    if (at_ms == UINT64_MAX)
        sim_cancel(&h->time, &h->tick);
    else
        sim_at(&h->time, &h->tick, at_ms > sim_now(&h->time) ? at_ms : sim_now(&h->time));
}

static void collector_on_tick(struct sim_event *event)
{
    cor_gc_tick(COR_CONTAINER_OF(event, struct history, tick)->gc);
}

static void collector_on_wrong_namespace(void *arg, const struct cor_gc_identity *dependent,
                                         struct cor_str message)
{
    struct history *h = arg;

    h->nwrong++;
}

static void collector_on_stopped(void *arg, const struct cor_status *why)
{
    struct history *h = arg;

    assert_null(why);
    h->is_stopped = true;
    if (h->has_chaos)
        sim_in(&h->time, &h->restart, 0, 3000);
}

static struct cor_api_resources *model_resource_list(struct cor_port_resource list[MODEL_KINDS])
{
    struct cor_api_resources *resources;

    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        struct cor_gv gv;

        assert_int_equal(cor_gv_parse(cor_strz(model_api_versions[kind]), &gv, NULL), 0);
        list[kind] = (struct cor_port_resource){
            .gvr = {gv.group, gv.version, cor_strz(model_resources[kind])},
            .kind = cor_strz(model_kinds[kind]),
            .is_namespaced = model_namespace_of(model_place(kind, 0, 0)) >= 0,
            .is_preferred = true,
        };
    }
    assert_int_equal(cor_api_resources_new(list, MODEL_KINDS, NULL, 0, &resources), 0);
    return resources;
}

static void collector_start(struct history *h)
{
    const struct cor_gc_opts opts = {
        .port = &h->model.port,
        .clock = &h->time.clk.clock,
        .wake_at = collector_wake_at,
        .on_wrong_namespace = collector_on_wrong_namespace,
        .on_stopped = collector_on_stopped,
        .arg = h,
    };
    struct cor_port_resource list[MODEL_KINDS];
    struct cor_api_resources *resources = model_resource_list(list);

    h->is_stopping = h->is_stopped = false;
    assert_int_equal(cor_gc_new(&opts, &h->gc, NULL), 0);
    cor_gc_set_resources(h->gc, resources);
    cor_api_resources_unref(resources);
    for (int place = 0; place < MODEL_PLACES; place++)
        h->model.objects[place].shown_ms = h->model.objects[place].gone_shown_ms = 0;
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        struct feed *f = &h->feeds[kind];

        assert_int_equal(cor_gc_follow(h->gc, &list[kind], &f->followed), 0);
        sim_in(&h->time, &f->relist, 0, 1000);
    }
    assert_int_equal(cor_gc_start(h->gc, NULL), 0);
}

static void collector_stop(struct history *h)
{
    if (h->is_stopping)
        return;
    h->is_stopping = true;
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        struct feed *f = &h->feeds[kind];

        feed_drop(f);
        f->is_watching = false;
        sim_cancel(&h->time, &f->relist);
    }
    cor_gc_stop(h->gc, 1000);
}

static void on_restart(struct sim_event *event)
{
    struct history *h = COR_CONTAINER_OF(event, struct history, restart);

    h->gc = cor_gc_free(h->gc);
    collector_start(h);
}

/* What users do. */

static size_t choose_refs(struct history *h, int place, struct model_ref refs[MODEL_REFS_MAX])
{
    struct sim_time *t = &h->time;
    size_t n = sim_chance(t, 25) ? 0 : (size_t)sim_between(t, 1, MODEL_REFS_MAX);
    int ns = model_namespace_of(place);

    for (size_t i = 0; i < n; i++) {
        int kind = (int)sim_between(t, 0, MODEL_KINDS - 1);
        /* Mostly owners that may be named: in the namespace of the dependent. */
        int owner_ns = ns >= 0 && sim_chance(t, 92) ? ns : (int)sim_between(t, 0, 1);
        const struct model_object *o;

        if (ns < 0 && sim_chance(t, 90))
            kind = MODEL_KINDS - 1;
        refs[i].place = model_place(kind, owner_ns, (int)sim_between(t, 0, MODEL_NAMES - 1));
        o = &h->model.objects[refs[i].place];
        refs[i].uid =
            o->exists && sim_chance(t, 95) ? o->uid : 100000 + (unsigned)sim_between(t, 0, 9);
        refs[i].blocks = sim_chance(t, 50);
        /* Right uid, wrong name. */
        if (sim_chance(t, 4))
            refs[i].place = model_place(kind, owner_ns, (int)sim_between(t, 0, MODEL_NAMES - 1));
        for (size_t k = 0; k < i; k++) {
            if (refs[k].uid == refs[i].uid)
                return i; /* Two references with one uid are merged by the server. */
        }
    }
    return n;
}

static void user_step(struct history *h)
{
    static const char *const policies[] = {"Background", "Foreground", "Orphan"};
    struct sim_time *t = &h->time;
    int place = (int)sim_between(t, 0, MODEL_PLACES - 1);
    struct model_object *o = &h->model.objects[place];
    struct model_ref refs[MODEL_REFS_MAX];
    size_t n;

    if (!o->exists) {
        n = choose_refs(h, place, refs);
        model_create(&h->model, place, refs, n);
        return;
    }
    switch (sim_between(t, 0, 9)) {
    case 0:
    case 1:
    case 2:
        model_delete(&h->model, place, policies[sim_between(t, 0, 2)]);
        break;
    case 3:
    case 4:
        n = choose_refs(h, place, refs);
        if (sim_chance(t, 10)) {
            refs[0] = (struct model_ref){place, o->uid, sim_chance(t, 50)};
            n = n ? n : 1;
            for (size_t i = 1; i < n; i++)
                n = refs[i].uid == o->uid ? i : n;
        }
        model_set_refs(&h->model, place, refs, n);
        break;
    case 5:
        if (!o->is_terminating)
            model_set_finalizers(&h->model, place, o->finalizers | MODEL_FOREIGN);
        break;
    case 6:
    case 7:
        if (o->finalizers & MODEL_FOREIGN)
            model_set_finalizers(&h->model, place, o->finalizers & ~(unsigned)MODEL_FOREIGN);
        break;
    default: /* Another change, which makes the resourceVersion of a reader old. */
        model_set_finalizers(&h->model, place, o->finalizers);
        break;
    }
}

static void on_step(struct sim_event *event)
{
    struct history *h = COR_CONTAINER_OF(event, struct history, step);

    user_step(h);
    if (h->has_chaos && sim_chance(&h->time, 4)) {
        struct feed *f = &h->feeds[sim_between(&h->time, 0, MODEL_KINDS - 1)];

        if (f->is_watching)
            feed_lose(f);
    }
    if (h->has_chaos && sim_chance(&h->time, 1))
        collector_stop(h);
    if (++h->nsteps < h->steps_max)
        sim_in(&h->time, &h->step, 0, sim_chance(&h->time, 10) ? 5000 : 300);
}

static void run_until_quiet(struct history *h)
{
    uint64_t end_ms = sim_now(&h->time) + QUIET_MS;

    /* An event after the end remains in the heap; it is run by the next part. */
    while (h->time.heap.n > 0 && cor_due_heap_peek(&h->time.heap)->at <= end_ms)
        sim_turn(&h->time);
}

/* What must be true in the end. */

/* Does the deletion of this object wait for a dependent that waits itself (2.7.6, 2.7.7), or that
 * is never deleted (2.9.5)? */
static bool is_blocked_for_ever(const struct model *m, int owner)
{
    for (int place = 0; place < MODEL_PLACES; place++) {
        const struct model_object *d = &m->objects[place];

        for (size_t i = 0; d->exists && i < d->nrefs; i++) {
            bool is_left_alone = d->is_odd;

            for (size_t k = 0; k < d->nrefs; k++)
                is_left_alone |= model_judge(m, place, &d->refs[k]) == MODEL_NEVER;
            if (d->refs[i].uid == m->objects[owner].uid && d->refs[i].blocks &&
                (is_left_alone || d->finalizers & MODEL_FOREGROUND))
                return true;
        }
    }
    return false;
}

static void check_quiet(struct history *h)
{
    struct model *m = &h->model;

    for (int place = 0; place < MODEL_PLACES; place++) {
        const struct model_object *o = &m->objects[place];
        size_t n[4] = {0};

        if (!o->exists)
            continue;
        if (o->is_terminating && o->finalizers & MODEL_ORPHAN)
            model_violation(m, "place %d is not orphaned", place);
        if (o->is_terminating && o->finalizers & MODEL_FOREGROUND && !is_blocked_for_ever(m, place))
            model_violation(m, "the foreground deletion of place %d does not end", place);
        for (size_t i = 0; i < o->nrefs; i++)
            n[model_judge(m, place, &o->refs[i])]++;
        if (o->is_odd || o->is_terminating || n[MODEL_NEVER] > 0)
            continue;
        if (o->nrefs > 0 && n[MODEL_SOLID] == 0 && n[MODEL_WAITING] == 0)
            model_violation(m, "place %d has no living owner, and is not deleted", place);
        if (n[MODEL_SOLID] > 0 && n[MODEL_DANGLING] > 0)
            model_violation(m, "place %d has a reference to an owner that does not exist", place);
    }
}

/* Everything is deleted, by hand where the collector may not: then nothing may be kept. */
static void check_empty(struct history *h)
{
    struct cor_gc_stats stats;

    for (int round = 0; round < 3; round++) {
        for (int place = 0; place < MODEL_PLACES; place++) {
            if (h->model.objects[place].exists && round > 0)
                model_set_finalizers(&h->model, place, 0);
            if (h->model.objects[place].exists)
                model_delete(&h->model, place, "Background");
        }
        run_until_quiet(h);
    }
    for (int place = 0; place < MODEL_PLACES; place++)
        assert_false(h->model.objects[place].exists);
    cor_gc_stats(h->gc, &stats);
    if (stats.nodes > 0 || stats.uids > 0)
        model_violation(&h->model, "%zu nodes and %zu uids are kept, and there is no object",
                        stats.nodes, stats.uids);
}

/* True: no violation. Otherwise it is printed, unless a fault was wanted. */
static bool run_history(uint64_t seed, enum model_fault fault)
{
    struct history *h = test_calloc(1, sizeof(*h));
    bool is_clean;

    sim_seed = seed;
    sim_time_init(&h->time, seed);
    model_init(&h->model, &h->time);
    h->model.on_change = model_on_change;
    h->model.arg = h;
    h->model.fault = fault;
    h->has_chaos = sim_chance(&h->time, 80);
    h->model.error_percent = h->has_chaos ? (unsigned)sim_between(&h->time, 0, 10) : 0;
    h->model.delay_max_ms = sim_chance(&h->time, 50) ? 20 : 400;
    h->steps_max = (size_t)sim_between(&h->time, 20, STEPS_MAX);
    sim_event_init(&h->tick, collector_on_tick);
    sim_event_init(&h->step, on_step);
    sim_event_init(&h->restart, on_restart);
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        struct feed *f = &h->feeds[kind];

        f->h = h;
        f->kind = kind;
        f->events = test_calloc(EVENTS_MAX, sizeof(f->events[0]));
        sim_event_init(&f->deliver, feed_on_deliver);
        sim_event_init(&f->relist, feed_on_relist);
    }
    collector_start(h);
    sim_in(&h->time, &h->step, 0, 3000);
    while (h->nsteps < h->steps_max)
        sim_turn(&h->time);

    /* Calm: users remove their finalizers, and nothing fails any more. */
    while (h->is_stopping)
        sim_turn(&h->time);
    h->has_chaos = false;
    h->model.error_percent = 0;
    for (int place = 0; place < MODEL_PLACES; place++) {
        const struct model_object *o = &h->model.objects[place];

        if (o->exists && o->finalizers & MODEL_FOREIGN)
            model_set_finalizers(&h->model, place, o->finalizers & ~(unsigned)MODEL_FOREIGN);
    }
    run_until_quiet(h);
    check_quiet(h);
    check_empty(h);

    collector_stop(h);
    while (!h->is_stopped)
        assert_true(sim_turn(&h->time));
    h->gc = cor_gc_free(h->gc);
    for (int kind = 0; kind < MODEL_KINDS; kind++) {
        feed_drop(&h->feeds[kind]);
        test_free(h->feeds[kind].events);
    }
    is_clean = h->model.violation[0] == '\0';
    if (!is_clean && fault == MODEL_NO_FAULT)
        print_message("COR_SIM_SEED=%llu: %s\n", (unsigned long long)seed, h->model.violation);
    model_deinit(&h->model);
    sim_time_deinit(&h->time);
    test_free(h);
    return is_clean;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);

    return value ? strtoull(value, NULL, 10) : otherwise;
}

TEST(gc_simulation, collects_exactly_what_has_no_living_owner)
{
    uint64_t n = setting("COR_SIM_HISTORIES", 100), one = setting("COR_SIM_SEED", 0);
    size_t nbad = 0;

    /* The short form has the same histories in every run; the long form draws its own. */
    for (uint64_t i = 0; i < (one ? 1 : n) && nbad < 10; i++)
        nbad += !run_history(one                           ? one
                             : getenv("COR_SIM_HISTORIES") ? test_random() | 1
                                                           : i + 1,
                             MODEL_NO_FAULT);
    assert_int_equal(nbad, 0);
}

/* The model makes a mistake in the place of the collector. */
TEST(gc_simulation, finds_planted_faults)
{
    for (int fault = MODEL_NO_FAULT + 1; fault < MODEL_FAULTS; fault++) {
        bool is_found = false;

        for (uint64_t seed = 1; seed < 200 && !is_found; seed++)
            is_found = !run_history(seed, fault);
        if (!is_found)
            fail_msg("fault %d was not found", fault);
    }
}
