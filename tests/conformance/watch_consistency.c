/* Many writers and many watchers, each on loops and threads of their own. Every watcher rebuilds
 * the state from its events; at each bookmark it must equal the list at the bookmark's revision. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/rand.h"
#include "conformance.h"

#define WRITERS  3
#define LANES    4   /* operations at a time, per writer */
#define WRITES   600 /* and more until there were CHECKS */
#define THREADS  2   /* of watchers */
#define WATCHERS 4   /* per thread */
#define KEYS     30
#define CHECKS   (2 * THREADS * WATCHERS)
#define RUN_MS   180000

struct shared {
    struct cor_engine *engine;
    _Atomic cor_rev final; /* the last write's revision; 0: writers are at work */
    _Atomic bool failed;
    _Atomic size_t checks; /* lists that were compared */
    char failure[512];     /* of the first who failed */
    uint64_t seed;
    char start[24];                      /* the revision before all writes */
    pthread_barrier_t written, finished; /* the writers are done; everybody is */
    pthread_barrier_t engine_closed;     /* a loop goes after the engine has spoken last */
};

/* Assertions of the test's frame work on its own thread only. */
static void failure(struct shared *sh, const char *fmt, ...) COR_PRINTF(2, 3);
static void failure(struct shared *sh, const char *fmt, ...)
{
    bool was = false;
    va_list ap;

    if (!atomic_compare_exchange_strong(&sh->failed, &was, true))
        return;
    va_start(ap, fmt);
    vsnprintf(sh->failure, sizeof(sh->failure), fmt, ap);
    va_end(ap);
}

static void key_of(unsigned i, char *out, size_t n)
{
    snprintf(out, n, "/pods/ns%u/k%02u", i % 3, i);
}

static struct cor_store *open_store(struct shared *sh, struct cor_loop *loop)
{
    struct cor_store_opts opts = {.engine = sh->engine,
                                  .loop = loop,
                                  .resource_prefix = "/pods",
                                  .api_version = COR_STR("v1"),
                                  .kind = COR_STR("Pod")};
    struct cor_store *store = NULL;

    if (cor_store_new(&opts, &store, NULL) < 0)
        failure(sh, "no store");
    return store;
}

static void leave(struct shared *sh, struct cor_store *store, struct cor_loop *loop)
{
    pthread_barrier_wait(&sh->finished);
    pthread_barrier_wait(&sh->engine_closed);
    cor_store_free(store);
    cor_loop_free(loop);
}

/* Writers. */

struct writer;
struct lane {
    struct writer *writer;
    unsigned key;
};

struct writer {
    struct shared *sh;
    pthread_t thread;
    unsigned number;
    struct cor_loop *loop;
    struct cor_store *store;
    struct cor_rand rand;
    struct lane lanes[LANES];
    int left, busy;
};

static void next_write(struct lane *lane);

static void on_written(void *arg, const struct cor_store_reply *reply)
{
    struct lane *lane = arg;

    if (reply->err < 0 && reply->err != -COR_ENOTFOUND)
        failure(lane->writer->sh, "write: %s", cor_status_message(reply->status));
    lane->writer->busy--;
    next_write(lane);
}

static void change_it(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct lane *lane = arg;
    struct writer *wr = lane->writer;
    char json[256];
    struct cor_object *object;

    snprintf(json, sizeof(json),
             "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"k%02u\","
             "\"namespace\":\"ns%u\"},\"spec\":{\"nodeName\":\"%s\",\"by\":\"%u-%d\"}}",
             lane->key, lane->key % 3, cor_rand_below(&wr->rand, 2) ? "a" : "b", wr->number,
             wr->left);
    if (cor_object_parse(cor_strz(json), NULL, NULL, NULL, &object, NULL) < 0)
        abort();
    cor_store_change_write(change, object, 0);
}

static void next_write(struct lane *lane)
{
    struct writer *wr = lane->writer;
    struct cor_store_update_opts update = {
        .ignore_not_found = true, .step = change_it, .on_done = on_written, .arg = lane};
    struct cor_store_delete_opts del = {.on_done = on_written, .arg = lane};
    char key[64];
    int r;

    if (wr->left == 0 && (atomic_load(&wr->sh->checks) >= CHECKS || atomic_load(&wr->sh->failed)))
        return;
    wr->left -= wr->left > 0;
    wr->busy++;
    lane->key = (unsigned)cor_rand_below(&wr->rand, KEYS);
    key_of(lane->key, key, sizeof(key));
    if (cor_rand_below(&wr->rand, 4) == 0)
        r = cor_store_delete(wr->store, cor_strz(key), &del, NULL);
    else
        r = cor_store_update(wr->store, cor_strz(key), &update, NULL);
    if (r < 0)
        failure(wr->sh, "write refused: %s", cor_err_name(r));
}

