/* Histories of an informer: a model server, a network with faults, and
 * simulated time, from a seed. Whatever happens, each handler hears a legal
 * sequence (contract client 1.17.32 to 1.17.35, 1.27.12); once it is quiet, the cache equals a
 * list, each handler has heard exactly of what is there, and whoever waited for a write was told
 * when it was cached. While the server is away, the informer asks less and less often.
 *
 * COR_SIM_HISTORIES: how many (100); COR_SIM_SEED: this one alone. `./dev
 * simulate`. */
#include <stdio.h>

#include "base/err.h"
#include "cache/informers/shared_informer.h"
#include "sim_check.h"
#include "sim_handler.h"
#include "sim_net.h"
#include "sim_server.h"
#include "sim_time.h"
#include "test.h"

#define HANDLERS  4
#define WAITS     16
#define QUIET_MS  (40u * 60 * 1000) /* longer than any stalled stream and any backoff */
#define OUTAGE_MS (5u * 60 * 1000)
/* 0.8 s doubling to 30 s, at the least; then every 30 s (contract client 1.12.7). And
 * the first one. */
#define OUTAGE_REQUESTS_MAX (1 + 7 + OUTAGE_MS / 30000)

/* One who wrote and waits for it in the cache. */
struct wait {
    struct history *history;
    int key;
    cor_rev rev;
    bool active;
};

struct history {
    struct sim_time time;
    struct sim_server server;
    struct sim_net net;
    struct cor_rand reflector_rand;
    struct cor_shared_informer *inf;
    struct sim_handler handlers[HANDLERS];
    struct wait waits[WAITS];
    struct sim_event work;  /* a step is due */
    struct sim_event write; /* the next write */
    struct sim_event churn; /* handlers come and go */
    bool is_alive;
};

static void on_work_wanted(void *arg)
{
    struct history *h = arg;

    test_fail_alloc(0, false);
    if (!cor_due_is_set(&h->work.due))
        sim_in(&h->time, &h->work, 0, h->net.faults ? 2000 : 10);
}

static void on_work(struct sim_event *e)
{
    struct history *h = COR_CONTAINER_OF(e, struct history, work);
    bool more;

    if (h->net.faults && sim_chance(&h->time, h->net.alloc_fails))
        test_fail_alloc(sim_between(&h->time, 1, 10), sim_chance(&h->time, 20));
    more = cor_shared_informer_step(h->inf, sim_between(&h->time, 1, 6));
    test_fail_alloc(0, false);
    if (more)
        on_work_wanted(h);
}

/* The cache has this write, or what came after it. */
static void on_rv_cached(void *arg, int r)
{
    struct wait *w = arg;
    const struct history *h = w->history;
    struct cor_object *o = NULL;
    uint64_t rev = 0;

    test_fail_alloc(0, false);
    w->active = false;
    sim_check(r == 0 || (r == -COR_ECANCELED && !h->is_alive), "waiting for %llu gave %d",
              (unsigned long long)w->rev, r);
    if (r < 0)
        return;
    r = cor_indexer_get(cor_shared_informer_indexer(h->inf), sim_key_name(w->key), &o);
    if (r == 0)
        sim_check(cor_str_to_u64(cor_object_resource_version(o), &rev) == 0, "revision");
    else
        for (cor_rev at = w->rev; at <= h->server.head; at++)
            if (h->server.log[at - 1].key == w->key &&
                h->server.log[at - 1].type == COR_WATCH_DELETED)
                rev = at;
    cor_object_unref(o);
    sim_check(rev >= w->rev, "key %d is at %llu, but %llu was told", w->key,
              (unsigned long long)rev, (unsigned long long)w->rev);
}

static void wait_for_write(struct history *h, int key)
{
    struct wait *w = &h->waits[sim_between(&h->time, 0, WAITS - 1)];
    uint64_t id;
    char rv[24];
    int r;

    if (key < 0 || w->active)
        return;
    *w = (struct wait){h, key, h->server.head, true};
    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)w->rev);
    r = cor_shared_informer_on_rv(h->inf, cor_strz(rv), on_rv_cached, w, &id);
    sim_check(r >= 0, "on_rv: %d", r);
    if (r == 1)
        on_rv_cached(w, 0);
}

static void on_write(struct sim_event *e)
{
    struct history *h = COR_CONTAINER_OF(e, struct history, write);
    int key;

    if (!h->net.faults || sim_server_is_full(&h->server))
        return;
    key = sim_server_write(&h->server);
    if (sim_chance(&h->time, 30))
        wait_for_write(h, key);
    if (sim_chance(&h->time, 5))
        sim_server_compact(&h->server);
    if (sim_chance(&h->time, 60))
        sim_in(&h->time, &h->write, 0, 200);
    else
        sim_in(&h->time, &h->write, 0, 40000);
}

static void on_churn(struct sim_event *e)
{
    struct history *h = COR_CONTAINER_OF(e, struct history, churn);
    struct sim_handler *handler = &h->handlers[sim_between(&h->time, 0, HANDLERS - 1)];

    if (!h->net.faults)
        return;
    if (handler->reg)
        sim_handler_remove(handler);
    else
        sim_handler_add(handler);
    sim_in(&h->time, &h->churn, 0, 120000);
}

