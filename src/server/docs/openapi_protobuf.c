/* clang-format off */
/* From the JSON of OpenAPI documents to gnostic's messages.
 *
 * A table for each message has one row for each member that our documents have, and for those of
 * other servers' documents that readers use: its name in JSON, its number, and how its value is
 * written. Members that begin with "x-" are vendor extensions, whose values are YAML, and JSON is
 * YAML. Members without a row are left out, and so are those that are null.
 *
 *   message_write       the members of an object, by the table of its message
 *     row_write         one member
 *       entries_write   an object of named values: {name, value} messages
 *       elements_write  an array: a repeated field
 *
 * A few messages depend on the value (a reference or a schema, a parameter in the body or in the
 * query): they have a function in place of rows.
 *
 * A message is written behind one byte for its length. When the length needs more bytes, the
 * message moves: its bytes move once for each message around it, and these are few.
 *
 * Failures: no memory, or a value of another type than its row says, which only documents of other
 * servers have; the first one sticks in the writer. */
/* clang-format on */
#include "server/docs/openapi_protobuf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/wire.h"
#include "json/text/scan.h"

enum form {
    FORM_TEXT,
    FORM_BOOL,
    FORM_TEXTS,    /* an array of texts: a repeated field */
    FORM_MESSAGE,  /* an object */
    FORM_MESSAGES, /* an array of objects: a repeated field */
    FORM_MAP,      /* an object of named values */
    FORM_YAMLS,    /* an array of any values */
    FORM_YAML,     /* any value */
    FORM_INT,
    FORM_DOUBLE,
    FORM_SCHEMA_OR_BOOL, /* an object, or a truth under the number 2 of the message around it */
    FORM_TYPE,           /* a text or an array of texts */
    FORM_ITEMS,          /* an object or an array of objects */
};

struct message;
struct writer;

struct row {
    const char *name;
    unsigned number;
    enum form form;
    /* A message around the value, which has the value under this number; of a map: the number of
     * its entries. 0: none. */
    unsigned inner;
    unsigned value_inner;          /* the same around the values of a map */
    const struct message *message; /* of the value, or of the values of a map */
};

struct message {
    unsigned extensions; /* the number of vendor extensions; 0: it has none */
    size_t nrows;
    const struct row *rows;
    /* Writes a message whose members depend on the value; NULL: by its rows. */
    void (*write)(struct writer *w, struct cor_json_iter *it);
};

struct writer {
    struct cor_buf *out;
    int error;
};

#define ROWS(list) .nrows = COR_ARRAY_LEN(list), .rows = (list)

static void parameter_write(struct writer *w, struct cor_json_iter *it);
static void parameter_item_write(struct writer *w, struct cor_json_iter *it);
static void parameter_3_item_write(struct writer *w, struct cor_json_iter *it);
static void requirement_write(struct writer *w, struct cor_json_iter *it);
static void schema_or_reference_write(struct writer *w, struct cor_json_iter *it);
static void default_write(struct writer *w, struct cor_json_iter *it);

/* Of both versions. */
static const struct row reference_rows[] = {{"$ref", 1, FORM_TEXT}};
static const struct message reference_message = {0, ROWS(reference_rows)};

/* Version 2: openapi.v2. */
static const struct message schema_message;

static const struct row info_rows[] = {
    {"title", 1, FORM_TEXT},
    {"version", 2, FORM_TEXT},
    {"description", 3, FORM_TEXT},
    {"termsOfService", 4, FORM_TEXT},
};
static const struct message info_message = {7, ROWS(info_rows)};

