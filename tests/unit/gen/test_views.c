/* Every generated view beside the generic ones: random objects of every kind, with all members set
 * and with members missing, null or of another type, and upstream's golden objects. No view
 * allocates anything. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "meta/object/object.h"
#include "random_object.h"
#include "schema/types/types.h"
#include "view_checks.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define OBJECT_MAX (1u << 22)
#define LOOSE_RUNS 20

static bool is_nothing(struct cor_view view)
{
    return cor_view_type(view) == COR_JSON_NONE || cor_view_type(view) == COR_JSON_NULL;
}

static void see(size_t place)
{
    view_seen[place] = 1;
}

void check_text(size_t place, struct cor_view want, struct cor_text got)
{
    struct cor_str raw;

    if (cor_view_raw(want, &raw) < 0) {
        assert_false(cor_text_exists(got));
        return;
    }
    see(place);
    if (!cor_text_exists(got) || cor_json_raw_cmp(got.raw, raw) != 0)
        fail_msg("%s: %.*s, not %.*s", view_places[place], COR_STR_ARG(got.raw), COR_STR_ARG(raw));
}

void check_int(size_t place, struct cor_view want, int64_t got, enum int_form form)
{
    int64_t v = cor_view_int_or(want, 0);

    if (form == INT32 && (v < INT32_MIN || v > INT32_MAX))
        v = 0;
    view_seen[place] |= cor_view_type(want) == COR_JSON_NUMBER;
    assert_int_equal(got, v);
}

void check_bool(size_t place, struct cor_view want, bool got)
{
    bool v = cor_view_bool_or(want, false);

    view_seen[place] |= cor_view_type(want) == COR_JSON_BOOL;
    assert_int_equal(got, v);
}

void check_double(size_t place, struct cor_view want, double got)
{
    double v = cor_view_double_or(want, 0);

    view_seen[place] |= cor_view_type(want) == COR_JSON_NUMBER;
    assert_true(got == v);
}

void check_view(size_t place, struct cor_view want, struct cor_view got)
{
    if (is_nothing(want)) {
        assert_false(cor_view_exists(got));
        return;
    }
    see(place);
    assert_ptr_equal(got.json.p, want.json.p);
    assert_int_equal(got.json.n, want.json.n);
}

void check_struct(size_t place, struct cor_view want, struct cor_value got)
{
    check_view(place, want, cor_value_view(got));
    assert_int_equal(cor_value_exists(got), !is_nothing(want));
}

void check_has(struct cor_view want, bool got)
{
    assert_int_equal(got, !is_nothing(want));
}

void check_key(struct cor_str want, struct cor_text got)
{
    assert_int_equal(cor_json_raw_cmp(got.raw, want), 0);
}

struct cor_str key_text(struct cor_text key)
{
    static char buf[1024];
    struct cor_str text;

    assert_int_equal(cor_text_get(key, buf, sizeof(buf), &text), 0);
    return text;
}

struct cor_str first_key(struct cor_view list, const char *key)
{
    struct cor_view_iter it = cor_view_iter(list);

    if (cor_view_type(list) != COR_JSON_ARRAY || !cor_view_next(&it))
        return COR_STR("");
    return cor_view_text_or(cor_view_member(it.value, cor_strz(key)), NULL, 0, "");
}

void check_by_key(struct cor_view want, const char *key, struct cor_value got)
{
    struct cor_str first = first_key(want, key);
    struct cor_view_iter it = cor_view_iter(want);

    if (first.n > 0 && cor_view_next(&it))
        assert_ptr_equal(cor_value_view(got).json.p, it.value.json.p);
}

static struct cor_view check_container(size_t place, struct cor_view want, struct cor_value got,
                                       enum cor_json_type type)
{
    const struct cor_view nothing = {{NULL, 0}, 0};

    if (cor_view_type(want) != type)
        return nothing;
    if (cor_value_len(got) != cor_view_len(want))
        fail_msg("%s: %zu entries: %.*s", view_places[place], cor_value_len(got),
                 COR_STR_ARG(want.json));
    view_seen[place] |= cor_view_len(want) > 0;
    return want;
}

struct cor_view check_array(size_t place, struct cor_view want, struct cor_value got)
{
    return check_container(place, want, got, COR_JSON_ARRAY);
}

struct cor_view check_map(size_t place, struct cor_view want, struct cor_value got)
{
    return check_container(place, want, got, COR_JSON_OBJECT);
}

void check_text_array(size_t place, struct cor_view want, struct cor_text_array got)
{
    struct cor_view_iter it = cor_view_iter(check_array(place, want, got.at));
    struct cor_text text;

    while (cor_view_next(&it)) {
        assert_true(cor_text_array_next(&got, &text));
        check_text(place, it.value, text);
    }
    assert_false(cor_text_array_next(&got, &text));
}

void check_int_array(size_t place, struct cor_view want, struct cor_int_array got)
{
    struct cor_view_iter it = cor_view_iter(check_array(place, want, got.at));
    int64_t v;

    while (cor_view_next(&it)) {
        assert_true(cor_int_array_next(&got, &v));
        check_int(place, it.value, v, INT64);
    }
    assert_false(cor_int_array_next(&got, &v));
}

void check_view_array(size_t place, struct cor_view want, struct cor_view_array got)
{
    struct cor_view_iter it = cor_view_iter(check_array(place, want, got.at));
    struct cor_view view;

    while (cor_view_next(&it)) {
        assert_true(cor_view_array_next(&got, &view));
        check_view(place, it.value, view);
    }
    assert_false(cor_view_array_next(&got, &view));
}

void check_text_map(size_t place, struct cor_view want, struct cor_text_map got)
{
    struct cor_text_map whole = got;
    struct cor_view_iter it = cor_view_iter(check_map(place, want, got.at));
    struct cor_text key, text;

    while (cor_view_next(&it)) {
        assert_true(cor_text_map_next(&got, &key, &text));
        check_key(it.key, key);
        check_text(place, it.value, text);
        check_text(place, it.value, cor_text_map_get(whole, key_text(key)));
    }
    assert_false(cor_text_map_next(&got, &key, &text));
}

void check_view_map(size_t place, struct cor_view want, struct cor_view_map got)
{
    struct cor_view_map whole = got;
    struct cor_view_iter it = cor_view_iter(check_map(place, want, got.at));
    struct cor_text key;
    struct cor_view view;

    while (cor_view_next(&it)) {
        assert_true(cor_view_map_next(&got, &key, &view));
        check_key(it.key, key);
        check_view(place, it.value, view);
        check_view(place, it.value, cor_view_map_get(whole, key_text(key)));
    }
    assert_false(cor_view_map_next(&got, &key, &view));
}

/* An object as the store has it, with sorted keys, and one as a server sent it. */
static void check_json(const struct view_check *check, struct cor_str json)
{
    const struct cor_json_limits limits = {OBJECT_MAX, COR_JSON_DEPTH_MAX, .any_number = true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf canonical;

    cor_buf_init(&canonical, OBJECT_MAX);
    assert_int_equal(cor_json_canonicalize(json, &limits, &canonical, NULL, NULL), 0);
    for (int i = 0; i < 2; i++) {
        struct cor_object *object;
        struct cor_status why;

        cor_status_init(&why);
        if (cor_object_from_json(i ? json : cor_buf_str(&canonical), &object, &why) < 0)
            fail_msg("%s: %s", check->kind, cor_status_message(&why));
        test_fail_alloc(1, true);
        check->run(object);
        assert_false(test_alloc_failed()); /* nothing was allocated */
        test_fail_alloc(0, false);
        cor_object_unref(object);
        cor_status_deinit(&why);
    }
}

/* What a head has of metadata, without anything that needs an escape. */
#define PLAIN_METADATA                                                                                \
    "{\"finalizers\":[\"a/b\",\"c\"],\"generation\":3,\"labels\":{\"app\":\"web\",\"z\":\"\"},"       \
    "\"name\":\"web-0\",\"namespace\":\"default\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\","  \
    "\"controller\":true,\"kind\":\"ReplicaSet\",\"name\":\"web\",\"uid\":\"u-1\"}],\"uid\":\"u-2\"," \
    "\"resourceVersion\":\"7\""

static bool is_of_plain_metadata(struct cor_str key)
{
    static const char *const keys[] = {"finalizers", "generation",      "labels", "name",
                                       "namespace",  "ownerReferences", "uid",    "selfLink"};

    for (size_t i = 0; i < COR_ARRAY_LEN(keys); i++)
        if (cor_str_eqz(key, keys[i]))
            return true;
    return false;
}

void random_of_kind(const struct view_check *check, enum random_form form, bool with_plain_metadata,
                    struct cor_buf *whole)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    const struct cor_type *type =
        cor_type_of_kind(cor_strz(check->group), cor_strz(check->version), cor_strz(check->kind));
    struct cor_view_iter it;

    assert_non_null(type);
    cor_buf_init(&json, OBJECT_MAX);
    random_object(type, form, &json);
    /* The random type, name and version are replaced by ones that an object must have. */
    assert_int_equal(cor_buf_addf(whole, "{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\"", check->kind,
                                  check->group, *check->group ? "/" : "", check->version),
                     0);
    it = cor_view_iter(cor_view(cor_buf_str(&json)));
    while (cor_view_next(&it)) {
        bool is_meta = cor_str_eqz(it.key, "metadata");

        if (cor_str_eqz(it.key, "kind") || cor_str_eqz(it.key, "apiVersion") ||
            (is_meta && cor_view_type(it.value) != COR_JSON_OBJECT))
            continue;
        assert_int_equal(cor_buf_addf(whole, ",\"%.*s\":%s", COR_STR_ARG(it.key),
                                      !is_meta              ? ""
                                      : with_plain_metadata ? PLAIN_METADATA
                                                            : "{\"resourceVersion\":\"7\""),
                         0);
        if (is_meta) {
            struct cor_view_iter in = cor_view_iter(it.value);

            while (cor_view_next(&in)) {
                if (!cor_str_eqz(in.key, "resourceVersion") &&
                    !(with_plain_metadata && is_of_plain_metadata(in.key)))
                    assert_int_equal(cor_buf_addf(whole, ",\"%.*s\":%.*s", COR_STR_ARG(in.key),
                                                  COR_STR_ARG(in.value.json)),
                                     0);
            }
            assert_int_equal(cor_buf_addc(whole, '}'), 0);
        } else {
            assert_int_equal(cor_buf_adds(whole, it.value.json), 0);
        }
    }
    assert_int_equal(cor_buf_addc(whole, '}'), 0);
}

