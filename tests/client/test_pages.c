/* Lists in pages through the public API: client-go's pager, on both kinds of runtime. */
#include <stdatomic.h>
#include <stdio.h>

#include "script.h"
#include "world.h"

#define ITEM(name) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"default\"}}"
#define LIST(rv, token, items)                                                                     \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"" rv    \
    "\",\"continue\":\"" token "\"},\"items\":[" items "]}"
#define EXPIRED                                                                                    \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410,"             \
    "\"message\":\"the page has expired\"}"

static const struct script_answer three_pages[] = {
    {.to = "continue=first", .body = LIST("9", "second", ITEM("c") "," ITEM("d"))},
    {.to = "continue=second", .body = LIST("9", "", ITEM("e"))},
    {.to = "limit=2", .body = LIST("7", "first", ITEM("a") "," ITEM("b"))},
};

static const struct script_answer expires[] = {
    {.to = "continue=first", .body = EXPIRED, .status = 410},
    {.to = "limit=2", .body = LIST("7", "first", ITEM("a") "," ITEM("b"))},
    {.to = "configmaps", .body = LIST("8", "", ITEM("x") "," ITEM("y") "," ITEM("z"))},
};

static const struct script_answer is_expired[] = {
    {.to = "configmaps", .body = EXPIRED, .status = 410},
};

struct pages {
    struct world w;
    struct script script;
    struct cor_request req;
};

static void begin(struct pages *p, enum cor_runtime_kind kind, enum cor_paging paging,
                  const struct script_answer *answers, size_t n)
{
    script_begin(&p->script, answers, n);
    world_begin_at(&p->w, kind, p->script.url);
    p->req =
        (struct cor_request){COR_REQUEST,     .verb = COR_VERB_LIST,     .resource = configmaps,
                             .ns = "default", .label_selector = "app=a", .resource_version = "5",
                             .limit = 2,      .paging = paging};
}

#define BEGIN(p, kind, paging, answers)                                                            \
    begin((p), (kind), (paging), (answers), sizeof(answers) / sizeof(answers[0]))

static void end(struct pages *p)
{
    world_end(&p->w);
    script_end(&p->script);
}

static void check_list(struct pages *p, const char *names, const char *rv)
{
    struct cor_object_list list;
    char text[64] = "";

    assert_int_equal(cor_client_list(p->w.client, &p->req, &list, NULL), 0);
    for (size_t i = 0; i < list.n; i++)
        strncat(text, cor_object_name(list.items[i]).p, 1);
    assert_string_equal(text, names);
    assert_string_equal(list.resource_version, rv);
    assert_string_equal(list.continue_token, "");
    cor_object_list_deinit(&list);
}

TEST(pages, are_asked_for_one_after_the_other)
{
    FOR_EACH_KIND(kind)
    {
        for (enum cor_paging paging = COR_PAGING_EACH; paging <= COR_PAGING_WHOLE; paging++) {
            struct pages p;

            BEGIN(&p, kind, paging, three_pages);
            check_list(&p, "abcde", "7");
            assert_int_equal(script_count(&p.script, "GET"), 3);
            assert_int_equal(script_count(&p.script, "limit=2"), 3);
            assert_int_equal(script_count(&p.script, "labelSelector=app"), 3);
            assert_int_equal(script_count(&p.script, "resourceVersion=5"), 1);
            end(&p);
        }
    }
}

TEST(pages, a_page_that_has_expired_makes_it_one_whole_list)
{
    FOR_EACH_KIND(kind)
    {
        struct pages p;

        BEGIN(&p, kind, COR_PAGING_WHOLE, expires);
        check_list(&p, "xyz", "8");
        assert_int_equal(script_count(&p.script, "limit="), 2);
        assert_int_equal(script_count(&p.script, "GET"), 3);
        assert_int_equal(script_count(&p.script, "resourceVersion=5"), 2);
        end(&p);
    }
}

TEST(pages, a_first_page_that_has_expired_is_an_error)
{
    FOR_EACH_KIND(kind)
    {
        struct pages p;
        struct cor_object_list list;

        BEGIN(&p, kind, COR_PAGING_WHOLE, is_expired);
        assert_int_equal(cor_client_list(p.w.client, &p.req, &list, NULL), -COR_EEXPIRED);
        assert_int_equal(script_count(&p.script, "GET"), 1);
        end(&p);
    }
}

/* What callbacks heard; written on the runtime's thread. */
struct taken {
    char names[64];
    char rv[16];
    int answer, answer_at; /* what on_item returns at that item */
    int n, err;
    atomic_int done;
};

