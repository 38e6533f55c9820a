/* Go's writing of URLs, for requests that go on to aggregated servers. A query is decoded into one
 * buffer, its pairs are sorted by name (equal ones stay in their order), and encoded again.
 * What can fail: no memory; more than PAIRS_MAX pairs: -COR_ETOOBIG. Thread: any. */
#include "server/aggregation/remote_url.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/url.h"

#define PAIRS_MAX 65536

static int add_escaped(struct cor_str s, const char *others, struct cor_buf *out)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        r = isalnum(c) || (c != '\0' && strchr(others, c)) ? cor_buf_addc(out, (char)c)
                                                           : cor_buf_addf(out, "%%%02X", c);
    }
    return r;
}

int cor_remote_url_add_path(struct cor_str path, struct cor_buf *out)
{
    return add_escaped(path, "-_.~$&+,/:;=@", out);
}

/* Removes the last segment of what was appended since `from`. */
static void drop_segment(struct cor_buf *out, size_t from)
{
    size_t n = out->n;

    while (n > from && out->p[n - 1] != '/')
        n--;
    cor_buf_truncate(out, n > from ? n - 1 : n);
}

int cor_remote_url_add_clean_path(struct cor_str path, struct cor_buf *out)
{
    bool has_slash = cor_str_ends(path, COR_STR("/"));
    size_t from = out->n;
    int r = 0;

    while (r == 0 && path.n > 0) {
        struct cor_str segment = cor_str_cut(&path, '/');

        if (segment.n == 0 || cor_str_eqz(segment, "."))
            continue;
        if (cor_str_eqz(segment, "..")) {
            drop_segment(out, from);
            continue;
        }
        r = cor_buf_addc(out, '/');
        if (r == 0)
            r = cor_remote_url_add_path(segment, out);
    }
    return r == 0 && (has_slash || out->n == from) ? cor_buf_addc(out, '/') : r;
}

/* A pair in the decoded text. */
struct pair {
    const struct cor_buf *text;
    size_t name_at, name_n, value_n, index; /* the value follows the name */
};

static struct cor_str name_of(const struct pair *p)
{
    return cor_str(cor_buf_str(p->text).p + p->name_at, p->name_n);
}

static int by_name(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int order = cor_str_cmp(name_of(x), name_of(y));

    return order ? order : x->index < y->index ? -1 : 1;
}

static int decode(struct cor_str query, struct cor_buf *text, struct pair *pairs, size_t *ret_n)
{
    struct cor_str name, value;
    size_t n = 0;
    int r;

    while ((r = cor_url_query_next(&query, &name, &value)) != 0) {
        struct pair *p = &pairs[n];
        size_t at = text->n;

        if (r < 0)
            continue;
        *p = (struct pair){.text = text, .name_at = at, .index = n};
        r = cor_url_unescape(name, COR_URL_QUERY, text);
        p->name_n = text->n - at;
        if (r == 0)
            r = cor_url_unescape(value, COR_URL_QUERY, text);
        p->value_n = text->n - at - p->name_n;
        if (r == -COR_EINVAL)
            cor_buf_truncate(text, at);
        else if (r < 0)
            return r;
        else
            n++;
    }
    *ret_n = n;
    return 0;
}

static size_t count_pairs(struct cor_str query)
{
    size_t n = 1;

    for (size_t i = 0; i < query.n; i++)
        n += query.p[i] == '&';
    return n;
}

static int encode(const struct pair *pairs, size_t n, struct cor_buf *out)
{
    static const char plain[] = "-_.~";
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        struct cor_str name = name_of(&pairs[i]);
        struct cor_str part[2] = {name, cor_str(name.p + name.n, pairs[i].value_n)};

        r = cor_buf_addc(out, i == 0 ? '?' : '&');
        for (size_t k = 0; r == 0 && k < 2; k++) {
            if (k == 1)
                r = cor_buf_addc(out, '=');
            while (r == 0 && part[k].n > 0) {
                bool has_space = cor_str_find(part[k], ' ') >= 0;
                struct cor_str run = cor_str_cut(&part[k], ' ');

                r = add_escaped(run, plain, out);
                if (r == 0 && has_space)
                    r = cor_buf_addc(out, '+');
            }
        }
    }
    return r;
}

int cor_remote_url_add_query(struct cor_str query, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    COR_CLEANUP(cor_freep) struct pair *pairs = NULL;
    size_t max = count_pairs(query), n = 0;
    int r;

    cor_buf_init(&text, query.n + 1);
    if (query.n == 0)
        return 0;
    if (max > PAIRS_MAX)
        return -COR_ETOOBIG;
    pairs = cor_calloc(max, sizeof(*pairs));
    if (!pairs)
        return -COR_ENOMEM;
    r = decode(query, &text, pairs, &n);
    if (r < 0)
        return r;
    qsort(pairs, n, sizeof(*pairs), by_name);
    return encode(pairs, n, out);
}
