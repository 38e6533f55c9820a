/* `coracle crd check FILE...`: says without a server what a server would say of
 * CustomResourceDefinitions and of objects of the kinds that they define.
 *
 * All files are read first, and their documents become JSON: YAML documents between lines of three
 * dashes, JSON values one after the other, and the items of a List. A second walk finds the
 * definitions that are in order; the third one checks every document and prints a line for each
 * cause: FILE#DOCUMENT: error: PATH: WORDS. Objects are checked by the definitions of all files,
 * whatever their order.
 *
 * Exit status: 0 when there is no error (with --strict: and no warning), 1 when there is one, 2
 * when a file cannot be read. Thread: main. */
#include "crd_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "codec/yaml.h"
#include "meta/status/gvk.h"
#include "schema/custom/custom_check.h"
#include "schema/types/types.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define DOCUMENTS_MAX    100000
#define DEFINITIONS_MAX  10000
#define DEFINITION_BYTES (16u << 20)

struct check_opts {
    bool is_strict;
};

struct document {
    const char *file;
    size_t number;       /* in its file, from 1 */
    struct cor_buf json; /* valid; empty: the document is not, and `why` says so */
    char why[200];
};

struct check {
    struct document *documents;
    size_t ndocuments, documents_cap;
    struct cor_buf *definitions; /* canonical, of those that are in order */
    size_t ndefinitions, definitions_cap;
    const struct document *current; /* whose findings are printed; NULL: nobody asks for them */
    struct cor_custom_report report;
};

static void check_deinit(struct check *check)
{
    for (size_t i = 0; i < check->ndocuments; i++)
        cor_buf_deinit(&check->documents[i].json);
    for (size_t i = 0; i < check->ndefinitions; i++)
        cor_buf_deinit(&check->definitions[i]);
    cor_free(check->documents);
    cor_free(check->definitions);
}

/* --- reading -------------------------------------------------------------------------------- */

/* A new document at the end; NULL: no memory is left. */
static struct document *check_add(struct check *check, const char *file, size_t number)
{
    struct document *document;

    if (COR_ARRAY_RESERVE(&check->documents, check->ndocuments, &check->documents_cap,
                          DOCUMENTS_MAX) < 0)
        return NULL;
    document = &check->documents[check->ndocuments++];
    *document = (struct document){.file = file, .number = number};
    cor_buf_init(&document->json, COR_CRD_CHECK_OBJECT_MAX);
    return document;
}

/* Adds a document whose JSON is known, or the items of a List in its place. */
static int check_add_json(struct check *check, const char *file, size_t number, struct cor_str json)
{
    struct document *document;
    struct cor_str items, kind, raw;
    int r = 0;

    if (cor_json_type(json) == COR_JSON_NULL)
        return 0;
    if (cor_json_type(json) == COR_JSON_OBJECT &&
        cor_json_get(json, COR_STR("kind"), COR_JSON_ANY_ORDER, &kind) == 0 &&
        cor_json_to_raw(kind, &raw) == 0 && cor_str_eq(raw, COR_STR("List")) &&
        cor_json_get(json, COR_STR("items"), COR_JSON_ANY_ORDER, &items) == 0) {
        struct cor_json_iter it = cor_json_iter(items);

        while (r == 0 && cor_json_iter_elem(&it))
            r = check_add_json(check, file, number, cor_json_iter_value(&it));
        return r;
    }
    document = check_add(check, file, number);
    return document ? cor_buf_adds(&document->json, json) : -COR_ENOMEM;
}

/* Adds a document that cannot be read. */
static int check_add_bad(struct check *check, const char *file, size_t number, const char *why)
{
    struct document *document = check_add(check, file, number);

    if (!document)
        return -COR_ENOMEM;
    snprintf(document->why, sizeof(document->why), "%s", why);
    return 0;
}

