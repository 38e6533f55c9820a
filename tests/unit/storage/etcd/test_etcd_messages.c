/* Expected bytes are those of etcd's v3 API: field numbers and types of its messages. */
#include "storage/etcd/etcd_messages.h"

#include "base/err.h"
#include "test.h"

#define MAX 65536

static void on_done(struct cor_engine_req *req)
{
    (void)req;
    fail();
}

#define assert_bytes(buf, lit)                                                                     \
    do {                                                                                           \
        assert_int_equal((buf)->n, sizeof(lit) - 1);                                               \
        assert_memory_equal((buf)->p, lit, sizeof(lit) - 1);                                       \
    } while (0)

TEST(etcd_messages, range_asks_for_a_page_at_a_revision)
{
    struct cor_range_req req;
    struct cor_buf out;

    cor_buf_init(&out, MAX);
    cor_range_req_init(&req, NULL, on_done);
    req.key = COR_STR("/a/");
    req.end = COR_STR("/a0");
    req.at = 300;
    assert_int_equal(cor_etcd_encode_range(&req, 500, &out), 0);
    assert_bytes(&out, "\x0a\x03/a/\x12\x03/a0\x18\xf4\x03\x20\xac\x02");
    cor_buf_deinit(&out);
}

TEST(etcd_messages, range_for_the_revision_alone_reads_one_key)
{
    struct cor_range_req req;
    struct cor_buf out;

    cor_buf_init(&out, MAX);
    cor_range_req_init(&req, NULL, on_done);
    req.key = COR_STR("/a/");
    req.end = COR_STR("/a0");
    req.keys_only = true;
    assert_int_equal(cor_etcd_encode_range(&req, 0, &out), 0);
    assert_bytes(&out, "\x0a\x03/a/\x48\x01");
    cor_buf_reset(&out);
    req.count = true;
    assert_int_equal(cor_etcd_encode_range(&req, 0, &out), 0);
    assert_bytes(&out, "\x0a\x03/a/\x12\x03/a0\x48\x01");
    cor_buf_deinit(&out);
}

#define HEADER_7 "\x0a\x04\x08\x01\x18\x07"

TEST(etcd_messages, range_answer_brings_keys_count_and_revision)
{
    struct cor_str answer = COR_STR(HEADER_7 "\x12\x0e\x0a\x02/a\x10\x02\x18\x05\x20\x03\x2a\x02"
                                             "v1"
                                             "\x12\x0c\x0a\x02/b\x10\x06\x18\x06\x20\x01\x30\x63"
                                             "\x18\x01\x20\x09");
    struct cor_range_req req;

    cor_range_req_init(&req, NULL, on_done);
    req.count = true;
    assert_int_equal(cor_etcd_decode_range(answer, &req), 0);
    assert_int_equal(req.ret_rev, 7);
    assert_int_equal(req.ret_count, 9);
    assert_true(req.ret_more);
    assert_int_equal(req.ret_nkvs, 2);
    assert_str(cor_kv_key(req.ret_kvs[0]), "/a");
    assert_str(cor_kv_value(req.ret_kvs[0]), "v1");
    assert_int_equal(req.ret_kvs[0]->create_rev, 2);
    assert_int_equal(req.ret_kvs[0]->mod_rev, 5);
    assert_int_equal(req.ret_kvs[1]->lease, 99);
    assert_str(cor_kv_value(req.ret_kvs[1]), "");
    cor_range_req_deinit(&req);
}

TEST(etcd_messages, range_answer_survives_each_failed_allocation)
{
    struct cor_str answer = COR_STR(HEADER_7 "\x12\x0e\x0a\x02/a\x10\x02\x18\x05\x20\x03\x2a\x02"
                                             "v1");

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_range_req req;
        int r;

        cor_range_req_init(&req, NULL, on_done);
        r = cor_etcd_decode_range(answer, &req);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(req.ret_nkvs, r == 0);
        cor_range_req_deinit(&req);
    }
}

