#include <stdio.h>

#include "base/mem.h"
#include "conformance.h"
#include "storage/engine/engine_int.h"

static struct cor_store_list_opts under(int64_t limit, const char *token)
{
    return (struct cor_store_list_opts){
        .options = {.recursive = true, .limit = limit, .continue_token = cor_strz(token)}};
}

static void put(struct conf *c, const char *ns, const char *name, const char *node)
{
    cor_object_unref(conf_put_pod(c, ns, name, node));
}

/* RunTestConsistentList */
TEST(conformance, consistent_list_sees_the_write_before_it)
{
    struct conf c;

    conf_open(&c);
    for (int i = 0; i < 3; i++) {
        struct cor_store_list_opts opts = under(0, "");
        cor_rev written = conf_bump(&c);
        CONF_LIST list = conf_list(&c, "/pods", &opts);

        assert_int_equal(list.err, 0);
        assert_int_equal(list.nitems, 0);
        assert_non_null(list.items);
        assert_int_equal(list.rev, written);
    }
    conf_close(&c);
}

/* RunTestGetListNonRecursive */
TEST(conformance, list_non_recursive_gives_the_one_key_at_every_revision_form)
{
    static const struct {
        const char *what, *key, *rv, *match;
        const char *items; /* the node of the pod that is listed, or "" */
        const char *error;
    } cases[] = {
        {"existing", "/pods/ns/foo", "", "", "new", NULL},
        {"existing, 0", "/pods/ns/foo", "0", "", "new", NULL},
        {"existing, 0, not older", "/pods/ns/foo", "0", "NotOlderThan", "new", NULL},
        {"existing, old", "/pods/ns/foo", "@old", "", "new", NULL},
        {"existing, old, not older", "/pods/ns/foo", "@old", "NotOlderThan", "new", NULL},
        {"existing, old, exact", "/pods/ns/foo", "@old", "Exact", "old", NULL},
        {"existing, now, exact", "/pods/ns/foo", "@now", "Exact", "new", NULL},
        {"existing, init, exact", "/pods/ns/foo", "@init", "Exact", "", NULL},
        {"existing, future", "/pods/ns/foo", "9223372036854775807", "", "",
         "Timeout: Too large resource version"},
        {"existing, future, exact", "/pods/ns/foo", "9223372036854775807", "Exact", "",
         "Timeout: Too large resource version"},
        {"missing", "/pods/ns/none", "", "", "", NULL},
        {"missing, 0", "/pods/ns/none", "0", "", "", NULL},
        {"missing, now, exact", "/pods/ns/none", "@now", "Exact", "", NULL},
        {"a prefix", "/pods/ns", "", "", "", NULL},
    };
    struct conf c;

    conf_open(&c);
    {
        cor_rev init = conf_bump(&c), now;
        struct cor_object *old = conf_put_pod(&c, "ns", "foo", "old");
        struct cor_object *new = conf_put_pod(&c, "ns", "foo", "new");

        now = conf_bump(&c);
        for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
            const char *rv = cases[i].rv;
            struct cor_store_list_opts opts = {.options.resource_version_match =
                                                   cor_strz(cases[i].match)};

            if (*rv == '@')
                rv = conf_rv(rv[1] == 'o' ? old->rev : rv[1] == 'n' ? now : init);
            opts.options.resource_version = cor_strz(rv);
            {
                CONF_LIST list = conf_list(&c, cases[i].key, &opts);

                if (cases[i].error) {
                    assert_non_null(strstr(cor_status_message(&list.status), cases[i].error));
                    continue;
                }
                if (list.nitems != (size_t)(*cases[i].items != 0) ||
                    (list.nitems && !strstr(list.items[0]->bytes, cases[i].items)))
                    fail_msg("%s: %s", cases[i].what, conf_list_names(&list));
                assert_true(list.rev > 0);
                assert_string_equal(list.token, "");
                assert_int_equal(list.remaining, -1);
            }
        }
        cor_object_unref(old);
        cor_object_unref(new);
    }
    conf_close(&c);
}

