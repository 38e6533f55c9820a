/* The API with the allocators of Services, over an engine in memory. */
#ifndef COR_TEST_ALLOC_FIXTURE_H
#define COR_TEST_ALLOC_FIXTURE_H

#include "../api_fixture.h"

#include "server/alloc/alloc.h"
#include "server/api/repair_port.h"
#include "storage/engine/engine.h"

struct afx {
    struct fx fx;
    struct cor_alloc *alloc;
};

#define SERVICES  "/api/v1/namespaces/default/services"
#define ADDRESSES "/apis/networking.k8s.io/v1/ipaddresses"
#define CIDRS     "/apis/networking.k8s.io/v1/servicecidrs"

/* `cidrs` and `ports` as the flags; NULL: the defaults. The default namespaces are there. */
void afx_open(struct afx *a, const char *cidrs, const char *ports);
/* The allocators on a store that is open already. */
void afx_start(struct afx *a, const char *cidrs, const char *ports);
/* The same without waiting until the allocators are ready. */
void afx_begin(struct afx *a, const char *cidrs, const char *ports);
void afx_wait_ready(struct afx *a);
/* Lets the loop work for a millisecond, or for less when the allocators are ready. */
void afx_turn(struct afx *a);
void afx_stop(struct afx *a);
void afx_close(struct afx *a);

/* Holds back the next request of the store whose key contains `key`: a write, or a read. The store
 * gets the request when the test calls afx_let_go(); afx_fail_held() answers the request with `err`
 * instead, and the store never sees it. The hold is the test's until then. */
struct afx_hold {
    enum cor_engine_op op;
    const char *key;
    struct cor_engine_req *req; /* NULL: no such request has come */
    struct cor_dlist link;
};
void afx_hold(struct afx *a, struct afx_hold *hold, enum cor_engine_op op, const char *key);
void afx_wait_held(struct afx *a, struct afx_hold *hold);
void afx_let_go(struct afx *a, struct afx_hold *hold);
void afx_fail_held(struct afx_hold *hold, int err);

/* One pass of the repair; it must succeed. */
void afx_repair(struct afx *a);
/* The same in two steps; the second returns how the pass ended. */
struct afx_pass {
    struct cor_repair_ask ask;
    bool is_done;
};
void afx_begin_pass(struct afx *a, struct afx_pass *pass);
int afx_end_pass(struct afx *a, struct afx_pass *pass);

/* Fails the test unless each address and port of a Service is reserved for it, and nothing else
 * is. */
void afx_check_whole(struct afx *a);

/* How many IPAddress objects there are. */
size_t afx_addresses(struct afx *a);
/* The numbers of the reserved node ports, as "30000 30005". */
const char *afx_ports(struct afx *a);

#endif
