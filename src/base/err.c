#include "base/err.h"

#include <stddef.h>

struct err_row {
    const char *name;
    const char *reason;
    const char *text;
    int http;
    bool retryable;
};

/* clang-format off */
static const struct err_row rows[COR_ERR_INDEX_MAX] = {
    {"OK", "", "ok", 200, false},
#define COR_ERR_ROW(n, h, r, t, s) {#n, r, s, h, t},
    COR_ERRORS(COR_ERR_ROW)
#undef COR_ERR_ROW
};
/* clang-format on */

static const struct err_row *row_of(int r)
{
    if (r > 0 || r <= -COR_ERR_INDEX_MAX)
        r = -COR_EINTERNAL;
    return &rows[-r];
}

const char *cor_err_name(int r)
{
    return row_of(r)->name;
}

const char *cor_err_text(int r)
{
    return row_of(r)->text;
}

const char *cor_err_reason(int r)
{
    return row_of(r)->reason;
}

int cor_err_http(int r)
{
    return row_of(r)->http;
}

bool cor_err_retryable(int r)
{
    return row_of(r)->retryable;
}
