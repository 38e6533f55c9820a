/* clang-format off */
/* The custom resources of a server: follows the CustomResourceDefinitions, keeps their status, and publishes what is served.
 *
 *   a CustomResourceDefinition changes ──► its entry ──► a definition with rows and a watch cache ──► the next snapshot of the catalog
 *                                             └──► its status: names, Established, the deletion of its instances (crd_status.c)
 *
 * Every server does all of this: of servers that share a store one wins each write of a status, and
 * the others see its result. docs/internals/crd.md has the picture.
 * Thread: the first loop of the API, except new and free, which are for the maker's thread while that
 * loop does not run.  Owner: its maker. */
/* clang-format on */
#ifndef COR_SERVER_CRDS_H
#define COR_SERVER_CRDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "meta/status/status.h"

struct cor_api;
struct cor_crds;

struct cor_crds_opts {
    struct cor_api *api;
    const struct cor_clock *clock; /* NULL: the real one */
};

/* 0, -COR_ENOMEM. */
int cor_crds_new(const struct cor_crds_opts *opts, struct cor_crds **ret_crds,
                 struct cor_status *reterr);

/* Before the start, or after on_stopped; every row must have been released. Returns NULL; NULL is
 * allowed. */
struct cor_crds *cor_crds_free(struct cor_crds *crds);

/* Begins to follow the definitions. 0, -COR_ENOMEM. Once. */
int cor_crds_start(struct cor_crds *crds, struct cor_status *reterr);

/* Are the definitions that were stored before the start served? From any thread. */
bool cor_crds_is_synced(const struct cor_crds *crds);

/* Nothing is followed or written any more; what is served stays. `on_stopped` follows in a later
 * turn, `max_ms` later at most. Once, after a start. */
void cor_crds_stop(struct cor_crds *crds, uint64_t max_ms, void (*on_stopped)(void *arg),
                   void *arg);

#endif
