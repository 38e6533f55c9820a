/* The OpenAPI documents of a snapshot.
 *
 * Which documents there are is decided in one place, page_next(): a walk over the rows, which have
 * discovery's order, gives first the two roots, then each group and each of its versions. The
 * index, the hashes and the documents all use that walk.
 *
 * The hash of a document covers cor_openapi_digest, which the build makes of the data files and of
 * the sources that write documents, and what rows say of themselves. A row of a custom resource
 * names its definition and the generation of it, so that its next form has another hash.
 *
 * Documents of other servers (catalog/remote_docs.h) are pages of their own in version 3, after
 * those of our rows, and are merged into that of version 2 in discovery's order (openapi_merge.h).
 *
 * Failures: no memory for the buffer, or a path that is not served. */
#include "server/docs/openapi_docs.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/object/object_edit.h"
#include "schema/kinds/custom_row.h"
#include "server/docs/openapi_merge.h"
#include "server/docs/openapi_paths.h"
#include "json/write/print.h"

#define PATH_MAX_BYTES 384 /* a group has at most 253 bytes, a version 63 */
#define TITLE          "Kubernetes"
#define ROW_BYTES      (96u * 1024) /* of the operations and types of a resource, more than usual */
#define SMALL_BYTES    4096         /* of a document with one operation */
/* Of the API, not of this program: clients compare it with their own. */
#define API_VERSION "1.34"

/* Of the documents about custom resources, as upstream has them. */
#define CUSTOM_TITLE   "Kubernetes CRD Swagger"
#define CUSTOM_VERSION "v0.1.0"

/* Made by the build. */
extern const char cor_openapi_digest[];

enum page_kind { PAGE_ROOT, PAGE_GROUP, PAGE_VERSION, PAGE_REMOTE };

/* A document of version 3. */
struct page {
    enum page_kind kind;
    enum cor_openapi_root root;         /* of a PAGE_ROOT */
    size_t first, n;                    /* the rows that it describes */
    const struct cor_remote_text *told; /* of a PAGE_REMOTE */
    struct cor_str path;                /* in `text`, or a constant */
    char text[PATH_MAX_BYTES];
};

/* Where the walk over all pages stands: begin with {0}. */
struct page_walk {
    unsigned step; /* of the roots; then of the group at `row`: 0 its own page, 1 its versions */
    size_t row;
    size_t remote; /* then of remote versions: twice the number, for the group's page and its own */
};

static size_t same_group_until(const struct cor_resource_row *const *rows, size_t n, size_t from)
{
    size_t i = from;

    while (i < n && cor_str_eq(rows[i]->group, rows[from]->group))
        i++;
    return i;
}

static size_t same_version_until(const struct cor_resource_row *const *rows, size_t n, size_t from)
{
    size_t i = from;

    while (i < n && cor_str_eq(rows[i]->api_version, rows[from]->api_version))
        i++;
    return i;
}

/* Returns whether the group has a page of its own. A group of custom resources has none. */
static bool group_is_described(const struct cor_resource_row *const *rows, size_t n, size_t from)
{
    for (size_t end = same_group_until(rows, n, from); from < end; from++) {
        if (!rows[from]->life)
            return true;
    }
    return false;
}

/* Is it about custom resources? Then it has nothing of what documents of built-in ones begin and
 * end with. */
static bool page_is_custom(const struct page *page, const struct cor_resource_row *const *rows)
{
    return page->kind == PAGE_VERSION && rows[page->first]->life;
}

static void page_set_path(struct page *page, const char *head, struct cor_str rest)
{
    int n = snprintf(page->text, sizeof(page->text), "%s/%.*s", head, COR_STR_ARG(rest));

    assert(n > 0 && (size_t)n < sizeof(page->text));
    page->path = cor_str(page->text, (size_t)n);
}

/* Returns whether an earlier page of the snapshot is for the same group as this remote version. */
static bool has_group_page(const struct cor_served *served,
                           const struct cor_remote_version *versions, size_t i)
{
    size_t nrows, first = 0;
    const struct cor_resource_row *const *rows = cor_served_rows(served, &nrows);

    while (first < nrows && !cor_str_eq(rows[first]->group, versions[i].group))
        first++;
    if (first < nrows && group_is_described(rows, nrows, first))
        return true;
    for (size_t k = 0; k < i; k++) {
        if (versions[k].openapi_3_group && cor_str_eq(versions[k].group, versions[i].group) &&
            cor_served_service(served, versions[k].group, versions[k].version))
            return true;
    }
    return false;
}

