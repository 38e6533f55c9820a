/* What an object that came as protobuf has behind its head (meta/object/object_wire.h): this part,
 * and the message right behind it. A value of such an object (coracle/value.h) knows how far it is
 * from the beginning of the message, and so finds the part.
 *
 * JSON of the whole object is made when somebody first asks for a value that the message has no
 * text for, and kept until the object is freed. `places` tell where a value of the message is in
 * that JSON.
 * Owner: the object.  Thread: any. */
#ifndef COR_JSON_TEXT_WIRE_VALUE_H
#define COR_JSON_TEXT_WIRE_VALUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "coracle/value.h"
#include "coracle/wire.h"

/* Messages are shorter than this; a longer object is kept as JSON. */
#define COR_WIRE_MESSAGE_MAX (1u << 27)

/* Of a value, the offset of its bytes; of a list and a map, that of the tag of their first item. */
#define COR_WIRE_PLACE_OF(offset)           ((uint32_t)(offset) << 1)
#define COR_WIRE_PLACE_OF_CONTAINER(offset) ((uint32_t)(offset) << 1 | 1)

struct cor_wire_place {
    uint32_t key; /* in the message */
    uint32_t at;  /* in the JSON */
};

struct cor_wire_json {
    struct cor_str json; /* NUL-terminated */
    size_t nplaces;
    struct cor_wire_place places[]; /* sorted by their keys; the JSON is behind them */
};

struct cor_wire_part {
    const struct cor_wire_type *type;
    /* Makes the JSON if there is none yet. NULL: no memory. */
    const struct cor_wire_json *(*make)(struct cor_wire_part *part);
    _Atomic(struct cor_wire_json *) json;
    struct cor_str head; /* JSON of the type and of most of the metadata, with sorted keys */
    uint32_t head_meta;  /* where `metadata` begins in it */
    uint32_t meta_at;    /* where the message of the metadata begins */
    uint32_t len;        /* of the message */
    uint32_t unused;     /* the message begins at a multiple of eight */
};

static inline struct cor_str cor_wire_message(const struct cor_wire_part *part)
{
    return cor_str((const char *)(part + 1), part->len);
}

/* The whole message. */
struct cor_value cor_wire_value(const struct cor_wire_part *part);

/* coracle/value.h for values of messages. */
static inline bool cor_value_is_wire(struct cor_value value)
{
    return (value.state & 0x80000000u) != 0;
}
struct cor_value cor_wire_member(struct cor_value message, const char *key, uint64_t field);
struct cor_text cor_wire_string(struct cor_value message, const char *key, uint64_t field);
bool cor_wire_has(struct cor_value message, const char *key, uint64_t field);
/* The bits of a number; 0: there is none. */
uint64_t cor_wire_number(struct cor_value message, uint64_t field);
/* What is in JSON for the value. */
struct cor_value cor_wire_as_json(struct cor_value value);
bool cor_wire_next_value(struct cor_value *list, struct cor_value *ret);
bool cor_wire_next_text(struct cor_value *list, struct cor_text *ret);
bool cor_wire_next_member(struct cor_value *map, struct cor_text *ret_key, struct cor_value *ret);
bool cor_wire_next_text_member(struct cor_value *map, struct cor_text *ret_key,
                               struct cor_text *ret);
struct cor_value cor_wire_entry(struct cor_value map, struct cor_str key);
struct cor_text cor_wire_text_entry(struct cor_value map, struct cor_str key);
/* The text of a value of JSON. */
struct cor_text cor_value_as_text(struct cor_value value);
size_t cor_wire_len(struct cor_value container);

#endif
