/* What one Put costs this process: by the etcd engine, and by a loop that sends and receives as
 * many bytes and understands none of them. Thread: one. */
#ifndef COR_BENCH_PUTS_H
#define COR_BENCH_PUTS_H

#include <stddef.h>

/* CPU of this process per write of 1 KB, `at_once` of them at a time, in microseconds. */
double puts_engine_us(const char *etcd_url, size_t n, size_t at_once);
double puts_bare_us(size_t n);

#endif
