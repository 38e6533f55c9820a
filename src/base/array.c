#include "base/array.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

#define FIRST_CAP 8

int cor_array_grow(void *pv, size_t element_bytes, size_t n, size_t more, size_t *pcap, size_t max)
{
    size_t cap = *pcap > 0 ? *pcap : FIRST_CAP;
    void *v;

    assert(element_bytes > 0 && n <= *pcap && more > *pcap - n);
    if (n > max || more > max - n)
        return -COR_ETOOBIG;
    cap = cap < max ? cap : max;
    while (cap < n + more)
        cap = cap <= max / 2 ? cap * 2 : max;
    if (cap > PTRDIFF_MAX / element_bytes)
        return -COR_ENOMEM;
    memcpy(&v, pv, sizeof(v));
    v = cor_realloc(v, cap * element_bytes);
    if (!v)
        return -COR_ENOMEM;
    memcpy(pv, &v, sizeof(v));
    *pcap = cap;
    return 0;
}
