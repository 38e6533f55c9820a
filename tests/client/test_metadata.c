/* Requests that want the metadata of objects alone, on both kinds of runtime, of a real server. */
#include <stdatomic.h>

#include "world.h"

struct heard {
    atomic_int nevents, done;
    bool is_partial; /* of every item and event */
};

static bool is_partial(const struct cor_object *object)
{
    struct cor_view data = cor_view_member(cor_object_view(object), COR_STR("data"));

    return cor_str_eqz(cor_object_kind(object), "PartialObjectMetadata") &&
           cor_object_name(object).n > 0 && !cor_view_exists(data);
}

static int on_event(void *arg, const struct cor_watch_event *event)
{
    struct heard *h = arg;

    h->is_partial = h->is_partial && event->object && is_partial(event->object);
    atomic_fetch_add(&h->nevents, 1);
    return 0;
}

static void on_done(void *arg, const struct cor_response *response)
{
    atomic_fetch_add(&((struct heard *)arg)->done, 1);
}

static bool has_event(void *arg)
{
    return atomic_load(&((struct heard *)arg)->nevents) > 0;
}

static bool is_done(void *arg)
{
    return atomic_load(&((struct heard *)arg)->done) > 0;
}

static void check_list(struct world *w, enum cor_paging paging)
{
    const struct cor_request req = {COR_REQUEST,
                                    .verb = COR_VERB_LIST,
                                    .resource = configmaps,
                                    .ns = "default",
                                    .limit = paging == COR_PAGING_NONE ? 0 : 1,
                                    .paging = paging,
                                    .metadata_only = true};
    struct cor_object_list list;

    assert_int_equal(cor_client_list(w->client, &req, &list, NULL), 0);
    assert_int_equal(list.n, 2);
    for (size_t i = 0; i < list.n; i++)
        assert_true(is_partial(list.items[i]));
    cor_object_list_deinit(&list);
}

static void check_watch(struct world *w, const char *rv)
{
    static const struct cor_request_cbs cbs = {NULL, on_event, on_done};
    const struct cor_request req = {
        COR_REQUEST,          .verb = COR_VERB_WATCH, .resource = configmaps,
        .ns = "default",      .resource_version = rv, .resumes = rv != NULL,
        .metadata_only = true};
    struct heard h = {.is_partial = true};
    struct cor_client_call *call;

    assert_int_equal(cor_client_send(w->client, &req, &cbs, &h, &call), 0);
    world_run(w, has_event, &h);
    cor_client_call_cancel(call);
    world_run(w, is_done, &h);
    assert_true(h.is_partial);
    cor_client_call_unref(call);
}

/* A deletion has its usual answer. */
static void check_object(struct world *w)
{
    struct cor_request req = {COR_REQUEST,     .verb = COR_VERB_GET, .resource = configmaps,
                              .ns = "default", .name = "one",        .metadata_only = true};
    struct cor_object *object;

    assert_int_equal(cor_client_do(w->client, &req, &object, NULL), 0);
    assert_true(is_partial(object));
    cor_object_unref(object);
    req.verb = COR_VERB_PATCH;
    req.patch_type = COR_PATCH_MERGE;
    req.patch = COR_STR("{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    assert_int_equal(cor_client_do(w->client, &req, &object, NULL), 0);
    assert_true(is_partial(object));
    cor_object_unref(object);
    req.verb = COR_VERB_DELETE;
    assert_int_equal(cor_client_do(w->client, &req, &object, NULL), 0);
    assert_str(cor_object_kind(object), "Status");
    cor_object_unref(object);
}

/* Contract client 4.14.9. */
TEST(metadata, of_objects_can_be_had_alone)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        char rv[32];

        world_begin(&w, kind);
        world_create(&w, "one", "{}", "1");
        world_create(&w, "two", "{}", "2");
        check_list(&w, COR_PAGING_NONE);
        check_list(&w, COR_PAGING_EACH);
        check_list(&w, COR_PAGING_WHOLE);
        check_watch(&w, NULL);
        world_update(&w, "two", "3", rv);
        world_update(&w, "two", "4", (char[32]){0});
        check_watch(&w, rv);
        check_object(&w);
        world_end(&w);
    }
}
