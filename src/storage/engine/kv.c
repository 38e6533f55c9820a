#include "storage/engine/kv.h"

#include <string.h>

#include "base/mem.h"

struct cor_kv *cor_kv_new_room(struct cor_str key, size_t n, cor_rev create_rev, cor_rev mod_rev,
                               int64_t lease, char **ret_value)
{
    struct cor_kv *kv;

    if (key.n > UINT32_MAX || n > UINT32_MAX)
        return NULL;
    kv = cor_alloc(sizeof(*kv) + key.n + 1 + n);
    if (!kv)
        return NULL;
    cor_ref_init(&kv->ref);
    kv->key_len = (uint32_t)key.n;
    kv->value_len = (uint32_t)n;
    kv->create_rev = create_rev;
    kv->mod_rev = mod_rev;
    kv->lease = lease;
    kv->object = NULL;
    if (key.n)
        memcpy(kv->bytes, key.p, key.n);
    kv->bytes[key.n] = '\0';
    *ret_value = kv->bytes + key.n + 1;
    return kv;
}

struct cor_kv *cor_kv_new(struct cor_str key, struct cor_str value, cor_rev create_rev,
                          cor_rev mod_rev, int64_t lease)
{
    char *room;
    struct cor_kv *kv = cor_kv_new_room(key, value.n, create_rev, mod_rev, lease, &room);

    if (kv && value.n)
        memcpy(room, value.p, value.n);
    return kv;
}

struct cor_kv *cor_kv_ref(struct cor_kv *kv)
{
    cor_ref_get(&kv->ref);
    return kv;
}

struct cor_kv *cor_kv_unref(struct cor_kv *kv)
{
    if (kv && cor_ref_put(&kv->ref)) {
        cor_object_unref(kv->object);
        cor_free(kv);
    }
    return NULL;
}
