/* The list of admission, with plugins of the test's: which run, in which order and on which thread,
 * what they see, and how it ends. */
#include "server/admission/admission.h"

#include <pthread.h>

#include "api_fixture.h"
#include "base/err.h"
#include "meta/object/object_edit.h"
#include "server/api/heavy.h"

/* A call as a verb has it, and what the plugins have done with it. */
struct admitted {
    struct fx fx;
    struct cor_server_request request;
    struct cor_call call;
    struct cor_admission ad;
    char trace[100]; /* a letter for each row that ran; a capital for one on another thread */
    pthread_t home;
    struct cor_mail mail;
    int later; /* what rows that finish later say */
    size_t ndone;
    int result;
};

static const struct cor_user ann = {.name = COR_STR("ann")};
static struct admitted *current; /* whose plugins run */

static void trace(char letter)
{
    size_t n = strlen(current->trace);

    assert_true(n + 1 < sizeof(current->trace));
    current->trace[n] =
        pthread_equal(pthread_self(), current->home) ? letter : (char)(letter - 'a' + 'A');
}

static void admitted_open(struct admitted *t, const struct cor_admission_list *list,
                          enum cor_admission_op op, const char *json)
{
    struct cor_api_loop *loop;

    *t = (struct admitted){.home = pthread_self()};
    current = t;
    t->fx.opts.admission = list;
    fx_open(&t->fx);
    loop = cor_api_loop(t->fx.api, 0);
    t->request = (struct cor_server_request){.method = COR_HTTP_POST, .user = &ann};
    t->request.info.verb = COR_API_VERB_CREATE;
    t->call = (struct cor_call){.loop = loop,
                                .req = &t->request,
                                .res = cor_served_find(loop->served, COR_STR(""), COR_STR("v1"),
                                                       COR_STR("configmaps"), NULL),
                                .ns = COR_STR("prod"),
                                .pending = 1};
    cor_status_init(&t->call.status);
    t->ad = (struct cor_admission){.call = &t->call, .op = op};
    if (json)
        assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &t->ad.object, NULL),
                         0);
}

static void admitted_close(struct admitted *t)
{
    assert_int_equal(t->call.pending, 1);
    cor_admission_deinit(&t->ad);
    cor_status_deinit(&t->call.status);
    fx_close(&t->fx);
    current = NULL;
}

static void admitted_on_done(struct cor_admission *ad, int r)
{
    struct admitted *t = COR_CONTAINER_OF(ad, struct admitted, ad);

    assert_true(pthread_equal(pthread_self(), t->home));
    t->ndone++;
    t->result = r;
}

static bool admitted_is_done(void *arg)
{
    return ((struct admitted *)arg)->ndone > 0;
}

/* Runs a point to its end, and returns it. */
static int admit(struct admitted *t, enum cor_admission_point point)
{
    t->ndone = 0;
    memset(t->trace, 0, sizeof(t->trace));
    cor_admission_run(&t->ad, point, admitted_on_done);
    assert_true(cor_loop_run_until(t->fx.loop, admitted_is_done, t, FX_TIMEOUT_MS));
    assert_int_equal(t->ndone, 1);
    return t->result;
}

/* --- plugins ---------------------------------------------------------------------------------- */

static bool is_of_pods(const struct cor_call *call)
{
    return cor_str_eqz(call->res->plural, "pods");
}

static bool is_of_maps(const struct cor_call *call)
{
    return cor_str_eqz(call->res->plural, "configmaps");
}

static int run_a(struct cor_admission *ad)
{
    trace('a');
    return 0;
}

static int run_b(struct cor_admission *ad)
{
    trace('b');
    return 0;
}

/* Labels the object, once. */
static int run_label(struct cor_admission *ad)
{
    struct cor_object_edit edit = {.kind = ad->call->res->kind,
                                   .api_version = ad->call->res->api_version,
                                   .top = cor_object_json(ad->object),
                                   .metadata = cor_object_metadata(ad->object)};
    struct cor_object *labelled;
    int r;

    trace('l');
    if (cor_object_meta_member(ad->object, COR_STR("labels")).p)
        return 0;
    cor_edits_set(&edit.meta_edits, COR_STR("labels"), COR_STR("{\"by\":\"plugin\"}"));
    r = cor_object_edit(&edit, &labelled, &ad->call->status);
    if (r == 0)
        cor_admission_replace(ad, labelled);
    return r;
}

