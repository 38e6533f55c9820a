/* The protobuf form of a kind, as tables: which number a field has, and what it is in JSON.
 * libcoracle-types has a table of each built-in type (cor_core_v1_pod_wire); coracle-gen(1) writes
 * them. A program does not read them. A typed informer hands the table of its kind over
 * (coracle/informers.h), and so a program without types carries none.
 *
 * An object that came as protobuf is kept so. Generated views (coracle/value.h) read its bytes; the
 * JSON that other functions show is made when it is asked for first, and kept.
 * Thread: any (constants). */
#ifndef CORACLE_WIRE_H
#define CORACLE_WIRE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cor_wire_shape {
    COR_WIRE_STRUCT,
    COR_WIRE_STRING,
    COR_WIRE_BOOL,
    COR_WIRE_INT32,
    COR_WIRE_INT64,
    COR_WIRE_DOUBLE,
    COR_WIRE_BYTES,
    COR_WIRE_TIME,
    COR_WIRE_MICRO_TIME,
    COR_WIRE_QUANTITY,
    COR_WIRE_INT_OR_STRING,
    COR_WIRE_RAW,            /* JSON in a message */
    COR_WIRE_TEXTS,          /* a list of texts that is a message of its own */
    COR_WIRE_SCHEMA_OR_BOOL, /* these three hold a schema, or something else */
    COR_WIRE_SCHEMA_OR_ARRAY,
    COR_WIRE_SCHEMA_OR_STRINGS,
};

enum cor_wire_flag {
    COR_WIRE_LIST = 1 << 0, /* of the shape */
    COR_WIRE_MAP = 1 << 1,  /* of texts to the shape */
    COR_WIRE_POINTER = 1 << 2,
    COR_WIRE_OMITEMPTY = 1 << 3,
    COR_WIRE_OMITZERO = 1 << 4,
};

struct cor_wire_type;

struct cor_wire_field {
    const char *name;               /* in JSON */
    const struct cor_wire_type *of; /* of a struct, and of what holds a schema */
    uint16_t number;                /* 0: it is not in protobuf */
    /* The numbers of the messages around it that JSON does not have, outermost first. */
    uint8_t via[2];
    uint8_t name_len, shape, flags;
};

struct cor_wire_type {
    const char *api_version, *kind;      /* of a kind; else NULL */
    const struct cor_wire_field *fields; /* sorted by their names; at most COR_WIRE_FIELDS_MAX */
    uint32_t nfields;
};

#define COR_WIRE_FIELDS_MAX 64

#ifdef __cplusplus
}
#endif

#endif
