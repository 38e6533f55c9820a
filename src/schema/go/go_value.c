/* clang-format off */
/* A walk over the value by its type, which writes Go's JSON of the internal form:
 *
 *   text ──► nodes ──► per struct: members into slots, in one pass ──► fields in Go's order,
 *   each from its slot, or nil or zero
 *
 * Structs of meta/v1 are written as clients see them, all others by the names of their fields in
 * Go, with the differences of schema/go/internal_types.h. An inlined struct has no braces of its own:
 * its fields are found in the slots of the struct that holds it. So is metadata: internally
 * ObjectMeta is embedded, and its members stand among the fields of the kind.
 * Failures: no memory, and out's maximum; both end the walk. Thread: any. */
/* clang-format on */
#include "schema/go/go_value.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "meta/status/quote.h"
#include "schema/go/internal_types.h"
#include "json/text/float_text.h"
#include "json/text/nodes.h"
#include "json/text/scan.h"

#define LINE_SEPARATOR      0x2028
#define PARAGRAPH_SEPARATOR 0x2029
#define NUMBER_MAX          64

/* A struct that is being written; slots are nodes by member. */
struct opened {
    const struct cor_type *type;
    const struct opened *around; /* NULL: the value itself */
    bool need_comma;
    uint32_t slots[COR_TYPE_MEMBERS_MAX];
};

struct go_walk {
    struct cor_json_nodes nodes;
    struct cor_buf *out;
    int error;
};

static void write_value(struct go_walk *w, const struct cor_type *type, bool is_pointer,
                        uint32_t node, const struct opened *around);
static void write_wire_fields(struct go_walk *w, const struct cor_type *type, struct opened *o);

static void put(struct go_walk *w, struct cor_str text)
{
    if (w->error == 0)
        w->error = cor_buf_adds(w->out, text);
}

/* The escape of a code point, in `room` or a literal; NULL: it is written as it is. */
static const char *json_escape(uint32_t cp, char room[8])
{
    static const char hex[] = "0123456789abcdef";

    switch (cp) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    case COR_UTF8_INVALID:
        return "\\ufffd";
    case LINE_SEPARATOR:
        return "\\u2028";
    case PARAGRAPH_SEPARATOR:
        return "\\u2029";
    default:
        if (cp >= 0x20 && cp != '<' && cp != '>' && cp != '&')
            return NULL;
        memcpy(room, "\\u00xx", 7);
        room[4] = hex[cp >> 4];
        room[5] = hex[cp & 15];
        return room;
    }
}

int cor_go_json_string(struct cor_str text, struct cor_buf *out)
{
    char room[8];
    int r = cor_buf_addc(out, '"');

    while (r == 0 && text.n > 0) {
        uint32_t cp;
        size_t n = cor_utf8_first(text, &cp);
        const char *escape = json_escape(cp, room);

        r = escape ? cor_buf_addz(out, escape) : cor_buf_add(out, text.p, n);
        text = cor_str_from(text, n);
    }
    return r < 0 ? r : cor_buf_addc(out, '"');
}

/* Calls `print` with the text of a string, without its escapes. */
static int print_unescaped(struct cor_str raw, int (*print)(struct cor_str, struct cor_buf *),
                           struct cor_buf *out)
{
    struct cor_str text = raw;
    char *room = NULL;
    int r;

    if (raw.n > 0 && memchr(raw.p, '\\', raw.n)) {
        if (!(room = cor_alloc(raw.n)))
            return -COR_ENOMEM;
        (void)cor_json_unescape(raw, room, raw.n, &text);
    }
    r = print(text, out);
    cor_free(room);
    return r;
}

static void write_string(struct go_walk *w, struct cor_str raw)
{
    if (w->error == 0)
        w->error = print_unescaped(raw, cor_go_json_string, w->out);
}

/* JSON that Go holds as bytes: written as it is, except for what a browser might take for HTML. */
static void write_raw(struct go_walk *w, struct cor_str json)
{
    char room[8];

    while (w->error == 0 && json.n > 0) {
        uint32_t cp;
        size_t n = cor_utf8_first(json, &cp);
        bool is_kept = cp != '<' && cp != '>' && cp != '&' && cp != LINE_SEPARATOR &&
                       cp != PARAGRAPH_SEPARATOR;

        put(w, is_kept ? cor_str(json.p, n) : cor_strz(json_escape(cp, room)));
        json = cor_str_from(json, n);
    }
}