static const struct row schema_rows[] = {
    {"$ref", 1, FORM_TEXT},
    {"format", 2, FORM_TEXT},
    {"title", 3, FORM_TEXT},
    {"description", 4, FORM_TEXT},
    {"default", 5, FORM_YAML},
    {"multipleOf", 6, FORM_DOUBLE},
    {"maximum", 7, FORM_DOUBLE},
    {"exclusiveMaximum", 8, FORM_BOOL},
    {"minimum", 9, FORM_DOUBLE},
    {"exclusiveMinimum", 10, FORM_BOOL},
    {"maxLength", 11, FORM_INT},
    {"minLength", 12, FORM_INT},
    {"pattern", 13, FORM_TEXT},
    {"maxItems", 14, FORM_INT},
    {"minItems", 15, FORM_INT},
    {"uniqueItems", 16, FORM_BOOL},
    {"maxProperties", 17, FORM_INT},
    {"minProperties", 18, FORM_INT},
    {"required", 19, FORM_TEXTS},
    {"enum", 20, FORM_YAMLS},
    {"additionalProperties", 21, FORM_SCHEMA_OR_BOOL, .inner = 1, .message = &schema_message},
    {"type", 22, FORM_TYPE, .inner = 1},
    {"items", 23, FORM_ITEMS, .inner = 1, .message = &schema_message},
    {"allOf", 24, FORM_MESSAGES, .message = &schema_message},
    {"properties", 25, FORM_MAP, .inner = 1, .message = &schema_message},
    {"discriminator", 26, FORM_TEXT},
    {"readOnly", 27, FORM_BOOL},
    {"example", 30, FORM_YAML},
};
static const struct message schema_message = {31, ROWS(schema_rows)};

static const struct row response_rows[] = {
    {"description", 1, FORM_TEXT},
    {"schema", 2, FORM_MESSAGE, .inner = 1, .message = &schema_message},
};
static const struct message response_message = {5, ROWS(response_rows)};

/* The kinds of parameters that are written; forms have none. */
static const struct row body_rows[] = {
    {"description", 1, FORM_TEXT},
    {"name", 2, FORM_TEXT},
    {"in", 3, FORM_TEXT},
    {"required", 4, FORM_BOOL},
    {"schema", 5, FORM_MESSAGE, .message = &schema_message},
};
static const struct message body_message = {6, ROWS(body_rows)};
static const struct row query_rows[] = {
    {"required", 1, FORM_BOOL}, {"in", 2, FORM_TEXT},       {"description", 3, FORM_TEXT},
    {"name", 4, FORM_TEXT},     {"type", 6, FORM_TEXT},     {"format", 7, FORM_TEXT},
    {"default", 10, FORM_YAML}, {"pattern", 17, FORM_TEXT}, {"uniqueItems", 20, FORM_BOOL},
    {"enum", 21, FORM_YAMLS},
};
static const struct message query_message = {23, ROWS(query_rows)};
/* Of parameters in the path and in headers. */
static const struct row in_path_rows[] = {
    {"required", 1, FORM_BOOL}, {"in", 2, FORM_TEXT},       {"description", 3, FORM_TEXT},
    {"name", 4, FORM_TEXT},     {"type", 5, FORM_TEXT},     {"format", 6, FORM_TEXT},
    {"default", 9, FORM_YAML},  {"pattern", 16, FORM_TEXT}, {"uniqueItems", 19, FORM_BOOL},
    {"enum", 20, FORM_YAMLS},
};
static const struct message in_path_message = {22, ROWS(in_path_rows)};
static const struct message parameter_message = {.write = parameter_write};
static const struct message parameter_item_message = {.write = parameter_item_write};

static const struct row operation_rows[] = {
    {"tags", 1, FORM_TEXTS},
    {"summary", 2, FORM_TEXT},
    {"description", 3, FORM_TEXT},
    {"operationId", 5, FORM_TEXT},
    {"produces", 6, FORM_TEXTS},
    {"consumes", 7, FORM_TEXTS},
    {"parameters", 8, FORM_MESSAGES, .message = &parameter_item_message},
    {"responses", 9, FORM_MAP, .inner = 1, .value_inner = 1, .message = &response_message},
    {"schemes", 10, FORM_TEXTS},
    {"deprecated", 11, FORM_BOOL},
};
static const struct message operation_message = {13, ROWS(operation_rows)};

static const struct row path_rows[] = {
    {"get", 2, FORM_MESSAGE, .message = &operation_message},
    {"put", 3, FORM_MESSAGE, .message = &operation_message},
    {"post", 4, FORM_MESSAGE, .message = &operation_message},
    {"delete", 5, FORM_MESSAGE, .message = &operation_message},
    {"options", 6, FORM_MESSAGE, .message = &operation_message},
    {"head", 7, FORM_MESSAGE, .message = &operation_message},
    {"patch", 8, FORM_MESSAGE, .message = &operation_message},
    {"parameters", 9, FORM_MESSAGES, .message = &parameter_item_message},
};
static const struct message path_message = {10, ROWS(path_rows)};

