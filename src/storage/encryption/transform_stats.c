/* The counters of transformations, by direction, prefix and outcome, and their times in the buckets
 * that upstream's metric has. Thread: any; the counters are atomic, and a reader may see a count
 * before its time. */
#include "storage/encryption/transform_stats.h"

static const struct cor_str prefixes[] = {
    [COR_TRANSFORM_AESGCM] = {"k8s:enc:aesgcm:v1:", 18},
    [COR_TRANSFORM_AESCBC] = {"k8s:enc:aescbc:v1:", 18},
    [COR_TRANSFORM_SECRETBOX] = {"k8s:enc:secretbox:v1:", 21},
    /* Any other encrypted value begins like this. */
    [COR_TRANSFORM_IDENTITY] = {"k8s:enc:", 8},
};

const char *cor_transform_type_name(enum cor_transform_type type)
{
    return type == COR_TRANSFORM_FROM_STORAGE ? "from_storage" : "to_storage";
}

const char *cor_transform_prefix_name(enum cor_transform_type type,
                                      enum cor_transform_prefix prefix)
{
    if (prefix == COR_TRANSFORM_UNKNOWN)
        return "unknown";
    if (prefix == COR_TRANSFORM_IDENTITY)
        return type == COR_TRANSFORM_FROM_STORAGE ? "identity" : "";
    return prefixes[prefix].p;
}

const uint64_t cor_transform_bounds_ns[COR_TRANSFORM_BUCKETS] = {
    UINT64_C(5000),        UINT64_C(10000),       UINT64_C(20000),       UINT64_C(40000),
    UINT64_C(80000),       UINT64_C(160000),      UINT64_C(320000),      UINT64_C(640000),
    UINT64_C(1280000),     UINT64_C(2560000),     UINT64_C(5120000),     UINT64_C(10240000),
    UINT64_C(20480000),    UINT64_C(40960000),    UINT64_C(81920000),    UINT64_C(163840000),
    UINT64_C(327680000),   UINT64_C(655360000),   UINT64_C(1310720000),  UINT64_C(2621440000),
    UINT64_C(5242880000),  UINT64_C(10485760000), UINT64_C(20971520000), UINT64_C(41943040000),
    UINT64_C(83886080000),
};

enum cor_transform_prefix cor_transform_prefix_of(struct cor_str value)
{
    for (int i = 0; i < COR_TRANSFORM_IDENTITY; i++)
        if (cor_str_starts(value, prefixes[i]))
            return (enum cor_transform_prefix)i;
    return cor_str_starts(value, prefixes[COR_TRANSFORM_IDENTITY]) ? COR_TRANSFORM_UNKNOWN
                                                                   : COR_TRANSFORM_IDENTITY;
}

static size_t bucket_of(uint64_t ns)
{
    size_t i = 0;

    while (i < COR_TRANSFORM_BUCKETS && ns > cor_transform_bounds_ns[i])
        i++;
    return i;
}

void cor_transform_count(struct cor_transform_counts *counts, struct cor_transform_times *times,
                         enum cor_transform_type type, enum cor_transform_prefix prefix,
                         uint64_t ns, bool ok)
{
    atomic_fetch_add(ok ? &counts->ok[type][prefix] : &counts->failed[type][prefix], 1);
    if (!ok)
        return;
    atomic_fetch_add(&times->at[type][prefix].counts[bucket_of(ns)], 1);
    atomic_fetch_add(&times->at[type][prefix].sum_ns, ns);
}
