/* Promises of the walks of server-side apply: an object does not differ from itself; what is merged
 * is of its type; and to apply the same configuration again changes nothing. The first line names a
 * type of api/, or is the schema of a custom resource; the second is the live object, the third a
 * configuration. */
#include "base/err.h"
#include "fuzz.h"
#include "schema/apply/field_managers.h"
#include "schema/structural/structural.h"
#include "json/text/json.h"

#define BYTES_MAX (64u << 20)

static bool place_of(void *arg, struct cor_str version, struct cor_apply_place *ret_place)
{
    (void)version;
    *ret_place = *(const struct cor_apply_place *)arg;
    return true;
}

/* Reads a line as an object of the type, in canonical form. */
static bool read_line(struct cor_str line, const struct cor_apply_place *place,
                      bool allow_duplicates, struct cor_buf *text)
{
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    struct cor_json_nodes json;
    struct cor_buf words;
    int r;

    cor_buf_init(text, BYTES_MAX);
    if (cor_json_canonicalize(line, &limits, text, NULL, NULL) < 0)
        return false;
    cor_buf_init(&words, BYTES_MAX);
    r = cor_json_nodes_init(&json, cor_buf_str(text));
    FUZZ_CHECK(r == 0);
    r = cor_typed_check((struct cor_typed){place, &json}, allow_duplicates, &words);
    FUZZ_CHECK(r == 0 || (r == -COR_EINVALID && words.n > 0));
    cor_json_nodes_deinit(&json);
    cor_buf_deinit(&words);
    return r == 0 && text->n > 0 && text->p[0] == '{';
}

static void check_same(struct cor_arena *arena, const struct cor_apply_place *place,
                       struct cor_str object)
{
    struct cor_comparison c;
    struct cor_json_nodes json;

    FUZZ_CHECK(cor_json_nodes_init(&json, object) == 0);
    FUZZ_CHECK(cor_typed_equal((struct cor_typed){place, &json}, (struct cor_typed){place, &json}));
    FUZZ_CHECK(cor_typed_compare((struct cor_typed){place, &json}, (struct cor_typed){place, &json},
                                 arena, &c) == 0);
    FUZZ_CHECK(!c.added.first && !c.modified.first && !c.removed.first);
    cor_json_nodes_deinit(&json);
}

static void check_apply(struct cor_arena *arena, const struct cor_apply_place *place,
                        struct cor_str live, struct cor_str config)
{
    const struct cor_apply_versions versions = {.arg = (void *)place, .place = place_of};
    struct cor_apply_request request = {.arena = arena,
                                        .versions = &versions,
                                        .manager = COR_STR("a"),
                                        .api_version = COR_STR("v1"),
                                        .now = COR_STR("2026-01-01T00:00:00Z"),
                                        .force = true};
    struct cor_field_managers managers = {0};
    struct cor_buf first, second, words, text;

    cor_buf_init(&first, BYTES_MAX);
    cor_buf_init(&second, BYTES_MAX);
    cor_buf_init(&words, BYTES_MAX);
    FUZZ_CHECK(cor_field_managers_apply(&managers, &request, COR_STR("{}"), live, config, &first,
                                        &words) >= 0);
    FUZZ_CHECK(read_line(cor_buf_str(&first), place, true, &text));
    FUZZ_CHECK(cor_field_managers_apply(&managers, &request, COR_STR("{}"), cor_buf_str(&first),
                                        config, &second, &words) == 1);
    FUZZ_CHECK(cor_str_eq(cor_buf_str(&first), cor_buf_str(&second)));
    cor_buf_reset(&words);
    FUZZ_CHECK(cor_field_managers_write(&managers, &words) == 0);
    FUZZ_CHECK(cor_field_managers_read(arena, cor_buf_str(&words), &managers, NULL) == 0);
    cor_buf_deinit(&text);
    cor_buf_deinit(&first);
    cor_buf_deinit(&second);
    cor_buf_deinit(&words);
}

static void check_place(const struct cor_apply_place *place, struct cor_str rest)
{
    struct cor_str line = cor_str_cut(&rest, '\n');
    struct cor_buf live = {0}, config = {0};
    struct cor_arena arena;

    if (!rest.p)
        return;
    cor_arena_init(&arena, BYTES_MAX);
    if (read_line(line, place, true, &live)) {
        check_same(&arena, place, cor_buf_str(&live));
        if (read_line(rest, place, false, &config))
            check_apply(&arena, place, cor_buf_str(&live), cor_buf_str(&config));
    }
    cor_arena_deinit(&arena);
    cor_buf_deinit(&live);
    cor_buf_deinit(&config);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    COR_CLEANUP(cor_structural_freep) struct cor_structural *schema = NULL;
    struct cor_str rest = cor_str((const char *)data, size), line = cor_str_cut(&rest, '\n');
    const struct cor_type *type = cor_type_named(line);
    struct cor_apply_place place;

    if (type && cor_type_shape(type) == COR_SHAPE_STRUCT) {
        place = cor_apply_place_builtin(type);
        check_place(&place, rest);
    } else if (cor_structural_compile(line, NULL, &schema, NULL) == 0) {
        place = cor_apply_place_structural(schema);
        check_place(&place, rest);
    }
    return 0;
}
