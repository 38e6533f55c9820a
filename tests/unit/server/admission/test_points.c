/* What passes the two points of admission, with plugins of the test's own: which requests, with
 * which objects, when, and what a refusal, a reader who goes and a lost compare do there. */
#include "base/err.h"
#include "recorder.h"
#include "server/verbs/delete_options.h"

#define NS          "/api/v1/namespaces/default"
#define MAPS        NS "/configmaps"
#define PODS        NS "/pods"
#define AUTHN       "/apis/authentication.k8s.io/v1"
#define AUTHZ       "/apis/authorization.k8s.io/v1"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define BINDING     "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"node-1\"}}"
#define EVICTION    "{\"metadata\":{\"name\":\"p\"}}"
#define RESOURCES   "\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\"}"

static void open_with(struct fx *fx, const struct cor_admission_list *list)
{
    recorder_reset();
    *fx = (struct fx){.opts = {.admission = list}};
    fx_open(fx);
    fx_bootstrap(fx);
    recorder_reset();
}

static void open_recorded(struct fx *fx)
{
    open_with(fx, &recorder_list);
}

static void add_pod(struct fx *fx, const char *more)
{
    char body[512];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"p\"},\"spec\":{%s" FX_CONTAINERS "}}",
             more);
    fx_do(fx, 201, "POST", PODS, body);
}

/* The pod as it was when it was added. */
static void assert_untouched(struct fx *fx, const char *revision)
{
    assert_at(fx_do(fx, 200, "GET", PODS "/p", ""), "metadata.resourceVersion", revision);
}

static bool has_no_calls(void *arg)
{
    return cor_api_loop_calls(cor_api_loop(((struct fx *)arg)->api, 0)) == 0;
}

static bool is_waiting(void *arg)
{
    return recorder.waiting != NULL;
}

/* --- which requests, and with what ------------------------------------------------------------ */

