/* clang-format off */
/* What a store holds, as text for tests/crash/run:
 *
 *   crash_dump DATA_DIR FROM
 *
 *   R <revision> <compacted revision>
 *   K <key> <created> <modified> <hash>      every key, as a range at the latest revision shows it
 *   E <revision> <key> P|D <hash>            every change after FROM (0: none), as a feed delivers it
 *   B <error> <text>                         the feed broke
 *   end
 */
/* clang-format on */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "storage/engine/engine.h"

#define WAIT_MS   60000
#define FIRST_KEY COR_STR("\x01")
#define LAST_KEY  COR_STR("\xff")

static struct cor_loop *loop;
static struct cor_engine *engine;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static cor_rev last_rev, delivered;
static bool broken, closed;

_Noreturn static void die(const char *what, const char *why)
{
    fprintf(stderr, "crash_dump: %s: %s\n", what, why);
    exit(1);
}

static bool done_flag;

static void on_done(struct cor_engine_req *req)
{
    (void)req;
    done_flag = true;
}

static bool is_done(void *arg)
{
    (void)arg;
    return done_flag;
}

static void wait_for(const struct cor_engine_req *req, const char *what)
{
    if (!cor_loop_run_until(loop, is_done, NULL, WAIT_MS))
        die(what, "no answer");
    if (req->result < 0)
        die(what, cor_status_message(&req->status));
    done_flag = false;
}

static cor_rev dump_status(void)
{
    struct cor_engine_status_req req = {.req = {.loop = loop, .on_done = on_done}};

    cor_status_init(&req.req.status);
    cor_engine_status(engine, &req);
    wait_for(&req.req, "status");
    printf("R %" PRIu64 " %" PRIu64 "\n", req.ret_rev, req.ret_compact_rev);
    return req.ret_rev;
}

/* One page; returns the key to go on from, or NULL at the end. */
static char *dump_page(struct cor_str from, cor_rev at)
{
    struct cor_range_req req;
    char *next = NULL;

    cor_range_req_init(&req, loop, on_done);
    req.key = from;
    req.end = LAST_KEY;
    req.at = at;
    cor_engine_range(engine, &req);
    wait_for(&req.req, "range");
    for (size_t i = 0; i < req.ret_nkvs; i++) {
        const struct cor_kv *kv = req.ret_kvs[i];

        printf("K %s %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", kv->bytes, kv->create_rev,
               kv->mod_rev, cor_str_hash(cor_kv_value(kv)));
    }
    /* The successor of a key in byte order is the key and a NUL; bytes[] has one after the key. */
    if (req.ret_more)
        next = cor_memdup(req.ret_kvs[req.ret_nkvs - 1]->bytes,
                          req.ret_kvs[req.ret_nkvs - 1]->key_len + 1u);
    cor_range_req_deinit(&req);
    return next;
}

static void dump_keys(cor_rev at)
{
    char *next = dump_page(FIRST_KEY, at);

    while (next) {
        char *from = next;

        next = dump_page(cor_str(from, strlen(from) + 1), at);
        cor_free(from);
    }
}

static void on_batch(void *arg, const struct cor_feed_batch *batch)
{
    (void)arg;
    for (size_t i = 0; i < batch->nevents; i++) {
        const struct cor_feed_event *e = &batch->events[i];

        /* A lease may run out while the dump is made; that is the next dump's. */
        if (e->kv->mod_rev > last_rev)
            break;
        printf("E %" PRIu64 " %s %c %016" PRIx64 "\n", e->kv->mod_rev, e->kv->bytes,
               e->deleted ? 'D' : 'P', e->deleted ? 0 : cor_str_hash(cor_kv_value(e->kv)));
    }
    pthread_mutex_lock(&lock);
    delivered = batch->upto;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
}

static void on_broken(void *arg, int err, const char *message)
{
    (void)arg;
    printf("B %s %s\n", cor_err_name(err), message);
    pthread_mutex_lock(&lock);
    broken = true;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
}

static void on_closed(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    closed = true;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
}

static void dump_events(cor_rev from, cor_rev upto)
{
    const struct cor_feed_opts opts = {.key = FIRST_KEY,
                                       .end = LAST_KEY,
                                       .from = from,
                                       .credit = SIZE_MAX,
                                       .on_batch = on_batch,
                                       .on_broken = on_broken,
                                       .on_closed = on_closed};
    struct cor_feed *feed;
    int r;

    last_rev = upto;
    r = cor_feed_open(engine, &opts, &feed);
    if (r < 0)
        die("feed", cor_err_text(r));
    pthread_mutex_lock(&lock);
    while (delivered < upto && !broken)
        pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    cor_feed_close(feed);
    pthread_mutex_lock(&lock);
    while (!closed)
        pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
    struct cor_engine_config config = {.backend = "sqlite"};
    struct cor_status status;
    cor_rev rev, from;

    if (argc != 3)
        die("usage", "crash_dump DATA_DIR FROM");
    config.data_dir = argv[1];
    from = strtoull(argv[2], NULL, 10);
    cor_status_init(&status);
    if (cor_loop_new(1024, &loop) < 0)
        die("loop", "could not be made");
    if (cor_engine_open(&config, &engine, &status) < 0)
        die("open", cor_status_message(&status));
    rev = dump_status();
    dump_keys(rev);
    if (from && rev > from)
        dump_events(from, rev);
    cor_engine_close(engine);
    cor_loop_free(loop);
    puts("end");
    return 0;
}
