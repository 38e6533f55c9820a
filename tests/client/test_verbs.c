/* The verbs of a client as the author of a controller knows them from controller-runtime: what
 * comes back from a write, subresources, apply, deletions and options. Against a real server. */
#include <stdio.h>

#include "world.h"

static const struct cor_resource quotas = {"", "v1", "resourcequotas"};

static struct cor_object *object_of(const char *json)
{
    struct cor_object *object = NULL;

    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    return object;
}

static struct cor_object *done(struct world *w, const struct cor_request *req)
{
    struct cor_object *object = NULL;
    struct cor_status why = {0};

    if (cor_client_do(w->client, req, &object, &why) < 0)
        fail_msg("%s", cor_status_message(&why));
    return object;
}

static int code_of(struct world *w, const struct cor_request *req)
{
    struct cor_status why = {0};
    int code;

    assert_true(cor_client_do(w->client, req, NULL, &why) < 0);
    code = why.code;
    cor_status_deinit(&why);
    return code;
}

static bool has_text(const struct cor_object *object, const char *text)
{
    struct cor_str json = cor_object_json(object);

    return memmem(json.p, json.n, text, strlen(text)) != NULL;
}

static struct cor_str text_at(const struct cor_object *object, const char *member, const char *key)
{
    return cor_view_text_or(
        cor_view_member(cor_view_member(cor_object_view(object), cor_strz(member)), cor_strz(key)),
        NULL, 0, "");
}

#define MAP(rest)                                                                                  \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"one\"}" rest "}"

/* Contract controllers 6.8.2: the answer is an object of its own, since objects are immutable. */
TEST(verbs, a_write_gives_back_what_the_server_has_stored)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_object *sent = object_of(MAP(",\"data\":{\"v\":\"1\"}"));
        struct cor_object *other = object_of(MAP(",\"data\":{\"v\":\"3\"}"));
        struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = configmaps,
                                  .ns = "default", .object = sent};
        struct cor_object *created, *patched, *updated;
        struct world w;

        world_begin(&w, kind);
        created = done(&w, &req);
        assert_true(cor_object_uid(created).n > 0);
        assert_str(cor_object_namespace(created), "default");
        req = (struct cor_request){COR_REQUEST,
                                   .verb = COR_VERB_PATCH,
                                   .resource = configmaps,
                                   .of = created,
                                   .patch_type = COR_PATCH_MERGE,
                                   .patch = COR_STR("{\"data\":{\"v\":\"2\"}}")};
        patched = done(&w, &req);
        assert_str(text_at(patched, "data", "v"), "2");
        assert_false(
            cor_str_eq(cor_object_resource_version(created), cor_object_resource_version(patched)));
        /* Without a resourceVersion nothing is compared; with an old one it is a conflict. */
        req = (struct cor_request){COR_REQUEST, .verb = COR_VERB_UPDATE, .resource = configmaps,
                                   .of = created};
        assert_int_equal(code_of(&w, &req), 409);
        req = (struct cor_request){COR_REQUEST, .verb = COR_VERB_UPDATE, .resource = configmaps,
                                   .ns = "default", .object = other};
        updated = done(&w, &req);
        assert_str(text_at(updated, "data", "v"), "3");
        assert_true(cor_str_eq(cor_object_uid(created), cor_object_uid(updated)));
        cor_object_unref(sent);
        cor_object_unref(other);
        cor_object_unref(created);
        cor_object_unref(patched);
        cor_object_unref(updated);
        world_end(&w);
    }
}

/* Contract controllers 6.8.3: the server refuses what controller-runtime does not send. */
TEST(verbs, an_object_of_metadata_alone_is_patched_and_deleted_but_not_written)
{
    struct cor_request req = {COR_REQUEST,     .verb = COR_VERB_GET, .resource = configmaps,
                              .ns = "default", .name = "one",        .metadata_only = true};
    struct cor_object *partial;
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    world_create(&w, "one", "{}", "1");
    partial = done(&w, &req);
    assert_str(
        cor_view_text_or(cor_view_member(cor_object_view(partial), COR_STR("kind")), NULL, 0, ""),
        "PartialObjectMetadata");
    req = (struct cor_request){COR_REQUEST, .verb = COR_VERB_UPDATE, .resource = configmaps,
                               .of = partial};
    assert_int_equal(code_of(&w, &req), 400);
    req.verb = COR_VERB_CREATE;
    assert_int_equal(code_of(&w, &req), 400);
    req = (struct cor_request){COR_REQUEST,
                               .verb = COR_VERB_PATCH,
                               .resource = configmaps,
                               .of = partial,
                               .patch_type = COR_PATCH_MERGE,
                               .patch = COR_STR("{\"metadata\":{\"labels\":{\"a\":\"b\"}}}")};
    cor_object_unref(done(&w, &req));
    req = (struct cor_request){COR_REQUEST, .verb = COR_VERB_DELETE, .resource = configmaps,
                               .of = partial};
    cor_object_unref(done(&w, &req));
    cor_object_unref(partial);
    world_end(&w);
}