static bool writer_is_done(void *arg)
{
    struct writer *wr = arg;

    return wr->busy == 0 || atomic_load(&wr->sh->failed);
}

static void *run_writer(void *arg)
{
    struct writer *wr = arg;

    if (cor_loop_new(4096, &wr->loop) < 0)
        abort();
    wr->store = open_store(wr->sh, wr->loop);
    cor_rand_init_seeded(&wr->rand, wr->sh->seed + wr->number);
    wr->left = WRITES;
    for (size_t i = 0; i < LANES; i++) {
        wr->lanes[i].writer = wr;
        next_write(&wr->lanes[i]);
    }
    if (!cor_loop_run_until(wr->loop, writer_is_done, wr, RUN_MS))
        failure(wr->sh, "writer %u hangs", wr->number);
    pthread_barrier_wait(&wr->sh->written);
    leave(wr->sh, wr->store, wr->loop);
    return NULL;
}

/* Watchers. */

struct watcher;
struct check {
    struct watcher *watcher;
    bool busy;
    cor_rev rev;
    cor_rev revs[KEYS]; /* the state as rebuilt; 0: absent */
};

struct watcher {
    struct shared *sh;
    struct watching *home;
    const char *key;
    struct cor_predicate predicate;
    struct cor_store_watch *watch;
    cor_rev revs[KEYS];
    cor_rev seen;
    struct check check;
    size_t checks, events;
    bool slow, done, closed;
};

struct watching {
    struct shared *sh;
    pthread_t thread;
    unsigned number;
    struct cor_loop *loop;
    struct cor_store *store;
    struct watcher watchers[WATCHERS];
};

static unsigned number_of(const struct cor_object *object)
{
    struct cor_str name = cor_object_name(object);

    return name.n == 3 ? (unsigned)(name.p[1] - '0') * 10 + (unsigned)(name.p[2] - '0') : KEYS;
}

static void compare(struct check *check, const struct cor_store_list_reply *list)
{
    struct shared *sh = check->watcher->sh;
    cor_rev revs[KEYS] = {0};

    for (size_t i = 0; i < list->nitems; i++)
        revs[number_of(list->items[i])] = list->items[i]->rev;
    for (unsigned i = 0; i < KEYS; i++)
        if (revs[i] != check->revs[i])
            failure(sh, "%s: at %llu key %u is at %llu in the list, at %llu in the watch",
                    check->watcher->key, (unsigned long long)check->rev, i,
                    (unsigned long long)revs[i], (unsigned long long)check->revs[i]);
}

static void on_list(void *arg, struct cor_store_list_reply *list)
{
    struct check *check = arg;
    struct watcher *wt = check->watcher;

    check->busy = false;
    wt->checks++;
    atomic_fetch_add(&wt->sh->checks, 1);
    if (list->err < 0)
        failure(wt->sh, "list at %llu: %s", (unsigned long long)check->rev,
                cor_status_message(list->status));
    else
        compare(check, list);
    if (wt->watch)
        cor_store_watch_resume(wt->watch);
}

/* A slow watcher stands still until the list has been compared. */
static void on_bookmark(struct watcher *wt, cor_rev rev)
{
    struct cor_store_list_opts opts = {
        .options = {.recursive = true, .resource_version_match = COR_STR("Exact")},
        .predicate = &wt->predicate};
    cor_rev final = atomic_load(&wt->sh->final);
    char text[32];

    wt->done = final > 0 && rev >= final;
    if (wt->check.busy)
        return;
    wt->check.busy = true;
    wt->check.rev = rev;
    memcpy(wt->check.revs, wt->revs, sizeof(wt->revs));
    snprintf(text, sizeof(text), "%llu", (unsigned long long)rev);
    opts.options.resource_version = cor_strz(text);
    if (cor_store_list(wt->home->store, cor_strz(wt->key), &opts, on_list, &wt->check, NULL) < 0)
        failure(wt->sh, "list refused");
    else if (wt->slow)
        cor_store_watch_pause(wt->watch);
}

static void on_event(void *arg, const struct cor_reader_event *event)
{
    struct watcher *wt = arg;
    unsigned i;

    if (event->type == COR_WATCH_ERROR) {
        failure(wt->sh, "watch: %s", cor_status_message(event->status));
        return;
    }
    if (event->rev < wt->seen || (event->rev == wt->seen && event->type != COR_WATCH_BOOKMARK))
        failure(wt->sh, "%llu after %llu", (unsigned long long)event->rev,
                (unsigned long long)wt->seen);
    wt->seen = event->rev;
    if (event->type == COR_WATCH_BOOKMARK) {
        on_bookmark(wt, event->rev);
        return;
    }
    wt->events++;
    i = number_of(event->object);
    if ((wt->revs[i] == 0) != (event->type == COR_WATCH_ADDED))
        failure(wt->sh, "%s: event of type %d for key %u at %llu", wt->key, (int)event->type, i,
                (unsigned long long)wt->revs[i]);
    wt->revs[i] = event->type == COR_WATCH_DELETED ? 0 : event->rev;
}

