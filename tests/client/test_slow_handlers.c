/* A handler that is slow delays itself only: fifty handlers of one informer, of which ten block or
 * take their time, on both kinds of runtime. */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "configmap_words.h"
#include "script.h"
#include "world.h"

#define HANDLERS 50
#define SLOW     10 /* they come first */
#define OBJECTS  41

struct crowd;

struct listener {
    struct crowd *crowd;
    int i;
    atomic_int nheard, nwrong;
    atomic_int ninside;
};

struct crowd {
    struct world w;
    struct script script;
    struct script_answer answers[2];
    struct cor_buf list;
    struct cor_informers *informers;
    struct cor_informer *inf;
    struct listener listeners[HANDLERS];
    atomic_bool named[HANDLERS]; /* by a report */
    sem_t go_on;                 /* what the slow ones wait for on threads */
    bool pumped;
    int nobjects;
};

static bool is_slow(const struct listener *l)
{
    return l->i < SLOW;
}

/* Without threads a call is only long, the first so long that it is reported. Between two of them
 * each of the others has had a turn, of which one call is the least. */
static void take_long(struct listener *l)
{
    struct crowd *c = l->crowd;
    int before = atomic_load(&l->nheard);

    for (int i = 0; i < HANDLERS; i++)
        if (i != l->i && atomic_load(&c->listeners[i].nheard) < before)
            atomic_fetch_add(&l->nwrong, 1);
    test_spend_ms(before == 0 ? 120 : 15);
}

static void on_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    struct listener *l = arg;
    char name[32];

    if (atomic_fetch_add(&l->ninside, 1) != 0)
        atomic_fetch_add(&l->nwrong, 1);
    snprintf(name, sizeof(name), "map-%03d", atomic_load(&l->nheard));
    if (!cor_str_eqz(cor_object_name(object), name))
        atomic_fetch_add(&l->nwrong, 1);
    if (is_slow(l) && l->crowd->pumped)
        take_long(l);
    else if (is_slow(l))
        while (sem_wait(&l->crowd->go_on) != 0)
            ;
    atomic_fetch_add(&l->nheard, 1);
    atomic_fetch_sub(&l->ninside, 1);
}

/* Handlers are called by their number. */
static void on_report(void *arg, struct cor_str plural, enum cor_reflector_report what,
                      const struct cor_status *status)
{
    struct crowd *c = arg;
    int i;

    if (what == COR_REFLECTOR_SLOW_HANDLER && cor_str_eqz(plural, "configmaps") &&
        sscanf(cor_status_message(status), "handler listener-%d of configmaps", &i) == 1)
        atomic_store(&c->named[i], true);
}

static bool slow_are_named(void *arg)
{
    struct crowd *c = arg;

    for (int i = 0; i < SLOW; i++)
        if (!atomic_load(&c->named[i]))
            return false;
    return true;
}

static void script_list(struct crowd *c)
{
    cor_buf_init(&c->list, 1 << 16);
    cor_buf_addz(&c->list, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMapList\",\"metadata\":"
                           "{\"resourceVersion\":\"900\"},\"items\":[");
    for (int i = 0; i < c->nobjects; i++)
        cor_buf_addf(&c->list,
                     "%s{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
                     "\"map-%03d\",\"namespace\":\"default\",\"resourceVersion\":\"%d\"}}",
                     i > 0 ? "," : "", i, i + 100);
    cor_buf_addz(&c->list, "]}");
    c->answers[0] = (struct script_answer){.to = "watch=true", .body = "", .stays_open = true};
    c->answers[1] = (struct script_answer){.to = "configmaps", .body = cor_buf_z(&c->list)};
    SCRIPT_BEGIN(&c->script, c->answers);
}

static void begin(struct crowd *c, enum cor_runtime_kind kind, int nobjects)
{
    const struct cor_informer_opts of_configmaps = {COR_INFORMER_OPTS, .resource = configmaps,
                                                    .ns = "default"};
    const struct cor_informers_opts opts = {COR_INFORMERS_OPTS, .on_report = on_report, .arg = c};

    memset(c, 0, sizeof(*c));
    c->pumped = kind == COR_RUNTIME_PUMPED;
    c->nobjects = nobjects;
    sem_init(&c->go_on, 0, 0);
    script_list(c);
    world_begin_at(&c->w, kind, c->script.url);
    assert_int_equal(cor_informers_new(c->w.client, &opts, &c->informers), 0);
    assert_int_equal(cor_informers_for_resource(c->informers, &of_configmaps, &c->inf, NULL), 0);
    for (int i = 0; i < HANDLERS; i++) {
        char name[32];
        struct cor_handler_opts handler = {
            COR_HANDLER_DEFAULTS, .on = {.on_add = on_add, .arg = &c->listeners[i]}, .name = name};

        snprintf(name, sizeof(name), "listener-%d", i);
        c->listeners[i].crowd = c;
        c->listeners[i].i = i;
        assert_int_equal(cor_informer_add_handler(c->inf, &handler, NULL), 0);
    }
    cor_informers_start(c->informers);
}

static void end(struct crowd *c)
{
    for (int i = 0; i < HANDLERS; i++)
        assert_int_equal(atomic_load(&c->listeners[i].nwrong), 0);
    cor_informers_free(c->informers);
    world_end(&c->w);
    script_end(&c->script);
    cor_buf_deinit(&c->list);
    sem_destroy(&c->go_on);
}

static bool quick_have_heard(void *arg)
{
    struct crowd *c = arg;

    for (int i = SLOW; i < HANDLERS; i++)
        if (atomic_load(&c->listeners[i].nheard) < c->nobjects)
            return false;
    return true;
}

static bool all_have_heard(void *arg)
{
    struct crowd *c = arg;

    for (int i = 0; i < HANDLERS; i++)
        if (atomic_load(&c->listeners[i].nheard) < c->nobjects)
            return false;
    return true;
}

TEST(slow_handlers, ten_that_block_keep_forty_others_from_nothing)
{
    static struct crowd c;

    begin(&c, COR_RUNTIME_THREADS, OBJECTS);
    world_run(&c.w, quick_have_heard, &c);
    world_run(&c.w, slow_are_named, &c);
    for (int i = 0; i < SLOW; i++)
        assert_int_equal(atomic_load(&c.listeners[i].nheard), 0);
    for (int i = 0; i < SLOW * OBJECTS; i++)
        sem_post(&c.go_on);
    world_run(&c.w, all_have_heard, &c);
    end(&c);
}

TEST(slow_handlers, in_a_pump_every_other_handler_has_a_turn_between_two_long_calls)
{
    static struct crowd c;

    begin(&c, COR_RUNTIME_PUMPED, 3);
    world_run(&c.w, all_have_heard, &c);
    world_run(&c.w, slow_are_named, &c);
    end(&c);
}
