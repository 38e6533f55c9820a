#include "sim_check.h"

#include <stdio.h>

#include "test.h"

uint64_t sim_seed;

void sim_failed(const char *file, int line, const char *cond, const char *fmt, ...)
{
    va_list ap;

    test_fail_alloc(0, false);
    fprintf(stderr, "%s:%d: %s: ", file, line, cond);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\nrun it again: COR_SIM_SEED=%llu\n", (unsigned long long)sim_seed);
    fail();
    abort();
}
