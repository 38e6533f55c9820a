#include "schema/structural/string_format.h"

#include "base/cleanup.h"

#define NAME_MAX 16 /* no format has a longer name */

enum cor_string_format cor_string_format_find(struct cor_str name)
{
    static const char *const names[] = {"",
#define X(symbol, text, fn) text,
                                        COR_STRING_FORMATS(X)
#undef X
    };
    char plain[NAME_MAX];
    size_t n = 0;

    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '-')
            continue;
        if (n == NAME_MAX)
            return COR_STRING_FORMAT_NONE;
        plain[n++] = name.p[i];
    }
    for (size_t i = 1; i < COR_ARRAY_LEN(names); i++) {
        if (cor_str_eqz(cor_str(plain, n), names[i]))
            return (enum cor_string_format)i;
    }
    return COR_STRING_FORMAT_NONE;
}
