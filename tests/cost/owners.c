/* clang-format off */
/* What the garbage collector does with an object that has N owner references, for shapes.py, which
 * compares the work, as work.h counts it, or valgrind:
 *
 *   owners_cost N...              every shape with N references, one after the other
 *   owners_cost --only NAME N...  the shape with this name
 *
 * What is counted happens inside of drive_request(). One line is printed for each: the shape, its
 * references, the bytes of the object, 0, and the work. */
/* clang-format on */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "server/controllers/gc/gc_graph.h"
#include "work.h"

#define TEXT_MAX (64u << 20)

static const struct cor_gc_origin maps = {COR_STR_INIT("v1"), COR_STR_INIT("ConfigMap"), 1, 1};

struct shape {
    const char *name;
    bool blocks;
    size_t times; /* how often each owner is named */
    void (*work)(struct cor_gc_graph *g, const struct cor_object *object, size_t n);
    bool was_shown; /* the object is in the graph already */
};

/* An object whose references to `n` names of owners begin with number `first`. */
static struct cor_object *make_object(const struct shape *shape, size_t first, size_t n)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct cor_object *stored = NULL, *served = NULL;
    int r;

    cor_buf_init(&json, TEXT_MAX);
    r = cor_buf_addz(&json, "{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\",\"uid\":\"x\","
                            "\"ownerReferences\":[");
    for (size_t i = first; i < n; i++)
        r |= cor_buf_addf(&json,
                          "%s{\"apiVersion\":\"v1\",%s\"kind\":\"Pod\",\"name\":\"p\","
                          "\"uid\":\"u%08zu\"}",
                          i > first ? "," : "", shape->blocks ? "\"blockOwnerDeletion\":true," : "",
                          i / shape->times);
    r |= cor_buf_addz(&json, "]}}");
    assert_int_equal(r, 0);
    assert_int_equal(cor_object_parse(cor_buf_str(&json), NULL, NULL, NULL, &stored, NULL), 0);
    assert_int_equal(cor_object_at(stored, 7, &served), 0);
    cor_object_unref(stored);
    return served;
}

static void observe(struct cor_gc_graph *g, const struct cor_object *object, size_t n)
{
    (void)n;
    assert_int_equal(cor_gc_graph_observe(g, &maps, object), 0);
}

static void forget(struct cor_gc_graph *g, const struct cor_object *object, size_t n)
{
    (void)n;
    cor_gc_graph_forget(g, &maps, object);
}

/* Each owner was looked up: none of them exists. The references have to be verified then. */
static void find_absent(struct cor_gc_graph *g, const struct cor_object *object, size_t n)
{
    struct cor_gc_refs_iter it = cor_gc_refs(object);
    struct cor_gc_ref ref;

    (void)n;
    while (cor_gc_refs_next(&it, &ref)) {
        struct cor_gc_identity id = {ref.api_version, ref.kind, COR_STR("ns"), ref.name, ref.uid};

        assert_false(cor_gc_graph_absent(g, &id));
    }
}

/* All references but the first are to owners that are gone. */
static void drop_dangling(struct cor_gc_graph *g, const struct cor_object *object, size_t n)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf patch;
    struct cor_gc_refs_iter it = cor_gc_refs(object);
    struct cor_str *uids = cor_calloc(n, sizeof(*uids));
    struct cor_gc_ref ref;
    size_t nuids = 0;

    (void)g;
    assert_non_null(uids);
    cor_buf_init(&patch, TEXT_MAX);
    assert_true(cor_gc_refs_next(&it, &ref));
    while (cor_gc_refs_next(&it, &ref))
        uids[nuids++] = ref.uid;
    assert_int_equal(cor_gc_patch_drop_merge(&patch, object, uids, nuids), 0);
    cor_free(uids);
}

static const struct shape shapes[] = {
    {"owners-of-a-new-object", false, 1, observe, false},
    {"owners-that-are-named-twice", true, 2, observe, true},
    {"owners-of-a-changed-object", false, 1, observe, true},
    {"blocking-owners-of-a-changed-object", true, 1, observe, true},
    {"owners-of-a-deleted-object", true, 1, forget, true},
    {"owners-that-are-absent", false, 1, find_absent, true},
    {"patch-without-dangling-owners", false, 1, drop_dangling, false},
};

/* Valgrind counts what happens in here. */
__attribute__((noinline)) static void drive_request(const struct shape *shape,
                                                    struct cor_gc_graph *g,
                                                    const struct cor_object *object, size_t n)
{
    shape->work(g, object, n);
}

static void run_shape(const struct shape *shape, size_t n)
{
    struct cor_object *before = make_object(shape, 0, n);
    struct cor_object *object = make_object(shape, shape->work == observe, n);
    struct cor_gc_graph g;
    uint64_t work;

    cor_gc_graph_init(&g);
    if (shape->was_shown)
        observe(&g, before, n);
    work = work_so_far();
    drive_request(shape, &g, object, n);
    work = work_so_far() - work;
    printf("%s %zu %zu 0 %" PRIu64 "\n", shape->name, n, cor_object_json(object).n, work);
    fflush(stdout);
    cor_gc_graph_deinit(&g);
    cor_object_unref(before);
    cor_object_unref(object);
}

int main(int argc, char **argv)
{
    const char *only = NULL;

    if (argc > 2 && strcmp(argv[1], "--only") == 0) {
        only = argv[2];
        argv += 2;
        argc -= 2;
    }
    for (size_t s = 0; s < COR_ARRAY_LEN(shapes); s++) {
        for (int i = 1; i < argc; i++) {
            if (!only || strcmp(only, shapes[s].name) == 0)
                run_shape(&shapes[s], strtoull(argv[i], NULL, 10));
        }
    }
    return 0;
}
