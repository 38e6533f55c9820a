/* clang-format off */
/* The life of a fake. Everything is made on the caller's thread, which turns the loop while it waits:
 *
 *   engine in memory ──► API ──► allocators of Services ──► HTTP server on a Unix socket ──► default namespaces ──► definitions are followed ──► the loop gets its thread
 *
 * and ended there in the opposite order, when the loop's thread has stopped. A failure on the way
 * frees what there is, by the same function.
 * Thread: the caller's; the loop's in between. */
/* clang-format on */
#include "coracle/testing.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "server/alloc/alloc.h"
#include "server/crd/crds.h"
#include "storage/engine/engine.h"
#include "testing/testing_int.h"

#define MAIL_MAX    65536
#define START_MS    60000
#define STOP_MS     2000
#define SOCKET_MODE 0600

static void on_step(void *arg)
{
    ((struct cor_testing_step *)arg)->is_done = true;
}

static bool is_step_done(void *arg)
{
    return ((struct cor_testing_step *)arg)->is_done;
}

static void on_bootstrapped(void *arg, int err, const struct cor_status *status)
{
    struct cor_testing_step *step = arg;

    step->err = err;
    if (err < 0 && status)
        (void)cor_status_copy(&step->status, status);
    step->is_done = true;
}

static bool is_ready(void *arg)
{
    const struct cor_testing *testing = arg;

    return cor_alloc_is_ready(testing->alloc);
}

static bool is_following(void *arg)
{
    return cor_crds_is_synced(((struct cor_testing *)arg)->crds);
}

static bool has_no_calls(void *arg)
{
    return cor_api_loop_calls(cor_api_loop(((struct cor_testing *)arg)->api, 0)) == 0;
}

static void on_served(struct cor_served_follower *follower)
{
    struct cor_testing *testing = COR_CONTAINER_OF(follower, struct cor_testing, follower);

    cor_lock_acquire(&testing->lock);
    testing->generation++;
    cor_cond_broadcast(&testing->changed);
    cor_lock_release(&testing->lock);
}

/* A folder that only this user can enter, with the socket in it. */
static int make_socket(struct cor_testing *testing, struct cor_status *st)
{
    const char *base = getenv("TMPDIR");
    int n, r;

    n = snprintf(testing->folder, sizeof(testing->folder), "%s/coracle-testing-XXXXXX",
                 base && *base ? base : "/tmp");
    if (n < 0 || (size_t)n >= sizeof(testing->folder) || !mkdtemp(testing->folder)) {
        testing->folder[0] = '\0';
        return cor_status_set(st, -COR_EIO, "no folder for a socket could be made in %s",
                              base && *base ? base : "/tmp");
    }
    snprintf(testing->socket, sizeof(testing->socket), "%s/s", testing->folder);
    snprintf(testing->url, sizeof(testing->url), "unix://%s", testing->socket);
    r = cor_http_server_listen_unix(testing->http, testing->socket, SOCKET_MODE);
    if (r < 0)
        return cor_status_set(st, r, "the socket %s: %s", testing->socket, cor_err_text(r));
    return 0;
}

static int open_parts(struct cor_testing *testing, struct cor_status *st)
{
    const struct cor_engine_config engine = {.backend = "sqlite", .data_dir = ":memory:"};
    const struct cor_alloc_opts alloc = {.cidrs = NULL};
    struct cor_api_opts api = {.loops = &testing->loop, .nloops = 1};
    struct cor_http_server_opts http = {
        .loops = &testing->loop, .nloops = 1, .on_request = cor_testing_on_request, .arg = testing};
    struct cor_crds_opts crds = {.clock = NULL};
    int r = cor_loop_new(MAIL_MAX, &testing->loop);

    if (r == 0)
        r = cor_engine_open(&engine, &testing->engine, st);
    api.engine = testing->engine;
    if (r == 0)
        r = cor_api_new(&api, &testing->api, st);
    crds.api = testing->api;
    if (r == 0)
        r = cor_alloc_open(testing->api, &alloc, &testing->alloc, st);
    if (r == 0)
        r = cor_crds_new(&crds, &testing->crds, st);
    if (r == 0)
        r = cor_http_server_new(&http, &testing->http);
    if (r == 0) {
        testing->is_listening = true;
        r = make_socket(testing, st);
    }
    return r;
}

