/* Writes typed clients: for each kind of a package a struct for its objects, functions for the
 * verbs and subresources that its resource has, and its lists, watches, informers and listers, as
 * inline functions over coracle/typed.h. The output is a function of the model alone. Thread: any
 * (no state). */
#ifndef COR_GEN_CLIENTS_H
#define COR_GEN_CLIENTS_H

#include "base/buf.h"
#include "gen/model.h"
#include "gen/views.h"

/* Appends the header of a package, after cor_gen_name(); there is no source. 0, -COR_ENOMEM,
 * -COR_ETOOBIG (the buffer's maximum). */
int cor_gen_clients(struct cor_gen_model *model, const struct cor_gen_package *package,
                    const struct cor_gen_views_opts *opts, struct cor_buf *header,
                    struct cor_buf *source);

#endif