/* The next document that another server has written; false: there are no more. */
static bool page_next_remote(const struct cor_served *served, struct page_walk *walk,
                             struct page *page)
{
    size_t n;
    const struct cor_remote_version *v = cor_remote_docs_all(cor_served_remote_docs(served), &n);

    for (; walk->remote < 2 * n; walk->remote++) {
        size_t i = walk->remote / 2;
        bool is_group = walk->remote % 2 == 0;
        char rest[PATH_MAX_BYTES];

        *page = (struct page){.kind = PAGE_REMOTE,
                              .told = is_group ? v[i].openapi_3_group : v[i].openapi_3};
        if (!page->told || !cor_served_service(served, v[i].group, v[i].version) ||
            (is_group && has_group_page(served, v, i)))
            continue;
        snprintf(rest, sizeof(rest), "%.*s%s%.*s", COR_STR_ARG(v[i].group), is_group ? "" : "/",
                 is_group ? 0 : (int)v[i].version.n, v[i].version.p);
        page_set_path(page, "apis", cor_strz(rest));
        walk->remote++;
        return true;
    }
    return false;
}

/* The next document; false: there are no more. */
static bool page_next(const struct cor_served *served, struct page_walk *walk, struct page *page)
{
    static const struct {
        enum cor_openapi_root root;
        struct cor_str path;
    } roots[] = {{COR_OPENAPI_ROOT_API, COR_STR("api")},
                 {COR_OPENAPI_ROOT_APIS, COR_STR("apis")},
                 {COR_OPENAPI_ROOT_VERSION, COR_STR("version")}};
    size_t nrows, nroots = COR_ARRAY_LEN(roots);
    const struct cor_resource_row *const *rows = cor_served_rows(served, &nrows);
    const struct cor_resource_row *row;

    if (walk->step < nroots) {
        *page = (struct page){
            .kind = PAGE_ROOT, .root = roots[walk->step].root, .path = roots[walk->step].path};
        walk->step++;
        return true;
    }
    if (walk->row >= nrows)
        return page_next_remote(served, walk, page);
    row = rows[walk->row];
    if (walk->step == nroots && row->group.n > 0 && !group_is_described(rows, nrows, walk->row))
        walk->step++;
    if (walk->step == nroots && row->group.n > 0) {
        *page = (struct page){.kind = PAGE_GROUP, .first = walk->row};
        page->n = same_group_until(rows, nrows, walk->row) - walk->row;
        page_set_path(page, "apis", row->group);
        walk->step++;
        return true;
    }
    *page = (struct page){.kind = PAGE_VERSION, .first = walk->row};
    page->n = same_version_until(rows, nrows, walk->row) - walk->row;
    page_set_path(page, row->group.n > 0 ? "apis" : "api", row->api_version);
    walk->row += page->n;
    if (walk->row < nrows && !cor_str_eq(rows[walk->row]->group, row->group))
        walk->step = (unsigned)nroots;
    return true;
}

static bool page_find(const struct cor_served *served, struct cor_str path, struct page *page)
{
    struct page_walk walk = {0};

    while (page_next(served, &walk, page)) {
        if (cor_str_eq(page->path, path))
            return true;
    }
    return false;
}

/* FNV-1a, as cor_str_hash() begins. */
static void hash_add(uint64_t *hash, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ p[i]) * 0x100000001b3u;
}

static void hash_add_str(uint64_t *hash, struct cor_str s)
{
    hash_add(hash, s.p, s.n);
    hash_add(hash, "", 1);
}

static void hash_add_row(uint64_t *hash, const struct cor_resource_row *row)
{
    hash_add_str(hash, row->api_version);
    hash_add_str(hash, row->kind);
    hash_add_str(hash, row->plural);
    hash_add(hash, &row->verbs, sizeof(row->verbs));
    hash_add(hash, &row->flags, sizeof(row->flags));
    if (row->custom) {
        hash_add_str(hash, row->list_kind);
        hash_add_str(hash, cor_object_uid(row->custom->crd));
        hash_add_str(hash, cor_object_meta_member(row->custom->crd, COR_STR("generation")));
    } else if (row->life) {
        size_t place = cor_row_place(row);

        hash_add(hash, &place, sizeof(place));
    }
    for (size_t i = 0; i < row->nsubresources; i++) {
        if (row->subresources[i].is_served) {
            hash_add_str(hash, cor_strz(row->subresources[i].name));
            hash_add(hash, &row->subresources[i].verbs, sizeof(row->subresources[i].verbs));
        }
    }
}

