/* The worked sequences of the contract (section 9), as one table. Each row is a story in small
 * words and all that can be seen of it from outside: requests, calls of handlers and of the watch
 * error handler, and when the cache (synced) and a handler (0:synced) have the first list.
 *
 * Not here: 37 (panics) has no counterpart in C, 40 is in test_informer_factory.c, 48 in
 * test_workqueue_threads.c; 49 to 57 are about leader election and the REST client.
 *
 * They show these behaviours: 1.4.5 and 1.4.7 (row 1), 1.6.12 and 1.7.5 (19, 23), 1.8.2 (3,
 * 4), 1.8.3 (5), 1.3.6 (22); those of 1.15 and 1.17 are cited at their rows. */
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "cache/informers/shared_informer.h"
#include "coracle/filtering_handler.h"
#include "coracle/workqueue.h"
#include "fake_server.h"
#include "test.h"

struct sequence {
    int number; /* in section 9 of the contract */
    const char *options;
    const char *story;
    const char *seen;
};

/* clang-format off */
/* Words of a story, separated by semicolons:
 *   hear N [MS]      a handler, with its resync period     drop N            removes it
 *   filter N         one that hears of objects before "m" only
 *   start, stop, step, pop (one change)                    late N            hear, refused
 *   list RV OBJ..    answers the list                      refuse E          refuses the request
 *   open, end        the watch                             err E             an ERROR event
 *   add O, mod O, del O, flip O, pod O, foreign, mark RV, endmark RV    events
 *   wake             until the reflector wakes             pass MS           time goes by
 *   cut              forgets what was seen
 *   get KEY          what the cache has
 * and of a work queue: q.add K, q.after K MS, q.fail K, q.get, q.done K, q.len, q.shutdown,
 * q.crowd N (as many failures), q.drain. */