TEST(points, are_passed_by_everything_that_upstream_admits)
{
    static const struct {
        int status;
        const char *method, *target, *body, *lines;
    } cases[] = {
        {201, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}",
         "M create configmaps default/a + -\nV create configmaps default/a ConfigMap -\n"},
        {201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}",
         "M create namespaces n/n + -\nV create namespaces n/n Namespace -\n"},
        {200, "PUT", MAPS "/a", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}",
         "M update configmaps default/a + ConfigMap\n"
         "V update configmaps default/a ConfigMap ConfigMap\n"},
        {200, "PATCH", MAPS "/a?dryRun=All", "{\"data\":{\"k\":\"w\"}}",
         "M patch configmaps default/a ConfigMap ConfigMap dry\n"
         "V patch configmaps default/a ConfigMap ConfigMap dry\n"},
        {200, "PATCH", PODS "/p/status", "{\"status\":{\"phase\":\"Running\"}}",
         "M patch pods/status default/p Pod Pod\nV patch pods/status default/p Pod Pod\n"},
        {200, "DELETE", MAPS "/a?dryRun=All", "",
         "M delete configmaps default/a - ConfigMap dry\n"
         "V delete configmaps default/a - ConfigMap dry\n"},
        {200, "DELETE", MAPS "/a", "{\"dryRun\":[\"All\"]}",
         "M delete configmaps default/a - ConfigMap dry\n"
         "V delete configmaps default/a - ConfigMap dry\n"},
        {200, "DELETE", MAPS, "",
         "M deletecollection configmaps default/ - ConfigMap\n"
         "V deletecollection configmaps default/ - ConfigMap\n"},
        {404, "DELETE", MAPS "/a", "", ""},
        {201, "POST", PODS "/p/binding", BINDING,
         "M create pods/binding default/p + -\nV create pods/binding default/p + -\n"},
        {409, "POST", NS "/bindings", BINDING,
         "M create bindings default/p + -\nV create bindings default/p + -\n"},
        {201, "POST", PODS "/p/eviction?dryRun=All", EVICTION,
         "M create pods/eviction default/p + - dry\n"
         "V create pods/eviction default/p + - dry\n"},
        {201, "POST", PODS "/p/eviction", EVICTION,
         "M create pods/eviction default/p + -\nV create pods/eviction default/p + -\n"},
        {201, "POST", AUTHN "/tokenreviews", "{\"spec\":{\"token\":\"t\"}}",
         "M create tokenreviews / + -\nV create tokenreviews / + -\n"},
        {201, "POST", AUTHN "/selfsubjectreviews", "{}",
         "M create selfsubjectreviews / + -\n"
         "V create selfsubjectreviews / + -\n"},
        {201, "POST", AUTHZ "/subjectaccessreviews", "{\"spec\":{\"user\":\"u\"," RESOURCES "}}",
         "M create subjectaccessreviews / + -\n"
         "V create subjectaccessreviews / + -\n"},
        {201, "POST", AUTHZ "/selfsubjectaccessreviews", "{\"spec\":{" RESOURCES "}}",
         "M create selfsubjectaccessreviews / + -\n"
         "V create selfsubjectaccessreviews / + -\n"},
        {201, "POST", AUTHZ "/selfsubjectrulesreviews", "{\"spec\":{\"namespace\":\"n\"}}",
         "M create selfsubjectrulesreviews / + -\n"
         "V create selfsubjectrulesreviews / + -\n"},
        {400, "GET", PODS "/q/exec?command=a", "",
         "M get pods/exec default/q PodExecOptions -\nV get pods/exec default/q PodExecOptions -\n"},
        {400, "POST", PODS "/q/attach", "",
         "M create pods/attach default/q PodAttachOptions -\n"
         "V create pods/attach default/q PodAttachOptions -\n"},
        {400, "POST", PODS "/q/portforward?ports=1", "",
         "M create pods/portforward default/q PodPortForwardOptions -\n"
         "V create pods/portforward default/q PodPortForwardOptions -\n"},
        {400, "DELETE", PODS "/q:80/proxy/x", "",
         "M delete pods/proxy default/q:80 PodProxyOptions -\n"
         "V delete pods/proxy default/q:80 PodProxyOptions -\n"},
        {503, "GET", NS "/services/s/proxy", "",
         "M get services/proxy default/s ServiceProxyOptions -\n"
         "V get services/proxy default/s ServiceProxyOptions -\n"},
        {404, "GET", "/api/v1/nodes/n/proxy/", "",
         "M get nodes/proxy /n NodeProxyOptions -\nV get nodes/proxy /n NodeProxyOptions -\n"},
        {204, "GET", PODS "/q/log", "", ""}, /* a reading */
        {200, "GET", PODS "/q", "", ""},
        {200, "GET", PODS, "", ""},
    };
    static const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    struct fx fx;

    open_recorded(&fx);
    add_pod(&fx, "");
    fx_do(&fx, 201, "POST", PODS, "{\"metadata\":{\"name\":\"q\"},\"spec\":{" FX_CONTAINERS "}}");
    fx_do(&fx, 201, "POST", NS "/services",
          "{\"metadata\":{\"name\":\"s\"},\"spec\":{" FX_PORTS "}}");
    fx_do(&fx, 201, "POST", NS "/endpoints", "{\"metadata\":{\"name\":\"s\"}}");
    (void)recorder_take();
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        const char *lines;

        fx_do_with(&fx, cases[i].status, cases[i].method, cases[i].target, cases[i].body,
                   strcmp(cases[i].method, "PATCH") == 0 ? &merge : NULL);
        lines = recorder_take();
        if (strcmp(lines, cases[i].lines) != 0)
            fail_msg("%s %s:\n%s", cases[i].method, cases[i].target, lines);
    }
    fx_close(&fx);
}

