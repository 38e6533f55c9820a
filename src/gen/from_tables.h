/* The model of the built-in types, from the tables of api/ (schema/types.h). */
#ifndef COR_GEN_FROM_TABLES_H
#define COR_GEN_FROM_TABLES_H

#include "gen/model.h"

/* Adds every package of the tables, with `cor_` before the names of its symbols. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_gen_from_tables(struct cor_gen_model *model);

/* The package of meta/v1 with ObjectMeta and ListMeta, to refer to: code of custom resources uses
 * the views of libcoracle-types for them. */
struct cor_gen_package *cor_gen_builtin_meta(struct cor_gen_model *model);

/* The kind autoscaling/v1, Scale, in the same way: what the subresource scale speaks. NULL: the
 * arena has the failure. */
const struct cor_gen_type *cor_gen_builtin_scale(struct cor_gen_model *model);

#endif
