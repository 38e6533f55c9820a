#include "json/pretty.h"

#include <stdbool.h>

#include "base/err.h"

static int new_line(struct cor_buf *out, unsigned depth)
{
    int r = cor_buf_addc(out, '\n');

    for (unsigned i = 0; i < depth && r == 0; i++)
        r = cor_buf_add(out, "  ", 2);
    return r;
}

/* From the opening quote on; the length with both quotes. */
static size_t string_length(struct cor_str rest)
{
    size_t n = 1;

    while (n < rest.n && rest.p[n] != '"')
        n += rest.p[n] == '\\' ? 2 : 1;
    return n + 1 < rest.n ? n + 1 : rest.n;
}

static int write_token(struct cor_str rest, unsigned *depth, size_t *ret_taken, struct cor_buf *out)
{
    char c = rest.p[0];
    int r;

    *ret_taken = 1;
    switch (c) {
    case '"':
        *ret_taken = string_length(rest);
        return cor_buf_add(out, rest.p, *ret_taken);
    case '{':
    case '[':
        if (rest.n > 1 && (rest.p[1] == '}' || rest.p[1] == ']')) {
            *ret_taken = 2;
            return cor_buf_add(out, rest.p, 2);
        }
        r = cor_buf_addc(out, c);
        return r < 0 ? r : new_line(out, ++*depth);
    case '}':
    case ']':
        r = new_line(out, --*depth);
        return r < 0 ? r : cor_buf_addc(out, c);
    case ',':
        r = cor_buf_addc(out, c);
        return r < 0 ? r : new_line(out, *depth);
    case ':':
        return cor_buf_add(out, ": ", 2);
    default:
        return cor_buf_addc(out, c);
    }
}

int cor_json_pretty(struct cor_str json, unsigned depth, struct cor_buf *out)
{
    size_t mark = out->n, taken;

    while (json.n > 0) {
        int r = write_token(json, &depth, &taken, out);

        if (r < 0) {
            cor_buf_truncate(out, mark);
            return r;
        }
        json = cor_str_from(json, taken);
    }
    return 0;
}
