/* Predicates on statuses, after apimachinery's Is functions: the reason decides, and for some of
 * them the code where there is no reason. Thread: any. */
#include "coracle/status_is.h"

#include <string.h>

/* `code` stands for the reason where the server gave none; 0: no code does. */
static bool is(const struct cor_status *st, const char *reason, int code)
{
    const char *has = st->reason ? st->reason : "";

    return strcmp(has, reason) == 0 || (has[0] == '\0' && code != 0 && st->code == code);
}

bool cor_status_is_bad_request(const struct cor_status *st)
{
    return is(st, "BadRequest", 400);
}

bool cor_status_is_unauthorized(const struct cor_status *st)
{
    return is(st, "Unauthorized", 401);
}

bool cor_status_is_forbidden(const struct cor_status *st)
{
    return is(st, "Forbidden", 403);
}

bool cor_status_is_not_found(const struct cor_status *st)
{
    return is(st, "NotFound", 404);
}

bool cor_status_is_already_exists(const struct cor_status *st)
{
    return is(st, "AlreadyExists", 0);
}

bool cor_status_is_conflict(const struct cor_status *st)
{
    return is(st, "Conflict", 409);
}

bool cor_status_is_invalid(const struct cor_status *st)
{
    return is(st, "Invalid", 422);
}

bool cor_status_is_gone(const struct cor_status *st)
{
    return is(st, "Gone", 410);
}

bool cor_status_is_expired(const struct cor_status *st)
{
    return is(st, "Expired", 0);
}

bool cor_status_is_not_acceptable(const struct cor_status *st)
{
    return is(st, "NotAcceptable", 406);
}

bool cor_status_is_unsupported_media_type(const struct cor_status *st)
{
    return is(st, "UnsupportedMediaType", 415);
}

bool cor_status_is_method_not_supported(const struct cor_status *st)
{
    return is(st, "MethodNotAllowed", 405);
}

bool cor_status_is_timeout(const struct cor_status *st)
{
    return is(st, "Timeout", 504);
}

bool cor_status_is_server_timeout(const struct cor_status *st)
{
    return is(st, "ServerTimeout", 0);
}

bool cor_status_is_internal_error(const struct cor_status *st)
{
    return is(st, "InternalError", 500);
}

bool cor_status_is_service_unavailable(const struct cor_status *st)
{
    return is(st, "ServiceUnavailable", 503);
}

bool cor_status_is_too_many_requests(const struct cor_status *st)
{
    return st->code == 429 || is(st, "TooManyRequests", 429);
}

bool cor_status_is_request_too_large(const struct cor_status *st)
{
    return st->code == 413 || is(st, "RequestEntityTooLarge", 413);
}

/* errors.HasStatusCause() */
static bool has_cause(const struct cor_status *st, const char *type)
{
    for (size_t i = 0; i < st->ncauses; i++)
        if (st->causes[i].type && strcmp(st->causes[i].type, type) == 0)
            return true;
    return false;
}

bool cor_status_is_field_conflict(const struct cor_status *st)
{
    return cor_status_is_conflict(st) && has_cause(st, "FieldManagerConflict");
}

bool cor_status_is_unexpected_answer(const struct cor_status *st)
{
    return has_cause(st, "UnexpectedServerResponse");
}

bool cor_status_suggests_delay(const struct cor_status *st, int64_t *ret_seconds)
{
    if (st->retry_after_s <= 0 && !cor_status_is_server_timeout(st))
        return false;
    *ret_seconds = st->retry_after_s > 0 ? st->retry_after_s : 0;
    return true;
}
