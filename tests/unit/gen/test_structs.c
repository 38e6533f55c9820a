/* Every built-in kind, those of libcoracle-types in both its structs and the generator's:
 * upstream's golden objects and random ones go through structs and come back as they were, or as Go
 * would write them; copies stand on their own; every allocation fails once. What is written for
 * Go's form is src/schema's, which is compared with upstream elsewhere (schema/normalize,
 * schema/protobuf). */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "authentication_v1_structs.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "coracle/types/core_v1_structs.h"
#include "coracle/view.h"
#include "policy_v1_structs.h"
#include "random_object.h"
#include "schema/protobuf/protobuf.h"
#include "schema/types/raw_values.h"
#include "schema/types/types.h"
#include "schema/walk/default.h"
#include "schema/walk/normalize.h"
#include "struct_table.h"
#include "test.h"
#include "json/text/json.h"

#define OBJECT_MAX (1u << 22)
#define LOOSE_RUNS 20

static const struct cor_type *schema_of(const struct cor_own_type *type)
{
    struct cor_str rest = cor_strz(type->api_version), group = {"", 0};

    if (cor_str_find(rest, '/') >= 0)
        group = cor_str_cut(&rest, '/');
    return cor_type_of_kind(group, rest, cor_strz(type->kind));
}

static const struct cor_own_type *kinds[1024];

/* Fills `kinds` with those of the table that objects are of, and counts them. */
static size_t count_kinds(void)
{
    size_t n = 0;

    for (size_t i = 0; i < struct_table_n; i++) {
        const struct cor_own_type *type = struct_table[i];

        if (!type->kind || !type->api_version || !schema_of(type))
            continue;
        assert_true(n < COR_ARRAY_LEN(kinds));
        kinds[n++] = type;
    }
    assert_true(n > 200);
    return n;
}

static void canonical(struct cor_str json, struct cor_buf *out)
{
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;

    limits.guide = &cor_raw_values;
    assert_int_equal(cor_json_canonicalize(json, &limits, out, NULL, NULL), 0);
}

/* What Go writes after it has read the JSON. */
static void go_form(const struct cor_own_type *type, struct cor_str json, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf in;
    int r;

    cor_buf_init(&in, OBJECT_MAX);
    canonical(json, &in);
    r = cor_normalize(schema_of(type), cor_buf_str(&in), out);
    assert_true(r >= 0);
    if (r == 0)
        assert_int_equal(cor_buf_adds(out, cor_buf_str(&in)), 0);
}

static void assert_same(struct cor_str got, struct cor_str want)
{
    size_t at = 0;

    while (at < got.n && at < want.n && got.p[at] == want.p[at])
        at++;
    if (at < got.n || at < want.n) {
        size_t from = at > 80 ? at - 80 : 0;

        printf("# got  ...%.160s\n# want ...%.160s\n", got.p + from, want.p + from);
        fail();
    }
}

/* Decodes, copies, compares and encodes; the JSON is in `out`. */
static void through_struct(const struct cor_own_type *type, struct cor_str json,
                           struct cor_buf *out)
{
    struct cor_pool *first, *second;
    struct cor_own_error why;
    void *own = cor_alloc(type->size), *copy = cor_alloc(type->size);
    struct cor_str again;
    int r;

    assert_int_equal(cor_pool_new(0, &first), 0);
    assert_int_equal(cor_pool_new(0, &second), 0);
    r = cor_own_decode(type, first, json, NULL, own, &why);
    if (r < 0)
        printf("# %s: %s: %s\n# %.*s\n", type->kind, why.path, why.message, COR_STR_ARG(json));
    assert_int_equal(r, 0);
    assert_int_equal(cor_own_copy(type, second, own, copy), 0);
    assert_true(cor_own_equal(type, own, copy));
    memset(own, 0xaa, type->size);
    cor_pool_free(first);
    assert_int_equal(cor_own_encode(type, second, copy, &again), 0);
    assert_int_equal(cor_buf_adds(out, again), 0);
    cor_pool_free(second);
    cor_free(own);
    cor_free(copy);
}

