#include "client/discovery/rest_mapper.h"

#include "client/discovery/mapper_lookup.h"
#include "discovery_documents.h"
#include "rest_fixture.h"

/* Groups as upstream's TestRESTMapper has them: jobs in two groups, peas in a version that is not
 * preferred. */
#define RES(name, kind, extra)                                                                     \
    "{\"resource\":\"" name "\",\"responseKind\":{\"kind\":\"" kind "\"},\"scope\":"               \
    "\"Namespaced\",\"singularResource\":\"\"" extra "}"
#define VERSION(version, resources)                                                                \
    "{\"version\":\"" version "\",\"freshness\":\"Current\",\"resources\":[" resources "]}"
#define GROUP(name, versions) "{\"metadata\":{\"name\":\"" name "\"},\"versions\":[" versions "]}"

static const char garden[] =
    "{\"items\":[" GROUP("extensions", VERSION("v1beta", RES("jobs", "Job", "") "," RES("ingresses", "Ingress", ",\"shortNames\":[\"ing\"]") "," RES("pods", "Pod", ",\"categories\":[\"all\"]"))) "," GROUP(
        "",
        VERSION("v1", RES("pods", "Pod", ",\"categories\":[\"all\"],\"shortNames\":[\"po\"]")) "," VERSION(
            "v2",
            RES("pods", "Pod",
                ""))) "," GROUP("networking.k8s.io",
                                VERSION(
                                    "v1",
                                    RES("ingresses", "Ingress",
                                        ",\"shortNames\":[\"ing\"]"))) "," GROUP("garden",
                                                                                 VERSION("v1", RES("beans", "Bean", "")) "," VERSION(
                                                                                     "v2",
                                                                                     RES("beans", "Bean", "") "," RES(
                                                                                         "peas",
                                                                                         "Pea",
                                                                                         ",\"shortNames\":[\"p\"]"))) "," GROUP("twins",
                                                                                                                                VERSION(
                                                                                                                                    "v1",
                                                                                                                                    RES("lefts", "Same", "") "," RES(
                                                                                                                                        "rights",
                                                                                                                                        "Same",
                                                                                                                                        ""))) "]}";

static struct cor_catalog garden_catalog(void)
{
    struct cor_catalog catalog = {0};

    assert_int_equal(cor_catalog_add_aggregated(&catalog, cor_strz(garden)), 0);
    return catalog;
}

static const char *text_of(const struct cor_rest_mapping *m, int r, struct cor_status *why)
{
    static char text[512];

    if (r < 0)
        snprintf(text, sizeof(text), "%s %s", cor_err_name(r), cor_status_message(why));
    else
        snprintf(text, sizeof(text), "%.*s/%.*s %.*s %.*s", COR_STR_ARG(m->resource.group),
                 COR_STR_ARG(m->resource.version), COR_STR_ARG(m->resource.resource),
                 COR_STR_ARG(m->kind.kind));
    cor_status_deinit(why);
    return text;
}

static void resource_is(const struct cor_catalog *catalog, const char *group, const char *version,
                        const char *resource, const char *expected)
{
    struct cor_gvr partial = {cor_strz(group), cor_strz(version), cor_strz(resource)};
    struct cor_rest_mapping m;
    struct cor_status why = {0};
    int r = cor_rest_mapping_of_resource(catalog, &partial, &m, &why);

    assert_string_equal(text_of(&m, r, &why), expected);
}

/* Contract client 4.16.1, 4.16.3. */
TEST(rest_mapper, the_best_resource_of_a_partial_name)
{
    struct cor_catalog c = garden_catalog();

    resource_is(&c, "", "", "pods", "/v1 pods Pod");
    resource_is(&c, "", "", "Pod", "/v1 pods Pod");
    resource_is(&c, "extensions", "", "pods", "extensions/v1beta pods Pod");
    resource_is(&c, "", "v2", "pods", "/v2 pods Pod");
    resource_is(&c, "", "", "jobs", "extensions/v1beta jobs Job");
    resource_is(&c, "", "", "ingresses", "extensions/v1beta ingresses Ingress");
    resource_is(&c, "networking", "", "ingresses", "networking.k8s.io/v1 ingresses Ingress");
    resource_is(&c, "", "", "beans", "garden/v1 beans Bean");
    resource_is(&c, "", "", "peas", "garden/v2 peas Pea");
    resource_is(&c, "garden", "v2", "beans", "garden/v2 beans Bean");
    resource_is(&c, "gard", "v2", "beans", "ENOTFOUND no matches for gard/v2, Resource=beans");
    resource_is(&c, "", "", "stones", "ENOTFOUND no matches for /, Resource=stones");
    resource_is(&c, "", "", "", "EINVAL a resource must be present");
    resource_is(&c, "", "", "same",
                "ECONFLICT /, Resource=same matches multiple resources [twins/v1, Resource=lefts "
                "twins/v1, Resource=rights]");
    cor_catalog_deinit(&c);
}

