/* Walks over one value of a trigger field: at every revision they select what a model does, they
 * look at nothing else, and every failed allocation leaves tree and indexes as they were. */
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "storage/cacher/cache_range.h"
#include "storage/cacher/snapshot.h"
#include "test.h"

#define KEYS   60
#define REVS   1200
#define VALUES 5 /* of a field; 0: the object does not have it */

/* What an object is at a revision. */
struct state {
    cor_rev rev; /* 0: absent */
    uint8_t value[3];
};

struct world {
    struct cor_watch_cache cache;
    struct cor_triggers triggers;
    struct cor_pin_totals totals;
    struct cor_rand rand;
};

static struct state model[REVS + 1][KEYS];
static struct world world;

static const char *const fields[] = {"spec.a", "spec.b", "metadata.name", NULL};
static const struct cor_field_label label_rows[] = {
    {.label = "metadata.name"}, {.label = "metadata.namespace"},
    {.label = "spec.a"},        {.label = "spec.b"},
    {.label = "spec.c"},
};
static const struct cor_field_labels labels = {.v = label_rows, .n = COR_ARRAY_LEN(label_rows)};

/* A prefix of a value is a value too, and they begin with the same bytes. */
static const char *const values[VALUES] = {NULL, "node-12345-1", "node-12345-10", "node-12345-2",
                                           "node-1"};

/* Three namespaces; names are prefixes of each other as well. */
static const char *space_of(unsigned key)
{
    static const char *const spaces[] = {"a", "ab", "b"};

    return spaces[key % 3];
}

static unsigned name_of(unsigned key)
{
    return key / 3;
}

static void key_of(unsigned key, char out[32])
{
    snprintf(out, 32, "/r/%s/n%u", space_of(key), name_of(key));
}

static void add_field(char *json, size_t size, const char *name, uint8_t value)
{
    size_t n = strlen(json);

    if (value > 0)
        snprintf(json + n, size - n, "%s\"%s\":\"%s\"", json[n - 1] == '{' ? "" : ",", name,
                 values[value]);
}

static struct cor_cache_entry *entry_new(unsigned key, const struct state *state)
{
    struct cor_object *object;
    char json[320], name[32];
    size_t n;

    key_of(key, name);
    snprintf(json, sizeof(json),
             "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n%u\","
             "\"namespace\":\"%s\"},\"spec\":{",
             name_of(key), space_of(key));
    add_field(json, sizeof(json), "a", state->value[0]);
    add_field(json, sizeof(json), "b", state->value[1]);
    add_field(json, sizeof(json), "c", state->value[2]);
    n = strlen(json);
    snprintf(json + n, sizeof(json) - n, "}}");
    if (cor_object_from_stored(cor_strz(json), state->rev, &object, NULL, NULL) < 0)
        return NULL;
    return cor_cache_entry_new(cor_strz(name), object, &world.triggers);
}

/* 0 or -COR_ENOMEM. */
static int apply(unsigned key, const struct state *state, cor_rev rev)
{
    struct cor_cache_entry *now = NULL;
    char name[32];

    key_of(key, name);
    if (state->rev > 0) {
        now = entry_new(key, state);
        if (!now)
            return -COR_ENOMEM;
    }
    return COR_LOCKED(&world.cache.lock,
                      cor_watch_cache_apply_locked(&world.cache, cor_strz(name), now, rev, 0));
}

static void world_open(void)
{
    cor_rand_init_seeded(&world.rand, test_random());
    memset(model, 0, sizeof(model));
    assert_int_equal(cor_triggers_init(&world.triggers, fields), 0);
    assert_int_equal(cor_watch_cache_init(&world.cache, &world.triggers, &world.totals), 0);
    world.cache.names_at = strlen("/r/");
    world.cache.is_namespaced = true;
    assert_int_equal(cor_watch_cache_replace(&world.cache, NULL, 0, 0, NULL, 1), 0);
}

static void world_close(void)
{
    while (cor_watch_cache_reclaim(&world.cache, 64))
        ;
    cor_watch_cache_deinit(&world.cache);
    cor_triggers_deinit(&world.triggers);
}

static uint8_t random_value(void)
{
    return (uint8_t)cor_rand_below(&world.rand, VALUES);
}