/* The random type is replaced by the one that the object must have. */
static void random_of(const struct cor_own_type *type, enum random_form form, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct cor_view_iter it;

    cor_buf_init(&json, OBJECT_MAX);
    random_object(schema_of(type), form, &json);
    cor_buf_reset(out);
    assert_int_equal(
        cor_buf_addf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\"", type->kind, type->api_version),
        0);
    it = cor_view_iter(cor_view(cor_buf_str(&json)));
    while (cor_view_next(&it)) {
        if (!cor_str_eqz(it.key, "kind") && !cor_str_eqz(it.key, "apiVersion"))
            assert_int_equal(cor_buf_addf(out, ",\"%.*s\":%.*s", COR_STR_ARG(it.key),
                                          COR_STR_ARG(it.value.json)),
                             0);
    }
    assert_int_equal(cor_buf_addc(out, '}'), 0);
}

/* Contract controllers 5.7.7: of random objects nothing is lost, and copies stand on their own. */
TEST(structs, give_full_objects_back_as_they_were)
{
    for (size_t i = 0, n_kinds = count_kinds(); i < n_kinds; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json, made, want, got;

        cor_buf_init(&json, OBJECT_MAX);
        cor_buf_init(&want, OBJECT_MAX);
        cor_buf_init(&got, OBJECT_MAX);
        cor_buf_init(&made, OBJECT_MAX);
        random_of(kinds[i], RANDOM_FULL, &json);
        canonical(cor_buf_str(&json), &want);
        through_struct(kinds[i], cor_buf_str(&json), &made);
        /* FieldsV1 in templates keep their order, but are no raw values of a stored object. */
        canonical(cor_buf_str(&made), &got);
        assert_same(cor_buf_str(&got), cor_buf_str(&want));
    }
}

/* Members that are missing, null, empty or spelled in an unusual way. */
TEST(structs, give_loose_objects_back_as_go_reads_them)
{
    for (size_t i = 0, runs = count_kinds() * LOOSE_RUNS; i < runs; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json, made, want, got;
        const struct cor_own_type *type = kinds[i / LOOSE_RUNS];

        cor_buf_init(&json, OBJECT_MAX);
        cor_buf_init(&made, OBJECT_MAX);
        cor_buf_init(&want, OBJECT_MAX);
        cor_buf_init(&got, OBJECT_MAX);
        random_of(type, RANDOM_LOOSE, &json);
        go_form(type, cor_buf_str(&json), &want);
        through_struct(type, cor_buf_str(&json), &made);
        go_form(type, cor_buf_str(&made), &got);
        assert_same(cor_buf_str(&got), cor_buf_str(&want));
    }
}

static bool read_file(const char *folder, const char *name, struct cor_buf *out)
{
    char path[512], piece[4096];
    FILE *f;
    size_t n;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "rb");
    if (!f)
        return false;
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
        assert_int_equal(cor_buf_add(out, piece, n), 0);
    fclose(f);
    return true;
}

/* Upstream names the file of a golden object after its group, version and kind. */
static void golden_name(const struct cor_own_type *type, const char *suffix, char name[256])
{
    struct cor_str rest = cor_strz(type->api_version), group = {"core", 4};

    if (cor_str_find(rest, '/') >= 0)
        group = cor_str_cut(&rest, '/');
    snprintf(name, 256, "%.*s.%.*s.%s.%s", COR_STR_ARG(group), COR_STR_ARG(rest), type->kind,
             suffix);
}

/* Reads the golden object of a kind. False: there is none. */
static bool read_golden(const struct cor_own_type *type, const char *suffix, struct cor_buf *out)
{
    const char *folder = getenv("COR_GOLDEN");
    char name[256];

    golden_name(type, suffix, name);
    return folder && read_file(folder, name, out);
}

static bool has_struct(const char *golden, size_t n_kinds)
{
    char name[256];

    for (size_t i = 0; i < n_kinds; i++) {
        golden_name(kinds[i], "json", name);
        if (strcmp(name, golden) == 0)
            return true;
    }
    return false;
}

/* Upstream's golden objects of the core group have ten kinds that meta/v1 declares for every group;
 * they are no objects of a resource. */
static bool is_of_every_group(const char *golden)
{
    static const char *const names[] = {"Options.json", ".Status.json", ".WatchEvent.json",
                                        ".APIVersions.json", ".APIGroup.json"};

    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        if (cor_str_ends(cor_strz(golden), cor_strz(names[i])))
            return true;
    }
    return false;
}

