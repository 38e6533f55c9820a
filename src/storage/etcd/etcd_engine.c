/* Opening and closing of the etcd engine, and its entries for other threads.
 *
 * Opening. The caller's thread makes the loop, the session and the feeds (files, certificates and
 * addresses are read here, so mistakes in them fail at once), starts the loop, mails on_open() to
 * it and waits for `done`. On the loop the first range is sent; its answer shows that addresses,
 * certificates and login are right. An etcd that is not there is tried OPEN_TRIES times. A user who
 * may not read the probe key is accepted: later requests are refused one by one.
 *
 * Closing. The caller's thread mails on_stop() and waits for `done`. On the loop the presence is
 * revoked; when it is OFF and the last request is answered and the last feed closed, the session
 * closes, and `done` is posted. Then the caller stops the loop and frees everything.
 *
 * Thread: as said; the engine's loop else. */
#include "storage/etcd/etcd_engine.h"

#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <time.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "meta/names/key.h"
#include "storage/etcd/etcd_engine_int.h"
#include "storage/etcd/etcd_feed.h"
#include "storage/etcd/etcd_messages.h"

#define MAIL_MAX 65536
/* The first call is made so many times; each waits 2 s for a connection. */
#define OPEN_TRIES     3
#define OPEN_BYTES_MAX 256
#define CLOSE_MS       1000

static struct etcd_engine *engine_of(struct cor_engine *engine)
{
    return (struct etcd_engine *)engine;
}

static void engine_range(struct cor_engine *engine, struct cor_range_req *req)
{
    cor_etcd_request(engine_of(engine), &req->req);
}

static void engine_submit(struct cor_engine *engine, struct cor_engine_req *req)
{
    const char *message;
    int r = 0;

    if (req->op == COR_ENGINE_WRITE)
        r = cor_write_req_check(COR_CONTAINER_OF(req, struct cor_write_req, req), &message);
    if (r < 0)
        cor_engine_req_fail(req, r, message);
    else
        cor_etcd_request(engine_of(engine), req);
}

struct cor_str cor_etcd_engine_probe_key(const struct etcd_engine *e)
{
    return e->prefix.key.n > 0 ? e->prefix.key : COR_COMPACT_KEY;
}

static void engine_release(struct etcd_engine *e)
{
    if (e->loop)
        cor_loop_free(e->loop);
    sem_destroy(&e->done);
    cor_lock_deinit(&e->lock);
    cor_etcd_presence_deinit(&e->presence);
    cor_free((char *)e->prefix.key.p);
    cor_free(e);
}

static void on_session_closed(void *arg)
{
    sem_post(&((struct etcd_engine *)arg)->done);
}

void cor_etcd_engine_check_quiet(struct etcd_engine *e)
{
    if (!e->is_stopping || atomic_load(&e->nrequests) > 0 || atomic_load(&e->nfeeds) > 0 ||
        e->presence.state != ETCD_PRESENCE_OFF)
        return;
    e->is_stopping = false;
    cor_etcd_feeds_deinit(e);
    cor_etcd_session_close(COR_STEAL(e->session), on_session_closed, e);
}

static void on_presence_off(void *arg)
{
    cor_etcd_engine_check_quiet(arg);
}

static void on_stop(struct cor_mail *mail)
{
    struct etcd_engine *e = COR_CONTAINER_OF(mail, struct etcd_engine, mail);

    e->is_stopping = true;
    if (cor_etcd_presence_stop(&e->presence, on_presence_off, e))
        cor_etcd_engine_check_quiet(e);
}

static void engine_wait_done(struct etcd_engine *e)
{
    while (sem_wait(&e->done) < 0)
        continue;
}

/* Waits for the first answer, and reports when that takes long, since the whole wait is OPEN_TRIES
 * times 2 s. A step of the system's clock only moves the moment of that notice: the monotonic form
 * of the call is not known to the thread sanitizer. */
static void engine_wait_open(struct etcd_engine *e, const struct cor_engine_config *config)
{
    struct timespec quiet;
    int r;

    if (!config->on_waiting) {
        engine_wait_done(e);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &quiet);
    quiet.tv_nsec += COR_ENGINE_QUIET_MS * 1000000L;
    quiet.tv_sec += quiet.tv_nsec / 1000000000;
    quiet.tv_nsec %= 1000000000;
    do {
        r = sem_timedwait(&e->done, &quiet);
    } while (r < 0 && errno == EINTR);
    if (r == 0)
        return;
    config->on_waiting(config->waiting_arg, config->etcd.servers);
    engine_wait_done(e);
}

static void engine_close(struct cor_engine *engine)
{
    struct etcd_engine *e = engine_of(engine);

    assert(!cor_loop_is_current(e->loop));
    e->mail.on_mail = on_stop;
    cor_loop_post_always(e->loop, &e->mail);
    engine_wait_done(e);
    cor_loop_stop(e->loop);
    engine_release(e);
}

static void on_announce(struct cor_mail *mail)
{
    struct etcd_engine *e = COR_CONTAINER_OF(mail, struct etcd_engine, presence_mail);

    cor_etcd_presence_start(&e->presence, e->session, ETCD_PRESENCE_TTL_S);
}

