#include "server/decode.h"

#include <stdio.h>

#include "base/err.h"
#include "meta/gvk.h"
#include "meta/time_text.h"
#include "json/json.h"
#include "json/scan.h"

#define SUMMARY_BYTES 30
#define NO_KIND       "couldn't get version/kind; json parse error: "
#define BODY_BYTES    (3u << 20)
#define TYPE_META                                                                                  \
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "               \
    "\"json:\\\"kind,omitempty\\\"\" }"

enum type {
    STRING,
    UID,
    INT64,
    BOOL,
    TIME,
    STRING_MAP,
    STRING_LIST,
    OWNERS,
    ENTRIES,
    REFERENCE,
    BYTES_MAP
};

static const struct field {
    struct cor_str name;
    enum type type;
} meta_fields[] = {
    {COR_STR("annotations"), STRING_MAP},
    {COR_STR("creationTimestamp"), TIME},
    {COR_STR("deletionGracePeriodSeconds"), INT64},
    {COR_STR("deletionTimestamp"), TIME},
    {COR_STR("finalizers"), STRING_LIST},
    {COR_STR("generateName"), STRING},
    {COR_STR("generation"), INT64},
    {COR_STR("labels"), STRING_MAP},
    {COR_STR("managedFields"), ENTRIES},
    {COR_STR("name"), STRING},
    {COR_STR("namespace"), STRING},
    {COR_STR("ownerReferences"), OWNERS},
    {COR_STR("resourceVersion"), STRING},
    {COR_STR("selfLink"), STRING},
    {COR_STR("uid"), UID},
};

static const struct field owner_fields[] = {
    {COR_STR("apiVersion"), STRING},
    {COR_STR("kind"), STRING},
    {COR_STR("name"), STRING},
    {COR_STR("uid"), UID},
    {COR_STR("blockOwnerDeletion"), BOOL},
    {COR_STR("controller"), BOOL},
};

static const struct field reference_fields[] = {
    {COR_STR("apiVersion"), STRING}, {COR_STR("fieldPath"), STRING},
    {COR_STR("kind"), STRING},       {COR_STR("name"), STRING},
    {COR_STR("namespace"), STRING},  {COR_STR("resourceVersion"), STRING},
    {COR_STR("uid"), UID},
};

/* What verbs read of the rest, in v1. */
static const struct {
    struct cor_str kind;
    struct field field;
} read_fields[] = {
    {COR_STR("Binding"), {COR_STR("target"), REFERENCE}},
    {COR_STR("Secret"), {COR_STR("data"), BYTES_MAP}},
    {COR_STR("Secret"), {COR_STR("stringData"), STRING_MAP}},
};

static const struct {
    const char *go_name;
    enum cor_json_type json;
} types[] = {
    [STRING] = {"string", COR_JSON_STRING},
    [UID] = {"types.UID", COR_JSON_STRING},
    [INT64] = {"int64", COR_JSON_NUMBER},
    [BOOL] = {"bool", COR_JSON_BOOL},
    [TIME] = {"string", COR_JSON_STRING},
    [STRING_MAP] = {"map[string]string", COR_JSON_OBJECT},
    [STRING_LIST] = {"[]string", COR_JSON_ARRAY},
    [OWNERS] = {"[]v1.OwnerReference", COR_JSON_ARRAY},
    [ENTRIES] = {"[]v1.ManagedFieldsEntry", COR_JSON_ARRAY},
    [REFERENCE] = {"v1.ObjectReference", COR_JSON_OBJECT},
    [BYTES_MAP] = {"map[string][]uint8", COR_JSON_OBJECT},
};

static bool is_null(struct cor_str value)
{
    return cor_json_type(value) == COR_JSON_NULL || cor_json_type(value) == COR_JSON_NONE;
}

/* `path` is the struct and the way to the field: "ObjectMeta.metadata.name". */
static int mismatch(struct cor_str value, const char *path, struct cor_str field,
                    const char *go_name, struct cor_buf *why)
{
    (void)cor_buf_addf(why, "json: cannot unmarshal %s into Go struct field %s.%.*s of type %s",
                       cor_json_go_type(cor_json_type(value)), path, COR_STR_ARG(field), go_name);
    return -COR_EINVAL;
}

static int check_int(struct cor_str value, const char *path, struct cor_str field,
                     struct cor_buf *why)
{
    int64_t n;

