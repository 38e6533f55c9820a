/* A walk over the tables that writes a value for every member it meets. Strings are pieces that
 * YAML and JSON could take for something else, followed by a number that makes them unique. */
#include "random_object.h"

#include "test.h"

/* A loose object has fewer members the deeper they are, so that all kinds together stay small. */
#define LOOSE_DEPTH 5
#define FULL_DEPTH  14
#define NEST_MAX    32

/* The structs that a value is in, and how many strings were made. */
struct walk {
    const struct cor_type *in[NEST_MAX];
    size_t depth, strings;
    struct cor_str key; /* by which the elements of the list that comes next are merged */
    enum random_form form;
    struct cor_buf *out;
};

static size_t below(size_t n)
{
    return (size_t)(test_random() % n);
}

static void add(struct walk *w, const char *text)
{
    assert_int_equal(cor_buf_addz(w->out, text), 0);
}

static void add_one_of(struct walk *w, const char *const *texts, size_t n)
{
    add(w, texts[below(n)]);
}
#define ADD_ONE_OF(w, ...)                                                                         \
    do {                                                                                           \
        static const char *const texts_[] = {__VA_ARGS__};                                         \
        add_one_of(w, texts_, COR_ARRAY_LEN(texts_));                                              \
    } while (0)

/* The bytes inside of the quotes, without the quotes. */
static void add_string(struct walk *w)
{
    add(w, "\"");
    ADD_ONE_OF(w, "a", "yes ", "1e", "0x", "- ", "# ", ": ", "~", "{", "\\\"", "\\\\", "line\\n",
               "\\t", " x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "&<>", "%", "'", "null",
               "2026-01-0", "*", "!");
    assert_int_equal(cor_buf_addf(w->out, "%zu\"", w->strings++), 0);
}

static void add_value(struct walk *w, const struct cor_type *type);

/* False: the struct is inside of itself often enough, or the object is deep enough. */
static bool may_enter(const struct walk *w, const struct cor_type *type)
{
    size_t seen = 0;

    for (size_t i = 0; i < w->depth; i++)
        seen += w->in[i] == type;
    return seen < 2 && w->depth < (w->form == RANDOM_FULL ? FULL_DEPTH : LOOSE_DEPTH);
}

/* Whether a member's value contains no struct that may not be entered. */
static bool may_set(const struct walk *w, const struct cor_type *type)
{
    while (cor_type_element(type))
        type = cor_type_element(type);
    return cor_type_shape(type) != COR_SHAPE_STRUCT || may_enter(w, type);
}

/* kind and apiVersion are in the envelope of protobuf, and of an inner object nowhere. */
static bool is_type_meta(const struct cor_member *m)
{
    return m->via[0] && cor_str_eqz(cor_type_name(cor_type_field_type(m->via[0])), "TypeMeta");
}

/* A value that no other element of the list has. */
static void add_key(struct walk *w, const struct cor_type *type)
{
    if (cor_type_shape(type) == COR_SHAPE_STRING)
        add_string(w);
    else
        assert_int_equal(cor_buf_addu64(w->out, w->strings++), 0);
}

static void add_member(struct walk *w, const struct cor_type_field *field, bool is_key)
{
    if (is_key)
        add_key(w, cor_type_field_type(field));
    else if (w->form == RANDOM_LOOSE && below(6) == 0)
        add(w, "null");
    else {
        w->key = cor_type_field_patch_key(field);
        add_value(w, cor_type_field_type(field));
    }
}

static void add_struct(struct walk *w, const struct cor_type *type)
{
    struct cor_str key = w->key;
    size_t n = 0;

    w->in[w->depth++] = type;
    add(w, "{");
    for (size_t i = 0; i < cor_type_nmembers(type); i++) {
        struct cor_member m;
        struct cor_str name;
        bool is_key;

        cor_type_member(type, i, &m);
        name = cor_type_field_name(m.field);
        is_key = key.n > 0 && cor_str_eq(name, key);
        if (is_type_meta(&m) || !may_set(w, cor_type_field_type(m.field)) ||
            (w->form == RANDOM_LOOSE && !is_key && below(w->depth + 1) > 0))
            continue;
        assert_int_equal(cor_buf_addf(w->out, "%s\"%.*s\":", n++ ? "," : "", (int)name.n, name.p),
                         0);
        add_member(w, m.field, is_key);
    }
    add(w, "}");
    w->key = key;
    w->depth--;
}

