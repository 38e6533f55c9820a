/* The columns of tables as const tables: what `kubectl get` shows of each built-in kind
 * (api/all.columns, docs/internals/tables.md). schema/print/cells.h makes the cells.
 * Owner: nobody, the tables are constants.  Thread: any. */
#ifndef COR_SCHEMA_TYPES_COLUMNS_H
#define COR_SCHEMA_TYPES_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "schema/types/types.h"

/* How the value of a cell is found in an object; tools/compile_columns.py has the same list. An
 * absent member counts as the zero value of its type, and a member behind a pointer that is absent
 * as the text behind `or`. */
enum cor_cell {
    COR_CELL_NAME,     /* metadata.name */
    COR_CELL_AGE,      /* how long ago metadata.creationTimestamp was */
    COR_CELL_CREATED,  /* metadata.creationTimestamp itself */
    COR_CELL_TEXT,     /* a text, a quantity, or a number or text */
    COR_CELL_NUMBER,   /* a JSON number */
    COR_CELL_BOOL,     /* true or false */
    COR_CELL_TRUTH,    /* the texts "True" and "False" */
    COR_CELL_COUNT,    /* how many elements one or two lists or maps have */
    COR_CELL_JOIN,     /* texts of a list, or of a member of its elements, with commas */
    COR_CELL_LABELS,   /* a map of texts as "a=b,c=d"; "<none>" when it is empty */
    COR_CELL_SELECTOR, /* a LabelSelector as text; "<none>" when it selects everything or nothing */
    COR_CELL_PRINT,    /* constant texts and members in turn */
    COR_CELL_SINCE,    /* how long ago a time was */
    COR_CELL_HOOK,     /* a function (schema/print/cell_hooks.h) writes the cell */
};

enum cor_column_type { COR_COLUMN_STRING, COR_COLUMN_INTEGER, COR_COLUMN_BOOLEAN, COR_COLUMN_DATE };

enum cor_column_flag {
    COR_COLUMN_NAME = 1 << 0,      /* its format is "name" */
    COR_COLUMN_WIDE = 1 << 1,      /* its priority is 1: shown in wide output only */
    COR_COLUMN_UNNAMED = 1 << 2,   /* rows have the cell, and the definitions have no column */
    COR_COLUMN_OTHERWISE = 1 << 3, /* it has a text behind `or` */
    COR_COLUMN_WHEN = 1 << 4,      /* the first part must be there, else the text behind `or` */
};

/* A constant text and the path that follows it. Texts are offsets into the pool of the types. */
struct cor_column_part {
    uint32_t text;       /* of a JOIN: the member of the elements; empty: the elements are texts */
    uint16_t first_step; /* in cor_column_steps */
    uint8_t nsteps;      /* 0: the text only */
    uint8_t nguard;      /* so many steps lead to the last pointer; 0: there is none */
    bool is_number;
};

struct cor_column {
    uint32_t name, words, otherwise; /* in the pool */
    uint16_t first_part;
    uint8_t nparts;
    uint8_t type;
    uint8_t flags;
    uint8_t cell;
    uint8_t hook;
};

struct cor_custom_columns;

/* The columns of a kind. */
struct cor_table_columns {
    uint32_t type; /* its number; UINT32_MAX: every kind that has no columns of its own */
    uint16_t first_column;
    uint16_t order; /* the number that rows are sorted by, as a part and 1; 0: by key */
    uint8_t ncolumns;
    uint8_t conditions; /* the hook that writes the conditions of rows; 0: rows have none */
    bool has_always;    /* a watch sends the definitions with each event */
    /* Those of a custom resource behind its name (schema/print/custom_columns.h), which are in no
     * table; NULL: a kind of the tables. */
    const struct cor_custom_columns *custom;
};

/* The columns of a kind, or those of all others; never NULL. */
const struct cor_table_columns *cor_columns_of(const struct cor_type *type);

/* Are these the columns of a kind that has none of its own? */
static inline bool cor_columns_are_of_others(const struct cor_table_columns *columns)
{
    return columns->type == UINT32_MAX;
}

/* `i` is below ncolumns. */
const struct cor_column *cor_column_at(const struct cor_table_columns *columns, size_t i);
struct cor_str cor_column_name(const struct cor_column *column);
struct cor_str cor_column_words(const struct cor_column *column);
struct cor_str cor_column_otherwise(const struct cor_column *column);
/* The words of every column Name, and of every column Age. */
const struct cor_column *cor_column_of_name(void);
struct cor_str cor_column_age_words(void);
/* As definitions have it: "string". */
struct cor_str cor_column_type_name(const struct cor_column *column);

/* The tables, which tools/compile_types.py writes; sorted by type. */
extern const struct cor_table_columns cor_column_tables[];
extern const struct cor_column cor_column_rows[];
extern const struct cor_column_part cor_column_parts[];
extern const uint32_t cor_column_steps[];
extern const size_t cor_column_tables_n;

#endif
