/* Tables for kubectl: the columns Name and Age for every kind, and the object or
 * its metadata in each row as includeObject asks.
 * Thread: any (no state). */
#include "server/docs/table.h"

#include <assert.h>

#include "base/err.h"
#include "meta/object_edit.h"
#include "meta/time_text.h"
#include "json/scan.h"

#define NAME_DESCRIPTION                                                                           \
    "Name must be unique within a namespace. Is required when creating resources, although some "  \
    "resources may allow a client to request the generation of an appropriate name "               \
    "automatically. Name is primarily intended for creation idempotence and configuration "        \
    "definition. Cannot be updated. More info: "                                                   \
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
#define AGE_DESCRIPTION                                                                            \
    "CreationTimestamp is a timestamp representing the server time when this object was created. " \
    "It is not guaranteed to be set in happens-before order across separate operations. Clients "  \
    "may not set this value. It is represented in RFC3339 form and is in UTC."

int cor_table_include_parse(struct cor_str text, enum cor_table_include *ret,
                            struct cor_status *reterr_status)
{
    if (text.n == 0 || cor_str_eq(text, COR_STR("Metadata")))
        *ret = COR_TABLE_METADATA;
    else if (cor_str_eq(text, COR_STR("Object")))
        *ret = COR_TABLE_OBJECT;
    else if (cor_str_eq(text, COR_STR("None")))
        *ret = COR_TABLE_NONE;
    else
        return cor_status_bad_request(
            reterr_status,
            "Unable to convert to Table as requested: includeObject: Invalid value: \"%.*s\": must "
            "be 'Metadata', 'Object', 'None', or empty",
            COR_STR_ARG(text));
    return 0;
}

struct cor_str cor_partial_api_version(bool is_v1beta1)
{
    return is_v1beta1 ? COR_STR("meta.k8s.io/v1beta1") : COR_STR("meta.k8s.io/v1");
}

struct cor_str cor_partial_head(bool is_v1beta1)
{
#define HEAD(version)                                                                              \
    COR_STR("{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/" version            \
            "\",\"metadata\":")
    return is_v1beta1 ? HEAD("v1beta1") : HEAD("v1");
#undef HEAD
}

static void write_column(struct cor_json_writer *w, const char *name, const char *format,
                         const char *description)
{
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("name"), cor_strz(name));
    cor_json_member(w, COR_STR("type"), COR_STR("string"));
    cor_json_member(w, COR_STR("format"), cor_strz(format));
    cor_json_member(w, COR_STR("description"), cor_strz(description));
    cor_json_key(w, COR_STR("priority"));
    cor_json_i64(w, 0);
    cor_json_end_object(w);
}

void cor_table_columns(struct cor_json_writer *w, const struct cor_resource_row *resource)
{
    cor_json_begin_array(w);
    write_column(w, "Name", "name", NAME_DESCRIPTION);
    write_column(w, "Age", "", AGE_DESCRIPTION);
    cor_json_end_array(w);
}

static void write_meta_version(struct cor_json_writer *w, bool is_v1beta1)
{
    cor_json_member(w, COR_STR("apiVersion"),
                    is_v1beta1 ? COR_STR("meta.k8s.io/v1beta1") : COR_STR("meta.k8s.io/v1"));
}

static void write_age(struct cor_json_writer *w, const struct cor_object *object, int64_t now_s)
{
    struct cor_str raw;
    char text[COR_AGE_TEXT_MAX];
    int64_t created;

    if (cor_json_to_raw(cor_object_meta_member(object, COR_STR("creationTimestamp")), &raw) < 0 ||
        cor_time_parse(raw, &created) < 0)
        cor_json_string(w, COR_STR("<unknown>"));
    else
        cor_json_string(w, cor_age_print(now_s - created, text));
}

void cor_table_row(struct cor_json_writer *w, const struct cor_table_opts *opts,
                   const struct cor_object *object)
{
    assert(opts->resource && object);
    cor_json_begin_object(w);
    cor_json_key(w, COR_STR("cells"));
    cor_json_begin_array(w);
    cor_json_string(w, cor_object_name(object));
    write_age(w, object, opts->now_s);
    cor_json_end_array(w);
    cor_json_key(w, COR_STR("object"));
    switch (opts->include) {
    case COR_TABLE_METADATA:
        cor_json_begin_object(w);
        cor_json_member(w, COR_STR("kind"), COR_STR("PartialObjectMetadata"));
        write_meta_version(w, opts->is_v1beta1);
        cor_json_key(w, COR_STR("metadata"));
        cor_json_raw(w, cor_object_metadata(object));
        cor_json_end_object(w);
        break;
    case COR_TABLE_OBJECT:
        cor_json_raw(w, cor_object_json(object));
        break;
    case COR_TABLE_NONE:
        cor_json_null(w);
        break;
    }
    cor_json_end_object(w);
}

void cor_table_type(struct cor_json_writer *w, bool is_v1beta1)
{
    cor_json_member(w, COR_STR("kind"), COR_STR("Table"));
    write_meta_version(w, is_v1beta1);
}

void cor_table_of_object(struct cor_json_writer *w, const struct cor_table_opts *opts,
                         const struct cor_object *object)
{
    assert(opts->resource && object);
    cor_json_begin_object(w);
    cor_table_type(w, opts->is_v1beta1);
    cor_json_key(w, COR_STR("metadata"));
    cor_json_begin_object(w);
    if (object->rev > 0)
        cor_json_member(w, COR_STR("resourceVersion"), cor_object_resource_version(object));
    cor_json_end_object(w);
    cor_json_key(w, COR_STR("columnDefinitions"));
    if (opts->has_columns)
        cor_table_columns(w, opts->resource);
    else
        cor_json_null(w);
    cor_json_key(w, COR_STR("rows"));
    cor_json_begin_array(w);
    cor_table_row(w, opts, object);
    cor_json_end_array(w);
    cor_json_end_object(w);
}
