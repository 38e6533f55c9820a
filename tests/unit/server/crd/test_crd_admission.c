/* What passes the points of admission of custom resources: in which version, and what becomes of an
 * object that a foreign plugin makes. */
#include "../admission/recorder.h"
#include "crd_fixture.h"

#define V2 "/apis/shop.example.org/v2/namespaces/default/kettles"
#define SCALE                                                                                      \
    "\"subresources\":{\"scale\":{\"specReplicasPath\":\".spec.n\",\"statusReplicasPath\":"        \
    "\".status.n\"}},"
#define SPEC                                                                                       \
    PROPS("\"spec\":{\"type\":\"object\"," PROPS("\"a\":{\"type\":\"string\"},\"n\":{\"type\":"    \
                                                 "\"integer\"},\"d\":{\"type\":\"string\","        \
                                                 "\"default\":\"filled\"}") "}")
#define TWO_VERSIONS                                                                               \
    VERSION("v1", STORED SCALE, SPEC) "," VERSION("v2", "\"storage\":false," SCALE, SPEC)
#define BODY                                                                                       \
    "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v2\",\"metadata\":{\"name\":\"k\"}"

static const struct fx_headers merge = {.content_type = "application/merge-patch+json"};

/* As upstream's: the request's version, whichever is stored. */
TEST(crd_admission, shows_objects_in_the_version_of_the_request)
{
    static const struct {
        int status;
        const char *method, *target, *body;
    } cases[] = {
        {201, "POST", V2, BODY ",\"spec\":{\"n\":1}}"},
        {200, "PATCH", V2 "/k", "{\"spec\":{\"a\":\"b\"}}"},
        {200, "DELETE", V2 "/k?dryRun=All", ""},
        {200, "DELETE", V2, ""},
    };
    struct crd_fx c = {.fx = {.opts = {.admission = &recorder_list}}};

    recorder_reset();
    crd_fx_open(&c, false);
    define(&c, CRD_OF("kettles", "Kettle", "", "Namespaced", TWO_VERSIONS));
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        fx_do_with(&c.fx, cases[i].status, cases[i].method, cases[i].target, cases[i].body,
                   strcmp(cases[i].method, "PATCH") == 0 ? &merge : NULL);
        for (size_t ago = 0; ago < 2; ago++) {
            const char *object = recorder_object(ago), *old = recorder_old(ago);

            assert_true(*object != '\0' || i >= 2);
            assert_true(*old != '\0' || i == 0);
            if (*object != '\0')
                assert_at(object, "apiVersion", "shop.example.org/v2");
            if (*old != '\0')
                assert_at(old, "apiVersion", "shop.example.org/v2");
        }
    }
    crd_fx_close(&c);
}

TEST(crd_admission, of_a_scale_shows_the_scales)
{
    struct crd_fx c = {.fx = {.opts = {.admission = &recorder_list}}};

    recorder_reset();
    crd_fx_open(&c, false);
    define(&c, CRD_OF("kettles", "Kettle", "", "Namespaced", TWO_VERSIONS));
    fx_do(&c.fx, 201, "POST", V2, BODY ",\"spec\":{\"n\":1}}");
    fx_do_with(&c.fx, 200, "PATCH", V2 "/k/scale", "{\"spec\":{\"replicas\":3}}", &merge);
    for (size_t ago = 0; ago < 2; ago++) {
        assert_at(recorder_object(ago), "kind", "Scale");
        assert_at(recorder_object(ago), "spec.replicas", "3");
        assert_at(recorder_old(ago), "kind", "Scale");
        assert_at(recorder_old(ago), "spec.replicas", "1");
    }
    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;

        recorder_reset();
        fx_start(&c.fx, &call, "PATCH", V2 "/k/scale?dryRun=All", "{\"spec\":{\"replicas\":4}}",
                 &merge);
        fx_wait(&call);
        test_fail_alloc(0, false);
        assert_true(call.sink.status != 200 || call.sink.is_aborted ||
                    strstr(recorder.lines, "V patch"));
    }
    crd_fx_close(&c);
}

/* --- a foreign plugin ------------------------------------------------------------------------- */

static struct cor_buf foreign_object; /* what new objects become; empty: they stay */

static int run_foreign(struct cor_admission *ad)
{
    struct cor_object *made;
    int r;

    if (foreign_object.n == 0 || ad->is_again)
        return 0;
    r = cor_object_parse(cor_buf_str(&foreign_object), NULL, NULL, NULL, &made, NULL);
    if (r < 0)
        return cor_status_set_err(&ad->call->status, r);
    cor_admission_replace(ad, made);
    return 0;
}

