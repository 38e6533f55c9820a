#include "cache/watch_error.h"

#include <string.h>

/* Upstream reads the HTTP code only when the reason is none that it knows. */
static bool is_reason(const struct cor_status *st, const char *reason, int code)
{
    const char *has = st->reason ? st->reason : "";

    return strcmp(has, reason) == 0 || (has[0] == '\0' && st->code == code);
}

bool cor_watch_error_expired(const struct cor_status *st)
{
    return st->err == -COR_EEXPIRED || cor_watch_error_expired_reason(st) ||
           is_reason(st, "Gone", 410);
}

bool cor_watch_error_expired_reason(const struct cor_status *st)
{
    return st->reason && strcmp(st->reason, "Expired") == 0;
}

/* A cause by its type since 1.18.6, by its message in 1.17, the status's own message before. */
bool cor_watch_error_too_large_rv(const struct cor_status *st)
{
    static const char legacy[] = "Too large resource version";
    bool is_timeout = is_reason(st, "Timeout", 504);

    if (st->err == -COR_EFUTURE)
        return true;
    for (size_t i = 0; i < st->ncauses; i++) {
        const struct cor_status_cause *cause = &st->causes[i];

        if (cause->type && strcmp(cause->type, "ResourceVersionTooLarge") == 0)
            return true;
        if (is_timeout && cause->message && strcmp(cause->message, legacy) == 0)
            return true;
    }
    return is_timeout && st->has_details && strstr(cor_status_message(st), legacy);
}

bool cor_watch_error_too_many_requests(const struct cor_status *st)
{
    return st->code == 429 || is_reason(st, "TooManyRequests", 429);
}

bool cor_watch_error_unreachable(const struct cor_status *st)
{
    return st->err == -COR_EUNREACHABLE;
}

bool cor_watch_error_internal(const struct cor_status *st)
{
    return !cor_watch_error_unreachable(st) && is_reason(st, "InternalError", 500);
}
