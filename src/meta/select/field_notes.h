/* What matching has found out about the fields of one object: one byte for each of eight fields, 0
 * while the field was not read, else a hash of what it reads as. A field selector that was matched
 * before rules most objects out by it without touching their bytes. Which field has which byte is
 * decided by whoever owns the objects, and is the same for all of them (struct cor_field_places).
 * Thread: any; notes of the same object are the same whoever makes them.  Owner: beside the object.
 */
#ifndef COR_META_SELECT_FIELD_NOTES_H
#define COR_META_SELECT_FIELD_NOTES_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/str.h"

#define COR_FIELD_NOTES_MAX 8

struct cor_field_notes {
    _Atomic uint64_t bytes; /* all zero at first */
};

/* The bytes of a selector's fields, in the order of its terms; -1: that field has none. Fields
 * behind the first eight have none. */
struct cor_field_places {
    int8_t at[COR_FIELD_NOTES_MAX];
};

/* Never 0. */
static inline uint8_t cor_field_note(struct cor_str value)
{
    return (uint8_t)(1 + cor_str_hash(value) % 255);
}

static inline uint8_t cor_field_notes_get(const struct cor_field_notes *notes, int at)
{
    return (uint8_t)(atomic_load_explicit(&notes->bytes, memory_order_relaxed) >> (8 * at));
}

/* The byte was 0, or is the same. */
static inline void cor_field_notes_add(struct cor_field_notes *notes, int at, uint8_t note)
{
    atomic_fetch_or_explicit(&notes->bytes, (uint64_t)note << (8 * at), memory_order_relaxed);
}

#endif
