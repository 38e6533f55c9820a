/* What a commit costs in syncs of the write-ahead log, counted below SQLite. */
#include <pthread.h>
#include <stdio.h>

#include "engine_fixture.h"
#include "fault_vfs.h"

#define QUEUED_MAX 257

static uint64_t wal_syncs(void)
{
    return fault_vfs_count(FAULT_SYNC, FAULT_WAL);
}

TEST(syncs, every_acknowledged_write_was_synced)
{
    struct fx fx;
    char key[32];
    uint64_t before;

    assert_true(fault_vfs_install());
    fx_open(&fx, test_tmpdir());
    assert_int_equal(fx_put(&fx, "/registry/a/first", "x", 0, NULL), 0);
    for (int i = 0; i < 20; i++) {
        before = wal_syncs();
        snprintf(key, sizeof(key), "/registry/a/%d", i);
        assert_int_equal(fx_put(&fx, key, "x", 0, NULL), 0);
        assert_true(wal_syncs() > before);
    }
    fx_close(&fx);
    fault_vfs_uninstall();
}

TEST(syncs, a_lost_compare_alone_syncs_nothing)
{
    struct fx fx;
    uint64_t before;

    assert_true(fault_vfs_install());
    fx_open(&fx, test_tmpdir());
    assert_int_equal(fx_put(&fx, "/registry/a/1", "x", 0, NULL), 0);
    before = wal_syncs();
    assert_int_equal(fx_put(&fx, "/registry/a/1", "y", 0, NULL), -COR_ECONFLICT);
    assert_int_equal(wal_syncs(), before);
    fx_close(&fx);
    fault_vfs_uninstall();
}

/* A feed that keeps the engine's thread in its callback until the gate opens, so that writes queue
 * up behind it. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool entered, open, closed;
    struct cor_feed *feed;
};

static void wait_at_gate(void *arg, const struct cor_feed_batch *batch)
{
    struct gate *g = arg;

    if (batch->nevents == 0)
        return;
    pthread_mutex_lock(&g->lock);
    g->entered = true;
    pthread_cond_broadcast(&g->changed);
    while (!g->open)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void on_broken(void *arg, int err, const char *message)
{
    (void)arg, (void)err;
    fprintf(stderr, "feed: %s\n", message);
}

static void on_closed(void *arg)
{
    struct gate *g = arg;

    pthread_mutex_lock(&g->lock);
    g->closed = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static void gate_wait(struct gate *g, const bool *flag)
{
    pthread_mutex_lock(&g->lock);
    while (!*flag)
        pthread_cond_wait(&g->changed, &g->lock);
    pthread_mutex_unlock(&g->lock);
}

static void gate_open(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static void submit(struct fx *fx, struct cor_write_req *w, const char *key, struct cor_str value)
{
    cor_write_req_init(w, fx->loop, fx_on_done);
    w->key = cor_strz(key);
    w->value = value;
    fx_submit_write(fx, w);
}

/* How many syncs `n` writes of `value` cost that wait for the engine together. */
static uint64_t syncs_of_queued(size_t n, struct cor_str value)
{
    static struct cor_write_req first, queued[QUEUED_MAX];
    static char keys[QUEUED_MAX][32];
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    const struct cor_feed_opts opts = {
        .key = COR_STR("/registry/a/first"),
        .credit = SIZE_MAX,
        .on_batch = wait_at_gate,
        .on_broken = on_broken,
        .on_closed = on_closed,
        .arg = &gate,
    };
    struct fx fx;
    uint64_t before, syncs;

    assert_true(fault_vfs_install());
    fx_open(&fx, test_tmpdir());
    assert_int_equal(cor_feed_open(fx.engine, &opts, &gate.feed), 0);
    submit(&fx, &first, "/registry/a/first", COR_STR("x"));
    gate_wait(&gate, &gate.entered);
    for (size_t i = 0; i < n; i++) {
        snprintf(keys[i], sizeof(keys[i]), "/registry/a/%zu", i);
        submit(&fx, &queued[i], keys[i], value);
    }
    before = wal_syncs();
    gate_open(&gate);
    fx_wait(&fx);
    syncs = wal_syncs() - before;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(queued[i].req.result, 0);
        assert_int_equal(queued[i].ret_rev, first.ret_rev + 1 + i);
        cor_write_req_deinit(&queued[i]);
    }
    cor_write_req_deinit(&first);
    cor_feed_close(gate.feed);
    gate_wait(&gate, &gate.closed);
    fx_close(&fx);
    fault_vfs_uninstall();
    return syncs;
}

TEST(syncs, writes_that_queued_up_share_one_commit_and_one_sync)
{
    assert_int_equal(syncs_of_queued(64, COR_STR("x")), 1);
}

TEST(syncs, a_commit_takes_at_most_256_writes)
{
    assert_int_equal(syncs_of_queued(256, COR_STR("x")), 1);
    assert_int_equal(syncs_of_queued(257, COR_STR("x")), 2);
}

TEST(syncs, a_commit_takes_at_most_4_megabytes)
{
    static char value[1900000];

    assert_int_equal(syncs_of_queued(4, cor_str(value, sizeof(value))), 2);
}
