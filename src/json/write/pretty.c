#include "json/write/pretty.h"

#include <stdbool.h>

#include "base/err.h"

/* How a value is written: `depth` levels inside others, each indented by some spaces. */
struct pretty {
    unsigned depth, spaces;
};

static int new_line(struct cor_buf *out, const struct pretty *pretty)
{
    int r = cor_buf_addc(out, '\n');

    for (unsigned i = 0; i < pretty->depth * pretty->spaces && r == 0; i++)
        r = cor_buf_addc(out, ' ');
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

static int write_token(struct cor_str rest, struct pretty *pretty, size_t *ret_taken,
                       struct cor_buf *out)
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
        pretty->depth++;
        return r < 0 ? r : new_line(out, pretty);
    case '}':
    case ']':
        pretty->depth--;
        r = new_line(out, pretty);
        return r < 0 ? r : cor_buf_addc(out, c);
    case ',':
        r = cor_buf_addc(out, c);
        return r < 0 ? r : new_line(out, pretty);
    case ':':
        return cor_buf_add(out, ": ", 2);
    default:
        return cor_buf_addc(out, c);
    }
}

static int write_value(struct cor_str json, struct pretty pretty, struct cor_buf *out)
{
    size_t mark = out->n, taken;

    while (json.n > 0) {
        int r = write_token(json, &pretty, &taken, out);

        if (r < 0) {
            cor_buf_truncate(out, mark);
            return r;
        }
        json = cor_str_from(json, taken);
    }
    return 0;
}

int cor_json_pretty(struct cor_str json, unsigned depth, struct cor_buf *out)
{
    return write_value(json, (struct pretty){depth, 2}, out);
}

int cor_json_pretty_narrow(struct cor_str json, struct cor_buf *out)
{
    return write_value(json, (struct pretty){0, 1}, out);
}
