/* clang-format off */
/* From OpenAPI version 2 to version 3, as upstream's converter does it:
 *
 *   definitions            components.schemas; references follow
 *   a reference that has   {"allOf": [the reference], the siblings}
 *   siblings
 *   a body                 the operation's requestBody, once for each type that it consumes
 *   other parameters       type, format and uniqueItems become the parameter's schema
 *   a response's schema    its content, once for each type that the operation produces
 *   securityDefinitions    components.securitySchemes
 *
 * Where upstream's result has references to nothing, this one is whole: parameters that operations
 * refer to are written in place, a body that is at the path belongs to each of its operations, and
 * references inside allOf are converted, too.
 *
 * The input was checked (openapi_parse.h): members have their types, and references lead somewhere.
 * Failures: no memory, or no room in the buffer; the writer keeps the first, and the walk over
 * schemas ends. */
/* clang-format on */
#include "server/aggregation/openapi_convert.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "server/docs/openapi_spec.h"
#include "json/text/scan.h"
#include "json/write/print.h"

/* Types that one operation consumes or produces; upstream's have five. More are left out, because a
 * schema is written once for each. */
#define TYPES_MAX 16

/* A parameter of the document that operations refer to. It is converted with the first reference,
 * because its length times the number of references is not bounded by that of the document. */
struct shared {
    bool is_known, is_body;
    size_t at, n; /* of one that is not a body: in converter.texts */
};

struct converter {
    struct cor_openapi_spec spec;
    struct cor_json_writer w;
    struct shared *shared; /* of each parameter of the document */
    struct cor_buf texts;
};

/* The member of an object; COR_JSON_NO_NODE: it has none, or it is null. */
static uint32_t child(const struct converter *c, uint32_t object, const char *key)
{
    const struct cor_json_nodes *nodes = &c->spec.nodes;

    if (object == COR_JSON_NO_NODE || cor_json_node_first(nodes, object) != '{')
        return COR_JSON_NO_NODE;
    for (uint32_t i = object + 1; i < nodes->v[object].end; i = cor_json_node_next(nodes, i + 1)) {
        if (cor_str_eqz(cor_json_node_raw(nodes, i), key))
            return cor_json_node_first(nodes, i + 1) == 'n' ? COR_JSON_NO_NODE : i + 1;
    }
    return COR_JSON_NO_NODE;
}

static void copy(struct converter *c, struct cor_str key, uint32_t value)
{
    cor_json_raw_key(&c->w, key);
    cor_json_raw(&c->w, cor_json_node_bytes(&c->spec.nodes, value));
}

static void copy_child(struct converter *c, uint32_t object, const char *key)
{
    uint32_t value = child(c, object, key);

    if (value != COR_JSON_NO_NODE)
        copy(c, cor_strz(key), value);
}

static void copy_extensions(struct converter *c, uint32_t object)
{
    const struct cor_json_nodes *nodes = &c->spec.nodes;

    for (uint32_t i = object + 1; i < nodes->v[object].end; i = cor_json_node_next(nodes, i + 1)) {
        if (cor_str_starts(cor_json_node_raw(nodes, i), COR_STR("x-")))
            copy(c, cor_json_node_raw(nodes, i), i + 1);
    }
}

/* {"$ref": …} */
static void write_ref(struct converter *c, uint32_t ref)
{
    static const struct cor_str prefix = COR_STR(COR_OPENAPI_DEFINITION_PREFIX);
    struct cor_str raw = cor_json_node_raw(&c->spec.nodes, ref);

    cor_json_key(&c->w, COR_STR("$ref"));
    cor_json_begin_string(&c->w);
    if (cor_str_starts(raw, prefix)) {
        cor_json_add_text(&c->w, COR_STR("#/components/schemas/"));
        raw = cor_str_from(raw, prefix.n);
    }
    cor_json_add_raw_text(&c->w, raw);
    cor_json_end_string(&c->w);
}

static void write_schema(struct converter *c, uint32_t schema);

