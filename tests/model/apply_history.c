/* clang-format off */
/* Runs histories of updates and applies (schema/apply/field_managers.h) for apply_oracle.py: reads one
 * history a line from standard input, and writes one line with what the object and its managers
 * were after each operation.
 *
 *   {"ops":[{"body":{…},"manager":"a","sub":"","verb":"apply","version":"v1"},…],"schema":T}
 *   [{"managers":[…],"object":{…}},{"words":"Apply failed …"},{"error":true},…]
 *
 * The types are those of apply_schema.h. A write through the subresource "status" resets the field
 * "a", any other write the field "status". The time of step 7 is 2026-01-01T00:00:07Z. */
/* clang-format on */
#include <stdio.h>
#include <stdlib.h>

#include "apply_schema.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/apply/field_managers.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define BYTES_MAX (64u << 20)

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) < 0) {                                                                          \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #call);                             \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

struct history {
    struct cor_arena types;
    const struct cor_apply_type *type;
    struct cor_fieldset reset; /* of the operation */
    struct cor_buf live, list; /* the object (empty: there is none), and its managers */
    struct cor_buf out, words; /* of the operation */
};

static bool place_of(void *arg, struct cor_str version, struct cor_apply_place *ret_place)
{
    struct history *h = arg;

    (void)version;
    *ret_place = cor_apply_place_schema(h->type);
    return true;
}

static struct cor_fieldset reset_fields(void *arg, struct cor_str version)
{
    struct history *h = arg;

    (void)version;
    return h->reset;
}

static int convert(void *arg, struct cor_str object, struct cor_str from, struct cor_str to,
                   struct cor_buf *out)
{
    (void)arg, (void)from, (void)to;
    return cor_buf_adds(out, object);
}

static struct cor_str get(struct cor_str object, const char *key)
{
    struct cor_str value = COR_STR("");

    MUST(cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value));
    return value;
}

static struct cor_str text(struct cor_str object, const char *key)
{
    struct cor_str raw = COR_STR("");

    MUST(cor_json_to_raw(get(object, key), &raw));
    return raw;
}

/* The list after the update in `ret_list`, if the update moves no field; 0: it may. */
static int try_keep(struct cor_field_managers *managers, const struct cor_apply_request *request,
                    struct cor_str live, struct cor_str body, struct cor_buf *ret_list)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {.max = BYTES_MAX};
    int r;

    MUST(cor_field_managers_write(managers, &list));
    r = cor_field_managers_keep(request, cor_buf_str(&list), live, body, ret_list);
    if (r == COR_MANAGERS_SAME)
        MUST(cor_buf_adds(ret_list, cor_buf_str(&list)));
    return r;
}

/* The short way, if it was taken, must have the result of the long way, byte by byte. */
static void compare_lists(const char *what, const struct cor_buf *list,
                          struct cor_field_managers *managers)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf full = {.max = BYTES_MAX};

    MUST(cor_field_managers_write(managers, &full));
    if (!cor_str_eq(cor_buf_str(list), cor_buf_str(&full))) {
        fprintf(stderr, "%s %s\ninstead of %s\n", what, cor_buf_z(list), cor_buf_z(&full));
        abort();
    }
}

static int run_request(struct history *h, struct cor_field_managers *managers,
                       const struct cor_apply_request *request, struct cor_str verb,
                       struct cor_str body)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {.max = BYTES_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf created = {.max = BYTES_MAX};
    struct cor_str live = h->live.n > 0 ? cor_buf_str(&h->live) : COR_STR("{}");
    int r, kept, made = 0;

    if (!cor_str_eq(verb, COR_STR("update")))
        return cor_field_managers_apply(managers, request, COR_STR("{}"), live, body, &h->out,
                                        &h->words);
    MUST(cor_buf_adds(&h->out, body));
    if (managers->n == 0 && h->live.n > 0) /* such an object is not tracked */
        return 0;
    kept = try_keep(managers, request, live, body, &list);
    if (managers->n == 0)
        made = cor_field_managers_create(request, live, body, &created);
    r = cor_field_managers_update(managers, request, live, body);
    if (kept > 0 && r == 0)
        compare_lists("kept", &list, managers);
    if (made == COR_MANAGERS_NONE)
        MUST(cor_buf_addz(&created, "null"));
    if (made > 0) {
        MUST(r);
        compare_lists("made", &created, managers);
    }
    if (r == -COR_EINVALID)
        managers->n = 0;
    return r == -COR_EINVALID ? 0 : r;
}

