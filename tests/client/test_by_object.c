/* Requests that take their names from an object, and calls that a handle cancels, on both kinds of
 * runtime. */
#include <pthread.h>
#include <stdatomic.h>

#include "script.h"
#include "world.h"

static int get(struct world *w, const char *name, struct cor_object **ret_object)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = name};

    return cor_client_do(w->client, &req, ret_object, NULL);
}

static struct cor_object *with_label(struct cor_object *object, const char *value)
{
    struct cor_object *next = NULL;
    struct cor_builder *b = NULL;

    assert_int_equal(cor_builder_new(object, &b), 0);
    cor_builder_set_label(b, "example.com/l", cor_strz(value));
    assert_int_equal(cor_builder_finish(b, &next, NULL), 0);
    cor_builder_free(b);
    return next;
}

TEST(by_object, each_verb_takes_what_it_needs_from_the_object)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps};
        struct cor_object *first, *second, *third, *made;
        struct cor_patch *patch;
        struct world w;

        world_begin(&w, kind);
        world_create(&w, "one", "{}", "1");
        assert_int_equal(get(&w, "one", &first), 0);
        req.of = first;
        assert_int_equal(cor_client_do(w.client, &req, &second, NULL), 0);
        assert_true(cor_str_eq(cor_object_uid(first), cor_object_uid(second)));
        cor_object_unref(second);

        second = with_label(first, "a");
        req = (struct cor_request){COR_REQUEST, .verb = COR_VERB_UPDATE, .resource = configmaps,
                                   .of = second};
        assert_int_equal(cor_client_do(w.client, &req, &third, NULL), 0);
        assert_int_equal(cor_client_do(w.client, &req, NULL, NULL), -COR_ECONFLICT);

        /* A patch and a delete of what is not as it was are conflicts, when that is asked for. */
        assert_int_equal(cor_patch_between(first, second, false, &patch, NULL), 0);
        req = (struct cor_request){COR_REQUEST,
                                   .verb = COR_VERB_PATCH,
                                   .resource = configmaps,
                                   .of = first,
                                   .unless_changed = true,
                                   .patch_type = COR_PATCH_MERGE,
                                   .patch = cor_patch_json(patch)};
        assert_int_equal(cor_client_do(w.client, &req, NULL, NULL), -COR_ECONFLICT);
        req.of = third;
        assert_int_equal(cor_client_do(w.client, &req, NULL, NULL), 0);
        cor_patch_free(patch);
        req = (struct cor_request){COR_REQUEST, .verb = COR_VERB_DELETE, .resource = configmaps,
                                   .of = first, .unless_changed = true};
        assert_true(cor_client_do(w.client, &req, NULL, NULL) < 0);
        req.unless_changed = false;
        assert_int_equal(cor_client_do(w.client, &req, NULL, NULL), 0);

        /* An object that was created again has another uid: it stays. */
        world_create(&w, "one", "{}", "2");
        assert_true(cor_client_do(w.client, &req, NULL, NULL) < 0);
        assert_int_equal(get(&w, "one", &made), 0);
        cor_object_unref(made);
        cor_object_unref(first);
        cor_object_unref(second);
        cor_object_unref(third);
        world_end(&w);
    }
}

TEST(by_object, a_create_goes_to_the_objects_namespace)
{
    static const char json[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                               "\"name\":\"one\",\"namespace\":\"default\"}}";
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = configmaps};
    struct cor_object *object, *made;
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    req.of = object;
    assert_int_equal(cor_client_do(w.client, &req, &made, NULL), 0);
    assert_str(cor_object_namespace(made), "default");
    cor_object_unref(made);
    cor_object_unref(object);
    world_end(&w);
}

