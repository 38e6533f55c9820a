/* clang-format off */
/* Compiles the schema of a custom resource once.
 *
 *   peek: the state is known ──► what was compiled, without a lock
 *         it is not ──► under the lock: still not? ──► compile ──► publish `compiled`, then the state
 *
 * The state is written once, after `compiled`, with release order; readers load it with acquire
 * order and need no lock then.
 * Failures: no memory; the state stays unknown. Thread: any. */
/* clang-format on */
#include "schema/kinds/custom_schema.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/err.h"
#include "base/lock.h"
#include "base/mem.h"
#include "schema/convert/conversion.h"

enum state {
    UNKNOWN,
    SHOWN,    /* structural, not compiled: only OpenAPI was requested */
    COMPILED, /* `compiled` has it */
    UNUSED,   /* not structural */
};

struct cor_custom_schema {
    struct cor_ref ref;
    struct cor_object *crd; /* whose bytes have `json` */
    struct cor_str json;    /* {"openAPIV3Schema": …} */
    struct cor_structural_opts opts;
    struct cor_lock lock;            /* held by the one who compiles */
    struct cor_structural *compiled; /* written once, before the state */
    _Atomic int state;               /* enum state */
    atomic_bool has_undefaulted;     /* an object was read whose defaults are too large */
};

struct cor_custom_schema *cor_custom_schema_new(struct cor_object *crd, struct cor_str json,
                                                const struct cor_structural_opts *opts)
{
    struct cor_custom_schema *schema = cor_calloc(1, sizeof(*schema));

    assert(crd && json.p && opts);
    if (!schema)
        return NULL;
    cor_ref_init(&schema->ref);
    cor_lock_init(&schema->lock, COR_LOCK_CUSTOM_SCHEMA);
    schema->crd = cor_object_ref(crd);
    schema->json = json;
    schema->opts = *opts;
    return schema;
}

struct cor_custom_schema *cor_custom_schema_ref(struct cor_custom_schema *schema)
{
    if (schema)
        cor_ref_get(&schema->ref);
    return schema;
}

struct cor_custom_schema *cor_custom_schema_unref(struct cor_custom_schema *schema)
{
    if (!schema || !cor_ref_put(&schema->ref))
        return NULL;
    cor_structural_free(schema->compiled);
    cor_lock_deinit(&schema->lock);
    cor_object_unref(schema->crd);
    return cor_free(schema);
}

/* Compiles with the lock held. `keeps`: what is compiled stays. */
static int compile_locked(struct cor_custom_schema *schema, bool keeps)
{
    COR_CLEANUP(cor_structural_freep) struct cor_structural *compiled = NULL;
    struct cor_str text = cor_convert_member(schema->json, "openAPIV3Schema");
    int r = -COR_EINVAL;

    if (text.p && cor_json_type(text) == COR_JSON_OBJECT)
        r = cor_structural_compile(text, &schema->opts, &compiled, NULL);

    if (r == -COR_EINVALID || r == -COR_EINVAL) {
        atomic_store_explicit(&schema->state, UNUSED, memory_order_release);
        return 0;
    }
    if (r < 0)
        return r;
    if (keeps)
        schema->compiled = COR_STEAL(compiled);
    atomic_store_explicit(&schema->state, keeps ? COMPILED : SHOWN, memory_order_release);
    return 0;
}

int cor_custom_schema_peek(struct cor_custom_schema *schema,
                           const struct cor_structural **ret_compiled)
{
    int state, r = 0;

    *ret_compiled = NULL;
    if (!schema)
        return 0;
    state = atomic_load_explicit(&schema->state, memory_order_acquire);
    if (state == UNKNOWN || state == SHOWN) {
        cor_lock_acquire(&schema->lock);
        state = atomic_load_explicit(&schema->state, memory_order_relaxed);
        if (state == UNKNOWN || state == SHOWN)
            r = compile_locked(schema, true);
        cor_lock_release(&schema->lock);
        state = atomic_load_explicit(&schema->state, memory_order_acquire);
    }
    if (r == 0 && state == COMPILED)
        *ret_compiled = schema->compiled;
    return r;
}

bool cor_custom_schema_is_shown(struct cor_custom_schema *schema)
{
    if (!schema)
        return false;
    if (atomic_load_explicit(&schema->state, memory_order_acquire) == UNKNOWN) {
        cor_lock_acquire(&schema->lock);
        if (atomic_load_explicit(&schema->state, memory_order_relaxed) == UNKNOWN)
            (void)compile_locked(schema, false);
        cor_lock_release(&schema->lock);
    }
    return atomic_load_explicit(&schema->state, memory_order_acquire) != UNUSED;
}

void cor_custom_schema_note_undefaulted(struct cor_custom_schema *schema)
{
    if (schema)
        atomic_store_explicit(&schema->has_undefaulted, true, memory_order_release);
}

bool cor_custom_schema_has_undefaulted(const struct cor_custom_schema *schema)
{
    return schema && atomic_load_explicit(&schema->has_undefaulted, memory_order_acquire);
}

size_t cor_custom_schema_weight(const struct cor_custom_schema *schema)
{
    int state = schema ? atomic_load_explicit(&schema->state, memory_order_acquire) : UNUSED;

    return state == UNKNOWN || state == SHOWN ? schema->json.n : 0;
}