TEST(structs, are_there_for_each_of_upstreams_golden_objects)
{
    const char *folder = getenv("COR_GOLDEN");
    DIR *dir = folder ? opendir(folder) : NULL;
    const size_t n_kinds = count_kinds();
    const struct dirent *entry;
    size_t missing = 0;

    while (dir && (entry = readdir(dir))) {
        size_t length = strlen(entry->d_name);

        if (length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0 &&
            !has_struct(entry->d_name, n_kinds) && !is_of_every_group(entry->d_name)) {
            printf("# %s has no struct\n", entry->d_name);
            missing++;
        }
    }
    if (dir)
        closedir(dir);
    assert_int_equal(missing, 0);
}

/* Contract controllers 5.7.9, 9.3. */
TEST(structs, give_upstreams_golden_objects_back)
{
    size_t n = 0;

    for (size_t i = 0, n_kinds = count_kinds(); i < n_kinds; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json, want, got;

        cor_buf_init(&json, OBJECT_MAX);
        cor_buf_init(&want, OBJECT_MAX);
        cor_buf_init(&got, OBJECT_MAX);
        if (!read_golden(kinds[i], "json", &json))
            continue;
        canonical(cor_buf_str(&json), &want);
        through_struct(kinds[i], cor_buf_str(&json), &got);
        assert_same(cor_buf_str(&got), cor_buf_str(&want));
        n++;
    }
    printf("# %zu golden objects\n", n);
}

/* Encodes as protobuf what was decoded from JSON, or the reverse, through one struct. */
static void convert(const struct cor_own_type *type, bool to_protobuf, struct cor_str in,
                    struct cor_buf *out)
{
    struct cor_pool *pool;
    struct cor_own_error why;
    struct cor_str made;
    void *own;
    int r;

    assert_int_equal(cor_pool_new(0, &pool), 0);
    own = cor_pool_alloc(pool, type->size);
    r = to_protobuf ? cor_own_decode(type, pool, in, NULL, own, &why)
                    : cor_own_decode_protobuf(type, pool, in, NULL, own, &why);
    if (r < 0)
        printf("# %s: %s: %s\n", type->kind, why.path, why.message);
    assert_int_equal(r, 0);
    assert_int_equal(to_protobuf ? cor_own_encode_protobuf(type, pool, own, &made)
                                 : cor_own_encode(type, pool, own, &made),
                     0);
    assert_int_equal(cor_buf_adds(out, made), 0);
    cor_pool_free(pool);
}

/* Both ways; the JSON that comes back is compared in Go's form. */
static void check_protobuf(const struct cor_own_type *type, struct cor_str json,
                           struct cor_str protobuf)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf made, again, want, got;

    cor_buf_init(&made, OBJECT_MAX);
    cor_buf_init(&again, OBJECT_MAX);
    cor_buf_init(&want, OBJECT_MAX);
    cor_buf_init(&got, OBJECT_MAX);
    convert(type, true, json, &made);
    if (!cor_str_eq(cor_buf_str(&made), protobuf))
        fail_msg("%s has other protobuf than Go: %zu bytes, not %zu, of %.*s", type->kind, made.n,
                 protobuf.n, COR_STR_ARG(json));
    convert(type, false, protobuf, &again);
    go_form(type, json, &want);
    go_form(type, cor_buf_str(&again), &got);
    assert_same(cor_buf_str(&got), cor_buf_str(&want));
}

/* Contract controllers 5.7.9, 5.10.3. */
TEST(structs, have_the_protobuf_of_upstreams_golden_objects)
{
    size_t n = 0;

    for (size_t i = 0, n_kinds = count_kinds(); i < n_kinds; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json, normal, protobuf;

        cor_buf_init(&json, OBJECT_MAX);
        cor_buf_init(&normal, OBJECT_MAX);
        cor_buf_init(&protobuf, OBJECT_MAX);
        if (!kinds[i]->by_number || !read_golden(kinds[i], "json", &json) ||
            !read_golden(kinds[i], "pb", &protobuf))
            continue;
        canonical(cor_buf_str(&json), &normal);
        check_protobuf(kinds[i], cor_buf_str(&normal), cor_buf_str(&protobuf));
        n++;
    }
    printf("# %zu golden objects\n", n);
}

