/* Stores, FIFOs and delta FIFOs of a program's own, through the public headers only; no server and
 * no runtime. Every allocation fails once. */
#include <coracle.h>
#include <stdio.h>

#include "test.h"

static struct cor_object *object_of(const char *ns, const char *name, const char *uid, int version)
{
    struct cor_object *object;
    char json[512];

    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"%s\",\"uid\":\"%s\",\"labels\":{\"app\":\"%s\"},"
             "\"resourceVersion\":\"%d\"}}",
             name, ns, uid, name, version);
    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    return object;
}

/* The uid in the place of "namespace/name". */
static int key_by_uid(void *arg, const struct cor_object *object, char *to)
{
    struct cor_str uid = cor_object_uid(object);

    if (uid.n == 0)
        return -COR_EINVALID;
    memcpy(to, uid.p, uid.n);
    return (int)uid.n;
}

static int index_by_name(void *arg, const struct cor_object *object, struct cor_index_values *out)
{
    return cor_index_values_add(out, cor_object_name(object));
}

static int note_name(void *arg, struct cor_object *object)
{
    struct cor_str name = cor_object_name(object);
    char *to = arg;

    snprintf(to + strlen(to), 64 - strlen(to), "%s%.*s", *to ? " " : "", COR_STR_ARG(name));
    return 0;
}

static int note_value(void *arg, struct cor_str value)
{
    ++*(int *)arg;
    return 0;
}

/* A store with the program's keys, and what it is asked for. */
TEST(stores, an_indexer_names_objects_by_the_programs_key)
{
    const struct cor_index_def by_name = {COR_STR("name"), index_by_name, NULL};
    struct cor_object *a = object_of("x", "a", "u1", 1), *b = object_of("y", "b", "u2", 2);
    struct cor_object *nobody = object_of("y", "c", "", 3), *got;
    struct cor_indexer *ix, *plain;
    struct cor_label_selector *only_b;
    char names[64] = "";
    int n = 0;

    assert_int_equal(cor_indexer_new(&by_name, 1, &ix), 0);
    cor_indexer_set_key_fn(ix, key_by_uid, NULL);
    assert_int_equal(cor_indexer_put(ix, a, NULL), 0);
    assert_int_equal(cor_indexer_put(ix, b, NULL), 0);
    assert_int_equal(cor_indexer_put(ix, nobody, NULL), -COR_EINVALID);
    assert_int_equal(cor_indexer_len(ix), 2);
    assert_int_equal(cor_indexer_get(ix, COR_STR("x/a"), &got), -COR_ENOTFOUND);
    assert_int_equal(cor_indexer_get(ix, COR_STR("u1"), &got), 0);
    assert_str(cor_object_name(got), "a");

    assert_int_equal(cor_indexer_each(ix, COR_STR("y"), NULL, note_name, names), 0);
    assert_string_equal(names, "b");
    assert_int_equal(cor_indexer_each_by_index(ix, COR_STR("name"), COR_STR("a"), note_name, names),
                     0);
    assert_string_equal(names, "b a");
    assert_int_equal(cor_indexer_each_sharing(ix, COR_STR("name"), b, note_name, names), 0);
    assert_string_equal(names, "b a b");
    assert_int_equal(cor_label_selector_parse(COR_STR("app=b"), &only_b, NULL), 0);
    names[0] = '\0';
    assert_int_equal(cor_indexer_each(ix, COR_STR(""), only_b, note_name, names), 0);
    assert_string_equal(names, "b");
    assert_int_equal(cor_indexer_each_value(ix, COR_STR("name"), note_value, &n), 0);
    assert_int_equal(n, 2);

    /* What comes from a store with other keys has its own name again in a plain one. */
    assert_int_equal(cor_indexer_new(NULL, 0, &plain), 0);
    assert_int_equal(cor_indexer_put(plain, got, NULL), 0);
    cor_object_unref(got);
    assert_int_equal(cor_indexer_get(plain, COR_STR("x/a"), &got), 0);
    cor_object_unref(got);
    assert_int_equal(cor_indexer_remove(ix, COR_STR("u1"), &got), 0);
    assert_str(cor_object_name(got), "a");
    cor_object_unref(got);
    assert_int_equal(cor_indexer_len(ix), 1);

    cor_label_selector_free(only_b);
    cor_indexer_free(ix);
    assert_null(cor_indexer_free(plain));
    cor_object_unref(a);
    cor_object_unref(b);
    cor_object_unref(nobody);
}

