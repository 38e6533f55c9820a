/* Writes conversions between two versions of a kind, in both directions: matching members are
 * copied by tables (coracle/types/own.h), and so are members that were declared as renamed; for the
 * rest a function is declared that the program has to write in order to link. A test of the round
 * trip is written beside them. The output is a function of the model alone. Thread: any (no state).
 */
#ifndef COR_GEN_CONVERSIONS_H
#define COR_GEN_CONVERSIONS_H

#include "base/buf.h"
#include "gen/model.h"
#include "gen/views.h"

/* The same member under two names, in structs at the same path. */
struct cor_gen_rename {
    struct cor_str parent; /* "spec"; "" is the object */
    struct cor_str a, b;
    const struct cor_gen_type *a_type, *b_type; /* the structs at `parent` */
    struct cor_gen_rename *next;
};

struct cor_gen_conversion {
    const struct cor_gen_type *a, *b;
    struct cor_gen_rename *renames; /* in the order in which they were declared */
    bool settles;                   /* a round trip from b may add something, but only once */
    struct cor_str stem;            /* of its files: "core_v1_event_conversion" */
};

/* Reads "PACKAGE.KIND=PACKAGE.KIND[:PATH=PATH...][:settles]". What api/all.conversions declares of
 * two built-in kinds counts as if it stood there. Both kinds get structs. 0, -COR_EINVAL with a
 * message, -COR_ENOMEM. */
int cor_gen_conversion_read(struct cor_gen_model *model, struct cor_str words,
                            struct cor_gen_conversion *ret, struct cor_gen_error *reterr);

/* Appends the three files. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_gen_conversion_write(struct cor_gen_model *model, const struct cor_gen_conversion *c,
                             const struct cor_gen_views_opts *opts, struct cor_buf *header,
                             struct cor_buf *source, struct cor_buf *test);

#endif
