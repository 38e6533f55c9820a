#include "cache/store/index_values.h"

#include "base/err.h"

void cor_index_values_init(struct cor_index_values *values)
{
    cor_buf_init(&values->bytes, (size_t)COR_INDEX_VALUES_MAX * COR_INDEX_VALUE_MAX);
    values->n = 0;
}

void cor_index_values_deinit(struct cor_index_values *values)
{
    cor_buf_deinit(&values->bytes);
}

int cor_index_values_add(struct cor_index_values *out, struct cor_str value)
{
    int r;

    if (out->n == COR_INDEX_VALUES_MAX || value.n > COR_INDEX_VALUE_MAX)
        return -COR_ETOOBIG;
    if (cor_index_values_has(out, value))
        return 0;
    r = cor_buf_adds(&out->bytes, value);
    if (r == 0)
        out->ends[out->n++] = (uint32_t)out->bytes.n;
    return r;
}

struct cor_str cor_index_values_at(const struct cor_index_values *values, size_t i)
{
    size_t begin = i > 0 ? values->ends[i - 1] : 0;

    return cor_str(values->bytes.p + begin, values->ends[i] - begin);
}

bool cor_index_values_has(const struct cor_index_values *values, struct cor_str value)
{
    for (size_t i = 0; i < values->n; i++)
        if (cor_str_eq(cor_index_values_at(values, i), value))
            return true;
    return false;
}