/* Contract controllers 6.8.5: the writer of a subresource; the creation of one is in by_object. */
TEST(verbs, a_subresource_is_read_updated_and_patched)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_object *quota =
            object_of("{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{\"name\":"
                      "\"q\"},\"spec\":{\"hard\":{\"pods\":\"1\"}}}");
        struct cor_object *wanted =
            object_of("{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{\"name\":"
                      "\"q\"},\"spec\":{\"hard\":{\"pods\":\"9\"}},\"status\":{\"used\":{\"pods\":"
                      "\"3\"}}}");
        struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = quotas,
                                  .ns = "default", .object = quota};
        struct cor_object *answer;
        struct world w;

        world_begin(&w, kind);
        cor_object_unref(done(&w, &req));
        req = (struct cor_request){COR_REQUEST,     .verb = COR_VERB_UPDATE, .resource = quotas,
                                   .ns = "default", .subresource = "status", .object = wanted};
        answer = done(&w, &req);
        /* The status, and nothing else. */
        assert_true(has_text(answer, "\"used\":{\"pods\":\"3\"}"));
        assert_false(has_text(answer, "\"pods\":\"9\""));
        cor_object_unref(answer);
        req = (struct cor_request){COR_REQUEST,
                                   .verb = COR_VERB_PATCH,
                                   .resource = quotas,
                                   .ns = "default",
                                   .name = "q",
                                   .subresource = "status",
                                   .patch_type = COR_PATCH_MERGE,
                                   .patch = COR_STR("{\"status\":{\"used\":{\"pods\":\"4\"}}}")};
        cor_object_unref(done(&w, &req));
        req = (struct cor_request){COR_REQUEST,     .verb = COR_VERB_GET, .resource = quotas,
                                   .ns = "default", .name = "q",          .subresource = "status"};
        answer = done(&w, &req);
        assert_true(has_text(answer, "\"used\":{\"pods\":\"4\"}"));
        cor_object_unref(answer);
        cor_object_unref(quota);
        cor_object_unref(wanted);
        world_end(&w);
    }
}

/* Contract controllers 6.8.6. */
TEST(verbs, an_apply_wants_an_owner_and_takes_fields_of_others_by_force)
{
    struct cor_request req = {COR_REQUEST,
                              .verb = COR_VERB_PATCH,
                              .resource = configmaps,
                              .ns = "default",
                              .name = "one",
                              .patch_type = COR_PATCH_APPLY,
                              .patch = COR_STR(MAP(",\"data\":{\"v\":\"1\"}")),
                              .field_manager = "first"};
    struct cor_object *answer;
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    cor_object_unref(done(&w, &req));
    req.field_manager = NULL;
    assert_true(cor_client_do(w.client, &req, NULL, NULL) < 0);
    req.field_manager = "second";
    req.patch = COR_STR(MAP(",\"data\":{\"v\":\"2\"}"));
    assert_int_equal(code_of(&w, &req), 409);
    req.force = true;
    answer = done(&w, &req);
    assert_str(text_at(answer, "data", "v"), "2");
    cor_object_unref(answer);
    world_end(&w);
}

static size_t count_maps(struct world *w, const char *ns, const char *labels)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                                    .ns = ns, .label_selector = labels};
    struct cor_object_list list;
    size_t n;

    assert_int_equal(cor_client_list(w->client, &req, &list, NULL), 0);
    n = list.n;
    cor_object_list_deinit(&list);
    return n;
}

/* Contract controllers 6.8.7. */
TEST(verbs, deletions_have_preconditions_a_policy_and_a_dry_run)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_request req = {COR_REQUEST, .verb = COR_VERB_DELETE, .resource = configmaps,
                                  .ns = "default", .name = "one"};
        struct world w;

        world_begin(&w, kind);
        world_create(&w, "one", "{\"app\":\"a\"}", "1");
        world_create(&w, "two", "{\"app\":\"a\"}", "1");
        world_create(&w, "three", "{\"app\":\"b\"}", "1");
        req.uid_is = "another";
        assert_int_equal(code_of(&w, &req), 409);
        req.uid_is = NULL;
        req.resource_version_is = "1";
        assert_int_equal(code_of(&w, &req), 409);
        req.resource_version_is = NULL;
        req.dry_run = true;
        cor_object_unref(done(&w, &req));
        assert_int_equal(count_maps(&w, "default", "app=a"), 2);
        req.dry_run = false;
        req.propagation = "Sideways";
        assert_int_equal(code_of(&w, &req), 422);
        req.propagation = "Background";
        req.has_grace = true;
        req.grace_s = 0;
        cor_object_unref(done(&w, &req));
        assert_int_equal(count_maps(&w, "default", "app=a"), 1);
        /* DeleteAllOf: one request for a namespace. */
        req = (struct cor_request){COR_REQUEST, .verb = COR_VERB_DELETE_COLLECTION,
                                   .resource = configmaps, .ns = "default",
                                   .label_selector = "app=a"};
        assert_int_equal(cor_client_do(w.client, &req, NULL, NULL), 0);
        assert_int_equal(count_maps(&w, "default", "app=a"), 0);
        assert_int_equal(count_maps(&w, "default", "app=b"), 1);
        world_end(&w);
    }
}

