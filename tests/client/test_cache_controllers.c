/* A reflector, a queue and a consumer on a runtime: client-go's cache.New with each kind of queue,
 * through the public headers only, in a time that the test moves. Nothing sleeps.
 * Contract client 1.10.1 to 1.10.5. */
#include <coracle.h>
#include <pthread.h>
#include <stdio.h>

#include "stage.h"
#include "world.h"

static struct cor_list_watch *list_watch_of(struct stage *s)
{
    struct cor_list_watch *lw;

    assert_int_equal(cor_list_watch_script_list_watch(s->pods, NULL, NULL, &lw, NULL), 0);
    return lw;
}

static const char *take_seen(struct stage *s)
{
    static char seen[sizeof(s->seen)];

    snprintf(seen, sizeof(seen), "%s", s->seen);
    s->seen[0] = '\0';
    return seen;
}

static int note_object(void *arg, struct cor_str key, struct cor_object *object,
                       bool in_initial_list)
{
    stage_note(arg, "%.*s@%.*s%s ", COR_STR_ARG(key),
               COR_STR_ARG(cor_object_resource_version(object)), in_initial_list ? "i" : "");
    return 0;
}

TEST(cache_controllers, a_fifo_gives_the_newest_state_of_each_key)
{
    const struct cor_fifo_opts fifo_opts = {COR_FIFO_OPTS};
    struct cor_cache_controller_run_opts opts = {COR_CACHE_CONTROLLER_RUN_OPTS,
                                                 .process_object = note_object};
    char version[COR_REFLECTOR_VERSION_MAX];
    struct cor_cache_controller_run *run;
    struct cor_reflector_stats stats;
    struct cor_list_watch *lw;
    struct stage s;

    stage_begin(&s);
    lw = list_watch_of(&s);
    opts.arg = &s;
    assert_int_equal(cor_fifo_new(&fifo_opts, &opts.fifo), 0);
    stage_put(&s, "x", "a", "web");
    stage_put(&s, "x", "b", "web");
    cor_list_watch_script_fail_next(s.pods, -COR_EUNREACHABLE, 1);
    assert_int_equal(cor_cache_controller_run_new(s.rt, &opts, lw, &run), 0);
    stage_pump(&s);
    assert_false(cor_cache_controller_run_has_synced(run));
    assert_int_equal(cor_cache_controller_run_wait_for_sync(run, 0), -COR_ETIMEOUT);
    cor_cache_controller_run_last_version(run, version);
    assert_string_equal(version, "");
    stage_advance(&s, 60000);
    assert_true(cor_cache_controller_run_has_synced(run));
    assert_int_equal(cor_cache_controller_run_wait_for_sync(run, 0), 0);
    assert_string_equal(take_seen(&s), "x/a@2i x/b@3i ");

    stage_put(&s, "x", "a", "db");
    stage_put(&s, "x", "a", "web");
    assert_int_equal(cor_list_watch_script_remove(s.pods, COR_STR("x/b")), 0);
    stage_pump(&s);
    assert_string_equal(take_seen(&s), "x/a@5 ");
    cor_cache_controller_run_last_version(run, version);
    assert_string_equal(version, "6");
    cor_cache_controller_run_stats(run, &stats);
    assert_int_equal(stats.lists, 2);
    assert_int_equal(stats.watch_items, 3);
    assert_int_equal(stats.backlog, 0);

    assert_null(cor_cache_controller_run_free(run));
    assert_true(cor_fifo_is_closed(opts.fifo));
    cor_fifo_free(opts.fifo);
    cor_list_watch_free(lw);
    stage_end(&s);
}

/* What a program does that has its own store: changes are applied, and a resync repeats what it
 * knows, when it wants one. */
struct consumer {
    struct stage *s;
    struct cor_indexer *known;
    bool wants_resync;
};

static int apply(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                 bool in_initial_list)
{
    static const char *const types[] = {"A", "U", "D", "R", "S"};
    struct consumer *c = arg;
    int r = 0;

    stage_note(c->s, "%.*s:", COR_STR_ARG(key));
    for (size_t i = 0; r == 0 && i < n; i++) {
        stage_note(c->s, "%s%s", types[deltas[i].type], deltas[i].is_tombstone ? "t" : "");
        r = deltas[i].type == COR_DELTA_DELETED ? cor_indexer_remove(c->known, key, NULL)
                                                : cor_indexer_put(c->known, deltas[i].object, NULL);
    }
    stage_note(c->s, " ");
    return r;
}