static void write_float(struct go_walk *w, struct cor_str json)
{
    char text[NUMBER_MAX], room[COR_FLOAT_TEXT_MAX];

    if (json.n >= sizeof(text)) {
        put(w, json);
        return;
    }
    memcpy(text, json.p, json.n);
    text[json.n] = '\0';
    put(w, cor_float_print(strtod(text, NULL), room));
}

static bool is_meta(const struct cor_type *type)
{
    return cor_str_eq(cor_type_package(type), COR_STR("meta_v1"));
}

static bool is_named(const struct cor_type *type, const char *name)
{
    return is_meta(type) && cor_str_eqz(cor_type_name(type), name);
}

/* Embedded in Go: has the name of its type. */
static bool is_embedded_meta(const struct cor_type_field *field)
{
    const struct cor_type *type = cor_type_field_type(field);

    return (is_named(type, "ObjectMeta") || is_named(type, "ListMeta")) &&
           cor_str_eq(cor_type_field_go_name(field), cor_type_name(type));
}

/* Puts the nodes of the members of an object into the slots; an absent object has none. */
static void open_struct(struct go_walk *w, const struct cor_type *type, uint32_t node,
                        const struct opened *around, struct opened *ret)
{
    uint32_t end;

    ret->type = type;
    ret->around = around;
    ret->need_comma = false;
    for (size_t i = 0; i < COR_TYPE_MEMBERS_MAX; i++)
        ret->slots[i] = COR_JSON_NO_NODE;
    if (node == COR_JSON_NO_NODE || cor_json_node_first(&w->nodes, node) != '{')
        return;
    end = cor_json_node_next(&w->nodes, node);
    for (uint32_t key = node + 1; key < end; key = cor_json_node_next(&w->nodes, key + 1)) {
        size_t member = cor_type_member_index(type, cor_json_node_raw(&w->nodes, key));

        if (member != SIZE_MAX)
            ret->slots[member] = key + 1;
    }
}

/* The slot of a field of the struct, or of one that is inlined there. */
static uint32_t slot_of(const struct opened *o, const struct cor_type_field *field)
{
    size_t member = cor_type_member_index(o->type, cor_type_field_name(field));

    return member == SIZE_MAX ? COR_JSON_NO_NODE : o->slots[member];
}

static void write_key(struct go_walk *w, struct opened *o, struct cor_str name)
{
    put(w, o->need_comma ? COR_STR(",\"") : COR_STR("\""));
    put(w, name);
    put(w, COR_STR("\":"));
    o->need_comma = true;
}

static void write_metadata(struct go_walk *w, const struct cor_type *type, uint32_t node,
                           struct opened *o)
{
    struct opened metadata;

    open_struct(w, type, node, o, &metadata);
    metadata.need_comma = o->need_comma;
    write_wire_fields(w, type, &metadata);
    o->need_comma = metadata.need_comma;
}

static void write_internal_fields(struct go_walk *w, const struct cor_type *type, struct opened *o);

static void write_internal_field(struct go_walk *w, const struct cor_type_field *field,
                                 enum cor_internal_mark mark, struct opened *o)
{
    const struct cor_type *type = cor_type_field_type(field);
    bool is_pointer = cor_type_field_is(field, COR_FIELD_POINTER);

    if (is_named(type, "TypeMeta"))
        return; /* internal objects do not know what they are */
    if (is_embedded_meta(field)) {
        write_metadata(w, type, slot_of(o, field), o);
    } else if (cor_type_field_is(field, COR_FIELD_INLINE) && mark == COR_INTERNAL_NESTED) {
        write_key(w, o, cor_type_field_go_name(field));
        put(w, COR_STR("{"));
        o->need_comma = false;
        write_internal_fields(w, type, o);
        o->need_comma = true;
        put(w, COR_STR("}"));
    } else if (cor_type_field_is(field, COR_FIELD_INLINE)) {
        write_internal_fields(w, type, o);
    } else {
        write_key(w, o, cor_type_field_go_name(field));
        write_value(w, type, is_pointer && mark != COR_INTERNAL_PLAIN, slot_of(o, field), o);
    }
}

static const struct cor_type_field *find_go_field(const struct cor_type *type, struct cor_str name)
{
    for (size_t i = 0; i < cor_type_nfields(type); i++) {
        if (cor_str_eq(cor_type_field_go_name(cor_type_field(type, i)), name))
            return cor_type_field(type, i);
    }
    return NULL;
}

