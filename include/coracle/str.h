/* A borrowed string: a pointer and a length. It does not own its bytes and need not end in NUL. The
 * function that returns a string says how long its bytes stay valid.
 * Thread: any (a value). */
#ifndef CORACLE_STR_H
#define CORACLE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "coracle/api.h"

#ifdef __cplusplus
extern "C" {
COR_STRUCT_NAMES_BEGIN
#endif

struct cor_str {
    const char *p;
    size_t n;
};

/* Both make a string of a literal: COR_STR in expressions, COR_STR_INIT in initialisers, including
 * those of static variables, where ISO C accepts no expression of a struct type.
 *
 *   static const struct cor_str fields[] = {COR_STR_INIT("spec.nodeName")}; */
#define COR_STR_INIT(lit)                                                                          \
    {                                                                                              \
        (lit), sizeof(lit) - 1                                                                     \
    }
#ifdef __cplusplus
#define COR_STR(lit) cor_str((lit), sizeof(lit) - 1)
#else
#define COR_STR(lit) ((struct cor_str){(lit), sizeof(lit) - 1})
#endif
/* For printf: "%.*s", COR_STR_ARG(s). */
#define COR_STR_ARG(s) (int)(s).n, (s).p

static inline struct cor_str cor_str(const char *p, size_t n)
{
    struct cor_str s = {p, n};

    return s;
}

/* `s` may be NULL: the empty string. */
static inline struct cor_str cor_strz(const char *s)
{
    return s ? cor_str(s, strlen(s)) : cor_str("", 0);
}

static inline bool cor_str_eq(struct cor_str a, struct cor_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool cor_str_eqz(struct cor_str a, const char *b)
{
    return cor_str_eq(a, cor_strz(b));
}

#ifdef __cplusplus
COR_STRUCT_NAMES_END
}
#endif

#endif