    if (cor_json_to_i64(value, &n) == 0)
        return 0;
    (void)cor_buf_addf(
        why, "json: cannot unmarshal number %.*s into Go struct field %s.%.*s of type int64",
        COR_STR_ARG(value), path, COR_STR_ARG(field));
    return -COR_EINVAL;
}

static int check_time(struct cor_str value, struct cor_buf *why)
{
    struct cor_str raw = COR_STR("");
    int64_t at;

    if (cor_json_to_raw(value, &raw) == 0 && cor_time_parse(raw, &at) == 0)
        return 0;
    (void)cor_buf_addf(why,
                       "parsing time \"%.*s\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
                       "\"%.*s\" as \"2006\"",
                       COR_STR_ARG(raw), COR_STR_ARG(raw));
    return -COR_EINVAL;
}

/* The values of a map, or a list's elements. */
static int check_strings(struct cor_str value, const char *path, struct cor_str field,
                         struct cor_buf *why)
{
    struct cor_json_iter it = cor_json_iter(value);
    bool is_map = cor_json_type(value) == COR_JSON_OBJECT;
    struct cor_str key;

    while (is_map ? cor_json_iter_member(&it, &key) : cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it);

        if (!is_null(element) && cor_json_type(element) != COR_JSON_STRING)
            return mismatch(element, path, field, "string", why);
    }
    return 0;
}

static int check_fields(struct cor_str object, const struct field *fields, size_t n,
                        const char *path, struct cor_buf *why);

static int check_owners(struct cor_str value, const char *path, struct cor_str field,
                        struct cor_buf *why)
{
    struct cor_json_iter it = cor_json_iter(value);
    int r = 0;

    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str owner = cor_json_iter_value(&it);

        if (is_null(owner))
            continue;
        if (cor_json_type(owner) != COR_JSON_OBJECT)
            return mismatch(owner, path, field, "v1.OwnerReference", why);
        r = check_fields(owner, owner_fields, COR_ARRAY_LEN(owner_fields),
                         "OwnerReference.metadata.ownerReferences", why);
    }
    return r;
}

static int check_reference(struct cor_str value, struct cor_str field, struct cor_buf *why)
{
    char path[64];

    snprintf(path, sizeof(path), "ObjectReference.%.*s", COR_STR_ARG(field));
    return check_fields(value, reference_fields, COR_ARRAY_LEN(reference_fields), path, why);
}

static int check_field(struct cor_str value, const struct field *field, const char *path,
                       struct cor_buf *why)
{
    if (is_null(value))
        return 0;
    if (cor_json_type(value) != types[field->type].json)
        return mismatch(value, path, field->name, types[field->type].go_name, why);
    switch (field->type) {
    case INT64:
        return check_int(value, path, field->name, why);
    case TIME:
        return check_time(value, why);
    case STRING_MAP:
    case STRING_LIST:
        return check_strings(value, path, field->name, why);
    case OWNERS:
        return check_owners(value, path, field->name, why);
    case REFERENCE:
        return check_reference(value, field->name, why);
    case STRING:
    case UID:
    case BOOL:
    case ENTRIES:
    case BYTES_MAP:
        break;
    }
    return 0;
}

static int check_fields(struct cor_str object, const struct field *fields, size_t n,
                        const char *path, struct cor_buf *why)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_str key;
    int r = 0;

    while (r == 0 && cor_json_iter_member(&it, &key)) {
        for (size_t i = 0; i < n; i++) {
            if (cor_json_raw_eq(key, fields[i].name)) {
                r = check_field(cor_json_iter_value(&it), &fields[i], path, why);
                break;
            }
        }
    }
    return r;
}

int cor_decode_check_metadata(struct cor_str json, struct cor_str kind, struct cor_buf *why)
{
    struct cor_str metadata;

    if (cor_json_get(json, COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) < 0 ||
        is_null(metadata))
        return 0;
    if (cor_json_type(metadata) != COR_JSON_OBJECT) {
        (void)cor_buf_addf(
            why,
            "json: cannot unmarshal %s into Go struct field %.*s.metadata of type v1.ObjectMeta",
            cor_json_go_type(cor_json_type(metadata)), COR_STR_ARG(kind));
        return -COR_EINVAL;
    }
    return check_fields(metadata, meta_fields, COR_ARRAY_LEN(meta_fields), "ObjectMeta.metadata",
                        why);
}

