/* What Kubernetes' decoder would refuse, by partial tables of fields: metadata of every kind, and
 * the members that this server itself reads. The schema's tables will replace these. Each check
 * walks the JSON once and stops at the first mistake, in the words of Go's decoder.
 * Thread: any (pure). */
#include "schema/decode.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "meta/gvk.h"
#include "meta/time_text.h"
#include "json/json.h"
#include "json/scan.h"

#define SUMMARY_BYTES 30
#define PATH_BYTES    128
#define NO_KIND       "couldn't get version/kind; json parse error: "
#define BODY_BYTES    (3u << 20)
#define TIME_LAYOUT   "2006-01-02T15:04:05Z07:00"
#define TYPE_META                                                                                  \
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "               \
    "\"json:\\\"kind,omitempty\\\"\" }"

enum type {
    STRING,
    UID,
    OPERATION,
    INT32,
    INT64,
    BOOL,
    TIME,
    STRING_MAP,
    STRING_LIST,
    OWNERS,
    ENTRIES,
    REFERENCE,
    SCALE_SPEC,
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

static const struct field entry_fields[] = {
    {COR_STR("apiVersion"), STRING},  {COR_STR("fieldsType"), STRING},
    {COR_STR("manager"), STRING},     {COR_STR("operation"), OPERATION},
    {COR_STR("subresource"), STRING}, {COR_STR("time"), TIME},
};

static const struct field reference_fields[] = {
    {COR_STR("apiVersion"), STRING}, {COR_STR("fieldPath"), STRING},
    {COR_STR("kind"), STRING},       {COR_STR("name"), STRING},
    {COR_STR("namespace"), STRING},  {COR_STR("resourceVersion"), STRING},
    {COR_STR("uid"), UID},
};

static const struct field scale_fields[] = {
    {COR_STR("replicas"), INT32},
};

/* What verbs read of the rest, and what all clients of a ConfigMap read. */
static const struct {
    struct cor_str api_version, kind;
    struct field field;
} read_fields[] = {
    {COR_STR("v1"), COR_STR("Binding"), {COR_STR("target"), REFERENCE}},
    {COR_STR("v1"), COR_STR("ConfigMap"), {COR_STR("binaryData"), BYTES_MAP}},
    {COR_STR("v1"), COR_STR("ConfigMap"), {COR_STR("data"), STRING_MAP}},
    {COR_STR("v1"), COR_STR("Secret"), {COR_STR("data"), BYTES_MAP}},
    {COR_STR("v1"), COR_STR("Secret"), {COR_STR("stringData"), STRING_MAP}},
    {COR_STR("autoscaling/v1"), COR_STR("Scale"), {COR_STR("spec"), SCALE_SPEC}},
};

#define STRUCT(name, fields) name, fields, COR_ARRAY_LEN(fields)

static const struct type_info {
    const char *go_name;
    enum cor_json_type json;
    /* Of a struct, or of a list of structs. */
    const char *struct_name;
    const struct field *fields;
    size_t nfields;
} types[] = {
    [STRING] = {"string", COR_JSON_STRING, NULL, NULL, 0},
    [UID] = {"types.UID", COR_JSON_STRING, NULL, NULL, 0},
    [OPERATION] = {"v1.ManagedFieldsOperationType", COR_JSON_STRING, NULL, NULL, 0},
    [INT32] = {"int32", COR_JSON_NUMBER, NULL, NULL, 0},
    [INT64] = {"int64", COR_JSON_NUMBER, NULL, NULL, 0},
    [BOOL] = {"bool", COR_JSON_BOOL, NULL, NULL, 0},
    [TIME] = {"string", COR_JSON_STRING, NULL, NULL, 0},
    [STRING_MAP] = {"map[string]string", COR_JSON_OBJECT, NULL, NULL, 0},
    [STRING_LIST] = {"[]string", COR_JSON_ARRAY, NULL, NULL, 0},
    [OWNERS] = {"[]v1.OwnerReference", COR_JSON_ARRAY, STRUCT("OwnerReference", owner_fields)},
    [ENTRIES] = {"[]v1.ManagedFieldsEntry", COR_JSON_ARRAY,
                 STRUCT("ManagedFieldsEntry", entry_fields)},
    [REFERENCE] = {"v1.ObjectReference", COR_JSON_OBJECT,
                   STRUCT("ObjectReference", reference_fields)},
    [SCALE_SPEC] = {"v1.ScaleSpec", COR_JSON_OBJECT, STRUCT("ScaleSpec", scale_fields)},
    [BYTES_MAP] = {"map[string][]uint8", COR_JSON_OBJECT, NULL, NULL, 0},
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

static int check_int(struct cor_str value, const struct field *field, const char *path,
                     struct cor_buf *why)
{
    int64_t n;

    if (cor_json_to_i64(value, &n) == 0 &&
        (field->type == INT64 || (n >= INT32_MIN && n <= INT32_MAX)))
        return 0;
    (void)cor_buf_addf(
        why, "json: cannot unmarshal number %.*s into Go struct field %s.%.*s of type %s",
        COR_STR_ARG(value), path, COR_STR_ARG(field->name), types[field->type].go_name);
    return -COR_EINVAL;
}

static int check_time(struct cor_str value, struct cor_buf *why)
{
    struct cor_time_error error;
    struct cor_str raw = COR_STR("");
    int64_t at;

    (void)cor_json_to_raw(value, &raw);
    if (cor_micro_time_parse_why(raw, &at, &error) == 0)
        return 0;
    if (error.range)
        (void)cor_buf_addf(why, "parsing time \"%.*s\": %s out of range", COR_STR_ARG(raw),
                           error.range);
    else if (error.element)
        (void)cor_buf_addf(
            why, "parsing time \"%.*s\" as \"" TIME_LAYOUT "\": cannot parse \"%.*s\" as \"%s\"",
            COR_STR_ARG(raw), COR_STR_ARG(error.rest), error.element);
    else
        (void)cor_buf_addf(why, "parsing time \"%.*s\": extra text: \"%.*s\"", COR_STR_ARG(raw),
                           COR_STR_ARG(error.rest));
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

/* Go names the innermost struct, and then the way from the outermost one:
 * "OwnerReference.metadata.ownerReferences". */
static int check_struct(struct cor_str value, const char *path, const struct field *field,
                        struct cor_buf *why)
{
    const struct type_info *type = &types[field->type];
    const char *way = strchr(path, '.');
    char inner[PATH_BYTES];

    snprintf(inner, sizeof(inner), "%s%s.%.*s", type->struct_name, way ? way : "",
             COR_STR_ARG(field->name));
    return check_fields(value, type->fields, type->nfields, inner, why);
}

static int check_structs(struct cor_str value, const char *path, const struct field *field,
                         struct cor_buf *why)
{
    struct cor_json_iter it = cor_json_iter(value);
    int r = 0;

    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it);

        if (is_null(element))
            continue;
        if (cor_json_type(element) != COR_JSON_OBJECT)
            return mismatch(element, path, field->name, types[field->type].go_name + 2, why);
        r = check_struct(element, path, field, why);
    }
    return r;
}

static int check_field(struct cor_str value, const struct field *field, const char *path,
                       struct cor_buf *why)
{
    if (is_null(value))
        return 0;
    if (cor_json_type(value) != types[field->type].json)
        return mismatch(value, path, field->name, types[field->type].go_name, why);
    switch (field->type) {
    case INT32:
    case INT64:
        return check_int(value, field, path, why);
    case TIME:
        return check_time(value, why);
    case STRING_MAP:
    case STRING_LIST:
        return check_strings(value, path, field->name, why);
    case OWNERS:
    case ENTRIES:
        return check_structs(value, path, field, why);
    case REFERENCE:
    case SCALE_SPEC:
        return check_struct(value, path, field, why);
    case STRING:
    case UID:
    case OPERATION:
    case BOOL:
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

int cor_decode_check_object_metadata(const struct cor_object *object, struct cor_buf *why)
{
    struct cor_str metadata = cor_str_from(cor_object_json(object), object->meta_at);

    return check_fields(metadata, meta_fields, COR_ARRAY_LEN(meta_fields), "ObjectMeta.metadata",
                        why);
}

int cor_decode_check_members(struct cor_str json, enum cor_json_order order,
                             const struct cor_resource_row *resource, struct cor_buf *why)
{
    int r = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(read_fields) && r == 0; i++) {
        const struct field *field = &read_fields[i].field;
        struct cor_str value;
        char path[PATH_BYTES];

        if (!cor_str_eq(resource->api_version, read_fields[i].api_version) ||
            !cor_str_eq(resource->kind, read_fields[i].kind) ||
            cor_json_get(json, field->name, order, &value) < 0)
            continue;
        assert(resource->kind.n < sizeof(path));
        memcpy(path, resource->kind.p, resource->kind.n);
        path[resource->kind.n] = '\0';
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
    /* The decoder that looks for the kind skips numbers. */
    const struct cor_json_limits limits = {BODY_BYTES, COR_JSON_DEPTH_MAX, true};
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

int cor_decode_check_numbers(struct cor_str json, struct cor_buf *why)
{
    struct cor_str number;

    if (cor_json_find_huge(json, &number) < 0)
        return 0;
    (void)cor_buf_addf(why, "json: cannot unmarshal number %.*s into Go value of type float64",
                       COR_STR_ARG(number));
    return -COR_EINVAL;
}

struct cor_str cor_decode_package(const struct cor_resource_row *resource)
{
    struct cor_str rest = resource->group;

    return rest.n > 0 ? cor_str_cut(&rest, '.') : COR_STR("core");
}

static const struct cor_resource_row *find_kind(struct cor_str api_version, struct cor_str kind)
{
    size_t n;
    const struct cor_resource_row *builtins = cor_api_builtins(&n);

    for (size_t i = 0; i < n; i++) {
        if (cor_str_eq(builtins[i].kind, kind) && cor_str_eq(builtins[i].api_version, api_version))
            return &builtins[i];
    }
    return NULL;
}

int cor_decode_check_kind(const struct cor_resource_row *resource, struct cor_str api_version,
                          struct cor_str kind, struct cor_buf *why)
{
    struct cor_str version = api_version.n > 0 ? api_version : resource->api_version;
    struct cor_str name = kind.n > 0 ? kind : resource->kind;
    struct cor_str package = cor_decode_package(resource);
    bool is_own = cor_str_eq(name, resource->kind) && cor_str_eq(version, resource->api_version);
    const struct cor_resource_row *found = is_own ? resource : find_kind(version, name);

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