static bool wants_resync(void *arg)
{
    return ((struct consumer *)arg)->wants_resync;
}

TEST(cache_controllers, a_delta_fifo_gives_the_changes_and_resyncs_when_wanted)
{
    for (int by_key = 0; by_key < 2; by_key++) {
        struct cor_delta_fifo_opts fifo_opts = {COR_DELTA_FIFO_OPTS, .by_key = by_key};
        struct cor_reflector_run_opts reflector = {COR_REFLECTOR_RUN_OPTS, .resync_ms = 1000,
                                                   .should_resync = wants_resync};
        struct cor_cache_controller_run_opts opts = {
            COR_CACHE_CONTROLLER_RUN_OPTS, .reflector = &reflector, .process_deltas = apply};
        struct cor_cache_controller_run *run;
        struct consumer c = {0};
        struct cor_list_watch *lw;
        struct stage s;

        stage_begin(&s);
        lw = list_watch_of(&s);
        c.s = &s;
        assert_int_equal(cor_indexer_new(NULL, 0, &c.known), 0);
        fifo_opts.known = c.known;
        assert_int_equal(cor_delta_fifo_new(&fifo_opts, &opts.delta_fifo), 0);
        reflector.arg = opts.arg = &c;
        stage_put(&s, "x", "a", "web");
        assert_int_equal(cor_cache_controller_run_new(s.rt, &opts, lw, &run), 0);
        assert_int_equal(cor_cache_controller_run_wait_for_sync(run, PATIENCE_MS), 0);
        stage_put(&s, "x", "b", "web");
        stage_pump(&s);
        assert_int_equal(cor_list_watch_script_remove(s.pods, COR_STR("x/a")), 0);
        stage_pump(&s);
        assert_string_equal(take_seen(&s), "x/a:R x/b:A x/a:D ");
        assert_int_equal(cor_indexer_len(c.known), 1);

        stage_advance(&s, 1000);
        assert_string_equal(take_seen(&s), "");
        c.wants_resync = true;
        stage_advance(&s, 1000);
        assert_string_equal(take_seen(&s), "x/b:S ");

        /* What a list lacks is deleted. */
        assert_int_equal(cor_list_watch_script_remove(s.pods, COR_STR("x/b")), 0);
        cor_list_watch_script_end_watches(s.pods, -COR_EEXPIRED);
        cor_list_watch_script_compact(s.pods);
        c.wants_resync = false;
        stage_advance(&s, 60000);
        assert_int_equal(cor_indexer_len(c.known), 0);
        cor_cache_controller_run_free(run);
        assert_true(cor_delta_fifo_is_closed(opts.delta_fifo));
        cor_delta_fifo_free(opts.delta_fifo);
        cor_indexer_free(c.known);
        cor_list_watch_free(lw);
        stage_end(&s);
    }
}

/* A piece that is put back is tried once in each step: others are not held up, and the loop does
 * not spin. The codes of a consumer are not the queue's. */
struct moody {
    struct stage *s;
    int answer; /* for the object a */
};

static int process_moodily(void *arg, struct cor_str key, struct cor_object *object,
                           bool in_initial_list)
{
    struct moody *m = arg;

    stage_note(m->s, "%.*s ", COR_STR_ARG(cor_object_name(object)));
    return cor_str_eqz(cor_object_name(object), "a") ? m->answer : 0;
}

static int process_deltas_moodily(void *arg, struct cor_str key, const struct cor_delta *deltas,
                                  size_t n, bool in_initial_list)
{
    return process_moodily(arg, key, deltas[0].object, in_initial_list);
}

