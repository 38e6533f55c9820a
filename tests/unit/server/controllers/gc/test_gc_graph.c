/* The graph of the garbage collector and its table of uids, without a server. */
#include "test.h"

#include <stdio.h>

#include "base/err.h"
#include "server/controllers/gc/gc_graph.h"

static const struct cor_gc_origin configmaps = {COR_STR_INIT("v1"), COR_STR_INIT("ConfigMap"), 1,
                                                1};

static struct cor_object *object(const char *ns, const char *name, const char *uid,
                                 const char *more)
{
    struct cor_object *stored = NULL, *served = NULL;
    char json[2048];

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\"%s}}", name, ns,
             uid, more);
    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &stored, NULL), 0);
    assert_int_equal(cor_object_at(stored, 7, &served), 0);
    cor_object_unref(stored);
    return served;
}

static int show(struct cor_gc_graph *g, const char *ns, const char *name, const char *uid,
                const char *more)
{
    struct cor_object *o = object(ns, name, uid, more);
    int r = cor_gc_graph_observe(g, &configmaps, o);

    cor_object_unref(o);
    return r;
}

static void gone(struct cor_gc_graph *g, const char *ns, const char *name, const char *uid)
{
    struct cor_object *o = object(ns, name, uid, "");

    cor_gc_graph_forget(g, &configmaps, o);
    cor_object_unref(o);
}

/* Takes all due nodes, and compares their uids. */
static void assert_due(struct cor_gc_graph *g, const char *expected)
{
    struct cor_gc_node *node;
    char uids[512] = "";

    while ((node = cor_gc_graph_due(g))) {
        size_t n = strlen(uids);

        snprintf(uids + n, sizeof(uids) - n, "%s%.*s%s", n ? " " : "", COR_STR_ARG(node->id.uid),
                 node->wants_orphan ? "!" : "");
        cor_gc_graph_taken(g, node);
    }
    assert_string_equal(uids, expected);
}

#define REF(name, uid)                                                                             \
    ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"blockOwnerDeletion\":true,"                    \
    "\"kind\":\"ConfigMap\",\"name\":\"" name "\",\"uid\":\"" uid "\"}]"

TEST(gc_graph, objects_without_owners_have_no_node)
{
    struct cor_gc_graph g;

    cor_gc_graph_init(&g);
    assert_int_equal(show(&g, "ns", "a", "u1", ""), 0);
    assert_int_equal(show(&g, "ns", "b", "u2", ",\"ownerReferences\":[]"), 0);
    assert_int_equal(cor_map_len(&g.nodes), 0);
    assert_int_equal(g.uids.n, 2);
    gone(&g, "ns", "a", "u1");
    gone(&g, "ns", "b", "u2");
    assert_int_equal(g.uids.n, 0);
    assert_due(&g, "");
    cor_gc_graph_deinit(&g);
}

/* Contract controllers 2.3.3, 2.3.7. */
TEST(gc_graph, an_owner_is_virtual_until_it_is_seen_and_its_end_makes_dependents_due)
{
    struct cor_gc_graph g;
    struct cor_gc_identity owner = {COR_STR("v1"), COR_STR("ConfigMap"), COR_STR("ns"),
                                    COR_STR("o"), COR_STR("owner")};

    cor_gc_graph_init(&g);
    assert_int_equal(show(&g, "ns", "d", "dep", REF("o", "owner")), 0);
    assert_true(cor_gc_graph_find(&g, COR_STR("owner"))->is_virtual);
    assert_due(&g, "owner");
    assert_int_equal(show(&g, "ns", "o", "owner", ""), 0);
    assert_false(cor_gc_graph_find(&g, COR_STR("owner"))->is_virtual);
    assert_due(&g, "");
    gone(&g, "ns", "o", "owner");
    assert_null(cor_gc_graph_find(&g, COR_STR("owner")));
    assert_due(&g, "dep");
    assert_true(cor_gc_absent_has(&g, &owner));
    gone(&g, "ns", "d", "dep");
    assert_int_equal(cor_map_len(&g.nodes), 0);
    cor_gc_graph_deinit(&g);
}

