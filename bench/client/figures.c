#include "figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

enum bar { NO_BAR, AT_MOST, PART_OF_PEER, TIMES_PEER };

/* The peer of the rows about controllers is controller-runtime, in the column of the typed
 * informer, which it uses. client-go has no projection: its column there is the metadata-only
 * informer's where that is what the row is about, else empty. Structs are beside encoding/json and
 * beside Rust, and programs without an informer beside the official C client, all in that column.
 */
static const struct row {
    const char *what;
    enum figure figure;
    enum bar kind;
    double bar;
} rows[] = {
    {"sync of the small set, CPU, ms", SMALL_CPU, PART_OF_PEER, 0.25},
    {"  wall, ms", SMALL_WALL, NO_BAR, 0},
    {"sync of the large set, CPU, ms", LARGE_CPU, PART_OF_PEER, 0.25},
    {"  wall, ms", LARGE_WALL, NO_BAR, 0},
    {"  three projected fields, CPU, ms", PROJECTED_CPU, NO_BAR, 0},
    {"  metadata only, CPU, ms", METADATA_CPU, NO_BAR, 0},
    {"typed sync of as many pods, CPU, ms", PODS_CPU, PART_OF_PEER, 0.25},
    {"  memory per pod, bytes", PODS_BYTES, PART_OF_PEER, 0.5},
    {"memory per object, whole, bytes", OBJECT_BYTES, AT_MOST, 1800},
    {"  beside client-go's after a collection", OBJECT_BYTES, PART_OF_PEER, 0.6},
    {"  as it runs, without a forced collection", RUNNING_BYTES, NO_BAR, 0},
    {"  three projected fields, bytes", PROJECTED_BYTES, AT_MOST, 300},
    {"  metadata only, bytes", METADATA_BYTES, NO_BAR, 0},
    {"events to three handlers, 1/s", EVENT_RATE, TIMES_PEER, 5},
    {"  client CPU per event, us", EVENT_CPU, NO_BAR, 0},
    {"2,000 changes/s to a controller, CPU each, us", RECONCILE_CPU, PART_OF_PEER, 0.2},
    {"  from the event sent to the reconcile, p50, us", RECONCILE_P50, NO_BAR, 0},
    {"  p99, us", RECONCILE_P99, NO_BAR, 0},
    {"index lookups, each of 1 % of the small set, 1/s", LOOKUP_RATE, NO_BAR, 0},
    {"work queue, add + get + done, 1/s", QUEUE_RATE, NO_BAR, 0},
    {"ten fields of a 2 KB pod, views / decode, CPU, us", FIELDS_CPU, PART_OF_PEER, 0.05},
    {"the pod into a struct, beside encoding/json, CPU, us", DECODE_CPU, PART_OF_PEER, 1.0 / 3},
    {"  beside the types of kube-rs (serde_json)", SERDE_CPU, PART_OF_PEER, 1},
    {"pod agent, 1,000 pods, RssAnon, MB", AGENT_MB, AT_MOST, 5},
    {"list of as many pods, beside the C client, CPU, ms", LIST_CPU, PART_OF_PEER, 1},
    {"  wall, ms", LIST_WALL, PART_OF_PEER, 1},
    {"  peak RSS, MB", LIST_MB, PART_OF_PEER, 1},
    {"the list by pages of 500, CPU, ms", PAGES_CPU, PART_OF_PEER, 1},
    {"  wall, ms", PAGES_WALL, PART_OF_PEER, 1},
    {"  peak RSS, MB", PAGES_MB, PART_OF_PEER, 1},
    {"watch of all events, beside the C client, CPU, ms", WATCH_CPU, PART_OF_PEER, 1},
    {"  wall, ms", WATCH_WALL, PART_OF_PEER, 1},
    {"  peak RSS, MB", WATCH_MB, PART_OF_PEER, 1},
};

void figures_clear(struct figures *f)
{
    for (int i = 0; i < FIGURES; i++)
        f->coracle[i] = f->typed[i] = f->dynamic[i] = NAN;
}

static void print_number(int width, double v)
{
    if (isnan(v))
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, v >= 1000 ? 0 : v >= 10 ? 1 : 2, v);
}

static const char *verdict(const struct row *row, double judged)
{
    bool missed = row->kind == TIMES_PEER ? judged < row->bar : judged > row->bar;

    return isnan(judged) ? "not judged" : missed ? "MISSED" : "ok";
}

static void print_bar(const struct row *row)
{
    static const char *const formats[] = {"", "<= %g", "<= %gx typed", ">= %gx typed"};
    char text[40];

    snprintf(text, sizeof(text), formats[row->kind], row->bar);
    printf("  %-15s", text);
}

static bool print_row(const struct figures *f, const struct row *row)
{
    double value = f->coracle[row->figure], ratio = value / f->typed[row->figure];
    double judged = f->is_short ? NAN : row->kind == AT_MOST ? value : ratio;
    const char *said = row->kind == NO_BAR ? "" : verdict(row, judged);

    printf("%-50s", row->what);
    print_number(10, value);
    print_number(10, f->typed[row->figure]);
    print_number(10, f->dynamic[row->figure]);
    print_number(8, ratio);
    print_bar(row);
    puts(said);
    return *said == 'M';
}

bool figures_print(const struct figures *f)
{
    double load[3] = {0};
    bool missed = false;

    getloadavg(load, 3);
    printf(
        "%ld CPUs, load average %.2f: on a busy machine read the ratios and the CPU, not the clock\n",
        sysconf(_SC_NPROCESSORS_ONLN), load[0]);
    printf("one object as JSON, bytes: %.0f\n\n", f->json_bytes);
    printf("%-50s %10s %10s %10s %8s  %s\n", "", "coracle", "typed", "dynamic", "ratio", "bar");
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        missed |= print_row(f, &rows[i]);
    return missed;
}
