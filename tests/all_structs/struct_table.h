/* Every struct of the built-in types: those that the generator writes for the input as a whole, and
 * those of libcoracle-types (make_struct_table.py). */
#ifndef STRUCT_TABLE_H
#define STRUCT_TABLE_H

#include <stddef.h>

#include "coracle/types/own.h"

extern const struct cor_own_type *const struct_table[];
extern const size_t struct_table_n;

#endif
