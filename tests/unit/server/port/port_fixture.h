/* A port in the process of a server without a network (port_server.h). */
#ifndef COR_TEST_PORT_FIXTURE_H
#define COR_TEST_PORT_FIXTURE_H

#include "base/clock.h"
#include "loop/loop.h"
#include "port_server.h"
#include "server/port/inner_port.h"
#include "test.h"

#define PFX_TIMEOUT_MS 60000

struct pfx {
    struct pserver *server;
    struct cor_loop *loop;
    struct cor_clock_manual *clock; /* of the server, not of the loop */
    struct cor_inner_port ip;
};

/* The port sends as `sample-controller`. */
static inline void pfx_open(struct pfx *p, bool is_cached)
{
    p->server = pserver_open(is_cached);
    p->loop = pserver_loop(p->server);
    p->clock = pserver_clock(p->server);
    cor_inner_port_init(&p->ip, pserver_api(p->server), COR_STR("sample-controller"),
                        COR_STR("kube-controller-manager"), 0);
}

/* Runs the loop until `done`; fails the test after a minute. */
static inline void pfx_wait(struct pfx *p, bool (*done)(void *arg), void *arg)
{
    assert_true(cor_loop_run_until(p->loop, done, arg, PFX_TIMEOUT_MS));
}

static inline bool pfx_is_idle(void *arg)
{
    return cor_inner_port_is_idle(&((struct pfx *)arg)->ip);
}

static inline void pfx_close(struct pfx *p)
{
    pfx_wait(p, pfx_is_idle, p);
    cor_inner_port_deinit(&p->ip);
    pserver_close(p->server);
}

#endif
