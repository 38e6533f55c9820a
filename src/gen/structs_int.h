/* What the writers of structs (structs.c) and of their tables (struct_tables.c) share.
 * Thread: any (no state). */
#ifndef COR_GEN_STRUCTS_INT_H
#define COR_GEN_STRUCTS_INT_H

#include "gen/c_text.h"
#include "gen/model.h"
#include "gen/views.h"

/* The structs of one package. */
struct cor_gen_structs_of {
    struct cor_gen_model *model;
    const struct cor_gen_package *package;
    const struct cor_gen_views_opts *opts;
};

/* A member of a struct in C. */
struct cor_gen_member {
    const struct cor_gen_field *field;
    const struct cor_gen_type *value; /* its type, or that of its elements */
    const char *kind, *form;          /* of the table */
    struct cor_str name, type;        /* in C */
    bool is_pointer;                  /* to a struct */
};

/* The members of a type, sorted by their names in JSON; a name in C that is taken gets an
 * underscore behind it. In the model's arena; NULL and 0 when that has failed. */
struct cor_gen_member *cor_gen_members_of(const struct cor_gen_structs_of *s,
                                          const struct cor_gen_type *type, size_t *ret_n);

/* Writes the source; `header` is what the header has become. */
void cor_gen_struct_tables(const struct cor_gen_structs_of *s, struct cor_gen_lines *l,
                           struct cor_str header);

/* Returns whether a kind can be written as protobuf: it has field numbers, and no member that the
 * functions on structs cannot handle. */
bool cor_gen_has_protobuf(const struct cor_gen_structs_of *s, const struct cor_gen_type *type);

#endif
