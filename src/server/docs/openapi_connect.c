/* The operations of subresources that connect the client with a node: log, exec, attach,
 * portforward and proxy.
 *
 * Such an operation has no body, and its answer is a stream of bytes, which OpenAPI calls a string.
 * Its query has the members of a kind of options (PodExecOptions for exec) that are plain values;
 * these come from the tables of types. All methods of a path have the same parameters, so that all
 * of them are written at the path.
 *
 * A log is read like an object: its operation has the action, the name and the kind of a GET.
 *
 * Failures are those of the writer, which reports the first one at the end. */
#include <assert.h>
#include <stdio.h>

#include "server/docs/openapi_int.h"
#include "json/write/print.h"

#define PATH_MAX_BYTES 1024
#define BIT(id)        (UINT32_C(1) << COR_OPENAPI_PARAMETER_##id)

/* In the order of their names. A proxy forwards all of them; of the others only those are there
 * whose verb the subresource has. */
static const struct connect_method {
    const char *name, *title;
    enum cor_api_verb verb; /* COR_API_VERB_NONE: only a proxy has the method */
} methods[] = {
    {"delete", "Delete", COR_API_VERB_DELETE}, {"get", "Get", COR_API_VERB_GET},
    {"head", "Head", COR_API_VERB_NONE},       {"options", "Options", COR_API_VERB_NONE},
    {"patch", "Patch", COR_API_VERB_PATCH},    {"post", "Post", COR_API_VERB_CREATE},
    {"put", "Put", COR_API_VERB_UPDATE},
};

/* The forms of an answer. */
static const char *const log_forms[] = {"text/plain", "application/json", "application/yaml",
                                        "application/vnd.kubernetes.protobuf"};
static const char *const stream_forms[] = {"*/*"};

static bool connect_has_method(const struct cor_api_subresource *sub,
                               const struct connect_method *method)
{
    return method->verb == COR_API_VERB_NONE ? sub->takes_path : sub->verbs >> method->verb & 1;
}

/* The kind whose members the query has. */
static const struct cor_type *connect_options(const struct cor_resource_row *row,
                                              const struct cor_api_subresource *sub)
{
    const char *kind = sub->options ? sub->options : sub->kind;
    const struct cor_type *type = cor_type_of_kind(row->group, row->version, cor_strz(kind));

    assert(type);
    return type;
}

static void texts_write(struct cor_json_writer *w, struct cor_str key, const char *const *texts,
                        size_t n)
{
    cor_json_key(w, key);
    cor_json_begin_array(w);
    for (size_t i = 0; i < n; i++)
        cor_json_string(w, cor_strz(texts[i]));
    cor_json_end_array(w);
}

static void connect_responses_write(struct cor_openapi_doc *doc, const char *const *forms,
                                    size_t nforms)
{
    struct cor_str schema = COR_STR("{\"type\":\"string\"}");
    struct cor_json_writer *w = &doc->w;

    cor_json_key(w, COR_STR("responses"));
    cor_json_begin_object(w);
    cor_openapi_begin_response(doc, "200", "OK");
    if (doc->version == COR_OPENAPI_2) {
        cor_json_key(w, COR_STR("schema"));
        cor_json_raw(w, schema);
    } else {
        cor_json_key(w, COR_STR("content"));
        cor_json_begin_object(w);
        for (size_t i = 0; i < nforms; i++) {
            cor_json_key(w, cor_strz(forms[i]));
            cor_json_print(w, "{schema:%j}", schema);
        }
        cor_json_end_object(w);
    }
    cor_json_end_object(w);
    cor_openapi_write_unauthorized(doc);
    cor_json_end_object(w);
}