static int engine_announce(struct cor_engine *engine, struct cor_str key, struct cor_str value)
{
    struct etcd_engine *e = engine_of(engine);
    int r = cor_etcd_presence_set(&e->presence, key, value);

    if (r < 0)
        return r;
    e->presence_mail.on_mail = on_announce;
    cor_loop_post_always(e->loop, &e->presence_mail);
    return 0;
}

static const struct cor_engine_ops ops = {
    .range = engine_range,
    .submit = engine_submit,
    .feed_open = cor_etcd_feed_open,
    .announce = engine_announce,
    .close = engine_close,
    .shares_store = true,
};

static void engine_ask_first(struct etcd_engine *e);

static void engine_fail_open(struct etcd_engine *e, int err)
{
    e->open_err = cor_status_set_err(e->open_status, err);
    sem_post(&e->done);
}

static void on_first(struct etcd_call *call, const struct etcd_reply *reply)
{
    struct etcd_engine *e = call->arg;

    if (reply->err == -COR_EUNREACHABLE && ++e->open_tries < OPEN_TRIES) {
        engine_ask_first(e);
        return;
    }
    e->open_err = reply->err == -COR_EFORBIDDEN ? 0 : reply->err;
    if (e->open_err < 0)
        cor_status_set(e->open_status, e->open_err, "%s", reply->text);
    sem_post(&e->done);
}

static void engine_ask_first(struct etcd_engine *e)
{
    const struct cor_range_req first = {.key = cor_etcd_engine_probe_key(e), .keys_only = true};
    struct cor_buf out;
    int r;

    cor_buf_init(&out, OPEN_BYTES_MAX);
    r = cor_etcd_encode_range(&first, 0, &out);
    if (r == 0)
        r = cor_etcd_call_start(e->session, &cor_etcd_method_range, &out, on_first, e, NULL);
    cor_buf_deinit(&out);
    if (r < 0)
        engine_fail_open(e, r);
}

static void on_open(struct cor_mail *mail)
{
    struct etcd_engine *e = COR_CONTAINER_OF(mail, struct etcd_engine, mail);
    int r = cor_etcd_feeds_start(e);

    if (r == 0)
        r = cor_etcd_session_start(e->session);
    if (r == 0)
        engine_ask_first(e);
    else
        engine_fail_open(e, r);
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

static bool is_true(void *arg)
{
    return *(const bool *)arg;
}

static int engine_set_prefix(struct etcd_engine *e, const char *path_prefix)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key, end;
    char *bytes = NULL;
    int r;

    cor_buf_init(&key, COR_KEY_BYTES_MAX);
    cor_buf_init(&end, COR_KEY_BYTES_MAX);
    r = cor_key_path_prefix(cor_strz(path_prefix ? path_prefix : COR_STORE_PATH_PREFIX_DEFAULT),
                            &key);
    if (r == 0)
        r = cor_key_range_end(cor_buf_str(&key), &end);
    if (r == 0)
        bytes = cor_alloc(key.n + 1 + end.n);
    if (r == 0 && !bytes)
        r = -COR_ENOMEM;
    if (r == 0)
        cor_feed_range_copy(&e->prefix, bytes, cor_buf_str(&key), cor_buf_str(&end));
    return r;
}

static int engine_prepare(struct etcd_engine *e, const struct cor_engine_config *config,
                          struct cor_status *reterr_status)
{
    int r = engine_set_prefix(e, config->path_prefix);

    if (r == 0)
        r = cor_loop_new(MAIL_MAX, &e->loop);
    if (r == 0) {
        cor_loop_measure_turns(e->loop);
        e->base.turns = cor_loop_turn_meter(e->loop);
    }
    if (r == 0)
        r = cor_etcd_session_new(&config->etcd, e->loop, &e->session, reterr_status);
    if (r < 0)
        return r;
    cor_etcd_feeds_init(e);
    r = cor_loop_start(e->loop, "cor-engine");
    if (r < 0) {
        bool is_closed = false;

        cor_etcd_session_close(e->session, set_true, &is_closed);
        (void)cor_loop_run_until(e->loop, is_true, &is_closed, CLOSE_MS);
    }
    return r;
}

int cor_etcd_engine_open(const struct cor_engine_config *config, struct cor_engine **ret_engine,
                         struct cor_status *reterr_status)
{
    struct etcd_engine *e = cor_calloc(1, sizeof(*e));
    int r;

    if (!e)
        return cor_status_no_memory(reterr_status);
    e->base.ops = &ops;
    e->base.old_rev = COR_REV_MAX;
    cor_lock_init(&e->lock, COR_LOCK_ETCD_ENGINE);
    sem_init(&e->done, 0, 0);
    e->page_keys = ETCD_PAGE_KEYS_FIRST;
    cor_etcd_presence_init(&e->presence);
    e->open_status = reterr_status;
    r = engine_prepare(e, config, reterr_status);
    if (r < 0) {
        engine_release(e);
        return r;
    }
    e->mail.on_mail = on_open;
    cor_loop_post_always(e->loop, &e->mail);
    engine_wait_open(e, config);
    if (e->open_err < 0) {
        r = e->open_err;
        engine_close(&e->base);
        return r;
    }
    *ret_engine = &e->base;
    return 0;
}