static int run_refuse(struct cor_admission *ad)
{
    trace('r');
    return cor_status_set(&ad->call->status, -COR_EFORBIDDEN, "not today");
}

static void on_mail(struct cor_mail *mail)
{
    struct admitted *t = COR_CONTAINER_OF(mail, struct admitted, mail);

    cor_admission_resume(&t->ad, t->later);
}

static void start_later(struct cor_admission *ad)
{
    trace('s');
    current->mail.on_mail = on_mail;
    cor_dlist_init(&current->mail.link);
    cor_loop_post_always(current->fx.loop, &current->mail);
}

static void start_now(struct cor_admission *ad)
{
    trace('n');
    cor_admission_resume(ad, current->later);
}

#define M   COR_ADMISSION_MUTATES
#define V   COR_ADMISSION_VALIDATES
#define CR  COR_ADMISSION_CREATE
#define UP  COR_ADMISSION_UPDATE
#define DEL COR_ADMISSION_DELETE

static const struct cor_admission_row rows[] = {
    {.plugin = "a", .point = M, .ops = CR | UP, .run = run_a},
    {.plugin = "pods", .point = M, .ops = CR, .applies = is_of_pods, .run = run_refuse},
    {.plugin = "b", .point = V, .ops = CR | DEL, .applies = is_of_maps, .run = run_b},
    {.plugin = "s", .point = M, .ops = CR | DEL, .start = start_later},
    {.plugin = "n", .point = M, .ops = CR, .start = start_now},
    {.plugin = "label", .point = M, .ops = CR, .run = run_label},
    {.plugin = "s", .point = V, .ops = CR, .start = start_later},
};
static const struct cor_admission_list all = {rows, COR_ARRAY_LEN(rows)};

#define MAP "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"}}"

TEST(admission, runs_the_rows_of_a_point_that_apply_in_their_order)
{
    struct admitted t;

    admitted_open(&t, &all, CR, MAP);
    assert_int_equal(admit(&t, M), 0);
    assert_string_equal(t.trace, "asnl");
    assert_int_equal(admit(&t, V), 0);
    assert_string_equal(t.trace, "bs");
    t.ad.op = UP;
    assert_int_equal(admit(&t, M), 0);
    assert_string_equal(t.trace, "a");
    assert_int_equal(admit(&t, V), 0);
    assert_string_equal(t.trace, "");
    t.ad.op = DEL;
    assert_int_equal(admit(&t, M), 0);
    assert_string_equal(t.trace, "s");
    admitted_close(&t);
}

TEST(admission, says_beforehand_whether_it_has_work)
{
    struct admitted t;

    admitted_open(&t, &all, CR, NULL);
    assert_true(cor_admission_has_work(&t.call, M, CR));
    assert_true(cor_admission_has_work(&t.call, M, UP));
    assert_true(cor_admission_has_work(&t.call, V, DEL));
    assert_false(cor_admission_has_work(&t.call, V, UP));
    assert_false(cor_admission_has_work(&t.call, M, COR_ADMISSION_CONNECT));
    admitted_close(&t);
}

/* What the rows see: who, what, and the object as the rows before have left it. */
static int run_look(struct cor_admission *ad)
{
    const struct cor_attributes *a = &ad->attributes;

    trace('k');
    assert_ptr_equal(a->user, &ann);
    assert_true(a->is_resource && !a->is_dry_run);
    assert_str(a->verb, "create");
    assert_str(a->group, "");
    assert_str(a->version, "v1");
    assert_str(a->resource, "configmaps");
    assert_str(a->subresource, "");
    assert_str(a->ns, "prod");
    assert_str(a->name, "m");
    assert_str(cor_object_name(a->object), "m");
    assert_ptr_equal(a->options, &ad->call->opts);
    assert_ptr_equal(a->object, ad->object);
    assert_ptr_equal(a->old, ad->old);
    assert_int_equal(cor_object_meta_member(a->object, COR_STR("labels")).n > 0,
                     current->trace[0] == 'l');
    return 0;
}

