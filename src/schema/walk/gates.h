/* Fields behind feature gates that are off (api/all.gates): a write drops them, unless the present
 * object uses a field of the same gate.
 * Thread: any (pure). */
#ifndef COR_SCHEMA_WALK_GATES_H
#define COR_SCHEMA_WALK_GATES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "schema/types/types.h"

/* What a drop means beside taking the member out. tools/compile_gates.py reads the names here. */
/* clang-format off */
#define COR_GATE_HOOKS(X)                                                                          \
    X(none)                                                                                        \
    X(restart_policy) /* the policy Always of an init container is another feature */              \
    X(stop_signal)    /* a lifecycle that has nothing else goes with it */                         \
    X(image_volume)   /* the volume goes, and all that mounts it */
/* clang-format on */

enum cor_gate_hook {
#define X(name) COR_GATE_HOOK_##name,
    COR_GATE_HOOKS(X)
#undef X
};

/* Drops what `json`, a normalised object of `type`, may not have. Only few objects need the call:
 * cor_normalize_noting() finds out which. `old` is the present object, p == NULL: none. 0: there is
 * nothing to drop, and nothing was appended. 1: the object without it was appended to `out`.
 * -COR_ENOMEM, -COR_ETOOBIG. */
int cor_gates_drop(const struct cor_type *type, struct cor_str json, struct cor_str old,
                   struct cor_buf *out);

/* The tables, which tools/compile_types.py writes. */
struct cor_gated_field {
    uint32_t field; /* its number; the rows are sorted by it */
    uint8_t gate;   /* a bit */
    uint8_t hook;
};
enum {
    COR_GATED_BELOW = 1, /* something in the type has such a field */
    COR_GATED_HERE,      /* the type itself has */
};
extern const struct cor_gated_field cor_gated_fields[];
extern const size_t cor_gated_fields_n;
extern const uint8_t cor_gated_types[]; /* by the number of the type */

#endif
