/* The figures of one server, and the table of all of them beside their bars. */
#ifndef COR_BENCH_TABLE_H
#define COR_BENCH_TABLE_H

#include <stdbool.h>

/* NAN: not measured. */
struct figures {
    double start_ms, first_start_ms, full_start_ms;
    double idle_mb, idle_anon_mb;
    double object_bytes, written_object_bytes, watch_bytes;
    double get_us, list_ms, page_ms, label_ms;
    double create_us, update_us, create_rate, update_rate;
    double burst_us, single_us;
    double write_to_watch_p50_ms, write_to_watch_p99_ms;
};

/* Every figure is NAN. */
void figures_clear(struct figures *f);

struct table {
    struct figures coracle, nginx, kube;
    double send_us; /* one bare send() per delivery */
    double sync_ms; /* one bare fdatasync() where the data is */
    bool is_short;  /* too little work for a verdict */
};

/* True when a bar was missed. */
bool table_print(const struct table *t);

#endif