/* Contract access 4.0.7. */
TEST(points, a_name_that_is_generated_is_known_to_those_that_validate)
{
    struct fx fx;
    const char *line;

    open_recorded(&fx);
    fx_do(&fx, 201, "POST", MAPS, "{\"metadata\":{\"generateName\":\"g-\"}}");
    line = recorder_take();
    assert_true(strncmp(line, "M create configmaps default/ + -\n", 33) == 0);
    assert_true(strncmp(line + 33, "V create configmaps default/g-", 30) == 0);
    fx_close(&fx);
}

TEST(points, show_the_options_of_a_connection)
{
    static const struct {
        int status;
        const char *target, *object;
    } cases[] = {
        {404,
         PODS "/x/exec?command=ls&command=-l%20a&stdin=true&stdout=1&stderr=False&tty=0&"
              "container=c&other=x",
         "{\"kind\":\"PodExecOptions\",\"apiVersion\":\"v1\",\"command\":[\"ls\",\"-l a\"],"
         "\"container\":\"c\",\"metadata\":{},\"stdin\":true,\"stdout\":true}"},
        {404, PODS "/x/portforward?ports=80,81&ports=65535",
         "{\"kind\":\"PodPortForwardOptions\",\"apiVersion\":\"v1\",\"metadata\":{},\"ports\":[80,"
         "81,65535]}"},
        {404, PODS "/x/proxy/a/b%20c/?path=x",
         "{\"kind\":\"PodProxyOptions\",\"apiVersion\":\"v1\",\"metadata\":{},\"path\":\"/a/b "
         "c/\"}"},
        {404, "/api/v1/nodes/x/proxy/a",
         "{\"kind\":\"NodeProxyOptions\",\"apiVersion\":\"v1\",\"metadata\":{},\"path\":\"/a\"}"},
        {404, "/api/v1/nodes/x/proxy",
         "{\"kind\":\"NodeProxyOptions\",\"apiVersion\":\"v1\",\"metadata\":{}}"},
    };
    static const struct {
        const char *ports, *message;
    } bad[] = {
        {"x", "cannot convert to []int32: strconv.ParseUint: parsing \"x\": invalid syntax"},
        {"80,", "cannot convert to []int32: strconv.ParseUint: parsing \"\": invalid syntax"},
        {"65536",
         "cannot convert to []int32: strconv.ParseUint: parsing \"65536\": value out of range"},
    };
    struct fx fx;
    char target[128];

    open_recorded(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        fx_do(&fx, cases[i].status, "GET", cases[i].target, "");
        assert_string_equal(recorder_object(0), cases[i].object);
    }
    (void)recorder_take();
    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
        snprintf(target, sizeof(target), PODS "/x/portforward?ports=%s", bad[i].ports);
        assert_at(fx_do(&fx, 400, "GET", target, ""), "message", bad[i].message);
        assert_string_equal(recorder_take(), "");
    }
    fx_close(&fx);
}

/* Upstream's two points see the Scale before and after, and what will be stored has its fields. */
TEST(points, of_a_scale_show_the_scales)
{
    static const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    struct fx fx;

    open_recorded(&fx);
    fx_do(&fx, 201, "POST", DEPLOYMENTS,
          "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":2," FX_WORKLOAD "}}");
    (void)recorder_take();
    fx_do_with(&fx, 200, "PATCH", DEPLOYMENTS "/d/scale", "{\"spec\":{\"replicas\":3}}", &merge);
    assert_string_equal(recorder_take(), "M patch deployments/scale default/d Scale Scale\n"
                                         "V patch deployments/scale default/d Scale Scale\n");
    for (size_t ago = 0; ago < 2; ago++) {
        assert_at(recorder_object(ago), "spec.replicas", "3");
        assert_at(recorder_old(ago), "spec.replicas", "2");
        assert_at(recorder_object(ago), "apiVersion", "autoscaling/v1");
        assert_at(recorder_old(ago), "apiVersion", "autoscaling/v1");
    }
    fx_close(&fx);
}

