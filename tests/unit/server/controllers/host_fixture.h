/* A server without a network whose controllers run, all of them or those of a list. What they do is
 * awaited through the API. Included by the tests of the controllers.
 * Owner: the test.  Thread: the test's. */
#ifndef COR_TEST_HOST_FIXTURE_H
#define COR_TEST_HOST_FIXTURE_H

#include <stdio.h>

#include "../port/port_fixture.h"

#include "server/controllers/host/controllers.h"

#define HFX_CA "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

struct hfx {
    struct pfx p;
    struct cor_controller_host *host;
    bool is_stopped;
};

static inline bool hfx_is_stopped(void *arg)
{
    return ((struct hfx *)arg)->is_stopped;
}

static inline void hfx_on_stopped(void *arg)
{
    ((struct hfx *)arg)->is_stopped = true;
}

/* Starts the controllers of `list` (NULL: all) on a server that is open. */
static inline void hfx_start(struct hfx *h, const char *list)
{
    const struct cor_controller_host_opts opts = {
        .api = cor_api_loop(h->p.a.fx.api, 0), .controllers = list, .root_ca = COR_STR(HFX_CA)};

    h->is_stopped = false;
    assert_int_equal(cor_controller_host_new(&opts, &h->host, NULL), 0);
    cor_controller_host_start(h->host);
}

static inline void hfx_stop(struct hfx *h)
{
    cor_controller_host_stop(h->host, 1000, hfx_on_stopped, h);
    pfx_wait(&h->p, hfx_is_stopped, h);
    h->host = cor_controller_host_free(h->host);
}

static inline void hfx_open(struct hfx *h, const char *list)
{
    pfx_open(&h->p, true);
    hfx_start(h, list);
}

static inline void hfx_close(struct hfx *h)
{
    hfx_stop(h);
    pfx_close(&h->p);
}

static inline const char *hfx_do(struct hfx *h, int status, const char *method, const char *path,
                                 const char *body)
{
    return fx_do(&h->p.a.fx, status, method, path, body);
}

static inline bool hfx_never(void *arg)
{
    return false;
}

/* Turns the loop until `path` has this value at `at`; "" for no value, or no object. Returns the
 * object. Fails the test after a minute. */
static inline const char *hfx_await(struct hfx *h, const char *path, const char *at,
                                    const char *expected)
{
    uint64_t end_ms = cor_loop_now_ms(h->p.a.fx.loop) + FX_TIMEOUT_MS;
    const char *object;

    for (;;) {
        object = hfx_do(h, 0, "GET", path, "");
        if (strcmp(fx_at(object, at), expected) == 0)
            return object;
        assert_true(cor_loop_now_ms(h->p.a.fx.loop) < end_ms);
        (void)cor_loop_run_until(h->p.a.fx.loop, hfx_never, NULL, 1);
    }
}

struct hfx_turns {
    unsigned left;
};

static inline bool hfx_turns_are_over(void *arg)
{
    return test_alloc_failed() || --((struct hfx_turns *)arg)->left == 0;
}

/* Inside of FOR_EACH_FAILED_ALLOC(n), after test_fail_alloc(n, false): turns the loop until the
 * allocation has failed, or until the controllers have nothing to do any more. No allocation fails
 * after this. */
static inline void hfx_run_to_failure(struct hfx *h)
{
    struct hfx_turns turns = {.left = 100};

    (void)cor_loop_run_until(h->p.a.fx.loop, hfx_turns_are_over, &turns, 100);
    if (!test_alloc_failed())
        test_fail_alloc(0, false);
}

#endif