static void random_changes(cor_rev from, cor_rev to)
{
    for (cor_rev rev = from; rev <= to; rev++) {
        unsigned key = (unsigned)cor_rand_below(&world.rand, KEYS);
        struct state *state = &model[rev][key];

        memcpy(model[rev], model[rev - 1], sizeof(model[rev]));
        state->rev = cor_rand_below(&world.rand, 4) == 0 ? 0 : rev;
        if (cor_rand_below(&world.rand, 2) == 0)
            state->value[0] = random_value();
        state->value[1] = random_value();
        state->value[2] = random_value();
        assert_int_equal(apply(key, state, rev), 0);
    }
}

struct wish {
    const char *space; /* NULL: any */
    int name;          /* -1: any */
    uint8_t value[3];  /* 0: any */
};

static bool is_wished(const struct wish *wish, unsigned key, cor_rev rev)
{
    const struct state *state = &model[rev][key];
    bool is = state->rev > 0 && (!wish->space || strcmp(wish->space, space_of(key)) == 0) &&
              (wish->name < 0 || (unsigned)wish->name == name_of(key));

    for (unsigned i = 0; i < 3; i++)
        is = is && (wish->value[i] == 0 || wish->value[i] == state->value[i]);
    return is;
}

static void add_term(char *text, const char *field, const char *value)
{
    size_t n = strlen(text);

    snprintf(text + n, 256 - n, "%s%s=%s", n ? "," : "", field, value);
}

static struct cor_predicate predicate_of(const struct wish *wish, bool space_is_prefix)
{
    struct cor_predicate predicate;
    char text[256] = "", name[16];

    if (wish->space && !space_is_prefix)
        add_term(text, "metadata.namespace", wish->space);
    snprintf(name, sizeof(name), "n%d", wish->name);
    if (wish->name >= 0)
        add_term(text, "metadata.name", name);
    for (unsigned i = 0; i < 3; i++)
        if (wish->value[i] > 0)
            add_term(text,
                     i == 0   ? "spec.a"
                     : i == 1 ? "spec.b"
                              : "spec.c",
                     values[wish->value[i]]);
    assert_int_equal(cor_predicate_parse(COR_STR(""), cor_strz(text), &labels, &predicate, NULL),
                     0);
    return predicate;
}

/* The key with `n` others before it. */
static unsigned nth_key(unsigned n)
{
    static unsigned order[KEYS];
    char a[32], b[32];

    if (order[0] == order[1]) {
        for (unsigned i = 0; i < KEYS; i++)
            order[i] = i;
        for (unsigned i = 0; i < KEYS; i++)
            for (unsigned k = i + 1; k < KEYS; k++) {
                unsigned swap = order[i];

                key_of(order[i], a);
                key_of(order[k], b);
                if (strcmp(a, b) <= 0)
                    continue;
                order[i] = order[k];
                order[k] = swap;
            }
    }
    return order[n];
}

/* Returns how many entries the walk looked at. */
static size_t check_walk(const struct cor_cache_snapshot *s, cor_rev rev, const struct wish *wish,
                         const struct cor_predicate *predicate, bool space_is_prefix, unsigned from)
{
    char prefix[32] = "/r/", at[32], name[32];
    struct cor_cache_entry *e;
    struct cor_cache_iter it;
    size_t looked = 0;

    if (wish->space && space_is_prefix)
        snprintf(prefix, sizeof(prefix), "/r/%s/", wish->space);
    key_of(nth_key(from), at);
    if (from == 0 || strcmp(at, prefix) < 0)
        snprintf(at, sizeof(at), "%s", prefix);
    cor_cache_iter_init(&it, s, cor_strz(prefix), cor_strz(at), predicate);
    for (unsigned i = from; i < KEYS; i++) {
        if (!is_wished(wish, nth_key(i), rev))
            continue;
        do {
            e = cor_cache_iter_next(&it);
            assert_non_null(e);
            looked++;
        } while (!cor_predicate_matches(predicate, e->object));
        key_of(nth_key(i), name);
        assert_str(cor_cache_entry_key(e), name);
        assert_int_equal(e->object->rev, model[rev][nth_key(i)].rev);
    }
    while ((e = cor_cache_iter_next(&it))) {
        assert_false(cor_predicate_matches(predicate, e->object));
        looked++;
    }
    return looked;
}

