/* What the name of a member says about its value (coracle/equality.h has what follows from it).
 * Thread: any (pure). */
#ifndef COR_META_VALUE_EQUALITY_H
#define COR_META_VALUE_EQUALITY_H

#include "base/str.h"
#include "coracle/equality.h"

enum cor_equality_rule {
    COR_EQUALITY_JSON,     /* nothing */
    COR_EQUALITY_QUANTITY, /* a quantity, or a map of quantities */
    COR_EQUALITY_TIME,
    COR_EQUALITY_TEXTS, /* a map of texts: nothing in it has a meaning */
};

/* tests/unit/schema compares these rules with the built-in types. */
enum cor_equality_rule cor_equality_rule_of(struct cor_str name);

#endif
