/* From a kind to its resource and back, over what discovery has found: client-go's RESTMapper with
 * its shortcuts and categories. Of several matches the core group's v1 wins, then each group's
 * preferred version in the order of discovery, then its others.
 *
 * Results point into the catalog. No match is -COR_ENOTFOUND and several that nothing decides
 * between are -COR_ECONFLICT, both in upstream's words; any function may return -COR_ENOMEM.
 * Thread: any, while the catalog does not change.  Owner: the catalog's. */
#ifndef COR_CLIENT_REST_MAPPER_H
#define COR_CLIENT_REST_MAPPER_H

#include <stdbool.h>
#include <stddef.h>

#include "kit/discovery/api_catalog.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"

struct cor_rest_mapping {
    struct cor_gvr resource;
    struct cor_gvk kind;
    bool is_namespaced;
};

/* The resource of a kind. `version` empty: the best one; else that and no other. */
int cor_rest_mapping_of_kind(const struct cor_catalog *catalog, const struct cor_gk *gk,
                             struct cor_str version, struct cor_rest_mapping *ret_mapping,
                             struct cor_status *reterr);

/* A resource that is named in part: by its plural or singular in any case; group and version may be
 * empty, and a group may be a prefix ("storage" of "storage.k8s.io"). */
int cor_rest_mapping_of_resource(const struct cor_catalog *catalog, const struct cor_gvr *partial,
                                 struct cor_rest_mapping *ret_mapping, struct cor_status *reterr);

/* Replaces a short name ("po", "deploy") by the resource's; anything else stays as it is. A name
 * that is a resource's own is not a short name. The first of several wins; `on_warning` (may be
 * NULL) hears of each other one. */
struct cor_gvr cor_rest_mapper_expand(const struct cor_catalog *catalog,
                                      const struct cor_gvr *partial,
                                      void (*on_warning)(void *arg, const char *text), void *arg);

/* The resources of a category ("all"), each once. Returns how many there are and writes at most
 * `max`. */
size_t cor_rest_mapper_category(const struct cor_catalog *catalog, struct cor_str category,
                                struct cor_gr *ret_resources, size_t max);

#endif