/* The values of a JSON text, one after the other. */
static int read_json(struct check *check, const char *file, size_t *number, struct cor_str text)
{
    int r = 0;

    while (r == 0 && (text = cor_str_trim(text)).n > 0) {
        struct cor_str value = cor_json_first_value(text);
        struct cor_json_error err = {0};
        bool is_canonical;

        if (value.n == 0)
            value = text;
        if (cor_json_check(value, &COR_JSON_LIMITS_DEFAULT, &is_canonical, &err) < 0)
            return check_add_bad(check, file, ++*number, err.message);
        r = check_add_json(check, file, ++*number, value);
        text = cor_str_from(text, (size_t)(value.p + value.n - text.p));
    }
    return r;
}

static int read_yaml(struct check *check, const char *file, size_t *number, struct cor_str text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = COR_CRD_CHECK_OBJECT_MAX};
    struct cor_yaml_error err = {.message = ""};
    int r = cor_yaml_to_json(text, &json, NULL, &err);

    if (r == -COR_ENOMEM)
        return r;
    if (r < 0)
        return check_add_bad(check, file, ++*number, err.message);
    if (cor_str_eq(cor_buf_str(&json), COR_STR("null")))
        return 0;
    return check_add_json(check, file, ++*number, cor_buf_str(&json));
}

/* A document ends before a line that begins with three dashes. */
static struct cor_str cut_document(struct cor_str *rest)
{
    struct cor_str text = *rest;
    size_t at = 0;

    while (at < text.n) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        size_t next = end ? (size_t)(end - text.p) + 1 : text.n;

        if (cor_str_starts(cor_str_from(text, next), COR_STR("---"))) {
            *rest = cor_str_from(text, next + 3);
            return cor_str(text.p, next);
        }
        at = next;
    }
    *rest = (struct cor_str){NULL, 0};
    return text;
}

static int read_text(struct check *check, const char *file, struct cor_str text)
{
    size_t number = 0;
    int r = 0;

    if (cor_str_starts(text, COR_STR("---")))
        text = cor_str_from(text, 3);
    while (r == 0 && text.p) {
        struct cor_str document = cut_document(&text), trimmed = cor_str_trim(document);

        if (cor_str_starts(trimmed, COR_STR("{")))
            r = read_json(check, file, &number, trimmed);
        else
            r = read_yaml(check, file, &number, document);
    }
    return r;
}

/* False after a message. */
static bool read_file(struct check *check, const char *file)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = COR_CRD_CHECK_INPUT_MAX};
    FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "rb");
    char chunk[16384];
    bool is_read;
    size_t n;
    int r = 0;

    if (!f) {
        fprintf(stderr, "coracle: %s: %s\n", file, strerror(errno));
        return false;
    }
    while (r == 0 && (n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        r = cor_buf_add(&text, chunk, n);
    is_read = !ferror(f);
    if (!is_read)
        fprintf(stderr, "coracle: %s: %s\n", file, strerror(errno));
    if (f != stdin)
        fclose(f);
    if (r == 0 && is_read)
        r = read_text(check, file, cor_buf_str(&text));
    if (r < 0)
        fprintf(stderr, "coracle: %s: %s\n", file, cor_err_text(r));
    return r == 0 && is_read;
}

/* --- checking ------------------------------------------------------------------------------- */

/* Words may quote what is in the document: nothing in them begins a line or moves the cursor. */
static void print_words(struct cor_str words)
{
    for (size_t i = 0; i < words.n; i++) {
        unsigned char c = (unsigned char)words.p[i];

        putchar(c < 0x20 || c == 0x7f ? ' ' : c);
    }
}

static void print_finding(void *arg, bool is_warning, struct cor_str path, struct cor_str words)
{
    const struct document *document = ((struct check *)arg)->current;

    if (!document)
        return;
    printf("%s#%zu: %s: ", document->file, document->number, is_warning ? "warning" : "error");
    print_words(path);
    fputs(path.n > 0 ? ": " : "", stdout);
    print_words(words);
    putchar('\n');
}

static void check_say(struct check *check, bool is_warning, const char *words)
{
    if (is_warning)
        check->report.nwarnings++;
    else
        check->report.nerrors++;
    print_finding(check, is_warning, COR_STR(""), cor_strz(words));
}

/* Keeps the definitions that are in order. */
static int find_definitions(struct check *check)
{
    for (size_t i = 0; i < check->ndocuments; i++) {
        struct cor_str json = cor_buf_str(&check->documents[i].json);
        struct cor_buf definition;
        int r;

        if (json.n == 0 || !cor_custom_is_definition(json))
            continue;
        cor_buf_init(&definition, DEFINITION_BYTES);
        r = cor_custom_check_definition(json, &check->report, &definition);
        if (r == 0 && definition.n > 0)
            r = COR_ARRAY_RESERVE(&check->definitions, check->ndefinitions, &check->definitions_cap,
                                  DEFINITIONS_MAX);
        if (r < 0 || definition.n == 0) {
            cor_buf_deinit(&definition);
            if (r < 0)
                return r;
            continue;
        }
        check->definitions[check->ndefinitions++] = definition;
    }
    return 0;
}

static bool is_built_in(struct cor_str json)
{
    struct cor_str version = {NULL, 0}, kind = {NULL, 0};
    struct cor_gv gv;

    if (cor_json_get(json, COR_STR("apiVersion"), COR_JSON_ANY_ORDER, &version) < 0 ||
        cor_json_get(json, COR_STR("kind"), COR_JSON_ANY_ORDER, &kind) < 0 ||
        cor_json_to_raw(version, &version) < 0 || cor_json_to_raw(kind, &kind) < 0)
        return false;
    return cor_gv_parse(version, &gv, NULL) == 0 && cor_type_of_kind(gv.group, gv.version, kind);
}

static int check_document(struct check *check, const struct document *document)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf ignored = {.max = DEFINITION_BYTES};
    struct cor_str json = cor_buf_str(&document->json);

    check->current = document;
    if (json.n == 0) {
        check_say(check, false, document->why);
        return 0;
    }
    if (cor_custom_is_definition(json))
        return cor_custom_check_definition(json, &check->report, &ignored);
    for (size_t i = 0; i < check->ndefinitions; i++) {
        if (cor_custom_defines(cor_buf_str(&check->definitions[i]), json))
            return cor_custom_check_object(cor_buf_str(&check->definitions[i]), json,
                                           &check->report);
    }
    if (!is_built_in(json))
        check_say(check, true, "not checked: no valid definition of its kind is in the files");
    return 0;
}

