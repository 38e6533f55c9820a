#include "base/err.h"
#include "meta/status/storage_error.h"
#include "test.h"

static const struct cor_gr pods = {COR_STR(""), COR_STR("pods")};

static void check(const struct cor_status *st, int err, int code, const char *reason,
                  const char *message)
{
    assert_int_equal(st->err, err);
    assert_int_equal(st->code, code);
    assert_string_equal(st->reason, reason);
    assert_string_equal(cor_status_message(st), message);
}

TEST(storage_error, prints_its_code_key_and_reason)
{
    static const struct {
        enum cor_storage_code code;
        int err;
        const char *want;
    } rows[] = {
        {COR_STORAGE_NOT_FOUND, -COR_ENOTFOUND,
         "StorageError: key not found, Code: 1, Key: /k, ResourceVersion: 7, "
         "AdditionalErrorMsg: why"},
        {COR_STORAGE_EXISTS, -COR_EEXIST,
         "StorageError: key exists, Code: 2, Key: /k, ResourceVersion: 7, AdditionalErrorMsg: why"},
        {COR_STORAGE_CONFLICT, -COR_ECONFLICT,
         "StorageError: resource version conflicts, Code: 3, Key: /k, ResourceVersion: 7, "
         "AdditionalErrorMsg: why"},
        {COR_STORAGE_INVALID_OBJ, -COR_EPRECONDITION,
         "StorageError: invalid object, Code: 4, Key: /k, ResourceVersion: 7, "
         "AdditionalErrorMsg: why"},
        {COR_STORAGE_UNREACHABLE, -COR_EUNREACHABLE,
         "StorageError: server unreachable, Code: 5, Key: /k, ResourceVersion: 7, "
         "AdditionalErrorMsg: why"},
        {COR_STORAGE_TIMEOUT, -COR_ETIMEOUT,
         "StorageError: request timeout, Code: 6, Key: /k, ResourceVersion: 7, "
         "AdditionalErrorMsg: why"},
        {COR_STORAGE_CORRUPT, -COR_ECORRUPT,
         "StorageError: corrupt object, Code: 7, Key: /k, ResourceVersion: 7, "
         "AdditionalErrorMsg: why"},
    };
    struct cor_status st = {0};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        assert_int_equal(cor_storage_error(&st, rows[i].code, COR_STR("/k"), 7, "why"),
                         rows[i].err);
        check(&st, rows[i].err, 500, "", rows[i].want);
    }
    cor_storage_error(&st, COR_STORAGE_NOT_FOUND, COR_STR("/k"), 0, NULL);
    check(&st, -COR_ENOTFOUND, 500, "",
          "StorageError: key not found, Code: 1, Key: /k, ResourceVersion: 0, "
          "AdditionalErrorMsg: <nil>");
    cor_status_deinit(&st);
}

TEST(storage_error, a_failed_precondition_says_what_was_asked_for_and_found)
{
    struct cor_status st = {0};

    assert_int_equal(
        cor_storage_precondition_failed(&st, COR_STR("/k"), "UID", COR_STR("A"), COR_STR("B")),
        -COR_EPRECONDITION);
    assert_string_equal(cor_status_message(&st),
                        "StorageError: invalid object, Code: 4, Key: /k, ResourceVersion: 0, "
                        "AdditionalErrorMsg: Precondition failed: UID in precondition: A, UID in "
                        "object meta: B");
    assert_int_equal(cor_storage_error_to_api(&st, COR_STORAGE_OP_DELETE, &pods, COR_STR("web")),
                     -COR_ECONFLICT);
    check(&st, -COR_ECONFLICT, 409, "Conflict",
          "Operation cannot be fulfilled on pods \"web\": StorageError: invalid object, Code: 4, "
          "Key: /k, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
          "precondition: A, UID in object meta: B");
    cor_status_deinit(&st);
}

