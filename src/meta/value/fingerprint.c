#include "meta/value/fingerprint.h"

#include "json/text/scan.h"

/* FNV-1a leaves its high bits weak on short text; this is the finalizer of MurmurHash3. */
static uint64_t mix(uint64_t h)
{
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
}

static uint64_t bit(uint64_t h, unsigned which)
{
    return UINT64_C(1) << ((h >> (which * 6)) & 63);
}

uint64_t cor_fingerprint_key(struct cor_str key)
{
    return bit(mix(cor_str_hash(key)), 0);
}

uint64_t cor_fingerprint_label(struct cor_str key, struct cor_str value)
{
    uint64_t k = cor_str_hash(key);
    uint64_t pair = mix(k * 31 + cor_str_hash(value));

    return bit(mix(k), 0) | bit(pair, 0) | bit(pair, 1) | bit(pair, 2);
}

uint64_t cor_fingerprint_labels(struct cor_str labels)
{
    struct cor_json_iter it = cor_json_iter(labels);
    struct cor_str key, value;
    uint64_t fingerprint = 0;

    while (cor_json_iter_member(&it, &key)) {
        if (cor_json_to_raw(cor_json_iter_value(&it), &value) < 0 || cor_str_find(key, '\\') >= 0)
            continue;
        fingerprint |= cor_str_find(value, '\\') < 0 ? cor_fingerprint_label(key, value)
                                                     : cor_fingerprint_key(key);
    }
    return fingerprint;
}
