/* Promises of the entries of managedFields: what is read is written, and read again as the same;
 * no two entries have one name; an update that changes nothing moves nothing; the short ways of an
 * update and of a creation give what the long way gives; and the scale of an object leaves all that
 * is not the replicas. The first line is a list of managedFields, the second a config map, the
 * third what becomes of it. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "schema/apply/field_managers.h"
#include "schema/apply/scale_managers.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define BYTES_MAX (64u << 20)
#define NOW       "2026-01-01T00:00:00Z"

static bool place_of(void *arg, struct cor_str version, struct cor_apply_place *ret_place)
{
    *ret_place = cor_apply_place_builtin(arg);
    return cor_str_eq(version, COR_STR("v1"));
}

/* Appends a line as canonical JSON of the given type. */
static bool read_line(struct cor_str line, enum cor_json_type type, struct cor_buf *text)
{
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;

    cor_buf_init(text, BYTES_MAX);
    return cor_json_canonicalize(line, &limits, text, NULL, NULL) == 0 &&
           cor_json_type(cor_buf_str(text)) == type;
}

static bool is_typed(const struct cor_type *type, struct cor_str object)
{
    struct cor_apply_place place = cor_apply_place_builtin(type);
    struct cor_json_nodes json;
    struct cor_buf words;
    int r;

    cor_buf_init(&words, BYTES_MAX);
    FUZZ_CHECK(cor_json_nodes_init(&json, object) == 0);
    r = cor_typed_check((struct cor_typed){&place, &json}, true, &words);
    cor_json_nodes_deinit(&json);
    cor_buf_deinit(&words);
    return r == 0;
}

/* The list as the server writes it. */
static void write_again(struct cor_arena *arena, struct cor_str list, struct cor_buf *out)
{
    struct cor_field_managers managers;

    FUZZ_CHECK(cor_field_managers_read(arena, list, &managers, NULL) == 0);
    for (size_t i = 0; i < managers.n; i++) {
        for (size_t k = 0; k < i; k++) {
            const struct cor_field_manager *a = &managers.v[k], *b = &managers.v[i];

            FUZZ_CHECK(a->is_apply != b->is_apply || !cor_str_eq(a->name, b->name) ||
                       !cor_str_eq(a->subresource, b->subresource) ||
                       (!a->is_apply && !cor_str_eq(a->api_version, b->api_version)));
        }
    }
    cor_buf_init(out, BYTES_MAX);
    FUZZ_CHECK(cor_field_managers_write(&managers, out) == 0);
}

static void check_update(const struct cor_apply_request *request, struct cor_str list,
                         struct cor_str before, struct cor_str after)
{
    struct cor_field_managers managers;
    struct cor_buf slow, quick;
    int r;

    cor_buf_init(&slow, BYTES_MAX);
    cor_buf_init(&quick, BYTES_MAX);
    FUZZ_CHECK(cor_field_managers_read(request->arena, list, &managers, NULL) == 0);
    FUZZ_CHECK(cor_field_managers_update(&managers, request, before, after) == 0);
    FUZZ_CHECK(cor_field_managers_write(&managers, &slow) == 0);
    r = cor_field_managers_keep(request, list, before, after, &quick);
    FUZZ_CHECK(r >= 0);
    if (r > 0)
        FUZZ_CHECK(
            cor_str_eq(cor_buf_str(&slow), r == COR_MANAGERS_SAME ? list : cor_buf_str(&quick)));
    cor_buf_deinit(&slow);
    cor_buf_deinit(&quick);
}

static void check_create(const struct cor_apply_request *request, struct cor_str after)
{
    static const char zero[] = "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{}}";
    struct cor_str before = cor_str(zero, sizeof(zero) - 1);
    struct cor_field_managers managers = {0};
    struct cor_buf slow, quick;
    int r;

    cor_buf_init(&slow, BYTES_MAX);
    cor_buf_init(&quick, BYTES_MAX);
    FUZZ_CHECK(cor_field_managers_update(&managers, request, before, after) == 0);
    FUZZ_CHECK(cor_field_managers_write(&managers, &slow) == 0);
    r = cor_field_managers_create(request, before, after, &quick);
    FUZZ_CHECK(r >= 0);
    if (r == COR_MANAGERS_MADE)
        FUZZ_CHECK(cor_str_eq(cor_buf_str(&slow), cor_buf_str(&quick)));
    cor_buf_deinit(&slow);
    cor_buf_deinit(&quick);
}

/* A scale that nobody writes to: applies keep everything. */
static void check_scale(struct cor_arena *arena, struct cor_str list)
{
    struct cor_scale_managers scale = {.arena = arena,
                                       .parent_version = COR_STR("v1"),
                                       .scale_version = COR_STR("autoscaling/v1")};
    struct cor_field_managers parent, shown, back;

    FUZZ_CHECK(cor_fieldset_read(arena, COR_STR("{\"f:spec\":{\"f:replicas\":{}}}"),
                                 &scale.parent_fields) == 0);
    scale.scale_fields = scale.parent_fields;
    FUZZ_CHECK(cor_field_managers_read(arena, list, &parent, NULL) == 0);
    FUZZ_CHECK(cor_scale_managers_show(&scale, &parent, &shown) == 0 && shown.n <= parent.n);
    FUZZ_CHECK(cor_scale_managers_return(&scale, &parent, &shown, &back) == 0);
    FUZZ_CHECK(back.n <= 2 * parent.n);
    for (size_t i = 0; i < back.n; i++)
        FUZZ_CHECK(!cor_fieldset_is_empty(back.v[i].set));
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str rest = cor_str((const char *)data, size);
    const struct cor_type *type = cor_type_named(COR_STR("core_v1.ConfigMap"));
    const struct cor_apply_versions versions = {.arg = (void *)type, .place = place_of};
    struct cor_buf list = {0}, before = {0}, after = {0}, first = {0}, second = {0};
    struct cor_str line = cor_str_cut(&rest, '\n'), object = cor_str_cut(&rest, '\n');
    struct cor_field_managers managers;
    struct cor_arena arena;
    struct cor_apply_request request = {.arena = &arena,
                                        .versions = &versions,
                                        .manager = COR_STR("a"),
                                        .api_version = COR_STR("v1"),
                                        .now = COR_STR(NOW)};

    cor_arena_init(&arena, BYTES_MAX);
    if (read_line(line, COR_JSON_ARRAY, &list) &&
        cor_field_managers_read(&arena, cor_buf_str(&list), &managers, NULL) == 0 &&
        managers.n > 0) {
        write_again(&arena, cor_buf_str(&list), &first);
        write_again(&arena, cor_buf_str(&first), &second);
        FUZZ_CHECK(cor_str_eq(cor_buf_str(&first), cor_buf_str(&second)));
        check_scale(&arena, cor_buf_str(&first));
        if (read_line(object, COR_JSON_OBJECT, &before) &&
            read_line(rest, COR_JSON_OBJECT, &after) && is_typed(type, cor_buf_str(&before)) &&
            is_typed(type, cor_buf_str(&after))) {
            check_update(&request, cor_buf_str(&first), cor_buf_str(&before), cor_buf_str(&after));
            check_update(&request, cor_buf_str(&first), cor_buf_str(&after), cor_buf_str(&after));
            check_create(&request, cor_buf_str(&after));
        }
    }
    cor_arena_deinit(&arena);
    cor_buf_deinit(&list);
    cor_buf_deinit(&before);
    cor_buf_deinit(&after);
    cor_buf_deinit(&first);
    cor_buf_deinit(&second);
    return 0;
}
