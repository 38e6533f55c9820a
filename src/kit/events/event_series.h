/* Events that repeat, as client-go's tools/events: the first is created, the second makes it a
 * series of two, and those that follow are only counted here. The count is written every half hour,
 * and once more when the series has been silent for six minutes; then it is forgotten.
 *
 * At most COR_EVENT_SERIES_MAX are remembered: of one too many the one that was silent for longest
 * is forgotten, without its last count.
 * Thread: one at a time.  Owner: the recorder. */
#ifndef COR_CLIENT_EVENT_SERIES_H
#define COR_CLIENT_EVENT_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "kit/events/event.h"
#include "kit/events/event_correlator.h"

struct cor_event_series;

#define COR_EVENT_SERIES_MAX        4096
#define COR_EVENT_SERIES_REFRESH_MS 1800000
#define COR_EVENT_SERIES_FINISH_MS  360000

/* 0 or -COR_ENOMEM. */
int cor_event_series_new(struct cor_event_series **ret_series);

/* Returns NULL. */
struct cor_event_series *cor_event_series_free(struct cor_event_series *s);
COR_DEFINE_CLEANUP(struct cor_event_series, cor_event_series_free)

/* What to send for a new event (its name and times are set, its count is 1): itself, or as a
 * count of 2 the one that it repeats, which the server has. It is borrowed until the next call. 0,
 * COR_EVENT_SKIP (it is counted), -COR_ENOMEM, -COR_ETOOBIG. */
int cor_event_series_add(struct cor_event_series *s, const struct cor_event *event, uint64_t now_ms,
                         struct cor_event *ret_event);

/* Is there a series whose count is to be written now? It is borrowed until
 * cor_event_series_written(), which must come before any other call. What was silent is forgotten.
 */
bool cor_event_series_take_due(struct cor_event_series *s, uint64_t now_ms,
                               struct cor_event *ret_event);

/* Of the one that was due; false: it could not be written, and is due again next time. */
void cor_event_series_written(struct cor_event_series *s, bool is_done);

/* When to look for what is due; UINT64_MAX: nothing is remembered. */
uint64_t cor_event_series_due_ms(const struct cor_event_series *s);

#endif