static void kind_is(const struct cor_catalog *catalog, const char *group, const char *kind,
                    const char *version, const char *expected)
{
    struct cor_gk gk = {cor_strz(group), cor_strz(kind)};
    struct cor_rest_mapping m;
    struct cor_status why = {0};
    int r = cor_rest_mapping_of_kind(catalog, &gk, cor_strz(version), &m, &why);

    assert_string_equal(text_of(&m, r, &why), expected);
}

/* Contract client 4.16.2. */
TEST(rest_mapper, the_resource_of_a_kind)
{
    struct cor_catalog c = garden_catalog();

    kind_is(&c, "", "Pod", "", "/v1 pods Pod");
    kind_is(&c, "", "pod", "", "/v1 pods Pod");
    kind_is(&c, "", "POD", "", "ENOTFOUND no matches for kind \"POD\" in group \"\"");
    kind_is(&c, "", "Pod", "v2", "/v2 pods Pod");
    kind_is(&c, "garden", "Bean", "", "garden/v1 beans Bean");
    kind_is(&c, "garden", "Pea", "", "garden/v2 peas Pea");
    kind_is(&c, "garden", "Pea", "v1",
            "ENOTFOUND no matches for kind \"Pea\" in version "
            "\"garden/v1\"");
    kind_is(&c, "garden", "Stone", "",
            "ENOTFOUND no matches for kind \"Stone\" in group "
            "\"garden\"");
    cor_catalog_deinit(&c);
}

#define HEARD_MAX 512

static void hear_warning(void *arg, const char *text)
{
    size_t n = strlen(arg);

    snprintf((char *)arg + n, HEARD_MAX - n, "%s;", text);
}

static void expands_to(const struct cor_catalog *catalog, const char *group, const char *resource,
                       const char *expected, const char *warning)
{
    struct cor_gvr partial = {cor_strz(group), COR_STR(""), cor_strz(resource)}, whole;
    char heard[HEARD_MAX] = "", text[128];

    whole = cor_rest_mapper_expand(catalog, &partial, hear_warning, heard);
    snprintf(text, sizeof(text), "%.*s.%.*s", COR_STR_ARG(whole.resource),
             COR_STR_ARG(whole.group));
    assert_string_equal(text, expected);
    assert_string_equal(heard, warning);
}

/* Contract client 4.16.6. */
TEST(rest_mapper, short_names)
{
    struct cor_catalog c = garden_catalog();

    expands_to(&c, "", "po", "pods.", "");
    expands_to(&c, "", "pods", "pods.", "");
    expands_to(&c, "", "p", "peas.garden", "");
    expands_to(&c, "", "ing", "ingresses.extensions",
               "short name \"ing\" could also match lower priority resource "
               "ingresses.networking.k8s.io;");
    expands_to(&c, "networking.k8s.io", "ing", "ingresses.networking.k8s.io", "");
    expands_to(&c, "networking", "ing", "ingresses.networking.k8s.io", "");
    expands_to(&c, "", "nothing", "nothing.", "");
    cor_catalog_deinit(&c);
}

/* Contract client 4.16.7. */
TEST(rest_mapper, categories)
{
    struct cor_catalog c = garden_catalog();
    struct cor_gr found[4];

    assert_int_equal(cor_rest_mapper_category(&c, COR_STR("all"), found, 4), 2);
    assert_str(found[0].group, "extensions");
    assert_str(found[1].group, "");
    assert_str(found[1].resource, "pods");
    assert_int_equal(cor_rest_mapper_category(&c, COR_STR("none"), found, 4), 0);
    assert_int_equal(cor_rest_mapper_category(&c, COR_STR("all"), found, 1), 2);
    cor_catalog_deinit(&c);
}

#define IN_ALL ",\"categories\":[\"all\"]"

