/* The way from the outermost value of an object to one of its values, and its text: spec.list[0].x.
 * Steps are on the stack of a recursive walk, each pointing to the one before.
 * Thread: one at a time. */
#ifndef COR_SCHEMA_STRUCTURAL_WAY_H
#define COR_SCHEMA_STRUCTURAL_WAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

struct cor_way {
    const struct cor_way *up; /* NULL: the step leads out of the outermost value */
    struct cor_str raw_key;   /* p == NULL: the step is an index */
    size_t index;
    bool is_additional; /* a key that is not a property */
};

/* How a key that is not a property is written; upstream has three ways of its own. */
enum cor_way_style {
    COR_WAY_PLAIN,    /* m.a: fields that the schema does not know */
    COR_WAY_DOTTED,   /* .m as well, if it is the first: what keywords refuse */
    COR_WAY_BRACKETS, /* m[a]: embedded resources */
};

/* The text in the arena, with a NUL after it; `way` NULL: the outermost value, whose text is empty.
 * p == NULL: the arena has failed. */
struct cor_str cor_way_print(const struct cor_way *way, enum cor_way_style style,
                             struct cor_arena *arena);

#endif