static const struct row key_rows[] = {
    {"type", 1, FORM_TEXT},
    {"name", 2, FORM_TEXT},
    {"in", 3, FORM_TEXT},
    {"description", 4, FORM_TEXT},
};
static const struct message key_message = {5, ROWS(key_rows)};
static const struct message requirement_message = {.write = requirement_write};

static const struct row document_rows[] = {
    {"swagger", 1, FORM_TEXT},
    {"info", 2, FORM_MESSAGE, .message = &info_message},
    {"host", 3, FORM_TEXT},
    {"basePath", 4, FORM_TEXT},
    {"schemes", 5, FORM_TEXTS},
    {"consumes", 6, FORM_TEXTS},
    {"produces", 7, FORM_TEXTS},
    {"paths", 8, FORM_MAP, .inner = 2, .message = &path_message},
    {"definitions", 9, FORM_MAP, .inner = 1, .message = &schema_message},
    {"parameters", 10, FORM_MAP, .inner = 1, .message = &parameter_message},
    {"security", 12, FORM_MESSAGES, .message = &requirement_message},
    {"securityDefinitions", 13, FORM_MAP, .inner = 1, .value_inner = 2, .message = &key_message},
};
static const struct message document_message = {16, ROWS(document_rows)};

/* Version 3: openapi.v3. */
static const struct message schema_or_reference = {.write = schema_or_reference_write};
static const struct message default_message = {.write = default_write};

static const struct row info_3_rows[] = {
    {"title", 1, FORM_TEXT},
    {"description", 2, FORM_TEXT},
    {"termsOfService", 3, FORM_TEXT},
    {"version", 6, FORM_TEXT},
};
static const struct message info_3_message = {7, ROWS(info_3_rows)};

static const struct message schema_3_message;

static const struct row schema_3_rows[] = {
    {"nullable", 1, FORM_BOOL},
    {"readOnly", 3, FORM_BOOL},
    {"writeOnly", 4, FORM_BOOL},
    {"example", 7, FORM_YAML},
    {"deprecated", 8, FORM_BOOL},
    {"title", 9, FORM_TEXT},
    {"multipleOf", 10, FORM_DOUBLE},
    {"maximum", 11, FORM_DOUBLE},
    {"exclusiveMaximum", 12, FORM_BOOL},
    {"minimum", 13, FORM_DOUBLE},
    {"exclusiveMinimum", 14, FORM_BOOL},
    {"maxLength", 15, FORM_INT},
    {"minLength", 16, FORM_INT},
    {"pattern", 17, FORM_TEXT},
    {"maxItems", 18, FORM_INT},
    {"minItems", 19, FORM_INT},
    {"uniqueItems", 20, FORM_BOOL},
    {"maxProperties", 21, FORM_INT},
    {"minProperties", 22, FORM_INT},
    {"required", 23, FORM_TEXTS},
    {"enum", 24, FORM_YAMLS},
    {"type", 25, FORM_TEXT},
    {"allOf", 26, FORM_MESSAGES, .message = &schema_or_reference},
    {"oneOf", 27, FORM_MESSAGES, .message = &schema_or_reference},
    {"anyOf", 28, FORM_MESSAGES, .message = &schema_or_reference},
    {"not", 29, FORM_MESSAGE, .message = &schema_3_message},
    {"items", 30, FORM_ITEMS, .inner = 1, .message = &schema_or_reference},
    {"properties", 31, FORM_MAP, .inner = 1, .message = &schema_or_reference},
    {"additionalProperties", 32, FORM_SCHEMA_OR_BOOL, .inner = 1, .message = &schema_or_reference},
    {"default", 33, FORM_MESSAGE, .message = &default_message},
    {"description", 34, FORM_TEXT},
    {"format", 35, FORM_TEXT},
};
static const struct message schema_3_message = {36, ROWS(schema_3_rows)};

static const struct row media_rows[] = {
    {"schema", 1, FORM_MESSAGE, .message = &schema_or_reference}};
static const struct message media_message = {5, ROWS(media_rows)};

