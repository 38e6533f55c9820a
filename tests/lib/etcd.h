/* A real etcd for tests: one member of the test program's own, on free ports and with a folder that
 * goes with it. $COR_ETCD names the program; without it the one in $PATH is taken.
 * Thread: the test's. */
#ifndef COR_TEST_ETCD_H
#define COR_TEST_ETCD_H

#include <stdbool.h>

/* Ends the program with a TAP "skip" when there is no etcd. Call it before main(). */
void test_etcd_or_skip(void);

/* Its client URL. Started by the first call, killed at exit, also when the test program is. */
const char *test_etcd_url(void);

/* Stops it for good or for a while (SIGKILL, SIGSTOP, SIGCONT). */
void test_etcd_signal(int signal);
/* After SIGKILL: the same data and ports. */
void test_etcd_restart(void);

#endif