static const struct cor_admission_row foreign_rows[] = {
    {.plugin = "foreign",
     .point = COR_ADMISSION_MUTATES,
     .ops = COR_ADMISSION_CREATE,
     .is_foreign = true,
     .run = run_foreign},
    {.plugin = "behind",
     .point = COR_ADMISSION_MUTATES,
     .ops = COR_ADMISSION_CREATE,
     .run = recorder_visit},
};
static const struct cor_admission_list foreign = {foreign_rows, COR_ARRAY_LEN(foreign_rows)};

static void foreign_set(const char *json)
{
    cor_buf_reset(&foreign_object);
    assert_int_equal(cor_buf_addz(&foreign_object, json), 0);
}

static void open_foreign(struct crd_fx *c, const char *schema)
{
    static const char crd[] = KETTLE_CRD("@");
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 1u << 20};
    const char *at = strchr(crd, '@');

    assert_int_equal(cor_buf_adds(&text, cor_str(crd, (size_t)(at - crd))), 0);
    assert_int_equal(cor_buf_addz(&text, schema), 0);
    assert_int_equal(cor_buf_addz(&text, at + 1), 0);
    recorder_reset();
    foreign_object = (struct cor_buf){.max = 1u << 20};
    c->fx.opts.admission = &foreign;
    crd_fx_open(c, false);
    define(c, cor_buf_z(&text));
    recorder_reset();
}

TEST(crd_admission, what_a_foreign_plugin_makes_is_pruned_defaulted_and_validated)
{
    struct crd_fx c = {0};
    const char *answer;

    open_foreign(&c, SPEC);
    foreign_set("{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{"
                "\"name\":\"k\",\"colour\":\"red\"},\"spec\":{\"a\":\"b\",\"x\":1}}");
    answer = fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("k", ""));
    for (size_t i = 0; i < 2; i++) {
        const char *object = i == 0 ? recorder_object(0) : answer;

        assert_at(object, "spec", "{\"a\":\"b\",\"d\":\"filled\"}");
        assert_at(object, "metadata.colour", "");
    }
    assert_string_equal(recorder.lines, "M create kettles default/k Kettle -\n"
                                        "M create kettles default/k Kettle -\n");
    foreign_set("{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{"
                "\"name\":\"l\"},\"spec\":{\"a\":5}}");
    fx_do(&c.fx, 422, "POST", KETTLES, KETTLE("l", ""));
    foreign_set("{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{"
                "\"name\":\"l\",\"labels\":5},\"spec\":{}}");
    fx_do(&c.fx, 500, "POST", KETTLES, KETTLE("l", ""));
    foreign_set("{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{"
                "\"name\":\"k\",\"colour\":\"red\"},\"spec\":{\"x\":1}}");
    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;

        fx_start(&c.fx, &call, "POST", KETTLES "?dryRun=All", KETTLE("m", ""), NULL);
        fx_wait(&call);
        test_fail_alloc(0, false);
        if (call.sink.status == 201 && !call.sink.is_aborted && !call.is_bare)
            assert_at(cor_buf_z(&call.sink.body), "spec", "{\"d\":\"filled\"}");
    }
    cor_buf_deinit(&foreign_object);
    crd_fx_close(&c);
}

/* Defaults of 400 KB, more than a loop has time for: a thread fills them in. */
TEST(crd_admission, what_is_too_much_for_a_loop_is_settled_by_a_thread)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf schema = {.max = 1u << 20};
    struct crd_fx c = {0};
    const char *answer;

    assert_int_equal(cor_buf_addz(&schema, "\"properties\":{\"spec\":{\"type\":\"object\","
                                           "\"properties\":{\"l\":{\"type\":\"array\",\"items\":{"
                                           "\"type\":\"object\",\"properties\":{\"d\":{\"type\":"
                                           "\"string\",\"default\":\""),
                     0);
    for (size_t i = 0; i < 2000; i++)
        assert_int_equal(cor_buf_addc(&schema, 'x'), 0);
    assert_int_equal(cor_buf_addz(&schema, "\"}}}}}}}"), 0);
    open_foreign(&c, cor_buf_z(&schema));
    foreign_set("{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{"
                "\"name\":\"k\"},\"spec\":{\"l\":[{}");
    for (size_t i = 0; i < 199; i++)
        assert_int_equal(cor_buf_addz(&foreign_object, ",{}"), 0);
    assert_int_equal(cor_buf_addz(&foreign_object, "]}}"), 0);
    answer = fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("k", ""));
    assert_true(strlen(fx_at(answer, "spec.l[199].d")) == 2000);
    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;

        fx_start(&c.fx, &call, "POST", KETTLES "?dryRun=All", KETTLE("m", ""), NULL);
        fx_wait(&call);
        test_fail_alloc(0, false);
    }
    cor_buf_deinit(&foreign_object);
    crd_fx_close(&c);
}
