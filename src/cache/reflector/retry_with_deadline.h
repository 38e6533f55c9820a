/* Limits how long a kind of failure is retried: a window that opens with the first failure, and
 * again after a quiet period or once it was exceeded.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_CACHE_RETRY_WITH_DEADLINE_H
#define COR_CACHE_RETRY_WITH_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

/* A failure this long after the one before opens a new window. */
#define COR_RETRY_QUIET_MS 60000

struct cor_retry_with_deadline {
    uint64_t max_ms; /* 0: never retry */
    uint64_t first_ms, last_ms;
    bool open;
};

void cor_retry_with_deadline_init(struct cor_retry_with_deadline *retry, uint64_t max_ms);

/* A failure of that kind has happened; do not call it for others. */
void cor_retry_with_deadline_after(struct cor_retry_with_deadline *retry, uint64_t now_ms);

/* Is the window still open? Closes it when it is exceeded. */
bool cor_retry_with_deadline_should(struct cor_retry_with_deadline *retry, uint64_t now_ms);

#endif
