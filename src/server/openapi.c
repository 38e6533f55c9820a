#include "server/openapi.h"

#include <stdio.h>

#include "base/err.h"
#include "json/writer.h"

#define PATH_MAX_BYTES 256

static bool is_served(const struct cor_api_resource *r)
{
    return !(r->flags & COR_API_VIRTUAL);
}

/* "api/v1" or "apis/apps/v1". */
static struct cor_str version_path(const struct cor_api_resource *r, char *out)
{
    int n = snprintf(out, PATH_MAX_BYTES, "%s/%.*s", r->group.n > 0 ? "apis" : "api",
                     COR_STR_ARG(r->api_version));

    return cor_str(out, n > 0 ? (size_t)n : 0);
}

int cor_openapi_index(const struct cor_api_resource *resources, size_t nresources,
                      struct cor_buf *out)
{
    const struct cor_api_resource *last = NULL;
    char path[PATH_MAX_BYTES], url[PATH_MAX_BYTES + 16];
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("paths"));
    cor_json_begin_object(&w);
    for (size_t i = 0; i < nresources; i++) {
        const struct cor_api_resource *r = &resources[i];

        if (!is_served(r) || (last && cor_str_eq(last->api_version, r->api_version)))
            continue;
        last = r;
        cor_json_key(&w, version_path(r, path));
        snprintf(url, sizeof(url), "/openapi/v3/%s", path);
        cor_json_begin_object(&w);
        cor_json_member(&w, COR_STR("serverRelativeURL"), cor_strz(url));
        cor_json_end_object(&w);
    }
    cor_json_end_object(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

static void write_parameter(struct cor_json_writer *w, const char *name)
{
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("name"), cor_strz(name));
    cor_json_member(w, COR_STR("in"), COR_STR("query"));
    cor_json_key(w, COR_STR("schema"));
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("type"), COR_STR("string"));
    cor_json_key(w, COR_STR("uniqueItems"));
    cor_json_bool(w, true);
    cor_json_end_object(w);
    cor_json_end_object(w);
}

static void write_patch(struct cor_json_writer *w, const struct cor_api_resource *r)
{
    cor_json_begin_object(w);
    cor_json_key(w, COR_STR("parameters"));
    cor_json_begin_array(w);
    write_parameter(w, "dryRun");
    write_parameter(w, "fieldManager");
    write_parameter(w, "fieldValidation");
    cor_json_end_array(w);
    cor_json_key(w, COR_STR("responses"));
    cor_json_begin_object(w);
    cor_json_end_object(w);
    cor_json_member(w, COR_STR("x-kubernetes-action"), COR_STR("patch"));
    cor_json_key(w, COR_STR("x-kubernetes-group-version-kind"));
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("group"), r->group);
    cor_json_member(w, COR_STR("version"), r->version);
    cor_json_member(w, COR_STR("kind"), r->kind);
    cor_json_end_object(w);
    cor_json_end_object(w);
}

static void write_resource(struct cor_json_writer *w, const struct cor_api_resource *r)
{
    char prefix[PATH_MAX_BYTES], path[2 * PATH_MAX_BYTES];

    (void)version_path(r, prefix);
    snprintf(path, sizeof(path), "/%s/%s%.*s/{name}", prefix,
             cor_api_is_namespaced(r) ? "namespaces/{namespace}/" : "", COR_STR_ARG(r->plural));
    cor_json_key(w, cor_strz(path));
    cor_json_begin_object(w);
    cor_json_key(w, COR_STR("patch"));
    write_patch(w, r);
    cor_json_end_object(w);
}

int cor_openapi_version(const struct cor_api_resource *resources, size_t nresources,
                        struct cor_str path, struct cor_buf *out)
{
    char own[PATH_MAX_BYTES];
    struct cor_json_writer w;
    bool found = false;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("openapi"), COR_STR("3.0.0"));
    cor_json_key(&w, COR_STR("info"));
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("title"), COR_STR("Coracle"));
    cor_json_member(&w, COR_STR("version"), COR_STR(COR_VERSION));
    cor_json_end_object(&w);
    cor_json_key(&w, COR_STR("paths"));
    cor_json_begin_object(&w);
    for (size_t i = 0; i < nresources; i++) {
        if (!is_served(&resources[i]) || !cor_str_eq(version_path(&resources[i], own), path))
            continue;
        found = true;
        write_resource(&w, &resources[i]);
    }
    cor_json_end_object(&w);
    cor_json_end_object(&w);
    return found ? cor_json_writer_finish(&w) : -COR_ENOTFOUND;
}