/* A list, or a map when `keys` is set. */
static void add_elements(struct walk *w, const struct cor_type *type, bool keys)
{
    size_t n = w->form == RANDOM_FULL ? 1 + below(2) : below(3);

    add(w, keys ? "{" : "[");
    for (size_t i = 0; i < n; i++) {
        add(w, i ? "," : "");
        if (keys) {
            add_string(w);
            add(w, ":");
        }
        add_value(w, cor_type_element(type));
    }
    add(w, keys ? "}" : "]");
}

static void add_schema_or(struct walk *w, const struct cor_type *type)
{
    const struct cor_type *schema = cor_type_element(type);
    bool nest = may_enter(w, schema) && below(2);

    if (nest)
        add_struct(w, schema);
    else if (cor_type_shape(type) == COR_SHAPE_SCHEMA_OR_BOOL)
        add(w, below(2) ? "true" : "false");
    else if (cor_type_shape(type) == COR_SHAPE_SCHEMA_OR_STRINGS)
        add(w, "[\"a\",\"b\"]");
    else
        add(w, "[{\"type\":\"string\"}]");
}

static void add_enum(struct walk *w, const struct cor_type *type)
{
    struct cor_str value = cor_type_value(type, below(cor_type_nvalues(type)));

    assert_int_equal(cor_buf_addf(w->out, "\"%.*s\"", (int)value.n, value.p), 0);
}

static void add_quantity(struct walk *w)
{
    if (w->form == RANDOM_FULL)
        ADD_ONE_OF(w, "\"1\"", "\"100m\"", "\"1Gi\"", "\"1500\"", "\"25M\"", "\"0\"", "\"-3\"",
                   "\"7u\"");
    else
        ADD_ONE_OF(w, "\"1000m\"", "\"0.5Gi\"", "2", "1.5", "\"1e3\"", "\"1024Ki\"", "\"+1\"",
                   "\"00.10\"");
}

static void add_value(struct walk *w, const struct cor_type *type)
{
    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT:
        add_struct(w, type);
        break;
    case COR_SHAPE_LIST:
    case COR_SHAPE_MAP:
        add_elements(w, type, cor_type_shape(type) == COR_SHAPE_MAP);
        break;
    case COR_SHAPE_STRING:
        if (w->form == RANDOM_LOOSE && below(4) == 0)
            add(w, "\"\"");
        else if (cor_type_nvalues(type) && below(2))
            add_enum(w, type);
        else
            add_string(w);
        break;
    case COR_SHAPE_BOOL:
        add(w, w->form == RANDOM_FULL || below(2) ? "true" : "false");
        break;
    case COR_SHAPE_INT32:
        ADD_ONE_OF(w, "1", "-1", "2147483647", "-2147483648", "0");
        break;
    case COR_SHAPE_INT64:
        ADD_ONE_OF(w, "1", "-1", "9223372036854775807", "-9223372036854775808", "0");
        break;
    case COR_SHAPE_FLOAT64:
        ADD_ONE_OF(w, "0.5", "-2.25", "3", "0");
        break;
    case COR_SHAPE_BYTES:
        ADD_ONE_OF(w, "\"YQ==\"", "\"AAECAw==\"", "\"////\"", "\"\"");
        break;
    case COR_SHAPE_TIME:
        ADD_ONE_OF(w, "\"2026-01-02T03:04:05Z\"", "\"1970-01-01T00:00:00Z\"",
                   "\"9999-12-31T23:59:59Z\"");
        break;
    case COR_SHAPE_MICRO_TIME:
        ADD_ONE_OF(w, "\"2026-01-02T03:04:05.000006Z\"", "\"1969-12-31T23:59:59.500000Z\"");
        break;
    case COR_SHAPE_DURATION:
        ADD_ONE_OF(w, "\"5s\"", "\"1m30s\"", "\"1h0m0s\"", "\"1.5s\"");
        break;
    case COR_SHAPE_QUANTITY:
        add_quantity(w);
        break;
    case COR_SHAPE_INT_OR_STRING:
        ADD_ONE_OF(w, "1", "\"50%\"", "\"http\"", "0", "\"\"");
        break;
    case COR_SHAPE_RAW:
    case COR_SHAPE_FIELDS_V1:
        ADD_ONE_OF(w, "{\"b\":[1,\"&&<\"],\"a\":\"\"}", "{}", "{\"f:metadata\":{\".\":{}}}");
        break;
    case COR_SHAPE_JSON:
        ADD_ONE_OF(w, "{\"b\":1,\"a\":[true]}", "\"text\"", "7", "[]");
        break;
    default:
        add_schema_or(w, type);
        break;
    }
}

void random_object(const struct cor_type *type, enum random_form form, struct cor_buf *out)
{
    struct walk w = {.form = form, .out = out};

    assert_int_equal(cor_type_shape(type), COR_SHAPE_STRUCT);
    add_struct(&w, type);
}
