#include "kit/discovery/discovery.h"

#include "discovery_documents.h"
#include "rest_fixture.h"

#define NO(code_, reason_)                                                                         \
    {                                                                                              \
        .status = code_, .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":"          \
                                 "\"Failure\",\"message\":\"no\",\"reason\":\"" reason_ "\"}"      \
    }

struct seen {
    struct cor_discovery_waiter *waiter;
    bool is_done, was_cached;
    int err;
    char text[512]; /* "group/version:resource[/sub]... " */
    char failures[256];
};

static void see(struct seen *s, struct cor_str part)
{
    size_t n = strlen(s->text);

    snprintf(s->text + n, sizeof(s->text) - n, "%.*s", COR_STR_ARG(part));
}

static void see_version(struct seen *s, const struct cor_catalog_group *group,
                        const struct cor_catalog_version *version)
{
    see(s, group->name);
    see(s, cor_strz(cor_str_eq(group->preferred, version->version) ? "/*" : "/"));
    see(s, version->version);
    see(s, cor_strz(":"));
    for (size_t i = 0; i < version->nresources; i++) {
        const struct cor_catalog_resource *r = &version->resources[i];

        see(s, cor_strz(i > 0 ? "," : ""));
        see(s, r->name);
        see(s, cor_strz(r->subresource.n > 0 ? "/" : r->is_namespaced ? "=" : "#"));
        see(s, r->subresource.n > 0 ? r->subresource : r->kind.kind);
    }
    see(s, cor_strz(" "));
}

static void on_catalog(void *arg, const struct cor_catalog *catalog, bool was_cached,
                       const struct cor_status *error)
{
    struct seen *s = arg;
    struct cor_status why = {0};

    assert_false(s->is_done);
    assert_true(!catalog == !!error);
    s->is_done = true;
    s->was_cached = was_cached;
    s->err = error ? error->err : 0;
    if (!catalog)
        return;
    for (size_t i = 0; i < catalog->ngroups; i++)
        for (size_t k = 0; k < catalog->groups[i].nversions; k++)
            see_version(s, &catalog->groups[i], &catalog->groups[i].versions[k]);
    if (cor_catalog_failures(catalog, &why))
        snprintf(s->failures, sizeof(s->failures), "%s", cor_status_message(&why));
    cor_status_deinit(&why);
}

static struct cor_discovery *begin(struct world *w, const struct answer *script, size_t n,
                                   bool is_legacy)
{
    struct cor_discovery_opts opts = {.is_legacy = is_legacy};
    struct cor_discovery *d;

    world_begin(w, NULL);
    world_connect_freely(w);
    world_script(w, script, n);
    opts.client = w->rc;
    assert_int_equal(cor_discovery_new(&opts, &d), 0);
    return d;
}

static void get(struct world *w, struct cor_discovery *d, struct seen *s)
{
    *s = (struct seen){0};
    assert_int_equal(cor_discovery_fetch(d, on_catalog, s, &s->waiter), 0);
    assert_false(s->is_done);
    world_until(w, is_flag, &s->is_done);
}

#define TEXT_CORE "/*v1:pods=Pod,pods/status,nodes#Node,kindless/x "
#define TEXT_APPS "apps/*v1:deployments=Deployment "

/* Contract client 4.15.2, 4.15.5. */
TEST(discovery, aggregated_documents_tell_all)
{
    static const struct answer script[] = {
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = AGGREGATED_APPS("Current"),
         .content_type = "application/json; as=APIGroupDiscoveryList; v=\"v2beta1\"; "
                         "g=apidiscovery.k8s.io; charset=utf-8"}};
    struct cor_discovery *d;
    struct world w;
    struct seen s;

    d = begin(&w, script, 2, false);
    assert_false(cor_discovery_is_fresh(d));
    get(&w, d, &s);
    assert_string_equal(s.text, TEXT_CORE TEXT_APPS "metrics.k8s.io/*v1beta1:pods=PodMetrics ");
    assert_false(s.was_cached);
    assert_true(cor_discovery_is_fresh(d));
    get(&w, d, &s);
    assert_true(s.was_cached);
    assert_int_equal(w.nasked, 2);
    assert_str(cor_buf_str(&w.asked), "GET /api?timeout=32s\nGET /apis?timeout=32s\n");
    assert_non_null(strstr(w.headers.p,
                           "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
                           "application/json;g=apidiscovery.k8s.io;v=v2beta1;"
                           "as=APIGroupDiscoveryList,application/json\n"));
    cor_discovery_free(d);
    world_end(&w);
}

