/* Create or update, create or patch, status updates and waiting for a deletion, on both kinds of
 * runtime, against a server and against a script of one. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "script.h"
#include "world.h"

static int set_v(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    return cor_builder_set_text_in(b, "data", "v.1", cor_strz(arg));
}

static struct cor_apply apply_of(enum cor_apply_how how, cor_mutate_fn mutate, void *arg)
{
    return (struct cor_apply){
        COR_APPLY,       .how = how,    .kind = "ConfigMap", .resource = configmaps,
        .ns = "default", .name = "one", .mutate = mutate,    .arg = arg};
}

static void expect_result(struct world *w, const struct cor_apply *apply, const char *result)
{
    enum cor_apply_result done;
    struct cor_object *object = NULL;
    struct cor_status why = {0};

    if (cor_client_apply(w->client, apply, &done, &object, &why) < 0)
        fail_msg("%s", cor_status_message(&why));
    assert_string_equal(cor_apply_result_name(done), result);
    assert_str(cor_object_name(object), "one");
    cor_object_unref(object);
}

static void expect_failure(struct world *w, const struct cor_apply *apply, int r,
                           const char *message)
{
    struct cor_status why = {0};

    assert_int_equal(cor_client_apply(w->client, apply, NULL, NULL, &why), r);
    if (message)
        assert_string_equal(cor_status_message(&why), message);
    cor_status_deinit(&why);
}

/* Contract controllers 6.9.3 */
TEST(apply, creates_updates_and_leaves_alone_what_is_as_it_should_be)
{
    static const enum cor_apply_how hows[] = {COR_APPLY_UPDATE, COR_APPLY_PATCH};

    FOR_EACH_KIND(kind)
    for (size_t i = 0; i < 2; i++) {
        struct cor_apply apply = apply_of(hows[i], set_v, (char *)"1");
        struct world w;

        world_begin(&w, kind);
        expect_result(&w, &apply, "created");
        expect_result(&w, &apply, "unchanged");
        apply.arg = (char *)"2";
        expect_result(&w, &apply, "updated");
        expect_result(&w, &apply, "unchanged");
        apply.mutate = NULL;
        expect_result(&w, &apply, "unchanged");
        world_end(&w);
    }
}

static int set_hard(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    cor_builder_set_json(b, "metadata.labels", COR_STR("{}"));
    cor_builder_set_json(b, "spec.scopes", COR_STR("[]"));
    return cor_builder_set_text_in(b, "spec.hard", "requests.cpu", cor_strz(arg));
}

/* Contract controllers 6.9.3: the server stores "1000m" as "1", and nothing in the place of what is
 * empty; a program that wants the same each time updates once. */
TEST(apply, objects_are_compared_by_their_meaning)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_apply apply = apply_of(COR_APPLY_UPDATE, set_hard, (char *)"1000m");
        struct world w;

        apply.kind = "ResourceQuota";
        apply.resource = (struct cor_resource){"", "v1", "resourcequotas"};
        world_begin(&w, kind);
        expect_result(&w, &apply, "created");
        expect_result(&w, &apply, "unchanged");
        apply.arg = (char *)"1001m";
        expect_result(&w, &apply, "updated");
        expect_result(&w, &apply, "unchanged");
        world_end(&w);
    }
}

static int rename_it(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    return cor_builder_set_text(b, arg, COR_STR("other"));
}

static int refuse_it(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    return -COR_EFORBIDDEN;
}

static int fail_the_builder(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    (void)cor_builder_add_finalizer(b, "");
    return 0;
}

TEST(apply, what_mutate_may_not_do_is_refused)
{
    struct cor_apply apply = apply_of(COR_APPLY_UPDATE, rename_it, (char *)"metadata.name");
    struct world w;

    world_begin(&w, COR_RUNTIME_THREADS);
    for (int i = 0; i < 2; i++) { /* of an object that is created, and of one that is there */
        apply = apply_of(COR_APPLY_UPDATE, rename_it, (char *)"metadata.name");
        expect_failure(&w, &apply, -COR_EINVAL,
                       "MutateFn cannot mutate object name and/or object namespace");
        apply.arg = (char *)"metadata.namespace";
        expect_failure(&w, &apply, -COR_EINVAL,
                       "MutateFn cannot mutate object name and/or object namespace");
        apply.mutate = refuse_it;
        expect_failure(&w, &apply, -COR_EFORBIDDEN, "forbidden");
        apply.mutate = fail_the_builder;
        expect_failure(&w, &apply, -COR_EINVAL, "metadata.finalizers: the finalizer is empty");
        apply = apply_of(COR_APPLY_UPDATE, set_v, (char *)"1");
        if (i == 0)
            expect_result(&w, &apply, "created");
    }
    apply.kind = NULL;
    expect_failure(&w, &apply, -COR_EINVAL, "apply an object: name, kind and size must be set");
    apply = apply_of(COR_APPLY_STATUS, set_v, (char *)"1");
    apply.name = "none";
    expect_failure(&w, &apply, -COR_ENOTFOUND, "configmaps \"none\" not found");
    world_end(&w);
}

