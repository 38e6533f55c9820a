/* OpenAPI from the table of resources: /openapi/v3 for kubectl and clients that ask whether a kind
 * exists, and an empty /openapi/v2, which kubectl wants to be there. Schemas know metadata only;
 * all other fields are free-form, because the table does not know them. Written when asked for.
 * Thread: any (no state). */
#include "server/docs/openapi.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "coracle/version.h"
#include "json/writer.h"

#define PATH_MAX_BYTES 256
#define TITLE          "Coracle"
#define OBJECT_META    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
#define REF            "#/components/schemas/"

/* "api/v1" or "apis/apps/v1". */
static struct cor_str version_path(const struct cor_resource_row *r, char *out)
{
    int n = snprintf(out, PATH_MAX_BYTES, "%s/%.*s", r->group.n > 0 ? "apis" : "api",
                     COR_STR_ARG(r->api_version));

    return cor_str(out, n > 0 ? (size_t)n : 0);
}

int cor_openapi_index(const struct cor_served *served, struct cor_buf *out)
{
    size_t nresources;
    const struct cor_resource_row *const *resources = cor_served_rows(served, &nresources);
    const struct cor_resource_row *last = NULL;
    char path[PATH_MAX_BYTES], url[PATH_MAX_BYTES + 16];
    struct cor_json_writer w;

    assert(out);
    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("paths"));
    cor_json_begin_object(&w);
    for (size_t i = 0; i < nresources; i++) {
        const struct cor_resource_row *r = resources[i];

        if (last && cor_str_eq(last->api_version, r->api_version))
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

/* A length-delimited field; both numbers are below 128. */
static int add_field(struct cor_buf *out, unsigned number, struct cor_str value)
{
    const char head[] = {(char)(number << 3 | 2), (char)value.n};
    int r = cor_buf_add(out, head, sizeof(head));

    return r < 0 ? r : cor_buf_adds(out, value);
}

/* gnostic's message Document: swagger, info (title, version), paths. */
static int add_v2_protobuf(struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf info = {0};
    int r;

    cor_buf_init(&info, 127);
    r = add_field(&info, 1, COR_STR(TITLE));
    if (r == 0)
        r = add_field(&info, 2, COR_STR(COR_VERSION));
    if (r == 0)
        r = add_field(out, 1, COR_STR("2.0"));
    if (r == 0)
        r = add_field(out, 2, cor_buf_str(&info));
    return r < 0 ? r : add_field(out, 8, COR_STR(""));
}

static void write_info(struct cor_json_writer *w)
{
    cor_json_key(w, COR_STR("info"));
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("title"), COR_STR(TITLE));
    cor_json_member(w, COR_STR("version"), COR_STR(COR_VERSION));
    cor_json_end_object(w);
}

int cor_openapi_v2(bool as_protobuf, struct cor_buf *out)
{
    struct cor_json_writer w;

    if (as_protobuf)
        return add_v2_protobuf(out);
    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("swagger"), COR_STR("2.0"));
    write_info(&w);
    cor_json_key(&w, COR_STR("paths"));
    cor_json_begin_object(&w);
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

static void write_gvk(struct cor_json_writer *w, const struct cor_resource_row *r)
{
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("group"), r->group);
    cor_json_member(w, COR_STR("version"), r->version);
    cor_json_member(w, COR_STR("kind"), r->kind);
    cor_json_end_object(w);
}

static void write_patch(struct cor_json_writer *w, const struct cor_resource_row *r)
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
    write_gvk(w, r);
    cor_json_end_object(w);
}

static void write_resource(struct cor_json_writer *w, const struct cor_resource_row *r)
{
    char prefix[PATH_MAX_BYTES], path[2 * PATH_MAX_BYTES];

    if (!(r->verbs & COR_VERB_BIT(PATCH)))
        return;
    (void)version_path(r, prefix);
    snprintf(path, sizeof(path), "/%s/%s%.*s/{name}", prefix,
             cor_api_is_namespaced(r) ? "namespaces/{namespace}/" : "", COR_STR_ARG(r->plural));
    cor_json_key(w, cor_strz(path));
    cor_json_begin_object(w);
    cor_json_key(w, COR_STR("patch"));
    write_patch(w, r);
    cor_json_end_object(w);
}

/* "io.k8s.api.apps.v1.Deployment", as Kubernetes calls it. */
static struct cor_str schema_name(const struct cor_resource_row *r, char *out)
{
    struct cor_str rest = r->group, group = cor_str_cut(&rest, '.');
    int n = snprintf(out, PATH_MAX_BYTES, "io.k8s.api.%.*s.%.*s.%.*s",
                     COR_STR_ARG(group.n > 0 ? group : COR_STR("core")), COR_STR_ARG(r->version),
                     COR_STR_ARG(r->kind));

    return cor_str(out, n > 0 ? (size_t)n : 0);
}

/* A property, or what begins a schema: its type and what it is. Left open. */
static void begin_schema(struct cor_json_writer *w, const char *type, const char *description)
{
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("description"), cor_strz(description));
    cor_json_member(w, COR_STR("type"), cor_strz(type));
}

static void write_property(struct cor_json_writer *w, const char *name, const char *type,
                           const char *description)
{
    cor_json_key(w, cor_strz(name));
    begin_schema(w, type, description);
    cor_json_end_object(w);
}

