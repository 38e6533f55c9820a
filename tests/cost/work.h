/* The work that the program has done, on all of its threads. A build that counts (-Dcounted=true)
 * counts the edges of the control flow that are passed in code of ours, and the bytes that
 * memcpy(), memmove(), memset(), memcmp(), memchr(), strlen() and realloc() go through for it.
 * The number of a piece of work is the difference before and after it; it is in no unit, and is
 * compared with that of more elements. Thread: any. */
#ifndef COR_TEST_WORK_H
#define COR_TEST_WORK_H

#include <stdint.h>

/* Always 0 in a build that does not count: valgrind does it there. */
uint64_t work_so_far(void);

#endif