/* clang-format on */
static const struct sequence sequences[] = {
    /* Start-up and steady state */
    /* Contract client 1.17.5. */
    {1, "", "hear 0; start; list 10 a1 b2; pop; step; open",
     "L(0,500) W(10) add(a1!) synced add(b2!) 0:synced"},
    {2, "", "hear 0; start; list 10; step", "L(0,500) synced W(10) 0:synced"},
    {3, "", "hear 0; start; list 10 a1; open; step; cut; add a11; step", "update(a1-11)"},
    {4, "", "hear 0; start; list 10 a1; open; step; cut; mod n12; step", "add(n12)"},
    {5, "", "hear 0; start; list 10 a1; open; step; cut; del u13; step", "delete(u13)"},
    {5, "by_key", "hear 0; start; list 10 a1; open; step; cut; del u13; step", ""},
    {6, "", "hear 0; start; list 10 a1; open; step; cut; mark 50; step; pass 2000; end", "W(50)"},
    {7, "expect=Pod",
     "hear 0; start; list 10; open; step; cut; pod a11; foreign; step; pass 2000; "
     "end",
     "add(a11) W(11)"},
    {8, "", "hear 0; start; list 10 a1; open; step; cut; mod a11; end; open; pass 1000; end; step",
     "W(11) W(11) update(a1-11)"},
    {9, "", "hear 0; start; list 10 a1; open; step; cut; end; wake; list 20 a1; step",
     "L(10,0) W(20) update(a1-1)"},

    /* Failure and recovery */
    {10, "", "start; list 10 a1; open; step; cut; err 410; wake", "cancel L(10,0)"},
    {11, "", "start; list 10 a1; step; cut; refuse 410; wake", "error(EEXPIRED) L(10,0)"},
    {12, "",
     "start; list 10 a1; open; step; cut; err 410; wake; refuse 410; list 30 a1; open; "
     "err 410; wake",
     "cancel L(10,0) L(,0) W(30) cancel L(30,0)"},
    {12, "", "start; list 10 a1; open; step; cut; err 410; wake; refuse future; list 30 a1",
     "cancel L(10,0) L(,0) W(30)"},
    {13, "", "start; list 10 a1; open; step; cut; err 410; wake; refuse 410; refuse 500; wake",
     "cancel L(10,0) L(,0) error(EINTERNAL) L(,500)"},
    {14, "",
     "start; list 10 a1; refuse 429; wake; refuse 429; wake; refuse 429; wake; refuse 429; "
     "wake; refuse 429; wake; open; step",
     "L(0,500) W(10) W(10) W(10) W(10) W(10) W(10) synced"},
    {15, "", "start; list 10 a1; open; step; cut; mod a11; err 429; wake", "cancel W(11)"},
    {16, "", "start; list 10 a1; step; cut; refuse refused; wake; open", "W(10)"},
    {16, "", "start; refuse refused; wake", "L(0,500) error(EUNREACHABLE) L(0,500)"},
    {17, "", "start; list 10 a1; open; step; cut; err 500; wake", "cancel L(10,0)"},
    {17, "retry500=30000",
     "start; list 10 a1; open; step; cut; pass 1000; err 500; open; pass 1000; err 500; open; "
     "pass 30000; err 500; wake",
     "cancel W(10) cancel W(10) cancel L(10,0)"},
    {18, "", "hear 0; start; list 10 a1; refuse 403; wake; list 11 a2; refuse 403; wake; step",
     "L(0,500) W(10) error(EFORBIDDEN) L(10,0) W(11) error(EFORBIDDEN) L(11,0) synced add(a1!) "
     "0:synced update(a1-2)"},
    /* Contract client 1.17.35. */
    {19, "", "hear 0; start; list 10 a1 b2; open; step; cut; err 410; wake; list 20 a9; step",
     "cancel L(10,0) W(20) lost(b2) update(a1-9)"},
    {20, "", "hear 0; start; list 10 a1; open; step; cut; err 410; wake; list 20 a1; step",
     "cancel L(10,0) W(20) update(a1-1)"},
    {21, "resync=5000",
     "hear 0 0; hear 1 5000; start; list 10 a1; open; step; pass 5000; step; cut; err 410; wake; "
     "list 20 a1; step",
     "cancel L(10,0) W(20) 1:update(a1-1)"},
    {22, "", "hear 0; start; list 10 a5; open; step; cut; err 410; wake; list 20 a9; step",
     "cancel L(10,0) W(20) update(a5-9)"},
    {23, "", "hear 0; start; list 10; open; step; cut; add c11; err 410; wake; list 20; step",
     "cancel L(11,0) W(20) add(c11) lost(c11)"},
    {24, "",
     "hear 0; start; list 10 x1; open; step; cut; err 410; wake; list 20 x1; open; err 410; "
     "wake; list 30 x1; step",
     "cancel L(10,0) W(20) cancel L(20,0) W(30) update(x1-1) update(x1-1)"},
    {25, "refuse_bad", "hear 0; start; list 10 a1 bad; step; wake; list 11 a1; step",
     "L(0,500) error(EINVAL) L(0,500) W(11) synced add(a1!) 0:synced"},
    {26, "refuse_bad",
     "hear 0; start; list 10 a1; open; step; cut; add bad; mod a12; step; pass 2000; end",
     "update(a1-12) W(12)"},

    /* Watch-list */
    {27, "stream",
     "hear 0; start; open; add a1; add b2; endmark 7; step; cut; mod a8; step; pass 2000; end",
     "update(a1-8) W(8)"},
    {27, "stream", "hear 0; start; open; add a1; endmark 7; step", "S() synced add(a1!) 0:synced"},
    {28, "stream", "start; refuse 422; list 10 a1; open; step; err 410; wake",
     "S() L(0,500) W(10) synced cancel S(10)"},
    {29, "stream", "start; open; add a1; end", "S() S()"},
    {30, "stream", "start; open; endmark 7; pass 2000; err 410; wake", "S() synced cancel S(7)"},

    /* Handlers */
    /* Contract client 1.15.14, 1.17.13, 1.17.17, 1.17.18, 1.17.35. */
    {31, "", "start; list 10 a1 b2 c3; open; step; cut; hear 1; del a11; step",
     "1:add(a1!) 1:add(b2!) 1:add(c3!) 1:synced 1:delete(a11)"},
    /* Contract client 1.17.15. */
    {32, "", "hear 0; start; list 10 a1 b2; open; step; cut; hear 1; drop 1; mod a11; step",
     "update(a1-11)"},
    /* Contract client 1.17.11. */
    {33, "", "hear 0; hear 0; start; list 10 a1; open; step; cut; mod a11; step",
     "update(a1-11) update(a1-11)"},
    /* Contract client 1.17.24. */
    {34, "resync=1000",
     "hear 0 0; hear 1 2000; start; list 10 a1 b2; open; step; cut; pass 1000; step; pass 1000; "
     "step",
     "1:update(a1-1) 1:update(b2-2)"},
    /* Contract client 1.17.10, 1.17.22. */
    {35, "resync=60000",
     "hear 0 300; start; list 10 a1; open; step; cut; pass 300; step; pass 700; step",
     "update(a1-1)"},
    {35, "", "hear 0 5000; start; list 10 a1; open; step; cut; pass 20000; step", ""},
    {36, "", "filter 0; start; list 10 a1 z2; open; step; cut; flip a11; flip z12; step",
     "delete(a1) add(z12)"},

    /* Shutdown */
    /* Contract client 1.17.2, 1.17.4. */
    {38, "", "hear 0; start; list 10 a1; open; step; cut; mod a11; stop; step", "cancel stopped"},
    /* Contract client 1.17.2, 1.17.8, 1.17.12, 1.17.14. */
    {39, "", "hear 0; start; list 10 a1; open; step; stop; cut; late 1; drop 0; get a; start",
     "refused a1"},

    /* Work queue */
    {41, "", "q.add x; q.get; q.add x; q.add x; q.add x; q.len; q.done x; q.len; q.get; q.get",
     "x len0 len1 x none"},
    {42, "", "q.add x; q.add y; q.add x; q.get; q.get; q.get", "x y none"},
    {43, "", "q.after x 50; q.after x 70; pass 49; q.get; pass 1; q.get; q.done x; pass 20; q.get",
     "none x none"},
    {43, "", "q.after x 50; q.after x 30; pass 30; q.get; q.done x; pass 20; q.get", "x none"},
    {44, "", "q.after x 1000; q.add x; q.get; q.done x; pass 999; q.get; pass 1; q.get",
     "x none x"},
    {45, "",
     "q.fail x; q.fail x; q.fail x; q.fail x; q.fail x; q.fail x; q.fail x; q.fail x; q.fail x; "
     "q.fail x; q.fail x; q.fail x; q.fail x; q.fail x; q.fail x; q.fail x; q.fail x; q.fail x; "
     "q.fail x; q.fail x",
     "5 10 20 40 80 160 320 640 1280 2560 5120 10240 20480 40960 81920 163840 327680 655360 "
     "1000000 1000000"},
    {46, "", "q.crowd 150; pass 5; q.drain; pass 4994; q.drain; pass 1; q.drain",
     "drained100 drained49 drained1"},
    {47, "", "q.add x; q.add y; q.shutdown; q.add z; q.get; q.get; q.get", "x y shutdown"},
};