TEST(structs, have_the_protobuf_that_go_makes)
{
    for (size_t i = 0, runs = count_kinds() * LOOSE_RUNS; i < runs; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json, normal, protobuf;
        const struct cor_own_type *type = kinds[i / LOOSE_RUNS];
        struct cor_pb_error why;

        cor_buf_init(&json, OBJECT_MAX);
        cor_buf_init(&normal, OBJECT_MAX);
        cor_buf_init(&protobuf, OBJECT_MAX);
        if (!type->by_number)
            continue;
        random_of(type, i % LOOSE_RUNS == 0 ? RANDOM_FULL : RANDOM_LOOSE, &json);
        go_form(type, cor_buf_str(&json), &normal);
        assert_int_equal(cor_protobuf_from_json(cor_strz(type->api_version), cor_strz(type->kind),
                                                schema_of(type), cor_buf_str(&normal), &protobuf,
                                                &why),
                         0);
        check_protobuf(type, cor_buf_str(&normal), cor_buf_str(&protobuf));
    }
}

/* What the server makes of an object: Go's form with all defaults, those of hooks as well. */
static void served(const struct cor_own_type *type, struct cor_str json, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf normal;
    int r;

    cor_buf_init(&normal, OBJECT_MAX);
    go_form(type, json, &normal);
    r = cor_default(schema_of(type), cor_buf_str(&normal), out);
    assert_true(r >= 0);
    if (r == 0)
        assert_int_equal(cor_buf_adds(out, cor_buf_str(&normal)), 0);
}

/* A message that comes again is joined with what was read before: many of them take linear time,
 * and the map that they fill is sorted once, with the last of equal keys. */
TEST(structs, join_messages_that_come_again)
{
    enum { N = 100000 };
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf object = {.max = 64u << 20}, all = {.max = 64u << 20};
    struct cor_core_v1_config_map_own map;
    struct cor_pool *pool;
    size_t n;

    for (int i = N; i > 0; i--) /* metadata (1), an entry of labels (11): a key and the value "v" */
        assert_int_equal(
            cor_buf_addf(&object, "\n\x0d\x5a\x0b\n\x06%06d\x12\x01%c", i / 2, i % 2 ? 'b' : 'a'),
            0);
    n = object.n;
    assert_int_equal(cor_buf_add(&all, "k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12", 22), 0);
    for (; n >= 0x80; n >>= 7)
        assert_int_equal(cor_buf_addc(&all, (char)(n | 0x80)), 0);
    assert_int_equal(cor_buf_addc(&all, (char)n), 0);
    assert_int_equal(cor_buf_adds(&all, cor_buf_str(&object)), 0);
    assert_int_equal(cor_pool_new(0, &pool), 0);
    assert_int_equal(
        cor_core_v1_config_map_own_decode_protobuf(pool, cor_buf_str(&all), NULL, &map, NULL), 0);
    assert_int_equal(map.metadata.labels.n, N / 2 + 1);
    assert_str(map.metadata.labels.p[0].key, "000000");
    assert_str(map.metadata.labels.p[1].key, "000001");
    assert_str(map.metadata.labels.p[1].value, "a");
    assert_str(map.metadata.labels.p[N / 2].key, "050000");
    cor_pool_free(pool);
}

/* Defaults that a client has filled in are those that the server would have filled in. */
TEST(structs, fill_in_defaults_of_the_server)
{
    size_t filled = 0;

    for (size_t i = 0, runs = count_kinds() * LOOSE_RUNS; i < runs; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json, want, got;
        const struct cor_own_type *type = kinds[i / LOOSE_RUNS];
        struct cor_pool *pool;
        struct cor_str before, after;
        void *own;

        cor_buf_init(&json, OBJECT_MAX);
        cor_buf_init(&want, OBJECT_MAX);
        cor_buf_init(&got, OBJECT_MAX);
        random_of(type, RANDOM_LOOSE, &json);
        served(type, cor_buf_str(&json), &want);
        assert_int_equal(cor_pool_new(0, &pool), 0);
        own = cor_pool_alloc(pool, type->size);
        assert_int_equal(cor_own_decode(type, pool, cor_buf_str(&json), NULL, own, NULL), 0);
        assert_int_equal(cor_own_encode(type, pool, own, &before), 0);
        assert_int_equal(cor_own_fill(type, pool, own), 0);
        assert_int_equal(cor_own_encode(type, pool, own, &after), 0);
        filled += after.n > before.n;
        served(type, after, &got);
        assert_same(cor_buf_str(&got), cor_buf_str(&want));
        cor_pool_free(pool);
    }
    printf("# %zu of %zu objects got defaults\n", filled, count_kinds() * LOOSE_RUNS);
    assert_true(filled > count_kinds());
}