static void check_random(const struct view_check *check, enum random_form form)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf whole;

    cor_buf_init(&whole, OBJECT_MAX);
    random_of_kind(check, form, false, &whole);
    check_json(check, cor_buf_str(&whole));
}

/* Contract controllers 9.3. */
TEST(views, show_what_objects_of_every_kind_have)
{
    size_t unseen = 0;

    memset(view_seen, 0, view_places_n);
    for (size_t i = 0; i < view_checks_n; i++) {
        check_random(&view_checks[i], RANDOM_FULL);
        for (int j = 0; j < LOOSE_RUNS; j++)
            check_random(&view_checks[i], RANDOM_LOOSE);
    }
    for (size_t i = 0; i < view_places_n; i++) {
        if (!view_seen[i]) {
            printf("# never found a value: %s\n", view_places[i]);
            unseen++;
        }
    }
    printf("# %zu kinds, %zu accessors, %zu of them found nothing\n", view_checks_n, view_places_n,
           unseen);
    assert_int_equal(unseen, 0);
}

void read_golden(const char *folder, const char *name, struct cor_buf *out)
{
    char path[512], piece[4096];
    FILE *f;
    size_t n;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "rb");
    assert_non_null(f);
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
        assert_int_equal(cor_buf_add(out, piece, n), 0);
    fclose(f);
}

