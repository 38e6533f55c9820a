/* How often and how long values of a resource were transformed, by upstream's labels: the
 * direction, the provider's prefix and how it went. Thread: any.  Owner: the dynamic transformers.
 */
#ifndef COR_STORAGE_ENCRYPTION_TRANSFORM_STATS_H
#define COR_STORAGE_ENCRYPTION_TRANSFORM_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum cor_transform_type {
    COR_TRANSFORM_FROM_STORAGE,
    COR_TRANSFORM_TO_STORAGE,
    COR_TRANSFORM_TYPES
};

/* What a stored value begins with. */
enum cor_transform_prefix {
    COR_TRANSFORM_AESGCM,
    COR_TRANSFORM_AESCBC,
    COR_TRANSFORM_SECRETBOX,
    COR_TRANSFORM_IDENTITY,
    COR_TRANSFORM_UNKNOWN, /* no provider of the resource has it */
    COR_TRANSFORM_PREFIXES,
};

/* From 5 µs on, each twice the one before; the last one counts what is longer. */
#define COR_TRANSFORM_BUCKETS 25

/* Of one resource. */
struct cor_transform_counts {
    _Atomic uint64_t ok[COR_TRANSFORM_TYPES][COR_TRANSFORM_PREFIXES];
    _Atomic uint64_t failed[COR_TRANSFORM_TYPES][COR_TRANSFORM_PREFIXES];
};

/* Of all resources: those that went well. */
struct cor_transform_times {
    struct {
        _Atomic uint64_t counts[COR_TRANSFORM_BUCKETS + 1];
        _Atomic uint64_t sum_ns;
    } at[COR_TRANSFORM_TYPES][COR_TRANSFORM_PREFIXES];
};

/* As the labels have them; identity writes none. */
const char *cor_transform_type_name(enum cor_transform_type type);
const char *cor_transform_prefix_name(enum cor_transform_type type,
                                      enum cor_transform_prefix prefix);
/* Upper bounds. */
extern const uint64_t cor_transform_bounds_ns[COR_TRANSFORM_BUCKETS];

/* Of a value in its stored form; COR_TRANSFORM_UNKNOWN when it is encrypted by none of the others.
 */
enum cor_transform_prefix cor_transform_prefix_of(struct cor_str value);

void cor_transform_count(struct cor_transform_counts *counts, struct cor_transform_times *times,
                         enum cor_transform_type type, enum cor_transform_prefix prefix,
                         uint64_t ns, bool ok);

#endif
