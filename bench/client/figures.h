/* What ./dev bench client found of the library and of client-go, and the table of it beside the
 * bars. */
#ifndef COR_BENCH_FIGURES_H
#define COR_BENCH_FIGURES_H

#include <stdbool.h>

enum figure {
    SMALL_CPU,
    SMALL_WALL,
    LARGE_CPU,
    LARGE_WALL,
    PROJECTED_CPU,
    METADATA_CPU,
    PODS_CPU,
    OBJECT_BYTES,
    RUNNING_BYTES,
    PROJECTED_BYTES,
    METADATA_BYTES,
    PODS_BYTES,
    EVENT_RATE,
    EVENT_CPU,
    RECONCILE_CPU,
    RECONCILE_P50,
    RECONCILE_P99,
    LOOKUP_RATE,
    QUEUE_RATE,
    FIELDS_CPU,
    DECODE_CPU,
    SERDE_CPU,
    AGENT_MB,
    LIST_CPU,
    LIST_WALL,
    LIST_MB,
    PAGES_CPU,
    PAGES_WALL,
    PAGES_MB,
    WATCH_CPU,
    WATCH_WALL,
    WATCH_MB,
    FIGURES,
};

/* NAN: not measured. */
struct figures {
    double coracle[FIGURES], typed[FIGURES], dynamic[FIGURES];
    double json_bytes; /* of one object */
    bool is_short;     /* too little work for a verdict */
};

/* Every figure is NAN. */
void figures_clear(struct figures *f);

/* True when a bar was missed. */
bool figures_print(const struct figures *f);

#endif