/* Contract controllers 2.3.6, 2.4.1, 2.4.2. */
TEST(gc_graph, transitions_and_references_that_no_longer_block_make_nodes_due)
{
    static const char deleting[] = ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\","
                                   "\"finalizers\":[\"foregroundDeletion\"]";
    static const char orphaning[] = ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\","
                                    "\"finalizers\":[\"orphan\"]";
    struct cor_gc_graph g;

    cor_gc_graph_init(&g);
    assert_int_equal(show(&g, "ns", "o", "owner", deleting), 0);
    assert_due(&g, "owner");
    assert_int_equal(show(&g, "ns", "d", "dep", REF("o", "owner")), 0);
    assert_due(&g, "");
    assert_int_equal(show(&g, "ns", "o", "owner", deleting), 0);
    assert_due(&g, "");
    assert_int_equal(show(&g, "ns", "d", "dep", ""), 0);
    assert_due(&g, "owner");
    assert_int_equal(show(&g, "ns", "p", "other", orphaning), 0);
    assert_due(&g, "other!");
    gone(&g, "ns", "o", "owner");
    gone(&g, "ns", "p", "other");
    assert_int_equal(cor_map_len(&g.nodes), 0);
    cor_gc_graph_deinit(&g);
}

/* Contract controllers 2.3.6, 2.9.1. */
TEST(gc_graph, an_owner_is_blocked_while_any_of_the_references_with_its_uid_blocks)
{
#define TWO(first, second)                                                                         \
    ",\"ownerReferences\":["                                                                       \
    "{\"apiVersion\":\"v1\"," first "\"kind\":\"ConfigMap\",\"name\":\"o\",\"uid\":\"u\"},"        \
    "{\"apiVersion\":\"v1\"," second "\"kind\":\"ConfigMap\",\"name\":\"p\",\"uid\":\"u\"}]"
#define BLOCKS "\"blockOwnerDeletion\":true,"
    struct cor_gc_identity named_last = {COR_STR("v1"), COR_STR("ConfigMap"), COR_STR("ns"),
                                         COR_STR("p"), COR_STR("u")};
    struct cor_gc_graph g;

    cor_gc_graph_init(&g);
    assert_int_equal(show(&g, "ns", "d", "dep", TWO("", BLOCKS)), 0);
    assert_due(&g, "u");
    assert_int_equal(show(&g, "ns", "d", "dep", TWO(BLOCKS, "")), 0);
    assert_due(&g, "dep"); /* the second reference is still doubtful, the owner is blocked */
    assert_int_equal(show(&g, "ns", "d", "dep", TWO("", "")), 0);
    assert_due(&g, "u dep");
    /* The other reference is compared, too: the owner may have its name. */
    assert_true(cor_gc_graph_absent(&g, &named_last));
    assert_due(&g, "dep");
    gone(&g, "ns", "d", "dep");
    assert_int_equal(cor_map_len(&g.nodes), 0);
    cor_gc_graph_deinit(&g);
}

/* Contract controllers 2.3.1, 2.3.2, 2.3.5: a node follows the versions of its object. */
TEST(gc_graph, a_node_has_the_references_of_the_last_version_and_never_forgets_a_deletion)
{
    static const char two[] =
        ",\"ownerReferences\":["
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"a\",\"uid\":\"u1\"},"
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"b\",\"uid\":\"u2\"}]";
    struct cor_gc_graph g;
    const struct cor_gc_node *node;

    cor_gc_graph_init(&g);
    assert_int_equal(show(&g, "ns", "d", "u9", two), 0);
    assert_due(&g, "u1 u2");
    node = cor_gc_graph_find(&g, COR_STR("u9"));
    assert_str(node->id.api_version, "v1");
    assert_str(node->id.kind, "ConfigMap");
    assert_str(node->id.ns, "ns");
    assert_str(node->id.name, "d");
    assert_int_equal(node->nedges, 2);
    assert_false(node->is_virtual || node->being_deleted || node->deleting_dependents);
    assert_true(cor_gc_graph_find(&g, COR_STR("u1"))->is_virtual);
    /* One reference is removed, with its owner, and one is changed. */
    assert_int_equal(show(&g, "ns", "d", "u9", REF("b", "u2")), 0);
    assert_int_equal(node->nedges, 1);
    assert_null(cor_gc_graph_find(&g, COR_STR("u1")));
    assert_true(cor_gc_node_has_dependents(cor_gc_graph_find(&g, COR_STR("u2"))));
    /* One is added. */
    assert_int_equal(show(&g, "ns", "d", "u9", two), 0);
    assert_true(cor_gc_node_has_dependents(cor_gc_graph_find(&g, COR_STR("u1"))));
    assert_int_equal(
        show(
            &g, "ns", "d", "u9",
            ",\"deletionTimestamp\":\"2025-01-01T00:00:00Z\",\"finalizers\":[\"foregroundDeletion\"]" REF(
                "b", "u2")),
        0);
    assert_true(node->being_deleted && node->deleting_dependents);
    assert_int_equal(show(&g, "ns", "d", "u9", REF("b", "u2")), 0);
    assert_true(node->being_deleted && node->deleting_dependents);
    cor_gc_graph_deinit(&g);
}

