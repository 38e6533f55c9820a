/* The values that one index function gave for one object. For the indexer only.
 * Thread: one at a time.  Owner: whoever embeds it. */
#ifndef COR_CACHE_INDEX_VALUES_H
#define COR_CACHE_INDEX_VALUES_H

#include "base/buf.h"
#include "cache/store/indexer.h"

struct cor_index_values {
    struct cor_buf bytes;
    uint32_t ends[COR_INDEX_VALUES_MAX];
    size_t n;
};

void cor_index_values_init(struct cor_index_values *values);
void cor_index_values_deinit(struct cor_index_values *values);

/* The `i`-th, borrowed until the next add. */
struct cor_str cor_index_values_at(const struct cor_index_values *values, size_t i);
bool cor_index_values_has(const struct cor_index_values *values, struct cor_str value);

#endif
