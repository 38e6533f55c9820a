/* Server-side apply by cor_client_apply(), and what a manager owns afterwards, on both kinds of
 * runtime, against a server and against a script of one. */
#include <pthread.h>
#include <time.h>

#include "script.h"
#include "world.h"

/* Sets the keys of `arg`, a text of pairs such as "a1b2", in the data of a ConfigMap. */
static int set_pairs(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    assert_null(current);
    for (const char *pair = arg; *pair; pair += 2) {
        const char key[] = {pair[0], '\0'};

        cor_builder_set_text_in(b, "data", key, cor_str(pair + 1, 1));
    }
    return 0;
}

static struct cor_apply fields_of(const char *manager, const char *pairs)
{
    return (struct cor_apply){COR_APPLY,
                              .how = COR_APPLY_FIELDS,
                              .kind = "ConfigMap",
                              .resource = configmaps,
                              .ns = "default",
                              .name = "one",
                              .mutate = set_pairs,
                              .arg = (char *)pairs,
                              .field_manager = manager};
}

/* Applies; the data of the answer is `data`, canonical. The object is the caller's. */
static struct cor_object *expect_applied(struct world *w, const struct cor_apply *apply,
                                         const char *result, const char *data)
{
    enum cor_apply_result done;
    struct cor_object *object = NULL;
    struct cor_status why = {0};

    if (cor_client_apply(w->client, apply, &done, &object, &why) < 0)
        fail_msg("%s", cor_status_message(&why));
    assert_string_equal(cor_apply_result_name(done), result);
    assert_str(cor_view_member(cor_object_view(object), COR_STR("data")).json, data);
    return object;
}

static void expect_refused(struct world *w, const struct cor_apply *apply, int r,
                           const char *message)
{
    struct cor_status why = {0};

    assert_int_equal(cor_client_apply(w->client, apply, NULL, NULL, &why), r);
    assert_string_equal(cor_status_message(&why), message);
    cor_status_deinit(&why);
}

/* What `manager` has applied, whose data is `data` ("": it has none). The object is the caller's.
 */
static struct cor_object *expect_owned(const struct cor_object *object, const char *manager,
                                       const char *data)
{
    struct cor_object *mine = NULL;

    assert_int_equal(cor_object_extract(object, manager, NULL, &mine, NULL), 0);
    assert_str(cor_object_name(mine), "one");
    assert_str(cor_object_namespace(mine), "default");
    assert_str(cor_object_kind(mine), "ConfigMap");
    assert_str(cor_object_api_version(mine), "v1");
    assert_str(cor_view_member(cor_object_view(mine), COR_STR("data")).json, data);
    return mine;
}

/* Contract client 4.14.5 */
TEST(apply_fields, creates_changes_and_gives_up_fields)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_apply apply = fields_of("m", "a1b2");
        struct world w;

        world_begin(&w, kind);
        cor_object_unref(expect_applied(&w, &apply, "created", "{\"a\":\"1\",\"b\":\"2\"}"));
        cor_object_unref(expect_applied(&w, &apply, "applied", "{\"a\":\"1\",\"b\":\"2\"}"));
        apply = fields_of("other", "c3");
        cor_object_unref(
            expect_applied(&w, &apply, "applied", "{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}"));
        apply = fields_of("m", "a4");
        apply.dry_run = true;
        cor_object_unref(expect_applied(&w, &apply, "applied", "{\"a\":\"4\",\"c\":\"3\"}"));
        apply = fields_of("m", "a1");
        cor_object_unref(expect_applied(&w, &apply, "applied", "{\"a\":\"1\",\"c\":\"3\"}"));
        world_end(&w);
    }
}

