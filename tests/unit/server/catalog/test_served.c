/* What is served: lookups, documents per generation, and rows that are made while the server runs.
 */
#include "api_fixture.h"

#include "base/err.h"
#include "base/mem.h"
#include "server/api/api_loop.h"
#include "server/catalog/served.h"
#include "server/docs/discovery_docs.h"

#define WIDGETS "/apis/example.com/v1/namespaces/default/widgets"

/* A row that is made while the server runs. */
struct made_row {
    struct cor_resource_row row;
    struct cor_row_life life;
    bool *is_freed;
};

static void free_made_row(const struct cor_resource_row *row)
{
    struct made_row *made = COR_CONTAINER_OF(row, struct made_row, row);

    *made->is_freed = true;
    cor_free(made);
}

/* The caller owns one reference. */
static const struct cor_resource_row *make_row(bool *is_freed)
{
    struct made_row *made = cor_calloc(1, sizeof(*made));
    size_t n;

    assert_non_null(made);
    (void)cor_api_builtins(&n);
    made->row = (struct cor_resource_row){
        .life = &made->life,
        .group = COR_STR("example.com"),
        .version = COR_STR("v1"),
        .kind = COR_STR("Widget"),
        .plural = COR_STR("widgets"),
        .singular = COR_STR("widget"),
        .api_version = COR_STR("example.com/v1"),
        .list_kind = COR_STR("WidgetList"),
        .flags = COR_API_NAMESPACED | COR_API_UNCONDITIONAL,
        .verbs = COR_API_VERBS_ALL,
    };
    cor_ref_init(&made->life.refs);
    made->life.place = n + 7;
    made->life.free_row = free_made_row;
    made->is_freed = is_freed;
    *is_freed = false;
    return &made->row;
}

/* The built-in resources and one more. */
static struct cor_served *serve_with(const struct cor_resource_row *more, uint64_t generation)
{
    const struct cor_resource_row *rows[256], *builtins;
    struct cor_served *served;
    size_t n;

    builtins = cor_api_builtins(&n);
    assert_true(n < COR_ARRAY_LEN(rows));
    for (size_t i = 0; i < n; i++)
        rows[i] = &builtins[i];
    rows[n] = more;
    assert_int_equal(
        cor_served_new(
            &(struct cor_served_opts){.rows = rows, .nrows = n + 1, .generation = generation},
            &served),
        0);
    return served;
}

TEST(served, finds_every_row_and_no_other)
{
    struct cor_served *served;
    const struct cor_resource_row *const *rows;
    const struct cor_type *schema;
    size_t n, nbuiltins;

    (void)cor_api_builtins(&nbuiltins);
    assert_int_equal(cor_served_new_builtins(&served), 0);
    assert_int_equal(cor_served_generation(served), 1);
    rows = cor_served_rows(served, &n);
    assert_int_equal(n, nbuiltins);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(
            cor_served_find(served, rows[i]->group, rows[i]->version, rows[i]->plural, &schema),
            rows[i]);
        assert_ptr_equal(schema, cor_type_of_kind(rows[i]->group, rows[i]->version, rows[i]->kind));
        assert_null(cor_served_find(served, rows[i]->group, COR_STR("v9"), rows[i]->plural, NULL));
        assert_null(
            cor_served_find(served, COR_STR("nope"), rows[i]->version, rows[i]->plural, NULL));
        assert_null(cor_served_find(served, rows[i]->group, rows[i]->version, rows[i]->kind, NULL));
        assert_true(cor_served_has_version(served, rows[i]->group, rows[i]->version));
        assert_int_equal(cor_row_place(rows[i]), i);
    }
    assert_true(cor_served_has_group(served, COR_STR("apps")));
    assert_false(cor_served_has_group(served, COR_STR("app")));
    assert_false(cor_served_has_version(served, COR_STR("apps"), COR_STR("v2")));
    cor_served_unref(served);
}

TEST(served, keeps_a_document_per_generation)
{
    const struct cor_served_doc *doc, *again;
    struct cor_served *first, *second;
    const struct cor_resource_row *row;
    bool is_freed;

    row = make_row(&is_freed);
    assert_int_equal(cor_served_new_builtins(&first), 0);
    second = serve_with(row, 2);
    cor_row_unref(row);
    assert_int_equal(cor_discovery_doc(first, COR_DOC_GROUPS_ALL, NULL, &doc), 0);
    assert_int_equal(cor_discovery_doc(first, COR_DOC_GROUPS_ALL, NULL, &again), 0);
    assert_ptr_equal(doc, again);
    assert_null(strstr(cor_buf_z((struct cor_buf *)&doc->json), "widgets"));
    assert_int_equal(cor_discovery_doc(second, COR_DOC_GROUPS_ALL, NULL, &again), 0);
    assert_non_null(strstr(cor_buf_z((struct cor_buf *)&again->json), "widgets"));
    assert_string_not_equal(doc->etag, again->etag);
    /* What the core group serves is the same in both. */
    assert_int_equal(cor_discovery_doc(first, COR_DOC_CORE_ALL, NULL, &doc), 0);
    assert_int_equal(cor_discovery_doc(second, COR_DOC_CORE_ALL, NULL, &again), 0);
    assert_string_equal(doc->etag, again->etag);
    assert_false(is_freed);
    cor_served_unref(second);
    assert_true(is_freed);
    cor_served_unref(first);
}

