/* A server that answers nothing by itself, for tests of informers: the test hands in each answer,
 * and what was asked is written down: L(rv,limit), W(rv), S(rv) for a streamed list, cancel.
 * Objects are written "a1": the name a at resourceVersion 1. Handlers write down what they hear.
 * Thread: the test's. */
#ifndef COR_TEST_FAKE_SERVER_H
#define COR_TEST_FAKE_SERVER_H

#include "base/clock.h"
#include "cache/informers/handler_fns.h"
#include "cache/reflector/reflector.h"

#define TRACE_MAX 8192

struct fake_server {
    struct cor_reflector_driver driver;
    struct cor_clock_manual clk;
    struct cor_reflector *to;
    uint64_t wake_ms;
    uint32_t timeout_min_s; /* of a watch; checked */
    char *trace;            /* TRACE_MAX; borrowed */
};

/* `trace` gets the requests; words are separated by spaces. */
void fake_server_init(struct fake_server *s, char trace[TRACE_MAX]);
uint64_t fake_server_now(const struct fake_server *s);

/* One object; the caller unrefs it. `json` has a resourceVersion put in. */
struct cor_object *fake_object(const char *name, int rv);
struct cor_object *fake_object_json(const char *json, int rv);

/* "a1 b2"; "" is the empty list. */
void fake_server_list(struct fake_server *s, const char *objects, const char *rv);
void fake_server_list_fails(struct fake_server *s, int err);
void fake_server_opened(struct fake_server *s);
void fake_server_ended(struct fake_server *s, int err); /* 0: a plain end */
void fake_server_event(struct fake_server *s, enum cor_watch_type type, const char *name, int rv);
void fake_server_object(struct fake_server *s, enum cor_watch_type type, struct cor_object *object);
void fake_server_bookmark(struct fake_server *s, int rv, bool ends_initial);
void fake_server_error(struct fake_server *s, int err);

/* Time goes by; the reflector is woken if its time has come. */
void fake_server_pass(struct fake_server *s, uint64_t ms);
/* Time goes by until the reflector's wake-up. */
void fake_server_wake(struct fake_server *s);

void trace_note(char trace[TRACE_MAX], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One that listens: add(a1!) (in the initial list), add(a1), update(a1-2), delete(a2), lost(a1).
 * `prefix` stands before each; both are borrowed. */
struct listener {
    const char *prefix;
    char *trace;
};
struct cor_handler_fns listener_handler(struct listener *l);

#endif