/* A field that only the internal type has. */
static void write_extra_field(struct go_walk *w, const struct cor_internal_field *extra,
                              struct opened *o)
{
    const struct cor_type_field *field = NULL;

    write_key(w, o, extra->name);
    if (extra->mark == COR_INTERNAL_AROUND && o->around)
        field = find_go_field(o->around->type, extra->name);
    if (field)
        write_value(w, cor_type_field_type(field), cor_type_field_is(field, COR_FIELD_POINTER),
                    slot_of(o->around, field), o->around);
    else
        put(w, extra->json);
}

static void write_internal_fields(struct go_walk *w, const struct cor_type *type, struct opened *o)
{
    struct cor_internal_field internal;
    struct cor_str fields;

    if (!cor_internal_fields(type, &fields)) {
        for (size_t i = 0; i < cor_type_nfields(type); i++)
            write_internal_field(w, cor_type_field(type, i), COR_INTERNAL_SAME, o);
        return;
    }
    while (cor_internal_fields_next(&fields, &internal)) {
        const struct cor_type_field *field = find_go_field(type, internal.name);

        if (field)
            write_internal_field(w, field, internal.mark, o);
        else
            write_extra_field(w, &internal, o);
    }
}

/* Go leaves out an empty value; one that a pointer leads to is not empty. */
static bool is_left_out(struct go_walk *w, const struct cor_type_field *field, uint32_t node)
{
    struct cor_str bytes;

    if (node == COR_JSON_NO_NODE || cor_json_node_first(&w->nodes, node) == 'n')
        return !cor_type_field_is(field, COR_FIELD_WRITTEN);
    if (!cor_type_field_is(field, COR_FIELD_OMITEMPTY) ||
        cor_type_field_is(field, COR_FIELD_POINTER) ||
        cor_type_shape(cor_type_field_type(field)) == COR_SHAPE_STRUCT)
        return false;
    bytes = cor_json_node_bytes(&w->nodes, node);
    return cor_str_eq(bytes, COR_STR("\"\"")) || cor_str_eq(bytes, COR_STR("0")) ||
           cor_str_eq(bytes, COR_STR("false")) || cor_str_eq(bytes, COR_STR("[]")) ||
           cor_str_eq(bytes, COR_STR("{}"));
}

static void write_wire_fields(struct go_walk *w, const struct cor_type *type, struct opened *o)
{
    for (size_t i = 0; i < cor_type_nfields(type); i++) {
        const struct cor_type_field *field = cor_type_field(type, i);
        uint32_t node;

        if (cor_type_field_is(field, COR_FIELD_INLINE)) {
            write_wire_fields(w, cor_type_field_type(field), o);
            continue;
        }
        node = slot_of(o, field);
        if (is_left_out(w, field, node))
            continue;
        write_key(w, o, cor_type_field_name(field));
        write_value(w, cor_type_field_type(field), cor_type_field_is(field, COR_FIELD_POINTER),
                    node, o);
    }
}

static void write_struct(struct go_walk *w, const struct cor_type *type, uint32_t node,
                         const struct opened *around)
{
    struct opened o;

    open_struct(w, type, node, around, &o);
    put(w, COR_STR("{"));
    if (is_meta(type))
        write_wire_fields(w, type, &o);
    else
        write_internal_fields(w, type, &o);
    put(w, COR_STR("}"));
}

/* The elements of a list, or the entries of a map, whose keys are in Go's order already. */
static void write_elements(struct go_walk *w, const struct cor_type *type, uint32_t node,
                           const struct opened *around)
{
    bool is_map = cor_type_shape(type) == COR_SHAPE_MAP;
    uint32_t end = cor_json_node_next(&w->nodes, node);
    bool need_comma = false;

    put(w, is_map ? COR_STR("{") : COR_STR("["));
    for (uint32_t i = node + 1; w->error == 0 && i < end; i = cor_json_node_next(&w->nodes, i)) {
        if (need_comma)
            put(w, COR_STR(","));
        need_comma = true;
        if (is_map) {
            write_string(w, cor_json_node_raw(&w->nodes, i++));
            put(w, COR_STR(":"));
        }
        write_value(w, cor_type_element(type), false, i, around);
    }
    put(w, is_map ? COR_STR("}") : COR_STR("]"));
}

