/* Random objects of any type of the tables, for tests that hold for every kind. All choices come
 * from test_random(), so a seed repeats them. */
#ifndef COR_TEST_RANDOM_OBJECT_H
#define COR_TEST_RANDOM_OBJECT_H

#include "base/buf.h"
#include "schema/types/types.h"

/* What the members of an object are. */
enum random_form {
    RANDOM_FULL,  /* every member is set, to a value that Go writes as it reads it */
    RANDOM_LOOSE, /* members are missing, null, empty or spelled in an unusual way */
};

/* Appends an object of `type`, a struct, as JSON that is not canonical. Strings differ from each
 * other, so that no two elements of a list have the same key. A struct inside of itself
 * (JSONSchemaProps) is set to a depth of two. */
void random_object(const struct cor_type *type, enum random_form form, struct cor_buf *out);

#endif