struct world {
    struct fake_server server;
    struct cor_shared_informer *inf;
    struct cor_registration *regs[2];
    struct listener listeners[2];
    struct cor_filtering_handler filter;
    struct cor_workqueue *queue;
    const char *held[8]; /* keys with a worker */
    bool reg_synced[2];
    char trace[TRACE_MAX];
};

static void on_watch_error(void *arg, const struct cor_status *error)
{
    struct world *w = arg;

    trace_note(w->trace, "error(%s)", cor_err_name(error->err));
}

static void on_synced(void *arg, int r)
{
    struct world *w = arg;

    if (r == 0)
        trace_note(w->trace, "synced");
}

static int refuse_bad(void *arg, struct cor_object **o, struct cor_status *reterr)
{
    if (!cor_str_eqz(cor_object_name(*o), "b"))
        return 0;
    return cor_status_set(reterr, -COR_EINVAL, "a bad object");
}

static bool option(const char *options, const char *name, uint64_t *ret)
{
    const char *at = strstr(options, name);

    if (at && at[strlen(name)] == '=')
        *ret = strtoull(at + strlen(name) + 1, NULL, 10);
    return at != NULL;
}

static void world_init(struct world *w, const char *options)
{
    struct cor_cache_controller_opts opts = {
        .reflector = {.on_watch_error = on_watch_error, .arg = w}, .arg = w};

    *w = (struct world){.listeners = {{"", w->trace}, {"1:", w->trace}}};
    fake_server_init(&w->server, w->trace);
    opts.driver = &w->server.driver;
    opts.clock = &w->server.clk.clock;
    opts.by_key = option(options, "by_key", NULL);
    opts.transform = option(options, "refuse_bad", NULL) ? refuse_bad : NULL;
    opts.reflector.stream_initial = option(options, "stream", NULL);
    option(options, "resync", &opts.reflector.resync_ms);
    option(options, "retry500", &opts.reflector.internal_retry_ms);
    if (option(options, "expect", &(uint64_t){0}))
        opts.reflector.expected = (struct cor_gvk){COR_STR(""), COR_STR("v1"), COR_STR("Pod")};
    assert_int_equal(cor_shared_informer_new(&opts, &w->inf), 0);
    w->server.to = cor_shared_informer_reflector(w->inf);
    assert_int_equal(cor_shared_informer_on_synced(w->inf, on_synced, w, &(uint64_t){0}), 0);
    assert_int_equal(
        cor_workqueue_new(&(struct cor_workqueue_opts){.size = sizeof(struct cor_workqueue_opts),
                                                       .clock = &w->server.clk.clock},
                          &w->queue),
        0);
}