/* RunTestGetListRecursivePrefix */
TEST(conformance, list_recursive_prefix_ends_at_a_slash)
{
    static const struct {
        const char *key, *items;
    } cases[] = {
        {"/pods", "foo/bar,foobar/x"}, {"/pods/", "foo/bar,foobar/x"}, {"/pods/foo", "foo/bar"},
        {"/pods/foo/", "foo/bar"},     {"/pods/foo/bar", ""},          {"/pods/fo", ""},
        {"/pods/foobar", "foobar/x"},
    };
    struct conf c;

    conf_open(&c);
    put(&c, "foo", "bar", NULL);
    put(&c, "foobar", "x", NULL);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        static const char *const matches[] = {"", "Exact", "NotOlderThan"};

        for (size_t j = 0; j < COR_ARRAY_LEN(matches); j++) {
            struct cor_store_list_opts opts = under(0, "");

            opts.options.resource_version_match = cor_strz(matches[j]);
            if (j > 0)
                opts.options.resource_version = cor_strz(conf_rv(conf_revision(&c)));
            {
                CONF_LIST list = conf_list(&c, cases[i].key, &opts);

                assert_string_equal(conf_list_names(&list), cases[i].items);
            }
        }
    }
    conf_close(&c);
}

/* RunTestListContinuation */
TEST(conformance, list_continuation_walks_all_pages_at_one_revision)
{
    struct conf c;

    conf_open(&c);
    put(&c, "ns1", "one", NULL);
    put(&c, "ns2", "three", NULL);
    put(&c, "ns2", "two", NULL);
    {
        struct cor_store_list_opts opts = under(1, "");
        CONF_LIST first = conf_list(&c, "/pods", &opts);
        struct cor_store_list_opts rest_opts = under(0, first.token);
        struct cor_store_list_opts second_opts = under(1, first.token);
        CONF_LIST rest = conf_list(&c, "/pods", &rest_opts);
        CONF_LIST second = conf_list(&c, "/pods", &second_opts);
        struct cor_store_list_opts third_opts = under(1, second.token);
        CONF_LIST third = conf_list(&c, "/pods", &third_opts);

        assert_string_equal(conf_list_names(&first), "ns1/one");
        assert_int_equal(first.remaining, 2);
        assert_string_equal(conf_list_names(&rest), "ns2/three,ns2/two");
        assert_string_equal(rest.token, "");
        assert_int_equal(rest.remaining, -1);
        assert_string_equal(conf_list_names(&second), "ns2/three");
        assert_int_equal(second.remaining, 1);
        assert_string_equal(conf_list_names(&third), "ns2/two");
        assert_string_equal(third.token, "");
        assert_int_equal(rest.rev, first.rev);
        assert_int_equal(second.rev, first.rev);
        assert_int_equal(third.rev, first.rev);
    }
    conf_close(&c);
}

/* Stands before an engine and counts its reads. */
struct read_counter {
    struct cor_engine base;
    struct cor_engine *engine;
    size_t reads;
};

static void counted_range(struct cor_engine *engine, struct cor_range_req *req)
{
    struct read_counter *counter = (struct read_counter *)engine;

    counter->reads++;
    cor_engine_range(counter->engine, req);
}

static const struct cor_engine_ops read_counter_ops = {.range = counted_range};

/* RunTestListPaginationRareObject: reads double from one key up. */
TEST(conformance, list_pagination_of_a_rare_object_finds_it_on_one_page)
{
    struct read_counter counter = {.base.ops = &read_counter_ops};
    struct conf c;

    conf_open_store(&c);
    conf_fill(&c, "ns", 1000);
    cor_store_free(c.store);
    counter.engine = c.engine;
    c.engine = &counter.base;
    c.store = conf_store(&c, NULL, "/pods");
    c.engine = counter.engine;
    {
        struct cor_predicate predicate = conf_predicate("", "metadata.name=p0999");
        struct cor_store_list_opts opts = under(1, "");

        opts.predicate = &predicate;
        c.transformer.reads = 0;
        {
            CONF_LIST list = conf_list(&c, "/pods", &opts);

            assert_string_equal(conf_list_names(&list), "ns/p0999");
            assert_string_equal(list.token, "");
            assert_int_equal(list.remaining, -1);
            assert_int_equal(c.transformer.reads, 1000);
            assert_int_equal(counter.reads, 10);
        }
        cor_predicate_deinit(&predicate);
    }
    conf_close(&c);
}