static void write_free_form(struct cor_json_writer *w, const char *name, const char *description)
{
    cor_json_key(w, cor_strz(name));
    begin_schema(w, "object", description);
    cor_json_key(w, COR_STR("x-kubernetes-preserve-unknown-fields"));
    cor_json_bool(w, true);
    cor_json_end_object(w);
}

static void write_of(struct cor_json_writer *w, const char *name, const char *type,
                     const char *member, const char *element, const char *description)
{
    cor_json_key(w, cor_strz(name));
    begin_schema(w, type, description);
    cor_json_key(w, cor_strz(member));
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("type"), cor_strz(element));
    cor_json_end_object(w);
    cor_json_end_object(w);
}

static void write_object_meta(struct cor_json_writer *w)
{
    static const struct {
        const char *name, *type, *description;
    } fields[] = {
        {"creationTimestamp", "string", "When the server created the object; set by the server."},
        {"deletionGracePeriodSeconds", "integer", "How long the object may take to go."},
        {"deletionTimestamp", "string", "When the object is to be gone; set by a deletion."},
        {"generateName", "string", "What a name made by the server begins with."},
        {"generation", "integer", "Counts the changes of the desired state; set by the server."},
        {"name", "string", "Unique among the objects of its kind and namespace."},
        {"namespace", "string", "The space within which the name is unique."},
        {"resourceVersion", "string", "Names this state of the object; opaque; set by the server."},
        {"uid", "string", "Unique in time and space; set by the server."},
    };

    cor_json_key(w, COR_STR(OBJECT_META));
    begin_schema(w, "object", "What all objects have: names, labels, times and owners.");
    cor_json_key(w, COR_STR("properties"));
    cor_json_begin_object(w);
    for (size_t i = 0; i < COR_ARRAY_LEN(fields); i++)
        write_property(w, fields[i].name, fields[i].type, fields[i].description);
    write_of(w, "annotations", "object", "additionalProperties", "string",
             "Texts that tools keep with the object; nothing selects by them.");
    write_of(w, "finalizers", "array", "items", "string",
             "Who has to agree before the object goes.");
    write_of(w, "labels", "object", "additionalProperties", "string",
             "Keys and values that selectors match.");
    write_of(w, "managedFields", "array", "items", "object", "Who set which fields.");
    write_of(w, "ownerReferences", "array", "items", "object", "The objects that this one is for.");
    cor_json_end_object(w);
    cor_json_end_object(w);
}

/* What is common to all kinds: nothing here knows the others' fields, and they are kept as sent. */
static void write_schema(struct cor_json_writer *w, const struct cor_resource_row *r)
{
    char name[PATH_MAX_BYTES];

    cor_json_key(w, schema_name(r, name));
    begin_schema(w, "object",
                 "Fields that are not listed here are kept as they are sent. "
                 "The Kubernetes API reference describes them.");
    cor_json_key(w, COR_STR("properties"));
    cor_json_begin_object(w);
    write_property(w, "apiVersion", "string", "The group and version of this form of the object.");
    write_property(w, "kind", "string", "What the object is.");
    cor_json_key(w, COR_STR("metadata"));
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("$ref"), COR_STR(REF OBJECT_META));
    cor_json_end_object(w);
    if (cor_api_has_part(r, COR_PART_STATUS)) {
        write_free_form(w, "spec", "The desired state.");
        write_free_form(w, "status", "The observed state; written to the status subresource.");
    }
    cor_json_end_object(w);
    cor_json_key(w, COR_STR("x-kubernetes-group-version-kind"));
    cor_json_begin_array(w);
    write_gvk(w, r);
    cor_json_end_array(w);
    cor_json_key(w, COR_STR("x-kubernetes-preserve-unknown-fields"));
    cor_json_bool(w, true);
    cor_json_end_object(w);
}

static void write_components(struct cor_json_writer *w,
                             const struct cor_resource_row *const *resources, size_t nresources,
                             struct cor_str path)
{
    char own[PATH_MAX_BYTES];

    cor_json_key(w, COR_STR("components"));
    cor_json_begin_object(w);
    cor_json_key(w, COR_STR("schemas"));
    cor_json_begin_object(w);
    for (size_t i = 0; i < nresources; i++) {
        if (cor_str_eq(version_path(resources[i], own), path))
            write_schema(w, resources[i]);
    }
    write_object_meta(w);
    cor_json_end_object(w);
    cor_json_end_object(w);
}

int cor_openapi_version(const struct cor_served *served, struct cor_str path, struct cor_buf *out)
{
    size_t nresources;
    const struct cor_resource_row *const *resources = cor_served_rows(served, &nresources);
    char own[PATH_MAX_BYTES];
    struct cor_json_writer w;
    bool found = false;

    assert(out);
    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("openapi"), COR_STR("3.0.0"));
    write_info(&w);
    cor_json_key(&w, COR_STR("paths"));
    cor_json_begin_object(&w);
    for (size_t i = 0; i < nresources; i++) {
        if (!cor_str_eq(version_path(resources[i], own), path))
            continue;
        found = true;
        write_resource(&w, resources[i]);
    }
    cor_json_end_object(&w);
    write_components(&w, resources, nresources, path);
    cor_json_end_object(&w);
    return found ? cor_json_writer_finish(&w) : -COR_ENOTFOUND;
}
