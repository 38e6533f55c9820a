#include "measure.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

uint64_t measure_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t measure_cpu_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t measure_heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

uint64_t measure_percentile(uint64_t *v, size_t n, double p)
{
    size_t at = (size_t)(p / 100 * (double)n);

    if (n == 0)
        return 0;
    qsort(v, n, sizeof(*v), compare);
    return v[at < n ? at : n - 1];
}

void measure_header(void)
{
    double load[3] = {0};

    getloadavg(load, 3);
    printf(
        "%ld CPUs, load average %.2f: on a busy machine read the ratios and the CPU, not the clock\n\n",
        sysconf(_SC_NPROCESSORS_ONLN), load[0]);
    printf("%-54s %12s %12s %8s %16s\n", "", "coracle", "raw SQLite", "ratio", "bar");
}

static void print_number(int width, double v)
{
    if (isnan(v))
        printf(" %*s", width, "");
    else if (v >= 1000)
        printf(" %*.0f", width, v);
    else
        printf(" %*.*f", width, v >= 10 ? 1 : 2, v);
}

bool measure_row(const struct measure_row *row)
{
    double ratio = row->value / row->peer, judged = row->bar_on_ratio ? ratio : row->value;
    bool missed = false;
    char what[80], bar[40] = "";

    snprintf(what, sizeof(what), "%s%s%s", row->what, *row->unit ? ", " : "", row->unit);
    printf("%-54s", what);
    print_number(12, row->value);
    print_number(12, row->peer);
    print_number(8, ratio);
    if (!isnan(row->bar)) {
        missed = row->more_is_better ? judged < row->bar : judged > row->bar;
        snprintf(bar, sizeof(bar), "%s %g%s", row->more_is_better ? ">=" : "<=", row->bar,
                 row->bar_on_ratio ? "x" : "");
        printf(" %16s  %s", bar, missed ? "MISS" : "PASS");
    }
    putchar('\n');
    fflush(stdout);
    return missed;
}