TEST(served, is_whole_or_not_made_without_memory)
{
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_served_doc *doc;
        struct cor_served *served;
        int r = cor_served_new_builtins(&served);

        if (r < 0) {
            assert_int_equal(r, -COR_ENOMEM);
            continue;
        }
        assert_non_null(
            cor_served_find(served, COR_STR("apps"), COR_STR("v1"), COR_STR("deployments"), NULL));
        r = cor_discovery_doc(served, COR_DOC_GROUPS, NULL, &doc);
        if (r < 0)
            assert_int_equal(r, -COR_ENOMEM);
        else
            assert_non_null(strstr(cor_buf_z((struct cor_buf *)&doc->json), "storage.k8s.io/v1"));
        cor_served_unref(served);
    }
}

struct wanted {
    struct fx *fx;
    uint64_t generation;
};

static bool is_published(void *arg)
{
    struct wanted *wanted = arg;

    return cor_served_generation(cor_api_home(wanted->fx->api)->served) == wanted->generation;
}

/* Publishes the snapshot, which the caller gives away, and waits until the loop has it. */
static void publish(struct fx *fx, struct cor_served *take_served)
{
    struct wanted wanted = {fx, cor_served_generation(take_served)};

    cor_api_publish(fx->api, take_served);
    cor_served_unref(take_served);
    assert_true(cor_loop_run_until(fx->loop, is_published, &wanted, FX_TIMEOUT_MS));
}

static struct cor_served *serve_builtins(uint64_t generation)
{
    const struct cor_resource_row *rows[256], *builtins;
    struct cor_served *served;
    size_t n;

    builtins = cor_api_builtins(&n);
    for (size_t i = 0; i < n; i++)
        rows[i] = &builtins[i];
    assert_int_equal(
        cor_served_new(
            &(struct cor_served_opts){.rows = rows, .nrows = n, .generation = generation}, &served),
        0);
    return served;
}

static bool has_event(void *arg)
{
    return strstr(cor_buf_z(&((struct fx_call *)arg)->sink.body), "\"ADDED\"") != NULL;
}

TEST(served, a_resource_comes_and_goes_while_the_server_runs)
{
    const struct cor_resource_row *row;
    struct fx fx = {0};
    bool is_freed;
    const char *doc;

    fx_open(&fx);
    fx_bootstrap(&fx);
    fx_do(&fx, 404, "GET", WIDGETS, "");
    row = make_row(&is_freed);
    publish(&fx, serve_with(row, 2));
    cor_row_unref(row);
    /* It is served by the same verbs as a built-in resource, and discovered. */
    doc = fx_do(&fx, 201, "POST", WIDGETS, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"n\":1}}");
    assert_at(doc, "kind", "Widget");
    assert_at(doc, "apiVersion", "example.com/v1");
    assert_at(fx_do(&fx, 200, "GET", WIDGETS "/a", ""), "spec.n", "1");
    assert_at(fx_do(&fx, 200, "GET", WIDGETS, ""), "kind", "WidgetList");
    assert_at(fx_do(&fx, 200, "GET", "/apis/example.com/v1", ""), "resources[0].name", "widgets");
    assert_non_null(strstr(fx_do(&fx, 200, "GET", "/apis", ""), "example.com"));
    {
        FX_CALL watch;

        fx_start(&fx, &watch, "GET", WIDGETS "?watch=true", "", NULL);
        publish(&fx, serve_builtins(3));
        fx_do(&fx, 404, "GET", WIDGETS, "");
        assert_null(strstr(fx_do(&fx, 200, "GET", "/apis", ""), "example.com"));
        /* The watch goes on with the row that it holds. */
        assert_true(cor_loop_run_until(fx.loop, has_event, &watch, FX_TIMEOUT_MS));
        assert_int_equal(watch.sink.status, 200);
    }
    assert_false(is_freed); /* the loop's stores of the resource have it */
    fx_close(&fx);
    assert_true(is_freed);
}

TEST(served, snapshots_that_are_published_together_replace_one_another)
{
    struct fx fx = {0};
    struct wanted wanted = {&fx, 9};

    fx_open(&fx);
    for (uint64_t i = 2; i <= wanted.generation; i++) {
        struct cor_served *served = serve_builtins(i);

        cor_api_publish(fx.api, served);
        cor_served_unref(served);
    }
    assert_true(cor_loop_run_until(fx.loop, is_published, &wanted, FX_TIMEOUT_MS));
    assert_at(fx_do(&fx, 200, "GET", "/apis/apps", ""), "kind", "APIGroup");
    fx_close(&fx);
}
