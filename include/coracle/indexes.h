/* Indexes let a cache find objects by other values than their key; an index function returns the
 * values of an object. Thread: any (values). */
#ifndef CORACLE_INDEXES_H
#define CORACLE_INDEXES_H

#include "coracle/api.h"
#include "coracle/object.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_index_values;

#define COR_INDEXES_MAX      16  /* per cache */
#define COR_INDEX_VALUES_MAX 256 /* of one object in one index */
#define COR_INDEX_VALUE_MAX  4096

/* Adds the values of one object, none or several, to `out` by cor_index_values_add(). It is called
 * under the cache's lock and must not call the informer. A negative return refuses the object. */
typedef int (*cor_index_fn)(void *arg, const struct cor_object *object,
                            struct cor_index_values *out);

struct cor_index_def {
    struct cor_str name; /* copied */
    cor_index_fn fn;
    void *arg;
};

/* Copies the value; adding the same value twice is allowed. 0, -COR_ENOMEM, -COR_ETOOBIG. */
COR_API int cor_index_values_add(struct cor_index_values *out, struct cor_str value);

#ifdef __cplusplus
}
#endif

#endif
