/* What the fuzz targets share. */
#ifndef COR_FUZZ_H
#define COR_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The body of a target, one per file; returns 0. A broken promise is an abort.
 *
 *   FUZZ_TARGET(const uint8_t *data, size_t size)
 *   {
 *       ...
 *   }
 *
 * libFuzzer has a program per target; the replay of the corpora has all in one and knows them by
 * their file. */
#ifdef FUZZ_REPLAY
typedef int (*fuzz_fn)(const uint8_t *data, size_t size);

void fuzz_register(const char *file, fuzz_fn fn);

#define FUZZ_ENTRY                                                                                 \
    __attribute__((constructor)) static void fuzz_register_this(void)                              \
    {                                                                                              \
        fuzz_register(__BASE_FILE__, fuzz_one);                                                    \
    }
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_ENTRY                                                                                 \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                   \
    {                                                                                              \
        return fuzz_one(data, size);                                                               \
    }
#endif

#define FUZZ_TARGET(data, size)                                                                    \
    static int fuzz_one(data, size);                                                               \
    FUZZ_ENTRY                                                                                     \
    static int fuzz_one(data, size)

#define FUZZ_CHECK(cond)                                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #cond);             \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