#define MAP(v)                                                                                     \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"one\","                \
    "\"namespace\":\"default\",\"resourceVersion\":\"5\",\"uid\":\"u\"},\"data\":{\"v.1\":\"" v    \
    "\"}}"
#define REFUSED(code, reason)                                                                      \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"" reason      \
    "\",\"reason\":\"" reason "\",\"code\":" code "}"

/* Contract client 4.13.1, 4.13.2 */
TEST(apply, a_conflict_is_the_result_or_is_tried_again)
{
    static const struct script_answer answers[] = {
        {.to = "GET", .body = MAP("0")},
        {.to = "PUT", .status = 409, .body = REFUSED("409", "Conflict")},
    };
    static const struct {
        enum cor_retry retry;
        int attempts;
    } rows[] = {{COR_RETRY_NEVER, 1}, {COR_RETRY_QUICKLY, 5}, {COR_RETRY_PATIENTLY, 4}};

    for (size_t i = 0; i < 3; i++) {
        struct cor_apply apply = apply_of(COR_APPLY_UPDATE, set_v, (char *)"1");
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, answers);
        world_begin_at(&w, i % 2 ? COR_RUNTIME_PUMPED : COR_RUNTIME_THREADS, s.url);
        apply.retry = rows[i].retry;
        expect_failure(&w, &apply, -COR_ECONFLICT, "Conflict");
        assert_int_equal(script_count(&s, "GET"), rows[i].attempts);
        assert_int_equal(script_count(&s, "PUT"), rows[i].attempts);
        world_end(&w);
        script_end(&s);
    }
}

TEST(apply, an_object_that_comes_or_goes_meanwhile_is_read_again)
{
    static const struct script_answer comes[] = {
        {.to = "GET", .status = 404, .body = REFUSED("404", "NotFound"), .times = 1},
        {.to = "POST", .status = 409, .body = REFUSED("409", "AlreadyExists")},
        {.to = "GET", .body = MAP("0")},
        {.to = "PUT", .body = MAP("1")},
    };
    static const struct script_answer goes[] = {
        {.to = "GET", .body = MAP("0"), .times = 1},
        {.to = "PUT", .status = 404, .body = REFUSED("404", "NotFound")},
        {.to = "GET", .status = 404, .body = REFUSED("404", "NotFound")},
        {.to = "POST", .body = MAP("1")},
    };
    struct cor_apply apply = apply_of(COR_APPLY_UPDATE, set_v, (char *)"1");
    struct script s;
    struct world w;

    apply.retry = COR_RETRY_QUICKLY;
    SCRIPT_BEGIN(&s, comes);
    world_begin_at(&w, COR_RUNTIME_PUMPED, s.url);
    expect_result(&w, &apply, "updated");
    world_end(&w);
    script_end(&s);
    SCRIPT_BEGIN(&s, goes);
    world_begin_at(&w, COR_RUNTIME_PUMPED, s.url);
    expect_result(&w, &apply, "created");
    world_end(&w);
    script_end(&s);
    apply.retry = COR_RETRY_NEVER;
    SCRIPT_BEGIN(&s, comes);
    world_begin_at(&w, COR_RUNTIME_PUMPED, s.url);
    expect_failure(&w, &apply, -COR_EEXIST, "AlreadyExists");
    world_end(&w);
    script_end(&s);
}

static int set_quota(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    const char *parts = arg;

    cor_builder_set_text(b, "spec.hard.pods", cor_str(parts, 1));
    return current ? cor_builder_set_text(b, "status.used.pods", cor_str(parts + 1, 1)) : 0;
}

