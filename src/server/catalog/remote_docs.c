/* Sets of what other API servers have told. A set is one block: the versions, and behind them the
 * bytes of their names. Failures: no memory, or too many versions; nothing is returned then. */
#include "server/catalog/remote_docs.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/crypto/crypto.h"

struct cor_remote_docs {
    struct cor_ref refs;
    size_t n;
    struct cor_remote_version v[];
};

int cor_remote_text_new(struct cor_str bytes, struct cor_remote_text **ret_text)
{
    struct cor_remote_text *text = cor_alloc(sizeof(*text) + bytes.n);
    uint8_t digest[COR_SHA256_BYTES];

    if (!text)
        return -COR_ENOMEM;
    if (cor_sha256(bytes, digest) < 0) {
        cor_free(text);
        return -COR_ENOMEM;
    }
    cor_ref_init(&text->refs);
    for (size_t i = 0; i < (COR_REMOTE_HASH_MAX - 1) / 2; i++)
        snprintf(text->hash + 2 * i, 3, "%02X", digest[i]);
    text->n = bytes.n;
    if (bytes.n > 0)
        memcpy(text->bytes, bytes.p, bytes.n);
    *ret_text = text;
    return 0;
}

struct cor_remote_text *cor_remote_text_ref(struct cor_remote_text *text)
{
    if (text)
        cor_ref_get(&text->refs);
    return text;
}

struct cor_remote_text *cor_remote_text_unref(struct cor_remote_text *text)
{
    return text && cor_ref_put(&text->refs) ? cor_free(text) : NULL;
}

static char *name_copy(char *to, struct cor_str *name)
{
    if (name->n > 0)
        memcpy(to, name->p, name->n);
    *name = cor_str(to, name->n);
    return to + name->n;
}

int cor_remote_docs_new(const struct cor_remote_version *versions, size_t n,
                        struct cor_remote_docs **ret_docs)
{
    size_t bytes = n * sizeof(versions[0]);
    struct cor_remote_docs *docs;
    char *names;

    assert((versions || n == 0) && ret_docs);
    if (n > COR_REMOTE_VERSIONS_MAX)
        return -COR_ETOOBIG;
    for (size_t i = 0; i < n; i++)
        bytes += versions[i].group.n + versions[i].version.n;
    docs = cor_alloc(sizeof(*docs) + bytes);
    if (!docs)
        return -COR_ENOMEM;
    cor_ref_init(&docs->refs);
    docs->n = 0;
    names = (char *)&docs->v[n];
    for (size_t i = 0; i < n; i++) {
        struct cor_remote_version *v = &docs->v[i];

        assert(!cor_remote_docs_find(docs, versions[i].group, versions[i].version));
        *v = versions[i];
        names = name_copy(names, &v->group);
        names = name_copy(names, &v->version);
        (void)cor_remote_text_ref(v->resources);
        (void)cor_remote_text_ref(v->openapi_2);
        (void)cor_remote_text_ref(v->openapi_3);
        (void)cor_remote_text_ref(v->openapi_3_group);
        docs->n = i + 1;
    }
    *ret_docs = docs;
    return 0;
}

struct cor_remote_docs *cor_remote_docs_ref(struct cor_remote_docs *docs)
{
    if (docs)
        cor_ref_get(&docs->refs);
    return docs;
}

struct cor_remote_docs *cor_remote_docs_unref(struct cor_remote_docs *docs)
{
    if (!docs || !cor_ref_put(&docs->refs))
        return NULL;
    for (size_t i = 0; i < docs->n; i++) {
        cor_remote_text_unref(docs->v[i].resources);
        cor_remote_text_unref(docs->v[i].openapi_2);
        cor_remote_text_unref(docs->v[i].openapi_3);
        cor_remote_text_unref(docs->v[i].openapi_3_group);
    }
    return cor_free(docs);
}

const struct cor_remote_version *cor_remote_docs_all(const struct cor_remote_docs *docs,
                                                     size_t *ret_n)
{
    *ret_n = docs ? docs->n : 0;
    return docs ? docs->v : NULL;
}

const struct cor_remote_version *cor_remote_docs_find(const struct cor_remote_docs *docs,
                                                      struct cor_str group, struct cor_str version)
{
    for (size_t i = 0; docs && i < docs->n; i++) {
        if (cor_str_eq(docs->v[i].version, version) && cor_str_eq(docs->v[i].group, group))
            return &docs->v[i];
    }
    return NULL;
}
