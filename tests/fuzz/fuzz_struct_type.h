/* Which struct an input is for. */
#ifndef FUZZ_STRUCT_TYPE_H
#define FUZZ_STRUCT_TYPE_H

#include "coracle/types/apps_v1_structs.h"
#include "coracle/types/autoscaling_v2_structs.h"
#include "coracle/types/core_v1_structs.h"
#include "struct_table.h"

/* Takes the first byte but one: it chooses one of five kinds, or, from 250 on, any struct of the
 * table together with the byte behind it. A byte stays before the input itself. */
static inline const struct cor_own_type *fuzz_struct_type(const uint8_t **data, size_t *size)
{
    static const struct cor_own_type *const types[] = {
        &cor_core_v1_pod_own_type,       &cor_apps_v1_stateful_set_own_type,
        &cor_core_v1_secret_own_type,    &cor_autoscaling_v2_horizontal_pod_autoscaler_own_type,
        &cor_core_v1_node_list_own_type,
    };
    size_t choice = *size > 0 ? (*data)[0] : 0;

    if (choice < 250 || *size < 2)
        return types[choice % (sizeof(types) / sizeof(types[0]))];
    ++*data;
    --*size;
    return struct_table[((choice - 250) * 256 + (*data)[0]) % struct_table_n];
}

#endif
