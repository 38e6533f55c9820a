#include "base/utf8.h"

#include <assert.h>

/* By the number of bytes: what the first byte adds to the code point, and the smallest code point
 * that needs so many. */
static const uint32_t first_mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};

static size_t length_by_first(unsigned char c)
{
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c < 0xe0)
        return 2;
    if (c >= 0xe0 && c < 0xf0)
        return 3;
    return c >= 0xf0 && c < 0xf5 ? 4 : 0;
}

static bool is_allowed(uint32_t cp, size_t n)
{
    return cp >= smallest[n] && cp <= 0x10ffff && (cp < 0xd800 || cp > 0xdfff);
}

size_t cor_utf8_first(struct cor_str s, uint32_t *ret_cp)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t n;
    uint32_t cp;

    assert(s.n > 0);
    *ret_cp = COR_UTF8_INVALID;
    n = length_by_first(p[0]);
    if (n == 0 || n > s.n)
        return 1;
    cp = p[0] & first_mask[n];
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 1;
        cp = cp << 6 | (p[i] & 0x3f);
    }
    if (!is_allowed(cp, n))
        return 1;
    *ret_cp = cp;
    return n;
}

ptrdiff_t cor_utf8_find_invalid(struct cor_str s)
{
    for (size_t at = 0; at < s.n;) {
        uint32_t cp;
        size_t n = cor_utf8_first(cor_str_from(s, at), &cp);

        if (cp == COR_UTF8_INVALID)
            return (ptrdiff_t)at;
        at += n;
    }
    return -1;
}

bool cor_utf8_is_control(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || (cp >= 0x2028 && cp <= 0x202e) ||
           (cp >= 0x2066 && cp <= 0x2069);
}
