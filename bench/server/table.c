#include "table.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

/* What a bar is held against. */
enum bar { NO_BAR, AT_MOST, TIMES_NGINX, TIMES_SEND, PART_OF_KUBE, TIMES_KUBE };

struct row {
    const char *what;
    size_t figure; /* its place in struct figures */
    enum bar kind;
    double bar;
};

#define ROW(what, figure, kind, bar)                                                               \
    {                                                                                              \
        what, offsetof(struct figures, figure), kind, bar                                          \
    }

/* design: "The measuring stick". */
static const struct row rows[] = {
    ROW("start to /readyz, ms", start_ms, AT_MOST, 20),
    ROW("  first start ever, ms", first_start_ms, AT_MOST, 60),
    ROW("  with all objects of the last row of memory, ms", full_start_ms, AT_MOST, 500),
    ROW("memory (VmRSS), idle and empty, MB", idle_mb, AT_MOST, 12),
    ROW("  of it anonymous (RssAnon), MB", idle_anon_mb, NO_BAR, 0),
    ROW("memory per idle watch over TLS, bytes", watch_bytes, AT_MOST, IDLE_WATCH_BYTES),
    ROW("memory per 1 KB object, as written, bytes", written_object_bytes, AT_MOST, 2000),
    ROW("  after a restart, bytes", object_bytes, AT_MOST, 2000),
    ROW("GET one object, server CPU, us", get_us, TIMES_NGINX, 1.3),
    ROW("LIST 10,000 objects, server CPU, ms", list_ms, TIMES_NGINX, 1.3),
    ROW("LIST limit=500, server CPU, ms", page_ms, PART_OF_KUBE, 8),
    ROW("LIST 1 % of 10,000 by label, server CPU, ms", label_ms, AT_MOST, 0.5),
    ROW("create, 16 writers, server CPU, us", create_us, PART_OF_KUBE, 12),
    ROW("update, 16 writers, server CPU, us", update_us, PART_OF_KUBE, 12),
    ROW("create rate, 16 writers, 1/s", create_rate, TIMES_KUBE, 8),
    ROW("  update rate, 1/s", update_rate, NO_BAR, 0),
    ROW("burst to 1,000 watchers, server CPU per delivery, us", burst_us, AT_MOST, 2.5),
    ROW("one event to 1,000 watchers, server CPU per delivery, us", single_us, TIMES_SEND, 1.35),
    ROW("write to watcher, p50, ms", write_to_watch_p50_ms, AT_MOST, 0.7),
    ROW("  p99, ms", write_to_watch_p99_ms, AT_MOST, 2),
};

void figures_clear(struct figures *f)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        *(double *)(void *)((char *)f + rows[i].figure) = NAN;
}

static double figure(const struct figures *f, const struct row *row)
{
    return *(const double *)(const void *)((const char *)f + row->figure);
}

static void print_number(int width, double v)
{
    if (isnan(v))
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, v >= 1000 ? 0 : v >= 10 ? 1 : 2, v);
}

/* The peer's figure that the bar names, else kube-apiserver's, which says how far we have come. */
static double peer_of(const struct table *t, const struct row *row)
{
    switch (row->kind) {
    case TIMES_NGINX:
        return figure(&t->nginx, row);
    case TIMES_SEND:
        return t->send_us;
    case NO_BAR:
    case AT_MOST:
    case PART_OF_KUBE:
    case TIMES_KUBE:
        return figure(&t->kube, row);
    }
    return NAN;
}

static void print_bar(const struct row *row)
{
    char text[40] = "";

    switch (row->kind) {
    case NO_BAR:
        break;
    case AT_MOST:
        snprintf(text, sizeof(text), "<= %g", row->bar);
        break;
    case TIMES_NGINX:
        snprintf(text, sizeof(text), "<= %gx nginx", row->bar);
        break;
    case TIMES_SEND:
        snprintf(text, sizeof(text), "<= %gx send()", row->bar);
        break;
    case PART_OF_KUBE:
        snprintf(text, sizeof(text), "<= 1/%g peer", row->bar);
        break;
    case TIMES_KUBE:
        snprintf(text, sizeof(text), ">= %gx peer", row->bar);
        break;
    }
    printf("  %-16s", text);
}

static bool is_missed(const struct row *row, double value, double ratio)
{
    switch (row->kind) {
    case NO_BAR:
        return false;
    case AT_MOST:
        return value > row->bar;
    case TIMES_NGINX:
    case TIMES_SEND:
        return ratio > row->bar;
    case PART_OF_KUBE:
        return ratio > 1 / row->bar;
    case TIMES_KUBE:
        return ratio < row->bar;
    }
    return true;
}

static bool print_row(const struct table *t, const struct row *row)
{
    double value = figure(&t->coracle, row), ratio = value / peer_of(t, row);
    double judged = row->kind == AT_MOST ? value : ratio;
    bool missed = !isnan(judged) && is_missed(row, value, ratio);

    if (isnan(value))
        return false;
    printf("%-57s", row->what);
    print_number(10, value);
    print_number(10, figure(&t->nginx, row));
    print_number(10, figure(&t->kube, row));
    print_number(9, ratio);
    print_bar(row);
    if (row->kind != NO_BAR)
        fputs(t->is_short || isnan(judged) ? "not judged" : missed ? "MISSED" : "ok", stdout);
    putchar('\n');
    return missed;
}

bool table_print(const struct table *t)
{
    double load[3] = {0};
    bool missed = false;

    getloadavg(load, 3);
    printf(
        "%ld CPUs, load average %.2f: on a busy machine read the ratios and the CPU, not the clock\n",
        sysconf(_SC_NPROCESSORS_ONLN), load[0]);
    if (!isnan(t->send_us))
        printf("a bare send() of an event, us: %.2f\n", t->send_us);
    printf("a bare fdatasync() of one page, ms: %.2f\n\n", t->sync_ms);
    printf("%-57s %10s %10s %10s %9s  %-16s\n", "", "coracle", "nginx", "kube+etcd", "ratio",
           "bar");
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        missed |= print_row(t, &rows[i]);
    return missed && !t->is_short;
}
