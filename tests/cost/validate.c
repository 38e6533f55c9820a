/* clang-format off */
/* Drives validation with objects in which the lists and maps of one struct have N elements, for
 * shapes.py, which compares the work, as work.h counts it, or valgrind:
 *
 *   validate_cost N...              every struct with lists below every kind that has a program
 *   validate_cost --only NAME N...  the one with this name
 *
 * A struct is driven once, in the first kind that leads to it. All other fields are set, too, with
 * one element each. Each object is created and replaces itself inside of drive_request(). The last
 * object is a pod with SENT_TIMES N containers, each of which was sent with an empty list; it
 * replaces a pod with other images. One line is printed for each: the name of the struct, its
 * elements, the bytes of the object, the number of errors, and the work. */
/* clang-format on */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "schema/validate/validate.h"
#include "work.h"
#include "json/write/writer.h"

#define TEXT_MAX  (64u << 20)
#define DEPTH_MAX 12   /* of structs in structs; more is left out */
#define TYPES_MAX 2048 /* structs of all kinds */
#define DIGITS    8    /* of the numbers in strings and keys */
/* What a container costs hides the search for its place in what was sent, unless there are many. */
#define SENT_TIMES 25
#define SENT_NAME  "core_v1.Pod:sent_containers"

/* What is written: an object in which the lists and maps of the struct `chosen` have `n` elements.
 */
struct maker {
    struct cor_json_writer w;
    const struct cor_type *chosen;
    size_t n, next; /* number of the next string, so that all differ */
    const struct cor_type
        *open[DEPTH_MAX]; /* the structs around what is written; NULL: a list or map */
};

static void write_value(struct maker *maker, const struct cor_type *type, size_t n, size_t depth);

/* A letter and a number of DIGITS digits. Valgrind runs this, too: printf() would take a sixth of
 * the whole test. */
static struct cor_str make_name(char letter, size_t number, char out[DIGITS + 1])
{
    out[0] = letter;
    for (size_t i = DIGITS; i > 0; i--, number /= 10)
        out[i] = (char)('0' + number % 10);
    return cor_str(out, DIGITS + 1);
}

static void write_text(struct maker *maker)
{
    char text[DIGITS + 1];

    cor_json_string(&maker->w, make_name('e', maker->next++, text));
}

/* Is the struct inside of one of its own type? A schema has schemas in a dozen fields. */
static bool is_within_itself(const struct maker *maker, const struct cor_type *type, size_t depth)
{
    for (size_t i = 0; i < depth; i++) {
        if (maker->open[i] == type)
            return true;
    }
    return false;
}

static void write_struct(struct maker *maker, const struct cor_type *type, size_t depth)
{
    bool is_left_out = depth >= DEPTH_MAX || is_within_itself(maker, type, depth);

    cor_json_begin_object(&maker->w);
    if (!is_left_out)
        maker->open[depth] = type;
    for (size_t i = 0; i < cor_type_nmembers(type) && !is_left_out; i++) {
        struct cor_member member;

        cor_type_member(type, i, &member);
        cor_json_key(&maker->w, cor_type_field_name(member.field));
        write_value(maker, cor_type_field_type(member.field), type == maker->chosen ? maker->n : 1,
                    depth + 1);
    }
    cor_json_end_object(&maker->w);
}

/* Keys have as many digits each, so that they are in order. */
static void write_map(struct maker *maker, const struct cor_type *type, size_t n, size_t depth)
{
    char key[DIGITS + 1];

    cor_json_begin_object(&maker->w);
    for (size_t i = 0; i < n; i++) {
        cor_json_key(&maker->w, make_name('k', i, key));
        write_value(maker, cor_type_element(type), 1, depth + 1);
    }
    cor_json_end_object(&maker->w);
}

