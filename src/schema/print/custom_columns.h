/* The columns of a custom resource's tables: additionalPrinterColumns of one version of a
 * CustomResourceDefinition, compiled. A table of them has a column Name first; a version that
 * declares no column has Name and Age (contract crd 4.13.4-4.13.8).
 * Owner: the row of the version (schema/kinds/custom_row.h).  Thread: any (immutable). */
#ifndef COR_SCHEMA_PRINT_CUSTOM_COLUMNS_H
#define COR_SCHEMA_PRINT_CUSTOM_COLUMNS_H

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "schema/print/cells.h"
#include "schema/types/columns.h"
#include "json/path/query.h"

/* The memory of a version's columns; a request that made more would not be accepted. */
#define COR_CUSTOM_COLUMNS_BYTES_MAX (16u << 20)

struct cor_custom_column {
    struct cor_str name, type, format, description;
    int64_t priority;
    const struct cor_json_query *query; /* what the cell shows */
};

struct cor_custom_columns {
    struct cor_table_columns table; /* as the tables of built-in kinds; its `custom` is this */
    size_t n;                       /* beside Name */
    struct cor_custom_column *v;
    struct cor_arena arena; /* has the columns, their texts and their queries */
};

/* Compiles `list`, the additionalPrinterColumns of a version as canonical JSON; its p may be NULL.
 * A column whose path cannot be parsed ends them: the columns before it are shown, as upstream
 * shows them. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_custom_columns_new(struct cor_str list, struct cor_custom_columns **ret_columns);

/* NULL is fine; returns NULL. */
struct cor_custom_columns *cor_custom_columns_free(struct cor_custom_columns *columns);
COR_DEFINE_CLEANUP(struct cor_custom_columns, cor_custom_columns_free)

/* Writes the cells of a row into the array that is open; failures are the writer's. */
void cor_custom_cells_write(struct cor_cells *cells, const struct cor_custom_columns *columns);

/* The steps (base/work.h) that a row of an object of so many bytes takes, as far as it is known
 * before: each column looks for a member of it. Of the columns of any kind. */
uint64_t cor_columns_steps(const struct cor_table_columns *columns, size_t bytes);

/* Writes the definitions of the columns into the array that is open. */
void cor_custom_columns_write(struct cor_json_writer *w, const struct cor_custom_columns *columns);

#endif
