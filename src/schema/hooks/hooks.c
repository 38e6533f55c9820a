/* Calls the hook of a number. A switch, so that the tables have no relocations. */
#include "schema/hooks/hooks.h"

void cor_hook_run(enum cor_hook hook, struct cor_check *check, const struct cor_place *place,
                  struct cor_str arg)
{
    switch (hook) {
    case COR_HOOK_none:
        break;
#define X(name)                                                                                    \
    case COR_HOOK_##name:                                                                          \
        cor_hook_##name(check, place, arg);                                                        \
        break;
        COR_CHECK_HOOKS(X)
#undef X
    }
}

bool cor_when_run(enum cor_when test, struct cor_check *check, const struct cor_place *place,
                  struct cor_str arg)
{
    switch (test) {
    case COR_WHEN_none:
        break;
#define X(name)                                                                                    \
    case COR_WHEN_##name:                                                                          \
        return cor_when_##name(check, place, arg);
        COR_CHECK_WHENS(X)
#undef X
    }
    return false;
}
