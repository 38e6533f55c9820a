#include "schema/kinds/bootstrap_objects.h"

const struct cor_bootstrap_object *cor_bootstrap_object_find(struct cor_str kind,
                                                             struct cor_str name)
{
    for (size_t i = 0; i < cor_bootstrap_nobjects; i++) {
        const struct cor_bootstrap_object *object = &cor_bootstrap_objects[i];

        if (cor_str_eq(object->kind, kind) && cor_str_eq(object->name, name))
            return object;
    }
    return NULL;
}