static void write_value(struct maker *maker, const struct cor_type *type, size_t n, size_t depth)
{
    if (depth < DEPTH_MAX)
        maker->open[depth] = NULL;
    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT:
        write_struct(maker, type, depth);
        break;
    case COR_SHAPE_LIST:
        cor_json_begin_array(&maker->w);
        for (size_t i = 0; i < n; i++)
            write_value(maker, cor_type_element(type), 1, depth + 1);
        cor_json_end_array(&maker->w);
        break;
    case COR_SHAPE_MAP:
        write_map(maker, type, n, depth);
        break;
    case COR_SHAPE_STRING:
        if (cor_type_nvalues(type) > 0)
            cor_json_string(&maker->w, cor_type_value(type, 0));
        else
            write_text(maker);
        break;
    case COR_SHAPE_BOOL:
        cor_json_bool(&maker->w, true);
        break;
    case COR_SHAPE_BYTES:
        cor_json_string(&maker->w, COR_STR("eA=="));
        break;
    case COR_SHAPE_TIME:
        cor_json_string(&maker->w, COR_STR("2025-01-01T00:00:00Z"));
        break;
    case COR_SHAPE_MICRO_TIME:
        cor_json_string(&maker->w, COR_STR("2025-01-01T00:00:00.000000Z"));
        break;
    case COR_SHAPE_QUANTITY:
        cor_json_string(&maker->w, COR_STR("1"));
        break;
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
    case COR_SHAPE_INT_OR_STRING:
        cor_json_raw(&maker->w, COR_STR("1"));
        break;
    default:
        cor_json_raw(&maker->w, COR_STR("null"));
        break;
    }
}

static int drop_warning(void *arg, struct cor_str text)
{
    (void)arg;
    (void)text;
    return 0;
}

static void drive_operation(struct cor_validation *validation, enum cor_check_operation operation,
                            struct cor_str old, struct cor_field_errors *errors)
{
    validation->operation = operation;
    validation->old = operation == COR_CHECK_CREATE ? (struct cor_str){NULL, 0} : old;
    (void)cor_validate(validation, errors);
    cor_validate_warn(validation, errors);
}

/* Valgrind counts what happens in here. The object replaces `old`, or itself in all operations. */
__attribute__((noinline)) static void drive_request(struct cor_validation *validation,
                                                    struct cor_str old,
                                                    struct cor_field_errors *errors)
{
    if (old.p) {
        drive_operation(validation, COR_CHECK_UPDATE, old, errors);
        return;
    }
    for (size_t i = 0; i < COR_CHECK_OPERATIONS_N; i++)
        drive_operation(validation, (enum cor_check_operation)i, validation->object, errors);
}

static void drive_struct(const struct cor_type *kind, const struct cor_type *chosen,
                         const char *name, size_t n)
{
    struct maker maker = {.chosen = chosen, .n = n};
    struct cor_field_errors errors = {0};
    struct cor_validation validation = {
        .type = kind, .meta = {COR_NAME_DNS1123_SUBDOMAIN, true, false}, .warn = drop_warning};
    struct cor_buf json;
    uint64_t work;

    cor_buf_init(&json, TEXT_MAX);
    cor_json_writer_init(&maker.w, &json);
    write_struct(&maker, kind, 0);
    if (cor_json_writer_finish(&maker.w) < 0)
        abort();
    validation.object = cor_buf_str(&json);
    work = work_so_far();
    drive_request(&validation, (struct cor_str){NULL, 0}, &errors);
    work = work_so_far() - work;
    if (errors.error < 0)
        abort();
    printf("%s %zu %zu %zu %" PRIu64 "\n", name, n, json.n, errors.n, work);
    fflush(stdout);
    cor_field_errors_deinit(&errors);
    cor_buf_deinit(&json);
}

/* A pod with `n` valid containers; `command` is a member with a comma, or "": they have none. */
static void write_pod(struct cor_buf *out, size_t n, const char *command, const char *image)
{
    char name[DIGITS + 1];

    (void)cor_buf_addz(out, "{\"metadata\":{\"name\":\"n\",\"namespace\":\"ns\"},"
                            "\"spec\":{\"containers\":[");
    for (size_t i = 0; i < n; i++)
        (void)cor_buf_addf(out,
                           "%s{%s\"image\":\"%s\",\"imagePullPolicy\":\"Always\","
                           "\"name\":\"%.*s\",\"terminationMessagePolicy\":\"File\"}",
                           i > 0 ? "," : "", command, image, COR_STR_ARG(make_name('c', i, name)));
    if (cor_buf_addz(out, "]}}") < 0)
        abort();
}