static void world_deinit(struct world *w)
{
    cor_shared_informer_stop(w->inf);
    cor_shared_informer_free(w->inf);
    cor_workqueue_free(w->queue);
}

static void look(struct world *w)
{
    for (int i = 0; i < 2; i++) {
        if (!w->regs[i] || w->reg_synced[i] || !cor_registration_has_synced(w->regs[i]))
            continue;
        w->reg_synced[i] = true;
        trace_note(w->trace, "%d:synced", i);
    }
}

static void step(struct world *w)
{
    while (cor_shared_informer_step(w->inf, 1))
        look(w);
    look(w);
}

static struct cor_str word(struct cor_str *rest)
{
    return rest->p ? cor_str_cut(rest, ' ') : COR_STR("");
}

static uint64_t number(struct cor_str s)
{
    uint64_t n = 0;

    assert_int_equal(cor_str_to_u64(s, &n), 0);
    return n;
}

static int error_of(struct cor_str s)
{
    static const struct {
        const char *name;
        int err;
    } errors[] = {
        {"410", -COR_EEXPIRED},         {"403", -COR_EFORBIDDEN},
        {"422", -COR_EINVALID},         {"429", -COR_EBUSY},
        {"500", -COR_EINTERNAL},        {"future", -COR_EFUTURE},
        {"refused", -COR_EUNREACHABLE},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(errors); i++)
        if (cor_str_eqz(s, errors[i].name))
            return errors[i].err;
    fail_msg("no such error: %.*s", COR_STR_ARG(s));
    return 0;
}

static void hear(struct world *w, struct cor_str rest, struct cor_handler_fns handler, bool late)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    size_t i = number(word(&rest));
    int r;

    opts.handler = handler.arg ? handler : listener_handler(&w->listeners[i]);
    if (rest.p && rest.n > 0)
        opts.resync_ms = number(word(&rest));
    r = cor_shared_informer_add_handler(w->inf, &opts, &w->regs[i]);
    assert_int_equal(r, late ? -COR_ECANCELED : 0);
    if (late)
        trace_note(w->trace, "refused");
}

/* Has the label that the filter wants? Objects before "m" begin with it, and flip changes it. */
static bool is_wanted(void *arg, const struct cor_object *o)
{
    struct cor_str value;
    bool early = cor_object_name(o).p[0] < 'm';

    return cor_object_label(o, COR_STR("flipped"), &value) ? !early : early;
}

static void flip(struct world *w, struct cor_str object)
{
    struct cor_object *o;
    char json[128];

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"labels\":{\"flipped\":\"yes\"},\"name\":\"%c\"}}", object.p[0]);
    o = fake_object_json(json, (int)number(cor_str_from(object, 1)));
    fake_server_object(&w->server, COR_WATCH_MODIFIED, o);
    cor_object_unref(o);
}

static void typed(struct world *w, const char *kind, const char *name, int rv)
{
    struct cor_object *o;
    char json[128];

    snprintf(json, sizeof(json),
             "{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\"}}", kind, name);
    o = fake_object_json(json, rv);
    fake_server_object(&w->server, COR_WATCH_ADDED, o);
    cor_object_unref(o);
}

static void event(struct world *w, enum cor_watch_type type, struct cor_str object)
{
    char name[2] = {object.p[0], '\0'};
    bool bad = cor_str_eqz(object, "bad");

    fake_server_event(&w->server, type, name, bad ? 11 : (int)number(cor_str_from(object, 1)));
}