static const struct row parameter_3_rows[] = {
    {"name", 1, FORM_TEXT},
    {"in", 2, FORM_TEXT},
    {"description", 3, FORM_TEXT},
    {"required", 4, FORM_BOOL},
    {"deprecated", 5, FORM_BOOL},
    {"allowEmptyValue", 6, FORM_BOOL},
    {"style", 7, FORM_TEXT},
    {"explode", 8, FORM_BOOL},
    {"schema", 10, FORM_MESSAGE, .message = &schema_or_reference},
};
static const struct message parameter_3_message = {14, ROWS(parameter_3_rows)};
static const struct message parameter_3_item = {.write = parameter_3_item_write};

static const struct row body_3_rows[] = {
    {"description", 1, FORM_TEXT},
    {"content", 2, FORM_MAP, .inner = 1, .message = &media_message},
    {"required", 3, FORM_BOOL}};
static const struct message body_3_message = {4, ROWS(body_3_rows)};

static const struct row response_3_rows[] = {
    {"description", 1, FORM_TEXT}, {"content", 3, FORM_MAP, .inner = 1, .message = &media_message}};
static const struct message response_3_message = {5, ROWS(response_3_rows)};

static const struct row operation_3_rows[] = {
    {"tags", 1, FORM_TEXTS},
    {"summary", 2, FORM_TEXT},
    {"description", 3, FORM_TEXT},
    {"operationId", 5, FORM_TEXT},
    {"parameters", 6, FORM_MESSAGES, .message = &parameter_3_item},
    {"requestBody", 7, FORM_MESSAGE, .inner = 1, .message = &body_3_message},
    {"responses", 8, FORM_MAP, .inner = 2, .value_inner = 1, .message = &response_3_message},
    {"deprecated", 10, FORM_BOOL},
};
static const struct message operation_3_message = {13, ROWS(operation_3_rows)};

static const struct row path_3_rows[] = {
    {"get", 4, FORM_MESSAGE, .message = &operation_3_message},
    {"put", 5, FORM_MESSAGE, .message = &operation_3_message},
    {"post", 6, FORM_MESSAGE, .message = &operation_3_message},
    {"delete", 7, FORM_MESSAGE, .message = &operation_3_message},
    {"options", 8, FORM_MESSAGE, .message = &operation_3_message},
    {"head", 9, FORM_MESSAGE, .message = &operation_3_message},
    {"patch", 10, FORM_MESSAGE, .message = &operation_3_message},
    {"summary", 2, FORM_TEXT},
    {"description", 3, FORM_TEXT},
    {"parameters", 13, FORM_MESSAGES, .message = &parameter_3_item},
};
static const struct message path_3_message = {14, ROWS(path_3_rows)};

static const struct row key_3_rows[] = {
    {"type", 1, FORM_TEXT},
    {"description", 2, FORM_TEXT},
    {"name", 3, FORM_TEXT},
    {"in", 4, FORM_TEXT},
};
static const struct message key_3_message = {9, ROWS(key_3_rows)};

static const struct row components_rows[] = {
    {"schemas", 1, FORM_MAP, .inner = 1, .message = &schema_or_reference},
    {"parameters", 3, FORM_MAP, .inner = 1, .message = &parameter_3_item},
    {"securitySchemes", 7, FORM_MAP, .inner = 1, .value_inner = 1, .message = &key_3_message},
};
static const struct message components_message = {10, ROWS(components_rows)};

static const struct row document_3_rows[] = {
    {"openapi", 1, FORM_TEXT},
    {"info", 2, FORM_MESSAGE, .message = &info_3_message},
    {"paths", 4, FORM_MAP, .inner = 1, .message = &path_3_message},
    {"components", 5, FORM_MESSAGE, .message = &components_message},
};
static const struct message document_3_message = {9, ROWS(document_3_rows)};

static void bytes_put(struct writer *w, const void *p, size_t n)
{
    if (w->error == 0)
        w->error = cor_buf_add(w->out, p, n);
}

/* The value has another type than its row says. */
static void value_refuse(struct writer *w)
{
    if (w->error == 0)
        w->error = -COR_EINVAL;
}

static void tag_put(struct writer *w, unsigned number, enum cor_wire_code code)
{
    char bytes[COR_WIRE_VARINT_MAX];

    bytes_put(w, bytes, cor_wire_put_tag(bytes, number, code));
}

/* Begins a length-delimited field: where its bytes begin. */
static size_t field_begin(struct writer *w, unsigned number)
{
    tag_put(w, number, COR_WIRE_LEN);
    bytes_put(w, "", 1);
    return w->out->n;
}

