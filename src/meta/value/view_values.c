/* Values of API objects that are read from a view: base64, and numbers that may be percentages. The
 * texts that are accepted are Go's. Failures leave `ret` as it was. Thread: any (values). */
#include "coracle/view_values.h"

#include <assert.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"

/* "-2147483648%", and room for a sign and for zeros that nobody writes. */
#define PERCENT_TEXT_MAX 32

int cor_view_base64(struct cor_view view, char *buf, size_t cap, struct cor_str *ret)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf bytes;
    struct cor_str text;
    int r;

    /* The bytes may be a password. */
    cor_buf_init_secret(&bytes, cap);
    r = cor_view_text(view, buf, cap, &text);
    if (r == 0)
        r = cor_base64_decode(COR_BASE64_STD, text, &bytes, NULL);
    if (r < 0)
        return r;
    if (bytes.n > 0)
        memcpy(buf, bytes.p, bytes.n);
    *ret = cor_str(buf, bytes.n);
    return 0;
}

/* An int32, as Go's strconv.Atoi() reads it, before the percent sign. */
static int percent_parse(struct cor_str text, int64_t *ret)
{
    if (text.n == 0 || text.p[text.n - 1] != '%')
        return -COR_EINVAL;
    text.n--;
    if (text.n > 1 && text.p[0] == '+' && text.p[1] != '-')
        text = cor_str_from(text, 1);
    return cor_str_to_i64(text, ret);
}

int cor_view_scaled(struct cor_view view, int64_t total, bool rounds_up, int64_t *ret)
{
    char buf[PERCENT_TEXT_MAX];
    struct cor_str text;
    int64_t percent, product;
    int r;

    assert(total >= 0);
    if (cor_view_type(view) != COR_JSON_STRING) {
        r = cor_view_int(view, &product);
        if (r == 0 && (product < INT32_MIN || product > INT32_MAX))
            r = -COR_ETOOBIG;
        if (r == 0)
            *ret = product;
        return r;
    }
    r = cor_view_text(view, buf, sizeof(buf), &text);
    if (r == 0)
        r = percent_parse(text, &percent);
    if (r == 0 && __builtin_mul_overflow(percent, total, &product))
        r = -COR_ETOOBIG;
    if (r < 0)
        return r;
    /* C rounds towards 0. */
    *ret = product / 100;
    if (rounds_up && product % 100 > 0)
        ++*ret;
    else if (!rounds_up && product % 100 < 0)
        --*ret;
    return 0;
}