/* What others have told about themselves is in the document of version 2. */
static void hash_add_remotes(uint64_t *hash, const struct cor_served *served)
{
    size_t n;
    const struct cor_remote_version *v = cor_remote_docs_all(cor_served_remote_docs(served), &n);

    for (size_t i = 0; i < n; i++) {
        if (v[i].openapi_2 && cor_served_service(served, v[i].group, v[i].version))
            hash_add_str(hash, cor_strz(v[i].openapi_2->hash));
    }
}

/* Two hashes of the same, so that the name of a document has 128 bits. */
static void hash_rows(const struct cor_served *served, struct cor_str path, size_t first, size_t n,
                      char ret_hash[COR_OPENAPI_HASH_MAX])
{
    size_t nrows;
    const struct cor_resource_row *const *rows = cor_served_rows(served, &nrows);
    uint64_t hashes[2] = {0xcbf29ce484222325u, 0x9e3779b97f4a7c15u};

    for (size_t h = 0; h < COR_ARRAY_LEN(hashes); h++) {
        hash_add_str(&hashes[h], cor_strz(cor_openapi_digest));
        hash_add_str(&hashes[h], path);
        for (size_t i = first; i < first + n; i++)
            hash_add_row(&hashes[h], rows[i]);
        if (path.n == 0)
            hash_add_remotes(&hashes[h], served);
    }
    snprintf(ret_hash, COR_OPENAPI_HASH_MAX, "%016llX%016llX", (unsigned long long)hashes[0],
             (unsigned long long)hashes[1]);
}

static void page_hash(const struct cor_served *served, const struct page *page,
                      char ret_hash[COR_OPENAPI_HASH_MAX])
{
    if (page->kind == PAGE_REMOTE)
        snprintf(ret_hash, COR_OPENAPI_HASH_MAX, "%s", page->told->hash);
    else
        hash_rows(served, page->path, page->first, page->n, ret_hash);
}

int cor_openapi_hash(const struct cor_served *served, struct cor_str path,
                     char ret_hash[COR_OPENAPI_HASH_MAX])
{
    struct page page;
    size_t nrows;

    (void)cor_served_rows(served, &nrows);
    if (path.n == 0) {
        hash_rows(served, path, 0, nrows, ret_hash);
        return 0;
    }
    if (!page_find(served, path, &page))
        return -COR_ENOTFOUND;
    page_hash(served, &page, ret_hash);
    return 0;
}

/* How many bytes others have told about themselves. */
static size_t remotes_weigh(const struct cor_served *served)
{
    size_t n, bytes = 0;
    const struct cor_remote_version *v = cor_remote_docs_all(cor_served_remote_docs(served), &n);

    for (size_t i = 0; i < n; i++)
        bytes += cor_remote_text_str(v[i].openapi_2).n;
    return bytes;
}

size_t cor_openapi_weigh(const struct cor_served *served, struct cor_str path)
{
    struct page page;
    size_t nrows, bytes = 0;
    const struct cor_resource_row *const *rows = cor_served_rows(served, &nrows);

    if (path.n == 0)
        page = (struct page){.kind = PAGE_VERSION, .n = nrows};
    else if (!page_find(served, path, &page))
        return SMALL_BYTES;
    else if (page.kind == PAGE_REMOTE)
        return page.told->n;
    else if (page.kind != PAGE_VERSION)
        return SMALL_BYTES;
    for (size_t i = page.first; i < page.first + page.n; i++)
        bytes += ROW_BYTES + (rows[i]->custom ? rows[i]->custom->version.n : 0);
    /* What is merged is read, indexed and written. */
    return path.n == 0 ? bytes + 3 * remotes_weigh(served) : bytes;
}

