/* Writes the list of paths that GET / answers with: fixed ones, groups and versions, health checks.
 * The paths are collected as texts that follow each other, each with its NUL, and are sorted by
 * pointers to them. The first failure (no memory, too long) ends the writing.
 * Thread: as in the header. */
#include "server/api/root_paths.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "server/api/health.h"
#include "json/write/writer.h"

#define TEXT_MAX (4u << 20)

static int root_add(struct cor_buf *text, size_t *n, const char *prefix, struct cor_str name)
{
    int r = cor_buf_addz(text, prefix);

    if (r == 0)
        r = cor_buf_adds(text, name);
    if (r == 0)
        r = cor_buf_addc(text, '\0');
    *n += r == 0;
    return r;
}

/* The groups of `served` and their versions; rows of a version follow each other. */
static int root_add_versions(const struct cor_served *served, struct cor_buf *text, size_t *n)
{
    const struct cor_resource_row *before = NULL;
    size_t nrows;
    const struct cor_resource_row *const *rows = cor_served_rows(served, &nrows);
    int r = 0;

    for (size_t i = 0; i < nrows && r == 0; i++) {
        const struct cor_resource_row *row = rows[i];
        bool is_core = row->group.n == 0;

        if (!is_core && !(before && cor_str_eq(before->group, row->group)))
            r = root_add(text, n, "/apis/", row->group);
        if (r == 0 && !(before && cor_str_eq(before->api_version, row->api_version)))
            r = root_add(text, n, is_core ? "/api/" : "/apis/", row->api_version);
        before = row;
    }
    return r;
}

static int root_add_checks(const struct cor_api *api, struct cor_buf *text, size_t *n)
{
    static const struct {
        const char *prefix;
        bool is_ready;
    } endpoints[] = {{"/healthz/", false}, {"/livez/", false}, {"/readyz/", true}};
    int r = 0;

    for (size_t e = 0; e < COR_ARRAY_LEN(endpoints) && r == 0; e++) {
        r = root_add(text, n, endpoints[e].prefix, COR_STR("ping"));
        for (size_t i = 0; i < cor_api_settings(api)->nchecks && r == 0; i++) {
            const struct cor_health_check *check = &cor_api_settings(api)->checks[i];

            if (endpoints[e].is_ready ? check->ready : check->live)
                r = root_add(text, n, endpoints[e].prefix, cor_strz(check->name));
        }
    }
    return r;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int cor_root_paths_write(const struct cor_api *api, const struct cor_served *served,
                         struct cor_buf *out)
{
    static const char *const others[] = {
        "/api",        "/apis",       "/apis/",       "/healthz", "/livez",   "/metrics",
        "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/readyz",  "/version",
    };
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    struct cor_json_writer w;
    const char **paths, *p;
    size_t n = 0;
    int r = 0;

    cor_buf_init(&text, TEXT_MAX);
    for (size_t i = 0; i < COR_ARRAY_LEN(others) && r == 0; i++)
        r = root_add(&text, &n, others[i], COR_STR(""));
    if (r == 0)
        r = root_add_versions(served, &text, &n);
    if (r == 0)
        r = root_add_checks(api, &text, &n);
    if (r < 0)
        return r;
    paths = cor_calloc(n, sizeof(*paths));
    if (!paths)
        return -COR_ENOMEM;
    p = cor_buf_str(&text).p;
    for (size_t i = 0; i < n; i++, p += strlen(p) + 1)
        paths[i] = p;
    assert(p == cor_buf_str(&text).p + text.n);
    qsort(paths, n, sizeof(*paths), compare_texts);
    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("paths"));
    cor_json_begin_array(&w);
    for (size_t i = 0; i < n; i++)
        cor_json_string(&w, cor_strz(paths[i]));
    cor_json_end_array(&w);
    cor_json_end_object(&w);
    cor_free(paths);
    return cor_json_writer_finish(&w);
}
