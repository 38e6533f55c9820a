/* Option structs that are passed on: the rule of coracle/api.h as a function. It is not inline,
 * because a compiler that sees the struct of the program and a size beside it warns of what lies
 * behind that struct, which the size rules out. */
#ifndef CORACLE_SIZED_H
#define CORACLE_SIZED_H

#include <stddef.h>

#include "coracle/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Copies the option struct `from`, whose first member is its size as it was compiled, to `to`,
 * which has `n` bytes here. Members that `from` lacks become 0; `from` may be NULL, and then all
 * do. `to` has the size `n` afterwards. No option struct has more than 4096 bytes. Thread: any
 * (pure). 0; -COR_EINVAL (the size is not set), -COR_ENOTSUP (a member is set that `to` does not
 * have); `to` is not written then. */
COR_API int cor_sized_copy(void *to, size_t n, const void *from);

#ifdef __cplusplus
}
#endif

#endif