static int on_item(void *arg, struct cor_object *item)
{
    struct taken *t = arg;

    strncat(t->names, cor_object_name(item).p, 1);
    return ++t->n == t->answer_at ? t->answer : 0;
}

static void on_done(void *arg, const struct cor_response *response)
{
    struct taken *t = arg;

    t->err = response->error ? response->error->err : 0;
    snprintf(t->rv, sizeof(t->rv), "%.*s", COR_STR_ARG(response->resource_version));
    atomic_store(&t->done, 1);
}

static const struct cor_request_cbs cbs = {.on_item = on_item, .on_done = on_done};

static bool is_done(void *arg)
{
    return atomic_load(&((struct taken *)arg)->done) > 0;
}

static void take(struct pages *p, struct taken *t)
{
    assert_int_equal(cor_client_send(p->w.client, &p->req, &cbs, t, NULL), 0);
    world_run(&p->w, is_done, t);
}

TEST(pages, items_of_an_expired_list_have_been_given_one_by_one)
{
    FOR_EACH_KIND(kind)
    {
        struct pages p;
        struct taken t = {.n = 0};

        BEGIN(&p, kind, COR_PAGING_EACH, expires);
        take(&p, &t);
        assert_int_equal(t.err, -COR_EEXPIRED);
        assert_string_equal(t.names, "ab");
        assert_int_equal(script_count(&p.script, "GET"), 2);
        end(&p);
    }
}

TEST(pages, an_item_ends_them_or_does_not)
{
    FOR_EACH_KIND(kind)
    {
        for (enum cor_paging paging = COR_PAGING_EACH; paging <= COR_PAGING_WHOLE; paging++) {
            struct pages p;
            struct taken ends = {.answer = -COR_EFORBIDDEN, .answer_at = 3};
            struct taken goes_on = {.answer = 1, .answer_at = 3};

            BEGIN(&p, kind, paging, three_pages);
            take(&p, &ends);
            assert_int_equal(ends.err, -COR_EFORBIDDEN);
            assert_string_equal(ends.names, "abc");
            take(&p, &goes_on);
            assert_int_equal(goes_on.err, 0);
            assert_string_equal(goes_on.names, "abcde");
            assert_string_equal(goes_on.rv, "7");
            end(&p);
        }
    }
}

static const struct script_answer stalls[] = {
    {.to = "continue=first", .body = "{", .stays_open = true},
    {.to = "limit=2", .body = LIST("7", "first", ITEM("a") "," ITEM("b"))},
};

static bool has_asked_twice(void *arg)
{
    return script_count(arg, "GET") == 2;
}

TEST(pages, are_cancelled_and_have_a_deadline)
{
    FOR_EACH_KIND(kind)
    {
        for (enum cor_paging paging = COR_PAGING_EACH; paging <= COR_PAGING_WHOLE; paging++) {
            struct pages p;
            struct cor_client_call *call;
            struct taken cancelled = {.n = 0}, late = {.n = 0}, closed = {.n = 0};

            BEGIN(&p, kind, paging, stalls);
            assert_int_equal(cor_client_send(p.w.client, &p.req, &cbs, &cancelled, &call), 0);
            world_run(&p.w, has_asked_twice, &p.script);
            cor_client_call_cancel(call);
            world_run(&p.w, is_done, &cancelled);
            cor_client_call_unref(call);
            assert_int_equal(cancelled.err, -COR_ECANCELED);
            p.req.timeout_ms = 50;
            take(&p, &late);
            assert_int_equal(late.err, -COR_ETIMEOUT);
            p.req.timeout_ms = 0;
            assert_int_equal(cor_client_send(p.w.client, &p.req, &cbs, &closed, NULL), 0);
            end(&p);
            assert_int_equal(closed.err, -COR_ECANCELED);
        }
    }
}

TEST(pages, of_a_real_server_are_the_whole_list)
{
    FOR_EACH_KIND(kind)
    {
        for (enum cor_paging paging = COR_PAGING_EACH; paging <= COR_PAGING_WHOLE; paging++) {
            struct world w;
            struct cor_object_list list;
            char name[16];
            const struct cor_request req = {
                COR_REQUEST, .verb = COR_VERB_LIST, .resource = configmaps, .ns = "default",
                .limit = 2,  .paging = paging};

            world_begin(&w, kind);
            for (int i = 0; i < 5; i++) {
                snprintf(name, sizeof(name), "n%d", i);
                world_create(&w, name, "{}", "1");
            }
            assert_int_equal(cor_client_list(w.client, &req, &list, NULL), 0);
            assert_int_equal(list.n, 5);
            assert_str(cor_object_name(list.items[4]), "n4");
            cor_object_list_deinit(&list);
            world_end(&w);
        }
    }
}
