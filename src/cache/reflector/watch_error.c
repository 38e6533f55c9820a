#include "cache/reflector/watch_error.h"

#include <string.h>

#include "coracle/status_is.h"

bool cor_watch_error_expired(const struct cor_status *st)
{
    return st->err == -COR_EEXPIRED || cor_status_is_expired(st) || cor_status_is_gone(st);
}

/* A cause by its type since 1.18.6, by its message in 1.17, the status's own message before. */
bool cor_watch_error_too_large_rv(const struct cor_status *st)
{
    static const char legacy[] = "Too large resource version";
    bool is_timeout = cor_status_is_timeout(st);

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

bool cor_watch_error_unreachable(const struct cor_status *st)
{
    return st->err == -COR_EUNREACHABLE;
}

bool cor_watch_error_internal(const struct cor_status *st)
{
    return !cor_watch_error_unreachable(st) && cor_status_is_internal_error(st);
}
