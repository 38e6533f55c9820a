/* Each scrape asks the kernel. A figure that cannot be read is 0: a scrape does not fail for it. */
#include "server/metrics/process_metrics.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The first line of a file of /proc, in `line`; empty when it cannot be read. */
static struct cor_str proc_line(const char *path, char *line, int size)
{
    FILE *file = fopen(path, "re");

    if (!file)
        return COR_STR("");
    if (!fgets(line, size, file))
        line[0] = '\0';
    (void)fclose(file);
    return cor_strz(line);
}

/* A figure of /proc/self/statm, which counts pages, in bytes. */
static uint64_t statm_bytes(size_t place)
{
    char line[128];
    struct cor_str rest = proc_line("/proc/self/statm", line, sizeof(line));
    uint64_t pages = 0;

    for (size_t i = 0; i < place; i++)
        cor_str_cut(&rest, ' ');
    if (cor_str_to_u64(cor_str_cut(&rest, ' '), &pages) < 0)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t read_virtual(void *arg)
{
    return statm_bytes(0);
}

static uint64_t read_resident(void *arg)
{
    return statm_bytes(1);
}

static uint64_t read_limit(int resource)
{
    struct rlimit limit;

    return getrlimit(resource, &limit) == 0 ? limit.rlim_cur : 0;
}

static uint64_t read_max_fds(void *arg)
{
    return read_limit(RLIMIT_NOFILE);
}

static uint64_t read_cpu_us(void *arg)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) < 0)
        return 0;
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* The descriptor of the folder itself is not counted. Without opendir(), which ThreadSanitizer does
 * not see open a descriptor that another thread has closed before. */
static uint64_t read_open_fds(void *arg)
{
    _Alignas(struct dirent) char entries[8192];
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t n = 0;
    ssize_t size;

    if (folder < 0)
        return 0;
    while ((size = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct dirent *entry = (const struct dirent *)(entries + at);

            n += entry->d_name[0] != '.';
            at += entry->d_reclen;
        }
    }
    (void)close(folder);
    return n > 0 ? n - 1 : 0;
}

/* In milliseconds of the wall clock. The kernel has the start as ticks since the machine's. */
static uint64_t read_start_ms(void *arg)
{
    char line[1024];
    struct cor_str stat = proc_line("/proc/self/stat", line, sizeof(line));
    /* The program's name, in parentheses, may have any byte in it. */
    const char *name_end = strrchr(stat.p, ')');
    struct timespec now, up;
    uint64_t ticks, start_ms;

    if (!name_end || clock_gettime(CLOCK_REALTIME, &now) < 0 ||
        clock_gettime(CLOCK_BOOTTIME, &up) < 0)
        return 0;
    stat = cor_strz(name_end + 2);
    for (size_t field = 3; field < 22; field++)
        cor_str_cut(&stat, ' ');
    if (cor_str_to_u64(cor_str_cut(&stat, ' '), &ticks) < 0)
        return 0;
    start_ms = ticks * 1000u / (uint64_t)sysconf(_SC_CLK_TCK);
    return (uint64_t)(now.tv_sec - up.tv_sec) * 1000u + start_ms;
}

int cor_process_metrics_add(struct cor_metrics *metrics)
{
    static const struct {
        struct cor_metric_desc desc;
        uint64_t (*read)(void *arg);
    } rows[] = {
        {{"process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
          COR_METRIC_COUNTER, 1000000},
         read_cpu_us},
        {{"process_max_fds", "Maximum number of open file descriptors.", COR_METRIC_GAUGE},
         read_max_fds},
        {{"process_open_fds", "Number of open file descriptors.", COR_METRIC_GAUGE}, read_open_fds},
        {{"process_resident_memory_bytes", "Resident memory size in bytes.", COR_METRIC_GAUGE},
         read_resident},
        {{"process_start_time_seconds", "Start time of the process since unix epoch in seconds.",
          COR_METRIC_GAUGE, 1000},
         read_start_ms},
        {{"process_virtual_memory_bytes", "Virtual memory size in bytes.", COR_METRIC_GAUGE},
         read_virtual},
    };
    int r = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(rows) && r == 0; i++) {
        struct cor_metric *metric;

        r = cor_metrics_add(metrics, &rows[i].desc, &metric);
        if (r == 0)
            r = cor_metric_add_read(metric, "", rows[i].read, NULL);
    }
    return r;
}
