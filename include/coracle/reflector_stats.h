/* What a reflector has done since it was made: client-go's reflector metrics as one struct of sums.
 * Thread: any (a value). */
#ifndef CORACLE_REFLECTOR_STATS_H
#define CORACLE_REFLECTOR_STATS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cor_reflector_stats {
    uint64_t lists;         /* begun; the pages of one list count once */
    uint64_t list_ms;       /* from the first request to the last page, of lists that were stored */
    uint64_t list_items;    /* objects of these lists */
    uint64_t watches;       /* requested, streamed lists too */
    uint64_t watch_ms;      /* from the request to the end, of watches that are over */
    uint64_t watch_items;   /* events that were stored, bookmarks too */
    uint64_t short_watches; /* ended within a second without an event */
    size_t backlog;         /* changes that wait in an informer's queue; 0 for a bare reflector */
};

#ifdef __cplusplus
}
#endif

#endif