int cor_openapi_index(const struct cor_served *served, struct cor_buf *out)
{
    char hash[COR_OPENAPI_HASH_MAX], url[PATH_MAX_BYTES + 64];
    struct page_walk walk = {0};
    struct cor_json_writer w;
    struct page page;

    assert(out);
    cor_json_writer_init(&w, out);
    cor_json_print(&w, "{paths:{");
    while (page_next(served, &walk, &page)) {
        page_hash(served, &page, hash);
        snprintf(url, sizeof(url), "/openapi/v3/%.*s?hash=%s", COR_STR_ARG(page.path), hash);
        cor_json_key(&w, page.path);
        cor_json_print(&w, "{serverRelativeURL:%s}", url);
    }
    cor_json_end_object(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

static void info_write(struct cor_json_writer *w, bool is_custom)
{
    cor_json_print(w, "info:{title:%s,version:%s}",
                   is_custom ? COR_STR(CUSTOM_TITLE) : COR_STR(TITLE),
                   is_custom ? COR_STR(CUSTOM_VERSION) : COR_STR(API_VERSION));
}

static void page_write_paths(struct cor_openapi_doc *doc, const struct page *page,
                             const struct cor_resource_row *const *rows)
{
    if (page->kind == PAGE_ROOT)
        cor_openapi_write_root(doc, page->root, COR_STR(""));
    else if (page->kind == PAGE_GROUP)
        cor_openapi_write_root(doc, COR_OPENAPI_ROOT_GROUP, rows[page->first]->group);
    else if (!page_is_custom(page, rows))
        cor_openapi_write_resource_list(doc, rows[page->first]);
    for (size_t i = 0; page->kind == PAGE_VERSION && i < page->n; i++)
        cor_openapi_write_resource(doc, rows[page->first + i]);
}

static void security_write(struct cor_json_writer *w, const char *key)
{
    cor_json_key(w, cor_strz(key));
    cor_json_raw(w, COR_STR("{\"BearerToken\":{\"description\":\"A bearer token in the header "
                            "Authorization.\",\"type\":\"apiKey\",\"name\":\"authorization\","
                            "\"in\":\"header\"}}"));
}

int cor_openapi_write_3(const struct cor_served *served, struct cor_str path, struct cor_buf *out)
{
    size_t nrows;
    const struct cor_resource_row *const *rows = cor_served_rows(served, &nrows);
    struct cor_openapi_doc doc = {.version = COR_OPENAPI_3};
    struct page page;

    assert(out);
    if (!page_find(served, path, &page))
        return -COR_ENOTFOUND;
    if (page.kind == PAGE_REMOTE)
        return cor_buf_adds(out, cor_remote_text_str(page.told));
    cor_json_writer_init(&doc.w, out);
    cor_json_begin_object(&doc.w);
    cor_json_member(&doc.w, COR_STR("openapi"), COR_STR("3.0.0"));
    info_write(&doc.w, page_is_custom(&page, rows));
    cor_json_key(&doc.w, COR_STR("paths"));
    cor_json_begin_object(&doc.w);
    page_write_paths(&doc, &page, rows);
    cor_json_print(&doc.w, "},components:{schemas:{");
    cor_openapi_write_components(&doc, &rows[page.first], page.kind == PAGE_VERSION ? page.n : 0);
    cor_json_end_object(&doc.w);
    if (!page_is_custom(&page, rows))
        security_write(&doc.w, "securitySchemes");
    cor_json_end_object(&doc.w);
    cor_json_end_object(&doc.w);
    return cor_json_writer_finish(&doc.w);
}

static int write_local_2(const struct cor_served *served, struct cor_buf *out)
{
    size_t nrows;
    const struct cor_resource_row *const *rows = cor_served_rows(served, &nrows);
    struct cor_openapi_doc doc = {.version = COR_OPENAPI_2};
    struct page_walk walk = {0};
    struct page page;

    assert(out);
    cor_json_writer_init(&doc.w, out);
    cor_json_begin_object(&doc.w);
    cor_json_member(&doc.w, COR_STR("swagger"), COR_STR("2.0"));
    info_write(&doc.w, false);
    cor_json_key(&doc.w, COR_STR("paths"));
    cor_json_begin_object(&doc.w);
    while (page_next(served, &walk, &page)) {
        if (page.kind != PAGE_REMOTE)
            page_write_paths(&doc, &page, rows);
    }
    cor_json_print(&doc.w, "},definitions:{");
    cor_openapi_write_components(&doc, rows, nrows);
    cor_json_print(&doc.w, "},parameters:{");
    cor_openapi_write_parameters(&doc);
    cor_json_end_object(&doc.w);
    security_write(&doc.w, "securityDefinitions");
    cor_json_print(&doc.w, "security:[{BearerToken:[]}]}");
    return cor_json_writer_finish(&doc.w);
}

int cor_openapi_write_2(const struct cor_served *served, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf local = {0};
    size_t n, nothers = 0;
    const struct cor_served_version *v = cor_served_versions(served, &n);
    struct cor_str *others;
    int r;

    assert(out);
    if (remotes_weigh(served) == 0)
        return write_local_2(served, out);
    others = cor_calloc(n + 1, sizeof(*others));
    if (!others)
        return -COR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct cor_remote_version *remote =
            cor_served_remote(served, v[i].group, v[i].version);

        if (remote && remote->openapi_2)
            others[nothers++] = cor_remote_text_str(remote->openapi_2);
    }
    cor_buf_init(&local, COR_OPENAPI_BYTES_MAX);
    r = write_local_2(served, &local);
    if (r == 0)
        r = cor_openapi_merge(cor_buf_str(&local), others, nothers, out);
    cor_free(others);
    return r;
}
