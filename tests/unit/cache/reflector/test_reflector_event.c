#include "script.h"

static bool ends_initial(enum cor_watch_type type, const char *json)
{
    struct cor_object *object = script_json(json, 7);
    struct cor_reflector_event event = {.type = type, .object = object};
    bool ends = cor_reflector_event_ends_initial(&event);

    cor_object_unref(object);
    return ends;
}

#define ANNOTATED(value)                                                                           \
    "{\"metadata\":{\"annotations\":{\"a\":\"b\",\"k8s.io/initial-events-end\":" value "}}}"

TEST(reflector_event, only_a_bookmark_annotated_true_ends_the_initial_events)
{
    assert_true(ends_initial(COR_WATCH_BOOKMARK, ANNOTATED("\"true\"")));
    assert_false(ends_initial(COR_WATCH_BOOKMARK, ANNOTATED("\"false\"")));
    assert_false(ends_initial(COR_WATCH_BOOKMARK, ANNOTATED("\"\"")));
    assert_false(ends_initial(COR_WATCH_BOOKMARK, ANNOTATED("true")));
    assert_false(ends_initial(COR_WATCH_BOOKMARK, "{\"metadata\":{}}"));
    assert_false(ends_initial(COR_WATCH_BOOKMARK, "{\"metadata\":{\"annotations\":null}}"));
    assert_false(ends_initial(COR_WATCH_ADDED, ANNOTATED("\"true\"")));
    assert_false(cor_reflector_event_ends_initial(&(struct cor_reflector_event){
        .type = COR_WATCH_BOOKMARK, .resource_version = COR_STR("7")}));
}

TEST(reflector_event, its_resource_version_is_its_own_or_the_objects)
{
    struct cor_object *object = script_object("a", 7);
    struct cor_reflector_event event = {.type = COR_WATCH_ADDED, .object = object};

    assert_str(cor_reflector_event_at(&event).rv, "7");
    event.resource_version = COR_STR("opaque");
    assert_str(cor_reflector_event_at(&event).rv, "opaque");
    event.object = NULL;
    assert_str(cor_reflector_event_at(&event).rv, "opaque");
    assert_int_equal(cor_reflector_event_at(&event).rev, 0);
    event.rev = 8;
    assert_int_equal(cor_reflector_event_at(&event).rev, 8);
    event.resource_version = COR_STR("");
    assert_str(cor_reflector_event_at(&event).rv, "");
    cor_object_unref(object);
}