/* Contract controllers 6.9.4 */
TEST(apply, a_status_is_written_to_its_own_path)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_apply apply = apply_of(COR_APPLY_PATCH, set_quota, (char *)"10");
        struct world w;

        apply.kind = "ResourceQuota";
        apply.resource = (struct cor_resource){"", "v1", "resourcequotas"};
        apply.unless_changed = true;
        apply.retry = COR_RETRY_QUICKLY;
        world_begin(&w, kind);
        expect_result(&w, &apply, "created");
        apply.arg = (char *)"21";
        expect_result(&w, &apply, "updatedStatus");
        apply.arg = (char *)"22";
        expect_result(&w, &apply, "updatedStatusOnly");
        apply.arg = (char *)"32";
        expect_result(&w, &apply, "updated");
        expect_result(&w, &apply, "unchanged");
        apply.how = COR_APPLY_STATUS;
        apply.arg = (char *)"43"; /* the spec is not written */
        expect_result(&w, &apply, "updatedStatusOnly");
        apply.arg = (char *)"33";
        expect_result(&w, &apply, "unchanged");
        world_end(&w);
    }
}

static int count_up(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    struct cor_view data = cor_view_member(cor_builder_view(b), COR_STR("data"));
    struct cor_str text = cor_view_text_or(cor_view_member(data, COR_STR("n")), NULL, 0, "0");
    uint64_t n = 0;
    char next[24];

    (void)cor_str_to_u64(text, &n);
    snprintf(next, sizeof(next), "%llu", (unsigned long long)n + 1);
    return cor_builder_set_text_in(b, "data", "n", cor_strz(next));
}

#define COUNTERS 3
#define COUNTS   5

static void *count(void *arg)
{
    struct world *w = arg;
    struct cor_apply apply = apply_of(COR_APPLY_UPDATE, count_up, NULL);

    apply.retry = COR_RETRY_PATIENTLY;
    for (int i = 0; i < COUNTS;) {
        int r = cor_client_apply(w->client, &apply, NULL, NULL, NULL);

        assert_true(r == 0 || r == -COR_ECONFLICT || r == -COR_EEXIST);
        i += r == 0;
    }
    return NULL;
}

TEST(apply, writers_that_race_lose_nothing)
{
    const struct cor_request get = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one"};
    pthread_t threads[COUNTERS];
    struct cor_object *object;
    struct cor_view data;
    struct world w;

    world_begin(&w, COR_RUNTIME_THREADS);
    for (int i = 0; i < COUNTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count, &w), 0);
    for (int i = 0; i < COUNTERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(cor_client_do(w.client, &get, &object, NULL), 0);
    data = cor_view_member(cor_object_view(object), COR_STR("data"));
    assert_str(cor_view_text_or(cor_view_member(data, COR_STR("n")), NULL, 0, ""), "15");
    cor_object_unref(object);
    world_end(&w);
}

static void *trigger_after_get(void *arg)
{
    void **of = arg;

    while (script_count(of[0], "GET") == 0)
        test_spend_ms(1);
    if (of[1])
        cor_cancel_trigger(of[1]);
    else
        cor_client_stop(of[2]);
    return NULL;
}

TEST(apply, a_call_that_blocks_is_ended_by_its_handle_its_time_and_the_client)
{
    static const struct script_answer silent[] = {{.to = "GET", .is_silent = true}};

    FOR_EACH_KIND(kind)
    for (int by = 0; by < 3; by++) {
        struct cor_apply apply = apply_of(COR_APPLY_UPDATE, set_v, (char *)"1");
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
            assert_int_equal(pthread_create(&thread, NULL, trigger_after_get, of), 0);
        assert_int_equal(cor_client_apply(w.client, &apply, NULL, NULL, NULL),
                         by == 2 ? -COR_ETIMEOUT : -COR_ECANCELED);
        if (by < 2)
            pthread_join(thread, NULL);
        if (by < 2)
            assert_int_equal(cor_client_apply(w.client, &apply, NULL, NULL, NULL), -COR_ECANCELED);
        cor_cancel_unref(cancel);
        world_end(&w);
        script_end(&s);
    }
}

TEST(apply, survives_failed_allocations)
{
    static const struct script_answer answers[] = {
        {.to = "GET", .body = MAP("0")},
        {.to = "PUT", .body = MAP("1")},
    };
    struct script s;
    struct world w;

    SCRIPT_BEGIN(&s, answers);
    world_begin_at(&w, COR_RUNTIME_PUMPED, s.url);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_apply apply = apply_of(COR_APPLY_UPDATE, set_v, (char *)"1");
        enum cor_apply_result result = COR_APPLY_UNCHANGED;
        struct cor_object *object = NULL;
        int r;

        test_fail_alloc(n, false);
        r = cor_client_apply(w.client, &apply, &result, &object, NULL);
        if (r == 0) {
            assert_int_equal(result, COR_APPLY_UPDATED);
            assert_non_null(object);
        } else {
            assert_true(test_alloc_failed());
        }
        cor_object_unref(object);
    }
    test_fail_alloc(0, false);
    world_end(&w);
    script_end(&s);
}