static int note_state(void *arg, struct cor_str key, struct cor_object *object, bool initial)
{
    char *to = arg;

    snprintf(to + strlen(to), 64 - strlen(to), "%.*s=%.*s%s ", COR_STR_ARG(key),
             COR_STR_ARG(cor_object_resource_version(object)), initial ? "i" : "");
    return 0;
}

static void count_ready(void *arg)
{
    ++*(int *)arg;
}

/* The newest state of each key, in the order of keys; deletions are not seen.
 */
TEST(stores, a_fifo_is_filled_and_popped_by_a_program)
{
    struct cor_object *a1 = object_of("x", "a", "u1", 1), *a4 = object_of("x", "a", "u1", 4);
    struct cor_object *b2 = object_of("x", "b", "u2", 2), *c3 = object_of("x", "c", "u3", 3);
    struct cor_object *const listed[] = {a1, b2, c3};
    int nready = 0;
    const struct cor_fifo_opts opts = {COR_FIFO_OPTS, .key = key_by_uid, .on_ready = count_ready,
                                       .arg = &nready};
    struct cor_reflector_store *s;
    struct cor_fifo *f;
    char seen[64] = "";

    assert_int_equal(cor_fifo_new(&(struct cor_fifo_opts){0}, &f), -COR_EINVAL);
    assert_int_equal(cor_fifo_new(&opts, &f), 0);
    s = cor_fifo_store(f);
    assert_int_equal(cor_fifo_try_pop(f, note_state, seen), -COR_EBUSY);
    assert_false(cor_fifo_has_synced(f));
    assert_int_equal(cor_reflector_store_replace(s, listed, 3, COR_STR("3"), NULL), 0);
    assert_int_equal(nready, 1);
    assert_int_equal(cor_reflector_store_update(s, a4, NULL), 0);
    assert_int_equal(cor_reflector_store_remove(s, b2, NULL), 0);
    assert_int_equal(cor_reflector_store_resync(s, NULL), 0);
    assert_int_equal(cor_fifo_add_if_not_present(f, a1), 0);
    assert_int_equal(cor_fifo_pop(f, note_state, seen), 0);
    assert_int_equal(cor_fifo_pop(f, note_state, seen), 0);
    assert_true(cor_fifo_has_synced(f));
    cor_fifo_close(f);
    assert_true(cor_fifo_is_closed(f));
    assert_int_equal(cor_fifo_pop(f, note_state, seen), -COR_ECANCELED);
    assert_string_equal(seen, "u1=4i u3=3i ");
    assert_null(cor_fifo_free(f));
    cor_object_unref(a1);
    cor_object_unref(a4);
    cor_object_unref(b2);
    cor_object_unref(c3);
}

static int note_deltas(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                       bool initial)
{
    static const char *const types[] = {"A", "U", "D", "R", "S"};
    char *to = arg;

    snprintf(to + strlen(to), 64 - strlen(to), "%.*s:", COR_STR_ARG(key));
    for (size_t i = 0; i < n; i++)
        snprintf(to + strlen(to), 64 - strlen(to), "%s%s", types[deltas[i].type],
                 deltas[i].is_tombstone ? "t" : "");
    snprintf(to + strlen(to), 64 - strlen(to), " ");
    return 0;
}

