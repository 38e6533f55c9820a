/* The absent-owner cache of the graph: an LRU whose key is all five coordinates, each with a NUL
 * after it. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "server/controllers/gc/gc_graph.h"

#define ABSENT_KEY_MAX (64u * 1024)

struct absent {
    struct cor_lru_link link;
    char key[];
};

void cor_gc_absent_drop(struct cor_lru_link *take)
{
    cor_free(COR_CONTAINER_OF(take, struct absent, link));
}

static int absent_key(const struct cor_gc_identity *id, struct cor_buf *out)
{
    const struct cor_str parts[] = {id->api_version, id->kind, id->name, id->uid, id->ns};
    int r = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(parts) && r == 0; i++) {
        r = cor_buf_adds(out, parts[i]);
        if (r == 0)
            r = cor_buf_addc(out, '\0');
    }
    return r;
}

void cor_gc_absent_add(struct cor_gc_graph *g, const struct cor_gc_identity *id)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key;
    struct absent *absent;

    cor_buf_init(&key, ABSENT_KEY_MAX);
    if (absent_key(id, &key) < 0 || cor_lru_use(&g->absent, cor_buf_str(&key)))
        return;
    absent = cor_alloc(sizeof(*absent) + key.n);
    if (!absent)
        return;
    memcpy(absent->key, key.p, key.n);
    absent->link.key = cor_str(absent->key, key.n);
    if (cor_lru_add(&g->absent, &absent->link) < 0)
        cor_free(absent);
}

bool cor_gc_absent_has(struct cor_gc_graph *g, const struct cor_gc_identity *id)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key;

    cor_buf_init(&key, ABSENT_KEY_MAX);
    if (cor_lru_len(&g->absent) == 0)
        return false;
    return absent_key(id, &key) == 0 && cor_lru_use(&g->absent, cor_buf_str(&key)) != NULL;
}
