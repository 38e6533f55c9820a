/* clang-format off */
/* Whether instances of a CustomResourceDefinition may be created, and how many are being created
 * now. All definitions that are made of one CustomResourceDefinition share its gate, so that a
 * request that holds an older one is stopped and counted, too.
 *
 *   a create enters: is counted, unless the gate is closed ──► its object is stored, or not ──► leaves
 *   a deletion closes the gate ──► waits until it is empty ──► lists what there is: nothing comes after that
 *
 * A create counts itself before it looks whether the gate is closed, and the deletion closes it
 * before it looks at the count; so one of the two sees the other.
 * Thread: any.  Owner: whoever holds a reference. */
/* clang-format on */
#ifndef COR_SCHEMA_KINDS_CREATION_GATE_H
#define COR_SCHEMA_KINDS_CREATION_GATE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/ref.h"

struct cor_creation_gate {
    struct cor_ref refs;
    _Atomic uint32_t n; /* that have entered */
    _Atomic bool is_closed;
};

/* Open, with one reference. NULL: no memory. */
static inline struct cor_creation_gate *cor_creation_gate_new(void)
{
    struct cor_creation_gate *gate = cor_calloc(1, sizeof(*gate));

    if (gate)
        cor_ref_init(&gate->refs);
    return gate;
}

static inline struct cor_creation_gate *cor_creation_gate_ref(struct cor_creation_gate *gate)
{
    cor_ref_get(&gate->refs);
    return gate;
}

/* Returns NULL; NULL is fine. */
static inline struct cor_creation_gate *cor_creation_gate_unref(struct cor_creation_gate *gate)
{
    return gate && cor_ref_put(&gate->refs) ? cor_free(gate) : NULL;
}

/* False: it is closed, and nothing may be created. True: cor_creation_gate_leave() follows, after
 * the object was stored or will not be; the gate stays valid until then. */
static inline bool cor_creation_gate_enter(struct cor_creation_gate *gate)
{
    atomic_fetch_add(&gate->n, 1);
    if (!atomic_load(&gate->is_closed)) {
        cor_ref_get(&gate->refs);
        return true;
    }
    atomic_fetch_sub(&gate->n, 1);
    return false;
}

static inline void cor_creation_gate_leave(struct cor_creation_gate *gate)
{
    uint32_t before = atomic_fetch_sub(&gate->n, 1);

    assert(before > 0);
    (void)before;
    cor_creation_gate_unref(gate);
}

/* Is nothing being created? What was true of a closed gate stays true. */
static inline bool cor_creation_gate_is_empty(const struct cor_creation_gate *gate)
{
    return atomic_load(&gate->n) == 0;
}

#endif
