#include "definitions.h"

#include <stdio.h>
#include <string.h>

#include "process.h"
#include "target.h"

#define TEXT_MAX   (4u << 20)
#define PATH_BYTES 256
#define GROUPS     20 /* of fields, in the spec of a typed object */
#define FIELDS     10 /* of each group */
/* The sizes of large definitions, in lines as YAML: LINES_LEAST, and STEPS - 1 times LINES_STEP
 * more. A section of a spec has SECTION_LINES lines. */
#define LINES_LEAST   1000
#define LINES_STEP    1000
#define STEPS         5
#define SECTION_LINES 83

static void add(struct cor_buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct cor_buf *out, const char *fmt, ...)
{
    va_list ap;
    int r;

    va_start(ap, fmt);
    r = cor_buf_addv(out, fmt, ap);
    va_end(ap);
    if (r < 0)
        die("a definition does not fit");
}

/* All of a definition that stands before the schema of its spec. */
static void add_head(struct cor_buf *out, const char *plural, const char *singular,
                     const char *kind)
{
    add(out,
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
        "\"metadata\":{\"name\":\"%s." DEFINITIONS_GROUP "\"},\"spec\":{\"group\":"
        "\"" DEFINITIONS_GROUP "\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%s\","
        "\"singular\":\"%s\",\"kind\":\"%s\"},\"versions\":[{\"name\":\"v1\",\"served\":true,"
        "\"storage\":true,\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":"
        "{\"type\":\"object\",\"properties\":{\"spec\":",
        plural, plural, singular, kind);
}

static void add_tail(struct cor_buf *out)
{
    add(out, "}}}}]}}");
}

/* ---- the schema with 200 fields ---- */

/* Field `i` of a group: a text, a number, one of three words, a list, a truth. */
static void add_field_schema(struct cor_buf *out, size_t i)
{
    static const char *const schemas[] = {
        "{\"type\":\"string\",\"minLength\":1,\"maxLength\":64}",
        "{\"type\":\"integer\",\"format\":\"int32\",\"minimum\":0,\"maximum\":100000}",
        "{\"type\":\"string\",\"enum\":[\"Always\",\"IfNotPresent\",\"Never\"]}",
        "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":8}",
        "{\"type\":\"boolean\"}",
    };

    add(out, "%s\"field%zu\":%s", i ? "," : "", i, schemas[i % COR_ARRAY_LEN(schemas)]);
}

static void add_field(struct cor_buf *out, size_t i)
{
    static const char *const values[] = {"\"a value of some length\"", "4096", "\"IfNotPresent\"",
                                         "[\"one\",\"two\"]", "true"};

    add(out, "%s\"field%zu\":%s", i ? "," : "", i, values[i % COR_ARRAY_LEN(values)]);
}

static void add_groups(struct cor_buf *out, const char *before, const char *after,
                       void (*field)(struct cor_buf *out, size_t i))
{
    for (size_t g = 0; g < GROUPS; g++) {
        add(out, "%s\"group%zu\":%s", g ? "," : "", g, before);
        for (size_t i = 0; i < FIELDS; i++)
            field(out, i);
        add(out, "%s", after);
    }
}

void definitions_add_typed(struct cor_buf *out)
{
    add_head(out, DEFINITIONS_TYPED, "typed", "Typed");
    add(out, "{\"type\":\"object\",\"properties\":{");
    add_groups(out, "{\"type\":\"object\",\"required\":[\"field0\"],\"properties\":{", "}}",
               add_field_schema);
    add(out, "}}");
    add_tail(out);
}

void definitions_add_loose(struct cor_buf *out)
{
    add_head(out, DEFINITIONS_LOOSE, "loose", "Loose");
    add(out, "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}");
    add_tail(out);
}

/* ---- definitions of real size ---- */

#define WORDS                                                                                      \
    "tells the controller how this part of the workload is to be run; when it is not set, the "    \
    "value of the parent is used, and changes of it restart what runs already."
#define SAYS "\"description\":\"%s " WORDS "\","

