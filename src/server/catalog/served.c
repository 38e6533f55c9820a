/* A snapshot of what is served: rows and APIServices in discovery's order (arrangement.c), and an
 * index of each: of the rows by name, of the remote services by group and version.
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
#include "base/limits.h"
#include "base/mem.h"
#include "server/catalog/arrangement.h"

struct cor_served {
    struct cor_ref refs;
    uint64_t generation;
    _Atomic(struct cor_served_doc *) docs[COR_DOC_COUNT]; /* NULL: not made yet */
    size_t nrows;
    size_t mask;                        /* size of the index, a power of two, less one */
    uint16_t *index;                    /* 1 + a row's number; 0: empty */
    const struct cor_type **schemas;    /* of each row; NULL: it has none */
    struct cor_arrangement arrangement; /* its rows: one reference each */
    struct cor_api_service **services;  /* one reference each, in discovery's order */
    size_t nservices;
    uint16_t *remotes;   /* 1 + the number of a remote service, by its group version; 0: empty */
    size_t remotes_mask; /* size of the table, a power of two, less one */
    struct cor_remote_docs *remote_docs; /* a reference; NULL: none */
};

static size_t index_size(size_t n)
{
    size_t size = 16;

    while (size < 2 * n)
        size *= 2;
    return size;
}

static size_t remote_hash(struct cor_str group, struct cor_str version)
{
    return (size_t)(cor_str_hash(group) ^ cor_str_hash(version));
}

static void served_index_rows(struct cor_served *served)
{
    for (size_t i = 0; i < served->nrows; i++) {
        const struct cor_resource_row *row = served->arrangement.rows[i];
        size_t at = cor_str_hash(row->plural) & served->mask;

        assert(!cor_served_find(served, row->group, row->version, row->plural, NULL));
        while (served->index[at])
            at = (at + 1) & served->mask;
        served->index[at] = (uint16_t)(i + 1);
        served->schemas[i] = cor_row_schema(cor_row_ref(row));
    }
}

static void served_index_services(struct cor_served *served)
{
    for (size_t i = 0; i < served->arrangement.nversions; i++) {
        const struct cor_served_version *version = &served->arrangement.versions[i];

        if (version->service)
            served->services[served->nservices++] = cor_api_service_ref(version->service);
        if (cor_served_version_is_remote(version)) {
            size_t at = remote_hash(version->group, version->version) & served->remotes_mask;

            while (served->remotes[at])
                at = (at + 1) & served->remotes_mask;
            served->remotes[at] = (uint16_t)served->nservices;
        }
    }
}

int cor_served_new(const struct cor_served_opts *opts, struct cor_served **ret_served)
{
    struct cor_arrangement a;
    struct cor_served *served;
    size_t size, nremotes;
    int r;

    assert(opts->rows && opts->nrows > 0 && opts->generation > 0);
    if (opts->nrows > COR_SERVED_ROWS_MAX || opts->nservices > COR_API_SERVICES_MAX)
        return -COR_ETOOBIG;
    r = cor_arrangement_init(&a, opts);
    if (r < 0)
        return r;
    size = index_size(a.nrows);
    nremotes = index_size(a.nremote);
    served = cor_calloc(1, sizeof(*served) + a.nrows * sizeof(served->schemas[0]) +
                               opts->nservices * sizeof(served->services[0]) +
                               (size + nremotes) * sizeof(served->index[0]));
    if (!served) {
        cor_arrangement_deinit(&a);
        return -COR_ENOMEM;
    }
    cor_ref_init(&served->refs);
    served->generation = opts->generation;
    served->remote_docs = cor_remote_docs_ref(opts->remote_docs);
    served->arrangement = a;
    served->nrows = a.nrows;
    served->schemas = (const struct cor_type **)(served + 1);
    served->services = (struct cor_api_service **)&served->schemas[a.nrows];
    served->index = (uint16_t *)&served->services[opts->nservices];
    served->remotes = &served->index[size];
    served->mask = size - 1;
    served->remotes_mask = nremotes - 1;
    served_index_rows(served);
    served_index_services(served);
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
    r = cor_served_new(&(struct cor_served_opts){.rows = rows, .nrows = n, .generation = 1},
                       ret_served);
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
    for (size_t i = 0; i < COR_DOC_COUNT; i++)
        doc_free(atomic_load(&served->docs[i]));
    for (size_t i = 0; i < served->nservices; i++)
        cor_api_service_unref(served->services[i]);
    for (size_t i = 0; i < served->nrows; i++)
        cor_row_unref(served->arrangement.rows[i]);
    cor_arrangement_deinit(&served->arrangement);
    cor_remote_docs_unref(served->remote_docs);
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
    return served->arrangement.rows;
}

const struct cor_served_version *cor_served_versions(const struct cor_served *served, size_t *ret_n)
{
    *ret_n = served->arrangement.nversions;
    return served->arrangement.versions;
}

struct cor_api_service *const *cor_served_services(const struct cor_served *served, size_t *ret_n)
{
    *ret_n = served->nservices;
    return served->services;
}

struct cor_api_service *cor_served_service(const struct cor_served *served, struct cor_str group,
                                           struct cor_str version)
{
    size_t at = remote_hash(group, version) & served->remotes_mask;

    for (; served->remotes[at]; at = (at + 1) & served->remotes_mask) {
        struct cor_api_service *service = served->services[served->remotes[at] - 1];

        if (cor_str_eq(service->group, group) && cor_str_eq(service->version, version))
            return service;
    }
    return NULL;
}

const struct cor_resource_row *cor_served_find(const struct cor_served *served,
                                               struct cor_str group, struct cor_str version,
                                               struct cor_str plural,
                                               const struct cor_type **ret_schema)
{
    size_t at = cor_str_hash(plural) & served->mask;

    for (; served->index[at]; at = (at + 1) & served->mask) {
        const struct cor_resource_row *row = served->arrangement.rows[served->index[at] - 1];

        if (cor_str_eq(row->plural, plural) && cor_str_eq(row->group, group) &&
            cor_str_eq(row->version, version)) {
            if (ret_schema)
                *ret_schema = served->schemas[served->index[at] - 1];
            return row;
        }
    }
    return NULL;
}

const struct cor_remote_docs *cor_served_remote_docs(const struct cor_served *served)
{
    return served->remote_docs;
}

const struct cor_remote_version *cor_served_remote(const struct cor_served *served,
                                                   struct cor_str group, struct cor_str version)
{
    return cor_served_service(served, group, version)
               ? cor_remote_docs_find(served->remote_docs, group, version)
               : NULL;
}

bool cor_served_has_group(const struct cor_served *served, struct cor_str group)
{
    for (size_t i = 0; i < served->nrows; i++) {
        if (cor_str_eq(served->arrangement.rows[i]->group, group))
            return true;
    }
    return false;
}

bool cor_served_is_custom(const struct cor_served *served, struct cor_str group)
{
    bool is_custom = false;

    for (size_t i = 0; i < served->nrows; i++) {
        if (!cor_str_eq(served->arrangement.rows[i]->group, group))
            continue;
        if (!served->arrangement.rows[i]->custom)
            return false;
        is_custom = true;
    }
    return is_custom;
}

bool cor_served_has_version(const struct cor_served *served, struct cor_str group,
                            struct cor_str version)
{
    for (size_t i = 0; i < served->nrows; i++) {
        if (cor_str_eq(served->arrangement.rows[i]->group, group) &&
            cor_str_eq(served->arrangement.rows[i]->version, version))
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