TEST(cache_controllers, what_is_put_back_is_tried_a_second_later)
{
    for (int is_fifo = 0; is_fifo < 2; is_fifo++) {
        struct cor_cache_controller_run_opts opts = {COR_CACHE_CONTROLLER_RUN_OPTS,
                                                     .process_deltas = process_deltas_moodily,
                                                     .process_object = process_moodily};
        struct moody m = {.answer = COR_FIFO_REQUEUE};
        struct cor_cache_controller_run *run;
        struct cor_list_watch *lw;
        struct stage s;

        stage_begin(&s);
        lw = list_watch_of(&s);
        m.s = &s;
        opts.arg = &m;
        if (is_fifo)
            assert_int_equal(cor_fifo_new(NULL, &opts.fifo), 0);
        else
            assert_int_equal(cor_delta_fifo_new(NULL, &opts.delta_fifo), 0);
        stage_put(&s, "x", "a", "web");
        stage_put(&s, "x", "b", "web");
        stage_put(&s, "x", "c", "web");
        assert_int_equal(cor_cache_controller_run_new(s.rt, &opts, lw, &run), 0);
        stage_pump(&s);
        assert_string_equal(take_seen(&s), "a b c ");
        stage_pump(&s);
        assert_string_equal(take_seen(&s), "");
        stage_advance(&s, 999);
        assert_string_equal(take_seen(&s), "");
        stage_advance(&s, 1);
        assert_string_equal(take_seen(&s), "a ");
        stage_put(&s, "x", "d", "web");
        stage_pump(&s);
        assert_string_equal(take_seen(&s), "a d ");
        m.answer = -COR_EBUSY; /* refused, and dropped */
        stage_put(&s, "x", "e", "web");
        stage_pump(&s);
        assert_string_equal(take_seen(&s), "a e ");
        stage_advance(&s, 1000);
        assert_string_equal(take_seen(&s), "");
        cor_cache_controller_run_free(run);
        cor_fifo_free(opts.fifo);
        cor_delta_fifo_free(opts.delta_fifo);
        cor_list_watch_free(lw);
        stage_end(&s);
    }
}

/* Without memory a delta FIFO keeps the change; a FIFO has given it away. */
TEST(cache_controllers, a_change_that_finds_no_memory_waits)
{
    struct cor_cache_controller_run_opts opts = {COR_CACHE_CONTROLLER_RUN_OPTS,
                                                 .process_deltas = process_deltas_moodily};
    struct moody m = {.answer = -COR_ENOMEM};
    struct cor_cache_controller_run *run;
    struct cor_reflector_stats stats;
    struct cor_list_watch *lw;
    struct stage s;

    stage_begin(&s);
    lw = list_watch_of(&s);
    m.s = &s;
    opts.arg = &m;
    assert_int_equal(cor_delta_fifo_new(NULL, &opts.delta_fifo), 0);
    stage_put(&s, "x", "a", "web");
    stage_put(&s, "x", "b", "web");
    assert_int_equal(cor_cache_controller_run_new(s.rt, &opts, lw, &run), 0);
    stage_pump(&s);
    assert_string_equal(take_seen(&s), "a ");
    assert_false(cor_cache_controller_run_has_synced(run));
    cor_cache_controller_run_stats(run, &stats);
    assert_int_equal(stats.backlog, 2);
    m.answer = 0;
    stage_advance(&s, 1000);
    assert_string_equal(take_seen(&s), "a b ");
    assert_true(cor_cache_controller_run_has_synced(run));
    cor_cache_controller_run_free(run);
    cor_delta_fifo_free(opts.delta_fifo);
    cor_list_watch_free(lw);
    stage_end(&s);
}

/* A queue of the program's own: counts what waits, by kind of change. */
struct tally {
    struct stage *s;
    size_t nwaiting;
    int answer;
    bool is_populated, is_closed;
};

static int tally_change(void *arg, struct cor_object *object, struct cor_status *reterr)
{
    struct tally *t = arg;

    t->nwaiting++;
    t->is_populated = true;
    return 0;
}

static int tally_remove(void *arg, struct cor_str key, struct cor_object *object,
                        struct cor_status *reterr)
{
    return tally_change(arg, object, reterr);
}

static int tally_replace(void *arg, struct cor_object *const *objects, size_t n,
                         struct cor_str version, struct cor_status *reterr)
{
    struct tally *t = arg;

    t->nwaiting += n;
    t->is_populated = true;
    return 0;
}

static int tally_try_pop(void *arg)
{
    struct tally *t = arg;

    if (t->nwaiting == 0)
        return t->is_closed ? -COR_ECANCELED : -COR_EBUSY;
    stage_note(t->s, "%zu ", t->nwaiting);
    t->nwaiting -= t->answer == 0;
    return t->answer;
}

static size_t tally_len(void *arg)
{
    return ((struct tally *)arg)->nwaiting;
}

static bool tally_has_synced(void *arg)
{
    const struct tally *t = arg;

    return t->is_populated && t->nwaiting == 0;
}

static void tally_close(void *arg)
{
    ((struct tally *)arg)->is_closed = true;
}

static void tally_begin(struct tally *t, struct stage *s, struct cor_cache_queue_fns *ret_fns)
{
    const struct cor_reflector_store_fns store = {COR_REFLECTOR_STORE_FNS,  .add = tally_change,
                                                  .update = tally_change,   .remove = tally_remove,
                                                  .replace = tally_replace, .arg = t};

    *t = (struct tally){.s = s};
    *ret_fns = (struct cor_cache_queue_fns){COR_CACHE_QUEUE_FNS,  .try_pop = tally_try_pop,
                                            .len = tally_len,     .has_synced = tally_has_synced,
                                            .close = tally_close, .arg = t};
    assert_int_equal(cor_reflector_store_new(&store, &ret_fns->store), 0);
}