/* Contract controllers 6.8.8: what controller-runtime has as options of a call is a member of the
 * request. */
TEST(verbs, lists_and_writes_have_options)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_object *unknown = object_of(MAP(",\"data\":{\"v\":\"1\"},\"nonsense\":1"));
        struct cor_request list = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps,
                                   .ns = "default", .field_selector = "metadata.name=two"};
        struct cor_request create = {
            COR_REQUEST,     .verb = COR_VERB_CREATE, .resource = configmaps,
            .ns = "default", .object = unknown,       .field_validation = "Strict"};
        struct cor_object_list page, rest;
        struct cor_object *answer;
        struct world w;

        world_begin(&w, kind);
        world_create(&w, "two", "{\"app\":\"a\"}", "1");
        world_create(&w, "three", "{\"app\":\"\",\"t\":\"\"}", "1");
        assert_int_equal(count_maps(&w, "default", "t"), 1); /* HasLabels */
        assert_int_equal(count_maps(&w, "kube-public", ""), 0);
        assert_int_equal(cor_client_list(w.client, &list, &page, NULL), 0);
        assert_int_equal(page.n, 1);
        cor_object_list_deinit(&page);
        list.field_selector = NULL;
        list.limit = 1;
        assert_int_equal(cor_client_list(w.client, &list, &page, NULL), 0);
        assert_int_equal(page.n, 1);
        list.limit = 0;
        list.continue_token = page.continue_token;
        assert_int_equal(cor_client_list(w.client, &list, &rest, NULL), 0);
        assert_int_equal(rest.n, 1);
        assert_false(cor_str_eq(cor_object_name(page.items[0]), cor_object_name(rest.items[0])));
        cor_object_list_deinit(&page);
        cor_object_list_deinit(&rest);

        assert_int_equal(code_of(&w, &create), 400);
        create.field_validation = "Ignore";
        create.dry_run = true;
        create.field_manager = "me";
        answer = done(&w, &create);
        assert_true(has_text(answer, "\"manager\":\"me\""));
        cor_object_unref(answer);
        assert_int_equal(count_maps(&w, "default", "!app"), 0);
        cor_object_unref(unknown);
        world_end(&w);
    }
}

/* Contract controllers 6.8.9: a code for each of the two, which a program ignores. */
TEST(verbs, what_is_missing_and_what_exists_are_told_by_their_codes)
{
    struct cor_object *map = object_of(MAP(""));
    struct cor_request create = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = configmaps,
                                 .ns = "default", .object = map};
    struct cor_request remove_it = {COR_REQUEST, .verb = COR_VERB_DELETE, .resource = configmaps,
                                    .ns = "default", .name = "one"};
    struct cor_status why = {0};
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    assert_int_equal(cor_client_do(w.client, &create, NULL, NULL), 0);
    assert_int_equal(cor_client_do(w.client, &create, NULL, &why), -COR_EEXIST);
    assert_true(cor_status_is_already_exists(&why));
    cor_status_deinit(&why);
    assert_int_equal(cor_client_do(w.client, &remove_it, NULL, NULL), 0);
    assert_int_equal(cor_client_do(w.client, &remove_it, NULL, &why), -COR_ENOTFOUND);
    assert_true(cor_status_is_not_found(&why));
    cor_status_deinit(&why);
    cor_object_unref(map);
    world_end(&w);
}

struct heard {
    int n;
    char text[200];
};

static void on_warning(void *arg, struct cor_str text)
{
    struct heard *heard = arg;

    heard->n++;
    snprintf(heard->text, sizeof(heard->text), "%.*s", COR_STR_ARG(text));
}

/* Contract controllers 6.8.10: the program's function has them; each text comes once. */
TEST(verbs, warnings_of_the_server_are_handed_over)
{
    FOR_EACH_KIND(kind)
    {
        struct heard heard = {0};
        struct cor_client_opts opts = {COR_CLIENT_OPTS, .on_warning = on_warning, .arg = &heard};
        struct cor_object *unknown = object_of(MAP(",\"nonsense\":1"));
        struct cor_request create = {
            COR_REQUEST,       .verb = COR_VERB_CREATE, .resource = configmaps,    .ns = "default",
            .object = unknown, .dry_run = true,         .field_validation = "Warn"};
        struct world w;

        world_begin(&w, kind);
        cor_client_free(w.client);
        opts.config = &w.config;
        assert_int_equal(cor_client_new(w.rt, &opts, &w.client, NULL), 0);
        cor_object_unref(done(&w, &create));
        cor_object_unref(done(&w, &create));
        assert_int_equal(heard.n, 1);
        assert_string_equal(heard.text, "unknown field \"nonsense\"");
        cor_object_unref(unknown);
        world_end(&w);
    }
}
