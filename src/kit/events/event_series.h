/* Events that repeat, as in client-go's tools/events: the first is created, the second makes it a
 * series of two, and the ones that follow are only counted here. The count is written every half
 * hour, and a last time when the series has had no event for six minutes; then the series is
 * forgotten.
 *
 * At most COR_EVENT_SERIES_MAX series are remembered. When another one comes, the series that has
 * had no event for the longest time is forgotten without its last count.
 * Thread: one at a time.  Owner: the recorder. */
#ifndef COR_KIT_EVENT_SERIES_H
#define COR_KIT_EVENT_SERIES_H

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

/* Decides what to send for a new event, whose name and times are set and whose count is 1: the
 * event itself, or, with a count of 2, the event that it repeats and that the server has. The
 * result is borrowed until the next call. 0, COR_EVENT_SKIP (the event was only counted),
 * -COR_ENOMEM, -COR_ETOOBIG. */
int cor_event_series_add(struct cor_event_series *s, const struct cor_event *event, uint64_t now_ms,
                         struct cor_event *ret_event);

/* Is there a series whose count is to be written now? The result is borrowed until
 * cor_event_series_written(), which must be the next call. Series of one event that have been
 * silent are forgotten. */
bool cor_event_series_take_due(struct cor_event_series *s, uint64_t now_ms,
                               struct cor_event *ret_event);

/* Ends the write of the series that was due. `is_done` false: it could not be written, and is due
 * again in the next round. */
void cor_event_series_written(struct cor_event_series *s, bool is_done);

/* When to call cor_event_series_take_due() next; UINT64_MAX: no series is remembered. */
uint64_t cor_event_series_due_ms(const struct cor_event_series *s);

#endif
