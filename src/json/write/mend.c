/* Text that is not UTF-8, as Go's decoder reads it. A byte outside strings is left for the parser
 * to refuse. */
#include "base/err.h"
#include "base/utf8.h"
#include "json/text/json.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Appends the part of a string from `in` on up to the end of the string, which it includes, and
 * moves `in` behind it. */
static int mend_string(struct cor_str *in, struct cor_buf *out, bool *is_mended)
{
    int r = 0;

    while (r == 0 && in->n > 0) {
        uint32_t code;
        size_t n = cor_utf8_first(*in, &code);

        if (code == '\\' && in->n > 1 && (unsigned char)in->p[1] < 0x80)
            n = 2;
        if (code == COR_UTF8_INVALID) {
            r = cor_buf_addz(out, REPLACEMENT);
            *is_mended = true;
        } else {
            r = cor_buf_add(out, in->p, n);
        }
        *in = cor_str_from(*in, n);
        if (code == '"')
            break;
    }
    return r;
}

int cor_json_mend(struct cor_str in, struct cor_buf *out)
{
    size_t mark = out->n;
    bool is_mended = false;
    int r = 0;

    while (r == 0 && in.n > 0) {
        ptrdiff_t quote = cor_str_find(in, '"');
        size_t n = quote < 0 ? in.n : (size_t)quote + 1;

        r = cor_buf_add(out, in.p, n);
        in = cor_str_from(in, n);
        if (r == 0)
            r = mend_string(&in, out, &is_mended);
    }
    if (r < 0 || !is_mended)
        cor_buf_truncate(out, mark);
    return r < 0 ? r : is_mended;
}
