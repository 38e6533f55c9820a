/* A server on a Unix socket whose loop is the test's thread, so that allocations of the server can
 * fail in a test. Its clients have threads of their own. A failure ends the test. */
#ifndef COR_TEST_SERVED_H
#define COR_TEST_SERVED_H

#include <stdio.h>
#include <unistd.h>

#include "api_fixture.h"
#include "server/http/api_server.h"

struct served {
    struct fx fx;
    struct cor_metrics *metrics;
    struct cor_server *server;
    char path[100]; /* of its socket, where this process is an administrator */
    bool is_closed;
};

static inline void served_set_true(void *arg)
{
    *(bool *)arg = true;
}

static inline bool served_is_true(void *arg)
{
    return *(bool *)arg;
}

/* `s` is zeroed, except for options of the fixture. */
static inline void served_open(struct served *s)
{
    struct cor_server_opts opts;

    fx_open(&s->fx);
    fx_bootstrap(&s->fx);
    assert_int_equal(cor_metrics_new(1, &s->metrics), 0);
    opts = (struct cor_server_opts){.api = s->fx.api,
                                    .metrics = s->metrics,
                                    .loops = &s->fx.loop,
                                    .nloops = 1,
                                    .authenticator.server_uid = getuid()};
    assert_int_equal(cor_server_new(&opts, &s->server), 0);
    snprintf(s->path, sizeof(s->path), "%s/api.sock", test_tmpdir());
    assert_int_equal(cor_http_server_listen_unix(cor_server_http(s->server), s->path, 0600), 0);
}

/* Frees a server whose HTTP side is closed. */
static inline void served_free(struct served *s)
{
    s->server = cor_server_free(s->server);
    fx_close(&s->fx);
    s->metrics = cor_metrics_free(s->metrics);
}

static inline void served_close(struct served *s)
{
    cor_http_server_close(cor_server_http(s->server), 0, served_set_true, &s->is_closed);
    assert_true(cor_loop_run_until(s->fx.loop, served_is_true, &s->is_closed, FX_TIMEOUT_MS));
    served_free(s);
}

#endif