static void write_schemas(struct converter *c, uint32_t node)
{
    const struct cor_json_nodes *nodes = &c->spec.nodes;
    bool is_array = cor_json_node_first(nodes, node) == '[';

    if (!is_array && cor_json_node_first(nodes, node) != '{') {
        cor_json_raw(&c->w, cor_json_node_bytes(nodes, node));
        return;
    }
    if (is_array)
        cor_json_begin_array(&c->w);
    else
        cor_json_begin_object(&c->w);
    for (uint32_t i = node + 1; i < nodes->v[node].end; i = cor_json_node_next(nodes, i)) {
        if (!is_array)
            cor_json_raw_key(&c->w, cor_json_node_raw(nodes, i++));
        write_schema(c, i);
    }
    if (is_array)
        cor_json_end_array(&c->w);
    else
        cor_json_end_object(&c->w);
}

/* A member of a schema, except for its reference. */
static void write_schema_member(struct converter *c, struct cor_str key, uint32_t value)
{
    static const char *const maps[] = {"properties", "patternProperties", "allOf", "anyOf",
                                       "oneOf"};
    static const char *const schemas[] = {"items", "additionalProperties", "additionalItems",
                                          "not"};
    char first = cor_json_node_first(&c->spec.nodes, value);

    for (size_t i = 0; i < COR_ARRAY_LEN(maps); i++) {
        if (cor_str_eqz(key, maps[i])) {
            cor_json_raw_key(&c->w, key);
            write_schemas(c, value);
            return;
        }
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(schemas); i++) {
        if (cor_str_eqz(key, schemas[i]) && (first == '{' || first == '[')) {
            cor_json_raw_key(&c->w, key);
            if (first == '[')
                write_schemas(c, value);
            else
                write_schema(c, value);
            return;
        }
    }
    copy(c, key, value);
}

static void write_schema(struct converter *c, uint32_t schema)
{
    const struct cor_json_nodes *nodes = &c->spec.nodes;
    uint32_t ref = child(c, schema, "$ref");
    bool is_wrapped;

    if (c->w.error < 0)
        return;
    if (cor_json_node_first(nodes, schema) != '{') {
        cor_json_raw(&c->w, cor_json_node_bytes(nodes, schema));
        return;
    }
    if (ref != COR_JSON_NO_NODE && cor_json_node_first(nodes, ref) != '"')
        ref = COR_JSON_NO_NODE;
    is_wrapped = ref != COR_JSON_NO_NODE && nodes->v[schema].end > schema + 3;
    cor_json_begin_object(&c->w);
    if (is_wrapped) {
        cor_json_print(&c->w, "allOf:[{");
    }
    if (ref != COR_JSON_NO_NODE)
        write_ref(c, ref);
    if (is_wrapped) {
        cor_json_end_object(&c->w);
        cor_json_end_array(&c->w);
    }
    for (uint32_t i = schema + 1; i < nodes->v[schema].end; i = cor_json_node_next(nodes, i + 1)) {
        struct cor_str key = cor_json_node_raw(nodes, i);

        if (i + 1 != ref && !(is_wrapped && cor_str_eq(key, COR_STR("allOf"))))
            write_schema_member(c, key, i + 1);
    }
    cor_json_end_object(&c->w);
}

static bool is_body(const struct converter *c, uint32_t parameter)
{
    uint32_t in = child(c, parameter, "in");

    return in != COR_JSON_NO_NODE && child(c, parameter, "schema") != COR_JSON_NO_NODE &&
           cor_str_eq(cor_json_node_raw(&c->spec.nodes, in), COR_STR("body"));
}

static void write_parameter(struct converter *c, uint32_t parameter)
{
    static const char *const copied[] = {"name", "in", "description", "required",
                                         "allowEmptyValue"};
    static const char *const simple[] = {"type", "format", "uniqueItems"};
    uint32_t schema = child(c, parameter, "schema");

    cor_json_begin_object(&c->w);
    for (size_t i = 0; i < COR_ARRAY_LEN(copied); i++)
        copy_child(c, parameter, copied[i]);
    cor_json_key(&c->w, COR_STR("schema"));
    if (schema != COR_JSON_NO_NODE) {
        write_schema(c, schema);
    } else {
        cor_json_begin_object(&c->w);
        for (size_t i = 0; i < COR_ARRAY_LEN(simple); i++)
            copy_child(c, parameter, simple[i]);
        cor_json_end_object(&c->w);
    }
    copy_extensions(c, parameter);
    cor_json_end_object(&c->w);
}