static void list(struct world *w, struct cor_str rest)
{
    struct cor_str rv = word(&rest);
    char text[64], rv_text[16];

    snprintf(rv_text, sizeof(rv_text), "%.*s", COR_STR_ARG(rv));
    snprintf(text, sizeof(text), "%.*s", rest.p ? (int)rest.n : 0, rest.p ? rest.p : "");
    fake_server_list(&w->server, text, rv_text);
}

static void refuse(struct world *w, int err)
{
    if (cor_reflector_state(w->server.to) == COR_REFLECTOR_LISTING)
        fake_server_list_fails(&w->server, err);
    else
        fake_server_ended(&w->server, err);
}

static void get(struct world *w, struct cor_str key)
{
    struct cor_object *o;

    assert_int_equal(cor_indexer_get(cor_shared_informer_indexer(w->inf), key, &o), 0);
    trace_note(w->trace, "%.*s%.*s", COR_STR_ARG(key), COR_STR_ARG(cor_object_resource_version(o)));
    cor_object_unref(o);
}

static void queue_get(struct world *w)
{
    const char *key;
    uint64_t at;
    int r = cor_workqueue_try_get(w->queue, &key, &at);

    trace_note(w->trace, "%s", r == 0 ? key : r == -COR_ECANCELED ? "shutdown" : "none");
    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(w->held); i++)
        if (!w->held[i]) {
            w->held[i] = key;
            break;
        }
}

static void queue_done(struct world *w, const char *key)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(w->held); i++)
        if (w->held[i] && strcmp(w->held[i], key) == 0) {
            cor_workqueue_done(w->queue, w->held[i]);
            w->held[i] = NULL;
            return;
        }
    fail_msg("no worker has %s", key);
}

/* A failure, and how long the key then waits. */
static void queue_fail(struct world *w, const char *key)
{
    const char *got;
    uint64_t at;

    assert_int_equal(cor_workqueue_add_rate_limited(w->queue, key), 0);
    assert_int_equal(cor_workqueue_try_get(w->queue, &got, &at), -COR_EBUSY);
    trace_note(w->trace, "%d", (int)(at - fake_server_now(&w->server)));
    cor_clock_manual_advance(&w->server.clk, at - fake_server_now(&w->server));
    assert_int_equal(cor_workqueue_try_get(w->queue, &got, &at), 0);
    cor_workqueue_done(w->queue, got);
}

static void queue_crowd(struct world *w, uint64_t n)
{
    char key[16];

    for (uint64_t i = 0; i < n; i++) {
        snprintf(key, sizeof(key), "k%d", (int)i);
        assert_int_equal(cor_workqueue_add_rate_limited(w->queue, key), 0);
    }
}

static void queue_drain(struct world *w)
{
    const char *key;
    uint64_t at;
    int n = 0;

    for (; cor_workqueue_try_get(w->queue, &key, &at) == 0; n++)
        cor_workqueue_done(w->queue, key);
    trace_note(w->trace, "drained%d", n);
}

static void act_on_queue(struct world *w, struct cor_str verb, struct cor_str rest)
{
    char key[16];

    snprintf(key, sizeof(key), "%.*s", rest.p ? (int)rest.n : 0, rest.p ? rest.p : "");
    if (cor_str_eqz(verb, "q.add")) {
        cor_workqueue_add(w->queue, key);
    } else if (cor_str_eqz(verb, "q.after")) {
        struct cor_str name = word(&rest);

        snprintf(key, sizeof(key), "%.*s", COR_STR_ARG(name));
        assert_int_equal(cor_workqueue_add_after(w->queue, key, number(rest)), 0);
    } else if (cor_str_eqz(verb, "q.get")) {
        queue_get(w);
    } else if (cor_str_eqz(verb, "q.done")) {
        queue_done(w, key);
    } else if (cor_str_eqz(verb, "q.len")) {
        trace_note(w->trace, "len%zu", cor_workqueue_len(w->queue));
    } else if (cor_str_eqz(verb, "q.fail")) {
        queue_fail(w, key);
    } else if (cor_str_eqz(verb, "q.crowd")) {
        queue_crowd(w, number(rest));
    } else if (cor_str_eqz(verb, "q.drain")) {
        queue_drain(w);
    } else if (cor_str_eqz(verb, "q.shutdown")) {
        cor_workqueue_shutdown(w->queue);
    } else {
        fail_msg("no such word: %.*s", COR_STR_ARG(verb));
    }
}

