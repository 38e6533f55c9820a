/* The table of the hooks of strategies, by their names in strategy_hooks.h. */
#include <assert.h>

#include "schema/strategies/strategy_hooks.h"

int cor_strategy_hook_run(enum cor_strategy_hook hook, const struct cor_prepare *prepare,
                          struct cor_str value, struct cor_buf *out)
{
    static int (*const hooks[])(const struct cor_prepare *, struct cor_str,
                                struct cor_buf *) = {NULL,
#define X(name) cor_strategy_##name,
                                                     COR_STRATEGY_HOOKS(X)
#undef X
    };

    assert(hook > COR_STRATEGY_HOOK_none && hook < COR_STRATEGY_HOOK_COUNT);
    assert(prepare->on == COR_ON_CREATE ? !prepare->old.p : prepare->old.p != NULL);
    return hooks[hook](prepare, value, out);
}