TEST(points, show_managed_fields_to_those_that_validate)
{
    struct fx fx;

    open_recorded(&fx);
    fx_do(&fx, 201, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    fx_do(&fx, 200, "PUT", MAPS "/a", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"w\"}}");
    assert_at(recorder_object(1), "metadata.managedFields", "");
    assert_at(recorder_old(1), "metadata.managedFields", "");
    assert_true(*fx_at(recorder_object(0), "metadata.managedFields[0].time") != '\0');
    assert_true(*fx_at(recorder_old(0), "metadata.managedFields[0].time") != '\0');
    fx_close(&fx);
}

/* Decision 14, and upstream's: an update that changes nothing shows the times that it keeps. */
TEST(points, validate_what_will_be_stored_with_the_times_of_an_update_that_changes_nothing)
{
    static const char body[] = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}";
    static const struct fx_headers other = {.user_agent = "other/1"};
    struct fx fx;
    const char *made, *kept;

    open_recorded(&fx);
    made = fx_do_with(&fx, 201, "POST", MAPS, body, &other);
    cor_clock_manual_advance_us(&fx.clock, 60000000);
    kept = fx_do_with(&fx, 200, "PUT", MAPS "/a", body, &other);
    assert_string_equal(kept, made);
    assert_string_equal(fx_at(recorder_object(0), "metadata.managedFields[0].time"),
                        fx_at(made, "metadata.managedFields[0].time"));
    fx_close(&fx);
}

static int run_look_at_deletion(struct cor_admission *ad)
{
    assert_true(ad->attributes.deletion->has_grace);
    assert_int_equal(ad->attributes.deletion->grace_s, 7);
    return recorder_visit(ad);
}

TEST(points, show_the_options_of_a_deletion)
{
    static const struct cor_admission_row rows[] = {{.plugin = "o",
                                                     .point = COR_ADMISSION_VALIDATES,
                                                     .ops = COR_ADMISSION_DELETE,
                                                     .run = run_look_at_deletion}};
    static const struct cor_admission_list list = {rows, 1};
    struct fx fx;

    open_with(&fx, &list);
    add_pod(&fx, "");
    fx_do(&fx, 200, "DELETE", PODS "/p?gracePeriodSeconds=7", "");
    assert_true(*recorder_take() != '\0');
    fx_close(&fx);
}

/* --- how often -------------------------------------------------------------------------------- */

#define ONCE "M delete pods default/p - Pod\nV delete pods default/p - Pod\n"

TEST(points, are_passed_by_each_write_of_a_deletion_and_not_when_it_is_under_way)
{
    struct fx fx;

    open_recorded(&fx);
    add_pod(&fx, "\"nodeName\":\"n\",");
    (void)recorder_take();
    fx_do(&fx, 200, "DELETE", PODS "/p", "");
    assert_string_equal(recorder_take(), ONCE);
    /* It does not end sooner: upstream asks nobody. */
    fx_do(&fx, 200, "DELETE", PODS "/p", "");
    assert_string_equal(recorder_take(), "");
    /* The mark, and the removal. */
    fx_do(&fx, 200, "DELETE", PODS "/p?gracePeriodSeconds=0", "");
    assert_string_equal(recorder_take(), ONCE ONCE);
    /* A mark that is there already is none that is under way. */
    fx_do(&fx, 201, "POST", MAPS, "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x/y\"]}}");
    fx_do(&fx, 200, "DELETE", MAPS "/a", "");
    (void)recorder_take();
    fx_do(&fx, 200, "DELETE", MAPS "/a", "");
    assert_string_equal(recorder_take(), "M delete configmaps default/a - ConfigMap\n"
                                         "V delete configmaps default/a - ConfigMap\n");
    recorder.refused = "V delete";
    fx_do(&fx, 403, "DELETE", MAPS "/a", "");
    fx_close(&fx);
}