TEST(etcd_messages, answers_that_are_no_messages_are_refused)
{
    struct cor_str cut = COR_STR("\x0a\x04\x08\x01"), no_header = COR_STR("\x18\x01");
    struct etcd_watch_answer watch;
    struct cor_write_req write;
    struct cor_range_req range;
    int64_t id;

    cor_range_req_init(&range, NULL, on_done);
    cor_write_req_init(&write, NULL, on_done);
    assert_int_equal(cor_etcd_decode_range(cut, &range), -COR_EINTERNAL);
    assert_int_equal(cor_etcd_decode_range(no_header, &range), -COR_EINTERNAL);
    assert_int_equal(cor_etcd_decode_write(cut, &write), -COR_EINTERNAL);
    assert_int_equal(cor_etcd_decode_write(no_header, &write), -COR_EINTERNAL);
    assert_int_equal(cor_etcd_decode_grant(cut, &id), -COR_EINTERNAL);
    assert_int_equal(cor_etcd_decode_watch(cut, &watch), -COR_EINTERNAL);
    /* An event without a key. */
    assert_int_equal(cor_etcd_decode_watch(COR_STR("\x5a\x02\x08\x01"), &watch), -COR_EINTERNAL);
    /* A lost compare that does not bring the current state. */
    assert_int_equal(cor_etcd_decode_write(COR_STR(HEADER_7), &write), -COR_EINTERNAL);
}

TEST(etcd_messages, put_compares_the_mod_revision_and_gets_on_failure)
{
    struct cor_write_req req;
    struct cor_buf out;

    cor_buf_init(&out, MAX);
    cor_write_req_init(&req, NULL, on_done);
    req.key = COR_STR("/a");
    req.value = COR_STR("v");
    req.expected = 5;
    req.lease = 3;
    assert_int_equal(cor_etcd_encode_write(&req, &out), 0);
    assert_bytes(&out, "\x0a\x08\x10\x02\x1a\x02/a\x30\x05"
                       "\x12\x0b\x12\x09\x0a\x02/a\x12\x01v\x18\x03"
                       "\x1a\x06\x0a\x04\x0a\x02/a");
    cor_buf_deinit(&out);
}

TEST(etcd_messages, creation_says_that_the_key_is_absent)
{
    struct cor_write_req req;
    struct cor_buf out;

    cor_buf_init(&out, MAX);
    cor_write_req_init(&req, NULL, on_done);
    req.key = COR_STR("/a");
    req.value = COR_STR("v");
    assert_int_equal(cor_etcd_encode_write(&req, &out), 0);
    /* A member of a oneof is written also when it is 0. */
    assert_bytes(&out, "\x0a\x08\x10\x02\x1a\x02/a\x30\x00"
                       "\x12\x09\x12\x07\x0a\x02/a\x12\x01v"
                       "\x1a\x06\x0a\x04\x0a\x02/a");
    cor_buf_deinit(&out);
}

TEST(etcd_messages, deletion_is_a_delete_range_of_one_key)
{
    struct cor_write_req req;
    struct cor_buf out;

    cor_buf_init(&out, MAX);
    cor_write_req_init(&req, NULL, on_done);
    req.key = COR_STR("/a");
    req.is_delete = true;
    req.expected = 5;
    assert_int_equal(cor_etcd_encode_write(&req, &out), 0);
    assert_bytes(&out, "\x0a\x08\x10\x02\x1a\x02/a\x30\x05"
                       "\x12\x06\x1a\x04\x0a\x02/a"
                       "\x1a\x06\x0a\x04\x0a\x02/a");
    cor_buf_deinit(&out);
}

