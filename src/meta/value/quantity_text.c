/* The public functions on quantities that write a text into memory of the program. The arithmetic
 * is that of meta/value/quantity.h; a difference is the sum with the other sign. Thread: any
 * (pure). */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "meta/value/quantity.h"

static int copy_out(struct cor_str text, char to[COR_QUANTITY_TEXT_MAX])
{
    if (text.n >= COR_QUANTITY_TEXT_MAX)
        return -COR_ETOOBIG;
    memcpy(to, text.p, text.n);
    to[text.n] = '\0';
    return 0;
}

int cor_quantity_canonical(struct cor_str text, char to[COR_QUANTITY_TEXT_MAX])
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    int r;

    cor_buf_init(&out, COR_QUANTITY_TEXT_MAX);
    r = cor_quantity_rewrite(text, 0, &out, NULL);
    return r < 0 ? r : copy_out(r > 0 ? cor_buf_str(&out) : text, to);
}

int cor_quantity_plus(struct cor_str a, struct cor_str b, char to[COR_QUANTITY_TEXT_MAX])
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    int r;

    cor_buf_init(&out, COR_QUANTITY_TEXT_MAX);
    r = cor_quantity_add(a, b, &out);
    return r < 0 ? r : copy_out(cor_buf_str(&out), to);
}

int cor_quantity_minus(struct cor_str a, struct cor_str b, char to[COR_QUANTITY_TEXT_MAX])
{
    char negated[COR_QUANTITY_TEXT_MAX + 1];
    bool has_sign = b.n > 0 && (b.p[0] == '-' || b.p[0] == '+');
    struct cor_str digits = has_sign ? cor_str(b.p + 1, b.n - 1) : b;

    if (cor_quantity_mistake(b))
        return -COR_EINVAL; /* a sign alone would be read as zero */
    if (digits.n >= COR_QUANTITY_TEXT_MAX)
        return -COR_ETOOBIG;
    negated[0] = has_sign && b.p[0] == '-' ? '+' : '-';
    memcpy(negated + 1, digits.p, digits.n);
    return cor_quantity_plus(a, cor_str(negated, digits.n + 1), to);
}
