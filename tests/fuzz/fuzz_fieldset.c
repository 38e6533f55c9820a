/* Promises of field sets: what is read is written, and read again as the same set with the same
 * bytes; and the laws of sets hold for two of them. Each of the first two lines is a FieldsV1. */
#include "base/err.h"
#include "fieldset_equal.h"
#include "fuzz.h"
#include "schema/apply/fieldset.h"
#include "json/text/json.h"

#define BYTES_MAX (64u << 20)

static bool read_line(struct cor_arena *arena, struct cor_str line, struct cor_fieldset *ret_set)
{
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    bool is_canonical;
    int r = cor_json_check(line, &limits, &is_canonical, NULL);

    if (r == 0)
        r = cor_fieldset_read(arena, line, ret_set);
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL || r == -COR_ETOOBIG);
    return r == 0;
}

static void check_round_trip(struct cor_arena *arena, struct cor_fieldset set)
{
    struct cor_fieldset again;
    struct cor_buf first, second;

    cor_buf_init(&first, BYTES_MAX);
    cor_buf_init(&second, BYTES_MAX);
    FUZZ_CHECK(cor_fieldset_write(set, &first) == 0);
    FUZZ_CHECK(read_line(arena, cor_buf_str(&first), &again));
    FUZZ_CHECK(fieldsets_equal(set, again));
    FUZZ_CHECK(cor_fieldset_write(again, &second) == 0);
    FUZZ_CHECK(cor_str_eq(cor_buf_str(&first), cor_buf_str(&second)));
    cor_buf_deinit(&first);
    cor_buf_deinit(&second);
}

static void check_laws(struct cor_arena *arena, struct cor_fieldset a, struct cor_fieldset b)
{
    struct cor_fieldset all = cor_fieldset_union(arena, a, b);
    struct cor_fieldset both = cor_fieldset_intersection(arena, a, b);
    struct cor_fieldset only_a = cor_fieldset_difference(arena, a, b);
    struct cor_fieldset only_b = cor_fieldset_difference(arena, b, a);
    struct cor_fieldset rest = cor_fieldset_recursive_difference(arena, a, b);

    FUZZ_CHECK(arena->error == 0);
    FUZZ_CHECK(fieldsets_equal(all, cor_fieldset_union(arena, b, a)));
    FUZZ_CHECK(fieldsets_equal(
        all, cor_fieldset_union(arena, both, cor_fieldset_union(arena, only_a, only_b))));
    FUZZ_CHECK(fieldsets_equal(a, cor_fieldset_union(arena, both, only_a)));
    FUZZ_CHECK(cor_fieldset_meets(a, b) == !cor_fieldset_is_empty(both));
    FUZZ_CHECK(!cor_fieldset_meets(only_a, b) && !cor_fieldset_meets(rest, b));
    FUZZ_CHECK(cor_fieldset_is_empty(cor_fieldset_difference(arena, rest, only_a)));
    check_round_trip(arena, all);
}

static int check_path(void *arg, const struct cor_path *path)
{
    struct cor_buf *out = arg;

    cor_buf_reset(out);
    FUZZ_CHECK(cor_path_print(path, out) == 0 && out->n > 0);
    return 0;
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str rest = cor_str((const char *)data, size);
    struct cor_str line = cor_str_cut(&rest, '\n');
    struct cor_fieldset a, b;
    struct cor_arena arena;
    struct cor_buf out;

    cor_arena_init(&arena, BYTES_MAX);
    cor_buf_init(&out, BYTES_MAX);
    if (read_line(&arena, line, &a)) {
        check_round_trip(&arena, a);
        cor_fieldset_each(a, check_path, &out);
        if (read_line(&arena, cor_str_cut(&rest, '\n'), &b))
            check_laws(&arena, a, b);
    }
    cor_buf_deinit(&out);
    cor_arena_deinit(&arena);
    return 0;
}
