/* The rows of the tables that tools/compile_validation.py makes of api/validation/x.rules
 * (docs/internals/validate.md). Texts are offsets into the pool of the types, so that the tables
 * have no relocations. */
#ifndef COR_SCHEMA_VALIDATE_VALIDATE_INT_H
#define COR_SCHEMA_VALIDATE_VALIDATE_INT_H

#include <stddef.h>
#include <stdint.h>

/* Names in a path; tools/compile_validation.py refuses more. */
#define COR_VALIDATE_PATH_MAX 8
/* Fields of a key of `unique by`, and members of a struct that `keep_only` may name: likewise. */
#define COR_VALIDATE_KEY_FIELDS_MAX 8
#define COR_VALIDATE_KEPT_MAX       64

enum cor_validate_op {
    /* blocks */
    COR_VALIDATE_OP_IF, /* also else: without conditions */
    COR_VALIDATE_OP_AT,
    COR_VALIDATE_OP_EACH,
    COR_VALIDATE_OP_USE, /* the rows from `end` to `chain` */
    COR_VALIDATE_OP_STOP,
    /* statements that test */
    COR_VALIDATE_OP_REQUIRED,
    COR_VALIDATE_OP_FORBIDDEN,
    COR_VALIDATE_OP_ENUM,
    COR_VALIDATE_OP_RANGE,
    COR_VALIDATE_OP_COMPARE,
    COR_VALIDATE_OP_LENGTH,
    COR_VALIDATE_OP_ITEMS,
    COR_VALIDATE_OP_FORMAT,
    COR_VALIDATE_OP_KEYS_FORMAT,
    COR_VALIDATE_OP_VALUES_FORMAT,
    COR_VALIDATE_OP_UNIQUE,
    COR_VALIDATE_OP_IMMUTABLE,
    COR_VALIDATE_OP_KEEP_ONLY,
    COR_VALIDATE_OP_ONE_OF,
    COR_VALIDATE_OP_DEPRECATED,
    COR_VALIDATE_OP_HOOK,
    /* statements that add an error whenever they are reached */
    COR_VALIDATE_OP_INVALID,
    COR_VALIDATE_OP_MISSING,
    COR_VALIDATE_OP_REFUSED,
    COR_VALIDATE_OP_UNSUPPORTED,
    COR_VALIDATE_OP_DUPLICATE,
    COR_VALIDATE_OP_NOT_FOUND,
    COR_VALIDATE_OP_TOO_LONG,
    COR_VALIDATE_OP_TOO_MANY,
    COR_VALIDATE_OP_INTERNAL,
    COR_VALIDATE_OP_WARN,
    COR_VALIDATE_OPS
};

enum cor_validate_test {
    COR_VALIDATE_TEST_IS,
    COR_VALIDATE_TEST_HAS,
    COR_VALIDATE_TEST_SET,
    COR_VALIDATE_TEST_EMPTY,
    COR_VALIDATE_TEST_PRESENT,
    COR_VALIDATE_TEST_CHANGED,
    COR_VALIDATE_TEST_ON,
    COR_VALIDATE_TEST_HOOK,
    COR_VALIDATE_TEST_LT, /* from here on: comparisons */
    COR_VALIDATE_TEST_LE,
    COR_VALIDATE_TEST_GT,
    COR_VALIDATE_TEST_GE,
    COR_VALIDATE_TEST_EQ,
    COR_VALIDATE_TEST_NE,
    COR_VALIDATE_TESTS
};

enum cor_validate_flag {
    COR_VALIDATE_OPTIONAL = 1 << 0,     /* not for an empty value */
    COR_VALIDATE_STOP = 1 << 1,         /* an error ends the block */
    COR_VALIDATE_IF_CHANGED = 1 << 2,   /* not for a value that the old object has, too */
    COR_VALIDATE_OLD_BAD = 1 << 3,      /* not when the old value breaks the rule */
    COR_VALIDATE_ELSE = 1 << 4,         /* an error skips the next row */
    COR_VALIDATE_AT = 1 << 5,           /* another path: `at` */
    COR_VALIDATE_FILL = 1 << 6,         /* the text has {fields} */
    COR_VALIDATE_VALUE_NONE = 1 << 7,   /* what is printed: nothing, */
    COR_VALIDATE_VALUE_TEXT = 1 << 8,   /* the string `value`, */
    COR_VALIDATE_VALUE_JSON = 1 << 9,   /* `value` as it is, */
    COR_VALIDATE_VALUE_FIELD = 1 << 10, /* or the field `other` */
    COR_VALIDATE_UNINDEXED = 1 << 11    /* elements have the path of their list */
};

/* A step is the index of a member, or a map's key in the pool with this bit. */
#define COR_VALIDATE_STEP_KEY     0x80000000u
#define COR_VALIDATE_STEP_OWN_KEY UINT32_MAX /* @key: that of the block's place itself */

struct cor_validate_path {
    uint32_t first; /* step */
    uint8_t depth;
    uint8_t climbs; /* first to so many places around */
    uint8_t is_old; /* in the old object */
};

struct cor_validate_row {
    struct cor_validate_path path, other;
    uint32_t end;   /* of a block: the row behind it; use: the set's first row */
    uint32_t chain; /* of if: the row behind all branches; use: the row behind the set */
    uint32_t text, at, value, arg;
    uint32_t first_value, first_number, first_condition;
    uint32_t line; /* as it is written */
    uint32_t type; /* of the block's place */
    uint16_t nvalues, nnumbers, flags;
    uint8_t nconditions;
    uint8_t op;
    uint16_t code; /* format, hook or comparison; of deprecated 1: the field is an entry of a map */
};

/* What a comparison takes of its fields. */
enum cor_validate_compared {
    COR_VALIDATE_NUMBERS,
    COR_VALIDATE_LENGTHS, /* of lists, maps and texts: 0 of what is absent */
    COR_VALIDATE_STRINGS,
};

struct cor_validate_condition {
    struct cor_validate_path path, other;
    uint32_t first_value, number, arg;
    uint16_t mask; /* of operations */
    uint8_t nvalues, test;
    uint16_t hook;
    uint8_t is_not, has_other;
    uint8_t compared; /* by a comparison */
};

struct cor_validate_program {
    uint32_t type, first, end;
    uint8_t operation, is_warn;
    uint8_t is_of_old; /* it sees the old object in place of the new one, and the reverse */
};

/* What a run works on; the fuzz test has tables of its own. */
struct cor_validate_tables {
    const struct cor_validate_row *rows;
    const struct cor_validate_condition *conditions;
    const uint32_t *steps, *values;
    const int64_t *numbers;
};

struct cor_check;
struct cor_place;

/* Runs the rows from `first` to before `end` of the check's tables at a place (validate.c). */
void cor_validate_run(struct cor_check *check, const struct cor_place *place, size_t first,
                      size_t end);

extern const struct cor_validate_row cor_validate_rows[];
extern const struct cor_validate_condition cor_validate_conditions[];
extern const struct cor_validate_program
    cor_validate_programs[]; /* sorted by type, operation, warn */
extern const uint32_t cor_validate_steps[], cor_validate_values[];
extern const int64_t cor_validate_numbers[];
extern const size_t cor_validate_rows_n, cor_validate_programs_n;

#endif