static void cor_cacher_history_init(struct history *h, uint64_t seed)
{
    struct cor_cache_controller_opts opts = {.on_work = on_work_wanted, .arg = h};

    sim_seed = seed;
    *h = (struct history){.is_alive = true};
    sim_time_init(&h->time, seed);
    sim_server_init(&h->server, &h->time.rand);
    sim_net_init(&h->net, &h->time, &h->server);
    h->net.alloc_fails = sim_chance(&h->time, 30) ? 5 : 0;
    sim_event_init(&h->work, on_work);
    sim_event_init(&h->write, on_write);
    sim_event_init(&h->churn, on_churn);
    cor_rand_init_seeded(&h->reflector_rand, cor_rand_u64(&h->time.rand));
    opts.driver = &h->net.driver;
    opts.clock = &h->time.clk.clock;
    opts.by_key = sim_chance(&h->time, 40);
    opts.reflector.rand = &h->reflector_rand;
    opts.reflector.stream_initial = sim_chance(&h->time, 50);
    opts.reflector.resync_ms = sim_chance(&h->time, 30) ? 30000 : 0;
    opts.reflector.page_size = sim_chance(&h->time, 30) ? 3 : 0;
    opts.reflector.watch_silence_ms = sim_chance(&h->time, 30) ? 60000 : 0;
    opts.reflector.internal_retry_ms = sim_chance(&h->time, 30) ? 30000 : 0;
    sim_check(cor_shared_informer_new(&opts, &h->inf) == 0, "memory");
    h->net.to = cor_shared_informer_reflector(h->inf);
    for (int i = 0; i < HANDLERS; i++)
        sim_handler_init(&h->handlers[i], &h->server, &h->time, h->inf, &h->net.faults);
    for (int i = 0; i < HANDLERS; i++)
        h->handlers[i].informer_resync_ms = opts.reflector.resync_ms;
    for (int i = 0; i < HANDLERS / 2; i++)
        sim_handler_add(&h->handlers[i]);
}

static void history_deinit(struct history *h)
{
    h->is_alive = false;
    cor_shared_informer_stop(h->inf);
    for (int i = 0; i < HANDLERS; i++)
        if (h->handlers[i].reg)
            sim_handler_remove(&h->handlers[i]);
    cor_shared_informer_free(h->inf);
    sim_net_deinit(&h->net);
    sim_server_deinit(&h->server);
    sim_time_deinit(&h->time);
}

static bool cache_equals_list(struct history *h)
{
    struct cor_indexer *ix = cor_shared_informer_indexer(h->inf);
    size_t alive = 0;

    for (int key = 0; key < SIM_KEYS; key++) {
        struct cor_object *is = sim_server_state(&h->server, key, h->server.head), *has = NULL;
        int r = cor_indexer_get(ix, sim_key_name(key), &has);
        bool same = is ? r == 0 && cor_str_eq(cor_object_json(is), cor_object_json(has))
                       : r == -COR_ENOTFOUND;

        alive += is != NULL;
        cor_object_unref(has);
        if (!same)
            return false;
    }
    return cor_indexer_len(ix) == alive;
}

static bool has_arrived(struct history *h)
{
    if (!sim_net_is_quiet(&h->net) || !cor_shared_informer_has_synced(h->inf) ||
        !cache_equals_list(h))
        return false;
    for (int i = 0; i < HANDLERS; i++)
        if (h->handlers[i].reg && !sim_handler_is_even(&h->handlers[i]))
            return false;
    for (int i = 0; i < WAITS; i++)
        if (h->waits[i].active)
            return false;
    return true;
}

static void run_until(struct history *h, uint64_t until_ms)
{
    while (sim_now(&h->time) < until_ms && sim_turn(&h->time))
        ;
}

static void disturb(struct history *h)
{
    h->net.faults = true;
    sim_in(&h->time, &h->write, 0, 1000);
    sim_in(&h->time, &h->churn, 0, 120000);
    run_until(h, sim_now(&h->time) + sim_between(&h->time, 10000, 15 * 60 * 1000));
}

static void settle(struct history *h)
{
    uint64_t limit = sim_now(&h->time) + QUIET_MS;

    h->net.faults = false;
    while (!has_arrived(h)) {
        sim_check(sim_now(&h->time) < limit, "the cache does not arrive: at %llu of %llu",
                  (unsigned long long)h->net.at, (unsigned long long)h->server.head);
        sim_check(sim_turn(&h->time), "nothing happens any more");
    }
}

/* Contract client 1.12.7, 1.13.1, 1.15.2. */
static void be_away(struct history *h)
{
    uint64_t before = h->net.requests, sent;

    h->net.down = true;
    run_until(h, sim_now(&h->time) + OUTAGE_MS);
    sent = h->net.requests - before;
    sim_check(sent <= OUTAGE_REQUESTS_MAX, "%llu requests while the server was away",
              (unsigned long long)sent);
    h->net.down = false;
}

/* A key is repeated by a relist, by a resync, and by nothing else. */
static void check_repeats(struct history *h)
{
    for (int i = 0; i < HANDLERS; i++) {
        uint64_t most = h->net.lists + sim_handler_resyncs_max(&h->handlers[i]);

        for (int key = 0; key < SIM_KEYS; key++)
            sim_check(h->handlers[i].repeats[key] <= most,
                      "key %d was repeated %llu times, and %llu are right", key,
                      (unsigned long long)h->handlers[i].repeats[key], (unsigned long long)most);
    }
}

static void run_history(uint64_t seed)
{
    static struct history h;

    cor_cacher_history_init(&h, seed);
    cor_shared_informer_start(h.inf);
    for (uint64_t rounds = sim_between(&h.time, 1, 4); rounds > 0; rounds--) {
        disturb(&h);
        settle(&h);
        if (sim_chance(&h.time, 30)) {
            be_away(&h);
            settle(&h);
        }
    }
    check_repeats(&h);
    history_deinit(&h);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

TEST(simulation, every_history_ends_with_the_cache_equal_to_a_list)
{
    uint64_t n = setting("COR_SIM_HISTORIES", 100), one = setting("COR_SIM_SEED", 0);

    if (one > 0) {
        run_history(one);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        run_history(test_random() | 1);
}