/* RunTestListContinuationWithFilter */
TEST(conformance, list_continuation_with_filter_fills_the_page_and_goes_on)
{
    struct conf c;

    conf_open_store(&c);
    put(&c, "ns", "1", NULL);
    put(&c, "ns", "2", NULL);
    put(&c, "ns", "3", "skip");
    put(&c, "ns", "4", NULL);
    {
        struct cor_predicate predicate = conf_predicate("", "metadata.name!=2,spec.nodeName!=skip");
        struct cor_store_list_opts opts = under(2, "");

        opts.predicate = &predicate;
        c.transformer.reads = 0;
        {
            CONF_LIST first = conf_list(&c, "/pods", &opts);

            assert_string_equal(conf_list_names(&first), "ns/1,ns/4");
            assert_string_equal(first.token, "");
            assert_int_equal(c.transformer.reads, 4);
        }
        opts.options.limit = 1;
        {
            CONF_LIST first = conf_list(&c, "/pods", &opts);
            struct cor_store_list_opts next = under(1, first.token);

            next.predicate = &predicate;
            assert_string_equal(conf_list_names(&first), "ns/1");
            assert_int_equal(first.remaining, -1);
            {
                CONF_LIST second = conf_list(&c, "/pods", &next);

                assert_string_equal(conf_list_names(&second), "ns/4");
                assert_string_equal(second.token, "");
                assert_int_equal(second.rev, first.rev);
            }
        }
        cor_predicate_deinit(&predicate);
    }
    conf_close(&c);
}

/* RunTestListInconsistentContinuation */
TEST(conformance, list_inconsistent_continuation_offers_a_token_for_the_latest_state)
{
    struct conf c;

    conf_open(&c);
    put(&c, "ns", "1", NULL);
    put(&c, "ns", "2", NULL);
    put(&c, "ns", "4", NULL);
    {
        struct cor_store_list_opts opts = under(1, "");
        CONF_LIST first = conf_list(&c, "/pods", &opts);
        struct cor_store_list_opts next = under(1, first.token);

        put(&c, "ns", "3", NULL);
        conf_compact(&c, conf_revision(&c));
        {
            CONF_LIST expired = conf_list(&c, "/pods", &next);

            assert_int_equal(expired.err, -COR_EEXPIRED);
            assert_int_equal(expired.status.code, 410);
            assert_string_equal(expired.status.reason, "Expired");
            assert_string_equal(
                cor_status_message(&expired.status),
                "The provided continue parameter is too old to display a consistent list result. "
                "You can start a new list without the continue parameter, or use the continue "
                "token in this response to retrieve the remainder of the results. Continuing with "
                "the provided token results in an inconsistent list - objects that were created, "
                "modified, or deleted between the time the first chunk was returned and now may "
                "show up in the list.");
            assert_non_null(expired.status.continue_token);
            next = under(1, expired.status.continue_token);
            {
                CONF_LIST second = conf_list(&c, "/pods", &next);
                struct cor_store_list_opts last = under(0, second.token);
                CONF_LIST rest = conf_list(&c, "/pods", &last);

                assert_string_equal(conf_list_names(&second), "ns/2");
                assert_int_equal(second.rev, conf_revision(&c));
                assert_string_equal(conf_list_names(&rest), "ns/3,ns/4");
                assert_int_equal(rest.rev, second.rev);
            }
        }
    }
    conf_close(&c);
}