/* The other writer comes while a plugin is asked: the newer object passes the points too. */
TEST(points, are_passed_again_after_a_lost_compare)
{
    static const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    static const struct {
        const char *method, *body, *seen;
    } cases[] = {
        {"PATCH", "{\"data\":{\"k\":\"v\"}}",
         "M patch configmaps default/a ConfigMap ConfigMap\n"
         "V patch configmaps default/a ConfigMap ConfigMap\n"},
        {"PUT", "{\"metadata\":{\"name\":\"a\"}}",
         "M update configmaps default/a + ConfigMap\n"
         "V update configmaps default/a ConfigMap ConfigMap\n"},
        {"DELETE", "",
         "M delete configmaps default/a - ConfigMap\nV delete configmaps default/a - ConfigMap\n"},
    };
    struct fx fx;

    open_recorded(&fx);
    fx_do(&fx, 201, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        const char *lines;
        size_t n = strlen(cases[i].seen);
        FX_CALL call;
        char other[64];

        recorder.waits = true;
        fx_start(&fx, &call, cases[i].method, MAPS "/a", cases[i].body, i == 0 ? &merge : NULL);
        assert_true(cor_loop_run_until(fx.loop, is_waiting, NULL, FX_TIMEOUT_MS));
        {
            struct cor_admission *first = COR_STEAL(recorder.waiting);

            recorder.waits = false;
            snprintf(other, sizeof(other), "{\"metadata\":{\"labels\":{\"l\":\"%zu\"}}}", i);
            fx_do_with(&fx, 200, "PATCH", MAPS "/a", other, &merge);
            (void)recorder_take();
            cor_admission_resume(first, 0);
        }
        fx_wait(&call);
        assert_int_equal(call.sink.status, 200);
        lines = recorder_take();
        /* The end of the first time, and all of the second. */
        assert_true(strlen(lines) > n && strncmp(lines, "V ", 2) == 0);
        assert_string_equal(strchr(lines, '\n') + 1, cases[i].seen);
        snprintf(other, sizeof(other), "%zu", i);
        assert_at(recorder_old(0), "metadata.labels.l", other);
    }
    fx_close(&fx);
}

/* --- what a refusal does ---------------------------------------------------------------------- */

TEST(points, a_refusal_at_either_of_them_changes_nothing)
{
    static const struct {
        const char *method, *target, *body;
    } cases[] = {
        {"DELETE", PODS "/p", ""},
        {"DELETE", PODS "/p?dryRun=All", ""},
        {"DELETE", PODS "/p?gracePeriodSeconds=0", ""},
        {"DELETE", PODS, ""},
        {"POST", PODS "/p/binding", BINDING},
        {"POST", NS "/bindings", BINDING},
        {"POST", PODS "/p/eviction", EVICTION},
        {"POST", AUTHN "/tokenreviews", "{\"spec\":{\"token\":\"t\"}}"},
        {"POST", AUTHZ "/selfsubjectaccessreviews", "{\"spec\":{" RESOURCES "}}"},
        {"GET", PODS "/p/exec", ""},
        {"GET", PODS "/p/proxy", ""},
    };
    struct fx fx;
    char before[24];

    open_recorded(&fx);
    add_pod(&fx, "");
    snprintf(before, sizeof(before), "%s",
             fx_at(fx_do(&fx, 200, "GET", PODS "/p", ""), "metadata.resourceVersion"));
    for (size_t i = 0; i < 2 * COR_ARRAY_LEN(cases); i++) {
        recorder.refused = i % 2 == 0 ? "M" : "V";
        assert_at(fx_do(&fx, 403, cases[i / 2].method, cases[i / 2].target, cases[i / 2].body),
                  "message", "not today");
        assert_untouched(&fx, before);
    }
    fx_close(&fx);
}