static struct wish random_wish(void)
{
    static const char *const spaces[] = {NULL, "a", "ab", "b", "none"};
    struct wish wish = {.space = spaces[cor_rand_below(&world.rand, 5)], .name = -1};

    if (cor_rand_below(&world.rand, 4) == 0)
        wish.name = (int)cor_rand_below(&world.rand, KEYS / 3);
    for (unsigned i = 0; i < 3; i++)
        wish.value[i] = cor_rand_below(&world.rand, 2) ? random_value() : 0;
    return wish;
}

TEST(field_index, selects_at_every_revision_what_a_model_does)
{
    world_open();
    random_changes(2, REVS);
    for (cor_rev rev = 2; rev <= REVS; rev++) {
        for (unsigned i = 0; i < 3; i++) {
            struct wish wish = random_wish();
            bool space_is_prefix = cor_rand_below(&world.rand, 2) == 0;
            struct cor_predicate predicate = predicate_of(&wish, space_is_prefix);
            unsigned from = i == 0 ? 0 : (unsigned)cor_rand_below(&world.rand, KEYS);
            struct cor_cache_snapshot s;

            assert_int_equal(cor_cache_snapshot_at(&world.cache, rev, &predicate, &s), 0);
            check_walk(&s, rev, &wish, &predicate, space_is_prefix, from);
            cor_cache_snapshot_deinit(&s);
            cor_predicate_deinit(&predicate);
        }
    }
    world_close();
}

/* What the tree has beside, and what other indexes have, costs nothing. */
TEST(field_index, a_walk_looks_at_what_it_selects_and_at_nothing_else)
{
    static const struct wish wishes[] = {
        {.name = -1, .value = {1}},
        {.name = -1, .value = {0, 2}},
        {.space = "ab", .name = -1, .value = {3}},
        {.space = "a", .name = -1},
        {.space = "b", .name = 1},
        {.name = 1},
        {.space = "none", .name = -1, .value = {0, 1}},
    };
    world_open();
    random_changes(2, REVS);
    for (size_t i = 0; i < COR_ARRAY_LEN(wishes); i++) {
        for (unsigned space_is_prefix = 0; space_is_prefix < 2; space_is_prefix++) {
            struct cor_predicate predicate = predicate_of(&wishes[i], space_is_prefix);
            struct cor_cache_snapshot s;
            size_t wished = 0;

            for (unsigned key = 0; key < KEYS; key++)
                wished += is_wished(&wishes[i], key, REVS);
            assert_int_equal(cor_cache_snapshot_now(&world.cache, &predicate, &s), 0);
            assert_int_equal(check_walk(&s, REVS, &wishes[i], &predicate, space_is_prefix, 0),
                             wished);
            cor_cache_snapshot_deinit(&s);
            cor_predicate_deinit(&predicate);
        }
    }
    world_close();
}

/* A snapshot shows its own state of the index, whatever is written, listed anew or cleared. */
TEST(field_index, a_snapshot_of_one_value_does_not_change)
{
    struct cor_cache_snapshot s;
    struct wish wish = {.name = -1, .value = {1}};
    struct cor_predicate predicate = predicate_of(&wish, false);

    world_open();
    random_changes(2, 400);
    assert_int_equal(cor_cache_snapshot_now(&world.cache, &predicate, &s), 0);
    random_changes(401, 800);
    check_walk(&s, 400, &wish, &predicate, false, 0);
    assert_int_equal(cor_watch_cache_replace(&world.cache, NULL, 0, 0, NULL, 801), 0);
    cor_watch_cache_reclaim(&world.cache, SIZE_MAX);
    check_walk(&s, 400, &wish, &predicate, false, 0);
    cor_watch_cache_clear(&world.cache);
    cor_watch_cache_reclaim(&world.cache, SIZE_MAX);
    check_walk(&s, 400, &wish, &predicate, false, 0);
    cor_cache_snapshot_deinit(&s);
    cor_predicate_deinit(&predicate);
    world_close();
}