/* Contract client 4.15.5, 4.15.6: the stale one is named, and asked for twice. */
TEST(discovery, a_stale_version_is_a_failure_of_its_own)
{
    static const struct answer script[] = {
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = AGGREGATED_APPS("Stale"), .content_type = AGGREGATED},
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = AGGREGATED_APPS("Stale"), .content_type = AGGREGATED}};
    struct cor_discovery *d;
    struct world w;
    struct seen s;

    d = begin(&w, script, 4, false);
    get(&w, d, &s);
    assert_string_equal(s.text, TEXT_CORE TEXT_APPS "metrics.k8s.io/v1beta1: ");
    assert_string_equal(s.failures, "unable to retrieve the complete list of server APIs: "
                                    "metrics.k8s.io/v1beta1: stale GroupVersion discovery: "
                                    "metrics.k8s.io/v1beta1");
    assert_int_equal(w.nasked, 4);
    get(&w, d, &s);
    assert_int_equal(w.nasked, 4);
    cor_discovery_free(d);
    world_end(&w);
}

#define SHIP(version, freshness)                                                                   \
    "{\"version\":\"" version "\",\"freshness\":\"" freshness                                      \
    "\",\"resources\":[{\"resource\":\"ships\"," RESPONSE_KIND(                                    \
        "sea.io", version, "Ship") ",\"scope\":\"Cluster\",\"verbs\":[\"get\"]}]}"