/* Both orders, and what a list lacks. */
TEST(stores, a_delta_fifo_is_filled_and_popped_by_a_program)
{
    static const char *const expected[] = {"u1:A u2:A u1:U u3:Dt u1:R ", "u1:AUR u2:ADt u3:Dt "};
    struct cor_object *a1 = object_of("x", "a", "u1", 1), *a4 = object_of("x", "a", "u1", 4);
    struct cor_object *b2 = object_of("x", "b", "u2", 2), *c3 = object_of("x", "c", "u3", 3);
    struct cor_object *const listed[] = {a4};

    for (int by_key = 0; by_key < 2; by_key++) {
        struct cor_delta_fifo_opts opts = {COR_DELTA_FIFO_OPTS, .by_key = by_key,
                                           .key = key_by_uid};
        struct cor_delta_fifo *f;
        struct cor_reflector_store *s;
        char seen[64] = "";

        assert_int_equal(cor_indexer_new(NULL, 0, &opts.known), 0);
        cor_indexer_set_key_fn(opts.known, key_by_uid, NULL);
        assert_int_equal(cor_indexer_put(opts.known, c3, NULL), 0);
        assert_int_equal(cor_delta_fifo_new(&opts, &f), 0);
        s = cor_delta_fifo_store(f);
        assert_int_equal(cor_reflector_store_add(s, a1, NULL), 0);
        assert_int_equal(cor_reflector_store_add(s, b2, NULL), 0);
        assert_int_equal(cor_reflector_store_update(s, a4, NULL), 0);
        if (!by_key)
            assert_int_equal(cor_delta_fifo_pop(f, note_deltas, seen), 0);
        if (!by_key)
            assert_int_equal(cor_delta_fifo_pop(f, note_deltas, seen), 0);
        assert_int_equal(cor_reflector_store_replace(s, listed, 1, COR_STR("5"), NULL), 0);
        while (cor_delta_fifo_len(f) > 0)
            assert_int_equal(cor_delta_fifo_try_pop(f, note_deltas, seen), 0);
        assert_true(cor_delta_fifo_has_synced(f));
        assert_string_equal(seen, expected[by_key]);
        cor_delta_fifo_close(f);
        assert_true(cor_delta_fifo_is_closed(f));
        assert_int_equal(cor_delta_fifo_try_pop(f, note_deltas, seen), -COR_ECANCELED);
        assert_null(cor_delta_fifo_free(f));
        cor_indexer_free(opts.known);
    }
    cor_object_unref(a1);
    cor_object_unref(a4);
    cor_object_unref(b2);
    cor_object_unref(c3);
}

/* A store of the program's functions, which takes one object. */
struct shelf {
    struct cor_object *object;
    int nreplaced, nresynced, r;
};

static int shelf_put(void *arg, struct cor_object *object, struct cor_status *reterr)
{
    struct shelf *shelf = arg;

    if (shelf->r < 0)
        return shelf->r;
    cor_object_unref(shelf->object);
    shelf->object = cor_object_ref(object);
    return 0;
}

static int shelf_remove(void *arg, struct cor_str key, struct cor_object *object,
                        struct cor_status *reterr)
{
    struct shelf *shelf = arg;

    shelf->object = cor_object_unref(shelf->object);
    return 0;
}

static int shelf_replace(void *arg, struct cor_object *const *objects, size_t n,
                         struct cor_str version, struct cor_status *reterr)
{
    struct shelf *shelf = arg;

    shelf->nreplaced++;
    assert_true(cor_str_eqz(version, "7"));
    return n > 0 ? shelf_put(arg, objects[n - 1], reterr) : 0;
}

static int shelf_resync(void *arg, struct cor_status *reterr)
{
    ((struct shelf *)arg)->nresynced++;
    return 0;
}