static int run_until(struct cor_testing *testing, bool (*done)(void *arg), void *arg,
                     uint64_t start_ms, struct cor_status *st)
{
    if (cor_loop_run_until(testing->loop, done, arg, start_ms))
        return 0;
    return cor_status_set(st, -COR_ETIMEOUT, "the fake did not start");
}

static int start_parts(struct cor_testing *testing, uint64_t start_ms, struct cor_status *st)
{
    struct cor_api_loop *loop = cor_api_loop(testing->api, 0);
    struct cor_testing_step *step = &testing->bootstrap;
    int r = cor_api_bootstrap(loop, on_bootstrapped, step, st);

    if (r == 0)
        r = run_until(testing, is_step_done, step, start_ms, st);
    if (r == 0 && step->err < 0) {
        cor_status_move(st, &step->status);
        r = step->err;
    }
    if (r == 0)
        r = run_until(testing, is_ready, testing, start_ms, st);
    if (r == 0)
        r = cor_crds_start(testing->crds, st);
    if (r < 0)
        return r;
    testing->is_following = true;
    testing->follower.on_served = on_served;
    cor_api_follow_served(loop, &testing->follower);
    return run_until(testing, is_following, testing, start_ms, st);
}

/* Turns the loop, whose thread has stopped or was never started, until a step has ended. */
static void finish(struct cor_testing *testing, bool (*done)(void *arg), void *arg)
{
    while (!cor_loop_run_until(testing->loop, done, arg, START_MS))
        continue;
}

static void close_parts(struct cor_testing *testing)
{
    struct cor_testing_step step = {.is_done = false};

    if (testing->is_following) {
        cor_api_unfollow_served(&testing->follower);
        cor_crds_stop(testing->crds, STOP_MS, on_step, &step);
        finish(testing, is_step_done, &step);
    }
    if (testing->is_listening) {
        step.is_done = false;
        cor_http_server_close(testing->http, 0, on_step, &step);
        finish(testing, is_step_done, &step);
    }
    if (testing->alloc) {
        step.is_done = false;
        cor_alloc_stop(testing->alloc, on_step, &step);
        finish(testing, is_step_done, &step);
    }
    if (testing->api) {
        finish(testing, has_no_calls, testing);
        cor_api_loop_release(cor_api_loop(testing->api, 0));
    }
    cor_crds_free(testing->crds);
    cor_alloc_free(testing->alloc);
    cor_http_server_free(testing->http);
    cor_api_free(testing->api);
    cor_engine_close(testing->engine);
    if (testing->loop)
        cor_loop_free(testing->loop);
    if (testing->folder[0] != '\0') {
        unlink(testing->socket);
        rmdir(testing->folder);
    }
    cor_status_deinit(&testing->bootstrap.status);
    cor_testing_free_actions(testing);
    cor_cond_deinit(&testing->changed);
    cor_lock_deinit(&testing->lock);
    cor_free(testing);
}

int cor_testing_new(struct cor_testing **ret_testing, struct cor_testing_error *reterr)
{
    return cor_testing_open(START_MS, ret_testing, reterr);
}

int cor_testing_open(uint64_t start_ms, struct cor_testing **ret_testing,
                     struct cor_testing_error *reterr)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_testing *testing = cor_calloc(1, sizeof(*testing));
    int r;

    if (!testing) {
        snprintf(reterr->message, sizeof(reterr->message), "%s", cor_err_text(-COR_ENOMEM));
        return -COR_ENOMEM;
    }
    cor_lock_init(&testing->lock, COR_LOCK_TESTING);
    cor_cond_init(&testing->changed);
    r = open_parts(testing, &status);
    if (r == 0)
        r = start_parts(testing, start_ms, &status);
    if (r == 0)
        r = cor_loop_start(testing->loop, "fake");
    if (r < 0) {
        close_parts(testing);
        snprintf(reterr->message, sizeof(reterr->message), "%s",
                 status.err < 0 ? cor_status_message(&status) : cor_err_text(r));
        return r;
    }
    *ret_testing = testing;
    return 0;
}

struct cor_testing *cor_testing_free(struct cor_testing *testing)
{
    if (!testing)
        return NULL;
    cor_loop_stop(testing->loop);
    close_parts(testing);
    return NULL;
}

const char *cor_testing_url(const struct cor_testing *testing)
{
    return testing->url;
}
