/* Look-ups in the tables of strategies. */
#include "schema/types/strategy.h"

#include <assert.h>

#include "schema/types/types_int.h"

const struct cor_strategy *cor_strategy_of(const struct cor_type *type)
{
    size_t low = 0, high = cor_strategies_n;
    uint32_t number;

    /* A type that was made while the server runs is not in the table of types. */
    if (!type || type < cor_types || type >= cor_types + cor_types_n)
        return NULL;
    number = (uint32_t)(type - cor_types);
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (cor_strategies[middle].type == number)
            return &cor_strategies[middle];
        if (cor_strategies[middle].type < number)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct cor_strategy_step *cor_strategy_step(const struct cor_strategy *strategy, size_t i)
{
    assert(i < strategy->nsteps);
    return &cor_strategy_steps[strategy->first_step + i];
}

struct cor_str cor_strategy_step_name(const struct cor_strategy_step *step)
{
    return cor_strz(cor_type_pool + step->name);
}

struct cor_str cor_strategy_step_value(const struct cor_strategy_step *step)
{
    return cor_strz(cor_type_pool + step->value);
}

struct cor_str cor_strategy_counted(const struct cor_strategy *strategy, size_t i,
                                    bool *ret_is_meta)
{
    const struct cor_strategy_counted *row;

    assert(i < strategy->ncounted);
    row = &cor_strategy_members[strategy->first_counted + i];
    *ret_is_meta = row->is_meta;
    return cor_strz(cor_type_pool + row->name);
}

struct cor_str cor_strategy_mask(const struct cor_strategy *strategy, enum cor_strategy_on on)
{
    for (size_t i = 0; strategy && i < strategy->nsteps; i++) {
        const struct cor_strategy_step *step = cor_strategy_step(strategy, i);

        if (step->does == COR_STRATEGY_MASK && step->on == on)
            return cor_strategy_step_value(step);
    }
    return COR_STR("");
}
