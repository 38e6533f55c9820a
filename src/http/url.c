#include "http/url.h"

#include "base/err.h"

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* How many bytes at the start stand for themselves. */
static size_t count_literal(struct cor_str in, enum cor_url_part part)
{
    size_t n = 0;

    while (n < in.n && in.p[n] != '%' && !(in.p[n] == '+' && part == COR_URL_QUERY))
        n++;
    return n;
}

int cor_url_unescape(struct cor_str in, enum cor_url_part part, struct cor_buf *out)
{
    size_t mark = out->n;
    int r = 0;

    while (in.n > 0 && r == 0) {
        size_t n = count_literal(in, part);

        if (n > 0) {
            r = cor_buf_add(out, in.p, n);
        } else if (in.p[0] == '+') {
            n = 1;
            r = cor_buf_addc(out, ' ');
        } else if (in.n < 3 || hex(in.p[1]) < 0 || hex(in.p[2]) < 0) {
            r = -COR_EINVAL;
        } else {
            n = 3;
            r = cor_buf_addc(out, (char)(hex(in.p[1]) * 16 + hex(in.p[2])));
        }
        in = cor_str_from(in, n);
    }
    if (r < 0)
        cor_buf_truncate(out, mark);
    return r;
}

/* Go leaves these as they are: unreserved characters, and in a path segment some more. */
static bool is_plain(char c, enum cor_url_part part)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return true;
    return strchr(part == COR_URL_PATH ? "-_.~$&+=:@" : "-_.~", c) != NULL && c != '\0';
}

int cor_url_escape(struct cor_str in, enum cor_url_part part, struct cor_buf *out)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t mark = out->n;
    int r = 0;

    for (size_t i = 0; i < in.n && r == 0; i++) {
        unsigned char c = (unsigned char)in.p[i];

        if (is_plain((char)c, part))
            r = cor_buf_addc(out, (char)c);
        else if (c == ' ' && part == COR_URL_QUERY)
            r = cor_buf_addc(out, '+');
        else
            r = cor_buf_add(out, (char[]){'%', digits[c >> 4], digits[c & 15]}, 3);
    }
    if (r < 0)
        cor_buf_truncate(out, mark);
    return r;
}

int cor_url_query_next(struct cor_str *rest, struct cor_str *ret_name, struct cor_str *ret_value)
{
    while (rest->n > 0) {
        struct cor_str pair = cor_str_cut(rest, '&');

        if (pair.n == 0)
            continue;
        if (cor_str_find(pair, ';') >= 0)
            return -COR_EINVAL;
        *ret_name = cor_str_cut(&pair, '=');
        *ret_value = pair.p ? pair : COR_STR("");
        return 1;
    }
    return 0;
}

bool cor_url_query_is(struct cor_str raw, struct cor_str plain)
{
    size_t n = 0;

    for (size_t i = 0; i < raw.n; i++, n++) {
        char c = raw.p[i];

        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            if (i + 2 >= raw.n || hex(raw.p[i + 1]) < 0 || hex(raw.p[i + 2]) < 0)
                return false;
            c = (char)(hex(raw.p[i + 1]) * 16 + hex(raw.p[i + 2]));
            i += 2;
        }
        if (n >= plain.n || plain.p[n] != c)
            return false;
    }
    return n == plain.n;
}

int cor_url_query_get(struct cor_str query, struct cor_str name, struct cor_buf *out)
{
    struct cor_str raw_name, raw_value;
    int r;

    while ((r = cor_url_query_next(&query, &raw_name, &raw_value)) != 0) {
        if (r < 0 || !cor_url_query_is(raw_name, name))
            continue;
        r = cor_url_unescape(raw_value, COR_URL_QUERY, out);
        if (r != -COR_EINVAL)
            return r;
    }
    return -COR_ENOTFOUND;
}
