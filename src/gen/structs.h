/* Writes structs: for each type a struct that a program owns, with its table of fields, which the
 * functions of coracle/types/own.h read. The output is a function of the model alone. Thread: any
 * (no state). */
#ifndef COR_GEN_STRUCTS_H
#define COR_GEN_STRUCTS_H

#include "base/buf.h"
#include "gen/model.h"
#include "gen/views.h"

/* Marks the types that get structs: these kinds, the kinds of lists of them, and all that they
 * hold. `kinds` are names with commas between them, each alone or behind the stem of its package
 * ("Pod,events_v1.Event"), or "all". Call it after cor_gen_name(). 0, -COR_ENOMEM,
 * -COR_ETOOBIG, -COR_EINVAL (there is no such kind, or there are two). */
int cor_gen_structs_choose(struct cor_gen_model *model, struct cor_str kinds,
                           struct cor_gen_error *reterr);

/* A kind by its name, alone or behind the stem of its package. NULL: there is none, or there are
 * several. */
const struct cor_gen_type *cor_gen_find_kind(struct cor_gen_model *model, struct cor_str kind);

/* How the header of a package's structs is included. */
struct cor_str cor_gen_structs_header(struct cor_gen_model *m, const struct cor_gen_package *p);

/* Has the package a type that gets a struct? */
bool cor_gen_has_structs(const struct cor_gen_package *package);

/* Appends the two files of a package. 0, -COR_ENOMEM, -COR_ETOOBIG (a buffer's maximum). */
int cor_gen_structs(struct cor_gen_model *model, const struct cor_gen_package *package,
                    const struct cor_gen_views_opts *opts, struct cor_buf *header,
                    struct cor_buf *source);

#endif
