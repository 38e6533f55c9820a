/* What the generated clients share: coracle-gen writes a header PACKAGE_client.h for each group and
 * version, with functions for the verbs of each kind, its lists, watches and informers. They are
 * inline functions over coracle/client.h and coracle/informers.h, and have the rules, threads and
 * errors of the function that they call.
 *
 *   struct cor_core_v1_pod_object pod;
 *
 *   r = cor_core_v1_pods_get(client, "default", "web-0", NULL, &pod, &why);
 *   if (r == 0) {
 *       use(cor_core_v1_pod_object_view(pod));
 *       cor_core_v1_pod_object_unref(&pod);
 *   }
 *
 * `opts` (NULL: none) holds options of the request: label_selector, dry_run, field_manager,
 * timeout_ms, cancel, … (coracle/request.h). What the function says itself replaces what `opts`
 * says: verb, resource, ns, name, subresource, object, patch and `of`. `ret` may be NULL: the
 * answer is not wanted. Thread: any.  Owner: values; an object is released by the function
 * …_object_unref(). */
#ifndef CORACLE_TYPED_H
#define CORACLE_TYPED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "coracle/builder.h"
#include "coracle/client.h"
#include "coracle/err.h"
#include "coracle/informers.h"
#include "coracle/object.h"
#include "coracle/request.h"
#include "coracle/sized.h"
#include "coracle/str.h"
#include "coracle/value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* These functions copy `opts` by their size. Options that cannot be copied, because their size is
 * not set or because one is set that this header does not know, become empty ones of the size 0,
 * which the function that is called with them refuses. */

/* The request of a typed function. */
static inline struct cor_request cor_typed_request(const struct cor_request *opts,
                                                   enum cor_verb verb, struct cor_resource resource,
                                                   const char *ns, const char *name,
                                                   const char *subresource)
{
    struct cor_request req;

    if (cor_sized_copy(&req, sizeof(req), opts) < 0)
        memset(&req, 0, sizeof(req));
    req.verb = verb;
    req.resource = resource;
    req.ns = ns;
    req.name = name;
    req.subresource = subresource;
    req.object = NULL;
    memset(&req.patch, 0, sizeof(req.patch));
    req.of = NULL;
    return req;
}

/* Sends a create or an update of an object. A name, and a namespace, that are NULL are the
 * object's. */
static inline int cor_typed_write(struct cor_client *client, struct cor_request *req,
                                  struct cor_object *object, struct cor_object **ret_object,
                                  struct cor_status *reterr)
{
    req->object = object;
    req->of = object;
    return cor_client_do(client, req, ret_object, reterr);
}

/* Sends a patch; `of` (NULL: none) has the names that the request lacks. */
static inline int cor_typed_patch(struct cor_client *client, struct cor_request *req,
                                  enum cor_patch_type type, struct cor_str patch,
                                  struct cor_object *of, struct cor_object **ret_object,
                                  struct cor_status *reterr)
{
    req->patch_type = type;
    req->patch = patch;
    req->of = of;
    return cor_client_do(client, req, ret_object, reterr);
}

/* Takes a reference to an object of this kind. 0, or -COR_EINVAL: it is of another kind. */
static inline int cor_typed_take(struct cor_object *object, const char *api_version,
                                 const char *kind, struct cor_object **ret_object)
{
    if (!cor_str_eqz(cor_object_kind(object), kind) ||
        !cor_str_eqz(cor_object_api_version(object), api_version))
        return -COR_EINVAL;
    *ret_object = cor_object_ref(object);
    return 0;
}

/* Finishes a builder as an object of this kind. */
static inline int cor_typed_build(struct cor_builder *b, const char *api_version, const char *kind,
                                  struct cor_object **ret_object, struct cor_status *reterr)
{
    cor_builder_set_text(b, "apiVersion", cor_strz(api_version));
    cor_builder_set_text(b, "kind", cor_strz(kind));
    return cor_builder_finish(b, ret_object, reterr);
}

/* The informer of a kind; `opts` (NULL: none) has everything but the resource, ns, kind and wire.
 */
static inline int cor_typed_informer(struct cor_informers *set,
                                     const struct cor_informer_opts *opts,
                                     struct cor_resource resource, const char *ns, const char *kind,
                                     const struct cor_wire_type *wire,
                                     struct cor_informer **ret_informer, struct cor_status *reterr)
{
    struct cor_informer_opts all;

    if (cor_sized_copy(&all, sizeof(all), opts) < 0)
        memset(&all, 0, sizeof(all));
    all.resource = resource;
    all.ns = ns;
    all.kind = kind;
    all.wire = wire;
    return cor_informers_for_resource(set, &all, ret_informer, reterr);
}

/* The options of a typed handler, whose functions are set behind it. */
static inline struct cor_handler_opts cor_typed_handler(const struct cor_handler_opts *opts)
{
    struct cor_handler_opts all = cor_handler_defaults();

    if (opts && cor_sized_copy(&all, sizeof(all), opts) < 0)
        memset(&all, 0, sizeof(all));
    return all;
}

#ifdef __cplusplus
}
#endif

#endif
