#include "base/str.h"

#include <ctype.h>

#include "base/err.h"
#include "base/mem.h"

int cor_str_cmp(struct cor_str a, struct cor_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0;

    if (c != 0)
        return c;
    return a.n < b.n ? -1 : a.n > b.n;
}

bool cor_str_starts(struct cor_str s, struct cor_str prefix)
{
    return s.n >= prefix.n && cor_str_eq(cor_str(s.p, prefix.n), prefix);
}

bool cor_str_ends(struct cor_str s, struct cor_str suffix)
{
    return s.n >= suffix.n && cor_str_eq(cor_str(s.p + s.n - suffix.n, suffix.n), suffix);
}

ptrdiff_t cor_str_find(struct cor_str s, char c)
{
    const char *hit = s.n ? memchr(s.p, c, s.n) : NULL;

    return hit ? hit - s.p : -1;
}

struct cor_str cor_str_cut(struct cor_str *rest, char sep)
{
    struct cor_str head = *rest;
    ptrdiff_t at = cor_str_find(*rest, sep);

    if (at < 0) {
        *rest = cor_str(NULL, 0);
        return head;
    }
    head.n = (size_t)at;
    *rest = cor_str_from(*rest, (size_t)at + 1);
    return head;
}

struct cor_str cor_str_trim(struct cor_str s)
{
    while (s.n > 0 && isspace((unsigned char)s.p[0]))
        s = cor_str_from(s, 1);
    while (s.n > 0 && isspace((unsigned char)s.p[s.n - 1]))
        s.n--;
    return s;
}

int cor_str_to_u64(struct cor_str s, uint64_t *ret)
{
    uint64_t v = 0;

    if (s.n == 0)
        return -COR_EINVAL;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return -COR_EINVAL;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
            return -COR_ETOOBIG;
    }
    *ret = v;
    return 0;
}

int cor_str_to_i64(struct cor_str s, int64_t *ret)
{
    bool negative = s.n > 0 && s.p[0] == '-';
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t v;
    int r = cor_str_to_u64(negative ? cor_str_from(s, 1) : s, &v);

    if (r < 0)
        return r;
    if (v > limit)
        return -COR_ETOOBIG;
    *ret = negative ? (int64_t)(0 - v) : (int64_t)v;
    return 0;
}

uint64_t cor_str_hash(struct cor_str s)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

int cor_str_gather(struct cor_str *const *strings, size_t n, char **ret_block)
{
    size_t bytes = 0;
    char *block, *to;

    for (size_t i = 0; i < n; i++)
        bytes += strings[i]->n + 1;
    block = to = cor_alloc(bytes);
    if (!block)
        return -COR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (strings[i]->n > 0)
            memcpy(to, strings[i]->p, strings[i]->n);
        to[strings[i]->n] = '\0';
        strings[i]->p = to;
        to += strings[i]->n + 1;
    }
    *ret_block = block;
    return 0;
}
