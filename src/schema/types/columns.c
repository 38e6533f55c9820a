/* Look-ups in the tables of columns. */
#include "schema/types/columns.h"

#include <assert.h>

#include "base/cleanup.h"
#include "schema/types/types_int.h"

const struct cor_table_columns *cor_columns_of(const struct cor_type *type)
{
    /* The last table is that of all other kinds. */
    size_t low = 0, high = cor_column_tables_n - 1;
    uint32_t number;

    /* A type that was made while the server runs is not in the table of types. */
    if (!type || type < cor_types || type >= cor_types + cor_types_n)
        return &cor_column_tables[cor_column_tables_n - 1];
    number = (uint32_t)(type - cor_types);
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (cor_column_tables[middle].type == number)
            return &cor_column_tables[middle];
        if (cor_column_tables[middle].type < number)
            low = middle + 1;
        else
            high = middle;
    }
    return &cor_column_tables[cor_column_tables_n - 1];
}

const struct cor_column *cor_column_at(const struct cor_table_columns *columns, size_t i)
{
    assert(i < columns->ncolumns);
    return &cor_column_rows[columns->first_column + i];
}

struct cor_str cor_column_name(const struct cor_column *column)
{
    return cor_strz(cor_type_pool + column->name);
}

struct cor_str cor_column_words(const struct cor_column *column)
{
    return cor_strz(cor_type_pool + column->words);
}

const struct cor_column *cor_column_of_name(void)
{
    return cor_column_at(cor_columns_of(NULL), 0);
}

struct cor_str cor_column_age_words(void)
{
    /* The columns of all other kinds are Name and the time of creation, whose words Age has. */
    return cor_column_words(cor_column_at(cor_columns_of(NULL), 1));
}

struct cor_str cor_column_otherwise(const struct cor_column *column)
{
    return cor_strz(cor_type_pool + column->otherwise);
}

struct cor_str cor_column_type_name(const struct cor_column *column)
{
    static const char *const names[] = {[COR_COLUMN_STRING] = "string",
                                        [COR_COLUMN_INTEGER] = "integer",
                                        [COR_COLUMN_BOOLEAN] = "boolean",
                                        [COR_COLUMN_DATE] = "date"};

    assert(column->type < COR_ARRAY_LEN(names));
    return cor_strz(names[column->type]);
}
