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

bool cor_test_run(enum cor_test test, struct cor_check *check, const struct cor_place *place,
                  struct cor_str arg)
{
    switch (test) {
    case COR_TEST_none:
        break;
#define X(name)                                                                                    \
    case COR_TEST_##name:                                                                          \
        return cor_test_##name(check, place, arg);
        COR_CHECK_TESTS(X)
#undef X
    }
    return false;
}
