/* The model of an OpenAPI v3 document, such as /openapi/v3/apis/apps/v1 of a server. */
#ifndef COR_GEN_FROM_OPENAPI_H
#define COR_GEN_FROM_OPENAPI_H

#include "gen/from_crd.h"
#include "gen/model.h"

/* Adds every schema that is an object with properties, unless an earlier document had it. The name
 * of a schema says where it belongs: io.k8s.api.apps.v1.Deployment is the type Deployment of the
 * package apps_v1. What a schema refers to is in the document, so that the code needs no other
 * types; give it a prefix when it is used beside libcoracle-types. Returns as cor_gen_from_crd().
 */
int cor_gen_from_openapi(struct cor_gen_model *model, const struct cor_gen_input *input,
                         struct cor_gen_error *reterr);

#endif