/* Contract client 4.15.5: asked for twice, as there is a failure. */
TEST(discovery, the_first_version_that_is_not_stale_is_preferred)
{
    static const char ships[] =
        "{\"items\":[{\"metadata\":{\"name\":\"sea.io\"},\"versions\":[" SHIP(
            "v3", "Stale") "," SHIP("v2", "Current") "," SHIP("v1", "Current") "]}]}";
    static const struct answer script[] = {{.body = AGGREGATED_CORE, .content_type = AGGREGATED},
                                           {.body = ships, .content_type = AGGREGATED},
                                           {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
                                           {.body = ships, .content_type = AGGREGATED}};
    struct cor_discovery *d;
    struct world w;
    struct seen s;

    d = begin(&w, script, COR_ARRAY_LEN(script), false);
    get(&w, d, &s);
    assert_non_null(strstr(s.text, "sea.io/*v2:ships#Ship sea.io/v1:ships#Ship "));
    assert_null(strstr(s.text, "v3:ships"));
    cor_discovery_free(d);
    world_end(&w);
}

/* Contract client 4.15.4, 4.15.9. */
TEST(discovery, an_older_server_is_asked_version_by_version)
{
    static const struct answer script[] = {{.body = LEGACY_VERSIONS},
                                           {.body = LEGACY_GROUPS},
                                           {.body = LEGACY_CORE},
                                           {.body = LEGACY_APPS},
                                           {.body = LEGACY_APPS}};
    struct cor_discovery *d;
    struct world w;
    struct seen s;

    d = begin(&w, script, 5, true);
    get(&w, d, &s);
    assert_string_equal(s.text, "/*v1:pods=Pod,pods/status " TEXT_APPS
                                "apps/v1beta1:deployments=Deployment ");
    assert_string_equal(s.failures, "");
    assert_null(strstr(w.headers.p, "apidiscovery"));
    assert_non_null(strstr(w.asked.p, "GET /api/v1?timeout=32s\n"));
    assert_non_null(strstr(w.asked.p, "GET /apis/apps/v1beta1?timeout=32s\n"));
    cor_discovery_free(d);
    world_end(&w);
}

/* Contract client 4.15.4: one aggregated document of two is not enough. */
TEST(discovery, half_an_aggregated_answer_is_none)
{
    static const struct answer script[] = {{.body = AGGREGATED_CORE, .content_type = AGGREGATED},
                                           {.body = LEGACY_GROUPS},
                                           {.body = LEGACY_CORE},
                                           {.body = LEGACY_APPS},
                                           {.body = LEGACY_APPS}};
    struct cor_discovery *d;
    struct world w;
    struct seen s;

    d = begin(&w, script, 5, false);
    get(&w, d, &s);
    assert_int_equal(w.nasked, 5);
    assert_non_null(strstr(s.text, "/*v1:pods=Pod,pods/status apps"));
    cor_discovery_free(d);
    world_end(&w);
}

/* Contract client 4.15.3. */
TEST(discovery, no_core_group_is_fine_no_groups_are_not)
{
    static const struct answer script[] = {
        NO(404, "NotFound"), {.body = AGGREGATED_APPS("Current"), .content_type = AGGREGATED}};
    static const struct answer no_groups[] = {{.body = LEGACY_VERSIONS}, NO(403, "Forbidden")};
    static const struct answer unreadable[] = {{.body = "[1"}};
    static const struct answer broken[] = {NO(500, "InternalError")};
    struct cor_discovery *d;
    struct world w;
    struct seen s;

    d = begin(&w, script, 2, false);
    get(&w, d, &s);
    assert_string_equal(s.text, TEXT_APPS "metrics.k8s.io/*v1beta1:pods=PodMetrics ");
    cor_discovery_invalidate(d);
    WORLD_SCRIPT(&w, no_groups);
    get(&w, d, &s);
    assert_int_equal(s.err, -COR_EFORBIDDEN);
    assert_false(cor_discovery_is_fresh(d));
    WORLD_SCRIPT(&w, unreadable);
    get(&w, d, &s);
    assert_int_equal(s.err, -COR_EPROTOCOL);
    WORLD_SCRIPT(&w, broken);
    get(&w, d, &s);
    assert_int_equal(s.err, -COR_EINTERNAL);
    cor_discovery_free(d);
    world_end(&w);
}

/* Contract client 4.15.10: passing trouble is asked about again, the rest is not. */
TEST(discovery, passing_failures_are_retried_by_the_next_question)
{
    static const struct answer script[] = {
        {.body = LEGACY_VERSIONS},     {.body = LEGACY_GROUPS}, {.body = LEGACY_CORE},
        NO(503, "ServiceUnavailable"), NO(403, "Forbidden"),    {.body = LEGACY_VERSIONS},
        {.body = LEGACY_GROUPS},       {.body = LEGACY_CORE},   NO(503, "ServiceUnavailable"),
        NO(403, "Forbidden"),          {.body = LEGACY_APPS}};
    struct cor_discovery *d;
    struct world w;
    struct seen s;

    d = begin(&w, script, COR_ARRAY_LEN(script), true);
    get(&w, d, &s);
    assert_int_equal(w.nasked, 10);
    assert_int_equal(s.err, 0);
    assert_string_equal(s.failures, "unable to retrieve the complete list of server APIs: "
                                    "apps/v1: no, apps/v1beta1: no");
    get(&w, d, &s);
    assert_int_equal(w.nasked, 11);
    assert_string_equal(s.failures, "unable to retrieve the complete list of server APIs: "
                                    "apps/v1beta1: no");
    assert_non_null(strstr(s.text, TEXT_APPS));
    get(&w, d, &s);
    assert_int_equal(w.nasked, 11);
    cor_discovery_free(d);
    world_end(&w);
}

/* Contract client 4.15.7, 4.15.10. */
TEST(discovery, an_empty_version_is_a_failure_but_a_missing_core_is_not)
{
    static const struct answer script[] = {{.body = LEGACY_VERSIONS},
                                           {.body = LEGACY_GROUPS},
                                           NO(404, "NotFound"),
                                           {.body = LEGACY_APPS},
                                           {.body = "{\"resources\":[]}"},
                                           {.body = LEGACY_VERSIONS},
                                           {.body = LEGACY_GROUPS},
                                           NO(404, "NotFound"),
                                           {.body = LEGACY_APPS},
                                           {.body = "{\"resources\":[]}"}};
    struct cor_discovery *d;
    struct world w;
    struct seen s;

    d = begin(&w, script, COR_ARRAY_LEN(script), true);
    get(&w, d, &s);
    assert_string_equal(s.failures, "unable to retrieve the complete list of server APIs: "
                                    "apps/v1beta1: received empty response for: apps/v1beta1");
    cor_discovery_free(d);
    world_end(&w);
}

TEST(discovery, one_question_serves_all_that_wait)
{
    static const struct answer script[] = {
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = AGGREGATED_APPS("Current"), .content_type = AGGREGATED}};
    struct seen a = {0}, b = {0}, c = {0};
    struct cor_discovery *d;
    struct world w;

    d = begin(&w, script, 2, false);
    assert_int_equal(cor_discovery_fetch(d, on_catalog, &a, &a.waiter), 0);
    assert_int_equal(cor_discovery_fetch(d, on_catalog, &c, &c.waiter), 0);
    assert_int_equal(cor_discovery_fetch(d, on_catalog, &b, &b.waiter), 0);
    cor_discovery_cancel(c.waiter);
    world_until(&w, is_flag, &b.is_done);
    assert_true(a.is_done);
    assert_false(c.is_done);
    assert_int_equal(w.nasked, 2);
    assert_string_equal(a.text, b.text);
    cor_discovery_free(d);
    world_end(&w);
}