static void field_end(struct writer *w, size_t start)
{
    char length[COR_WIRE_VARINT_MAX];
    size_t n, more;

    if (w->error < 0)
        return;
    n = w->out->n - start;
    more = cor_wire_put_varint(length, n) - 1;
    for (size_t i = 0; i < more; i++)
        bytes_put(w, "", 1);
    if (w->error < 0)
        return;
    if (more > 0)
        memmove(w->out->p + start + more, w->out->p + start, n);
    memcpy(w->out->p + start - 1, length, more + 1);
}

/* The text of a JSON string or key, whose escapes are undone. It never grows by that. */
static void raw_text_put(struct writer *w, struct cor_str raw)
{
    struct cor_str text;

    if (w->error < 0)
        return;
    w->error = cor_buf_reserve(w->out, raw.n);
    if (w->error == 0 && cor_json_unescape(raw, w->out->p + w->out->n, raw.n, &text) == 0) {
        if (text.n > 0)
            memmove(w->out->p + w->out->n, text.p, text.n);
        w->out->n += text.n;
    }
}

/* The same of a value, with its quotes. */
static void text_put(struct writer *w, struct cor_str value)
{
    struct cor_str raw;

    if (cor_json_to_raw(value, &raw) == 0)
        raw_text_put(w, raw);
    else
        value_refuse(w);
}

static void text_write(struct writer *w, unsigned number, struct cor_str value)
{
    size_t start = field_begin(w, number);

    text_put(w, value);
    field_end(w, start);
}

/* A message Any with the value as YAML. */
static void yaml_write(struct writer *w, unsigned number, struct cor_str value)
{
    size_t any = field_begin(w, number), yaml = field_begin(w, 2);

    bytes_put(w, value.p, value.n);
    bytes_put(w, "\n", 1);
    field_end(w, yaml);
    field_end(w, any);
}

/* Refuses the value that `it` is at unless it has this type. */
static void value_expect(struct writer *w, const struct cor_json_iter *it, enum cor_json_type type)
{
    if (cor_json_type(cor_json_iter_open_value(it)) != type)
        value_refuse(w);
}

static void texts_write(struct writer *w, unsigned number, struct cor_json_iter *it)
{
    struct cor_json_iter inner = cor_json_iter(cor_json_iter_open_value(it));

    value_expect(w, it, COR_JSON_ARRAY);
    while (cor_json_iter_elem(&inner))
        text_write(w, number, cor_json_iter_value(&inner));
    cor_json_iter_leave(it, &inner);
}

static void message_write(struct writer *w, const struct message *message,
                          struct cor_json_iter *it);

/* A message under a number, with another one around it unless `around` is 0. */
static void nested_write(struct writer *w, unsigned number, unsigned around,
                         const struct message *message, struct cor_json_iter *it)
{
    size_t start = field_begin(w, number), nested = around > 0 ? field_begin(w, around) : 0;

    message_write(w, message, it);
    if (around > 0)
        field_end(w, nested);
    field_end(w, start);
}

/* A message Parameter of version 2: which of its three forms, depends on where the value comes. */
static void parameter_write(struct writer *w, struct cor_json_iter *it)
{
    struct cor_str in = {0};
    size_t start;

    (void)cor_json_get(cor_json_iter_open_value(it), COR_STR("in"), COR_JSON_FIRST, &in);
    if (cor_str_eq(in, COR_STR("\"body\""))) {
        nested_write(w, 1, 0, &body_message, it);
        return;
    }
    start = field_begin(w, 2);
    if (cor_str_eq(in, COR_STR("\"header\"")))
        nested_write(w, 1, 0, &in_path_message, it);
    else if (cor_str_eq(in, COR_STR("\"path\"")))
        nested_write(w, 4, 0, &in_path_message, it);
    else
        nested_write(w, 3, 0, &query_message, it);
    field_end(w, start);
}

/* A reference has no other member. */
static bool is_reference(const struct cor_json_iter *it)
{
    return cor_str_starts(cor_json_iter_open_value(it), COR_STR("{\"$ref\":"));
}

static void parameter_item_write(struct writer *w, struct cor_json_iter *it)
{
    if (is_reference(it))
        nested_write(w, 2, 0, &reference_message, it);
    else
        nested_write(w, 1, 0, &parameter_message, it);
}

