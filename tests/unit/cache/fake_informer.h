/* An informer whose server is a fake one, and two handlers that write down what they hear.
 * Thread: the test's. */
#ifndef COR_TEST_FAKE_INFORMER_H
#define COR_TEST_FAKE_INFORMER_H

#include "cache/informers/shared_informer.h"
#include "fake_server.h"

struct fake {
    struct fake_server server;
    struct cor_shared_informer *inf;
    char requests[TRACE_MAX]; /* since the last look */
    char heard[2][TRACE_MAX];
    struct listener listeners[2];
};

/* Driver and clock of the options are the fake's. */
void fake_begin_with(struct fake *f, struct cor_cache_controller_opts opts);
void fake_begin(struct fake *f);
void fake_end(struct fake *f);

/* Until there is nothing to do. */
void fake_step(struct fake *f);

/* Started, listed, and watching; what was seen is forgotten. */
void fake_sync_with(struct fake *f, const char *objects, const char *rv);

/* Adds handler 0 or 1. */
struct cor_registration *fake_hear(struct fake *f, int i);

#endif
