/* What an API server serves, as the API port enumerates it (kit/api_port.h): each resource in each
 * of its versions, without subresources. Controllers that treat all kinds alike choose their
 * resources here, and find the resource of an apiVersion and kind.
 * Thread: any (immutable).  Owner: whoever holds a reference. */
#ifndef COR_KIT_API_RESOURCES_H
#define COR_KIT_API_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/ref.h"
#include "base/str.h"
#include "meta/names/api_verb.h"
#include "meta/status/gvk.h"

struct cor_port_resource {
    struct cor_gvr gvr;
    struct cor_str kind; /* its group and version are those of `gvr` */
    bool is_namespaced;
    bool is_remote; /* another server is known to answer for it, by aggregation */
    /* Of the versions in which the group serves this resource, the one to use: the group's
     * preferred version if it has the resource, else the first that has it. */
    bool is_preferred;
    unsigned
        verbs; /* COR_API_VERB_BIT(…); verbs that are not in meta/names/api_verb.h are left out */
};

/* A version whose resources the server could not enumerate. */
struct cor_api_resources_failure {
    struct cor_gv gv;
    struct cor_str message;
};

struct cor_api_resources {
    struct cor_ref refs;
    const struct cor_port_resource *list; /* groups and versions in the server's order */
    size_t n;
    const struct cor_api_resources_failure *failures; /* by group and version; usually none */
    size_t nfailures;
    /* The enumeration's own. */
    struct cor_port_resource *own;
    struct cor_api_resources_failure *own_failures;
    const struct cor_port_resource **by_kind; /* sorted */
    char *strings;
};

/* Copies both lists with all of their strings; of `failures` the order may be any. 0, -COR_ENOMEM.
 */
int cor_api_resources_new(const struct cor_port_resource *list, size_t n,
                          const struct cor_api_resources_failure *failures, size_t nfailures,
                          struct cor_api_resources **ret_resources);

struct cor_api_resources *cor_api_resources_ref(struct cor_api_resources *resources);
/* Returns NULL; NULL is allowed. */
struct cor_api_resources *cor_api_resources_unref(struct cor_api_resources *resources);
COR_DEFINE_CLEANUP(struct cor_api_resources, cor_api_resources_unref)

/* The resource of a kind in exactly this version, borrowed; NULL: the server has none. */
const struct cor_port_resource *cor_api_resources_of_kind(const struct cor_api_resources *resources,
                                                          const struct cor_gvk *gvk);

/* The resource, borrowed; NULL: the server does not serve it. */
const struct cor_port_resource *cor_api_resources_find(const struct cor_api_resources *resources,
                                                       const struct cor_gvr *gvr);

/* Is the resource of a version that could not be enumerated, so that nothing is known about it? */
bool cor_api_resources_has_failed(const struct cor_api_resources *resources,
                                  const struct cor_gvr *gvr);

/* Appends what could not be enumerated, in upstream's words: "unable to retrieve the complete list
 * of server APIs: a/v1: <message>, …"; nothing without failures. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_api_resources_print_failures(const struct cor_api_resources *resources,
                                     struct cor_buf *out);

#endif
