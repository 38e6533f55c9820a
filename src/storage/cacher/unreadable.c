/* An array of stored values in key order, searched by halves. A value that becomes unreadable is
 * added in two steps: cor_unreadable_reserve() makes room where a failure can still be reported,
 * and cor_unreadable_put(), which cannot fail, comes after everything else has succeeded. An
 * insertion moves the values behind it; the values of a list come in key order and move nothing.
 * Failures: no memory for the room, which changes nothing.  Thread: see the header. */
#include "storage/cacher/unreadable.h"

#include <assert.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"

void cor_unreadable_deinit(struct cor_unreadable *u)
{
    for (size_t i = 0; i < u->n; i++)
        cor_kv_unref(u->kvs[i]);
    cor_free(u->kvs);
    *u = (struct cor_unreadable){0};
}

/* Index of the first value whose key is not below `key`. A list comes in key order, so the end is
 * looked at first. */
static size_t unreadable_lower(const struct cor_unreadable *u, struct cor_str key)
{
    size_t lo = 0, hi = u->n;

    if (hi > 0 && cor_str_cmp(cor_kv_key(u->kvs[hi - 1]), key) < 0)
        return hi;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (cor_str_cmp(cor_kv_key(u->kvs[mid]), key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool unreadable_is_at(const struct cor_unreadable *u, size_t at, struct cor_str key)
{
    return at < u->n && cor_str_eq(cor_kv_key(u->kvs[at]), key);
}

int cor_unreadable_reserve(struct cor_unreadable *u)
{
    return COR_ARRAY_RESERVE(&u->kvs, u->n, &u->cap, COR_ARRAY_NO_MAX);
}

void cor_unreadable_put(struct cor_unreadable *u, struct cor_kv *kv)
{
    size_t at = unreadable_lower(u, cor_kv_key(kv));

    if (unreadable_is_at(u, at, cor_kv_key(kv))) {
        cor_kv_ref(kv);
        cor_kv_unref(u->kvs[at]);
        u->kvs[at] = kv;
        return;
    }
    assert(u->n < u->cap);
    memmove(u->kvs + at + 1, u->kvs + at, (u->n - at) * sizeof(*u->kvs));
    u->kvs[at] = cor_kv_ref(kv);
    u->n++;
}

bool cor_unreadable_remove(struct cor_unreadable *u, struct cor_str key)
{
    size_t at = unreadable_lower(u, key);

    if (!unreadable_is_at(u, at, key))
        return false;
    cor_kv_unref(u->kvs[at]);
    u->n--;
    memmove(u->kvs + at, u->kvs + at + 1, (u->n - at) * sizeof(*u->kvs));
    return true;
}

bool cor_unreadable_has(const struct cor_unreadable *u, const struct cor_kv *kv)
{
    size_t at = unreadable_lower(u, cor_kv_key(kv));

    return unreadable_is_at(u, at, cor_kv_key(kv)) && u->kvs[at]->mod_rev == kv->mod_rev;
}

bool cor_unreadable_covers(const struct cor_unreadable *u, struct cor_str key, bool recursive)
{
    size_t at = unreadable_lower(u, key);

    if (!recursive)
        return unreadable_is_at(u, at, key);
    return at < u->n && cor_str_starts(cor_kv_key(u->kvs[at]), key);
}