/* RunTestListResourceVersionMatch: writes go on between the two lists. */
TEST(conformance, list_at_the_exact_revision_of_a_list_is_the_same_list)
{
    struct conf c;

    conf_open(&c);
    put(&c, "ns", "1", "a");
    put(&c, "ns", "3", "a");
    {
        struct cor_predicate predicate = conf_predicate("", "spec.nodeName=a");
        struct cor_store_list_opts opts = under(2, "");

        opts.predicate = &predicate;
        {
            CONF_LIST first = conf_list(&c, "/pods", &opts);

            put(&c, "ns", "2", "a");
            put(&c, "ns", "3", "b");
            opts.options.resource_version = cor_strz(conf_rv(first.rev));
            opts.options.resource_version_match = COR_STR("Exact");
            {
                CONF_LIST again = conf_list(&c, "/pods", &opts);

                assert_int_equal(again.nitems, first.nitems);
                for (size_t i = 0; i < first.nitems; i++)
                    assert_true(cor_str_eq(cor_object_json(again.items[i]),
                                           cor_object_json(first.items[i])));
                assert_int_equal(again.rev, first.rev);
            }
        }
        cor_predicate_deinit(&predicate);
    }
    conf_close(&c);
}

/* RunTestListPaging */
TEST(conformance, list_paging_does_not_show_what_was_created_on_the_way)
{
    COR_CLEANUP(cor_freep) char *token = NULL;
    struct conf c;
    int calls = 0;

    conf_open(&c);
    for (int i = 0; i < 4; i++)
        put(&c, "ns", i == 0 ? "a" : i == 1 ? "b" : i == 2 ? "d" : "e", NULL);
    do {
        struct cor_store_list_opts opts = under(1, token);
        CONF_LIST list = conf_list(&c, "/pods", &opts);

        assert_int_equal(list.nitems, 1);
        assert_int_equal(list.remaining, calls < 3 ? 3 - calls : -1);
        cor_free(token);
        token = COR_STEAL(list.token);
        if (calls++ == 0)
            put(&c, "ns", "c", NULL);
    } while (*token);
    assert_int_equal(calls, 4);
    conf_close(&c);
}

/* RunTestNamespaceScopedList */
TEST(conformance, list_of_a_namespace_or_all_with_field_selectors)
{
    static const struct {
        const char *key, *fields, *items;
    } cases[] = {
        {"/pods", "", "ns1/bar,ns1/foo,ns2/baz,ns2/foo"},
        {"/pods/ns1", "", "ns1/bar,ns1/foo"},
        {"/pods", "metadata.namespace=ns1", "ns1/bar,ns1/foo"},
        {"/pods/ns1", "metadata.namespace=ns1", "ns1/bar,ns1/foo"},
        {"/pods/ns1", "metadata.namespace=ns2", ""},
        {"/pods", "metadata.name=foo", "ns1/foo,ns2/foo"},
        {"/pods/ns1", "metadata.name=foo", "ns1/foo"},
        {"/pods", "metadata.name=foo,metadata.namespace=ns2", "ns2/foo"},
        {"/pods", "metadata.name!=foo", "ns1/bar,ns2/baz"},
        {"/pods", "spec.nodeName=n1", "ns1/bar,ns2/foo"},
        {"/pods/ns2", "spec.nodeName=n1", "ns2/foo"},
        {"/pods", "spec.nodeName!=n1", "ns1/foo,ns2/baz"},
        {"/pods", "spec.nodeName=", "ns1/foo"},
        {"/pods", "spec.nodeName=n1,metadata.namespace=ns1", "ns1/bar"},
        {"/pods", "spec.nodeName=n1,metadata.name=foo", "ns2/foo"},
        {"/pods/ns1", "spec.nodeName=n2", ""},
    };
    struct conf c;

    conf_open(&c);
    put(&c, "ns1", "foo", NULL);
    put(&c, "ns1", "bar", "n1");
    put(&c, "ns2", "foo", "n1");
    put(&c, "ns2", "baz", "n2");
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_predicate predicate = conf_predicate("", cases[i].fields);
        struct cor_store_list_opts opts = under(0, "");

        opts.predicate = &predicate;
        {
            CONF_LIST list = conf_list(&c, cases[i].key, &opts);

            if (strcmp(conf_list_names(&list), cases[i].items) != 0)
                fail_msg("%s %s: %s", cases[i].key, cases[i].fields, conf_list_names(&list));
        }
        cor_predicate_deinit(&predicate);
    }
    conf_close(&c);
}