TEST(admission, shows_the_attributes_with_the_object_as_it_is_by_then)
{
    static const struct cor_admission_row each[] = {
        {.plugin = "look", .point = V, .ops = CR, .run = run_look},
        {.plugin = "label", .point = M, .ops = CR, .run = run_label},
        {.plugin = "look", .point = M, .ops = CR, .run = run_look},
    };
    static const struct cor_admission_list list = {each, COR_ARRAY_LEN(each)};
    struct admitted t;

    admitted_open(&t, &list, CR, MAP);
    assert_int_equal(admit(&t, V), 0);
    assert_int_equal(admit(&t, M), 0);
    assert_string_equal(t.trace, "lk");
    assert_str(cor_object_meta_member(t.ad.object, COR_STR("labels")), "{\"by\":\"plugin\"}");
    /* Once more, and nothing is left to do. */
    assert_int_equal(admit(&t, M), 0);
    assert_string_equal(t.trace, "lk");
    admitted_close(&t);
}

TEST(admission, ends_with_the_first_refusal)
{
    static const struct cor_admission_row each[] = {
        {.plugin = "s", .point = M, .ops = CR, .start = start_later},
        {.plugin = "r", .point = M, .ops = CR, .run = run_refuse},
        {.plugin = "a", .point = M, .ops = CR, .run = run_a},
    };
    static const struct cor_admission_list list = {each, COR_ARRAY_LEN(each)};
    struct admitted t;

    admitted_open(&t, &list, CR, MAP);
    assert_int_equal(admit(&t, M), -COR_EFORBIDDEN);
    assert_string_equal(t.trace, "sr");
    assert_string_equal(cor_status_message(&t.call.status), "not today");
    t.later = cor_status_set(&t.call.status, -COR_ENOTFOUND, "gone");
    assert_int_equal(admit(&t, M), -COR_ENOTFOUND);
    assert_string_equal(t.trace, "s");
    admitted_close(&t);
}

TEST(admission, runs_no_row_for_a_reader_who_has_gone)
{
    struct admitted t;

    admitted_open(&t, &all, CR, MAP);
    cor_admission_run(&t.ad, M, admitted_on_done);
    assert_string_equal(t.trace, "as");
    assert_int_equal(t.call.pending, 2);
    t.call.is_over = true;
    t.call.req = NULL;
    assert_true(cor_loop_run_until(t.fx.loop, admitted_is_done, &t, FX_TIMEOUT_MS));
    assert_int_equal(t.result, -COR_ECANCELED);
    assert_string_equal(t.trace, "as");
    admitted_close(&t);
}

TEST(admission, looks_at_large_objects_on_a_thread)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct admitted t;

    cor_buf_init(&json, 1u << 20);
    assert_int_equal(cor_buf_addz(&json, "{\"apiVersion\":\"v1\",\"data\":{\"a\":\""), 0);
    for (size_t i = 0; i <= COR_HEAVY_BYTES; i++)
        assert_int_equal(cor_buf_addc(&json, 'x'), 0);
    assert_int_equal(
        cor_buf_addz(&json, "\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"}}"), 0);
    admitted_open(&t, &all, CR, cor_buf_z(&json));
    assert_int_equal(admit(&t, M), 0);
    assert_string_equal(t.trace, "AsnL");
    assert_int_equal(admit(&t, V), 0);
    assert_string_equal(t.trace, "Bs");
    /* Without memory, or without a thread, nothing is admitted. */
    t.ad.op = CR;
    FOR_EACH_FAILED_ALLOC(n) {
        int r = admit(&t, M);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
    admitted_close(&t);
}

TEST(admission, without_memory_a_plugin_that_mutates_leaves_the_object)
{
    struct admitted t;

    admitted_open(&t, &all, CR, MAP);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *before = cor_object_ref(t.ad.object);
        int r = admit(&t, M);

        assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
        if (r < 0)
            assert_ptr_equal(t.ad.object, before);
        cor_object_unref(before);
    }
    assert_true(cor_object_meta_member(t.ad.object, COR_STR("labels")).n > 0);
    admitted_close(&t);
}
