/* What the typed walks share: values, the form of a value at its place, the members of two objects
 * side by side, and the items of lists by their path elements. */
#ifndef COR_SCHEMA_APPLY_TYPED_INT_H
#define COR_SCHEMA_APPLY_TYPED_INT_H

#include "schema/apply/typed.h"

/* A value of an object; `at` is COR_JSON_NO_NODE when the value is absent. */
struct cor_apply_value {
    const struct cor_json_nodes *json;
    uint32_t at;
};

static inline struct cor_apply_value cor_apply_root(struct cor_typed object)
{
    return (struct cor_apply_value){object.json, 0};
}

static inline bool cor_apply_is_absent(struct cor_apply_value v)
{
    return v.at == COR_JSON_NO_NODE;
}

/* The first byte of the value's text; 0 for an absent value. */
static inline char cor_apply_first(struct cor_apply_value v)
{
    return cor_apply_is_absent(v) ? '\0' : cor_json_node_first(v.json, v.at);
}

static inline bool cor_apply_is_object(struct cor_apply_value v)
{
    return cor_apply_first(v) == '{';
}

static inline bool cor_apply_is_array(struct cor_apply_value v)
{
    return cor_apply_first(v) == '[';
}

static inline bool cor_apply_is_null(struct cor_apply_value v)
{
    return cor_apply_first(v) == 'n';
}

/* Is the value an object or array with something in it? */
static inline bool cor_apply_has_items(struct cor_apply_value v)
{
    return (cor_apply_is_object(v) || cor_apply_is_array(v)) && v.json->v[v.at].end > v.at + 1;
}

static inline struct cor_str cor_apply_bytes(struct cor_apply_value v)
{
    return cor_json_node_bytes(v.json, v.at);
}

/* Are both values, which are there, equal by value? */
bool cor_apply_equal(struct cor_apply_value a, struct cor_apply_value b);

/* The forms that a value may have at its place. A value whose own form the place allows has that
 * form alone; any other value, null and an absent one included, leaves all forms open. */
enum cor_apply_form {
    COR_APPLY_FORM_MAP = 1 << 0,
    COR_APPLY_FORM_SCALAR = 1 << 1,
    COR_APPLY_FORM_LIST = 1 << 2,
};
unsigned cor_apply_forms(const struct cor_apply_place *place, struct cor_apply_value v);

/* The form by which a walk handles a value: the first that is open of map, scalar, list. */
static inline enum cor_apply_form cor_apply_first_form(unsigned forms)
{
    return forms & COR_APPLY_FORM_MAP      ? COR_APPLY_FORM_MAP
           : forms & COR_APPLY_FORM_SCALAR ? COR_APPLY_FORM_SCALAR
                                           : COR_APPLY_FORM_LIST;
}

/* The members of two objects side by side, in the order of canonical JSON. A value that is not an
 * object has no members. */
struct cor_apply_pairs {
    struct cor_apply_value a, b; /* the next key of each; absent: no more */
    uint32_t a_end, b_end;
    bool is_root;       /* kind and apiVersion come first */
    struct cor_str key; /* raw text */
    struct cor_apply_value left, right;
};
struct cor_apply_pairs cor_apply_pairs(struct cor_apply_value a, struct cor_apply_value b);
/* Moves to the next key that either object has; false when there is none. */
bool cor_apply_pairs_next(struct cor_apply_pairs *pairs);

/* An item of a list with keys or of a set. */
struct cor_apply_item {
    struct cor_path_element element;
    uint32_t at;    /* node of the item */
    uint32_t index; /* in the list */
};
struct cor_apply_items {
    struct cor_apply_item *v; /* by path element; equal ones in the order of the list */
    size_t n;
};

/* The items of a list, in the arena. A value that is not a list has none. 0, -COR_EINVALID (an item
 * cannot be told apart), -COR_ENOMEM, -COR_ETOOBIG. */
int cor_apply_items(struct cor_arena *arena, const struct cor_apply_place *list,
                    struct cor_apply_value v, struct cor_apply_items *ret_items);

/* The path element of one item. `why` (may be NULL) gets upstream's words when the item cannot be
 * told apart. Errors as above. */
int cor_apply_item_element(struct cor_arena *arena, const struct cor_apply_place *list,
                           const struct cor_apply_key *keys, size_t nkeys, struct cor_apply_value v,
                           struct cor_path_element *ret_element, struct cor_buf *why);

/* How many items from `i` on have the same path element. */
size_t cor_apply_items_run(const struct cor_apply_items *items, size_t i);

#endif
