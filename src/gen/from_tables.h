/* The model of the built-in types, from the tables of api/ (schema/types/types.h). */
#ifndef COR_GEN_FROM_TABLES_H
#define COR_GEN_FROM_TABLES_H

#include "gen/model.h"

/* Adds every package of the tables, with `prefix` before the names of its symbols, and headers in
 * `folder` ("" or with a slash at its end). libcoracle-types has COR_GEN_TYPES_PREFIX and
 * COR_GEN_TYPES_FOLDER. 0, -COR_ENOMEM, -COR_ETOOBIG. */
#define COR_GEN_TYPES_PREFIX COR_STR("cor_")
#define COR_GEN_TYPES_FOLDER COR_STR("coracle/types/")
int cor_gen_from_tables(struct cor_gen_model *model, struct cor_str prefix, struct cor_str folder);

/* The package of meta/v1 with ObjectMeta and ListMeta, to refer to: code of custom resources uses
 * the views of libcoracle-types for them. */
struct cor_gen_package *cor_gen_builtin_meta(struct cor_gen_model *model);

/* The kind autoscaling/v1, Scale, in the same way: what the subresource scale speaks. NULL: the
 * arena has the failure. */
const struct cor_gen_type *cor_gen_builtin_scale(struct cor_gen_model *model);

#endif
