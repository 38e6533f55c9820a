/* clang-format off */
/* The parts of the interpreter of validation (validate.c), for its own files alone:
 *
 *   validate.c             programs and blocks
 *   validate_path.c        what a row's path leads to, and the error that a row adds there
 *   validate_condition.c   if
 *   validate_statement.c   everything else
 *
 * Thread: any (they work on the check that they are given). */
/* clang-format on */
#ifndef COR_SCHEMA_VALIDATE_VALIDATE_RUN_H
#define COR_SCHEMA_VALIDATE_VALIDATE_RUN_H

#include "schema/check/check.h"
#include "schema/types/types_int.h"
#include "schema/validate/validate_int.h"

/* A text of the pool. */
static inline const char *cor_validate_text(uint32_t offset)
{
    return cor_type_pool + offset;
}

/* What a path leads to. */
struct cor_validate_target {
    const struct cor_type *type;
    uint32_t node, old;
    bool is_pointer;
    bool is_lost;       /* a nil pointer is on the way: there is no such field */
    struct cor_str key; /* of @key, which has no node */
    bool is_key;
};

/* The field that `path` names from `place`. */
struct cor_validate_target cor_validate_resolve(struct cor_check *check,
                                                const struct cor_place *place,
                                                const struct cor_validate_path *path);

/* Is the value zero, or nil? Is it not zero, or a pointer that is not nil? */
bool cor_validate_is_empty(const struct cor_check *check, const struct cor_validate_target *to,
                           bool is_old);
bool cor_validate_is_set(const struct cor_check *check, const struct cor_validate_target *to,
                         bool is_old);

/* The places from the block's to the field of a row, for what needs a path. */
struct cor_validate_way {
    struct cor_place places[COR_VALIDATE_PATH_MAX];
    const struct cor_place *end;
};

/* The same way with its places, which costs more: for what needs a path. */
void cor_validate_walk(struct cor_check *check, const struct cor_place *place,
                       const struct cor_validate_path *path, struct cor_validate_way *way);

/* The path that `at` names in a rule file, from the block's place. */
struct cor_field_path cor_validate_other_path(const struct cor_place *place, struct cor_str at);

/* Adds the error of a row, or its warning. */
void cor_validate_refuse(struct cor_check *check, const struct cor_place *place,
                         const struct cor_validate_row *row, enum cor_field_error_type type);

/* Does the comparison hold? */
bool cor_validate_order_holds(enum cor_validate_test test, int64_t a, int64_t b);

/* Do all conditions of an `if` hold? An `else` has none. */
bool cor_validate_all_hold(struct cor_check *check, const struct cor_place *place,
                           const struct cor_validate_row *row);

/* Runs a row that is not a block. */
void cor_validate_run_row(struct cor_check *check, const struct cor_place *place,
                          const struct cor_validate_row *row);

#endif
