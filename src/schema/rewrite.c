#include "schema/rewrite.h"

#include "schema/normalize.h"

int cor_rewrite(const struct cor_type *type, struct cor_str json, struct cor_buf *out)
{
    return cor_normalize(type, json, out);
}
