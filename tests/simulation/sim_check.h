/* An expectation of a history; when it fails, the history's seed is printed and
 * the test ends. */
#ifndef COR_SIM_CHECK_H
#define COR_SIM_CHECK_H

#include <stdint.h>

extern uint64_t sim_seed; /* of the history that runs */

#define sim_check(cond, ...)                                                                       \
    do {                                                                                           \
        if (!(cond))                                                                               \
            sim_failed(__FILE__, __LINE__, #cond, __VA_ARGS__);                                    \
    } while (0)

__attribute__((format(printf, 4, 5), noreturn)) void
sim_failed(const char *file, int line, const char *cond, const char *fmt, ...);

#endif