static void *delete_later(void *arg)
{
    struct world *w = arg;

    world_delete(w, "one");
    return NULL;
}

static struct cor_object *get_one(struct world *w)
{
    const struct cor_request get = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one"};
    struct cor_object *object = NULL;

    assert_int_equal(cor_client_do(w->client, &get, &object, NULL), 0);
    return object;
}

TEST(apply, a_deletion_is_waited_for)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_deletion_wait wait = {COR_DELETION_WAIT, .resource = configmaps};
        struct cor_status why = {0};
        struct cor_object *old;
        pthread_t thread;
        struct world w;

        world_begin(&w, kind);
        assert_int_equal(cor_client_wait_deleted(w.client, &wait, &why), -COR_EINVAL);
        cor_status_deinit(&why);
        world_create(&w, "one", "{}", "1");
        old = get_one(&w);
        wait.of = old;
        wait.timeout_ms = 50;
        assert_int_equal(cor_client_wait_deleted(w.client, &wait, NULL), -COR_ETIMEOUT);
        wait.timeout_ms = PATIENCE_MS;
        if (kind == COR_RUNTIME_THREADS)
            assert_int_equal(pthread_create(&thread, NULL, delete_later, &w), 0);
        else
            world_delete(&w, "one");
        assert_int_equal(cor_client_wait_deleted(w.client, &wait, NULL), 0);
        if (kind == COR_RUNTIME_THREADS)
            pthread_join(thread, NULL);
        /* Another object of the same name is not the one that was waited for. */
        world_create(&w, "one", "{}", "2");
        assert_int_equal(cor_client_wait_deleted(w.client, &wait, NULL), 0);
        cor_object_unref(old);
        world_end(&w);
    }
}

static void *trigger_it(void *arg)
{
    cor_cancel_trigger(arg);
    return NULL;
}

#define EXPIRED                                                                                    \
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":"        \
    "\"Failure\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}}\n"

/* A server whose history is always too short is asked again after a pause, which the handle, the
 * time and the end of the client end. */
TEST(apply, a_wait_for_a_deletion_pauses_before_it_tries_again)
{
    static const struct script_answer answers[] = {
        {.to = "watch=", .body = EXPIRED},
        {.to = "GET", .body = MAP("1")},
    };
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .qps = -1};

    FOR_EACH_KIND(kind)
    {
        struct cor_deletion_wait wait = {COR_DELETION_WAIT, .resource = configmaps};
        struct cor_object *old;
        struct cor_cancel *cancel;
        pthread_t thread;
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, answers);
        world_begin_at(&w, kind, s.url);
        cor_client_free(w.client);
        opts.config = &w.config;
        assert_int_equal(cor_client_new(w.rt, &opts, &w.client, NULL), 0);
        old = get_one(&w);
        wait.of = old;
        wait.timeout_ms = 500; /* pauses of 100 and 200 ms at least, and the rest */
        assert_int_equal(cor_client_wait_deleted(w.client, &wait, NULL), -COR_ETIMEOUT);
        assert_true(script_count(&s, "watch=") < 10);
        if (kind == COR_RUNTIME_THREADS) {
            assert_int_equal(cor_cancel_new(&cancel), 0);
            wait.timeout_ms = PATIENCE_MS;
            wait.cancel = cancel;
            assert_int_equal(pthread_create(&thread, NULL, trigger_it, cancel), 0);
            assert_int_equal(cor_client_wait_deleted(w.client, &wait, NULL), -COR_ECANCELED);
            pthread_join(thread, NULL);
            cor_cancel_unref(cancel);
        }
        cor_object_unref(old);
        world_end(&w);
        script_end(&s);
    }
}

TEST(apply, a_wait_for_a_deletion_knows_an_object_without_a_uid_by_its_name)
{
    static const char json[] = "{\"metadata\":{\"name\":\"one\",\"namespace\":\"default\"}}";
    struct cor_deletion_wait wait = {COR_DELETION_WAIT, .resource = configmaps, .timeout_ms = 50};
    struct cor_object *named;
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    assert_int_equal(cor_object_from_json(cor_strz(json), &named, NULL), 0);
    wait.of = named;
    world_create(&w, "one", "{}", "1");
    assert_int_equal(cor_client_wait_deleted(w.client, &wait, NULL), -COR_ETIMEOUT);
    world_delete(&w, "one");
    wait.timeout_ms = PATIENCE_MS;
    assert_int_equal(cor_client_wait_deleted(w.client, &wait, NULL), 0);
    cor_object_unref(named);
    world_end(&w);
}
