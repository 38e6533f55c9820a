/* Option structs that begin with their size, as coracle/api.h describes them for programs.
 * Thread: any (pure). */
#ifndef COR_BASE_SIZED_H
#define COR_BASE_SIZED_H

#include <stddef.h>

/* No option struct is larger: a size beyond this was never set. */
#define COR_SIZED_MAX 4096

/* Copies the struct `from`, whose first member is its size as the program was compiled, to `to`,
 * which has `n` bytes here. Members that the program does not know become 0; `from` may be NULL,
 * and then all do. `to` has the size `n` afterwards. 0; -COR_EINVAL (the size is not set),
 * -COR_ENOTSUP (the program has set a member that this library does not know); `to` is not written
 * then. */
int cor_sized_copy(void *to, size_t n, const void *from);

/* What cor_sized_copy() refused, for the message of a status. */
const char *cor_sized_text(int r);

#endif