/* What is not valid is refused before those that validate are asked, as upstream's. */
TEST(points, those_that_validate_are_asked_about_what_is_valid)
{
    static const struct {
        int status;
        const char *target, *body;
    } cases[] = {
        {400, PODS "/p/binding", "{\"metadata\":{\"name\":\"x\"},\"target\":{\"name\":\"n\"}}"},
        {400, PODS "/p/eviction", "{\"metadata\":{\"name\":\"x\"}}"},
        {400, AUTHN "/tokenreviews", "{}"},
        {422, AUTHZ "/selfsubjectaccessreviews", "{}"},
        {422, AUTHZ "/subjectaccessreviews", "{\"spec\":{" RESOURCES "}}"},
        {400, AUTHZ "/selfsubjectrulesreviews", "{}"},
        {422, MAPS, "{\"metadata\":{\"name\":\"A\"}}"},
    };
    struct fx fx;

    open_recorded(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        fx_do(&fx, cases[i].status, "POST", cases[i].target, cases[i].body);
        assert_null(strstr(recorder.lines, "V "));
        assert_true(strncmp(recorder_take(), "M create", 8) == 0);
    }
    fx_close(&fx);
}

/* A refusal ends the collection, and what was deleted before stays deleted. */
TEST(points, a_collection_ends_with_the_first_refusal)
{
    struct fx fx;
    char body[128];

    open_recorded(&fx);
    for (size_t i = 0; i < 200; i++) {
        snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"a-%03zu\"}}", i);
        fx_do(&fx, 201, "POST", MAPS, body);
        (void)recorder_take();
    }
    recorder.refused = "V deletecollection";
    assert_at(fx_do(&fx, 403, "DELETE", MAPS, ""), "message", "not today");
    fx_do(&fx, 200, "GET", MAPS "/a-199", "");
    fx_close(&fx);
}

/* --- a reader who goes ------------------------------------------------------------------------ */

TEST(points, a_reader_who_goes_at_one_of_them_changes_nothing)
{
    static const struct {
        const char *method, *target, *body;
    } cases[] = {
        {"DELETE", PODS "/p", ""},
        {"DELETE", PODS "/p?gracePeriodSeconds=0", ""},
        {"DELETE", PODS, ""},
        {"POST", PODS "/p/binding", BINDING},
        {"POST", PODS "/p/eviction", EVICTION},
        {"POST", AUTHN "/selfsubjectreviews", "{}"},
        {"POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}"},
        {"GET", PODS "/p/exec", ""},
    };
    struct fx fx;
    char before[24];

    open_recorded(&fx);
    add_pod(&fx, "");
    snprintf(before, sizeof(before), "%s",
             fx_at(fx_do(&fx, 200, "GET", PODS "/p", ""), "metadata.resourceVersion"));
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        recorder.waits = true;
        {
            FX_CALL gone;

            fx_start(&fx, &gone, cases[i].method, cases[i].target, cases[i].body, NULL);
            assert_true(cor_loop_run_until(fx.loop, is_waiting, NULL, FX_TIMEOUT_MS));
        }
        recorder.waits = false;
        recorder_go_on();
        assert_true(cor_loop_run_until(fx.loop, has_no_calls, &fx, FX_TIMEOUT_MS));
        assert_untouched(&fx, before);
    }
    fx_do(&fx, 404, "GET", MAPS "/a", "");
    fx_close(&fx);
}

/* --- without memory --------------------------------------------------------------------------- */

TEST(points, without_memory_nothing_is_admitted)
{
    static const struct {
        const char *method, *target, *body;
    } cases[] = {
        {"DELETE", PODS "/p?dryRun=All", ""},
        {"POST", PODS "/p/binding?dryRun=All", BINDING},
        {"POST", PODS "/p/eviction?dryRun=All", EVICTION},
        {"POST", AUTHZ "/selfsubjectaccessreviews", "{\"spec\":{" RESOURCES "}}"},
        {"PUT", DEPLOYMENTS "/d/scale?dryRun=All",
         "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":3}}"},
        {"GET", PODS "/p/exec?command=a&container=c&stdin=1", ""},
        {"GET", PODS "/p/portforward?ports=1,2", ""},
        {"GET", PODS "/p/proxy/a", ""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct fx fx;

        open_recorded(&fx);
        add_pod(&fx, "");
        fx_do(&fx, 201, "POST", DEPLOYMENTS,
              "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":2," FX_WORKLOAD "}}");
        FOR_EACH_FAILED_ALLOC(n) {
            FX_CALL call;
            bool ok;

            recorder_reset();
            fx_start(&fx, &call, cases[i].method, cases[i].target, cases[i].body, NULL);
            fx_wait(&call);
            test_fail_alloc(0, false);
            ok = !call.is_bare && !call.sink.is_aborted && call.sink.status < 300;
            /* Who is served has passed both points. */
            assert_true(!ok || (strstr(recorder.lines, "M ") && strstr(recorder.lines, "V ")));
        }
        fx_close(&fx);
    }
}

