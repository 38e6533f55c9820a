/* A handler of an informer that checks what it is told: per key an add,
 * updates, a delete, in an unbroken chain of states that the server has had; no
 * call after its removal, no call repeated beyond what relists and resyncs
 * repeat. Thread: one.  Owner: the history. */
#ifndef COR_SIM_HANDLER_H
#define COR_SIM_HANDLER_H

#include "cache/informers/shared_informer.h"
#include "sim_server.h"
#include "sim_time.h"

struct sim_handler {
    const struct sim_server *server;
    struct sim_time *time;
    struct cor_shared_informer *inf;
    const bool *slow;             /* it takes its time now */
    struct cor_registration *reg; /* NULL: not registered */
    struct sim_event drain;       /* of one that step does not run */
    cor_rev has[SIM_KEYS];        /* the revision it was told of; 0: none */
    uint64_t repeats[SIM_KEYS];   /* updates that changed nothing, of all its registrations */
    uint64_t informer_resync_ms;  /* 0: nothing is ever resynced */
    uint64_t resync_ms, added_ms; /* what it asked for, and when; 0: never */
    uint64_t resyncs_max;         /* of its registrations before this one */
    uint64_t calls;
};

void sim_handler_init(struct sim_handler *h, const struct sim_server *server, struct sim_time *time,
                      struct cor_shared_informer *inf, const bool *slow);

/* As often at most it may have been resynced until now. */
uint64_t sim_handler_resyncs_max(const struct sim_handler *h);

/* Registers it, with options at random. Out of memory it stays unregistered. */
void sim_handler_add(struct sim_handler *h);
void sim_handler_remove(struct sim_handler *h);

/* Has it heard of exactly what the cache has, and is it synced? */
bool sim_handler_is_even(const struct sim_handler *h);

#endif
