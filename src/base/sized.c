#include "base/sized.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "coracle/version.h"

int cor_sized_copy(void *to, size_t n, const void *from)
{
    const unsigned char *bytes = from;
    size_t size = sizeof(size);

    assert(n > sizeof(size) && n <= COR_SIZED_MAX);
    if (from)
        memcpy(&size, from, sizeof(size));
    if (size < sizeof(size) || size > COR_SIZED_MAX)
        return -COR_EINVAL;
    for (size_t i = n; i < size; i++) {
        if (bytes[i] != 0)
            return -COR_ENOTSUP;
    }
    memset(to, 0, n);
    if (from)
        memcpy(to, from, size < n ? size : n);
    memcpy(to, &n, sizeof(n));
    return 0;
}

void cor_sized_answer(void *to, const void *from, size_t n)
{
    size_t size;

    memcpy(&size, to, sizeof(size));
    assert(n > sizeof(size) && size >= sizeof(size) && size <= COR_SIZED_MAX);
    memcpy((char *)to + sizeof(size), (const char *)from + sizeof(size),
           (size < n ? size : n) - sizeof(size));
}

const char *cor_sized_text(int r)
{
    if (r == -COR_ENOTSUP)
        return "the program sets an option that libcoracle " COR_VERSION " does not know";
    return "the size of the options is not set: begin them with their macro (coracle/api.h)";
}