static void stop(struct world *w)
{
    cor_shared_informer_stop(w->inf);
    if (cor_shared_informer_is_stopped(w->inf))
        trace_note(w->trace, "stopped");
}

static bool act_on_informer(struct world *w, struct cor_str verb, struct cor_str rest)
{
    const struct cor_handler_fns own = {0};

    if (cor_str_eqz(verb, "hear") || cor_str_eqz(verb, "late")) {
        hear(w, rest, own, cor_str_eqz(verb, "late"));
    } else if (cor_str_eqz(verb, "filter")) {
        w->filter = (struct cor_filtering_handler){.passes = is_wanted,
                                                   .to = listener_handler(&w->listeners[0])};
        hear(w, rest, cor_filtering_handler(&w->filter), false);
    } else if (cor_str_eqz(verb, "drop")) {
        cor_shared_informer_remove_handler(w->inf, COR_STEAL(w->regs[number(rest)]));
    } else if (cor_str_eqz(verb, "start")) {
        cor_shared_informer_start(w->inf);
    } else if (cor_str_eqz(verb, "stop")) {
        stop(w);
    } else if (cor_str_eqz(verb, "step")) {
        step(w);
    } else if (cor_str_eqz(verb, "pop")) {
        cor_shared_informer_step(w->inf, 1);
    } else if (cor_str_eqz(verb, "get")) {
        get(w, rest);
    } else if (cor_str_eqz(verb, "cut")) {
        w->trace[0] = '\0';
    } else {
        return false;
    }
    return true;
}

static bool act_on_server(struct world *w, struct cor_str verb, struct cor_str rest)
{
    static const char *const events[] = {"add", "mod", "del"};
    static const enum cor_watch_type types[] = {COR_WATCH_ADDED, COR_WATCH_MODIFIED,
                                                COR_WATCH_DELETED};

    for (size_t i = 0; i < COR_ARRAY_LEN(events); i++)
        if (cor_str_eqz(verb, events[i])) {
            event(w, types[i], rest);
            return true;
        }
    if (cor_str_eqz(verb, "list"))
        list(w, rest);
    else if (cor_str_eqz(verb, "refuse"))
        refuse(w, error_of(rest));
    else if (cor_str_eqz(verb, "open"))
        fake_server_opened(&w->server);
    else if (cor_str_eqz(verb, "end"))
        fake_server_ended(&w->server, 0);
    else if (cor_str_eqz(verb, "err"))
        fake_server_error(&w->server, error_of(rest));
    else if (cor_str_eqz(verb, "mark"))
        fake_server_bookmark(&w->server, (int)number(rest), false);
    else if (cor_str_eqz(verb, "endmark"))
        fake_server_bookmark(&w->server, (int)number(rest), true);
    else if (cor_str_eqz(verb, "flip"))
        flip(w, rest);
    else if (cor_str_eqz(verb, "pod"))
        typed(w, "Pod", "a", (int)number(cor_str_from(rest, 1)));
    else if (cor_str_eqz(verb, "foreign"))
        typed(w, "Service", "s", 99);
    else if (cor_str_eqz(verb, "wake"))
        fake_server_wake(&w->server);
    else if (cor_str_eqz(verb, "pass"))
        fake_server_pass(&w->server, number(rest));
    else
        return false;
    return true;
}

static bool plays(const struct sequence *s)
{
    struct world w;
    struct cor_str story = cor_strz(s->story);
    bool as_told;

    world_init(&w, s->options);
    while (story.p && story.n > 0) {
        struct cor_str rest = cor_str_trim(cor_str_cut(&story, ';')), verb = word(&rest);

        if (!act_on_informer(&w, verb, rest) && !act_on_server(&w, verb, rest))
            act_on_queue(&w, verb, rest);
        look(&w);
    }
    if (!(as_told = strcmp(w.trace, s->seen) == 0))
        print_error("sequence %d (%s)\n story:    %s\n seen:     %s\n expected: %s\n", s->number,
                    s->options, s->story, w.trace, s->seen);
    world_deinit(&w);
    return as_told;
}

TEST(sequences, of_contract_section_9)
{
    size_t good = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(sequences); i++)
        good += plays(&sequences[i]);
    assert_int_equal(good, COR_ARRAY_LEN(sequences));
}