/* Appends one section of the spec, which has every kind of schema that real definitions have. */
static void add_section(struct cor_buf *out, size_t i)
{
    add(out,
        "%s\"section%zu\":{" SAYS "\"type\":\"object\",\"required\":[\"name\",\"mode\"],"
        "\"properties\":{\"name\":{" SAYS "\"type\":\"string\",\"minLength\":1},"
        "\"mode\":{" SAYS "\"type\":\"string\",\"enum\":[\"Always\",\"IfNotPresent\",\"Never\"],"
        "\"default\":\"Always\"},\"replicas\":{" SAYS "\"type\":\"integer\",\"format\":\"int32\","
        "\"minimum\":0},\"enabled\":{" SAYS "\"type\":\"boolean\"},",
        i ? "," : "", i, "section", "name", "mode", "replicas", "enabled");
    add(out,
        "\"quantity\":{" SAYS "\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],"
        "\"pattern\":\"^(\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|"
        "([eE](\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))))?$\","
        "\"x-kubernetes-int-or-string\":true},\"labels\":{" SAYS "\"type\":\"object\","
        "\"additionalProperties\":{\"type\":\"string\"}},\"host\":{" SAYS "\"type\":\"string\","
        "\"maxLength\":253%s},",
        "quantity", "labels", "host",
        i % 3 ? "" : ",\"pattern\":\"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]+)*$\"");
    add(out,
        "\"items\":{" SAYS "\"type\":\"array\",\"maxItems\":64,\"items\":{\"type\":\"object\","
        "\"required\":[\"key\"],\"properties\":{\"key\":{" SAYS "\"type\":\"string\"},"
        "\"value\":{" SAYS "\"type\":\"string\"},\"optional\":{" SAYS "\"type\":\"boolean\"}}},"
        "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"key\"]},"
        "\"selector\":{" SAYS "\"type\":\"object\",\"properties\":{\"matchExpressions\":{" SAYS
        "\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"key\",\"operator\"],"
        "\"properties\":{\"key\":{" SAYS "\"type\":\"string\"},\"operator\":{" SAYS
        "\"type\":\"string\"},\"values\":{" SAYS "\"type\":\"array\",\"items\":{\"type\":"
        "\"string\"}}}}},\"matchLabels\":{" SAYS "\"type\":\"object\",\"additionalProperties\":"
        "{\"type\":\"string\"}}}}}}",
        "items", "key", "value", "optional", "selector", "matchExpressions", "key", "operator",
        "values", "matchLabels");
}

void definitions_print_plural(char *out, size_t n, size_t i)
{
    snprintf(out, n, "kinds%zux", i);
}

void definitions_add_large(struct cor_buf *out, size_t i)
{
    size_t lines = LINES_LEAST + i % STEPS * LINES_STEP;
    char plural[32], singular[32], kind[32];

    definitions_print_plural(plural, sizeof(plural), i);
    snprintf(singular, sizeof(singular), "kind%zux", i);
    snprintf(kind, sizeof(kind), "Kind%zux", i);
    add_head(out, plural, singular, kind);
    add(out, "{\"type\":\"object\",\"properties\":{");
    for (size_t s = 0; s < lines / SECTION_LINES; s++)
        add_section(out, s);
    add(out, "}}");
    add_tail(out);
}

/* ---- requests ---- */

static void post(struct cor_buf *out, const char *path, struct cor_str body)
{
    add(out,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench/1\r\n"
        "Authorization: Bearer " TARGET_TOKEN "\r\nAccept: application/json\r\n"
        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%.*s",
        path, body.n, (int)body.n, body.p);
}

void definitions_write_large(struct cor_buf *out, size_t i, void *arg)
{
    struct cor_buf body;

    (void)arg;
    cor_buf_init(&body, TEXT_MAX);
    definitions_add_large(&body, i);
    post(out, DEFINITIONS_PATH, cor_buf_str(&body));
    cor_buf_deinit(&body);
}

void definitions_print_path(char *out, size_t n, const char *plural)
{
    snprintf(out, n, "/apis/" DEFINITIONS_GROUP "/v1/namespaces/default/%s", plural);
}

void definitions_write_object(struct cor_buf *out, size_t i, void *arg)
{
    const struct definitions_object *o = arg;
    struct cor_buf body;
    char path[PATH_BYTES];

    cor_buf_init(&body, TEXT_MAX);
    add(&body,
        "{\"apiVersion\":\"" DEFINITIONS_GROUP "/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":"
        "\"%s-%zu\"},\"spec\":{",
        strcmp(o->plural, DEFINITIONS_TYPED) == 0 ? "Typed" : "Loose", o->prefix, i);
    add_groups(&body, "{", "}", add_field);
    add(&body, "}}");
    definitions_print_path(path, sizeof(path), o->plural);
    post(out, path, cor_buf_str(&body));
    cor_buf_deinit(&body);
}
