/* The parameters of operations. Version 3 writes each where it is used; version 2 writes a
 * reference there, and all parameters of the table once, in a place of their own. The parameters
 * that only one subresource has are written where they are used in both versions. */
#include <stdio.h>

#include "server/docs/openapi_int.h"
#include "json/write/print.h"

#define TEXT_MAX 128

static const struct {
    const char *name, *type, *words;
} parameters[] = {
#define PARAMETER_ROW(id, name, type, words) {name, type, words},
    COR_OPENAPI_PARAMETERS(PARAMETER_ROW)
#undef PARAMETER_ROW
};

static void members_write(struct cor_openapi_doc *doc, struct cor_str name, bool in_path,
                          const char *type, struct cor_str words)
{
    struct cor_json_writer *w = &doc->w;

    cor_json_print(w, "name:%s,in:%s,description?:%s", name,
                   in_path ? COR_STR("path") : COR_STR("query"), words);
    if (in_path) {
        cor_json_key(w, COR_STR("required"));
        cor_json_bool(w, true);
    }
    if (doc->version == COR_OPENAPI_3) {
        cor_json_key(w, COR_STR("schema"));
        cor_json_begin_object(w);
    }
    cor_json_print(w, "type:%s,uniqueItems:true", type);
    if (doc->version == COR_OPENAPI_3)
        cor_json_end_object(w);
}

static void shared_members_write(struct cor_openapi_doc *doc, size_t id)
{
    bool in_path = id == COR_OPENAPI_PARAMETER_NAME || id == COR_OPENAPI_PARAMETER_NAMESPACE;

    members_write(doc, cor_strz(parameters[id].name), in_path, parameters[id].type,
                  cor_strz(parameters[id].words));
}

void cor_openapi_write_parameter(struct cor_openapi_doc *doc, struct cor_str name, bool in_path,
                                 const char *type, struct cor_str words)
{
    cor_json_begin_object(&doc->w);
    members_write(doc, name, in_path, type, words);
    cor_json_end_object(&doc->w);
}

/* "fieldManager", and "fieldManager-patch" for the other one of that name. */
static void parameter_key(size_t id, char *out, size_t max)
{
    snprintf(out, max, "%s%s", parameters[id].name,
             id == COR_OPENAPI_PARAMETER_PATCH_MANAGER ? "-patch" : "");
}

static void parameter_write(struct cor_openapi_doc *doc, size_t id)
{
    char key[TEXT_MAX], ref[2 * TEXT_MAX];

    cor_json_begin_object(&doc->w);
    if (doc->version == COR_OPENAPI_3) {
        shared_members_write(doc, id);
    } else {
        parameter_key(id, key, sizeof(key));
        snprintf(ref, sizeof(ref), "#/parameters/%s", key);
        cor_json_member(&doc->w, COR_STR("$ref"), cor_strz(ref));
    }
    cor_json_end_object(&doc->w);
}

void cor_openapi_write_bits(struct cor_openapi_doc *doc, uint32_t bits)
{
    for (size_t id = 0; id < COR_OPENAPI_PARAMETER_COUNT; id++) {
        if (bits >> id & 1)
            parameter_write(doc, id);
    }
}

void cor_openapi_write_parameters(struct cor_openapi_doc *doc)
{
    char key[TEXT_MAX];

    for (size_t id = 0; id < COR_OPENAPI_PARAMETER_COUNT; id++) {
        parameter_key(id, key, sizeof(key));
        cor_json_key(&doc->w, cor_strz(key));
        cor_json_begin_object(&doc->w);
        shared_members_write(doc, id);
        cor_json_end_object(&doc->w);
    }
}
