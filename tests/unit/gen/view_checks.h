/* What the generated checks of views are made of (make_view_checks.py): each compares what an
 * accessor returned with the member of the same name, and notes in view_seen[] that the accessor
 * found something. */
#ifndef COR_TEST_VIEW_CHECKS_H
#define COR_TEST_VIEW_CHECKS_H

#include "coracle/object.h"
#include "coracle/value.h"
#include "random_object.h"
#include "test.h"
#include "json/text/wire_value.h"

struct view_check {
    const char *group, *version, *kind;
    void (*run)(const struct cor_object *object);
    const struct cor_wire_type *wire; /* NULL: it is a list of objects */
};

extern const struct view_check view_checks[];
extern const size_t view_checks_n;
/* The check of a kind; NULL: there is none. */
const struct view_check *view_check_of(struct cor_str api_version, struct cor_str kind);
/* A random object of the kind; with_plain_metadata: of names and labels without escapes. */
void random_of_kind(const struct view_check *check, enum random_form form, bool with_plain_metadata,
                    struct cor_buf *out);
void read_golden(const char *folder, const char *name, struct cor_buf *out);

/* The accessors by name, and whether one has found a value. */
extern const char *const view_places[];
extern const size_t view_places_n;
extern unsigned char view_seen[];

enum int_form { INT32, INT64 };

void check_text(size_t place, struct cor_view want, struct cor_text got);
void check_int(size_t place, struct cor_view want, int64_t got, enum int_form form);
void check_bool(size_t place, struct cor_view want, bool got);
void check_double(size_t place, struct cor_view want, double got);
void check_view(size_t place, struct cor_view want, struct cor_view got);
void check_struct(size_t place, struct cor_view want, struct cor_value got);
void check_has(struct cor_view want, bool got);
void check_key(struct cor_str want, struct cor_text got);
/* The key without its escapes, until the next call. */
struct cor_str key_text(struct cor_text key);
void check_by_key(struct cor_view want, const char *key, struct cor_value got);
/* The key of the first element; empty when there is none. */
struct cor_str first_key(struct cor_view list, const char *key);
/* Compare the lengths; return the list or map to iterate over, nothing for another type. */
struct cor_view check_array(size_t place, struct cor_view want, struct cor_value got);
struct cor_view check_map(size_t place, struct cor_view want, struct cor_value got);
void check_text_array(size_t place, struct cor_view want, struct cor_text_array got);
void check_int_array(size_t place, struct cor_view want, struct cor_int_array got);
void check_view_array(size_t place, struct cor_view want, struct cor_view_array got);
void check_text_map(size_t place, struct cor_view want, struct cor_text_map got);
void check_view_map(size_t place, struct cor_view want, struct cor_view_map got);

#endif
