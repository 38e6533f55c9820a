/* A server without a network, and a port in its process. */
#ifndef COR_TEST_PORT_FIXTURE_H
#define COR_TEST_PORT_FIXTURE_H

#include "../alloc/alloc_fixture.h"

#include "server/port/inner_port.h"

struct pfx {
    struct afx a; /* its `clock` is not that of the loop */
    struct afx_hold hold;
    struct cor_inner_port ip;
    bool has_alloc, is_closed;
};

/* With the allocators of Services, or with watch caches if `is_cached`. The default namespaces are
 * there. The port sends as `sample-controller`. */
void pfx_open(struct pfx *p, bool is_cached);
/* With neither, and without namespaces: the loop's timers follow `a.fx.clock`. */
void pfx_open_on_clock(struct pfx *p);
/* Waits until the port is idle. */
void pfx_close(struct pfx *p);

/* Runs the loop until `done`; fails the test after a minute. */
void pfx_wait(struct pfx *p, bool (*done)(void *arg), void *arg);
/* For pfx_wait(): the port of a struct pfx. */
bool pfx_is_idle(void *arg);

/* Holds back the next read, or write, of a key that contains `key`, until pfx_let_go(), which also
 * ends a hold that no request has met. */
void pfx_hold(struct pfx *p, enum cor_engine_op op, const char *key);
void pfx_let_go(struct pfx *p);

#endif
