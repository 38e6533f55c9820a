/* Integers as Go's strconv.Atoi() reads them. Thread: any (pure). */
#ifndef COR_SCHEMA_GO_GO_INT_H
#define COR_SCHEMA_GO_GO_INT_H

#include <stdint.h>

#include "base/str.h"

/* Decimal digits with an optional sign, `+` too. 0, -COR_EINVAL, -COR_ETOOBIG. */
static inline int cor_go_atoi(struct cor_str text, int64_t *ret)
{
    bool has_plus = text.n > 1 && text.p[0] == '+' && text.p[1] != '-';

    return cor_str_to_i64(has_plus ? cor_str_from(text, 1) : text, ret);
}

#endif
