/* clang-format off */
/* An API port that a test plays: it writes down each request as a line of text, and answers from a
 * script, after a delay of a clock that only the test moves. Nothing sleeps and no thread runs.
 *
 *   struct scripted_port sp;
 *   scripted_port_init(&sp);
 *   scripted_answer(&sp, 20, "{\"kind\":…}");   the first request is answered after 20 ms
 *   scripted_fail(&sp, 0, -COR_ENOTFOUND);      the second fails at once, as a server's answer
 *   scripted_break(&sp, 500, -COR_EIO);         the third gets no answer: its connection breaks
 *   scripted_refuse(&sp, -COR_ENOMEM);          the fourth is not sent
 *   … the code under test sends requests …
 *   scripted_run(&sp, 1000);                    moves the clock by 1 s, delivering what falls due
 *
 * A request for which the script has nothing is given to `respond`. Without `respond` it gets no
 * answer: it ends at its timeout or deadline.
 * An answer for whose object there is no memory is the error -COR_ENOMEM.
 * Owner: the test.  Thread: the test's. */
/* clang-format on */
#ifndef COR_TEST_SCRIPTED_PORT_H
#define COR_TEST_SCRIPTED_PORT_H

#include "base/clock.h"
#include "kit/api_port.h"

#define SCRIPTED_MAX 64
/* The resourceVersion of each list. */
#define SCRIPTED_LIST_VERSION "100"

struct scripted_step {
    uint64_t delay_ms;
    const char *json;   /* the object; NULL: none */
    const char **items; /* of a list, or events of a watch: "MODIFIED {…}", "DELETED {…}",
                           "BOOKMARK {…}", "ERROR " and a Status, or "{…}", which is ADDED; ends
                           with NULL */
    struct cor_api_resources *resources; /* of an enumeration; the test's */
    int err, code;                       /* an error; without a code nobody answered */
    bool is_refused;
    bool stays_open; /* a watch: no end after its events */
};

struct scripted_port {
    struct cor_api_port port;
    struct cor_clock_manual clock;
    char log[8192]; /* "GET v1 pods default/a\n", … */
    /* Answers the requests that the script has nothing for, given the request's line of the log: it
     * returns an object as JSON, NULL for a success without an object, or an error: "404", "409",
     * "413", "415", "500". If they are set, lists have `respond_items`, watches stay open without
     * events, and enumerations have `respond_resources`. May be NULL. */
    const char *(*respond)(void *arg, const char *line);
    const char **respond_items;
    struct cor_api_resources *respond_resources;
    void *respond_arg;
    struct scripted_step steps[SCRIPTED_MAX];
    size_t nsteps, next;
    struct {
        struct cor_api_request *req; /* NULL: free */
        struct scripted_step step;
        uint64_t due_ms, timeout_ms; /* of the clock; UINT64_MAX: never */
    } sent[16];
    bool is_woken; /* refusals are due */
    /* What the code under test asked to be woken for. */
    uint64_t wake_ms;
    void (*on_wake)(void *arg);
    void *arg;
};

/* The clock begins at 1000 ms, wall time 2023-11-14T22:13:20Z. */
void scripted_port_init(struct scripted_port *sp);
/* No request may be under way, and the script must be used up. */
void scripted_port_deinit(struct scripted_port *sp);

void scripted_answer(struct scripted_port *sp, uint64_t delay_ms, const char *json);
void scripted_items(struct scripted_port *sp, uint64_t delay_ms, const char **items,
                    bool stays_open);
/* `resources` must stay valid until it is delivered. */
void scripted_resources(struct scripted_port *sp, uint64_t delay_ms,
                        struct cor_api_resources *resources);
void scripted_fail(struct scripted_port *sp, uint64_t delay_ms, int err);
void scripted_break(struct scripted_port *sp, uint64_t delay_ms, int err);
void scripted_refuse(struct scripted_port *sp, int err);

/* A `wake_at` for the code under test, with `on_wake` and `arg` set. */
void scripted_wake_at(struct scripted_port *sp, uint64_t at_ms);

/* Moves the clock by `ms`, stopping at each time at which something is due. */
void scripted_run(struct scripted_port *sp, uint64_t ms);

/* Compares the log with the expected lines, and clears it. */
void scripted_assert_log(struct scripted_port *sp, const char *expected);

#endif
