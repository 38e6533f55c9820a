/* clang-format off */
/* The APIServices of a server: follows them, publishes what they register, registers what this server serves itself, and judges
 * whether the remote ones are available.
 *
 *   an APIService changes ──► its entry ──► a service of the catalog ──► the next snapshot
 *                                 ├──► auto_register.c: what this server serves has its APIService
 *                                 └──► availability.c: the condition Available
 *
 * Every server does all of this: of servers that share a store one wins each write, and the others
 * see its result. docs/internals/aggregation.md has the picture.
 * Thread: the first loop of the API, except new and free, which are for the maker's thread while that
 * loop does not run.  Owner: its maker. */
/* clang-format on */
#ifndef COR_SERVER_API_SERVICES_H
#define COR_SERVER_API_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "meta/status/status.h"

struct cor_api;
struct cor_api_services;
struct cor_metrics;
struct cor_target_config;

struct cor_api_services_opts {
    struct cor_api *api;
    const struct cor_clock *clock;          /* NULL: the real one */
    const struct cor_target_config *config; /* of the probes; must stay valid */
    struct cor_metrics *metrics;            /* gets availability's; NULL: none */
};

/* 0, -COR_ENOMEM. */
int cor_api_services_new(const struct cor_api_services_opts *opts,
                         struct cor_api_services **ret_services, struct cor_status *reterr);

/* Before the start, or after on_stopped. Returns NULL; NULL is allowed. */
struct cor_api_services *cor_api_services_free(struct cor_api_services *as);

/* Begins to follow the APIServices. The custom resources that were stored are served already. 0,
 * -COR_ENOMEM. Once. */
int cor_api_services_start(struct cor_api_services *as, struct cor_status *reterr);

/* Are the APIServices that were stored before the start published, and has the server tried to
 * register what it serves? From any thread. */
bool cor_api_services_are_published(const struct cor_api_services *as);

/* Has each built-in group version been seen registered and available once? From any thread. */
bool cor_api_services_are_registered(const struct cor_api_services *as);

/* Nothing is followed or written any more; what is served stays. `on_stopped` follows in a later
 * turn, `max_ms` later at most. Once, after a start. */
void cor_api_services_stop(struct cor_api_services *as, uint64_t max_ms,
                           void (*on_stopped)(void *arg), void *arg);

#endif
