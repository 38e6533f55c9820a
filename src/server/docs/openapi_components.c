/* The schemas of a document: those of the types that its operations mention, and the few that no
 * table has (patches, /version, custom resources). */
#include <stdio.h>

#include "schema/custom/custom_openapi.h"
#include "server/docs/openapi_int.h"
#include "json/write/print.h"

#define PATCH_NAME "io.k8s.apimachinery.pkg.apis.meta.v1.Patch"
#define INFO_NAME  "io.k8s.apimachinery.pkg.version.Info"

/* A reference to a schema that no type of the tables has. */
static void reference_write(struct cor_openapi_doc *doc, const char *name)
{
    char ref[COR_CUSTOM_OPENAPI_NAME_MAX + 64];

    snprintf(ref, sizeof(ref), "%s%s",
             doc->version == COR_OPENAPI_3 ? "#/components/schemas/" : "#/definitions/", name);
    cor_json_key(&doc->w, COR_STR("schema"));
    cor_json_begin_object(&doc->w);
    cor_json_member(&doc->w, COR_STR("$ref"), cor_strz(ref));
    cor_json_end_object(&doc->w);
}

void cor_openapi_write_schema_of(struct cor_openapi_doc *doc, const struct cor_type *type,
                                 const struct cor_resource_row *row, struct cor_str kind)
{
    char name[COR_CUSTOM_OPENAPI_NAME_MAX];

    if (!type) {
        (void)cor_custom_openapi_name(row, kind, name, sizeof(name));
        cor_custom_openapi_add(&doc->set);
        reference_write(doc, name);
        return;
    }
    cor_openapi_add(&doc->set, type);
    cor_json_key(&doc->w, COR_STR("schema"));
    cor_openapi_write_ref(&doc->w, doc->version, type);
}

void cor_openapi_write_patch_schema(struct cor_openapi_doc *doc)
{
    doc->has_patch = true;
    reference_write(doc, PATCH_NAME);
}

void cor_openapi_write_info_schema(struct cor_openapi_doc *doc)
{
    doc->has_info = true;
    reference_write(doc, INFO_NAME);
}

static void info_schema_write(struct cor_openapi_doc *doc)
{
    struct cor_json_writer *w = &doc->w;

    /* Those that every server has come first. */
    static const char *const names[] = {"major",
                                        "minor",
                                        "gitVersion",
                                        "gitCommit",
                                        "gitTreeState",
                                        "buildDate",
                                        "goVersion",
                                        "compiler",
                                        "platform",
                                        "emulationMajor",
                                        "emulationMinor",
                                        "minCompatibilityMajor",
                                        "minCompatibilityMinor"};
    const size_t nrequired = 9;

    cor_json_print(w,
                   INFO_NAME ":{description:'The version of the server.',type:'object',required:[");
    for (size_t i = 0; i < nrequired; i++)
        cor_json_string(w, cor_strz(names[i]));
    cor_json_print(w, "],properties:{");
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        cor_json_key(w, cor_strz(names[i]));
        cor_json_begin_object(w);
        cor_json_member(w, COR_STR("type"), COR_STR("string"));
        if (doc->version == COR_OPENAPI_3 && i < nrequired)
            cor_json_member(w, COR_STR("default"), COR_STR(""));
        cor_json_end_object(w);
    }
    cor_json_end_object(w);
    cor_json_end_object(w);
}

/* The schemas of a kind that no table has, and of its list. */
static void custom_write(struct cor_openapi_doc *doc, const struct cor_resource_row *row)
{
    char name[COR_CUSTOM_OPENAPI_NAME_MAX];
    struct cor_json_writer *w = &doc->w;

    if (!cor_row_schema(row)) {
        cor_json_key(w, cor_custom_openapi_name(row, row->kind, name, sizeof(name)));
        cor_custom_openapi_write_kind(w, doc->version, row);
    }
    if (row->verbs & COR_API_VERB_BIT(LIST) &&
        !cor_type_of_kind(row->group, row->version, row->list_kind)) {
        cor_json_key(w, cor_custom_openapi_name(row, row->list_kind, name, sizeof(name)));
        cor_custom_openapi_write_list(w, doc->version, row);
    }
}

void cor_openapi_write_components(struct cor_openapi_doc *doc,
                                  const struct cor_resource_row *const *rows, size_t nrows)
{
    struct cor_json_writer *w = &doc->w;

    cor_openapi_write_schemas(w, doc->version, &doc->set);
    for (size_t i = 0; i < nrows; i++)
        custom_write(doc, rows[i]);
    if (doc->has_patch) {
        cor_json_key(w, COR_STR(PATCH_NAME));
        cor_json_raw(w, COR_STR("{\"description\":\"A patch, in the form that its Content-Type "
                                "names.\",\"type\":\"object\"}"));
    }
    if (doc->has_info)
        info_schema_write(doc);
}