static void parameter_3_item_write(struct writer *w, struct cor_json_iter *it)
{
    if (is_reference(it))
        nested_write(w, 2, 0, &reference_message, it);
    else
        nested_write(w, 1, 0, &parameter_3_message, it);
}

static void schema_or_reference_write(struct writer *w, struct cor_json_iter *it)
{
    if (is_reference(it))
        nested_write(w, 2, 0, &reference_message, it);
    else
        nested_write(w, 1, 0, &schema_3_message, it);
}

/* A number as a double, which ends before the end of the document. */
static void double_write(struct writer *w, unsigned number, struct cor_str value)
{
    double real;
    char bytes[8];
    uint64_t bits;

    if (cor_json_type(value) != COR_JSON_NUMBER) {
        value_refuse(w);
        return;
    }
    real = strtod(value.p, NULL);
    memcpy(&bits, &real, sizeof(bits));
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(bits >> 8 * i);
    tag_put(w, number, COR_WIRE_FIXED64);
    bytes_put(w, bytes, sizeof(bytes));
}

static void int_write(struct writer *w, unsigned number, struct cor_str value)
{
    char bytes[COR_WIRE_VARINT_MAX];
    int64_t integer = 0;

    if (cor_json_to_i64(value, &integer) < 0)
        value_refuse(w);
    tag_put(w, number, COR_WIRE_VARINT);
    bytes_put(w, bytes, cor_wire_put_varint(bytes, (uint64_t)integer));
}

/* A message DefaultType: objects have no form in it, and an empty message remains. */
static void default_write(struct writer *w, struct cor_json_iter *it)
{
    struct cor_str value = cor_json_iter_value(it);
    bool is_true;

    if (cor_json_type(value) == COR_JSON_STRING) {
        text_write(w, 3, value);
    } else if (cor_json_to_bool(value, &is_true) == 0) {
        tag_put(w, 2, COR_WIRE_VARINT);
        bytes_put(w, is_true ? "\1" : "\0", 1);
    } else if (cor_json_type(value) == COR_JSON_NUMBER) {
        double_write(w, 1, value);
    }
}

/* The entries of a map: messages {1: name, 2: value}. */
static void entries_write(struct writer *w, const struct row *row, struct cor_json_iter *it)
{
    struct cor_json_iter inner = cor_json_iter(cor_json_iter_open_value(it));
    struct cor_str key;

    value_expect(w, it, COR_JSON_OBJECT);
    while (w->error == 0 && cor_json_iter_member(&inner, &key)) {
        size_t entry, name;

        /* A vendor extension among paths or responses. */
        if (cor_str_starts(key, COR_STR("x-")) &&
            cor_json_type(cor_json_iter_open_value(&inner)) != COR_JSON_OBJECT) {
            (void)cor_json_iter_value(&inner);
            continue;
        }
        entry = field_begin(w, row->inner);
        name = field_begin(w, 1);
        raw_text_put(w, key);
        field_end(w, name);
        nested_write(w, 2, row->value_inner, row->message, &inner);
        field_end(w, entry);
    }
    cor_json_iter_leave(it, &inner);
}

static void scopes_write(struct writer *w, struct cor_json_iter *it)
{
    texts_write(w, 1, it);
}

/* A message SecurityRequirement: a map of arrays of texts. */
static void requirement_write(struct writer *w, struct cor_json_iter *it)
{
    static const struct message scopes = {.write = scopes_write};
    static const struct row row = {.inner = 1, .message = &scopes};

    entries_write(w, &row, it);
}

/* The elements of an array that are not plain texts. */
static void elements_write(struct writer *w, const struct row *row, struct cor_json_iter *it)
{
    struct cor_json_iter inner = cor_json_iter(cor_json_iter_open_value(it));

    value_expect(w, it, COR_JSON_ARRAY);
    while (w->error == 0 && cor_json_iter_elem(&inner)) {
        if (row->form == FORM_YAMLS)
            yaml_write(w, row->number, cor_json_iter_value(&inner));
        else
            nested_write(w, row->number, row->inner, row->message, &inner);
    }
    cor_json_iter_leave(it, &inner);
}