TEST(etcd_messages, lost_compare_brings_the_current_version_or_none)
{
    struct cor_write_req req;

    cor_write_req_init(&req, NULL, on_done);
    assert_int_equal(
        cor_etcd_decode_write(COR_STR(HEADER_7 "\x1a\x10\x0a\x0e\x12\x0c\x0a\x02/a\x10\x02"
                                               "\x18\x05\x2a\x02v1"),
                              &req),
        -COR_ECONFLICT);
    assert_int_equal(req.ret_prev->mod_rev, 5);
    assert_str(cor_kv_value(req.ret_prev), "v1");
    cor_write_req_deinit(&req);
    cor_write_req_init(&req, NULL, on_done);
    assert_int_equal(cor_etcd_decode_write(COR_STR(HEADER_7 "\x1a\x02\x0a\x00"), &req),
                     -COR_ECONFLICT);
    assert_null(req.ret_prev);
    assert_int_equal(cor_etcd_decode_write(COR_STR(HEADER_7 "\x10\x01\x1a\x02\x12\x00"), &req), 0);
    assert_int_equal(req.ret_rev, 7);
    cor_write_req_deinit(&req);
}

TEST(etcd_messages, watch_is_created_after_a_revision_with_fragments)
{
    struct etcd_watch_create create = {
        .id = 2, .key = COR_STR("/a/"), .end = COR_STR("/a0"), .from = 7, .with_prev = true};
    struct cor_buf out;

    cor_buf_init(&out, MAX);
    assert_int_equal(cor_etcd_encode_watch_create(&create, &out), 0);
    assert_bytes(&out, "\x0a\x12\x0a\x03/a/\x12\x03/a0\x18\x08\x30\x01\x38\x02\x40\x01");
    cor_buf_reset(&out);
    assert_int_equal(cor_etcd_encode_watch_cancel(2, &out), 0);
    assert_bytes(&out, "\x12\x02\x08\x02");
    cor_buf_reset(&out);
    assert_int_equal(cor_etcd_encode_watch_progress(&out), 0);
    assert_bytes(&out, "\x1a\x00");
    cor_buf_deinit(&out);
}

TEST(etcd_messages, watch_answer_brings_events_with_previous_values)
{
    struct cor_str bytes = COR_STR(HEADER_7 "\x10\x02\x38\x01"
                                            "\x5a\x18\x12\x0a\x0a\x02/a\x10\x02\x18\x07\x2a\x00"
                                            "\x1a\x0a\x0a\x02/a\x10\x02\x18\x05\x2a\x00"
                                            "\x5a\x0a\x08\x01\x12\x06\x0a\x02/b\x18\x07");

    FOR_EACH_FAILED_ALLOC(n) {
        struct etcd_watch_answer a = {0};
        int r = cor_etcd_decode_watch(bytes, &a);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r < 0)
            continue;
        assert_int_equal(a.id, 2);
        assert_int_equal(a.rev, 7);
        assert_int_equal(a.cluster_id, 1);
        assert_true(a.is_fragment);
        assert_int_equal(a.nevents, 2);
        assert_int_equal(a.events[0].kv->mod_rev, 7);
        assert_int_equal(a.events[0].prev->mod_rev, 5);
        assert_false(a.events[0].deleted);
        assert_true(a.events[1].deleted);
        assert_null(a.events[1].prev);
        cor_etcd_watch_answer_deinit(&a);
    }
}