/* Contract apply 9.1 to 9.6 */
TEST(apply_fields, a_conflict_names_the_owner_and_force_takes_the_field)
{
    struct cor_apply apply = fields_of("m", "a1b2");
    struct cor_field_conflict conflict;
    struct cor_status why = {0};
    struct cor_object *object;
    struct world w;

    world_begin(&w, COR_RUNTIME_THREADS);
    cor_object_unref(expect_applied(&w, &apply, "created", "{\"a\":\"1\",\"b\":\"2\"}"));
    apply = fields_of("say \"hi\"", "a9");
    apply.retry = COR_RETRY_PATIENTLY;
    assert_int_equal(cor_client_apply(w.client, &apply, NULL, NULL, &why), -COR_ECONFLICT);
    assert_true(cor_status_is_field_conflict(&why));
    assert_true(cor_status_field_conflict(&why, 0, &conflict));
    assert_string_equal(conflict.manager, "m");
    assert_string_equal(conflict.field, ".data.a");
    assert_string_equal(conflict.api_version, "");
    assert_false(cor_status_field_conflict(&why, 1, &conflict));
    apply.force = true;
    object = expect_applied(&w, &apply, "applied", "{\"a\":\"9\",\"b\":\"2\"}");
    cor_object_unref(expect_owned(object, "m", "{\"b\":\"2\"}"));
    cor_object_unref(expect_owned(object, "say \"hi\"", "{\"a\":\"9\"}"));
    cor_object_unref(expect_owned(object, "nobody", ""));
    cor_object_unref(object);
    apply = fields_of("m", "a1b2");
    assert_int_equal(cor_client_apply(w.client, &apply, NULL, NULL, &why), -COR_ECONFLICT);
    assert_true(cor_status_field_conflict(&why, 0, &conflict));
    assert_string_equal(conflict.manager, "say \"hi\"");
    cor_status_deinit(&why);
    world_end(&w);
}

TEST(apply_fields, a_conflict_with_an_update_has_its_version)
{
    struct cor_apply apply = fields_of("m", "v9");
    struct cor_field_conflict conflict;
    struct cor_status why = {0};
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    world_create(&w, "one", "{}", "1");
    assert_int_equal(cor_client_apply(w.client, &apply, NULL, NULL, &why), -COR_ECONFLICT);
    assert_true(cor_status_field_conflict(&why, 0, &conflict));
    assert_string_equal(conflict.field, ".data.v");
    assert_string_equal(conflict.api_version, "v1");
    assert_string_not_equal(conflict.manager, "");
    cor_status_deinit(&why);
    world_end(&w);
}

/* Contract controllers 5.9.3 */
TEST(apply_fields, what_was_extracted_is_applied_again_with_a_change)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_apply apply = fields_of("m", "a1b2");
        struct cor_object *object, *mine;
        struct world w;

        world_begin(&w, kind);
        cor_object_unref(expect_applied(&w, &apply, "created", "{\"a\":\"1\",\"b\":\"2\"}"));
        apply = fields_of("other", "c3");
        object = expect_applied(&w, &apply, "applied", "{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}");
        mine = expect_owned(object, "m", "{\"a\":\"1\",\"b\":\"2\"}");
        cor_object_unref(object);
        apply = fields_of("m", "b5");
        apply.object = mine;
        apply.ns = apply.name = apply.kind = NULL;
        object = expect_applied(&w, &apply, "applied", "{\"a\":\"1\",\"b\":\"5\",\"c\":\"3\"}");
        cor_object_unref(mine);
        cor_object_unref(expect_owned(object, "other", "{\"c\":\"3\"}"));
        cor_object_unref(expect_owned(object, "m", "{\"a\":\"1\",\"b\":\"5\"}"));
        /* An object as the server has it cannot be applied. */
        apply.object = object;
        expect_refused(&w, &apply, -COR_EINVAL,
                       "cannot apply an object with managed fields already set");
        cor_object_unref(object);
        world_end(&w);
    }
}

static int set_pods(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    return cor_builder_set_text(b, arg, COR_STR("3"));
}