static void connect_operation_write(struct cor_openapi_doc *doc, const struct cor_resource_row *row,
                                    const struct cor_api_subresource *sub,
                                    const struct connect_method *method, bool with_path)
{
    bool is_log = sub->connect == COR_CONNECT_LOG;
    const char *const *forms = is_log ? log_forms : stream_forms;
    size_t nforms = is_log ? COR_ARRAY_LEN(log_forms) : COR_ARRAY_LEN(stream_forms);
    struct cor_str kind = is_log ? row->kind : cor_strz(sub->kind);
    struct cor_json_writer *w = &doc->w;
    char words[128];

    cor_json_key(w, cor_strz(method->name));
    cor_json_begin_object(w);
    snprintf(words, sizeof(words),
             is_log ? "Reads the %s of a %.*s." : "Connects to the %s of a %.*s.", sub->name,
             COR_STR_ARG(row->kind));
    cor_json_member(w, COR_STR("description"), cor_strz(words));
    if (doc->version == COR_OPENAPI_2) {
        texts_write(w, COR_STR("consumes"), stream_forms, COR_ARRAY_LEN(stream_forms));
        texts_write(w, COR_STR("produces"), forms, nforms);
        cor_json_key(w, COR_STR("schemes"));
        cor_json_raw(w, COR_STR("[\"https\"]"));
    }
    cor_openapi_write_tag(doc, row->group, row->version);
    cor_openapi_write_operation_id(
        doc, &(struct cor_openapi_id){.row = row,
                                      .sub = sub,
                                      .verb = is_log ? "read" : "connect",
                                      .infix = is_log ? "" : method->title,
                                      .suffix = with_path ? "WithPath" : "",
                                      .in_namespace = cor_api_is_namespaced(row)});
    connect_responses_write(doc, forms, nforms);
    cor_json_member(w, COR_STR("x-kubernetes-action"),
                    is_log ? COR_STR("get") : COR_STR("connect"));
    cor_json_key(w, COR_STR("x-kubernetes-group-version-kind"));
    cor_openapi_write_kind(w, row->group, kind, row->version);
    cor_json_end_object(w);
}

/* Structs, and scalars with a schema of their own (the sinceTime of a log), are not parameters, as
 * upstream has it. A list is a parameter that may be repeated, and has the type of its elements. */
static void connect_parameters_write(struct cor_openapi_doc *doc,
                                     const struct cor_resource_row *row,
                                     const struct cor_api_subresource *sub, bool with_path)
{
    const struct cor_type *options = connect_options(row, sub);
    uint32_t bits = BIT(NAME);

    if (cor_api_is_namespaced(row))
        bits |= BIT(NAMESPACE);
    if (sub->connect == COR_CONNECT_LOG)
        bits |= BIT(PRETTY);
    cor_json_key(&doc->w, COR_STR("parameters"));
    cor_json_begin_array(&doc->w);
    cor_openapi_write_bits(doc, bits);
    if (with_path)
        cor_openapi_write_parameter(doc, COR_STR("path"), true, "string",
                                    COR_STR("The path that the request is forwarded to."));
    for (size_t i = 0; i < cor_type_nmembers(options); i++) {
        const struct cor_type *type;
        struct cor_member member;

        cor_type_member(options, i, &member);
        type = cor_type_field_type(member.field);
        if (cor_type_shape(type) == COR_SHAPE_LIST)
            type = cor_type_element(type);
        /* The inlined members are apiVersion and kind. */
        if (!member.via[0] && cor_openapi_scalar(type))
            cor_openapi_write_parameter(doc, cor_type_field_name(member.field), false,
                                        cor_openapi_scalar(type),
                                        cor_type_field_words(member.field));
    }
    cor_json_end_array(&doc->w);
}

static void connect_path_write(struct cor_openapi_doc *doc, const struct cor_resource_row *row,
                               const struct cor_api_subresource *sub, const char *path,
                               bool with_path)
{
    cor_json_key(&doc->w, cor_strz(path));
    cor_json_begin_object(&doc->w);
    for (size_t i = 0; i < COR_ARRAY_LEN(methods); i++) {
        if (connect_has_method(sub, &methods[i]))
            connect_operation_write(doc, row, sub, &methods[i], with_path);
    }
    connect_parameters_write(doc, row, sub, with_path);
    cor_json_end_object(&doc->w);
}

void cor_openapi_write_connect(struct cor_openapi_doc *doc, const struct cor_resource_row *row,
                               const struct cor_api_subresource *sub, const char *path)
{
    char below[PATH_MAX_BYTES];

    assert(sub->connect != COR_CONNECT_NONE);
    connect_path_write(doc, row, sub, path, false);
    if (sub->takes_path) {
        snprintf(below, sizeof(below), "%s/{path}", path);
        connect_path_write(doc, row, sub, below, true);
    }
}
