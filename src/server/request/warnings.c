#include "server/request/warnings.h"

#include <assert.h>

#include "base/err.h"

#define PREFIX "299 - \""

void cor_warnings_init(struct cor_warnings *warnings)
{
    *warnings = (struct cor_warnings){0};
    cor_buf_init(&warnings->text, COR_WARNINGS_BYTES_MAX);
}

void cor_warnings_deinit(struct cor_warnings *warnings)
{
    cor_buf_deinit(&warnings->text);
    warnings->n = 0;
}

struct cor_str cor_warnings_at(const struct cor_warnings *warnings, size_t i)
{
    size_t from = i > 0 ? warnings->ends[i - 1] : 0;

    assert(i < warnings->n);
    return cor_str(warnings->text.p + from, warnings->ends[i] - from);
}

static int write_value(struct cor_buf *out, struct cor_str text)
{
    int r = cor_buf_addz(out, PREFIX);

    for (size_t i = 0; i < text.n && r == 0; i++) {
        char c = text.p[i];

        if (c == '"' || c == '\\')
            r = cor_buf_addc(out, '\\');
        if (r == 0)
            r = cor_buf_addc(out, (unsigned char)c < 0x20 || c == 0x7f ? ' ' : c);
    }
    return r < 0 ? r : cor_buf_addc(out, '"');
}

int cor_warnings_add(struct cor_warnings *warnings, struct cor_str text)
{
    size_t mark = warnings->text.n;
    struct cor_str value;
    int r;

    if (warnings->n == COR_WARNINGS_MAX)
        return 0;
    r = write_value(&warnings->text, text);
    if (r < 0) {
        cor_buf_truncate(&warnings->text, mark);
        return r == -COR_ETOOBIG ? 0 : r;
    }
    value = cor_str_from(cor_buf_str(&warnings->text), mark);
    for (size_t i = 0; i < warnings->n; i++) {
        if (cor_str_eq(value, cor_warnings_at(warnings, i))) {
            cor_buf_truncate(&warnings->text, mark);
            return 0;
        }
    }
    warnings->ends[warnings->n++] = warnings->text.n;
    return 0;
}
