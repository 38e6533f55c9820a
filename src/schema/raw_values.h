/* Which values of the built-in kinds are raw (RawExtension, and the JSON of apiextensions): clients
 * compare them byte by byte, so they keep the order of their keys and their escapes, where all
 * other values become canonical. The controllers of StatefulSets and DaemonSets make a new
 * ControllerRevision when the bytes of its data differ.
 *
 * FieldsV1 does not count, although it is of the same sort: managedFields belong to the server, and
 * keep the canonical form.
 * Owner: nobody (constants).  Thread: any. */
#ifndef COR_SCHEMA_RAW_VALUES_H
#define COR_SCHEMA_RAW_VALUES_H

#include "schema/types.h"
#include "json/json.h"

/* The guide for cor_json_canonicalize() and for what is above it. */
extern const struct cor_json_guide cor_raw_values;

/* The guide's node of an object of this type. NULL: the type is NULL, or holds no raw value. */
const void *cor_raw_values_of(const struct cor_type *type);

#endif