struct asker {
    struct cor_discovery *d;
    struct seen seen;
    int again;
};

static void ask_again(void *arg, const struct cor_catalog *catalog, bool was_cached,
                      const struct cor_status *error)
{
    struct asker *a = arg;

    on_catalog(&a->seen, catalog, was_cached, error);
    a->again = cor_discovery_fetch(a->d, ask_again, a, &a->seen.waiter);
}

static bool is_asked(void *arg)
{
    return ((struct world *)arg)->nasked > 0;
}

TEST(discovery, who_waits_when_it_is_freed_is_told)
{
    static const struct answer script[] = {{.move = HOLD}};
    struct asker a = {.again = 0}, b = {.again = 0};
    struct world w;

    a.d = b.d = begin(&w, script, 1, false);
    assert_int_equal(cor_discovery_fetch(a.d, ask_again, &a, &a.seen.waiter), 0);
    world_until(&w, is_asked, &w);
    assert_int_equal(cor_discovery_fetch(b.d, ask_again, &b, &b.seen.waiter), 0);
    cor_discovery_free(a.d);
    assert_true(a.seen.is_done && b.seen.is_done);
    assert_int_equal(a.seen.err, -COR_ECANCELED);
    assert_int_equal(b.seen.err, -COR_ECANCELED);
    assert_int_equal(a.again, -COR_ECANCELED);
    world_end(&w);
}