TEST(conformance, list_with_a_label_selector)
{
    struct conf c;

    conf_open(&c);
    for (int i = 0; i < 6; i++) {
        char key[32];

        snprintf(key, sizeof(key), "/pods/ns/p%d", i);
        cor_object_unref(conf_put(
            &c, key,
            conf_objectf("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p%d\","
                         "\"labels\":{\"parity\":\"%s\"}}}",
                         i, i % 2 ? "odd" : "even")));
    }
    {
        struct cor_predicate predicate = conf_predicate("parity in (odd)", "");
        struct cor_store_list_opts opts = under(2, "");

        opts.predicate = &predicate;
        {
            CONF_LIST list = conf_list(&c, "/pods", &opts);

            assert_string_equal(conf_list_names(&list), "p1,p3");
            assert_true(*list.token);
            assert_int_equal(list.remaining, -1);
        }
        cor_predicate_deinit(&predicate);
    }
    conf_close(&c);
}

/* RunTestGetListWithoutErrorAggregation; other prefixes go on. */
TEST(conformance, list_with_an_unreadable_object_fails_and_names_it)
{
    struct conf c;

    conf_open(&c);
    put(&c, "ns1", "good", NULL);
    conf_write_raw(&c, "/registry/pods/ns2/junk", "{\"kind\":");
    {
        struct cor_store_list_opts opts = under(0, "");
        CONF_LIST all = conf_list(&c, "/pods", &opts);
        CONF_LIST good = conf_list(&c, "/pods/ns1", &opts);

        assert_int_equal(all.err, -COR_EINTERNAL);
        assert_int_equal(all.status.code, 500);
        assert_non_null(strstr(cor_status_message(&all.status), "/registry/pods/ns2/junk"));
        assert_string_equal(conf_list_names(&good), "ns1/good");
    }
    conf_close(&c);
}

/* 1.6.15 */
TEST(conformance, list_stops_at_its_deadline)
{
    struct conf c;

    conf_open_store(&c);
    put(&c, "ns", "a", NULL);
    {
        struct cor_store_list_opts opts = under(0, "");

        opts.deadline_ms = 1;
        {
            CONF_LIST list = conf_list(&c, "/pods", &opts);

            assert_int_equal(list.err, -COR_ETIMEOUT);
            assert_non_null(strstr(cor_status_message(&list.status),
                                   "request did not complete within requested timeout"));
        }
    }
    conf_close(&c);
}

struct turns {
    struct cor_mail mail;
    struct conf *c;
    size_t n;
    bool stop;
};

static void on_turn(struct cor_mail *mail)
{
    struct turns *t = COR_CONTAINER_OF(mail, struct turns, mail);

    t->n++;
    if (!t->stop)
        cor_loop_post_always(t->c->loop, mail);
}

static void on_big_list(void *arg, struct cor_store_list_reply *reply)
{
    struct turns *t = arg;

    assert_int_equal(reply->err, 0);
    assert_int_equal(reply->nitems, 1200);
    t->stop = true;
}

static bool has_stopped(void *arg)
{
    return ((struct turns *)arg)->stop;
}

TEST(conformance, list_of_many_objects_lets_others_run_in_between)
{
    struct cor_store_list_opts opts = under(0, "");
    struct turns t = {.mail.on_mail = on_turn};
    struct conf c;

    conf_open(&c);
    conf_fill(&c, "ns", 1200);
    t.c = &c;
    assert_int_equal(cor_store_list(c.store, COR_STR("/pods"), &opts, on_big_list, &t, NULL), 0);
    cor_loop_post_always(c.loop, &t.mail);
    assert_true(cor_loop_run_until(c.loop, has_stopped, &t, CONF_TIMEOUT_MS));
    assert_true(t.n >= 1200 / 256);
    conf_close(&c);
}