const struct view_check *view_check_of(struct cor_str api_version, struct cor_str kind)
{
    for (size_t i = 0; i < view_checks_n; i++) {
        char text[256];

        snprintf(text, sizeof(text), "%s%s%s", view_checks[i].group,
                 *view_checks[i].group ? "/" : "", view_checks[i].version);
        if (cor_str_eqz(api_version, text) && cor_str_eqz(kind, view_checks[i].kind))
            return &view_checks[i];
    }
    return NULL;
}

TEST(views, show_what_upstreams_golden_objects_have)
{
    const char *folder = getenv("COR_GOLDEN");
    DIR *dir = folder ? opendir(folder) : NULL;
    const struct dirent *entry;
    size_t n = 0;

    if (!dir) {
        printf("# there are no golden objects: COR_GOLDEN is %s\n", folder ? folder : "not set");
        return;
    }
    while ((entry = readdir(dir))) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
        const struct view_check *check;
        struct cor_view view;

        cor_buf_init(&json, OBJECT_MAX);
        if (!cor_str_ends(cor_strz(entry->d_name), COR_STR(".json")))
            continue;
        read_golden(folder, entry->d_name, &json);
        view = cor_view(cor_buf_str(&json));
        check = view_check_of(
            cor_view_text_or(cor_view_member(view, COR_STR("apiVersion")), NULL, 0, ""),
            cor_view_text_or(cor_view_member(view, COR_STR("kind")), NULL, 0, ""));
        if (!check)
            continue;
        check_json(check, cor_buf_str(&json));
        n++;
    }
    closedir(dir);
    printf("# %zu golden objects\n", n);
    assert_true(n > 60);
}
