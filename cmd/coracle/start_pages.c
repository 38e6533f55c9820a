/* clang-format off */
/* The pages of code and tables that a start has used.
 *
 * A start runs much that is never run again: it makes keys and certificates, opens the store and
 * creates the first objects, which passes through every stage of a write. Whatever it touches is
 * mapped with the 15 pages around it, so that nearly all of the program and half of libcrypto would
 * stay in the resident memory of a server that has nothing to do.
 *
 *   /proc/self/smaps ──► a mapping of a file, not writable ──► has pages of its own? ──► leave it
 *                                                          └► none ──► MADV_DONTNEED
 *
 * A page of its own is one that was written to before the mapping became read-only: relocations, and
 * the breakpoints of a debugger. MADV_DONTNEED would lose it, in memory ("Anonymous" of smaps) as
 * well as in swap space ("Swap": these pages are not among the anonymous ones). A mapping with such
 * pages stays as it is.
 * Failures: without /proc nothing is dropped; madvise() that fails leaves the pages where they are.
 * Thread: any; threads that run in a page meanwhile fault and go on. None of them may load or unload
 * a library meanwhile: other memory could take the place of a mapping that was read. */
/* clang-format on */
#include "start_pages.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LINE_MAX_BYTES 4608 /* a path of PATH_MAX bytes and the numbers before it */

struct mapping {
    uintptr_t begin, end;
    bool is_candidate; /* a file that is mapped read-only */
    bool is_unwritten; /* no page of its own is in memory */
};

/* Reads the first line about a mapping; false: it is another line, and `*ret` stays as it is. */
static bool mapping_read(const char *line, struct mapping *ret)
{
    uintptr_t begin, end;
    unsigned long inode;
    char mode[5];

    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*x:%*x %lu", &begin, &end, mode, &inode) !=
        4)
        return false;
    *ret = (struct mapping){.begin = begin,
                            .end = end,
                            .is_candidate =
                                inode != 0 && mode[0] == 'r' && mode[1] == '-' && mode[3] == 'p'};
    return true;
}

size_t start_pages_drop_listed(FILE *list)
{
    struct mapping mapping = {0};
    char line[LINE_MAX_BYTES];
    unsigned long kb;
    size_t dropped = 0;

    while (fgets(line, sizeof(line), list)) {
        if (mapping_read(line, &mapping))
            continue;
        if (sscanf(line, "Anonymous: %lu kB", &kb) == 1)
            mapping.is_unwritten = kb == 0;
        /* The kernel writes this line after the other one. */
        if (sscanf(line, "Swap: %lu kB", &kb) != 1 || kb > 0 || !mapping.is_candidate ||
            !mapping.is_unwritten)
            continue;
        /* Integers are addresses here: nothing of the mapping is read or written. */
        if (madvise((void *)mapping.begin, mapping.end - mapping.begin, MADV_DONTNEED) == 0)
            dropped += mapping.end - mapping.begin;
    }
    return dropped;
}

size_t start_pages_drop(void)
{
    FILE *list = fopen("/proc/self/smaps", "re");
    size_t dropped = list ? start_pages_drop_listed(list) : 0;

    if (list)
        (void)fclose(list);
    return dropped;
}