static void write_zero(struct go_walk *w, const struct cor_type *type, const struct opened *around)
{
    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT:
        write_struct(w, type, COR_JSON_NO_NODE, around);
        break;
    case COR_SHAPE_STRING:
        put(w, COR_STR("\"\""));
        break;
    case COR_SHAPE_BOOL:
        put(w, COR_STR("false"));
        break;
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
    case COR_SHAPE_FLOAT64:
    case COR_SHAPE_INT_OR_STRING:
        put(w, COR_STR("0"));
        break;
    case COR_SHAPE_DURATION:
        put(w, COR_STR("\"0s\""));
        break;
    case COR_SHAPE_QUANTITY:
        put(w, COR_STR("\"0\""));
        break;
    default:
        put(w, COR_STR("null"));
    }
}

/* A schema, or something else in its place: Go has a struct with a field for each. */
static void write_schema_or(struct go_walk *w, enum cor_shape shape, uint32_t node,
                            const struct opened *around)
{
    const struct cor_type *schema = cor_type_named(COR_STR("apiextensions_v1.JSONSchemaProps"));
    char first = cor_json_node_first(&w->nodes, node);
    uint32_t end = cor_json_node_next(&w->nodes, node);

    if (shape == COR_SHAPE_SCHEMA_OR_BOOL)
        put(w, first == 'f' ? COR_STR("{\"Allows\":false,") : COR_STR("{\"Allows\":true,"));
    else
        put(w, COR_STR("{"));
    put(w, COR_STR("\"Schema\":"));
    write_value(w, schema, true, first == '{' ? node : COR_JSON_NO_NODE, around);
    if (shape == COR_SHAPE_SCHEMA_OR_ARRAY)
        put(w, COR_STR(",\"JSONSchemas\":"));
    else if (shape == COR_SHAPE_SCHEMA_OR_STRINGS)
        put(w, COR_STR(",\"Property\":"));
    if (shape != COR_SHAPE_SCHEMA_OR_BOOL && first != '[')
        put(w, COR_STR("null"));
    for (uint32_t i = node + 1; first == '[' && w->error == 0 && i < end;
         i = cor_json_node_next(&w->nodes, i)) {
        put(w, i == node + 1 ? COR_STR("[") : COR_STR(","));
        if (shape == COR_SHAPE_SCHEMA_OR_ARRAY)
            write_value(w, schema, false, i, around);
        else
            write_string(w, cor_json_node_raw(&w->nodes, i));
    }
    if (first == '[')
        put(w, end > node + 1 ? COR_STR("]") : COR_STR("[]"));
    put(w, COR_STR("}"));
}

static void write_value(struct go_walk *w, const struct cor_type *type, bool is_pointer,
                        uint32_t node, const struct opened *around)
{
    if (w->error < 0)
        return;
    if (node == COR_JSON_NO_NODE || cor_json_node_first(&w->nodes, node) == 'n') {
        if (is_pointer)
            put(w, COR_STR("null"));
        else
            write_zero(w, type, around);
        return;
    }
    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT:
        write_struct(w, type, node, around);
        break;
    case COR_SHAPE_LIST:
    case COR_SHAPE_MAP:
        write_elements(w, type, node, around);
        break;
    case COR_SHAPE_FLOAT64:
        write_float(w, cor_json_node_bytes(&w->nodes, node));
        break;
    case COR_SHAPE_RAW:
    case COR_SHAPE_FIELDS_V1:
    case COR_SHAPE_JSON:
        write_raw(w, cor_json_node_bytes(&w->nodes, node));
        break;
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
        write_schema_or(w, cor_type_shape(type), node, around);
        break;
    default: /* a string, a number or a boolean */
        if (cor_json_node_first(&w->nodes, node) == '"')
            write_string(w, cor_json_node_raw(&w->nodes, node));
        else
            put(w, cor_json_node_bytes(&w->nodes, node));
    }
}

int cor_go_value(const struct cor_type *type, bool is_pointer, struct cor_str json,
                 struct cor_buf *out)
{
    bool is_absent = !json.p || json.p[0] == 'n';
    struct go_walk w;
    struct cor_str raw = COR_STR("");

    if (cor_type_shape(type) == COR_SHAPE_STRING && cor_type_name(type).n == 0 && !is_pointer) {
        if (!is_absent)
            (void)cor_json_to_raw(json, &raw);
        return print_unescaped(raw, cor_quote, out);
    }
    w.out = out;
    w.error = cor_json_nodes_init(&w.nodes, is_absent ? COR_STR("null") : json);
    write_value(&w, type, is_pointer, is_absent ? COR_JSON_NO_NODE : 0, NULL);
    cor_json_nodes_deinit(&w.nodes);
    return w.error;
}
