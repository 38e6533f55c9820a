/* Gives back the pages of code and tables that a start has used.
 * Thread: any. Others may run, but may not load or unload a library meanwhile. */
#ifndef CORACLE_START_PAGES_H
#define CORACLE_START_PAGES_H

#include <stddef.h>
#include <stdio.h>

/* Takes out of this process the pages of all files that are mapped read-only and unchanged: the
 * code and the constants of the program and of its libraries. What is used again is mapped again,
 * as a rule from the kernel's cache of files. Returns the bytes of the mappings; 0
 * where the system has no list of them. */
size_t start_pages_drop(void);

/* The same for the mappings in `list`, which has the form of /proc/self/smaps and stays the
 * caller's. */
size_t start_pages_drop_listed(FILE *list);

#endif
