/* clang-format off */
/* A process under load, made to be killed: LOOPS threads with CHAINS requests each write, overwrite
 * and delete the keys of one small pool by compare-and-swap, while a feed follows everything.
 *
 *   crash_writer DATA_DIR SEED LOG FEED_LOG MS KNOWN_REV
 *
 * It runs for MS milliseconds and until a planned fault is met, or until it dies. LOG gets one line
 * before each request and one after:
 *   I <op> <key> P|D <hash>  will be asked
 *   A <op> <rev>             was acknowledged
 *   C <op>                   lost its compare, or its lease has ended
 *   X <op> <error> <text>    failed
 * and FEED_LOG one per event: E <rev> <key> P|D <hash>. Each line is one write() to a file in
 * append mode, so that a line that is there was there before the next step, whatever kills the
 * process. */
/* clang-format on */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "fault_vfs.h"
#include "loop/loop.h"
#include "storage/engine/engine.h"

#define LOOPS              2
#define CHAINS             8
#define KEYS               96
#define VALUE_MAX          6000
#define ERRORS_MAX         20 /* a chain stops after so many failures */
#define LEASED             16 /* the first so many keys */
#define LEASE_S            2  /* longer than most runs; one that has ended refuses the write */
#define KEY_PREFIX         "/registry/crash/"
#define FAULT_WAIT_MS      20000 /* for a fault that a slow run has not met yet */
#define WRITES_AFTER_FAULT 3     /* of each chain */

struct worker;

/* One request after another; the next begins when the last is done. */
struct chain {
    struct cor_write_req req;
    struct worker *worker;
    uint64_t op; /* unique within the process */
    size_t key;
    unsigned errors, after_fault;
    bool busy;
    char key_text[64];
    char value[VALUE_MAX];
};

struct worker {
    pthread_t thread;
    struct cor_loop *loop;
    struct cor_engine *engine;
    struct cor_rand rand;
    cor_rev known[KEYS]; /* as this worker last saw them; a wrong guess loses its compare */
    struct chain chains[CHAINS];
    struct cor_lease_req lease;
    struct cor_compact_req compact;
    bool compacting, waiting;
    unsigned number;
    uint64_t ops;
    uint64_t end_ms, lease_end_ms;
};

static int log_fd, feed_fd;
static cor_rev known_rev; /* of the last check: the feed goes on from it, history up to it goes */
static pthread_mutex_t feed_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t feed_cond = PTHREAD_COND_INITIALIZER;
static bool feed_closed;

_Noreturn static void die(const char *what, const char *why)
{
    fprintf(stderr, "crash_writer: %s: %s\n", what, why);
    exit(1);
}

__attribute__((format(printf, 2, 3))) static void put_line(int fd, const char *fmt, ...)
{
    char line[512];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
    va_end(ap);
    if (n > (int)sizeof(line) - 2)
        n = (int)sizeof(line) - 2;
    line[n++] = '\n';
    if (write(fd, line, (size_t)n) != n)
        die("log", strerror(errno));
}

static void fill_value(struct chain *c, size_t len)
{
    int head = snprintf(c->value, VALUE_MAX, "{\"op\":%" PRIu64 ",\"pad\":\"", c->op);

    for (size_t i = (size_t)head; i < len - 2; i++)
        c->value[i] = (char)('a' + cor_rand_below(&c->worker->rand, 26));
    memcpy(c->value + len - 2, "\"}", 2);
    c->req.value = cor_str(c->value, len);
}

static void on_written(struct cor_engine_req *req);