/* A message ItemsItem of several schemas. */
static void items_write(struct writer *w, const struct row *row, struct cor_json_iter *it)
{
    const struct row each = {.number = row->inner, .form = FORM_MESSAGES, .message = row->message};
    size_t start = field_begin(w, row->number);

    elements_write(w, &each, it);
    field_end(w, start);
}

/* The value that `it` is at. */
static void row_write(struct writer *w, const struct row *row, struct cor_json_iter *it)
{
    enum cor_json_type type = cor_json_type(cor_json_iter_open_value(it));
    size_t start;

    switch (row->form) {
    case FORM_TEXT:
        text_write(w, row->number, cor_json_iter_value(it));
        return;
    case FORM_TYPE:
        start = field_begin(w, row->number);
        if (type == COR_JSON_ARRAY)
            texts_write(w, row->inner, it);
        else
            text_write(w, row->inner, cor_json_iter_value(it));
        field_end(w, start);
        return;
    case FORM_BOOL:
        value_expect(w, it, COR_JSON_BOOL);
        if (cor_str_eq(cor_json_iter_value(it), COR_STR("true"))) {
            tag_put(w, row->number, COR_WIRE_VARINT);
            bytes_put(w, "\1", 1);
        }
        return;
    case FORM_YAML:
        yaml_write(w, row->number, cor_json_iter_value(it));
        return;
    case FORM_TEXTS:
        texts_write(w, row->number, it);
        return;
    case FORM_MESSAGE:
        nested_write(w, row->number, row->inner, row->message, it);
        return;
    case FORM_INT:
        int_write(w, row->number, cor_json_iter_value(it));
        return;
    case FORM_DOUBLE:
        double_write(w, row->number, cor_json_iter_value(it));
        return;
    case FORM_SCHEMA_OR_BOOL:
        if (type == COR_JSON_OBJECT) {
            nested_write(w, row->number, row->inner, row->message, it);
            return;
        }
        value_expect(w, it, COR_JSON_BOOL);
        start = field_begin(w, row->number);
        tag_put(w, 2, COR_WIRE_VARINT);
        bytes_put(w, cor_str_eq(cor_json_iter_value(it), COR_STR("true")) ? "\1" : "\0", 1);
        field_end(w, start);
        return;
    case FORM_ITEMS:
        if (type == COR_JSON_OBJECT)
            nested_write(w, row->number, row->inner, row->message, it);
        else
            items_write(w, row, it);
        return;
    case FORM_MAP:
        start = field_begin(w, row->number);
        entries_write(w, row, it);
        field_end(w, start);
        return;
    default:
        elements_write(w, row, it);
    }
}

static void extension_write(struct writer *w, unsigned number, struct cor_str key,
                            struct cor_str value)
{
    size_t start = field_begin(w, number), name = field_begin(w, 1);

    bytes_put(w, key.p, key.n);
    field_end(w, name);
    yaml_write(w, 2, value);
    field_end(w, start);
}

/* The members of a message from the value that `it` is at. */
static void message_write(struct writer *w, const struct message *message, struct cor_json_iter *it)
{
    struct cor_json_iter inner;
    struct cor_str key;

    if (message->write) {
        message->write(w, it);
        return;
    }
    value_expect(w, it, COR_JSON_OBJECT);
    inner = cor_json_iter(cor_json_iter_open_value(it));
    while (w->error == 0 && cor_json_iter_member(&inner, &key)) {
        size_t i = 0;

        while (i < message->nrows && !cor_str_eqz(key, message->rows[i].name))
            i++;
        if (i < message->nrows &&
            cor_json_type(cor_json_iter_open_value(&inner)) != COR_JSON_NULL) {
            row_write(w, &message->rows[i], &inner);
        } else if (message->extensions == 0 || !cor_str_starts(key, COR_STR("x-"))) {
            (void)cor_json_iter_value(&inner);
        } else {
            extension_write(w, message->extensions, key, cor_json_iter_value(&inner));
        }
    }
    cor_json_iter_leave(it, &inner);
}

int cor_openapi_to_protobuf(struct cor_str json, enum cor_openapi_version version,
                            struct cor_buf *out)
{
    struct cor_json_iter it = {.p = json.p, .end = json.p + json.n, .value = json.p};
    struct writer w = {.out = out};

    assert(json.n > 0);
    message_write(&w, version == COR_OPENAPI_2 ? &document_message : &document_3_message, &it);
    return w.error;
}
