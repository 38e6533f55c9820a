/* The parts of a fake: the server without filters (testing.c), the requests that it answers
 * (fake_exchange.c), what it has recorded and who reacts (actions.c).
 * Owner: the test. Thread: the fake's loop, except for what the lock guards. */
#ifndef COR_TESTING_INT_H
#define COR_TESTING_INT_H

#include "base/dlist.h"
#include "base/lock.h"
#include "coracle/testing.h"
#include "http/http_server.h"
#include "meta/status/status.h"
#include "server/access/user.h"
#include "server/api/api.h"

#define COR_TESTING_PATTERN_MAX 256

struct cor_alloc;
struct cor_crds;
struct cor_engine;
struct cor_loop;

/* An action with the memory of its texts. */
struct cor_testing_record {
    struct cor_testing_action action;
    char *texts;
};

struct cor_testing_pattern {
    char verb[COR_TESTING_PATTERN_MAX], resource[COR_TESTING_PATTERN_MAX];
};

/* Never changed once it is in the list. */
struct cor_testing_reaction {
    struct cor_testing_pattern pattern;
    cor_testing_reactor fn;
    void *arg;
    struct cor_testing_reaction *next;
};

/* What a step of the start or of the end waits for. */
struct cor_testing_step {
    bool is_done;
    int err;
    struct cor_status status;
};

struct cor_testing {
    char folder[256]; /* of the socket; "" until it exists */
    char socket[300]; /* its path */
    char url[320];
    struct cor_engine *engine;
    struct cor_loop *loop;
    struct cor_api *api;
    struct cor_alloc *alloc;
    struct cor_crds *crds;
    struct cor_http_server *http;
    bool is_listening, is_following;   /* what has to be stopped before it is freed */
    struct cor_testing_step bootstrap; /* it may end after the start was given up */
    struct cor_served_follower follower;
    struct cor_lock lock; /* TESTING: guards the members below */
    struct cor_cond changed;
    struct cor_testing_record **records;
    size_t nrecords, cap;
    struct cor_testing_reaction *reactions;
    size_t nreactions;
    uint64_t generation; /* how often something else was served */
};

/* cor_testing_new() with another time for each part of the start. */
int cor_testing_open(uint64_t start_ms, struct cor_testing **ret_testing,
                     struct cor_testing_error *reterr);

/* The sender of all requests: an administrator. */
extern const struct cor_user cor_testing_user;

/* Copies the texts of an action into one block, and points them there. 0, -COR_ENOMEM. */
int cor_testing_keep(struct cor_testing_action *action, char **ret_texts);

/* Records a copy of an action. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_testing_note(struct cor_testing *testing, const struct cor_testing_action *action);

/* The first reaction to look at. The list behind it does not change. */
const struct cor_testing_reaction *cor_testing_first_reaction(struct cor_testing *testing);

bool cor_testing_matches(const struct cor_testing_pattern *pattern,
                         const struct cor_testing_action *action);

void cor_testing_free_actions(struct cor_testing *testing);

/* The handler of the HTTP server; `arg` is the fake. */
void cor_testing_on_request(const struct cor_http_request *http, struct cor_http_response *resp,
                            void *arg);

#endif