TEST(cache_controllers, any_queue_will_do)
{
    struct cor_cache_queue_fns queue;
    const struct cor_cache_controller_run_opts opts = {COR_CACHE_CONTROLLER_RUN_OPTS,
                                                       .queue = &queue};
    struct cor_cache_controller_run *run;
    struct cor_reflector_stats stats;
    struct cor_list_watch *lw;
    struct tally t;
    struct stage s;

    stage_begin(&s);
    lw = list_watch_of(&s);
    tally_begin(&t, &s, &queue);
    stage_put(&s, "x", "a", "web");
    stage_put(&s, "x", "b", "web");
    assert_int_equal(cor_cache_controller_run_new(s.rt, &opts, lw, &run), 0);
    assert_int_equal(cor_cache_controller_run_wait_for_sync(run, PATIENCE_MS), 0);
    assert_string_equal(take_seen(&s), "2 1 ");
    t.nwaiting = 1; /* another writer than the reflector */
    stage_pump(&s);
    assert_string_equal(take_seen(&s), "");
    cor_cache_controller_run_wake(run);
    stage_pump(&s);
    assert_string_equal(take_seen(&s), "1 ");

    t.answer = COR_CACHE_QUEUE_PUT_BACK;
    stage_put(&s, "x", "c", "web");
    stage_put(&s, "x", "d", "web");
    stage_pump(&s);
    assert_string_equal(take_seen(&s), "2 2 "); /* each once */
    t.answer = -COR_ENOMEM;
    stage_advance(&s, 1000);
    assert_string_equal(take_seen(&s), "2 ");
    cor_cache_controller_run_stats(run, &stats);
    assert_int_equal(stats.backlog, 2);
    t.answer = 0;
    cor_cache_controller_run_free(run); /* what waits stays there */
    assert_true(t.is_closed);
    assert_int_equal(t.nwaiting, 2);
    assert_string_equal(take_seen(&s), "");
    cor_reflector_store_free(queue.store);
    cor_list_watch_free(lw);
    stage_end(&s);
}

TEST(cache_controllers, a_controller_has_one_queue_and_its_consumer)
{
    struct cor_cache_controller_run_opts opts = {COR_CACHE_CONTROLLER_RUN_OPTS};
    struct cor_cache_queue_fns queue, lacking;
    struct cor_cache_controller_run *run;
    struct cor_delta_fifo *deltas;
    struct cor_list_watch *lw;
    struct cor_fifo *fifo;
    struct tally t;
    struct stage s;

    stage_begin(&s);
    lw = list_watch_of(&s);
    tally_begin(&t, &s, &queue);
    assert_int_equal(cor_fifo_new(NULL, &fifo), 0);
    assert_int_equal(cor_delta_fifo_new(NULL, &deltas), 0);
    assert_int_equal(cor_cache_controller_run_new(s.rt, &opts, lw, &run), -COR_EINVAL);
    opts.fifo = fifo;
    assert_int_equal(cor_cache_controller_run_new(s.rt, &opts, lw, &run), -COR_EINVAL);
    opts.process_object = note_object;
    opts.delta_fifo = deltas;
    assert_int_equal(cor_cache_controller_run_new(s.rt, &opts, lw, &run), -COR_EINVAL);
    opts.fifo = NULL;
    assert_int_equal(cor_cache_controller_run_new(s.rt, &opts, lw, &run), -COR_EINVAL);
    opts.delta_fifo = NULL;
    opts.queue = &lacking;
    for (int i = 0; i < 6; i++) {
        lacking = queue;
        lacking.size = i == 0 ? 0 : lacking.size;
        lacking.store = i == 1 ? NULL : lacking.store;
        lacking.try_pop = i == 2 ? NULL : lacking.try_pop;
        lacking.len = i == 3 ? NULL : lacking.len;
        lacking.has_synced = i == 4 ? NULL : lacking.has_synced;
        lacking.close = i == 5 ? NULL : lacking.close;
        assert_int_equal(cor_cache_controller_run_new(s.rt, &opts, lw, &run), -COR_EINVAL);
    }
    opts.size = 0;
    assert_int_equal(cor_cache_controller_run_new(s.rt, &opts, lw, &run), -COR_EINVAL);
    assert_null(cor_cache_controller_run_free(NULL));
    cor_delta_fifo_free(deltas);
    cor_fifo_free(fifo);
    cor_reflector_store_free(queue.store);
    cor_list_watch_free(lw);
    stage_end(&s);
}