/* Contract controllers 2.3.8, 2.11 TestGetAlternateOwnerIdentity. */
TEST(gc_graph, a_virtual_owner_moves_on_through_the_coordinates_that_dependents_name)
{
    struct cor_gc_identity absent = {COR_STR("v1"), COR_STR("ConfigMap"), COR_STR("ns"),
                                     COR_STR("a"), COR_STR("owner")};
    struct cor_gc_graph g;

    cor_gc_graph_init(&g);
    assert_int_equal(show(&g, "ns", "d1", "dep1", REF("a", "owner")), 0);
    assert_int_equal(show(&g, "ns", "d2", "dep2", REF("b", "owner")), 0);
    assert_due(&g, "owner dep2");
    assert_true(cor_gc_graph_absent(&g, &absent));
    assert_due(&g, "dep1");
    assert_str(cor_gc_graph_find(&g, COR_STR("owner"))->id.name, "b");
    gone(&g, "ns", "d1", "dep1");
    absent.name = COR_STR("b");
    assert_false(cor_gc_graph_absent(&g, &absent));
    assert_null(cor_gc_graph_find(&g, COR_STR("owner")));
    assert_due(&g, "dep2");
    cor_gc_graph_deinit(&g);
}

/* A list that does not have an object decides nothing alone. */
TEST(gc_graph, nodes_that_a_list_does_not_have_are_to_be_looked_up)
{
    struct cor_gc_origin second = configmaps;
    struct cor_gc_graph g;

    cor_gc_graph_init(&g);
    assert_int_equal(show(&g, "ns", "o", "owner", ""), 0);
    assert_int_equal(show(&g, "ns", "d", "dep", REF("o", "owner")), 0);
    assert_due(&g, "owner");
    second.list = 2;
    cor_gc_graph_relisted(&g, &second);
    assert_true(cor_gc_graph_find(&g, COR_STR("dep"))->is_virtual);
    assert_due(&g, "dep");
    assert_int_equal(g.uids.n, 0);
    cor_gc_graph_deinit(&g);
}

TEST(gc_graph, is_unchanged_when_an_allocation_fails)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_gc_graph g;
        struct cor_object *o = NULL, *changed = NULL;

        test_fail_alloc(0, false);
        cor_gc_graph_init(&g);
        o = object("ns", "d", "dep", REF("o", "owner"));
        changed = object("ns", "d", "dep", REF("o", "another"));
        test_fail_alloc(n, false);
        if (cor_gc_graph_observe(&g, &configmaps, o) < 0) {
            assert_int_equal(cor_map_len(&g.nodes), 0);
        } else {
            assert_int_equal(cor_map_len(&g.nodes), 2);
            if (cor_gc_graph_observe(&g, &configmaps, changed) < 0) {
                assert_non_null(cor_gc_graph_find(&g, COR_STR("owner")));
                assert_null(cor_gc_graph_find(&g, COR_STR("another")));
            } else {
                assert_null(cor_gc_graph_find(&g, COR_STR("owner")));
                assert_non_null(cor_gc_graph_find(&g, COR_STR("another")));
            }
        }
        cor_gc_graph_deinit(&g);
        cor_object_unref(o);
        cor_object_unref(changed);
    }
}

/* The bar: 40 bytes for an object that has neither owners nor dependents. */
TEST(gc_uids, an_object_costs_at_most_40_bytes)
{
    struct cor_gc_uids t = {0};
    struct cor_gc_place place = {3, cor_gc_namespace_hash(COR_STR("default"))};

    for (unsigned i = 0; i < 20000; i++) {
        struct cor_gc_uid uid = {test_random(), test_random()};

        assert_int_equal(cor_gc_uids_put(&t, uid, place, i & 1), 0);
        if (t.n > 100)
            assert_true(cor_gc_uids_bytes(&t) <= 40 * t.n);
    }
    cor_gc_uids_sweep(&t, 3, true);
    assert_int_equal(t.n, 10000);
    cor_gc_uids_sweep(&t, 2, false);
    assert_int_equal(t.n, 10000);
    cor_gc_uids_sweep(&t, 3, false);
    assert_int_equal(t.n, 0);
    cor_gc_uids_deinit(&t);
}

