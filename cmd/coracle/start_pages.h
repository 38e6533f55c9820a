/* Gives back the pages of code and tables that a start has used. Thread: any, others may run. */
#ifndef CORACLE_START_PAGES_H
#define CORACLE_START_PAGES_H

#include <stddef.h>

/* Takes out of this process the pages of all files that are mapped read-only and unchanged: the
 * code and the constants of the program and of its libraries. What is used again is mapped again
 * from the kernel's cache of files, without reading a disk. Returns the bytes of the mappings; 0
 * where the system has no list of them. */
size_t start_pages_drop(void);

#endif
