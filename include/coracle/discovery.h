/* The resources that an API server serves, by group and version, with their verbs and short names:
 * client-go's discovery client with its memory cache. cor_client_find() looks up a single resource.
 * Thread: any that may wait (coracle/runtime.h).  Owner: the client owns everything that is shown.
 */
#ifndef CORACLE_DISCOVERY_H
#define CORACLE_DISCOVERY_H

#include <stdbool.h>

#include "coracle/api.h"
#include "coracle/client.h"
#include "coracle/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A resource or subresource that the server has. The callback that receives it borrows it. */
struct cor_api_resource {
    struct cor_str group, version; /* that it is served in; the core group is empty */
    bool is_preferred;             /* the version is the one that the group prefers */
    /* Of the versions that serve this resource it is the one to use: the group's preferred, else
     * the first. False for subresources. */
    bool is_chosen;
    struct cor_str plural;      /* "pods" */
    struct cor_str subresource; /* "status"; empty: the resource itself */
    struct cor_str singular;    /* may be empty with older servers */
    struct cor_str kind;        /* of its objects, in kind_group and kind_version */
    struct cor_str kind_group, kind_version;
    bool is_namespaced;
    /* Arrays of texts, or nothing: {"get","list",…}, {"po"}, {"all"}. */
    struct cor_view verbs, short_names, categories;
};

/* Returns whether one of these arrays contains `word`. */
COR_API bool cor_api_resource_has(struct cor_view words, const char *word);

/* Receives one resource. A return other than 0 ends the iteration, and cor_client_each_resource()
 * returns it. It is called on the runtime's I/O thread or inside the pump, and must not block. */
typedef int (*cor_api_resource_fn)(void *arg, const struct cor_api_resource *resource);

/* Calls `fn` for each resource and subresource, group by group in the server's order, and returns
 * after the last one. The client remembers the server's answer; with `anew` it requests the answer
 * again. 0, or what `fn` returned, or as cor_client_do(). Versions that the server cannot describe
 * at present (an unavailable aggregated API) are skipped: -COR_ENOTFOUND is returned after all
 * others, and the message names them. */
COR_API int cor_client_each_resource(struct cor_client *client, bool anew, cor_api_resource_fn fn,
                                     void *arg, struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
