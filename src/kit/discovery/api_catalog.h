/* What an API server serves: its groups, their versions, their resources, read from the documents
 * of discovery, aggregated (apidiscovery.k8s.io v2, v2beta1) or one by one.
 *
 * Strings are spans of the documents, which the catalog keeps; lists of words (verbs, short names,
 * categories) are JSON arrays among them.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_KIT_API_CATALOG_H
#define COR_KIT_API_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"

#define COR_CATALOG_BODY_MAX      (16u << 20)
#define COR_CATALOG_GROUPS_MAX    4096
#define COR_CATALOG_VERSIONS_MAX  64
#define COR_CATALOG_RESOURCES_MAX 16384 /* of one version */

struct cor_catalog_resource {
    struct cor_str name;        /* the plural: "pods" */
    struct cor_str subresource; /* "status"; empty: the resource itself */
    struct cor_str singular;    /* may be empty with older servers */
    struct cor_gvk kind;        /* without a group and version: those of its list */
    bool is_namespaced;
    bool is_chosen; /* its version is the one to use: see cor_catalog_choose() */
    struct cor_str verbs, short_names, categories; /* JSON arrays, or empty */
};

struct cor_catalog_version {
    struct cor_str version;
    struct cor_catalog_resource *resources;
    size_t nresources, cap;
    bool is_known;           /* its resources were read */
    struct cor_status error; /* why they are not, when err is set */
};

struct cor_catalog_group {
    struct cor_str name; /* empty: the core group */
    struct cor_catalog_version *versions;
    size_t nversions, cap;
    struct cor_str preferred; /* version; empty: none */
};

struct cor_catalog {
    struct cor_catalog_group *groups;
    size_t ngroups, cap;
    char **bodies;
    size_t nbodies, bodies_cap;
};

/* Safe on a zeroed struct, which is an empty catalog, and leaves one. */
void cor_catalog_deinit(struct cor_catalog *catalog);

/* The document of /api or /apis in the aggregated form. A version that the server calls stale has
 * an error and no resources; what has no response kind is left out, its subresources are not. Each
 * function below returns 0, -COR_EPROTOCOL (not JSON), -COR_ETOOBIG, -COR_ENOMEM; after a failure
 * only deinit may follow. */
int cor_catalog_add_aggregated(struct cor_catalog *catalog, struct cor_str body);

/* The same in the old form: versions and groups, without resources. */
int cor_catalog_add_api_versions(struct cor_catalog *catalog, struct cor_str body);
int cor_catalog_add_api_groups(struct cor_catalog *catalog, struct cor_str body);

/* The APIResourceList of one version, which has been added. What the version had is replaced. */
int cor_catalog_set_resources(struct cor_catalog *catalog, struct cor_catalog_version *version,
                              struct cor_str body);

/* Marks one of each resource, when all are known: that of the group's preferred version, else the
 * first. 0 or -COR_ENOMEM. */
int cor_catalog_choose(struct cor_catalog *catalog);

/* Writes what is missing, in upstream's words: "unable to retrieve the complete list of server
 * APIs: …", sorted. False: nothing is. */
bool cor_catalog_failures(const struct cor_catalog *catalog, struct cor_status *ret_status);

/* Is `word` in a list of words? */
bool cor_catalog_has_word(struct cor_str words, struct cor_str word);

#endif
