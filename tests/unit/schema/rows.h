/* What the tables of the schema tests share: types by their names, and JSON that is written with '
 * in place of ". A failure ends the test. */
#ifndef COR_TEST_SCHEMA_ROWS_H
#define COR_TEST_SCHEMA_ROWS_H

#include "schema/types/types.h"
#include "test.h"

#define JSON_MAX 4096 /* bytes of one text of a row, with its NUL */

static inline const struct cor_type *named(const char *name)
{
    const struct cor_type *type = cor_type_named(cor_strz(name));

    if (!type)
        fail_msg("there is no type %s", name);
    return type;
}

/* The text with its quotes, in `buf` of JSON_MAX bytes. */
static inline struct cor_str quoted(const char *text, char *buf)
{
    size_t n = strlen(text);

    assert_true(n < JSON_MAX);
    for (size_t i = 0; i <= n; i++)
        buf[i] = (char)(text[i] == '\'' ? '"' : text[i]);
    return cor_str(buf, n);
}

#endif