static void start(struct chain *c)
{
    struct worker *w = c->worker;

    cor_write_req_init(&c->req, w->loop, on_written);
    c->op = ++w->ops * LOOPS + w->number;
    c->key = cor_rand_below(&w->rand, KEYS);
    snprintf(c->key_text, sizeof(c->key_text), KEY_PREFIX "%s%03zu",
             c->key < LEASED ? "leased-" : "", c->key);
    c->req.key = cor_strz(c->key_text);
    c->req.expected = w->known[c->key];
    c->req.is_delete = c->req.expected && cor_rand_below(&w->rand, 5) == 0;
    if (c->key < LEASED && !c->req.is_delete)
        c->req.lease = w->lease.ret_id;
    if (!c->req.is_delete)
        fill_value(c, 64 + cor_rand_below(&w->rand, VALUE_MAX - 64));
    put_line(log_fd, "I %" PRIu64 " %s %c %016" PRIx64, c->op, c->key_text,
             c->req.is_delete ? 'D' : 'P', c->req.is_delete ? 0 : cor_str_hash(c->req.value));
    c->busy = true;
    cor_engine_write(w->engine, &c->req);
}

static bool lease_has_ended(const struct chain *c, int result)
{
    return result == -COR_ENOTFOUND && c->req.lease != 0 &&
           cor_loop_now_ms(c->worker->loop) >= c->worker->lease_end_ms;
}

/* A fault that is planned is waited for, and writes follow it, however slow the machine is. */
static bool goes_on(struct chain *c)
{
    uint64_t now_ms = cor_loop_now_ms(c->worker->loop);
    uint64_t end_ms = c->worker->end_ms;

    if (now_ms < end_ms || !getenv(FAULT_VFS_ENV))
        return now_ms < end_ms;
    if (fault_vfs_fired() == 0)
        return now_ms < end_ms + FAULT_WAIT_MS;
    return c->after_fault++ < WRITES_AFTER_FAULT;
}

static void on_written(struct cor_engine_req *req)
{
    struct chain *c = COR_CONTAINER_OF(req, struct chain, req.req);
    struct worker *w = c->worker;

    c->busy = false;
    if (req->result == 0) {
        put_line(log_fd, "A %" PRIu64 " %" PRIu64, c->op, c->req.ret_rev);
        w->known[c->key] = c->req.is_delete ? 0 : c->req.ret_rev;
    } else if (req->result == -COR_ECONFLICT) {
        put_line(log_fd, "C %" PRIu64, c->op);
        w->known[c->key] = c->req.ret_prev ? c->req.ret_prev->mod_rev : 0;
    } else if (lease_has_ended(c, req->result)) {
        put_line(log_fd, "C %" PRIu64, c->op);
    } else {
        put_line(log_fd, "X %" PRIu64 " %s %s", c->op, cor_err_name(req->result),
                 cor_status_message(&req->status));
        c->errors++;
    }
    cor_write_req_deinit(&c->req);
    if (goes_on(c) && c->errors < ERRORS_MAX)
        start(c);
}

static void log_failure(const char *what, const struct cor_engine_req *req)
{
    if (req->result < 0)
        put_line(log_fd, "X %s %s %s", what, cor_err_name(req->result),
                 cor_status_message(&req->status));
}

static void on_lease(struct cor_engine_req *req)
{
    log_failure("lease", req);
    COR_CONTAINER_OF(req, struct worker, lease.req)->waiting = false;
}

static void on_compacted(struct cor_engine_req *req)
{
    log_failure("compact", req);
    COR_CONTAINER_OF(req, struct worker, compact.req)->compacting = false;
}

static bool is_answered(void *arg)
{
    return !((struct worker *)arg)->waiting;
}

static void wait_answer(struct worker *w)
{
    if (!cor_loop_run_until(w->loop, is_answered, w, 60 * 1000))
        die("request", "no answer for a minute");
}

/* A lease for this run, and away with the history that the last check has seen. */
static void prepare(struct worker *w)
{
    cor_engine_req_init(&w->lease.req, w->loop, on_lease);
    w->lease.ttl_s = LEASE_S;
    w->lease_end_ms = cor_loop_now_ms(w->loop) + LEASE_S * 1000;
    w->waiting = true;
    cor_engine_lease(w->engine, &w->lease);
    wait_answer(w);
    if (w->number == 0) {
        cor_engine_req_init(&w->compact.req, w->loop, on_compacted);
        w->compact.rev = known_rev;
        w->compacting = true;
        cor_engine_compact(w->engine, &w->compact);
    }
}

