/* Reads the body of a failed answer. A Status is read with its reason, message and details; any
 * other body becomes the message, and the code decides the rest. What is malformed or finds no
 * memory is left out. Thread: any. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "meta/status/status.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define TEXT_MAX 2048 /* of an answer that is not a Status, as client-go cuts it */

/* Reasons that Kubernetes has, the error that each is here, and the code that stands for it when an
 * answer has no reason (0: none does). */
static const struct {
    const char *reason;
    int err, code;
} reasons[] = {
    {"BadRequest", COR_EINVAL, 400},
    {"Unauthorized", COR_EUNAUTHORIZED, 401},
    {"Forbidden", COR_EFORBIDDEN, 403},
    {"NotFound", COR_ENOTFOUND, 404},
    {"MethodNotAllowed", COR_ENOTSUP, 405},
    {"NotAcceptable", COR_ENOTACCEPTABLE, 406},
    {"Conflict", COR_ECONFLICT, 409},
    {"Gone", COR_EEXPIRED, 410},
    {"RequestEntityTooLarge", COR_ETOOBIG, 413},
    {"UnsupportedMediaType", COR_EMEDIATYPE, 415},
    {"Invalid", COR_EINVALID, 422},
    {"TooManyRequests", COR_EBUSY, 429},
    {"InternalError", COR_EINTERNAL, 500},
    {"ServiceUnavailable", COR_EUNAVAILABLE, 503},
    {"Timeout", COR_ETIMEOUT, 504},
    {"AlreadyExists", COR_EEXIST, 0},
    {"Expired", COR_EEXPIRED, 0},
    {"ServerTimeout", COR_ETIMEOUT, 0},
    {"StorageReadError", COR_ECORRUPT, 0},
};

static void set_reason(struct cor_status *st, size_t i)
{
    st->reason = reasons[i].reason;
    st->err = -reasons[i].err;
}

static void set_by_code(struct cor_status *st, int code)
{
    st->code = code;
    st->reason = "";
    st->err = code == 502 ? -COR_EUNAVAILABLE : code >= 500 ? -COR_EINTERNAL : -COR_EINVAL;
    for (size_t i = 0; i < COR_ARRAY_LEN(reasons); i++)
        if (reasons[i].code == code)
            set_reason(st, i);
    if (code >= 500 && st->reason[0] == '\0')
        st->reason = "InternalError";
}

/* A string member's text; `*ret` stays when it is absent or memory runs out. */
static void read_text(struct cor_str in, const char *key, char **ret)
{
    struct cor_str value, raw, text;
    char *copy;

    if (cor_json_get(in, cor_strz(key), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_to_raw(value, &raw) < 0 || raw.n == 0)
        return;
    copy = cor_alloc(raw.n + 1);
    if (!copy || cor_json_unescape(raw, copy, raw.n, &text) < 0) {
        cor_free(copy);
        return;
    }
    memmove(copy, text.p, text.n);
    copy[text.n] = '\0';
    cor_free(*ret);
    *ret = copy;
}

static void read_reason(struct cor_status *st, struct cor_str json)
{
    struct cor_str value, raw;

    if (cor_json_get(json, COR_STR("reason"), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_to_raw(value, &raw) < 0)
        return;
    for (size_t i = 0; i < COR_ARRAY_LEN(reasons); i++)
        if (cor_str_eqz(raw, reasons[i].reason))
            set_reason(st, i);
}

static void read_causes(struct cor_status *st, struct cor_str details)
{
    struct cor_str causes;
    struct cor_json_iter it;

    if (cor_json_get(details, COR_STR("causes"), COR_JSON_ANY_ORDER, &causes) < 0)
        return;
    it = cor_json_iter(causes);
    while (cor_json_iter_elem(&it)) {
        struct cor_str cause = cor_json_iter_value(&it);
        COR_CLEANUP(cor_freep) char *type = NULL;
        COR_CLEANUP(cor_freep) char *message = NULL;
        COR_CLEANUP(cor_freep) char *field = NULL;

        read_text(cause, "reason", &type);
        read_text(cause, "message", &message);
        read_text(cause, "field", &field);
        if (type && strcmp(type, "ResourceVersionTooLarge") == 0)
            st->err = -COR_EFUTURE;
        cor_status_add_cause(st, type, message, field);
    }
}

static void read_details(struct cor_status *st, struct cor_str json)
{
    struct cor_str details, value;
    int64_t seconds;

    if (cor_json_get(json, COR_STR("details"), COR_JSON_ANY_ORDER, &details) < 0 ||
        cor_json_type(details) != COR_JSON_OBJECT)
        return;
    st->has_details = true;
    read_text(details, "name", &st->name);
    read_text(details, "group", &st->group);
    read_text(details, "kind", &st->kind);
    read_text(details, "uid", &st->uid);
    /* An int32 in Kubernetes; whatever else a server says must not overflow where it is used. */
    if (cor_json_get(details, COR_STR("retryAfterSeconds"), COR_JSON_ANY_ORDER, &value) == 0 &&
        cor_json_to_i64(value, &seconds) == 0 && seconds >= 0 && seconds <= INT32_MAX)
        st->retry_after_s = seconds;
    read_causes(st, details);
}

bool cor_status_is_failure(struct cor_str body)
{
    const struct cor_json_limits limits = {COR_STATUS_MESSAGE_MAX * 16, COR_JSON_DEPTH_MAX, true};
    struct cor_str kind, status;
    struct cor_json_error why;
    bool canonical;

    return cor_json_check(body, &limits, &canonical, &why) == 0 &&
           cor_json_get(body, COR_STR("kind"), COR_JSON_ANY_ORDER, &kind) == 0 &&
           cor_str_eqz(kind, "\"Status\"") &&
           cor_json_get(body, COR_STR("status"), COR_JSON_ANY_ORDER, &status) == 0 &&
           cor_str_eqz(status, "\"Failure\"");
}

int cor_status_read(struct cor_status *st, int code, struct cor_str body)
{
    struct cor_status next = {0};
    struct cor_str value, metadata, trimmed = cor_str_trim(body);
    int64_t n;

    set_by_code(&next, code);
    if (cor_status_is_failure(trimmed)) {
        if (cor_json_get(trimmed, COR_STR("code"), COR_JSON_ANY_ORDER, &value) == 0 &&
            cor_json_to_i64(value, &n) == 0 && n >= 400 && n < 600)
            set_by_code(&next, (int)n);
        read_reason(&next, trimmed);
        read_text(trimmed, "message", &next.message);
        read_details(&next, trimmed);
        if (cor_json_get(trimmed, COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) == 0)
            read_text(metadata, "continue", &next.continue_token);
    } else if (trimmed.n > 0) {
        next.message = cor_strndup(trimmed.p, trimmed.n < TEXT_MAX ? trimmed.n : TEXT_MAX);
    }
    code = next.err;
    cor_status_move(st, &next);
    return code;
}