TEST(by_object, a_create_of_a_subresource_has_the_objects_name)
{
    static const struct script_answer token[] = {
        {.to = "/namespaces/default/serviceaccounts/one/token",
         .body = "{\"kind\":\"TokenRequest\",\"apiVersion\":\"authentication.k8s.io/v1\","
                 "\"metadata\":{\"name\":\"one\"}}"}};
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE,
                              .resource = {"", "v1", "serviceaccounts"}, .subresource = "token"};
    struct cor_object *account, *asked, *made;
    struct script s;
    struct world w;

    SCRIPT_BEGIN(&s, token);
    world_begin_at(&w, COR_RUNTIME_PUMPED, s.url);
    assert_int_equal(
        cor_object_from_json(COR_STR("{\"metadata\":{\"name\":\"one\",\"namespace\":\"default\"}}"),
                             &account, NULL),
        0);
    assert_int_equal(cor_object_from_json(COR_STR("{\"metadata\":{},\"spec\":{}}"), &asked, NULL),
                     0);
    req.of = account;
    req.object = asked;
    assert_int_equal(cor_client_do(w.client, &req, &made, NULL), 0);
    cor_object_unref(made);
    cor_object_unref(asked);
    cor_object_unref(account);
    world_end(&w);
    script_end(&s);
}

TEST(by_object, what_makes_no_sense_is_refused)
{
    static const char json[] = "{\"metadata\":{\"name\":\"one\"}}";
    struct cor_request list = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps};
    struct cor_request del = {COR_REQUEST, .verb = COR_VERB_DELETE, .resource = configmaps,
                              .unless_changed = true};
    struct cor_request patch = {COR_REQUEST, .verb = COR_VERB_PATCH, .resource = configmaps,
                                .unless_changed = true, .patch = COR_STR("[]")};
    struct cor_object_list items;
    struct cor_object *bare, *versioned;
    struct world w;

    world_begin_at(&w, COR_RUNTIME_PUMPED, "http://127.0.0.1:1");
    assert_int_equal(cor_object_from_json(cor_strz(json), &bare, NULL), 0);
    assert_int_equal(
        cor_object_from_json(COR_STR("{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}"),
                             &versioned, NULL),
        0);
    list.of = bare;
    assert_int_equal(cor_client_list(w.client, &list, &items, NULL), -COR_EINVAL);
    assert_int_equal(cor_client_do(w.client, &del, NULL, NULL), -COR_EINVAL);
    del.of = bare;
    assert_int_equal(cor_client_do(w.client, &del, NULL, NULL), -COR_EINVAL);
    del.of = versioned;
    del.verb = COR_VERB_GET;
    assert_int_equal(cor_client_do(w.client, &del, NULL, NULL), -COR_EINVAL);
    patch.of = versioned;
    patch.patch_type = COR_PATCH_JSON;
    assert_int_equal(cor_client_do(w.client, &patch, NULL, NULL), -COR_EINVAL);
    patch.patch_type = COR_PATCH_MERGE;
    assert_int_equal(cor_client_do(w.client, &patch, NULL, NULL), -COR_EINVAL);
    cor_object_unref(bare);
    cor_object_unref(versioned);
    world_end(&w);
}

static int is_deleted(void *arg, const struct cor_watch_event *event)
{
    assert_str(cor_object_name(event->object), "one");
    return event->type == COR_WATCH_DELETED;
}

TEST(by_object, a_watch_follows_the_object_alone)
{
    static const cor_watch_condition_fn conditions[] = {is_deleted};

    FOR_EACH_KIND(kind)
    {
        struct cor_request req = {COR_REQUEST, .verb = COR_VERB_WATCH, .resource = configmaps,
                                  .resumes = true, .timeout_ms = PATIENCE_MS};
        struct cor_object *one;
        struct world w;

        world_begin(&w, kind);
        world_create(&w, "one", "{}", "1");
        assert_int_equal(get(&w, "one", &one), 0);
        world_create(&w, "two", "{}", "1");
        world_delete(&w, "two");
        world_delete(&w, "one");
        req.of = one;
        assert_int_equal(cor_client_watch_until(w.client, &req, conditions, 1, NULL, NULL, NULL),
                         0);
        cor_object_unref(one);
        world_end(&w);
    }
}

struct trigger {
    struct cor_cancel *cancel;
    struct script *script;
};