static bool all_idle(void *arg)
{
    struct worker *w = arg;

    for (size_t i = 0; i < CHAINS; i++) {
        if (w->chains[i].busy)
            return false;
    }
    return !w->compacting;
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;

    if (cor_loop_new(1024, &w->loop) < 0)
        die("loop", "could not be made");
    prepare(w);
    for (size_t i = 0; i < CHAINS; i++) {
        w->chains[i].worker = w;
        start(&w->chains[i]);
    }
    if (!cor_loop_run_until(w->loop, all_idle, w, 120 * 1000))
        die("writes", "no answer for two minutes");
    cor_engine_req_deinit(&w->lease.req);
    cor_engine_req_deinit(&w->compact.req);
    cor_loop_free(w->loop);
    return NULL;
}

static void on_batch(void *arg, const struct cor_feed_batch *batch)
{
    (void)arg;
    for (size_t i = 0; i < batch->nevents; i++) {
        const struct cor_feed_event *e = &batch->events[i];

        put_line(feed_fd, "E %" PRIu64 " %s %c %016" PRIx64, e->kv->mod_rev, e->kv->bytes,
                 e->deleted ? 'D' : 'P', e->deleted ? 0 : cor_str_hash(cor_kv_value(e->kv)));
    }
}

static void on_broken(void *arg, int err, const char *message)
{
    (void)arg;
    put_line(feed_fd, "B %s %s", cor_err_name(err), message);
}

static void on_closed(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&feed_lock);
    feed_closed = true;
    pthread_cond_signal(&feed_cond);
    pthread_mutex_unlock(&feed_lock);
}

static struct cor_feed *open_feed(struct cor_engine *engine)
{
    const struct cor_feed_opts opts = {
        .key = COR_STR("\x01"),
        .end = COR_STR("\xff"),
        .from = known_rev,
        .credit = SIZE_MAX,
        .on_batch = on_batch,
        .on_broken = on_broken,
        .on_closed = on_closed,
    };
    struct cor_feed *feed;
    int r = cor_feed_open(engine, &opts, &feed);

    if (r < 0)
        die("feed", cor_err_text(r));
    return feed;
}

static void close_feed(struct cor_feed *feed)
{
    cor_feed_close(feed);
    pthread_mutex_lock(&feed_lock);
    while (!feed_closed)
        pthread_cond_wait(&feed_cond, &feed_lock);
    pthread_mutex_unlock(&feed_lock);
}

static int open_log(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0)
        die(path, strerror(errno));
    return fd;
}

int main(int argc, char **argv)
{
    static struct worker workers[LOOPS];
    struct cor_engine_config config = {.backend = "sqlite"};
    struct cor_engine *engine;
    struct cor_status status;
    struct cor_feed *feed;
    uint64_t now_ms = cor_clock_mono_ms(cor_clock_real());

    if (argc != 7)
        die("usage", "crash_writer DATA_DIR SEED LOG FEED_LOG MS KNOWN_REV");
    known_rev = strtoull(argv[6], NULL, 10);
    if (!fault_vfs_install())
        die("fault plan", "not understood");
    log_fd = open_log(argv[3]);
    feed_fd = open_log(argv[4]);
    config.data_dir = argv[1];
    cor_status_init(&status);
    if (cor_engine_open(&config, &engine, &status) < 0)
        die("open", cor_status_message(&status));
    feed = open_feed(engine);
    put_line(log_fd, "O");
    for (unsigned i = 0; i < LOOPS; i++) {
        struct worker *w = &workers[i];

        w->engine = engine;
        w->number = i;
        w->end_ms = now_ms + strtoull(argv[5], NULL, 10);
        cor_rand_init_seeded(&w->rand, strtoull(argv[2], NULL, 10) * LOOPS + i);
        if (pthread_create(&w->thread, NULL, run_worker, w) != 0)
            die("worker", "could not be started");
    }
    for (unsigned i = 0; i < LOOPS; i++)
        pthread_join(workers[i].thread, NULL);
    close_feed(feed);
    cor_engine_close(engine);
    put_line(log_fd, "Q %" PRIu64, fault_vfs_fired());
    return 0;
}