TEST(apply_fields, a_status_is_applied_and_extracted_on_its_own)
{
    struct cor_apply apply = fields_of("m", "");
    struct cor_object *object = NULL, *mine = NULL;
    struct cor_view view;
    struct world w;

    apply.kind = "ResourceQuota";
    apply.resource = (struct cor_resource){"", "v1", "resourcequotas"};
    apply.mutate = set_pods;
    apply.arg = (char *)"spec.hard.pods";
    world_begin(&w, COR_RUNTIME_THREADS);
    assert_int_equal(cor_client_apply(w.client, &apply, NULL, NULL, NULL), 0);
    apply.arg = (char *)"status.used.pods";
    apply.subresource = "status";
    assert_int_equal(cor_client_apply(w.client, &apply, NULL, &object, NULL), 0);
    assert_int_equal(cor_object_extract(object, "m", "status", &mine, NULL), 0);
    view = cor_object_view(mine);
    assert_false(cor_view_exists(cor_view_member(view, COR_STR("spec"))));
    assert_str(cor_view_member(view, COR_STR("status")).json, "{\"used\":{\"pods\":\"3\"}}");
    cor_object_unref(mine);
    assert_int_equal(cor_object_extract(object, "m", NULL, &mine, NULL), 0);
    view = cor_object_view(mine);
    assert_false(cor_view_exists(cor_view_member(view, COR_STR("status"))));
    assert_str(cor_view_member(view, COR_STR("spec")).json, "{\"hard\":{\"pods\":\"3\"}}");
    cor_object_unref(mine);
    cor_object_unref(object);
    apply.name = "none";
    assert_int_equal(cor_client_apply(w.client, &apply, NULL, NULL, NULL), -COR_ENOTFOUND);
    world_end(&w);
}

static int rename_it(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    return cor_builder_set_text(b, "metadata.name", COR_STR("other"));
}

static int set_definition(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    return cor_builder_set_json(
        b, "spec",
        COR_STR("{\"group\":\"shop.example.org\",\"scope\":\"Namespaced\",\"names\":{\"plural\":"
                "\"kettles\",\"kind\":\"Kettle\"},\"versions\":[{\"name\":\"v1\",\"served\":true,"
                "\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
                "\"properties\":{\"data\":{\"type\":\"object\",\"additionalProperties\":{"
                "\"type\":\"string\"}}}}}}]}"));
}

/* Applies until the definition is served. */
static void await_served(struct world *w, const struct cor_apply *apply)
{
    struct cor_status why = {0};
    time_t end = time(NULL) + PATIENCE_MS / 1000;
    int r;

    do {
        cor_status_deinit(&why);
        r = cor_client_apply(w->client, apply, NULL, NULL, &why);
    } while (r == -COR_ENOTFOUND && time(NULL) < end);
    if (r < 0)
        fail_msg("%s", cor_status_message(&why));
}

