#include "base/base64.h"

#include "base/err.h"

static const char alphabets[][65] = {
    [COR_BASE64_STD] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    [COR_BASE64_RAW_URL] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

int cor_base64_encode(enum cor_base64 kind, struct cor_str in, struct cor_buf *out)
{
    const unsigned char *p = (const unsigned char *)in.p;
    const char *alphabet = alphabets[kind];
    int r;

    /* Reserved as a whole, so that the additions below cannot fail. */
    r = cor_buf_reserve(out, kind == COR_BASE64_STD ? (in.n + 2) / 3 * 4 : (in.n * 4 + 2) / 3);
    if (r < 0)
        return r;
    for (size_t at = 0; at < in.n; at += 3) {
        size_t n = in.n - at < 3 ? in.n - at : 3;
        uint32_t word = (uint32_t)p[at] << 16 | (n > 1 ? (uint32_t)p[at + 1] << 8 : 0) |
                        (n > 2 ? p[at + 2] : 0);
        char quad[4] = {alphabet[word >> 18], alphabet[word >> 12 & 63], alphabet[word >> 6 & 63],
                        alphabet[word & 63]};

        if (n < 3)
            memset(quad + n + 1, '=', 3 - n);
        cor_buf_add(out, quad, kind == COR_BASE64_STD ? 4 : n + 1);
    }
    return 0;
}

static int digit_of(enum cor_base64 kind, char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == alphabets[kind][62])
        return 62;
    return c == alphabets[kind][63] ? 63 : -1;
}

static size_t skip_breaks(struct cor_str in, size_t at)
{
    while (at < in.n && (in.p[at] == '\n' || in.p[at] == '\r'))
        at++;
    return at;
}

/* Checks the padding at `at`, which follows `have` digits of the last quantum: it must complete the
 * quantum and end the input. */
static int check_padding(struct cor_str in, size_t at, int have, size_t *reterr_at)
{
    if (have < 2) {
        *reterr_at = at;
        return -COR_EINVAL;
    }
    at++;
    if (have == 2) {
        at = skip_breaks(in, at);
        if (at == in.n || in.p[at] != '=') {
            *reterr_at = at == in.n ? at : at - 1;
            return -COR_EINVAL;
        }
        at++;
    }
    at = skip_breaks(in, at);
    if (at == in.n)
        return 0;
    *reterr_at = at;
    return -COR_EINVAL;
}

/* Appends the bytes that `have` digits carry, if there is an output. */
static int add_quantum(struct cor_buf *out, uint32_t word, int have)
{
    unsigned char bytes[3] = {word >> 16 & 255, word >> 8 & 255, word & 255};

    return have < 2 || !out ? 0 : cor_buf_add(out, bytes, (size_t)have - 1);
}

static int decode(enum cor_base64 kind, struct cor_str in, struct cor_buf *out, size_t *reterr_at)
{
    uint32_t word = 0;
    int have = 0, r;

    for (size_t at = skip_breaks(in, 0); at < in.n; at = skip_breaks(in, at + 1)) {
        int digit = digit_of(kind, in.p[at]);

        if (digit < 0 && in.p[at] == '=' && kind == COR_BASE64_STD) {
            r = check_padding(in, at, have, reterr_at);
            return r < 0 ? r : add_quantum(out, word, have);
        }
        if (digit < 0) {
            *reterr_at = at;
            return -COR_EINVAL;
        }
        word |= (uint32_t)digit << (18 - 6 * have);
        if (++have < 4)
            continue;
        r = add_quantum(out, word, have);
        if (r < 0)
            return r;
        word = 0;
        have = 0;
    }
    if (have == 1 || (have > 0 && kind == COR_BASE64_STD)) {
        *reterr_at = in.n - (size_t)have;
        return -COR_EINVAL;
    }
    return add_quantum(out, word, have);
}

int cor_base64_decode(enum cor_base64 kind, struct cor_str in, struct cor_buf *out,
                      size_t *reterr_at)
{
    size_t before = out ? out->n : 0, at;
    int r = decode(kind, in, out, reterr_at ? reterr_at : &at);

    if (r < 0 && out)
        cor_buf_truncate(out, before);
    return r;
}
