/* Reservations that seem to be left over (leaks.h): a map from what a leak is to when it was seen.
 */
#include "server/alloc/leaks.h"

#include <string.h>

#include "base/mem.h"

struct leak {
    unsigned char key[COR_LEAK_BYTES]; /* the map borrows it */
    uint64_t since_ms;
    uint64_t pass; /* that saw it last */
};

static struct cor_str leak_key(const unsigned char key[COR_LEAK_BYTES])
{
    return cor_str((const char *)key, COR_LEAK_BYTES);
}

void cor_leaks_init(struct cor_leaks *leaks)
{
    cor_map_init(&leaks->map, COR_LEAKS_MAX);
}

void cor_leaks_deinit(struct cor_leaks *leaks)
{
    COR_MAP_FOREACH(it, &leaks->map) {
        cor_free(it.value);
    }
    cor_map_deinit(&leaks->map);
}

bool cor_leaks_note(struct cor_leaks *leaks, const unsigned char key[COR_LEAK_BYTES], uint64_t pass,
                    uint64_t now_ms, uint64_t grace_ms)
{
    struct leak *leak = cor_map_peek(&leaks->map, leak_key(key));

    if (!leak) {
        leak = cor_calloc(1, sizeof(*leak));
        if (!leak)
            return false;
        memcpy(leak->key, key, COR_LEAK_BYTES);
        leak->since_ms = now_ms;
        if (cor_map_put(&leaks->map, leak_key(leak->key), leak, NULL) < 0) {
            cor_free(leak);
            return false;
        }
    }
    leak->pass = pass;
    return now_ms - leak->since_ms >= grace_ms;
}

size_t cor_leaks_end_pass(struct cor_leaks *leaks, uint64_t pass)
{
    COR_MAP_FOREACH(it, &leaks->map) {
        struct leak *leak = it.value;

        if (leak->pass == pass)
            continue;
        (void)cor_map_remove(&leaks->map, it.key);
        cor_free(leak);
    }
    return cor_map_len(&leaks->map);
}