/* --- objects that somebody else's plugin makes ------------------------------------------------ */

static const char *foreign_top; /* what the object becomes, all but metadata */
static size_t foreign_visits;

static int run_foreign(struct cor_admission *ad)
{
    struct cor_object_edit edit = {.kind = cor_object_kind(ad->object),
                                   .api_version = cor_object_api_version(ad->object),
                                   .top = cor_object_json(ad->object),
                                   .metadata = cor_object_metadata(ad->object)};
    struct cor_object *made;
    int r;

    foreign_visits++;
    assert_int_equal(ad->is_again, foreign_visits == 2);
    if (!foreign_top || ad->is_again)
        return 0;
    cor_edits_set(&edit.top_edits, COR_STR("spec"), cor_strz(foreign_top));
    r = cor_object_edit(&edit, &made, &ad->call->status);
    if (r == 0)
        cor_admission_replace(ad, made);
    return r;
}

static void start_foreign(struct cor_admission *ad)
{
    cor_admission_resume(ad, run_foreign(ad));
}

#define AT_MUTATES .point = COR_ADMISSION_MUTATES, .ops = RECORDER_OPS

static const struct cor_admission_row foreign_rows[] = {
    {.plugin = "before", AT_MUTATES, .run = recorder_visit},
    {.plugin = "foreign", AT_MUTATES, .is_foreign = true, .run = run_foreign},
    {.plugin = "behind", AT_MUTATES, .run = recorder_visit},
};
static const struct cor_admission_row foreign_last_rows[] = {
    {.plugin = "before", AT_MUTATES, .run = recorder_visit},
    {.plugin = "foreign", AT_MUTATES, .is_foreign = true, .start = start_foreign},
};
static const struct cor_admission_list foreign = {foreign_rows, COR_ARRAY_LEN(foreign_rows)};
static const struct cor_admission_list foreign_last = {foreign_last_rows,
                                                       COR_ARRAY_LEN(foreign_last_rows)};

#define VISIT_OF_POD "M create pods default/p + -\n"

static void open_foreign(struct fx *fx, const struct cor_admission_list *list)
{
    foreign_top = NULL;
    foreign_visits = 0;
    *fx = (struct fx){.opts = {.admission = list}};
    fx_open(fx);
    recorder_reset();
}

/* Defaults come before the next plugin, what the type does not know goes, and all run once more. */
TEST(points, what_a_foreign_plugin_makes_is_defaulted_and_shown_to_all_again)
{
    static const char mutated[] =
        "{\"colour\":\"red\",\"containers\":[{\"image\":\"i:1\",\"name\":\"injected\"}]}";
    static const struct cor_admission_list *const lists[] = {&foreign, &foreign_last};

    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        struct fx fx;
        const char *answer;

        open_foreign(&fx, lists[i]);
        foreign_top = mutated;
        answer = fx_do(&fx, 201, "POST", PODS,
                       "{\"metadata\":{\"name\":\"p\"},\"spec\":{" FX_CONTAINERS "}}");
        assert_int_equal(foreign_visits, 2);
        assert_string_equal(recorder_take(),
                            i == 0 ? VISIT_OF_POD VISIT_OF_POD VISIT_OF_POD VISIT_OF_POD
                                   : VISIT_OF_POD VISIT_OF_POD);
        /* As the last plugin has seen it, and as it is stored. */
        for (size_t k = 0; k < 2; k++) {
            const char *pod = k == 0 ? recorder_object(0) : answer;

            assert_at(pod, "spec.containers[0].name", "injected");
            assert_at(pod, "spec.containers[0].imagePullPolicy", "IfNotPresent");
            assert_at(pod, "spec.dnsPolicy", "ClusterFirst");
            assert_at(pod, "spec.colour", "");
        }
        fx_close(&fx);
    }
}