TEST(discovery, survives_failed_allocations)
{
    static const struct answer aggregated[] = {
        {.body = AGGREGATED_CORE, .content_type = AGGREGATED},
        {.body = AGGREGATED_APPS("Current"), .content_type = AGGREGATED}};
    static const struct answer legacy[] = {{.body = LEGACY_VERSIONS},
                                           {.body = LEGACY_GROUPS},
                                           {.body = LEGACY_CORE},
                                           {.body = LEGACY_APPS},
                                           {.body = LEGACY_APPS}};
    static const char *const whole[] = {
        TEXT_CORE TEXT_APPS "metrics.k8s.io/*v1beta1:pods=PodMetrics ",
        "/*v1:pods=Pod,pods/status " TEXT_APPS "apps/v1beta1:deployments=Deployment "};
    struct world w;
    struct cor_discovery *first = begin(&w, NULL, 0, false);

    cor_discovery_free(first);
    for (int is_legacy = 0; is_legacy < 2; is_legacy++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_discovery_opts opts = {.client = w.rc, .is_legacy = is_legacy};
            struct cor_discovery *d = NULL;
            struct seen s = {0};
            int r = cor_discovery_new(&opts, &d);

            if (is_legacy)
                WORLD_SCRIPT(&w, legacy);
            else
                WORLD_SCRIPT(&w, aggregated);
            if (r == 0)
                r = cor_discovery_fetch(d, on_catalog, &s, &s.waiter);
            if (r == 0)
                world_until(&w, is_flag, &s.is_done);
            assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
            assert_true((r == 0 && s.err == 0 && s.failures[0] == '\0') || test_alloc_failed());
            /* What names no failure is whole. */
            if (r == 0 && s.err == 0 && s.failures[0] == '\0')
                assert_string_equal(s.text, whole[is_legacy]);
            cor_discovery_free(d);
        }
    }
    world_end(&w);
}

struct question {
    struct world *w;
    struct seen *s;
};

/* All versions but the one that was not sent. */
static bool is_asked_or_over(void *arg)
{
    const struct question *q = arg;

    return q->s->is_done || q->w->nasked >= 2;
}

/* The second document is asked for, and not answered yet. */
static bool is_held_or_over(void *arg)
{
    const struct question *q = arg;

    return q->s->is_done || q->w->held;
}

/* Lets both attempts lack the n-th allocation after the answer with the groups. That answer is held
 * back until the allocations are counted, so that none of those that it causes comes before. */
static bool starve_a_version(struct world *w, struct cor_discovery *d, size_t n, struct seen *s)
{
    static const struct answer documents[] = {{.body = LEGACY_VERSIONS}, {.move = HOLD}};
    static const struct answer groups = {.body = LEGACY_GROUPS};
    static const struct answer versions[] = {
        {.body = LEGACY_APPS}, {.body = LEGACY_APPS}, {.body = LEGACY_APPS}};
    struct question q = {w, s};
    bool has_failed = false;

    *s = (struct seen){0};
    assert_int_equal(cor_discovery_fetch(d, on_catalog, s, &s->waiter), 0);
    for (int attempt = 0; attempt < 2 && !s->is_done; attempt++) {
        WORLD_SCRIPT(w, documents);
        world_until(w, is_held_or_over, &q);
        WORLD_SCRIPT(w, versions);
        if (w->held)
            play(w, &groups, COR_STEAL(w->held));
        test_fail_alloc(n, false);
        world_until(w, is_asked_or_over, &q);
        has_failed |= test_alloc_failed();
        test_fail_alloc(0, false);
    }
    world_until(w, is_flag, &s->is_done);
    return has_failed;
}

TEST(discovery, a_version_that_had_no_memory_is_asked_for_again)
{
    static const struct answer again[] = {{.body = LEGACY_APPS}};
    size_t nstarved = 0;

    /* How many allocations follow depends on when the sockets are ready: one run that meets no
     * failure is not the end. */
    for (size_t n = 1, nwhole = 0; nwhole < 5; n++) {
        struct world w;
        struct cor_discovery *d = begin(&w, NULL, 0, true);
        struct seen s;

        nwhole = starve_a_version(&w, d, n, &s) ? 0 : nwhole + 1;
        if (strstr(s.failures, "out of memory")) {
            nstarved++;
            WORLD_SCRIPT(&w, again);
            get(&w, d, &s);
            assert_int_equal(w.nasked, 1);
            assert_string_equal(s.failures, "");
        }
        cor_discovery_free(d);
        world_end(&w);
    }
    assert_true(nstarved > 0);
}
