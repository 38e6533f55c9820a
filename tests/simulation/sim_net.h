/* The way between a reflector and the model server: the driver of an informer.
 * Requests and answers take their time, answers come in parts, and with faults
 * on, connections are refused, break, stall and end, and servers answer 410,
 * 429, 500 and "too large". Thread: one.  Owner: the history. */
#ifndef COR_SIM_NET_H
#define COR_SIM_NET_H

#include "cache/reflector/reflector.h"
#include "sim_server.h"
#include "sim_time.h"

/* A stream that is silent for longer than its timeout and this is given up, as
 * over HTTP. */
#define SIM_SLACK_MS 30000

struct sim_net {
    struct cor_reflector_driver driver;
    struct sim_time *time;
    struct sim_server *server;
    struct cor_reflector *to;
    bool faults;
    bool down;            /* every connection is refused */
    unsigned alloc_fails; /* percent of answers at which an allocation fails */

    enum { SIM_IDLE, SIM_LIST, SIM_OPENING, SIM_STREAM } state;
    struct sim_event next; /* the next thing of the request under way */
    struct sim_event tick; /* the reflector's wake-up */
    char rv[24], token[32];
    int64_t limit;
    bool initial; /* a streamed list */
    uint64_t ends_ms, silent_ms;
    cor_rev at;    /* of the list, or of the stream: all up to it was sent */
    cor_rev until; /* of a streamed list: where its bookmark stands */
    int todo[SIM_KEYS];
    size_t ntodo; /* objects of the initial state that were not sent */
    bool end_due; /* the bookmark that ends the initial state */
    bool stalled;

    uint64_t requests; /* that were sent since it was made */
    uint64_t lists;    /* lists and streamed lists that were answered to their end */
};

void sim_net_init(struct sim_net *n, struct sim_time *time, struct sim_server *server);
void sim_net_deinit(struct sim_net *n);

/* Is a stream open that has sent all there is? */
bool sim_net_is_quiet(const struct sim_net *n);

#endif