int cor_decode_check_members(struct cor_str json, const struct cor_api_resource *resource,
                             struct cor_buf *why)
{
    int r = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(read_fields) && r == 0; i++) {
        const struct field *field = &read_fields[i].field;
        struct cor_str value;
        char path[64];

        if (!cor_str_eq(resource->api_version, COR_STR("v1")) ||
            !cor_str_eq(resource->kind, read_fields[i].kind) ||
            cor_json_get(json, field->name, COR_JSON_ANY_ORDER, &value) < 0)
            continue;
        snprintf(path, sizeof(path), "%.*s", COR_STR_ARG(resource->kind));
        r = check_field(value, field, path, why);
    }
    return r;
}

int cor_decode_check_type(struct cor_str canonical, struct cor_buf *why)
{
    struct cor_json_iter it = cor_json_iter(canonical);
    struct cor_str key, value;

    for (size_t i = 0; i < 2 && cor_json_iter_member(&it, &key); i++) {
        if (!cor_str_eq(key, COR_STR("kind")) && !cor_str_eq(key, COR_STR("apiVersion")))
            break;
        value = cor_json_iter_value(&it);
        if (is_null(value) || cor_json_type(value) == COR_JSON_STRING)
            continue;
        (void)cor_buf_addz(why, NO_KIND);
        return mismatch(value, "", key, "string", why);
    }
    return 0;
}

int cor_decode_check_bytes(struct cor_str json, struct cor_buf *why)
{
    const struct cor_json_limits limits = {BODY_BYTES, COR_JSON_DEPTH_MAX};
    struct cor_json_error error;
    bool canonical;

    (void)cor_buf_addz(why, NO_KIND);
    if (cor_json_check(json, &limits, &canonical, &error) < 0) {
        (void)cor_buf_addz(why, error.message);
        return -COR_EINVAL;
    }
    json = cor_json_first_value(json);
    if (cor_json_type(json) != COR_JSON_OBJECT) {
        (void)cor_buf_addf(why, "json: cannot unmarshal %s into Go value of type " TYPE_META,
                           cor_json_go_type(cor_json_type(json)));
        return -COR_EINVAL;
    }
    cor_buf_reset(why);
    return 0;
}

struct cor_str cor_decode_package(const struct cor_api_resource *resource)
{
    struct cor_str rest = resource->group;

    return rest.n > 0 ? cor_str_cut(&rest, '.') : COR_STR("core");
}

static const struct cor_api_resource *find_kind(struct cor_str api_version, struct cor_str kind)
{
    size_t n;
    const struct cor_api_resource *builtins = cor_api_builtins(&n);

    for (size_t i = 0; i < n; i++) {
        if (cor_str_eq(builtins[i].kind, kind) && cor_str_eq(builtins[i].api_version, api_version))
            return &builtins[i];
    }
    return NULL;
}

int cor_decode_check_kind(const struct cor_api_resource *resource, struct cor_str api_version,
                          struct cor_str kind, struct cor_buf *why)
{
    struct cor_str version = api_version.n > 0 ? api_version : resource->api_version;
    struct cor_str name = kind.n > 0 ? kind : resource->kind;
    struct cor_str package = cor_decode_package(resource);
    bool is_own = cor_str_eq(name, resource->kind) && cor_str_eq(version, resource->api_version);
    const struct cor_api_resource *found = is_own ? resource : find_kind(version, name);

    if (!found) {
        (void)cor_buf_addf(why, "no kind \"%.*s\" is registered for version \"%.*s\" " COR_SCHEME,
                           COR_STR_ARG(name), COR_STR_ARG(version));
        return -COR_EINVAL;
    }
    if (cor_str_eq(name, resource->kind))
        return 0;
    (void)cor_buf_addf(why, "converting (%.*s.%.*s) to (%.*s.%.*s): unknown conversion",
                       COR_STR_ARG(found->version), COR_STR_ARG(name), COR_STR_ARG(package),
                       COR_STR_ARG(resource->kind));
    return -COR_EINVAL;
}

int cor_decode_summary(struct cor_str body, struct cor_buf *out)
{
    bool is_text = body.n > 0 && body.p[0] == '{';
    size_t n = body.n < SUMMARY_BYTES ? body.n : SUMMARY_BYTES;
    int r = 0;

    if (body.n == 0)
        return cor_buf_addz(out, "<empty>");
    if (is_text)
        r = cor_buf_add(out, body.p, n);
    for (size_t i = 0; !is_text && i < n && r == 0; i++)
        r = cor_buf_addf(out, "%02x", (unsigned char)body.p[i]);
    return r == 0 && body.n > n ? cor_buf_addz(out, " ...") : r;
}
