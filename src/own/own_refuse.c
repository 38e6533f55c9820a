/* What is wrong with bytes, and where. The message is written where the mistake is; each level
 * around it puts its part before the path on the way out, so that a path costs nothing while
 * nothing is wrong. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "own/own_int.h"
#include "json/text/scan.h"

const char *cor_own_json_words(struct cor_str json)
{
    switch (cor_json_type(json)) {
    case COR_JSON_OBJECT:
        return "an object";
    case COR_JSON_ARRAY:
        return "a list";
    case COR_JSON_STRING:
        return "a text";
    case COR_JSON_NUMBER:
        return "a number";
    case COR_JSON_BOOL:
        return "a bool";
    case COR_JSON_NULL:
    case COR_JSON_NONE:
        break;
    }
    return "null";
}

int cor_own_refuse(struct cor_own_error *why, const char *fmt, ...)
{
    va_list ap;

    if (why) {
        va_start(ap, fmt);
        vsnprintf(why->message, sizeof(why->message), fmt, ap);
        va_end(ap);
    }
    return -COR_EINVAL;
}

/* Puts a part before the path, of which the end is kept. */
static void prepend(struct cor_own_error *why, struct cor_str part, bool is_index)
{
    char old[sizeof(why->path)], whole[2 * sizeof(why->path)];
    int n;

    memcpy(old, why->path, sizeof(old));
    if (part.n > sizeof(old) / 2)
        part.n = sizeof(old) / 2;
    n = snprintf(whole, sizeof(whole), is_index ? "[%.*s]%s%s" : "%.*s%s%s", COR_STR_ARG(part),
                 old[0] != '\0' && old[0] != '[' ? "." : "", old);
    assert(n >= 0 && (size_t)n < sizeof(whole));
    if ((size_t)n >= sizeof(why->path))
        memcpy(why->path, whole + n - (sizeof(why->path) - 1), sizeof(why->path));
    else
        memcpy(why->path, whole, (size_t)n + 1);
}

int cor_own_in_member(struct cor_own_error *why, struct cor_str name, int r)
{
    if (r == -COR_EINVAL && why)
        prepend(why, name, false);
    return r;
}

int cor_own_in_element(struct cor_own_error *why, size_t i, int r)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%zu", i);

    if (r == -COR_EINVAL && why)
        prepend(why, cor_str(text, (size_t)n), true);
    return r;
}

int cor_own_check_kind(const struct cor_own_type *type, const void *own, struct cor_own_error *why)
{
    static const char *const names[] = {"apiVersion", "kind"};
    const char *const values[] = {type->api_version, type->kind};

    for (size_t i = 0; i < 2 && type->kind; i++) {
        const struct cor_own_field *field = cor_own_find(type, cor_strz(names[i]));
        const struct cor_str *text = field ? cor_own_at_const(own, field) : NULL;

        if (text && text->n > 0 && !cor_str_eqz(*text, values[i]))
            return cor_own_in_member(
                why, cor_strz(names[i]),
                cor_own_refuse(why, "%s was expected, but it is \"%.*s\"", values[i],
                               text->n < COR_OWN_SHOWN ? (int)text->n : COR_OWN_SHOWN, text->p));
    }
    return 0;
}
