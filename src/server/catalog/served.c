/* A snapshot of what is served: the rows in discovery's order, and an index by name.
 *
 * The index is a table of row numbers with open addressing, at most half full. A row is placed by
 * the hash of its plural name alone, because hardly two resources share one; rows of the same name
 * in other groups and versions are neighbours. Lookups allocate nothing and take no lock. Clients
 * choose the names that are looked up, but only names of served resources are in the table.
 *
 * Documents: the first caller that needs one makes it and publishes it with a compare-and-swap;
 * when two make it at the same time, the second is freed and the first is used by both.
 *
 * Failures: no memory, or too many rows; nothing is returned then. */
#include "server/catalog/served.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"

struct cor_served {
    struct cor_ref refs;
    uint64_t generation;
    _Atomic(struct cor_served_doc *) docs[COR_DOC_COUNT]; /* NULL: not made yet */
    size_t nrows;
    size_t mask;                           /* size of the index, a power of two, less one */
    uint16_t *index;                       /* 1 + a row's number; 0: empty */
    const struct cor_type **schemas;       /* of each row; NULL: it has none */
    const struct cor_resource_row *rows[]; /* one reference each */
};

static size_t index_size(size_t nrows)
{
    size_t n = 16;

    while (n < 2 * nrows)
        n *= 2;
    return n;
}

int cor_served_new(const struct cor_resource_row *const *rows, size_t nrows, uint64_t generation,
                   struct cor_served **ret_served)
{
    size_t size = index_size(nrows);
    struct cor_served *served;

    assert(rows && nrows > 0 && generation > 0);
    if (nrows > COR_SERVED_ROWS_MAX)
        return -COR_ETOOBIG;
    served = cor_calloc(1, sizeof(*served) +
                               nrows * (sizeof(served->rows[0]) + sizeof(served->schemas[0])) +
                               size * sizeof(served->index[0]));
    if (!served)
        return -COR_ENOMEM;
    cor_ref_init(&served->refs);
    served->generation = generation;
    served->nrows = nrows;
    served->mask = size - 1;
    served->schemas = (const struct cor_type **)&served->rows[nrows];
    served->index = (uint16_t *)&served->schemas[nrows];
    for (size_t i = 0; i < nrows; i++) {
        size_t at = cor_str_hash(rows[i]->plural) & served->mask;

        assert(!cor_served_find(served, rows[i]->group, rows[i]->version, rows[i]->plural, NULL));
        while (served->index[at])
            at = (at + 1) & served->mask;
        served->index[at] = (uint16_t)(i + 1);
        served->rows[i] = cor_row_ref(rows[i]);
        served->schemas[i] = cor_row_schema(rows[i]);
    }
    *ret_served = served;
    return 0;
}

int cor_served_new_builtins(struct cor_served **ret_served)
{
    const struct cor_resource_row *builtins, **rows;
    size_t n;
    int r;

    builtins = cor_api_builtins(&n);
    rows = cor_calloc(n, sizeof(const struct cor_resource_row *));
    if (!rows)
        return -COR_ENOMEM;
    for (size_t i = 0; i < n; i++)
        rows[i] = &builtins[i];
    r = cor_served_new(rows, n, 1, ret_served);
    cor_free(rows);
    return r;
}

struct cor_served *cor_served_ref(struct cor_served *served)
{
    cor_ref_get(&served->refs);
    return served;
}

static void doc_free(struct cor_served_doc *doc)
{
    if (doc)
        cor_buf_deinit(&doc->json);
    cor_free(doc);
}

struct cor_served *cor_served_unref(struct cor_served *served)
{
    if (!served || !cor_ref_put(&served->refs))
        return NULL;
    for (size_t i = 0; i < served->nrows; i++)
        cor_row_unref(served->rows[i]);
    for (size_t i = 0; i < COR_DOC_COUNT; i++)
        doc_free(atomic_load(&served->docs[i]));
    return cor_free(served);
}

uint64_t cor_served_generation(const struct cor_served *served)
{
    return served->generation;
}

const struct cor_resource_row *const *cor_served_rows(const struct cor_served *served,
                                                      size_t *ret_n)
{
    *ret_n = served->nrows;
    return served->rows;
}

const struct cor_resource_row *cor_served_find(const struct cor_served *served,
                                               struct cor_str group, struct cor_str version,
                                               struct cor_str plural,
                                               const struct cor_type **ret_schema)
{
    size_t at = cor_str_hash(plural) & served->mask;

    for (; served->index[at]; at = (at + 1) & served->mask) {
        const struct cor_resource_row *row = served->rows[served->index[at] - 1];

        if (cor_str_eq(row->plural, plural) && cor_str_eq(row->group, group) &&
            cor_str_eq(row->version, version)) {
            if (ret_schema)
                *ret_schema = served->schemas[served->index[at] - 1];
            return row;
        }
    }
    return NULL;
}

bool cor_served_has_group(const struct cor_served *served, struct cor_str group)
{
    for (size_t i = 0; i < served->nrows; i++) {
        if (cor_str_eq(served->rows[i]->group, group))
            return true;
    }
    return false;
}

bool cor_served_is_custom(const struct cor_served *served, struct cor_str group)
{
    bool is_custom = false;

    for (size_t i = 0; i < served->nrows; i++) {
        if (!cor_str_eq(served->rows[i]->group, group))
            continue;
        if (!served->rows[i]->custom)
            return false;
        is_custom = true;
    }
    return is_custom;
}

bool cor_served_has_version(const struct cor_served *served, struct cor_str group,
                            struct cor_str version)
{
    for (size_t i = 0; i < served->nrows; i++) {
        if (cor_str_eq(served->rows[i]->group, group) &&
            cor_str_eq(served->rows[i]->version, version))
            return true;
    }
    return false;
}

static int doc_make(const struct cor_served *served, cor_served_make make, const void *arg,
                    struct cor_served_doc **ret_doc)
{
    struct cor_served_doc *doc = cor_calloc(1, sizeof(*doc));
    int r;

    if (!doc)
        return -COR_ENOMEM;
    cor_buf_init(&doc->json, COR_SERVED_DOC_BYTES);
    r = make(served, arg, &doc->json);
    if (r < 0) {
        doc_free(doc);
        return r;
    }
    snprintf(doc->etag, sizeof(doc->etag), "\"%016llX\"",
             (unsigned long long)cor_str_hash(cor_buf_str(&doc->json)));
    *ret_doc = doc;
    return 0;
}

int cor_served_doc(struct cor_served *served, enum cor_served_doc_id id, cor_served_make make,
                   const void *arg, const struct cor_served_doc **ret_doc)
{
    struct cor_served_doc *doc = atomic_load_explicit(&served->docs[id], memory_order_acquire);
    struct cor_served_doc *first = NULL;
    int r;

    assert(id < COR_DOC_COUNT && make);
    if (!doc) {
        r = doc_make(served, make, arg, &doc);
        if (r < 0)
            return r;
        if (!atomic_compare_exchange_strong(&served->docs[id], &first, doc)) {
            doc_free(doc);
            doc = first;
        }
    }
    *ret_doc = doc;
    return 0;
}