/* Waits until a request has reached the server. */
static void *trigger_later(void *arg)
{
    struct trigger *t = arg;

    while (script_count(t->script, "GET") == 0)
        test_spend_ms(1);
    cor_cancel_trigger(t->cancel);
    return NULL;
}

static int no_change(void *arg, struct cor_object *current, struct cor_object **ret_object,
                     struct cor_status *reterr)
{
    *ret_object = cor_object_ref(current);
    return 0;
}

static int wait_by_get(struct world *w, const struct cor_request *req, struct cor_status *why)
{
    return cor_client_do(w->client, req, NULL, why);
}

static int wait_by_change(struct world *w, const struct cor_request *req, struct cor_status *why)
{
    return cor_client_change(w->client, req, no_change, NULL, NULL, why);
}

TEST(by_object, a_handle_cancels_calls_that_block)
{
    static const struct script_answer silent[] = {{.to = "configmaps", .is_silent = true}};
    static int (*const waits[])(struct world * w, const struct cor_request *req,
                                struct cor_status *why) = {wait_by_get, wait_by_change};

    FOR_EACH_KIND(kind)
    for (size_t i = 0; i < 2; i++) {
        struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                  .ns = "default", .name = "one"};
        struct cor_status why = {0};
        struct trigger t;
        struct script s;
        pthread_t thread;
        struct world w;

        SCRIPT_BEGIN(&s, silent);
        world_begin_at(&w, kind, s.url);
        t.script = &s;
        assert_int_equal(cor_cancel_new(&t.cancel), 0);
        assert_false(cor_cancel_is_triggered(t.cancel));
        req.cancel = t.cancel;
        assert_int_equal(pthread_create(&thread, NULL, trigger_later, &t), 0);
        assert_int_equal(waits[i](&w, &req, &why), -COR_ECANCELED);
        assert_string_equal(cor_status_message(&why), "the request was canceled");
        pthread_join(thread, NULL);
        /* A later call with the handle does not begin. */
        assert_true(cor_cancel_is_triggered(t.cancel));
        cor_cancel_trigger(t.cancel);
        assert_int_equal(waits[i](&w, &req, &why), -COR_ECANCELED);
        assert_int_equal(script_count(&s, "GET"), 1);
        assert_null(cor_cancel_unref(t.cancel));
        cor_status_deinit(&why);
        world_end(&w);
        script_end(&s);
    }
}

#define RACERS 4
#define RACES  10 /* calls of each that a round cancels */

struct race {
    struct world *w;
    struct cor_cancel *_Atomic cancel;
    atomic_int nended;
};

static void *race_calls(void *arg)
{
    struct race *race = arg;
    const struct cor_request req = {COR_REQUEST,     .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = "one",        .cancel = race->cancel};

    for (int i = 0, ncancelled = 0; ncancelled < RACES; i++) {
        int r = i % 2 ? wait_by_get(race->w, &req, NULL) : wait_by_change(race->w, &req, NULL);

        assert_true(r == 0 || r == -COR_ECANCELED);
        ncancelled += r < 0;
        atomic_fetch_add(&race->nended, 1);
    }
    return NULL;
}

/* Calls begin, end and are cancelled at the same time: each ends once, and nothing is used after
 * its end (for the sanitizers). */
TEST(by_object, a_handle_is_triggered_while_calls_begin_and_end)
{
    struct world w;

    world_begin(&w, COR_RUNTIME_THREADS);
    world_create(&w, "one", "{}", "1");
    for (int round = 0; round < 5; round++) {
        struct race race = {.w = &w};
        pthread_t threads[RACERS];
        struct cor_cancel *cancel;

        assert_int_equal(cor_cancel_new(&cancel), 0);
        race.cancel = cancel;
        for (int i = 0; i < RACERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, race_calls, &race), 0);
        while (atomic_load(&race.nended) < 10 * round)
            test_spend_ms(1);
        cor_cancel_trigger(cancel);
        for (int i = 0; i < RACERS; i++)
            pthread_join(threads[i], NULL);
        cor_cancel_unref(cancel);
    }
    world_end(&w);
}
