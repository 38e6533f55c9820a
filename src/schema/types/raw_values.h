/* Which values of the built-in kinds are raw (RawExtension, and the JSON of apiextensions): clients
 * compare them byte by byte, so they keep the order of their keys and their escapes, where all
 * other values become canonical. The controllers of StatefulSets and DaemonSets make a new
 * ControllerRevision when the bytes of its data differ.
 *
 * The FieldsV1 of managedFields are raw in what is stored, because upstream's order of their
 * members is not the canonical one (80 before 443). A client's need not be: the server reads the
 * sets of managedFields and writes them again. Owner: nobody (constants).  Thread: any. */
#ifndef COR_SCHEMA_TYPES_RAW_VALUES_H
#define COR_SCHEMA_TYPES_RAW_VALUES_H

#include "schema/types/types.h"
#include "json/text/json.h"

/* The guide for cor_json_canonicalize() and for what is above it. By kind it finds the raw values
 * of a stored object, FieldsV1 among them. */
extern const struct cor_json_guide cor_raw_values;

/* The guide's node of an object of this type as a client sends it. NULL: the type is NULL, or holds
 * no raw value but FieldsV1. */
const void *cor_raw_values_of(const struct cor_type *type);

#endif
