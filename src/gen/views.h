/* Writes views: a struct for each type of a package, and a function for each of its fields, over
 * coracle/value.h. The output is a function of the model alone. Thread: any (no state). */
#ifndef COR_GEN_VIEWS_H
#define COR_GEN_VIEWS_H

#include "base/buf.h"
#include "gen/model.h"

struct cor_gen_views_opts {
    const char *source;  /* what the types were read from, for the head of the files */
    const char *version; /* of the generator */
    bool is_exported;    /* the functions are a library's: they are marked COR_API */
};

struct cor_gen_lines;

/* The beginning of the first comment of a file about a package, which stays open. */
void cor_gen_put_head(struct cor_gen_lines *l, const struct cor_gen_package *package,
                      const struct cor_gen_views_opts *opts, const char *what);

/* Gives every type its name in C. Call it once, when the model is complete. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_gen_name(struct cor_gen_model *model);

/* Appends the two files of a package. 0, -COR_ENOMEM, -COR_ETOOBIG (a buffer's maximum). */
int cor_gen_views(struct cor_gen_model *model, const struct cor_gen_package *package,
                  const struct cor_gen_views_opts *opts, struct cor_buf *header,
                  struct cor_buf *source);

#endif
