#include "schema/structural/way.h"

#include <stdio.h>
#include <string.h>

#include "json/text/scan.h"

#define INDEX_BYTES 24 /* of the largest index in brackets, and a NUL */

/* The bytes that the text takes at most. */
static size_t way_bytes(const struct cor_way *way)
{
    size_t n = INDEX_BYTES;

    for (; way; way = way->up)
        n += way->raw_key.p ? way->raw_key.n + 2 : INDEX_BYTES;
    return n;
}

static char *print_steps(const struct cor_way *way, enum cor_way_style style, char *p)
{
    struct cor_str key;
    bool has_brackets;

    if (!way)
        return p;
    p = print_steps(way->up, style, p);
    if (!way->raw_key.p)
        return p + snprintf(p, INDEX_BYTES, "[%zu]", way->index);
    has_brackets = way->is_additional && style == COR_WAY_BRACKETS;
    if (has_brackets)
        *p++ = '[';
    else if (way->up || (way->is_additional && style == COR_WAY_DOTTED))
        *p++ = '.';
    (void)cor_json_unescape(way->raw_key, p, way->raw_key.n, &key);
    memmove(p, key.p, key.n); /* a key without escapes stays where it is */
    p += key.n;
    if (has_brackets)
        *p++ = ']';
    return p;
}

struct cor_str cor_way_print(const struct cor_way *way, enum cor_way_style style,
                             struct cor_arena *arena)
{
    char *text = cor_arena_alloc(arena, way_bytes(way)), *end;

    if (!text)
        return cor_str(NULL, 0);
    end = print_steps(way, style, text);
    *end = '\0';
    return cor_str(text, (size_t)(end - text));
}