static bool watchers_are_done(void *arg)
{
    struct watching *home = arg;
    bool all = true;

    for (size_t i = 0; i < WATCHERS; i++)
        all &= home->watchers[i].done && !home->watchers[i].check.busy;
    return all || atomic_load(&home->sh->failed);
}

static void on_closed(void *arg)
{
    ((struct watcher *)arg)->closed = true;
}

static bool watchers_are_closed(void *arg)
{
    struct watching *home = arg;
    bool all = true;

    for (size_t i = 0; i < WATCHERS; i++)
        all &= home->watchers[i].closed && !home->watchers[i].check.busy;
    return all;
}

static void open_watcher(struct watching *home, struct watcher *wt, unsigned i)
{
    static const char *const keys[WATCHERS] = {"/pods", "/pods/ns1", "/pods", "/pods/ns2"};
    struct cor_store_watch_opts opts = {.options.recursive = true,
                                        .options.resource_version = cor_strz(home->sh->start),
                                        .progress_ms = 3 + i,
                                        .on_event = on_event,
                                        .arg = wt};

    wt->sh = home->sh;
    wt->home = home;
    wt->key = keys[i];
    wt->slow = i % 2 == 1;
    wt->check.watcher = wt;
    if (i >= 2)
        wt->predicate = conf_predicate("", "spec.nodeName=a");
    opts.predicate = &wt->predicate;
    if (cor_store_watch_open(home->store, cor_strz(wt->key), &opts, &wt->watch, NULL) < 0)
        failure(home->sh, "no watch");
}

static void *run_watchers(void *arg)
{
    struct watching *home = arg;

    if (cor_loop_new(4096, &home->loop) < 0)
        abort();
    home->store = open_store(home->sh, home->loop);
    for (unsigned i = 0; i < WATCHERS; i++)
        open_watcher(home, &home->watchers[i], i);
    if (!cor_loop_run_until(home->loop, watchers_are_done, home, RUN_MS))
        failure(home->sh, "watchers %u hang", home->number);
    for (unsigned i = 0; i < WATCHERS; i++)
        cor_store_watch_close(COR_STEAL(home->watchers[i].watch), on_closed, &home->watchers[i]);
    cor_loop_run_until(home->loop, watchers_are_closed, home, RUN_MS);
    for (unsigned i = 0; i < WATCHERS; i++)
        cor_predicate_deinit(&home->watchers[i].predicate);
    leave(home->sh, home->store, home->loop);
    return NULL;
}

TEST(conformance, watchers_rebuild_the_listed_state_at_every_bookmark)
{
    static struct writer writers[WRITERS];
    static struct watching watching[THREADS];
    static struct shared sh;
    struct conf c;

    conf_open_store(&c);
    memset(writers, 0, sizeof(writers));
    memset(watching, 0, sizeof(watching));
    memset(&sh, 0, sizeof(sh));
    sh.engine = c.engine;
    sh.seed = test_random();
    snprintf(sh.start, sizeof(sh.start), "%s", conf_rv(conf_revision(&c)));
    pthread_barrier_init(&sh.written, NULL, WRITERS + 1);
    pthread_barrier_init(&sh.finished, NULL, WRITERS + THREADS + 1);
    pthread_barrier_init(&sh.engine_closed, NULL, WRITERS + THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++) {
        watching[i].sh = &sh;
        watching[i].number = i;
        assert_int_equal(pthread_create(&watching[i].thread, NULL, run_watchers, &watching[i]), 0);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i].sh = &sh;
        writers[i].number = i;
        assert_int_equal(pthread_create(&writers[i].thread, NULL, run_writer, &writers[i]), 0);
    }
    pthread_barrier_wait(&sh.written);
    atomic_store(&sh.final, conf_revision(&c));
    pthread_barrier_wait(&sh.finished);
    cor_store_free(c.store);
    cor_engine_close(c.engine);
    cor_encryption_unref(c.transformer.encryption);
    pthread_barrier_wait(&sh.engine_closed);
    cor_loop_free(c.loop);
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(watching[i].thread, NULL);
    if (atomic_load(&sh.failed))
        fail_msg("%s", sh.failure);
    for (unsigned i = 0; i < THREADS; i++) {
        for (unsigned j = 0; j < WATCHERS; j++) {
            assert_true(watching[i].watchers[j].events > 0);
            assert_true(watching[i].watchers[j].checks > 0);
        }
    }
    assert_true(atomic_load(&sh.checks) >= CHECKS);
    pthread_barrier_destroy(&sh.written);
    pthread_barrier_destroy(&sh.finished);
    pthread_barrier_destroy(&sh.engine_closed);
}