static void start_foreign_later(struct cor_admission *ad)
{
    recorder.waiting = ad;
}

/* Somebody else's program may answer when nobody waits any more. */
TEST(points, a_foreign_plugin_may_answer_after_the_reader_has_gone)
{
    static const struct cor_admission_row rows[] = {
        {.plugin = "foreign", AT_MUTATES, .is_foreign = true, .start = start_foreign_later},
    };
    static const struct cor_admission_list list = {rows, COR_ARRAY_LEN(rows)};
    struct fx fx;

    open_foreign(&fx, &list);
    foreign_top = "{\"containers\":[{\"image\":\"i:1\",\"name\":\"injected\"}]}";
    {
        FX_CALL gone;

        fx_start(&fx, &gone, "POST", PODS,
                 "{\"metadata\":{\"name\":\"p\"},\"spec\":{" FX_CONTAINERS "}}", NULL);
        assert_true(cor_loop_run_until(fx.loop, is_waiting, NULL, FX_TIMEOUT_MS));
    }
    start_foreign(COR_STEAL(recorder.waiting));
    assert_true(cor_loop_run_until(fx.loop, has_no_calls, &fx, FX_TIMEOUT_MS));
    assert_int_equal(foreign_visits, 1);
    fx_do(&fx, 404, "GET", PODS "/p", "");
    fx_close(&fx);
}

TEST(points, a_foreign_plugin_that_changes_nothing_is_asked_once)
{
    struct fx fx;

    open_foreign(&fx, &foreign);
    fx_do(&fx, 201, "POST", PODS, "{\"metadata\":{\"name\":\"p\"},\"spec\":{" FX_CONTAINERS "}}");
    assert_int_equal(foreign_visits, 1);
    assert_string_equal(recorder_take(), VISIT_OF_POD VISIT_OF_POD);
    /* Of an update, and of what is not stored. */
    foreign_visits = 0;
    foreign_top = "{\"token\":\"other\"}";
    fx_do(&fx, 201, "POST", AUTHN "/tokenreviews", "{\"spec\":{\"token\":\"t\"}}");
    assert_int_equal(foreign_visits, 2);
    assert_at(recorder_object(0), "spec.token", "other");
    fx_close(&fx);
}

TEST(points, what_no_object_can_hold_is_an_internal_error)
{
    struct fx fx;

    open_foreign(&fx, &foreign);
    foreign_top = "{\"containers\":5}";
    assert_at(fx_do(&fx, 500, "POST", PODS,
                    "{\"metadata\":{\"name\":\"p\"},\"spec\":{" FX_CONTAINERS "}}"),
              "reason", "InternalError");
    fx_close(&fx);
}

TEST(points, what_a_foreign_plugin_makes_survives_failed_allocations)
{
    struct fx fx;

    open_foreign(&fx, &foreign);
    foreign_top = "{\"colour\":\"red\",\"containers\":[{\"image\":\"i:1\",\"name\":\"c\"}]}";
    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;
        bool ok;

        recorder_reset();
        foreign_visits = 0;
        fx_start(&fx, &call, "POST", PODS "?dryRun=All",
                 "{\"metadata\":{\"name\":\"p\"},\"spec\":{" FX_CONTAINERS "}}", NULL);
        fx_wait(&call);
        test_fail_alloc(0, false);
        ok = !call.is_bare && !call.sink.is_aborted && call.sink.status == 201;
        assert_true(!ok || foreign_visits == 2);
        if (ok)
            assert_at(cor_buf_z(&call.sink.body), "spec.containers[0].imagePullPolicy",
                      "IfNotPresent");
    }
    fx_close(&fx);
}
