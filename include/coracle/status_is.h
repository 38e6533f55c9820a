/* Tests for the kind of a failure: apimachinery's errors.Is…(). The reason decides; the HTTP code
 * is used where there is no reason, and for too many requests and too large a request. All tests
 * return false for a Status that was never filled. Thread: any (pure). */
#ifndef CORACLE_STATUS_IS_H
#define CORACLE_STATUS_IS_H

#include <stdbool.h>
#include <stdint.h>

#include "coracle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

COR_API bool cor_status_is_bad_request(const struct cor_status *st);
COR_API bool cor_status_is_unauthorized(const struct cor_status *st);
COR_API bool cor_status_is_forbidden(const struct cor_status *st);
COR_API bool cor_status_is_not_found(const struct cor_status *st);
COR_API bool cor_status_is_already_exists(const struct cor_status *st);
COR_API bool cor_status_is_conflict(const struct cor_status *st);
/* A server-side apply was refused because others own its fields (coracle/managed_fields.h has the
 * owners and the fields). Such a failure is a conflict, too; reading the object again does not mend
 * it. */
COR_API bool cor_status_is_field_conflict(const struct cor_status *st);
COR_API bool cor_status_is_invalid(const struct cor_status *st);
COR_API bool cor_status_is_gone(const struct cor_status *st);    /* 410 without more: not expired */
COR_API bool cor_status_is_expired(const struct cor_status *st); /* list again */
COR_API bool cor_status_is_not_acceptable(const struct cor_status *st);
COR_API bool cor_status_is_unsupported_media_type(const struct cor_status *st);
COR_API bool cor_status_is_method_not_supported(const struct cor_status *st);
COR_API bool cor_status_is_timeout(const struct cor_status *st);
COR_API bool cor_status_is_server_timeout(const struct cor_status *st); /* try again */
COR_API bool cor_status_is_too_many_requests(const struct cor_status *st);
COR_API bool cor_status_is_request_too_large(const struct cor_status *st);
COR_API bool cor_status_is_internal_error(const struct cor_status *st);
COR_API bool cor_status_is_service_unavailable(const struct cor_status *st);

/* The answer was not a Status object; perhaps a proxy sent it. */
COR_API bool cor_status_is_unexpected_answer(const struct cor_status *st);

/* Did the server ask the client to wait before the next attempt, and for how many seconds? */
COR_API bool cor_status_suggests_delay(const struct cor_status *st, int64_t *ret_seconds);

#ifdef __cplusplus
}
#endif

#endif
