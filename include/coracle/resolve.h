/* A resolver of the program, for programs that want no threads of the library.
 * Thread: any (values). */
#ifndef CORACLE_RESOLVE_H
#define CORACLE_RESOLVE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The maximum of addresses that are tried. */
#define COR_RESOLVER_ADDRESSES_MAX 8
/* Bytes of a numeric address with its NUL. */
#define COR_RESOLVER_ADDRESS_BYTES 46

struct cor_addresses {
    char at[COR_RESOLVER_ADDRESSES_MAX][COR_RESOLVER_ADDRESS_BYTES];
    size_t n;
};

/* Looks up a host name. It is called on the runtime's I/O thread or inside the pump, never for a
 * numeric address, and must not block. Returns 0 with at least one address, or a negative code when
 * the name is not known. */
typedef int (*cor_resolve_fn)(void *arg, const char *host, struct cor_addresses *ret_found);

#ifdef __cplusplus
}
#endif

#endif