TEST(etcd_messages, canceled_watch_says_why)
{
    struct etcd_watch_answer a;

    assert_int_equal(
        cor_etcd_decode_watch(COR_STR(HEADER_7 "\x10\x02\x20\x01\x28\x06\x32\x03why"), &a), 0);
    assert_true(a.canceled);
    assert_int_equal(a.compact_rev, 6);
    assert_string_equal(a.reason, "why");
    assert_int_equal(
        cor_etcd_decode_watch(COR_STR(HEADER_7 "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), &a),
        0);
    assert_int_equal(a.id, -1);
}

TEST(etcd_messages, status_tells_what_the_version_can_be_trusted_with)
{
    static const struct {
        const char *version;
        bool has_progress, keeps_deletions;
    } rows[] = {
        {"3.4.23", false, false}, {"3.4.30", false, false}, {"3.4.31", true, false},
        {"3.4.35", true, false},  {"3.4.36", true, true},   {"3.5.0", false, false},
        {"3.5.12", false, false}, {"3.5.13", true, false},  {"3.5.17", true, false},
        {"3.5.18", true, true},   {"3.6.0", true, true},    {"4.0.0", true, true},
        {"3.3.10", false, false}, {"", false, false},       {"dev", false, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etcd_member_status status;
        struct cor_buf bytes;

        cor_buf_init(&bytes, MAX);
        assert_int_equal(cor_buf_addf(&bytes, HEADER_7 "\x12%c%s\x18\x80\x08\x48\x80\x04",
                                      (char)strlen(rows[i].version), rows[i].version),
                         0);
        if (rows[i].version[0] == '\0') {
            cor_buf_reset(&bytes);
            assert_int_equal(cor_buf_addz(&bytes, "\x18\x80\x08\x48\x80\x04"), 0);
        }
        assert_int_equal(cor_etcd_decode_status(cor_buf_str(&bytes), &status), 0);
        assert_int_equal(status.has_progress, rows[i].has_progress);
        assert_int_equal(status.keeps_deletions, rows[i].keeps_deletions);
        assert_int_equal(status.db_bytes, 1024);
        assert_int_equal(status.used_bytes, 512);
        cor_buf_deinit(&bytes);
    }
}

TEST(etcd_messages, a_lease_is_kept_and_revoked_by_its_id)
{
    struct cor_buf out;
    int64_t ttl_s = -1;

    cor_buf_init(&out, MAX);
    assert_int_equal(cor_etcd_encode_keep_alive(300, &out), 0);
    assert_bytes(&out, "\x08\xac\x02");
    cor_buf_reset(&out);
    assert_int_equal(cor_etcd_encode_revoke(300, &out), 0);
    assert_bytes(&out, "\x08\xac\x02");
    cor_buf_reset(&out);
    assert_int_equal(cor_etcd_encode_put(COR_STR("k"), COR_STR("v"), 300, &out), 0);
    assert_bytes(&out, "\x0a\x01k\x12\x01v\x18\xac\x02");
    assert_int_equal(cor_etcd_decode_keep_alive(COR_STR("\x10\xac\x02\x18\x1e"), &ttl_s), 0);
    assert_int_equal(ttl_s, 30);
    assert_int_equal(cor_etcd_decode_keep_alive(COR_STR("\x10\xac\x02"), &ttl_s), 0);
    assert_int_equal(ttl_s, 0);
    assert_int_equal(cor_etcd_decode_keep_alive(COR_STR("\x18"), &ttl_s), -COR_EINTERNAL);
    cor_buf_deinit(&out);
}

TEST(etcd_messages, lease_compaction_and_login)
{
    struct cor_buf out, token;
    int64_t id = 0;

    cor_buf_init(&out, MAX);
    cor_buf_init(&token, MAX);
    assert_int_equal(cor_etcd_encode_grant(3660, &out), 0);
    assert_bytes(&out, "\x08\xcc\x1c");
    assert_int_equal(cor_etcd_decode_grant(COR_STR("\x10\x2a\x18\xcc\x1c"), &id), 0);
    assert_int_equal(id, 42);
    assert_int_equal(cor_etcd_decode_grant(COR_STR("\x18\xcc\x1c"), &id), -COR_EINTERNAL);
    cor_buf_reset(&out);
    assert_int_equal(cor_etcd_encode_compaction(300, &out), 0);
    assert_bytes(&out, "\x08\xac\x02");
    cor_buf_reset(&out);
    assert_int_equal(cor_etcd_encode_authenticate("root", "pw", &out), 0);
    assert_bytes(&out, "\x0a\x04root\x12\x02pw");
    assert_int_equal(cor_etcd_decode_authenticate(COR_STR("\x12\x03t.1"), &token), 0);
    assert_str(cor_buf_str(&token), "t.1");
    assert_int_equal(cor_etcd_decode_authenticate(COR_STR(""), &token), -COR_EINTERNAL);
    cor_buf_deinit(&token);
    cor_buf_deinit(&out);
}