/* On threads: another writer wakes the controller through the queue's on_ready, and a thread waits
 * for the first list; the consumer may not wait for itself. */
struct threaded {
    struct cor_cache_controller_run *run;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_made, has_seen;
};

static void wake_controller(void *arg)
{
    struct threaded *t = arg;
    struct cor_cache_controller_run *run;

    pthread_mutex_lock(&t->lock);
    run = t->is_made ? t->run : NULL;
    pthread_mutex_unlock(&t->lock);
    if (run)
        cor_cache_controller_run_wake(run);
}

static int see(void *arg, struct cor_str key, struct cor_object *object, bool in_initial_list)
{
    struct threaded *t = arg;

    pthread_mutex_lock(&t->lock);
    if (t->is_made)
        assert_int_equal(cor_cache_controller_run_wait_for_sync(t->run, 1), -COR_EINVAL);
    t->has_seen |= cor_str_eqz(cor_object_name(object), "own");
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    return 0;
}

TEST(cache_controllers, works_on_threads_and_with_other_writers)
{
    struct threaded t = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    const struct cor_fifo_opts fifo_opts = {COR_FIFO_OPTS, .on_ready = wake_controller, .arg = &t};
    struct cor_cache_controller_run_opts opts = {COR_CACHE_CONTROLLER_RUN_OPTS,
                                                 .process_object = see, .arg = &t};
    struct cor_object *one = stage_pod("x", "one", "web"), *own = stage_pod("x", "own", "web");
    struct cor_list_watch_script *pods;
    struct cor_cache_controller_run *run;
    struct cor_list_watch *lw;
    struct cor_runtime *rt;

    assert_int_equal(cor_runtime_new(NULL, &rt), 0);
    assert_int_equal(cor_list_watch_script_new(&pods), 0);
    assert_int_equal(cor_list_watch_script_put(pods, one), 0);
    assert_int_equal(cor_list_watch_script_list_watch(pods, NULL, NULL, &lw, NULL), 0);
    assert_int_equal(cor_fifo_new(&fifo_opts, &opts.fifo), 0);
    assert_int_equal(cor_cache_controller_run_new(rt, &opts, lw, &run), 0);
    assert_int_equal(cor_cache_controller_run_wait_for_sync(run, PATIENCE_MS), 0);
    pthread_mutex_lock(&t.lock);
    t.run = run;
    t.is_made = true;
    pthread_mutex_unlock(&t.lock);
    assert_int_equal(cor_fifo_add_if_not_present(opts.fifo, own), 0);
    pthread_mutex_lock(&t.lock);
    while (!t.has_seen)
        pthread_cond_wait(&t.changed, &t.lock);
    t.is_made = false;
    pthread_mutex_unlock(&t.lock);
    cor_cache_controller_run_free(run);
    cor_fifo_free(opts.fifo);
    cor_list_watch_free(lw);
    cor_list_watch_script_free(pods);
    cor_runtime_free(rt);
    cor_object_unref(one);
    cor_object_unref(own);
}

/* Each allocation fails once: the controller is made or not, and what is lost comes again. */
TEST(cache_controllers, survives_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_cache_controller_run_opts opts = {COR_CACHE_CONTROLLER_RUN_OPTS,
                                                     .process_object = note_object};
        struct cor_cache_controller_run *run = NULL;
        struct cor_list_watch *lw;
        struct stage s;
        int r;

        test_fail_alloc(0, false);
        stage_begin(&s);
        lw = list_watch_of(&s);
        opts.arg = &s;
        assert_int_equal(cor_fifo_new(NULL, &opts.fifo), 0);
        stage_put(&s, "x", "a", "web");
        test_fail_alloc(n, false);
        r = cor_cache_controller_run_new(s.rt, &opts, lw, &run);
        if (r == 0)
            stage_pump(&s);
        test_fail_alloc(0, false);
        assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
        for (int i = 0; r == 0 && i < 3; i++)
            stage_advance(&s, 60000);
        if (r == 0)
            assert_memory_equal(take_seen(&s), "x/a@2i ", 7); /* a relist may repeat it */
        cor_cache_controller_run_free(run);
        cor_fifo_free(opts.fifo);
        cor_list_watch_free(lw);
        stage_end(&s);
    }
}
