#include "cache/reflector/retry_with_deadline.h"

void cor_retry_with_deadline_init(struct cor_retry_with_deadline *retry, uint64_t max_ms)
{
    *retry = (struct cor_retry_with_deadline){.max_ms = max_ms};
}

void cor_retry_with_deadline_after(struct cor_retry_with_deadline *retry, uint64_t now_ms)
{
    if (retry->open && now_ms - retry->last_ms >= COR_RETRY_QUIET_MS)
        retry->open = false;
    if (!retry->open)
        retry->first_ms = now_ms;
    retry->open = true;
    retry->last_ms = now_ms;
}

bool cor_retry_with_deadline_should(struct cor_retry_with_deadline *retry, uint64_t now_ms)
{
    if (retry->max_ms == 0 || !retry->open)
        return false;
    if (now_ms - retry->first_ms <= retry->max_ms)
        return true;
    retry->open = false;
    return false;
}