/* Contract crd 4.14.2 */
TEST(apply_fields, a_custom_resource_is_applied_as_any_other)
{
    struct cor_apply definition = fields_of("m", ""), apply = fields_of("m", "a1b2");
    struct cor_object *object;
    struct world w;

    definition.kind = "CustomResourceDefinition";
    definition.resource =
        (struct cor_resource){"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
    definition.ns = NULL;
    definition.name = "kettles.shop.example.org";
    definition.mutate = set_definition;
    apply.kind = "Kettle";
    apply.resource = (struct cor_resource){"shop.example.org", "v1", "kettles"};
    world_begin(&w, COR_RUNTIME_THREADS);
    assert_int_equal(cor_client_apply(w.client, &definition, NULL, NULL, NULL), 0);
    await_served(&w, &apply);
    apply.arg = (char *)"a9";
    apply.field_manager = "other";
    expect_refused(&w, &apply, -COR_ECONFLICT,
                   "Apply failed with 1 conflict: conflict with \"m\": .data.a");
    apply.force = true;
    object = expect_applied(&w, &apply, "applied", "{\"a\":\"9\",\"b\":\"2\"}");
    cor_object_unref(object);
    world_end(&w);
}

/* Contract controllers 5.2.8 */
TEST(apply_fields, what_cannot_be_applied_is_refused_before_it_is_sent)
{
    static const struct script_answer none[] = {{.to = "", .status = 500, .body = "{}"}};
    struct cor_apply apply = fields_of("m", "a1");
    struct cor_object *object;
    struct script s;
    struct world w;

    SCRIPT_BEGIN(&s, none);
    world_begin_at(&w, COR_RUNTIME_PUMPED, s.url);
    apply.mutate = rename_it;
    expect_refused(&w, &apply, -COR_EINVAL,
                   "MutateFn cannot mutate object name and/or object namespace");
    for (int i = 0; i < 3; i++) {
        apply = fields_of(i == 0 ? NULL : i == 1 ? "" : "m", "a1");
        if (i == 2)
            apply.name = NULL;
        expect_refused(&w, &apply, -COR_EINVAL,
                       "apply an object: name, kind, fieldManager and size must be set");
    }
    assert_int_equal(
        cor_object_from_json(COR_STR("{\"metadata\":{\"name\":\"one\"}}"), &object, NULL), 0);
    for (int i = 0; i < 3; i++) {
        apply = fields_of("m", "a1");
        apply.how = COR_APPLY_UPDATE;
        apply.force = i == 0;
        apply.subresource = i == 1 ? "status" : NULL;
        apply.object = i == 2 ? object : NULL;
        expect_refused(&w, &apply, -COR_EINVAL,
                       "apply an object: object, force and subresource are for COR_APPLY_FIELDS");
    }
    assert_int_equal(script_count(&s, ""), 0);
    cor_object_unref(object);
    world_end(&w);
    script_end(&s);
}

/* The members of server-side apply are not there, whatever is behind the struct. */
TEST(apply_fields, a_program_from_before_server_side_apply_is_served)
{
    struct cor_apply apply = fields_of("m", "a1");
    struct world w;

    apply.how = COR_APPLY_UPDATE;
    apply.size = offsetof(struct cor_apply, force);
    apply.force = true;
    apply.subresource = "status";
    world_begin(&w, COR_RUNTIME_PUMPED);
    cor_object_unref(expect_applied(&w, &apply, "created", "{\"a\":\"1\"}"));
    world_end(&w);
}

#define MAP                                                                                        \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"one\","                \
    "\"namespace\":\"default\"},\"data\":{\"a\":\"1\"}}"
#define REFUSED(reason, causes)                                                                    \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"" reason      \
    "\",\"reason\":\"" reason "\",\"code\":409,\"details\":{\"causes\":[" causes "]}}"
#define FIELD_CAUSE                                                                                \
    "{\"reason\":\"FieldManagerConflict\",\"message\":\"conflict with \\\"m\\\"\","                \
    "\"field\":\".data.a\"}"

TEST(apply_fields, a_race_is_tried_again_and_a_conflict_of_fields_is_not)
{
    static const struct {
        const char *body;
        enum cor_retry retry;
        int r, attempts;
    } rows[] = {
        {REFUSED("Conflict", ""), COR_RETRY_NEVER, -COR_ECONFLICT, 1},
        {REFUSED("Conflict", ""), COR_RETRY_QUICKLY, -COR_ECONFLICT, 5},
        {REFUSED("Conflict", ""), COR_RETRY_PATIENTLY, -COR_ECONFLICT, 4},
        {REFUSED("AlreadyExists", ""), COR_RETRY_PATIENTLY, -COR_EEXIST, 4},
        {REFUSED("Conflict", FIELD_CAUSE), COR_RETRY_QUICKLY, -COR_ECONFLICT, 1},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        const struct script_answer answers[] = {
            {.to = "PATCH", .status = 409, .body = rows[i].body}};
        struct cor_apply apply = fields_of("m", "a1");
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, answers);
        world_begin_at(&w, i % 2 ? COR_RUNTIME_PUMPED : COR_RUNTIME_THREADS, s.url);
        apply.retry = rows[i].retry;
        apply.force = i == 1;
        assert_int_equal(cor_client_apply(w.client, &apply, NULL, NULL, NULL), rows[i].r);
        assert_int_equal(script_count(&s, "PATCH"), rows[i].attempts);
        assert_int_equal(script_count(&s, "fieldManager=m"), rows[i].attempts);
        assert_int_equal(script_count(&s, "force=true"), i == 1 ? rows[i].attempts : 0);
        assert_int_equal(script_count(&s, "GET"), 0);
        world_end(&w);
        script_end(&s);
    }
}