TEST(storage_error, becomes_the_api_error_of_the_operation)
{
    enum { GET, LIST, CREATE, UPDATE, DELETE, WATCH, NOPS };
    /* 0: passes through unchanged. */
    static const struct {
        enum cor_storage_code code;
        int want[NOPS];
    } rows[] = {
        {COR_STORAGE_NOT_FOUND, {404, 404, 0, 404, 404, 0}},
        {COR_STORAGE_EXISTS, {0, 0, 409, 409, 409, 0}},
        {COR_STORAGE_CONFLICT, {0, 0, 0, 409, 409, 0}},
        {COR_STORAGE_INVALID_OBJ, {0, 0, 0, 409, 409, 0}},
        {COR_STORAGE_UNREACHABLE, {500, 500, 500, 500, 500, 0}},
        {COR_STORAGE_TIMEOUT, {0, 500, 0, 0, 0, 0}},
        {COR_STORAGE_CORRUPT, {500, 500, 500, 500, 500, 500}},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        for (int op = 0; op < NOPS; op++) {
            struct cor_status st = {0};

            cor_storage_error(&st, rows[i].code, COR_STR("/k"), 0, NULL);
            cor_storage_error_to_api(&st, (enum cor_storage_op)op, &pods, COR_STR("web"));
            assert_int_equal(st.reason[0] != '\0', rows[i].want[op] != 0);
            if (rows[i].want[op])
                assert_int_equal(st.code, rows[i].want[op]);
            cor_status_deinit(&st);
        }
    }
}

TEST(storage_error, the_api_errors_have_upstreams_words)
{
    struct cor_status st = {0};

    cor_storage_error(&st, COR_STORAGE_EXISTS, COR_STR("/k"), 0, NULL);
    cor_storage_error_to_api(&st, COR_STORAGE_OP_CREATE, &pods, COR_STR("web"));
    check(&st, -COR_EEXIST, 409, "AlreadyExists", "pods \"web\" already exists");

    cor_storage_error(&st, COR_STORAGE_TIMEOUT, COR_STR("/k"), 0, "slow");
    cor_storage_error_to_api(&st, COR_STORAGE_OP_LIST, &pods, COR_STR(""));
    check(&st, -COR_EUNREACHABLE, 500, "ServerTimeout",
          "The list operation against pods could not be completed at this time, please try again.");
    assert_int_equal(st.retry_after_s, 2);
    assert_string_equal(st.name, "list");

    cor_storage_internal(&st, "unable to transform key \"%s\"", "/k");
    check(&st, -COR_EINTERNAL, 500, "", "unable to transform key \"/k\"");
    cor_storage_error_to_api(&st, COR_STORAGE_OP_GET, &pods, COR_STR("web"));
    check(&st, -COR_EINTERNAL, 500, "InternalError",
          "Internal error occurred: unable to transform key \"/k\"");
    cor_status_deinit(&st);
}

TEST(storage_error, an_api_error_passes_unchanged)
{
    struct cor_status st = {0};

    cor_status_timeout(&st, 1, "late");
    assert_int_equal(cor_storage_error_to_api(&st, COR_STORAGE_OP_LIST, &pods, COR_STR("")),
                     -COR_ETIMEOUT);
    check(&st, -COR_ETIMEOUT, 504, "Timeout", "Timeout: late");
    cor_status_untyped(&st, -COR_EINVAL, "invalid key: \"..\"");
    cor_storage_error_to_api(&st, COR_STORAGE_OP_GET, &pods, COR_STR("web"));
    check(&st, -COR_EINVAL, 500, "", "invalid key: \"..\"");
    cor_status_deinit(&st);
}

TEST(storage_error, out_of_memory_keeps_the_code)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status st = {0};

        cor_storage_precondition_failed(&st, COR_STR("/k"), "UID", COR_STR("A"), COR_STR("B"));
        assert_int_equal(st.err, -COR_EPRECONDITION);
        cor_storage_error_to_api(&st, COR_STORAGE_OP_UPDATE, &pods, COR_STR("web"));
        assert_int_equal(st.code, 409);
        cor_storage_internal(&st, "x");
        assert_int_equal(st.err, -COR_EINTERNAL);
        cor_status_deinit(&st);
    }
}