static bool is_held(const struct cor_own_field *field)
{
    return field->kind == COR_OWN_STRUCT && field->form == COR_OWN_ONE &&
           !(field->flags & COR_OWN_POINTER);
}

/* Bytes of a member that is not a struct which is held. */
static size_t member_size(const struct cor_own_field *field)
{
    if (field->form != COR_OWN_ONE)
        return sizeof(struct cor_str_list);
    switch (field->kind) {
    case COR_OWN_STRUCT:
        return sizeof(void *);
    case COR_OWN_BOOL:
        return sizeof(struct cor_opt_bool);
    case COR_OWN_INT32:
        return sizeof(struct cor_opt_int32);
    case COR_OWN_INT_OR_STR:
        return sizeof(struct cor_int_or_str);
    default:
        return sizeof(struct cor_str);
    }
}

static bool is_zero_json(struct cor_str json)
{
    return cor_str_eqz(json, "0") || cor_str_eqz(json, "false") || cor_str_eqz(json, "\"\"");
}

/* Takes each member of a full object away, also those of structs that it holds: the rest is not the
 * same object. */
static void check_each_member(const struct cor_own_type *type, struct cor_str json,
                              struct cor_pool *pool)
{
    void *whole = cor_pool_alloc(pool, type->size), *less = cor_pool_alloc(pool, type->size);

    assert_int_equal(cor_own_decode(type, pool, json, NULL, whole, NULL), 0);
    for (size_t i = 0; i < type->nfields; i++) {
        const struct cor_own_field *field = &type->fields[i];
        struct cor_view value =
            cor_view_member(cor_view(json), cor_str(field->name, field->name_n));

        bool is_zero;

        assert_true(cor_view_exists(value));
        if (is_held(field)) {
            check_each_member(field->type, value.json, pool);
            continue;
        }
        assert_int_equal(cor_own_copy(type, pool, whole, less), 0);
        memset((char *)less + field->offset, 0, member_size(field));
        is_zero = !(field->flags & COR_OWN_POINTER) && is_zero_json(value.json);
        assert_int_equal(cor_own_equal(type, whole, less), is_zero);
        assert_int_equal(cor_own_equal(type, less, whole), is_zero);
    }
}

TEST(structs, differ_when_a_member_is_missing)
{
    for (size_t i = 0, n_kinds = count_kinds(); i < n_kinds; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
        struct cor_pool *pool;

        cor_buf_init(&json, OBJECT_MAX);
        random_of(kinds[i], RANDOM_FULL, &json);
        assert_int_equal(cor_pool_new(0, &pool), 0);
        check_each_member(kinds[i], cor_buf_str(&json), pool);
        cor_pool_free(pool);
    }
}

/* All that a struct does with its bytes. */
static int do_all(const struct cor_own_type *type, struct cor_pool *pool, struct cor_str json)
{
    void *own = cor_pool_alloc(pool, type->size), *copy = cor_pool_alloc(pool, type->size);
    struct cor_str again;
    int r = own && copy ? 0 : cor_pool_error(pool);

    if (r == 0)
        r = cor_own_decode(type, pool, json, NULL, own, NULL);
    if (r == 0)
        r = cor_own_copy(type, pool, own, copy);
    if (r == 0)
        r = cor_own_encode(type, pool, copy, &again);
    if (r == 0)
        r = cor_own_encode_protobuf(type, pool, copy, &again);
    if (r == 0)
        r = cor_own_decode_protobuf(type, pool, again, NULL, own, NULL);
    if (r == 0)
        r = cor_own_decode(type, pool, COR_STR("{\"spec\":{\"containers\":[{}]}}"), NULL, own,
                           NULL);
    return r < 0 ? r : cor_own_fill(type, pool, own);
}

TEST(structs, fail_without_memory)
{
    static const struct cor_own_type *const types[] = {
        &cor_core_v1_pod_own_type, &all_authentication_v1_token_review_own_type,
        &all_policy_v1_pod_disruption_budget_own_type};

    for (size_t i = 0; i < COR_ARRAY_LEN(types); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json;

        cor_buf_init(&json, OBJECT_MAX);
        random_of(types[i], RANDOM_FULL, &json);
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_pool *pool = NULL;
            int r = cor_pool_new(0, &pool);

            if (r == 0)
                r = do_all(types[i], pool, cor_buf_str(&json));
            assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
            cor_pool_free(pool);
        }
    }
}