static int run_crd_check(const void *opts, const char *const *args, size_t nargs)
{
    const struct check_opts *check_opts = opts;
    COR_CLEANUP(check_deinit) struct check check = {0};
    bool is_read = true;
    int r;

    check.report = (struct cor_custom_report){.on_finding = print_finding, .arg = &check};
    for (size_t i = 0; i < nargs; i++)
        is_read = read_file(&check, args[i]) && is_read;
    if (!is_read)
        return EXIT_USAGE;
    r = find_definitions(&check);
    check.report.nerrors = check.report.nwarnings = 0;
    for (size_t i = 0; r == 0 && i < check.ndocuments; i++)
        r = check_document(&check, &check.documents[i]);
    if (r < 0) {
        fprintf(stderr, "coracle: %s\n", cor_err_text(r));
        return EXIT_FAILED;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "coracle: standard output: %s\n", strerror(errno));
        return EXIT_FAILED;
    }
    return check.report.nerrors > 0 || (check_opts->is_strict && check.report.nwarnings > 0)
               ? EXIT_FAILED
               : EXIT_OK;
}

static const struct check_opts check_defaults = {.is_strict = false};

static const struct flag check_flags[] = {
    {.name = "strict",
     .kind = FLAG_SWITCH,
     .at = offsetof(struct check_opts, is_strict),
     .help = "a warning, such as an unknown field, is a failure"},
};

const struct command crd_check = {
    .group = "crd",
    .name = "check",
    .args = "FILE...",
    .summary = "Check definitions of custom resources, and objects of them, without a server",
    .details = "Files have YAML or JSON, any number of documents each; - is standard input. A line "
               "is printed for each cause, with the file, the number of the document and the "
               "field. Objects are checked by the definitions in the same files.",
    .flags = check_flags,
    .nflags = COR_ARRAY_LEN(check_flags),
    .args_min = 1,
    .args_max = COMMAND_ARGS_MAX,
    .opts_default = &check_defaults,
    .opts_size = sizeof(check_defaults),
    .run = run_crd_check,
};
