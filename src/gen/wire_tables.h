/* What views of types with protobuf numbers need beside their accessors: the field of each accessor
 * as a constant, and tables of the types (coracle/wire.h). Thread: any (no state). */
#ifndef COR_GEN_WIRE_TABLES_H
#define COR_GEN_WIRE_TABLES_H

#include "gen/c_text.h"
#include "gen/model.h"

/* How an accessor names the field: "8", or what COR_VALUE_FIELD() makes where it has a number. */
struct cor_str cor_gen_wire_field(struct cor_gen_model *model, const struct cor_gen_field *field);

/* Declares the tables of the package's types, and defines them. */
void cor_gen_wire_declarations(struct cor_gen_lines *l, const struct cor_gen_package *package,
                               const char *mark);
void cor_gen_wire_tables(struct cor_gen_model *model, struct cor_gen_lines *l,
                         const struct cor_gen_package *package);

#endif