/* An update of all images of a pod whose containers were sent with an empty command. */
static void drive_sent(size_t n)
{
    struct cor_field_errors errors = {0};
    struct cor_validation validation = {.type = cor_type_named(COR_STR("core_v1.Pod")),
                                        .meta = {COR_NAME_DNS1123_SUBDOMAIN, true, false},
                                        .warn = drop_warning};
    struct cor_buf object, sent, old;
    uint64_t work;

    cor_buf_init(&object, TEXT_MAX);
    cor_buf_init(&sent, TEXT_MAX);
    cor_buf_init(&old, TEXT_MAX);
    write_pod(&object, n, "", "new");
    write_pod(&sent, n, "\"command\":[],", "new");
    write_pod(&old, n, "", "old");
    validation.object = cor_buf_str(&object);
    validation.sent = cor_buf_str(&sent);
    work = work_so_far();
    drive_request(&validation, cor_buf_str(&old), &errors);
    work = work_so_far() - work;
    if (errors.error < 0)
        abort();
    printf("%s %zu %zu %zu %" PRIu64 "\n", SENT_NAME, n, sent.n, errors.n, work);
    cor_field_errors_deinit(&errors);
    cor_buf_deinit(&object);
    cor_buf_deinit(&sent);
    cor_buf_deinit(&old);
}

/* The structs that were driven. */
struct driven {
    const struct cor_type *types[TYPES_MAX];
    size_t n;
    const char *only;
    char **sizes; /* ends with NULL */
};

static bool is_driven(const struct driven *driven, const struct cor_type *type)
{
    for (size_t i = 0; i < driven->n; i++) {
        if (driven->types[i] == type)
            return true;
    }
    return false;
}

static bool has_lists(const struct cor_type *type)
{
    for (size_t i = 0; i < cor_type_nmembers(type); i++) {
        struct cor_member member;

        cor_type_member(type, i, &member);
        if (cor_type_element(cor_type_field_type(member.field)))
            return true;
    }
    return false;
}

static void drive_below(struct driven *driven, const struct cor_type *kind,
                        const struct cor_type *type, size_t depth)
{
    char name[256];

    if (is_driven(driven, type) || driven->n == TYPES_MAX || depth >= DEPTH_MAX)
        return;
    driven->types[driven->n++] = type;
    snprintf(name, sizeof(name), "%.*s:%.*s", COR_STR_ARG(cor_type_name(kind)),
             COR_STR_ARG(cor_type_name(type)));
    for (size_t s = 0; has_lists(type) && driven->sizes[s]; s++) {
        if (!driven->only || strcmp(driven->only, name) == 0)
            drive_struct(kind, type, name, strtoull(driven->sizes[s], NULL, 10));
    }
    for (size_t i = 0; i < cor_type_nmembers(type); i++) {
        const struct cor_type *below;
        struct cor_member member;

        cor_type_member(type, i, &member);
        below = cor_type_field_type(member.field);
        while (cor_type_element(below))
            below = cor_type_element(below);
        if (cor_type_shape(below) == COR_SHAPE_STRUCT)
            drive_below(driven, kind, below, depth + 1);
    }
}

int main(int argc, char **argv)
{
    static struct driven driven;

    (void)argc;
    driven.sizes = argv + 1;
    if (argc > 2 && strcmp(argv[1], "--only") == 0) {
        driven.only = argv[2];
        driven.sizes += 2;
    }
    for (size_t i = 0; i < cor_types_count(); i++) {
        const struct cor_type *type = cor_type_at(i);

        if (cor_type_is(type, COR_TYPE_KIND) && cor_validate_has(type, COR_CHECK_CREATE))
            drive_below(&driven, type, type, 0);
    }
    for (size_t s = 0; driven.sizes[s]; s++) {
        if (!driven.only || strcmp(driven.only, SENT_NAME) == 0)
            drive_sent(SENT_TIMES * strtoull(driven.sizes[s], NULL, 10));
    }
    return 0;
}
