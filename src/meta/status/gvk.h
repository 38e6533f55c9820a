/* Names of API types: group, version, kind and resource in the combinations that Kubernetes uses,
 * as borrowed parts. The core group is the empty string.
 * Thread: any (values).  Owner: of the bytes, whoever they were taken from. */
#ifndef COR_META_STATUS_GVK_H
#define COR_META_STATUS_GVK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/status/status.h"

struct cor_gv {
    struct cor_str group, version;
};

struct cor_gk {
    struct cor_str group, kind;
};

struct cor_gr {
    struct cor_str group, resource;
};

struct cor_gvk {
    struct cor_str group, version, kind;
};

struct cor_gvr {
    struct cor_str group, version, resource;
};

static inline struct cor_gk cor_gvk_gk(const struct cor_gvk *gvk)
{
    return (struct cor_gk){gvk->group, gvk->kind};
}

static inline struct cor_gv cor_gvk_gv(const struct cor_gvk *gvk)
{
    return (struct cor_gv){gvk->group, gvk->version};
}

static inline struct cor_gr cor_gvr_gr(const struct cor_gvr *gvr)
{
    return (struct cor_gr){gvr->group, gvr->resource};
}

static inline struct cor_gv cor_gvr_gv(const struct cor_gvr *gvr)
{
    return (struct cor_gv){gvr->group, gvr->version};
}

bool cor_gr_eq(const struct cor_gr *a, const struct cor_gr *b);

/* Reads an apiVersion: `version` or `group/version`; "" and "/" are the empty pair. 0, or
 * -COR_EINVAL with upstream's text (more than one slash). */
int cor_gv_parse(struct cor_str api_version, struct cor_gv *ret_gv,
                 struct cor_status *reterr_status);

/* Append the printed form. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_gv_print(const struct cor_gv *gv, struct cor_buf *out);    /* v1, apps/v1 */
int cor_gk_print(const struct cor_gk *gk, struct cor_buf *out);    /* Pod, Deployment.apps */
int cor_gr_print(const struct cor_gr *gr, struct cor_buf *out);    /* pods, deployments.apps */
int cor_gvk_print(const struct cor_gvk *gvk, struct cor_buf *out); /* apps/v1, Kind=Deployment */
int cor_gvr_print(const struct cor_gvr *gvr, struct cor_buf *out); /* /v1, Resource=pods */

#endif