static void run_op(struct history *h, struct cor_str op, size_t i)
{
    const struct cor_apply_versions versions = {h, place_of, reset_fields, convert};
    struct cor_str verb = text(op, "verb"), sub = text(op, "sub");
    struct cor_field_managers managers = {0};
    struct cor_arena arena;
    char now[32];
    struct cor_apply_request request = {
        .arena = &arena,
        .versions = &versions,
        .manager = text(op, "manager"),
        .api_version = text(op, "version"),
        .subresource = sub,
        .now = cor_str(now, sizeof("2026-01-01T00:00:00Z") - 1),
        .force = cor_str_eq(verb, COR_STR("force")),
    };
    int r;

    snprintf(now, sizeof(now), "2026-01-01T00:00:%02zuZ", i % 60);
    cor_arena_init(&arena, BYTES_MAX);
    cor_buf_reset(&h->out);
    cor_buf_reset(&h->words);
    MUST(cor_fieldset_read(
        &h->types, sub.n > 0 ? COR_STR("{\"f:a\":{}}") : COR_STR("{\"f:status\":{}}"), &h->reset));
    MUST(cor_field_managers_read(&arena, cor_buf_str(&h->list), &managers, NULL));
    r = run_request(h, &managers, &request, verb, get(op, "body"));
    if (r >= 0) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf list = {.max = BYTES_MAX};

        MUST(cor_field_managers_write(&managers, &list));
        cor_buf_reset(&h->list);
        MUST(cor_buf_adds(&h->list, cor_buf_str(&list)));
        cor_buf_reset(&h->live);
        MUST(cor_buf_adds(&h->live, cor_buf_str(&h->out)));
        printf("{\"managers\":%s,\"object\":%s}", cor_buf_z(&h->list), cor_buf_z(&h->live));
    } else if (r == -COR_ECONFLICT) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = BYTES_MAX};

        MUST(cor_json_quote(&quoted, cor_buf_str(&h->words)));
        printf("{\"words\":%s}", cor_buf_z(&quoted));
    } else if (r == -COR_EINVALID) {
        printf("{\"error\":true}");
    } else {
        MUST(r);
    }
    cor_arena_deinit(&arena);
}

static void run_history(struct cor_str line)
{
    struct history h = {0};
    struct cor_json_iter it = cor_json_iter(get(line, "ops"));

    cor_arena_init(&h.types, BYTES_MAX);
    cor_buf_init(&h.live, BYTES_MAX);
    cor_buf_init(&h.list, BYTES_MAX);
    cor_buf_init(&h.out, BYTES_MAX);
    cor_buf_init(&h.words, BYTES_MAX);
    h.type = apply_schema_read(&h.types, get(line, "schema"));
    putchar('[');
    for (size_t i = 0; cor_json_iter_elem(&it); i++) {
        if (i > 0)
            putchar(',');
        run_op(&h, cor_json_iter_value(&it), i);
    }
    printf("]\n");
    cor_buf_deinit(&h.live);
    cor_buf_deinit(&h.list);
    cor_buf_deinit(&h.out);
    cor_buf_deinit(&h.words);
    cor_arena_deinit(&h.types);
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    while ((n = getline(&line, &cap, stdin)) > 0)
        run_history(cor_str(line, (size_t)n));
    free(line);
    return ferror(stdin) ? 1 : 0;
}
