/* A program's own way to look host names up, for programs that want no threads beside their own.
 * Thread: any (values). */
#ifndef CORACLE_RESOLVE_H
#define CORACLE_RESOLVE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Addresses that are tried at most. */
#define COR_RESOLVER_ADDRESSES_MAX 8
/* Bytes of a numeric address with its NUL. */
#define COR_RESOLVER_ADDRESS_BYTES 46

struct cor_addresses {
    char at[COR_RESOLVER_ADDRESSES_MAX][COR_RESOLVER_ADDRESS_BYTES];
    size_t n;
};

/* Called on the runtime's I/O thread or inside the pump, never for numeric addresses; it must not
 * block. 0 with at least one address, or a negative code: not known. */
typedef int (*cor_resolve_fn)(void *arg, const char *host, struct cor_addresses *ret_found);

#ifdef __cplusplus
}
#endif

#endif