TEST(apply_fields, an_attempt_after_a_race_succeeds)
{
    static const struct script_answer answers[] = {
        {.to = "PATCH", .status = 409, .body = REFUSED("Conflict", ""), .times = 2},
        {.to = "PATCH", .status = 201, .body = MAP},
    };
    struct cor_apply apply = fields_of("m", "a1");
    struct script s;
    struct world w;

    SCRIPT_BEGIN(&s, answers);
    world_begin_at(&w, COR_RUNTIME_PUMPED, s.url);
    apply.retry = COR_RETRY_QUICKLY;
    cor_object_unref(expect_applied(&w, &apply, "created", "{\"a\":\"1\"}"));
    assert_int_equal(script_count(&s, "PATCH"), 3);
    world_end(&w);
    script_end(&s);
}

static void *trigger_after_patch(void *arg)
{
    void **of = arg;

    while (script_count(of[0], "PATCH") == 0)
        test_spend_ms(1);
    if (of[1])
        cor_cancel_trigger(of[1]);
    else
        cor_client_stop(of[2]);
    return NULL;
}

TEST(apply_fields, a_call_that_blocks_is_ended_by_its_handle_its_time_and_the_client)
{
    static const struct script_answer silent[] = {{.to = "PATCH", .is_silent = true}};

    FOR_EACH_KIND(kind)
    for (int by = 0; by < 3; by++) {
        struct cor_apply apply = fields_of("m", "a1");
        struct cor_cancel *cancel;
        pthread_t thread;
        struct script s;
        struct world w;
        void *of[3];

        SCRIPT_BEGIN(&s, silent);
        world_begin_at(&w, kind, s.url);
        assert_int_equal(cor_cancel_new(&cancel), 0);
        of[0] = &s, of[1] = by == 0 ? cancel : NULL, of[2] = w.client;
        apply.cancel = cancel;
        if (by == 2)
            apply.timeout_ms = 20;
        else
            assert_int_equal(pthread_create(&thread, NULL, trigger_after_patch, of), 0);
        assert_int_equal(cor_client_apply(w.client, &apply, NULL, NULL, NULL),
                         by == 2 ? -COR_ETIMEOUT : -COR_ECANCELED);
        if (by < 2)
            pthread_join(thread, NULL);
        cor_cancel_unref(cancel);
        world_end(&w);
        script_end(&s);
    }
}

TEST(apply_fields, survives_failed_allocations)
{
    static const struct script_answer answers[] = {{.to = "PATCH", .body = MAP}};
    struct cor_object *begin;
    struct script s;
    struct world w;

    SCRIPT_BEGIN(&s, answers);
    world_begin_at(&w, COR_RUNTIME_PUMPED, s.url);
    assert_int_equal(cor_object_from_json(COR_STR(MAP), &begin, NULL), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_apply apply = fields_of("m", "a1");
        enum cor_apply_result result = COR_APPLY_UNCHANGED;
        struct cor_object *object = NULL;
        int r;

        apply.object = begin;
        apply.subresource = "status";
        test_fail_alloc(n, false);
        r = cor_client_apply(w.client, &apply, &result, &object, NULL);
        if (r == 0) {
            assert_int_equal(result, COR_APPLY_APPLIED);
            assert_str(cor_view_member(cor_object_view(object), COR_STR("data")).json,
                       "{\"a\":\"1\"}");
        } else {
            assert_true(test_alloc_failed());
        }
        cor_object_unref(object);
    }
    test_fail_alloc(0, false);
    cor_object_unref(begin);
    world_end(&w);
    script_end(&s);
}
