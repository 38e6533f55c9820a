#include <stdio.h>

#include "coracle/filtering_handler.h"
#include "fake_server.h"
#include "test.h"

static char trace[TRACE_MAX];
static struct listener listener = {"", trace};

/* Even resourceVersions pass, and so does what is not known any more. */
static bool is_even(void *arg, const struct cor_object *o)
{
    struct cor_str rv;

    if (!o)
        return true;
    rv = cor_object_resource_version(o);
    return (rv.p[rv.n - 1] - '0') % 2 == 0;
}

static void tell(struct cor_filtering_handler *f, enum cor_change_kind kind, int old, int rv,
                 bool flag)
{
    struct cor_object *a = old ? fake_object("a", old) : NULL,
                      *b = rv ? fake_object("a", rv) : NULL;
    const struct cor_handler_fns handler = cor_filtering_handler(f);

    trace[0] = '\0';
    cor_handler_fns_call(&handler, &(struct cor_change){kind, flag, COR_STR("a"), a, b});
    cor_object_unref(a);
    cor_object_unref(b);
}

/* Contract client 1.9.3. */
TEST(filtering_handler, turns_updates_into_what_they_mean_behind_the_filter)
{
    static const struct {
        enum cor_change_kind kind;
        int old, rv;
        bool flag;
        const char *heard;
    } rows[] = {
        {COR_CHANGE_ADD, 0, 2, true, "add(a2!)"},
        {COR_CHANGE_ADD, 0, 2, false, "add(a2)"},
        {COR_CHANGE_ADD, 0, 1, true, ""},
        {COR_CHANGE_UPDATE, 2, 4, false, "update(a2-4)"},
        {COR_CHANGE_UPDATE, 1, 4, false, "add(a4)"},
        {COR_CHANGE_UPDATE, 2, 3, false, "delete(a2)"},
        {COR_CHANGE_UPDATE, 1, 3, false, ""},
        {COR_CHANGE_DELETE, 0, 2, false, "delete(a2)"},
        {COR_CHANGE_DELETE, 0, 1, false, ""},
        {COR_CHANGE_DELETE, 0, 2, true, "lost(a2)"},
        {COR_CHANGE_DELETE, 0, 0, true, "lost(a?)"},
    };
    struct cor_filtering_handler f = {.passes = is_even, .to = listener_handler(&listener)};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        tell(&f, rows[i].kind, rows[i].old, rows[i].rv, rows[i].flag);
        assert_string_equal(trace, rows[i].heard);
    }
}

/* Contract client 1.9.2. */
TEST(filtering_handler, a_function_that_is_missing_is_not_called)
{
    struct cor_filtering_handler f = {.passes = is_even};

    tell(&f, COR_CHANGE_ADD, 0, 2, false);
    tell(&f, COR_CHANGE_UPDATE, 2, 4, false);
    tell(&f, COR_CHANGE_UPDATE, 1, 4, false);
    tell(&f, COR_CHANGE_UPDATE, 2, 3, false);
    tell(&f, COR_CHANGE_DELETE, 0, 2, false);
    cor_filtering_handler(&f).on_behind(&f, 1);
}

TEST(filtering_handler, names_a_namespaced_object_that_left_by_its_key)
{
    struct cor_filtering_handler f = {.passes = is_even, .to = listener_handler(&listener)};
    const struct cor_handler_fns handler = cor_filtering_handler(&f);
    struct cor_object *old =
        fake_object_json("{\"metadata\":{\"name\":\"n\",\"namespace\":\"default\"}}", 2);
    struct cor_object *new =
        fake_object_json("{\"metadata\":{\"name\":\"n\",\"namespace\":\"default\"}}", 3);

    trace[0] = '\0';
    handler.on_update(handler.arg, old, new);
    assert_string_equal(trace, "delete(default/n2)");
    cor_object_unref(old);
    cor_object_unref(new);
}