/* The shared parameter that is here; NULL: it is not a reference. */
static const struct cor_openapi_member *referred_parameter(const struct converter *c,
                                                           uint32_t parameter)
{
    uint32_t ref = child(c, parameter, "$ref");

    if (ref == COR_JSON_NO_NODE || !cor_str_starts(cor_json_node_raw(&c->spec.nodes, ref),
                                                   COR_STR(COR_OPENAPI_PARAMETER_PREFIX)))
        return NULL;
    return cor_openapi_referred(&c->spec, ref);
}

static const struct shared *shared_parameter(struct converter *c,
                                             const struct cor_openapi_member *m)
{
    struct shared *shared = &c->shared[m - c->spec.parameters.v];
    struct cor_json_writer outer = c->w;

    if (shared->is_known)
        return shared;
    shared->is_known = true;
    shared->is_body = is_body(c, m->value);
    shared->at = c->texts.n;
    if (shared->is_body)
        return shared;
    cor_json_writer_init(&c->w, &c->texts);
    write_parameter(c, m->value);
    if (outer.error == 0)
        outer.error = cor_json_writer_finish(&c->w);
    c->w = outer;
    shared->n = c->texts.n - shared->at;
    return shared;
}

/* Writes the parameters that are not a body; the body is returned, COR_JSON_NO_NODE: there is none.
 */
static uint32_t write_parameters(struct converter *c, uint32_t list)
{
    const struct cor_json_nodes *nodes = &c->spec.nodes;
    uint32_t body = COR_JSON_NO_NODE;
    bool has_any = false;

    if (list == COR_JSON_NO_NODE)
        return body;
    for (uint32_t i = list + 1; c->w.error == 0 && i < nodes->v[list].end;
         i = cor_json_node_next(nodes, i)) {
        const struct cor_openapi_member *m = referred_parameter(c, i);
        const struct shared *shared = m ? shared_parameter(c, m) : NULL;

        if (shared ? shared->is_body : is_body(c, i)) {
            body = m ? m->value : i;
            continue;
        }
        if (!has_any) {
            cor_json_key(&c->w, COR_STR("parameters"));
            cor_json_begin_array(&c->w);
            has_any = true;
        }
        if (!shared)
            write_parameter(c, i);
        else if (c->w.error == 0)
            cor_json_raw(&c->w, cor_str(c->texts.p + shared->at, shared->n));
    }
    if (has_any)
        cor_json_end_array(&c->w);
    return body;
}

/* {TYPE: {"schema": …}} for each type of the list. */
static void write_content(struct converter *c, uint32_t types, uint32_t schema)
{
    const struct cor_json_nodes *nodes = &c->spec.nodes;

    if (types == COR_JSON_NO_NODE || schema == COR_JSON_NO_NODE)
        return;
    cor_json_key(&c->w, COR_STR("content"));
    cor_json_begin_object(&c->w);
    for (uint32_t i = types + 1, n = 0; n < TYPES_MAX && i < nodes->v[types].end;
         i = cor_json_node_next(nodes, i), n++) {
        bool is_repeated = false;

        for (uint32_t j = types + 1; j < i && !is_repeated; j = cor_json_node_next(nodes, j))
            is_repeated = cor_str_eq(cor_json_node_raw(nodes, i), cor_json_node_raw(nodes, j));
        if (is_repeated)
            continue;
        cor_json_raw_key(&c->w, cor_json_node_raw(nodes, i));
        cor_json_begin_object(&c->w);
        cor_json_key(&c->w, COR_STR("schema"));
        write_schema(c, schema);
        cor_json_end_object(&c->w);
    }
    cor_json_end_object(&c->w);
}