/* The entries of a state, by key. */
static size_t entries_of(cor_rev rev, struct cor_btree_entry *ret)
{
    size_t n = 0;

    for (unsigned i = 0; i < KEYS; i++) {
        const struct state *state = &model[rev][nth_key(i)];
        struct cor_cache_entry *e = state->rev > 0 ? entry_new(nth_key(i), state) : NULL;

        if (e)
            ret[n++] = (struct cor_btree_entry){e, e->object->fingerprint};
    }
    return n;
}

static void check_now(cor_rev rev)
{
    for (uint8_t field = 0; field < 3; field++) {
        for (uint8_t value = 1; value < VALUES; value++) {
            struct wish wish = {.name = -1};
            struct cor_cache_snapshot s;
            struct cor_predicate predicate;

            wish.value[field] = value;
            predicate = predicate_of(&wish, false);
            assert_int_equal(cor_cache_snapshot_now(&world.cache, &predicate, &s), 0);
            check_walk(&s, rev, &wish, &predicate, false, 0);
            cor_cache_snapshot_deinit(&s);
            cor_predicate_deinit(&predicate);
        }
    }
}

TEST(field_index, a_list_fills_it_or_leaves_it_as_it_was)
{
    struct cor_btree_entry entries[KEYS];

    FOR_EACH_FAILED_ALLOC(n) {
        size_t nentries;
        int r;

        test_fail_alloc(0, false);
        world_open();
        random_changes(2, 300);
        nentries = entries_of(150, entries);
        test_fail_alloc(n, false);
        r = cor_watch_cache_replace(&world.cache, entries, nentries, 0, NULL, 301);
        test_fail_alloc(0, false);
        assert_true(r == 0 || r == -COR_ENOMEM);
        check_now(r == 0 ? 150 : 300);
        for (size_t i = 0; i < nentries; i++)
            cor_cache_entry_unref(entries[i].item);
        world_close();
    }
}

/* Roots are shared with the nodes on the way of the change, so that all of them must be copied. */
TEST(field_index, a_change_is_in_all_trees_or_in_none)
{
    static const struct state changes[] = {
        {.rev = 0},
        {.rev = 301, .value = {1, 1, 1}},
        {.rev = 301, .value = {2, 0, 1}},
        {.rev = 301, .value = {0, 4, 0}},
    };
    for (size_t i = 0; i < COR_ARRAY_LEN(changes); i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_cache_snapshot s;
            struct wish wish = {.name = 1, .value = {1, 1, 0}};
            struct cor_predicate predicate;
            unsigned key = 7;
            int r;

            test_fail_alloc(0, false);
            predicate = predicate_of(&wish, false);
            world_open();
            random_changes(2, 299);
            memcpy(model[300], model[299], sizeof(model[300]));
            model[300][key] = (struct state){300, {1, 2, 3}};
            assert_int_equal(apply(key, &model[300][key], 300), 0);
            assert_int_equal(cor_cache_snapshot_now(&world.cache, &predicate, &s), 0);
            memcpy(model[301], model[300], sizeof(model[301]));
            model[301][key] = changes[i];
            test_fail_alloc(n, false);
            r = apply(key, &changes[i], 301);
            test_fail_alloc(0, false);
            assert_true(r == 0 || r == -COR_ENOMEM);
            assert_int_equal(world.cache.rev, r == 0 ? 301 : 300);
            check_now(r == 0 ? 301 : 300);
            cor_cache_snapshot_deinit(&s);
            cor_predicate_deinit(&predicate);
            world_close();
        }
    }
}

TEST(field_index, a_walk_at_a_revision_survives_every_failed_allocation)
{
    struct wish wish = {.name = -1, .value = {1, 2, 0}};
    struct cor_predicate predicate = predicate_of(&wish, false);

    world_open();
    random_changes(2, 700);
    FOR_EACH_FAILED_ALLOC(n) {
        cor_rev rev = 300 + n % 401;
        struct cor_cache_snapshot s;
        int r = cor_cache_snapshot_at(&world.cache, rev, &predicate, &s);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r < 0)
            continue;
        check_walk(&s, rev, &wish, &predicate, false, 0);
        cor_cache_snapshot_deinit(&s);
    }
    cor_predicate_deinit(&predicate);
    world_close();
}