/* A resource of several versions is in its category once, wherever it stands. */
TEST(rest_mapper, categories_name_a_resource_once)
{
    static const char twice[] = "{\"items\":[" GROUP(
        "a",
        VERSION("v1", RES("pods", "Pod", IN_ALL)) "," VERSION(
            "v2", RES("pods", "Pod", IN_ALL) "," RES(
                      "jobs", "Job", IN_ALL)) "," VERSION("v3", RES("jobs", "Job", IN_ALL))) "]}";
    struct cor_catalog c = {0};
    struct cor_gr found[4];

    assert_int_equal(cor_catalog_add_aggregated(&c, cor_strz(twice)), 0);
    assert_int_equal(cor_rest_mapper_category(&c, COR_STR("all"), found, 4), 2);
    assert_str(found[0].resource, "pods");
    assert_str(found[1].resource, "jobs");
    cor_catalog_deinit(&c);
}

static void assert_same_version(const struct cor_catalog_version *a,
                                const struct cor_catalog_version *b)
{
    assert_true(cor_str_eq(a->version, b->version));
    assert_int_equal(a->nresources, b->nresources);
    for (size_t i = 0; i < a->nresources; i++) {
        assert_true(cor_str_eq(a->resources[i].name, b->resources[i].name));
        assert_true(cor_str_eq(a->resources[i].subresource, b->resources[i].subresource));
        assert_true(cor_str_eq(a->resources[i].kind.kind, b->resources[i].kind.kind));
        assert_int_equal(a->resources[i].is_namespaced, b->resources[i].is_namespaced);
    }
}

static void assert_same_catalog(const struct cor_catalog *a, const struct cor_catalog *b)
{
    assert_int_equal(a->ngroups, b->ngroups);
    for (size_t i = 0; i < a->ngroups; i++) {
        assert_true(cor_str_eq(a->groups[i].name, b->groups[i].name));
        assert_int_equal(a->groups[i].nversions, b->groups[i].nversions);
        for (size_t k = 0; k < a->groups[i].nversions; k++)
            assert_same_version(&a->groups[i].versions[k], &b->groups[i].versions[k]);
    }
}

TEST(rest_mapper, says_what_it_found_or_that_there_is_no_memory)
{
    const struct cor_gvr same = {COR_STR(""), COR_STR(""), COR_STR("same")};
    const struct cor_gvr nothing = {COR_STR(""), COR_STR(""), COR_STR("nothing")};
    const struct cor_gk stone = {COR_STR("garden"), COR_STR("Stone")};
    struct cor_catalog c = garden_catalog();

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_catalog other = {0};
        int r = cor_catalog_add_aggregated(&other, cor_strz(garden));

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            assert_same_catalog(&other, &c);
        cor_catalog_deinit(&other);
    }
    for (int i = 0; i < 3; i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_rest_mapping m;
            struct cor_status why = {0};
            int r = i == 0   ? cor_rest_mapping_of_resource(&c, &same, &m, &why)
                    : i == 1 ? cor_rest_mapping_of_resource(&c, &nothing, &m, &why)
                             : cor_rest_mapping_of_kind(&c, &stone, COR_STR(""), &m, &why);

            assert_true(r == (i == 0 ? -COR_ECONFLICT : -COR_ENOTFOUND) ||
                        (r == -COR_ENOMEM && test_alloc_failed()));
            assert_int_equal(why.err, r);
            cor_status_deinit(&why);
        }
    }
    cor_catalog_deinit(&c);
}

TEST(rest_mapper, a_warning_that_has_no_memory_is_left_out)
{
    const struct cor_gvr ing = {COR_STR(""), COR_STR(""), COR_STR("ing")};
    struct cor_catalog c = garden_catalog();

    FOR_EACH_FAILED_ALLOC(n) {
        char heard[HEARD_MAX] = "";
        struct cor_gvr whole = cor_rest_mapper_expand(&c, &ing, hear_warning, heard);

        assert_str(whole.resource, "ingresses");
        assert_int_equal(heard[0] == '\0', test_alloc_failed());
    }
    cor_catalog_deinit(&c);
}

struct looked {
    bool is_done;
    char text[512];
};

static void on_found(void *arg, const struct cor_rest_mapping *mapping,
                     const struct cor_status *error)
{
    struct looked *l = arg;
    struct cor_status none = {0};

    l->is_done = true;
    snprintf(l->text, sizeof(l->text), "%s",
             error ? cor_status_message(error) : text_of(mapping, 0, &none));
}