static void write_responses(struct converter *c, uint32_t responses, uint32_t produces)
{
    const struct cor_json_nodes *nodes = &c->spec.nodes;

    if (responses == COR_JSON_NO_NODE)
        return;
    cor_json_key(&c->w, COR_STR("responses"));
    cor_json_begin_object(&c->w);
    for (uint32_t i = responses + 1; i < nodes->v[responses].end;
         i = cor_json_node_next(nodes, i + 1)) {
        cor_json_raw_key(&c->w, cor_json_node_raw(nodes, i));
        if (cor_json_node_first(nodes, i + 1) != '{') {
            cor_json_raw(&c->w, cor_json_node_bytes(nodes, i + 1));
            continue;
        }
        cor_json_begin_object(&c->w);
        copy_child(c, i + 1, "description");
        write_content(c, produces, child(c, i + 1, "schema"));
        copy_extensions(c, i + 1);
        cor_json_end_object(&c->w);
    }
    cor_json_end_object(&c->w);
}

static void write_operation(struct converter *c, uint32_t op, uint32_t path_body)
{
    static const char *const copied[] = {"description", "externalDocs", "tags",
                                         "summary",     "deprecated",   "operationId"};
    uint32_t body;

    cor_json_begin_object(&c->w);
    for (size_t i = 0; i < COR_ARRAY_LEN(copied); i++)
        copy_child(c, op, copied[i]);
    body = write_parameters(c, child(c, op, "parameters"));
    if (body == COR_JSON_NO_NODE)
        body = path_body;
    if (body != COR_JSON_NO_NODE) {
        cor_json_key(&c->w, COR_STR("requestBody"));
        cor_json_begin_object(&c->w);
        write_content(c, child(c, op, "consumes"), child(c, body, "schema"));
        cor_json_end_object(&c->w);
    }
    write_responses(c, child(c, op, "responses"), child(c, op, "produces"));
    copy_extensions(c, op);
    cor_json_end_object(&c->w);
}

static void write_path(struct converter *c, uint32_t path)
{
    static const char *const methods[] = {"get",     "put",  "post", "delete",
                                          "options", "head", "patch"};
    uint32_t body;

    cor_json_begin_object(&c->w);
    body = write_parameters(c, child(c, path, "parameters"));
    for (size_t i = 0; i < COR_ARRAY_LEN(methods); i++) {
        uint32_t op = child(c, path, methods[i]);

        if (op == COR_JSON_NO_NODE)
            continue;
        cor_json_key(&c->w, cor_strz(methods[i]));
        write_operation(c, op, body);
    }
    copy_extensions(c, path);
    cor_json_end_object(&c->w);
}

static void write_document(struct converter *c)
{
    cor_json_begin_object(&c->w);
    cor_json_member(&c->w, COR_STR("openapi"), COR_STR("3.0.0"));
    copy_child(c, 0, "info");
    cor_json_key(&c->w, COR_STR("paths"));
    cor_json_begin_object(&c->w);
    for (size_t i = 0; i < c->spec.paths.n; i++) {
        cor_json_raw_key(&c->w, c->spec.paths.v[i].name);
        write_path(c, c->spec.paths.v[i].value);
    }
    cor_json_print(&c->w, "},components:{schemas:{");
    for (size_t i = 0; i < c->spec.definitions.n; i++) {
        cor_json_raw_key(&c->w, c->spec.definitions.v[i].name);
        write_schema(c, c->spec.definitions.v[i].value);
    }
    cor_json_end_object(&c->w);
    if (child(c, 0, "securityDefinitions") != COR_JSON_NO_NODE)
        copy(c, COR_STR("securitySchemes"), child(c, 0, "securityDefinitions"));
    cor_json_end_object(&c->w);
    cor_json_end_object(&c->w);
}

int cor_openapi_convert(struct cor_str json, struct cor_buf *out)
{
    struct converter c = {0};
    int r = cor_openapi_spec_init(&c.spec, json);

    assert(out);
    cor_buf_init(&c.texts, out->max);
    if (r == 0) {
        c.shared = cor_calloc(c.spec.parameters.n + 1, sizeof(*c.shared));
        r = c.shared ? 0 : -COR_ENOMEM;
    }
    if (r == 0) {
        cor_json_writer_init(&c.w, out);
        write_document(&c);
        r = cor_json_writer_finish(&c.w);
    }
    cor_free(c.shared);
    cor_buf_deinit(&c.texts);
    cor_openapi_spec_deinit(&c.spec);
    return r;
}
