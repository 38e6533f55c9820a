/* Tables for kubectl: the definitions of columns, and rows with their cells and the object or its
 * metadata, as includeObject asks. What is in the cells is made by schema/print/cells.c.
 * Thread: any (no state). */
#include "server/docs/table.h"

#include <assert.h>

#include "base/err.h"
#include "schema/print/cells.h"
#include "schema/print/custom_columns.h"

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

static void column_write(struct cor_json_writer *w, const struct cor_column *column)
{
    if (column->flags & COR_COLUMN_UNNAMED)
        return;
    cor_json_begin_object(w);
    cor_json_member(w, COR_STR("name"), cor_column_name(column));
    cor_json_member(w, COR_STR("type"), cor_column_type_name(column));
    cor_json_member(w, COR_STR("format"),
                    column->flags & COR_COLUMN_NAME ? COR_STR("name") : COR_STR(""));
    cor_json_member(w, COR_STR("description"), cor_column_words(column));
    cor_json_key(w, COR_STR("priority"));
    cor_json_i64(w, column->flags & COR_COLUMN_WIDE ? 1 : 0);
    cor_json_end_object(w);
}

void cor_table_columns(struct cor_json_writer *w, const struct cor_table_columns *columns)
{
    cor_json_begin_array(w);
    if (columns->custom) {
        column_write(w, cor_column_of_name());
        cor_custom_columns_write(w, columns->custom);
    }
    for (size_t i = 0; i < columns->ncolumns; i++)
        column_write(w, cor_column_at(columns, i));
    cor_json_end_array(w);
}

static void write_meta_version(struct cor_json_writer *w, bool is_v1beta1)
{
    cor_json_member(w, COR_STR("apiVersion"),
                    is_v1beta1 ? COR_STR("meta.k8s.io/v1beta1") : COR_STR("meta.k8s.io/v1"));
}

void cor_table_row(struct cor_json_writer *w, const struct cor_table_opts *opts,
                   const struct cor_object *object, const struct cor_object *shown)
{
    struct cor_cells cells;

    assert(opts->columns && object && shown);
    cor_cells_init(&cells, w, cor_object_json(opts->shows_cells ? shown : object), opts->now_us);
    cells.work = opts->work;
    cor_json_begin_object(w);
    cor_json_key(w, COR_STR("cells"));
    cor_cells_write(&cells, opts->columns);
    cor_cells_write_conditions(&cells, opts->columns);
    cor_json_key(w, COR_STR("object"));
    switch (opts->include) {
    case COR_TABLE_METADATA:
        cor_json_begin_object(w);
        cor_json_member(w, COR_STR("kind"), COR_STR("PartialObjectMetadata"));
        write_meta_version(w, opts->is_v1beta1);
        cor_json_key(w, COR_STR("metadata"));
        cor_json_raw(w, cells.metadata);
        cor_json_end_object(w);
        break;
    case COR_TABLE_OBJECT:
        cor_json_raw(w, cor_object_json(shown));
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
                         const struct cor_object *object, const struct cor_object *shown)
{
    assert(opts->columns && object && shown);
    cor_json_begin_object(w);
    cor_table_type(w, opts->is_v1beta1);
    cor_json_key(w, COR_STR("metadata"));
    cor_json_begin_object(w);
    if (object->rev > 0)
        cor_json_member(w, COR_STR("resourceVersion"), cor_object_resource_version(object));
    cor_json_end_object(w);
    cor_json_key(w, COR_STR("columnDefinitions"));
    if (opts->has_columns || opts->columns->has_always)
        cor_table_columns(w, opts->columns);
    else
        cor_json_null(w);
    cor_json_key(w, COR_STR("rows"));
    cor_json_begin_array(w);
    cor_table_row(w, opts, object, shown);
    cor_json_end_array(w);
    cor_json_end_object(w);
}
