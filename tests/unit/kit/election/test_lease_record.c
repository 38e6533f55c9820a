#include "kit/election/lease_record.h"

#include "base/err.h"
#include "test.h"

#define LEASE(rv, spec)                                                                            \
    "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{\"labels\":"      \
    "{\"kept\":\"k\",\"mine\":\"old\"},\"name\":\"lock\",\"namespace\":\"x\",\"uid\":\"u\","       \
    "\"resourceVersion\":\"" rv "\"},\"spec\":{" spec "}}"

static struct cor_string_pair labels[] = {{(char *)"mine", (char *)"new"}};
static const struct cor_lease_name lock = {COR_STR("x"), COR_STR("lock"), labels, 1};

static struct cor_object *lease_of(const char *json)
{
    struct cor_object *lease;

    assert_int_equal(cor_object_from_json(cor_strz(json), &lease, NULL), 0);
    return lease;
}

/* Contract client 4.2.12. */
TEST(lease_record, is_read)
{
    struct cor_object *lease = lease_of(LEASE(
        "7", "\"holderIdentity\":\"a\\\"b\",\"leaseDurationSeconds\":15,\"leaseTransitions\":3,"
             "\"acquireTime\":\"2025-01-02T03:04:05.678901Z\",\"renewTime\":null"));
    struct cor_leader_record record;

    assert_int_equal(cor_lease_record_read(lease, &record), 0);
    assert_string_equal(record.holder, "a\"b");
    assert_int_equal(record.duration_s, 15);
    assert_int_equal(record.transitions, 3);
    assert_int_equal(record.acquire_us, 1735787045678901);
    assert_int_equal(record.renew_us, 0);
    cor_object_unref(lease);
    lease = lease_of(LEASE("7", "\"leaseDurationSeconds\":\"15\""));
    assert_int_equal(cor_lease_record_read(lease, &record), -COR_EINVAL);
    cor_object_unref(lease);
    lease = lease_of(LEASE("7", "\"renewTime\":\"yesterday\""));
    assert_int_equal(cor_lease_record_read(lease, &record), -COR_EINVAL);
    cor_object_unref(lease);
}

static const struct cor_leader_record taken = {.holder = "me \"1\"",
                                               .duration_s = 15,
                                               .acquire_us = 1735787045678901,
                                               .renew_us = 1735787046000000,
                                               .transitions = 4};

/* Contract client 4.2.18: labels are overwritten by name, and what is not known stays. */
TEST(lease_record, is_written_into_what_was_there)
{
    struct cor_object *old = lease_of(LEASE("7", "\"strategy\":\"s\",\"zzz\":{\"a\":1}"));
    struct cor_object *lease;

    assert_int_equal(cor_lease_record_write(&taken, old, &lock, &lease, NULL), 0);
    assert_str(cor_object_json(lease),
               "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"
               "\"labels\":{\"kept\":\"k\",\"mine\":\"new\"},\"name\":\"lock\",\"namespace\":\"x\","
               "\"resourceVersion\":\"7\",\"uid\":\"u\"},\"spec\":{\"acquireTime\":"
               "\"2025-01-02T03:04:05.678901Z\",\"holderIdentity\":\"me \\\"1\\\"\","
               "\"leaseDurationSeconds\":15,\"leaseTransitions\":4,\"renewTime\":"
               "\"2025-01-02T03:04:06.000000Z\",\"strategy\":\"s\",\"zzz\":{\"a\":1}}}");
    cor_object_unref(lease);
    cor_object_unref(old);
    assert_int_equal(cor_lease_record_write(&taken, NULL, &lock, &lease, NULL), 0);
    assert_non_null(strstr(cor_object_json(lease).p,
                           "\"metadata\":{\"labels\":{\"mine\":\"new\"},\"name\":\"lock\","
                           "\"namespace\":\"x\"},\"spec\":{"));
    cor_object_unref(lease);
}

TEST(lease_record, survives_failed_allocations)
{
    struct cor_object *old = lease_of(LEASE("7", "\"strategy\":\"s\""));

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *lease = NULL;
        struct cor_status why = {0};
        struct cor_leader_record read;
        int r = cor_lease_record_write(&taken, old, &lock, &lease, &why);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(lease != NULL, r == 0);
        if (r == 0) {
            assert_int_equal(cor_lease_record_read(lease, &read), 0);
            assert_string_equal(read.holder, taken.holder);
            assert_int_equal(read.duration_s, taken.duration_s);
            assert_int_equal(read.transitions, taken.transitions);
            assert_int_equal(read.acquire_us, taken.acquire_us);
            assert_int_equal(read.renew_us, taken.renew_us);
            assert_non_null(strstr(cor_object_json(lease).p, "\"strategy\":\"s\""));
        }
        cor_object_unref(lease);
        cor_status_deinit(&why);
    }
    cor_object_unref(old);
}
