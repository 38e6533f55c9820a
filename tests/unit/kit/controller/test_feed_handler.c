/* A feed's handler: what a reflector calls, as objects that are shown and gone. */
#include "kit/controller/feed_handler.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

struct follower {
    struct cor_feed_handler handler;
    char said[256];
    int fails_with;
};

static int say(struct cor_feed_handler *h, const char *what, const struct cor_object *object)
{
    struct follower *f = COR_CONTAINER_OF(h, struct follower, handler);
    size_t n = strlen(f->said);

    snprintf(f->said + n, sizeof(f->said) - n, "%s(%.*s,%u) ", what,
             COR_STR_ARG(object ? cor_object_name(object) : COR_STR("")), (unsigned)h->list);
    return f->fails_with;
}

static int on_show(struct cor_feed_handler *h, struct cor_object *object)
{
    return say(h, "show", object);
}

static int on_gone(struct cor_feed_handler *h, struct cor_object *object)
{
    return say(h, "gone", object);
}

static void on_begin(struct cor_feed_handler *h)
{
    (void)say(h, "begin", NULL);
}

static int on_listed(struct cor_feed_handler *h)
{
    return say(h, "listed", NULL);
}

static const struct cor_feed_handler_ops all = {
    .show = on_show, .gone = on_gone, .begin = on_begin, .listed = on_listed};

static struct cor_object *object_a(void)
{
    struct cor_object *object;

    assert_int_equal(
        cor_object_from_json(COR_STR("{\"metadata\":{\"name\":\"a\"}}"), &object, NULL), 0);
    return object;
}

TEST(feed_handler, items_and_changes_are_shown_with_the_number_of_the_list)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *a = object_a();
    struct follower f = {.fails_with = 0};
    struct cor_reflector_store *s = &f.handler.store;

    cor_feed_handler_init(&f.handler, &all);
    assert_int_equal(s->ops->replace_begin(s, NULL), 0);
    assert_int_equal(s->ops->replace_add(s, COR_STR(""), a, NULL), 0);
    assert_int_equal(s->ops->replace_commit(s, cor_reflector_at(COR_STR("1")), NULL), 0);
    assert_int_equal(s->ops->update(s, COR_STR(""), a, cor_reflector_at(COR_STR("2")), NULL), 0);
    assert_int_equal(s->ops->del(s, COR_STR(""), a, cor_reflector_at(COR_STR("3")), NULL), 0);
    assert_int_equal(s->ops->add(s, COR_STR(""), a, cor_reflector_at(COR_STR("4")), NULL), 0);
    assert_int_equal(s->ops->replace_begin(s, NULL), 0);
    assert_string_equal(f.said, "begin(,1) show(a,1) listed(,1) show(a,1) gone(a,1) show(a,1) "
                                "begin(,2) ");
}

TEST(feed_handler, a_failure_is_the_stores)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *a = object_a();
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct follower f = {.fails_with = -COR_ENOMEM};
    struct cor_reflector_store *s = &f.handler.store;

    cor_feed_handler_init(&f.handler, &all);
    assert_int_equal(s->ops->add(s, COR_STR(""), a, cor_reflector_at(COR_STR("1")), &why),
                     -COR_ENOMEM);
    assert_int_equal(why.err, -COR_ENOMEM);
    assert_int_equal(s->ops->replace_add(s, COR_STR(""), a, NULL), -COR_ENOMEM);
    assert_int_equal(s->ops->del(s, COR_STR(""), a, cor_reflector_at(COR_STR("1")), NULL),
                     -COR_ENOMEM);
    assert_int_equal(s->ops->replace_commit(s, cor_reflector_at(COR_STR("1")), NULL), -COR_ENOMEM);
}

/* The list that follows a failure shows what is missing. */
TEST(feed_handler, a_deletion_without_its_object_is_a_failure)
{
    struct follower f = {.fails_with = 0};
    struct cor_reflector_store *s = &f.handler.store;

    cor_feed_handler_init(&f.handler, &all);
    assert_int_equal(s->ops->del(s, COR_STR("a"), NULL, cor_reflector_at(COR_STR("1")), NULL),
                     -COR_EBUSY);
    assert_string_equal(f.said, "");
}

TEST(feed_handler, who_keeps_nothing_needs_no_beginning_and_no_end_of_lists)
{
    static const struct cor_feed_handler_ops few = {.show = on_show, .gone = on_gone};
    struct follower f = {.fails_with = 0};
    struct cor_reflector_store *s = &f.handler.store;

    cor_feed_handler_init(&f.handler, &few);
    assert_int_equal(s->ops->replace_begin(s, NULL), 0);
    assert_int_equal(s->ops->replace_commit(s, cor_reflector_at(COR_STR("1")), NULL), 0);
    assert_string_equal(f.said, "");
}