static void look(struct world *w, struct cor_discovery *d, const char *kind, const char *resource,
                 struct looked *l)
{
    struct cor_mapper_lookup_opts opts = {
        .discovery = d,
        .kind = {COR_STR("apps"), COR_STR(""), cor_strz(kind)},
        .resource = {COR_STR(""), COR_STR(""), cor_strz(resource)},
        .on_done = on_found,
        .arg = l,
    };

    *l = (struct looked){0};
    assert_int_equal(cor_mapper_lookup_start(&opts), 0);
    assert_false(l->is_done);
    world_until(w, is_flag, &l->is_done);
}

/* Contract client 4.16.5. */
TEST(mapper_lookup, a_miss_asks_discovery_once_more)
{
    static const struct answer script[] = {
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = "{\"items\":[]}", .content_type = AGGREGATED},
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = AGGREGATED_APPS("Current"), .content_type = AGGREGATED},
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = AGGREGATED_APPS("Current"), .content_type = AGGREGATED},
        {.status = 403, .body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no\"}"}};
    struct cor_discovery *d;
    struct looked l;
    struct world w;

    world_begin(&w, NULL);
    world_connect_freely(&w);
    WORLD_SCRIPT(&w, script);
    assert_int_equal(cor_discovery_new(&(struct cor_discovery_opts){.client = w.rc}, &d), 0);
    look(&w, d, "", "po", &l);
    assert_string_equal(l.text, "/v1 pods Pod");
    assert_int_equal(w.nasked, 2);
    look(&w, d, "Deployment", "", &l);
    assert_string_equal(l.text, "apps/v1 deployments Deployment");
    assert_int_equal(w.nasked, 4);
    look(&w, d, "", "deploy", &l);
    assert_string_equal(l.text, "apps/v1 deployments Deployment");
    assert_int_equal(w.nasked, 4);
    look(&w, d, "Nothing", "", &l);
    assert_string_equal(l.text, "no matches for kind \"Nothing\" in group \"apps\"");
    assert_int_equal(w.nasked, 6);
    look(&w, d, "Nothing", "", &l);
    assert_string_equal(l.text, "no");
    cor_discovery_free(d);
    world_end(&w);
}

/* Contract client 4.16.4 and sequence 57: one version cannot be had, the others are found. */
TEST(mapper_lookup, finds_among_what_a_broken_version_leaves)
{
    static const struct answer script[] = {
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = AGGREGATED_APPS("Stale"), .content_type = AGGREGATED},
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = AGGREGATED_APPS("Stale"), .content_type = AGGREGATED}};
    struct cor_discovery *d;
    struct looked l;
    struct world w;

    world_begin(&w, NULL);
    world_connect_freely(&w);
    WORLD_SCRIPT(&w, script);
    assert_int_equal(cor_discovery_new(&(struct cor_discovery_opts){.client = w.rc}, &d), 0);
    look(&w, d, "Deployment", "", &l);
    assert_string_equal(l.text, "apps/v1 deployments Deployment");
    look(&w, d, "", "po", &l);
    assert_string_equal(l.text, "/v1 pods Pod");
    assert_int_equal(w.nasked, 4);
    cor_discovery_free(d);
    world_end(&w);
}

TEST(mapper_lookup, survives_failed_allocations)
{
    static const struct answer script[] = {{.body = AGGREGATED_CORE, .content_type = AGGREGATED},
                                           {.body = "{}", .content_type = AGGREGATED}};
    struct cor_mapper_lookup_opts opts = {.kind = {COR_STR(""), COR_STR("v1"), COR_STR("Pod")},
                                          .on_done = on_found};
    struct looked l = {0};
    struct world w;

    world_begin(&w, NULL);
    world_connect_freely(&w);
    WORLD_SCRIPT(&w, script);
    assert_int_equal(
        cor_discovery_new(&(struct cor_discovery_opts){.client = w.rc}, &opts.discovery), 0);
    opts.arg = &l;
    FOR_EACH_FAILED_ALLOC(n) {
        int r = cor_mapper_lookup_start(&opts);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
    world_until(&w, is_flag, &l.is_done);
    assert_string_equal(l.text, "/v1 pods Pod");
    cor_discovery_free(opts.discovery);
    world_end(&w);
}
