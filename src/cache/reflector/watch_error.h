/* What a failed list or watch means to a reader that wants to continue, derived from the Status as
 * client-go's reflector does; coracle/status_is.h has the rest.
 * Thread: any (pure). */
#ifndef COR_CACHE_WATCH_ERROR_H
#define COR_CACHE_WATCH_ERROR_H

#include <stdbool.h>

#include "meta/status/status.h"

/* 410: reason Expired or, from servers before 1.18, Gone. */
bool cor_watch_error_expired(const struct cor_status *st);

/* The requested revision is newer than the server's. */
bool cor_watch_error_too_large_rv(const struct cor_status *st);

/* Nobody listens there (-COR_EUNREACHABLE): the same request may succeed when the server is back.
 */
bool cor_watch_error_unreachable(const struct cor_status *st);

bool cor_watch_error_internal(const struct cor_status *st);

#endif
