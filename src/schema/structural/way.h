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
    bool is_additional; /* a key that is no property */
};

/* The text in the arena, with a NUL behind it; `way` NULL: the outermost value, whose text is
 * empty. `has_dot`: a first key that is no property has a dot before it, as in upstream's messages.
 * p == NULL: the arena has failed. */
struct cor_str cor_way_print(const struct cor_way *way, bool has_dot, struct cor_arena *arena);

#endif
