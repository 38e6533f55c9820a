/* Scope-bound release, explicit hand-over, and the way from a member to its struct. */
#ifndef COR_BASE_CLEANUP_H
#define COR_BASE_CLEANUP_H

#include <stddef.h>

#define COR_CLEANUP(fn) __attribute__((cleanup(fn)))

/* Takes the pointer out of `p` and leaves NULL: ownership moves at this very place. */
#define COR_STEAL(p)                                                                               \
    __extension__({                                                                                \
        __typeof__(p) *cor_steal_ = &(p);                                                          \
        __typeof__(p) cor_stolen_ = *cor_steal_;                                                   \
        *cor_steal_ = NULL;                                                                        \
        cor_stolen_;                                                                               \
    })

#define COR_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define COR_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define COR_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* Defines `namep`, the cleanup function of a `_free` or `_unref` function. */
#define COR_DEFINE_CLEANUP(type, fn)                                                               \
    static inline void fn##p(type **p)                                                             \
    {                                                                                              \
        if (*p)                                                                                    \
            fn(*p);                                                                                \
    }

#endif