TEST(gc_uids, finds_what_was_put_and_not_removed)
{
    struct cor_gc_uids t = {0};
    struct cor_gc_place place = {0, 0};
    bool is_in[512] = {false};

    for (unsigned step = 0; step < 20000; step++) {
        unsigned i = (unsigned)(test_random() % 512);
        struct cor_gc_uid uid = {i, i % 7};

        if (test_random() % 2) {
            assert_int_equal(cor_gc_uids_put(&t, uid, (struct cor_gc_place){i, i + 1}, step & 1),
                             0);
            is_in[i] = true;
        } else {
            cor_gc_uids_remove(&t, uid);
            is_in[i] = false;
        }
        i = (unsigned)(test_random() % 512);
        uid = (struct cor_gc_uid){i, i % 7};
        assert_int_equal(cor_gc_uids_find(&t, uid, &place), is_in[i]);
        if (is_in[i])
            assert_true(place.resource == i && place.ns == i + 1);
    }
    cor_gc_uids_deinit(&t);
}

TEST(gc_uids, reads_the_text_of_a_uid_or_hashes_it)
{
    struct cor_gc_uid uid = cor_gc_uid(COR_STR("01234567-89ab-cdef-0123-456789abcdef"));
    struct cor_gc_uid other = cor_gc_uid(COR_STR("01234567-89AB-cdef-0123-456789abcdef"));

    assert_true(uid.a == 0x0123456789abcdef && uid.b == 0x0123456789abcdef);
    assert_true(other.a != uid.a && other.b != uid.b);
    assert_int_equal(cor_gc_namespace_hash(COR_STR("")), 0);
    assert_true(cor_gc_namespace_hash(COR_STR("default")) != 0);
}

/* What an aggregated server shows costs it nothing, so it is bounded here: a server that shows ever
 * more objects with owners is told that there is no room, and others are collected all the same. */
TEST(gc_graph, what_aggregated_servers_show_is_bounded)
{
    static const struct cor_gc_origin remote = {COR_STR_INIT("a.io/v1"), COR_STR_INIT("Thing"), 2,
                                                1, true};
    struct cor_gc_graph g;
    struct cor_object *o;
    char uid[32], refs[512];
    size_t n = 0;
    int r = 0;

    cor_gc_graph_init(&g);
    while (r == 0) {
        snprintf(uid, sizeof(uid), "r%zu", n);
        snprintf(refs, sizeof(refs),
                 ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":"
                 "\"o\",\"uid\":\"o%zu\"}]",
                 n);
        o = object("ns", "r", uid, refs);
        r = cor_gc_graph_observe(&g, &remote, o);
        cor_object_unref(o);
        n += r == 0;
    }
    assert_int_equal(r, -COR_ETOOBIG);
    assert_uint_in_range(n, 10000, 100000);
    assert_true(g.remote_bytes <= COR_GC_REMOTE_BYTES_MAX);
    assert_int_equal(cor_map_len(&g.nodes), 2 * n);
    assert_int_equal(g.uids.n, 0);
    /* One of ours, and again one of theirs when another has gone. */
    assert_int_equal(show(&g, "ns", "d", "dep", REF("o", "owner")), 0);
    o = object("ns", "r", "r0", "");
    cor_gc_graph_forget(&g, &remote, o);
    cor_object_unref(o);
    o = object("ns", "r", uid, refs);
    assert_int_equal(cor_gc_graph_observe(&g, &remote, o), 0);
    /* The same again costs nothing more. */
    n = g.remote_bytes;
    assert_int_equal(cor_gc_graph_observe(&g, &remote, o), 0);
    assert_int_equal(g.remote_bytes, n);
    cor_object_unref(o);
    cor_gc_graph_deinit(&g);
}

TEST(gc_graph, references_of_an_aggregated_object_beyond_their_maximum_are_none)
{
    static const struct cor_gc_origin remote = {COR_STR_INIT("a.io/v1"), COR_STR_INIT("Thing"), 2,
                                                1, true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct cor_object *stored, *o;
    struct cor_gc_graph g;

    cor_buf_init(&json, 1 << 20);
    cor_buf_addz(&json, "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"ownerReferences\":[");
    for (size_t i = 0; i <= COR_GC_REMOTE_REFS_MAX / 3; i++)
        cor_buf_addz(&json, i ? ",{}" : "{}");
    cor_buf_addz(&json, "]}}");
    assert_int_equal(cor_object_parse(cor_buf_str(&json), NULL, NULL, NULL, &stored, NULL), 0);
    assert_int_equal(cor_object_at(stored, 7, &o), 0);
    cor_gc_graph_init(&g);
    assert_int_equal(cor_gc_graph_observe(&g, &remote, o), 0);
    assert_int_equal(cor_map_len(&g.nodes), 0);
    assert_int_equal(g.remote_bytes, 0);
    cor_gc_graph_deinit(&g);
    cor_object_unref(o);
    cor_object_unref(stored);
}
