/* The strategies of the built-in kinds as const tables: what a write does to an object of a kind
 * before the object is validated and stored (api/all.strategies, docs/internals/strategy.md). A
 * strategy is a list of steps; each step is for one endpoint and one member of the object or of its
 * metadata. server/strategy/ runs them.
 * Owner: nobody, the tables are constants.  Thread: any. */
#ifndef COR_SCHEMA_TYPES_STRATEGY_H
#define COR_SCHEMA_TYPES_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "schema/types/types.h"

/* Where a write goes: the object itself, or a subresource. tools/compile_strategies.py has the same
 * list. */
enum cor_strategy_on {
    COR_ON_CREATE,
    COR_ON_UPDATE,
    COR_ON_STATUS,
    COR_ON_FINALIZE,
    COR_ON_APPROVAL,
    COR_ON_EPHEMERALCONTAINERS,
    COR_ON_RESIZE,
};

/* Hooks of one endpoint of a kind; tools/compile_strategies.py refuses more. */
#define COR_STRATEGY_HOOKS_MAX 4

enum cor_strategy_does {
    COR_STRATEGY_SET,  /* the member gets a constant value */
    COR_STRATEGY_KEEP, /* the member is that of the present object */
    COR_STRATEGY_HOOK, /* a function makes the member (schema/strategies/strategy_hooks.h) */
    COR_STRATEGY_MASK, /* writers to the endpoint do not own these fields; no member changes */
};

/* Names and values are offsets into the pool of the types. */
struct cor_strategy_step {
    uint32_t name;
    uint32_t value; /* canonical JSON, of a SET; FieldsV1, of a MASK */
    uint8_t on, does;
    uint8_t hook;
    bool is_meta; /* the member is one of the metadata */
};

/* A member whose change makes a new generation. */
struct cor_strategy_counted {
    uint32_t name;
    bool is_meta;
};

struct cor_strategy {
    uint32_t type; /* its number */
    uint16_t first_step, first_counted;
    uint8_t nsteps, ncounted;
    uint8_t generation;   /* of a new object; 0: as it was sent */
    bool counts_as_sent;  /* changes are looked for in what was sent, before the steps have run */
    bool counts_exactly;  /* a list or map that is sent empty differs from one that is absent */
    bool needs_sender;    /* a hook asks who sent the object */
    bool has_plain_names; /* a generated name is generateName alone, without a suffix */
    bool has_uid_names;   /* an object with neither name nor generateName gets a UUID as its name */
};

/* Of a kind; NULL: it has none, and its objects are stored as they are sent. */
const struct cor_strategy *cor_strategy_of(const struct cor_type *type);

/* `i` is below nsteps, or ncounted. */
const struct cor_strategy_step *cor_strategy_step(const struct cor_strategy *strategy, size_t i);
struct cor_str cor_strategy_step_name(const struct cor_strategy_step *step);
struct cor_str cor_strategy_step_value(const struct cor_strategy_step *step);
struct cor_str cor_strategy_counted(const struct cor_strategy *strategy, size_t i,
                                    bool *ret_is_meta);

/* The fields, as FieldsV1, that writers to the endpoint do not own (upstream's reset fields): what
 * is sent of them is not stored. A creation writes to COR_ON_UPDATE. Empty: all fields are owned.
 * `strategy` may be NULL. */
struct cor_str cor_strategy_mask(const struct cor_strategy *strategy, enum cor_strategy_on on);

/* The tables, which tools/compile_types.py writes; sorted by type. */
extern const struct cor_strategy cor_strategies[];
extern const struct cor_strategy_step cor_strategy_steps[];
extern const struct cor_strategy_counted cor_strategy_members[];
extern const size_t cor_strategies_n;

#endif
