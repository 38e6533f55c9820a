/* What the controllers enumerate of a snapshot: our rows, and what aggregated servers told. */
#include "server/port/inner_resources.h"

#include "../aggregation/remote_fixture.h"
#include "base/err.h"

struct enumerated {
    struct cor_api_service *service;
    struct cor_served *served;
};

/* A snapshot with pods, and the wardle server's version. `told`: the resources that it has; NULL:
 * nothing is known. */
static void enumerated_open(struct enumerated *e, const char *told, bool is_current)
{
    const struct cor_resource_row *row =
        cor_api_builtin(COR_STR(""), COR_STR("v1"), COR_STR("pods"));
    struct cor_remote_version version = {.group = COR_STR(WARDLE_GROUP),
                                         .version = COR_STR(WARDLE_VERSION),
                                         .is_current = is_current};
    struct cor_remote_docs *docs = NULL;

    e->service = rfx_service(WARDLE_VERSION, WARDLE_GROUP);
    atomic_store(&e->service->is_available, true);
    if (told) {
        assert_int_equal(cor_remote_text_new(cor_strz(told), &version.resources), 0);
        assert_int_equal(cor_remote_docs_new(&version, 1, &docs), 0);
    }
    assert_int_equal(cor_served_new(&(struct cor_served_opts){.rows = &row,
                                                              .nrows = 1,
                                                              .services = &e->service,
                                                              .nservices = 1,
                                                              .remote_docs = docs,
                                                              .generation = 2},
                                    &e->served),
                     0);
    cor_remote_docs_unref(docs);
    cor_remote_text_unref(version.resources);
}

static void enumerated_close(struct enumerated *e)
{
    cor_served_unref(e->served);
    cor_api_service_unref(e->service);
}

static struct cor_api_resources *resources_of(const struct enumerated *e)
{
    struct cor_api_resources *resources = NULL;

    assert_int_equal(cor_inner_resources_new(e->served, &resources), 0);
    return resources;
}

static const struct cor_port_resource *find(const struct cor_api_resources *resources,
                                            const char *name)
{
    const struct cor_gvr gvr = {COR_STR(WARDLE_GROUP), COR_STR(WARDLE_VERSION), cor_strz(name)};

    return cor_api_resources_find(resources, &gvr);
}

static void assert_stale(const struct enumerated *e)
{
    struct cor_api_resources *resources = resources_of(e);

    assert_int_equal(resources->n, 1);
    assert_int_equal(resources->nfailures, 1);
    assert_str(resources->failures[0].message,
               "stale GroupVersion discovery: wardle.example.com/v1alpha1");
    cor_api_resources_unref(resources);
}

/* Contract controllers 1.3.1, 2.2.1 */
TEST(inner_resources, have_what_an_aggregated_server_told)
{
    static const char told[] =
        "[{\"resource\":\"flunders\",\"responseKind\":{\"group\":\"wardle.example.com\",\"kind\":"
        "\"Flunder\",\"version\":\"v1alpha1\"},\"scope\":\"Namespaced\",\"verbs\":[\"list\",\"watch\","
        "\"delete\",\"sing\"]},{\"resource\":\"fischers\",\"responseKind\":{\"kind\":\"Fischer\"},"
        "\"scope\":\"Cluster\",\"verbs\":[\"get\"]}]";
    const struct cor_port_resource *flunders, *fischers;
    struct cor_api_resources *resources;
    struct enumerated e;

    enumerated_open(&e, told, true);
    resources = resources_of(&e);
    assert_int_equal(resources->n, 3);
    assert_int_equal(resources->nfailures, 0);
    flunders = find(resources, "flunders");
    assert_str(flunders->kind, "Flunder");
    assert_true(flunders->is_remote && flunders->is_namespaced && flunders->is_preferred);
    assert_int_equal(flunders->verbs,
                     COR_API_VERB_BIT(LIST) | COR_API_VERB_BIT(WATCH) | COR_API_VERB_BIT(DELETE));
    fischers = find(resources, "fischers");
    assert_true(fischers->is_remote && !fischers->is_namespaced);
    cor_api_resources_unref(resources);
    enumerated_close(&e);
}

/* Contract extension 4.5.4: what is not known may be there. */
TEST(inner_resources, a_version_of_which_nothing_is_known_is_a_failure)
{
    struct enumerated e;

    enumerated_open(&e, NULL, false);
    assert_stale(&e);
    enumerated_close(&e);

    enumerated_open(&e, "[]", false);
    assert_stale(&e);
    enumerated_close(&e);

    enumerated_open(&e, "[]", true);
    atomic_store(&e.service->is_available, false);
    assert_stale(&e);
    enumerated_close(&e);
}

TEST(inner_resources, a_version_with_too_many_resources_is_a_failure)
{
    struct cor_api_resources *resources;
    struct enumerated e;
    char told[COR_REMOTE_RESOURCES_MAX * 32];
    size_t n = 0;

    for (unsigned i = 0; i <= COR_REMOTE_RESOURCES_MAX; i++) {
        n += (size_t)snprintf(told + n, sizeof(told) - n, "%c{\"resource\":\"r%u\"}", i ? ',' : '[',
                              i);
        if (i + 1 < COR_REMOTE_RESOURCES_MAX)
            continue;
        snprintf(told + n, sizeof(told) - n, "]");
        enumerated_open(&e, told, true);
        if (i < COR_REMOTE_RESOURCES_MAX) {
            resources = resources_of(&e);
            assert_int_equal(resources->n, 1 + COR_REMOTE_RESOURCES_MAX);
            cor_api_resources_unref(resources);
        } else {
            assert_stale(&e);
        }
        enumerated_close(&e);
    }
}

/* A path that is made of such a name would be another one. */
TEST(inner_resources, names_that_are_no_part_of_a_path_are_left_out)
{
    struct cor_api_resources *resources;
    struct enumerated e;

    enumerated_open(&e,
                    "[{\"resource\":\"../pods\"},{\"resource\":\"\"},{\"resource\":7},{},"
                    "{\"resource\":\"a/b\"},{\"resource\":\"a\\u002fb\"},{\"resource\":\"good\"}]",
                    true);
    resources = resources_of(&e);
    assert_int_equal(resources->n, 2);
    assert_non_null(find(resources, "good"));
    cor_api_resources_unref(resources);
    enumerated_close(&e);
}

TEST(inner_resources, the_mark_follows_what_can_be_enumerated)
{
    struct enumerated e;
    uint64_t available;

    enumerated_open(&e, "[]", true);
    available = cor_inner_resources_mark(e.served);
    atomic_store(&e.service->is_available, false);
    assert_int_not_equal(cor_inner_resources_mark(e.served), available);
    atomic_store(&e.service->is_available, true);
    assert_int_equal(cor_inner_resources_mark(e.served), available);
    enumerated_close(&e);
}

TEST(inner_resources, without_memory_there_is_no_enumeration)
{
    struct cor_api_resources *resources;
    struct enumerated e;
    int r = -1;

    enumerated_open(&e, "[{\"resource\":\"flunders\"}]", true);
    atomic_store(&e.service->is_available, false);
    FOR_EACH_FAILED_ALLOC(n) {
        atomic_store(&e.service->is_available, n % 2);
        r = cor_inner_resources_new(e.served, &resources);
        if (r == 0)
            cor_api_resources_unref(resources);
        else
            assert_int_equal(r, -COR_ENOMEM);
    }
    assert_int_equal(r, 0);
    enumerated_close(&e);
}
