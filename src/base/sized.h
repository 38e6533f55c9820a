/* Structs of programs that begin with their size, as coracle/api.h describes them: options, which
 * cor_sized_copy() takes (coracle/sized.h), and answers. No other function reads or writes such a
 * struct by its size. Thread: any (pure). */
#ifndef COR_BASE_SIZED_H
#define COR_BASE_SIZED_H

#include <stddef.h>

#include "coracle/sized.h"

/* No option struct is larger: a size beyond this was never set. */
#define COR_SIZED_MAX 4096

/* Answers with a struct: copies `from`, which has `n` bytes here, to the program's struct `to`,
 * whose size cor_sized_copy() has accepted. Members that the program does not know are left out;
 * the size, and members that this library does not know, stay as they are. */
void cor_sized_answer(void *to, const void *from, size_t n);

/* What cor_sized_copy() refused, for the message of a status. */
const char *cor_sized_text(int r);

#endif
