/* The hooks of validation for Endpoints and EndpointSlice: what no line of a rule file can say. A
 * hook is cor_hook_NAME() in check_discovery.c, a test of a condition is cor_when_NAME() there;
 * both are declared by hooks.h. tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_DISCOVERY_H
#define COR_SCHEMA_HOOKS_CHECK_DISCOVERY_H

/* clang-format off */
#define COR_DISCOVERY_HOOKS(X)                                                                     \
    X(slice_port_names)    /* []EndpointPort of a slice: names, each once */                       \
    X(slice_addresses)     /* addresses of an Endpoint: as the slice's addressType says */         \
    X(unique_names)        /* a list whose elements have names: each once */

#define COR_DISCOVERY_WHENS(X)
/* clang-format on */

#endif