TEST(stores, functions_of_a_program_are_a_store)
{
    struct cor_object *a = object_of("x", "a", "u1", 1), *b = object_of("x", "b", "u2", 2);
    struct cor_object *const both[] = {a, b};
    struct shelf shelf = {0};
    struct cor_reflector_store_fns fns = {COR_REFLECTOR_STORE_FNS, .add = shelf_put,
                                          .update = shelf_put,     .replace = shelf_replace,
                                          .resync = shelf_resync,  .arg = &shelf};
    struct cor_reflector_store *s;
    struct cor_status why;

    cor_status_init(&why);
    assert_int_equal(cor_reflector_store_new(&fns, &s), -COR_EINVAL);
    fns.remove = shelf_remove;
    assert_int_equal(cor_reflector_store_new(&fns, &s), 0);
    assert_int_equal(cor_reflector_store_add(s, a, NULL), 0);
    assert_int_equal(cor_reflector_store_replace(s, both, 2, COR_STR("7"), NULL), 0);
    assert_int_equal(shelf.nreplaced, 1);
    assert_str(cor_object_name(shelf.object), "b");
    shelf.r = -COR_EFORBIDDEN;
    assert_int_equal(cor_reflector_store_update(s, a, &why), -COR_EFORBIDDEN);
    assert_int_equal(why.err, -COR_EFORBIDDEN);
    assert_int_equal(cor_reflector_store_resync(s, NULL), 0);
    assert_int_equal(shelf.nresynced, 1);
    assert_int_equal(cor_reflector_store_remove(s, b, NULL), 0);
    assert_null(shelf.object);
    assert_null(cor_reflector_store_free(s));
    cor_status_deinit(&why);
    cor_object_unref(a);
    cor_object_unref(b);
}

/* All or nothing: the list is there, or what was there before; a key that no memory could be had
 * for is not half there. */
TEST(stores, keep_what_they_had_when_memory_runs_out)
{
    struct cor_object *a = object_of("x", "a", "u1", 1), *b = object_of("x", "b", "u2", 2);
    struct cor_object *const listed[] = {b, a};

    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_fifo_opts fifo_opts = {COR_FIFO_OPTS, .key = key_by_uid};
        struct cor_delta_fifo_opts delta_opts = {COR_DELTA_FIFO_OPTS, .key = key_by_uid};
        struct cor_reflector_store *s = NULL;
        struct cor_delta_fifo *deltas = NULL;
        struct cor_indexer *ix = NULL;
        struct cor_fifo *f = NULL;
        char seen[64] = "", names[64] = "";
        struct cor_status why;
        int r, r_list = -1, r_fifo = -1, r_deltas = -1;

        cor_status_init(&why);
        r = cor_indexer_new(NULL, 0, &ix);
        if (r == 0)
            r = cor_indexer_store_new(ix, &s);
        if (r == 0)
            r = cor_fifo_new(&fifo_opts, &f);
        if (r == 0) {
            cor_indexer_set_key_fn(ix, key_by_uid, NULL);
            delta_opts.known = ix;
            r = cor_delta_fifo_new(&delta_opts, &deltas);
        }
        if (r == 0) {
            r_list = cor_reflector_store_replace(s, listed, 2, COR_STR("9"), &why);
            r_fifo = cor_reflector_store_replace(cor_fifo_store(f), listed, 2, COR_STR("9"), &why);
            r_deltas = cor_reflector_store_add(cor_delta_fifo_store(deltas), a, &why);
        }
        test_fail_alloc(0, false);
        if (!test_alloc_failed())
            assert_true(r == 0 && r_list == 0 && r_fifo == 0 && r_deltas == 0);
        if (r < 0) {
            assert_int_equal(r, -COR_ENOMEM);
        } else {
            assert_true(r_list == 0 || r_list == -COR_ENOMEM);
            assert_int_equal(cor_indexer_each(ix, COR_STR(""), NULL, note_name, names), 0);
            assert_string_equal(names, r_list == 0 ? "a b" : "");
            assert_true(r_fifo == 0 || r_fifo == -COR_ENOMEM);
            while (cor_fifo_try_pop(f, note_state, seen) == 0)
                ;
            assert_string_equal(seen, r_fifo == 0 ? "u2=2i u1=1i " : "");
            assert_true(r_deltas == 0 || r_deltas == -COR_ENOMEM);
            assert_int_equal(cor_delta_fifo_len(deltas), r_deltas == 0);
        }
        cor_status_deinit(&why);
        cor_delta_fifo_free(deltas);
        cor_fifo_free(f);
        cor_reflector_store_free(s);
        cor_indexer_free(ix);
    }
    cor_object_unref(a);
    cor_object_unref(b);
}