/* Only the first bytes of a value are kept again; what begins alike is told apart by matching. */
TEST(field_index, long_values_that_begin_alike_are_told_apart)
{
    char json[1024], text[512], value[300];
    size_t found = 0;
    struct cor_cache_snapshot s;
    struct cor_predicate predicate;
    struct cor_cache_iter it;
    struct cor_cache_entry *e;

    world_open();
    memset(value, 'x', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    for (unsigned i = 0; i < 3; i++) {
        struct cor_object *object;

        value[COR_TRIGGER_TEXT_MAX + 10] = (char)('0' + i);
        snprintf(json, sizeof(json),
                 "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{},\"spec\":{\"a\":\"%s\"}}",
                 value);
        assert_int_equal(cor_object_from_stored(cor_strz(json), 2 + i, &object, NULL, NULL), 0);
        snprintf(text, sizeof(text), "/r/a/n%u", i);
        e = cor_cache_entry_new(cor_strz(text), object, &world.triggers);
        assert_non_null(e);
        assert_int_equal(cor_cache_entry_trigger(e, 0).n, COR_TRIGGER_TEXT_MAX);
        assert_int_equal(
            COR_LOCKED(&world.cache.lock, cor_watch_cache_apply_locked(
                                              &world.cache, cor_cache_entry_key(e), e, 2 + i, 0)),
            0);
    }
    snprintf(text, sizeof(text), "spec.a=%s", value);
    assert_int_equal(cor_predicate_parse(COR_STR(""), cor_strz(text), &labels, &predicate, NULL),
                     0);
    assert_int_equal(cor_cache_snapshot_now(&world.cache, &predicate, &s), 0);
    cor_cache_iter_init(&it, &s, COR_STR("/r/"), COR_STR("/r/"), &predicate);
    while ((e = cor_cache_iter_next(&it)))
        found += cor_predicate_matches(&predicate, e->object);
    assert_int_equal(found, 1);
    cor_cache_snapshot_deinit(&s);
    cor_predicate_deinit(&predicate);
    world_close();
}

/* An index is a part of the history's budget as the tree is. */
TEST(field_index, its_nodes_are_counted)
{
    struct wish wish = {.name = -1, .value = {1}};
    struct cor_predicate predicate = predicate_of(&wish, false);
    struct cor_cache_snapshot s;
    size_t before;

    world_open();
    random_changes(2, 200);
    assert_int_equal(cor_cache_snapshot_now(&world.cache, &predicate, &s), 0);
    /* So many that one of them surely copies a node that the snapshot has. */
    random_changes(201, 260);
    before = cor_field_index_extra_bytes(&world.cache.index, 0);
    assert_true(before > 0);
    assert_true(cor_watch_cache_history_bytes(&world.cache) >
                world.cache.window.bytes + before / 2);
    cor_cache_snapshot_deinit(&s);
    cor_predicate_deinit(&predicate);
    world_close();
}

/* Fields without an index are read once: what is known of an object rules it out without a look. */
TEST(noted_fields, have_places_for_as_many_as_there_are_and_keep_them)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_noted_fields noted = {0};
        struct cor_field_places places[2];

        for (unsigned i = 0; i < 2; i++) {
            struct cor_predicate predicate;

            test_fail_alloc(0, false);
            assert_int_equal(cor_predicate_parse(COR_STR(""),
                                                 COR_STR("spec.c=1,spec.c!=2,metadata.name!=x"),
                                                 &labels, &predicate, NULL),
                             0);
            test_fail_alloc(n, false);
            cor_noted_fields_place(&noted, &predicate, &places[i]);
            cor_predicate_deinit(&predicate);
        }
        for (unsigned k = 0; k < 2; k++) {
            assert_true(places[0].at[k] == places[1].at[k] || places[0].at[k] == -1);
            assert_true(places[1].at[k] >= 0 || test_alloc_failed());
        }
        assert_true(places[1].at[0] != places[1].at[1] || places[1].at[0] == -1);
        assert_int_equal(places[1].at[2], -1);
        cor_noted_fields_deinit(&noted);
    }
}
