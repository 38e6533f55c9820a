#include "storage/store/store_event.h"

#include "test.h"

static const char a_pod[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"}}";

static struct cor_store *some_store(void)
{
    struct cor_store_opts opts = {
        .resource_prefix = "/pods", .api_version = COR_STR("v1"), .kind = COR_STR("Pod")};
    struct cor_store *store;

    assert_int_equal(cor_store_new(&opts, &store, NULL), 0);
    return store;
}

struct bed {
    struct cor_store *store;
    struct cor_feed_event change;
    struct cor_reader_event event;
    struct cor_status status;
    bool seen;
    int r;
};

static void bed_open(struct bed *b, const char *value, cor_rev create_rev, const char *prev,
                     bool deleted)
{
    *b = (struct bed){.store = some_store()};
    b->change.kv = cor_kv_new(COR_STR("/registry/pods/a"), cor_strz(value), create_rev, 9, 0);
    if (prev)
        b->change.prev = cor_kv_new(COR_STR("/registry/pods/a"), cor_strz(prev), create_rev, 5, 0);
    b->change.deleted = deleted;
    b->r = cor_store_event_read(b->store, NULL, &b->change, &b->seen, &b->event, &b->status);
}

static cor_rev object_rev(const struct bed *b)
{
    return b->event.object ? b->event.object->rev : 0;
}

static void bed_close(struct bed *b)
{
    cor_object_unref(b->event.object);
    cor_kv_unref(b->change.kv);
    cor_kv_unref(b->change.prev);
    cor_status_deinit(&b->status);
    cor_store_free(b->store);
}

/* TestParseEvent */
TEST(store_event, creation_is_added)
{
    struct bed b;

    bed_open(&b, a_pod, 9, NULL, false);
    assert_int_equal(b.r, 0);
    assert_true(b.seen);
    assert_int_equal(b.event.type, COR_WATCH_ADDED);
    assert_int_equal(b.event.rev, 9);
    assert_int_equal(object_rev(&b), 9);
    bed_close(&b);
}

TEST(store_event, update_is_modified_and_its_old_value_is_not_read)
{
    struct bed b;

    bed_open(&b, a_pod, 3, "no object at all", false);
    assert_int_equal(b.r, 0);
    assert_int_equal(b.event.type, COR_WATCH_MODIFIED);
    bed_close(&b);
}

TEST(store_event, deletion_has_the_old_content_at_the_new_revision)
{
    struct bed b;

    bed_open(&b, "", 3, a_pod, true);
    assert_int_equal(b.r, 0);
    assert_int_equal(b.event.type, COR_WATCH_DELETED);
    assert_int_equal(object_rev(&b), 9);
    assert_str(cor_object_name(b.event.object), "a");
    bed_close(&b);
}

TEST(store_event, update_without_the_version_before_is_an_error)
{
    struct bed b;

    bed_open(&b, a_pod, 3, NULL, false);
    assert_int_equal(b.r, -COR_EINTERNAL);
    assert_non_null(strstr(cor_status_message(&b.status),
                           "etcd event received with PrevKv=nil (key=\"/registry/pods/a\", "
                           "modRevision=9, type=PUT)"));
    bed_close(&b);
}

TEST(store_event, deletion_without_the_version_before_is_an_error)
{
    struct bed b;

    bed_open(&b, "", 3, NULL, true);
    assert_int_equal(b.r, -COR_EINTERNAL);
    assert_non_null(strstr(cor_status_message(&b.status), "type=DELETE)"));
    bed_close(&b);
}

TEST(store_event, deletion_of_a_corrupt_object_is_a_read_error)
{
    struct bed b;

    bed_open(&b, "", 3, "junk", true);
    assert_int_equal(b.r, -COR_EINTERNAL);
    assert_string_equal(b.status.reason, "StorageReadError");
    assert_non_null(
        strstr(cor_status_message(&b.status), "saw a DELETED event, but object data is corrupt"));
    bed_close(&b);
}

TEST(store_event, bookmark_has_a_type_and_a_revision)
{
    struct cor_store *store = some_store();
    struct cor_reader_event event;

    assert_int_equal(cor_store_event_bookmark(store, 7, true, &event, NULL), 0);
    assert_int_equal(event.type, COR_WATCH_BOOKMARK);
    assert_str(cor_object_json(event.object),
               "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"annotations\":{"
               "\"k8s.io/initial-events-end\":\"true\"},\"resourceVersion\":\"7\"}}");
    cor_object_unref(event.object);
    cor_store_free(store);
}

TEST(store_event, every_failed_allocation_is_told)
{
    struct cor_predicate labels = {0};
    struct cor_store *store = some_store();
    struct cor_kv *now = cor_kv_new(COR_STR("/registry/pods/a"), cor_strz(a_pod), 3, 9, 0);
    struct cor_kv *old = cor_kv_new(COR_STR("/registry/pods/a"), cor_strz(a_pod), 3, 5, 0);
    struct cor_feed_event change = {now, old, false};

    assert_int_equal(cor_predicate_parse(COR_STR("!x"), COR_STR(""), NULL, &labels, NULL), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
        struct cor_reader_event event = {0};
        bool seen = false;
        int r = cor_store_event_read(store, &labels, &change, &seen, &event, &status);

        if (r < 0)
            assert_int_equal(r, -COR_ENOMEM);
        else
            assert_int_equal(event.type, COR_WATCH_MODIFIED);
        cor_object_unref(event.object);
        event.object = NULL;
        r = cor_store_event_bookmark(store, 7, false, &event, &status);
        if (r < 0)
            assert_int_equal(r, -COR_ENOMEM);
        else
            cor_object_unref(event.object);
    }
    cor_predicate_deinit(&labels);
    cor_kv_unref(now);
    cor_kv_unref(old);
    cor_store_free(store);
}
