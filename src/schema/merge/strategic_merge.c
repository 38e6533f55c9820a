/* A strategic merge patch: objects are merged member by member, lists by the keys of their
 * elements.
 *
 * Both sides are canonical, so two objects are merged as two sorted sequences, written as they are
 * read. A first pass over the patch notes its directives ($patch, $retainKeys, element orders) by
 * the object that has them. Lists whose elements have keys are merged in strategic_list.c.
 * Everything is linear in the bytes of both sides, or n log n where a list is ordered; only lists
 * of merged elements inside each other are scanned once per level. Failures: no memory
 * (-COR_ENOMEM), a directive that is malformed (-COR_EINVAL, with a message), elements and markers
 * that do not fit the lists (-COR_EINTERNAL, with a message: upstream answers 500). Thread: any;
 * nothing is kept between calls. */
#include "schema/merge/strategic_merge.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str_set.h"
#include "base/work.h"
#include "schema/go/go_text.h"
#include "schema/merge/strategic_int.h"
#include "schema/walk/whole_numbers.h"

#define ORDER          "$setElementOrder"
#define DELETE         "$deleteFromPrimitiveList"
#define ORDER_PREFIX   ORDER "/"
#define DELETE_PREFIX  DELETE "/"
#define BAD_RETAIN     "invalid patch format of retainKeys"
#define STEP_BYTES     8 /* of both sides, which are gone over a few times, in the time of a step */
#define VALUE_TEXT_MAX sizeof(((struct cor_json_patch_error *)0)->message)

void cor_strategic_fail(struct cor_strategic *m, int err, const char *fmt, ...)
{
    va_list ap;

    if (m->error < 0)
        return;
    m->error = err;
    if (!m->why)
        return;
    va_start(ap, fmt);
    vsnprintf(m->why->message, sizeof(m->why->message), fmt, ap);
    va_end(ap);
}

void cor_strategic_charge(struct cor_strategic *m, uint64_t steps)
{
    if (m->work && m->error == 0)
        m->error = cor_work_charge(m->work, steps);
}

void cor_strategic_print(struct cor_strategic *m, struct cor_str value, struct cor_buf *out)
{
    cor_buf_init(out, VALUE_TEXT_MAX);
    if (cor_go_text(value, out) == -COR_ENOMEM)
        cor_strategic_fail(m, -COR_ENOMEM, "out of memory");
}

void cor_strategic_fail_marker(struct cor_strategic *m, struct cor_str marker,
                               struct cor_str object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf type = {0}, map = {0};

    cor_strategic_print(m, marker, &type);
    cor_strategic_print(m, object, &map);
    cor_strategic_fail(m, -COR_EINTERNAL, "unknown patch type: %s in map: %s", cor_buf_z(&type),
                       cor_buf_z(&map));
}

struct cor_str cor_strategic_get(struct cor_str object, struct cor_str key)
{
    struct cor_str value;

    if (!object.p || cor_json_get(object, key, COR_JSON_SORTED, &value) < 0)
        return (struct cor_str){NULL, 0};
    return value;
}

/* The field of a struct by the raw text of a JSON key; NULL: the type is not known, or has none. No
 * name of a field needs an escape. */
static const struct cor_type_field *find_field(const struct cor_type *type, struct cor_str key)
{
    struct cor_member member;

    if (!type || !cor_type_find_member(type, key, &member))
        return NULL;
    return member.field;
}

/* What the values of a Go map, or the field itself, are; NULL: not known, and nothing below is
 * merged by keys. */
static const struct cor_type *type_below(const struct cor_type *type,
                                         const struct cor_type_field *field)
{
    if (field)
        return cor_type_field_type(field);
    return type && cor_type_shape(type) == COR_SHAPE_MAP ? cor_type_element(type) : NULL;
}

/* False: the list has no such rule, and a patch replaces it. */
static bool find_rule(const struct cor_type_field *field, struct cor_strategic_list_rule *ret_rule)
{
    if (!field || !(cor_type_field_patch(field) & COR_PATCH_FLAG_MERGE) ||
        cor_type_shape(cor_type_field_type(field)) != COR_SHAPE_LIST)
        return false;
    *ret_rule =
        (struct cor_strategic_list_rule){.key = cor_type_field_patch_key(field),
                                         .element = cor_type_element(cor_type_field_type(field))};
    return true;
}

static bool is_directive(struct cor_str key)
{
    return cor_str_eq(key, COR_STR("$patch")) || cor_str_eq(key, COR_STR("$retainKeys")) ||
           cor_str_starts(key, COR_STR(ORDER)) || cor_str_starts(key, COR_STR(DELETE));
}

struct cor_json_iter cor_strategic_iter(struct cor_str value)
{
    const char *end = value.p ? value.p + value.n : NULL;

    return (struct cor_json_iter){value.p, end, value.p};
}

static enum cor_json_type type_at(const struct cor_json_iter *it)
{
    return cor_json_type(cor_json_iter_open_value(it));
}

static struct cor_str address_key(const char *const *object)
{
    return cor_str((const char *)object, sizeof(*object));
}

struct cor_strategic_directives *cor_strategic_directives_of(const struct cor_strategic *m,
                                                             const char *object)
{
    return cor_map_len(&m->directives) > 0 ? cor_map_peek(&m->directives, address_key(&object))
                                           : NULL;
}

static struct cor_strategic_directives *directives_new(struct cor_strategic *m, const char *object)
{
    struct cor_strategic_directives *d = cor_calloc(1, sizeof(*d));

    if (d) {
        d->object = object;
        d->orders_end = &d->orders;
        d->deletes_end = &d->deletes;
        if (cor_map_put(&m->directives, address_key(&d->object), d, NULL) == 0)
            return d;
    }
    cor_strategic_fail(m, -COR_ENOMEM, "out of memory");
    return cor_free(d);
}

static void directive_list_free(struct cor_strategic_directive *d)
{
    while (d) {
        struct cor_strategic_directive *next = d->next;

        cor_free(d);
        d = next;
    }
}

static void directives_deinit(struct cor_strategic *m)
{
    COR_MAP_FOREACH(it, &m->directives) {
        struct cor_strategic_directives *d = it.value;

        directive_list_free(d->orders);
        directive_list_free(d->deletes);
        cor_free(d);
    }
    cor_map_deinit(&m->directives);
}

static void add_directive(struct cor_strategic *m, struct cor_strategic_directives *d,
                          struct cor_str key, struct cor_str value)
{
    bool is_order = cor_str_starts(key, COR_STR(ORDER_PREFIX));
    size_t prefix = is_order ? sizeof(ORDER_PREFIX) - 1 : sizeof(DELETE_PREFIX) - 1;
    struct cor_strategic_directive ***end = is_order ? &d->orders_end : &d->deletes_end, *made;

    if (cor_str_eq(key, COR_STR("$patch"))) {
        d->marker = value;
        return;
    }
    if (cor_str_eq(key, COR_STR("$retainKeys"))) {
        d->retain = value;
        return;
    }
    /* A directive names its field behind a slash. */
    if (!is_order && !cor_str_starts(key, COR_STR(DELETE_PREFIX))) {
        cor_strategic_fail(m, -COR_EINVAL, "invalid patch format of %s list",
                           cor_str_starts(key, COR_STR(ORDER)) ? "setElementOrder" : "primitive");
        return;
    }
    made = cor_calloc(1, sizeof(*made));
    if (!made) {
        cor_strategic_fail(m, -COR_ENOMEM, "out of memory");
        return;
    }
    made->field = cor_str_from(key, prefix);
    made->value = value;
    **end = made;
    *end = &made->next;
}

/* Notes the directives in the current value of `it`, and moves behind it. One pass over the whole
 * patch finds them all: to look for them in each object would scan what is deep once per level. */
static void find_directives(struct cor_strategic *m, struct cor_json_iter *it)
{
    struct cor_str open = cor_json_iter_open_value(it), key;
    bool is_object = cor_json_type(open) == COR_JSON_OBJECT;
    struct cor_json_iter inner = cor_json_iter(open);
    struct cor_strategic_directives *d = NULL;

    if (!is_object && cor_json_type(open) != COR_JSON_ARRAY) {
        (void)cor_json_iter_value(it);
        return;
    }
    while (m->error == 0 &&
           (is_object ? cor_json_iter_member(&inner, &key) : cor_json_iter_elem(&inner))) {
        const char *start = cor_json_iter_open_value(&inner).p;

        find_directives(m, &inner);
        if (!is_object || !is_directive(key))
            continue;
        if (!d)
            d = directives_new(m, open.p);
        if (d)
            add_directive(m, d, key, cor_str(start, (size_t)(inner.p - start)));
    }
    cor_json_iter_leave(it, &inner);
}

bool cor_strategic_has_marker(const struct cor_strategic *m, struct cor_str value)
{
    const struct cor_strategic_directives *d = cor_strategic_directives_of(m, value.p);

    return d && d->marker.p;
}

/* Writes the current value of `it`, which the old state has not, without nulls and without objects
 * that have a marker, and moves behind it. Other directives are members as any other there. */
static void write_new(struct cor_strategic *m, struct cor_json_iter *it)
{
    struct cor_str open = cor_json_iter_open_value(it), key;
    struct cor_json_iter inner = cor_json_iter(open);

    switch (cor_json_type(open)) {
    case COR_JSON_OBJECT:
        cor_json_begin_object(&m->w);
        while (cor_json_iter_member(&inner, &key)) {
            if (type_at(&inner) == COR_JSON_NULL ||
                cor_strategic_has_marker(m, cor_json_iter_open_value(&inner)))
                continue;
            cor_json_raw_key(&m->w, key);
            write_new(m, &inner);
        }
        cor_json_end_object(&m->w);
        cor_json_iter_leave(it, &inner);
        break;
    case COR_JSON_ARRAY:
        cor_json_begin_array(&m->w);
        while (cor_json_iter_elem(&inner)) {
            if (!cor_strategic_has_marker(m, cor_json_iter_open_value(&inner)))
                write_new(m, &inner);
        }
        cor_json_end_array(&m->w);
        cor_json_iter_leave(it, &inner);
        break;
    default:
        cor_json_raw(&m->w, cor_json_iter_value(it));
        break;
    }
}

/* Writes the current value of `it`, an object whose marker says that it replaces the old one, as it
 * is except for the marker, and moves behind it. */
static void write_replacing(struct cor_strategic *m, struct cor_json_iter *it)
{
    struct cor_json_iter inner = cor_json_iter(cor_json_iter_open_value(it));
    struct cor_str key;

    cor_json_begin_object(&m->w);
    while (cor_json_iter_member(&inner, &key)) {
        struct cor_str value = cor_json_iter_value(&inner);

        if (cor_str_eq(key, COR_STR("$patch")))
            continue;
        cor_json_raw_key(&m->w, key);
        cor_json_raw(&m->w, value);
    }
    cor_json_end_object(&m->w);
    cor_json_iter_leave(it, &inner);
}

/* One side of the merge of two objects: the member at which it stands. */
struct side {
    struct cor_json_iter it;
    struct cor_str key;
    bool has;
};

static void advance(struct side *s)
{
    s->has = cor_json_iter_member(&s->it, &s->key);
}

/* Both sides are canonical, and what is outermost begins with these two keys. */
static int type_rank(struct cor_str key, bool outermost)
{
    if (!outermost)
        return 2;
    return cor_str_eq(key, COR_STR("kind")) ? 0 : cor_str_eq(key, COR_STR("apiVersion")) ? 1 : 2;
}

static int compare_sides(const struct side *a, const struct side *b, bool outermost)
{
    int rank_a, rank_b;

    if (!a->has || !b->has)
        return a->has ? -1 : 1;
    rank_a = type_rank(a->key, outermost);
    rank_b = type_rank(b->key, outermost);
    return rank_a != rank_b ? rank_a - rank_b : cor_json_raw_cmp(a->key, b->key);
}

/* The value of the directive about `field`; fields are asked for in their order. p == NULL: none.
 */
static struct cor_str take_directive(const struct cor_strategic_directive **next,
                                     struct cor_str field)
{
    int c = -1;

    while (*next && (c = cor_json_raw_cmp((*next)->field, field)) < 0)
        *next = (*next)->next;
    return *next && c == 0 ? (*next)->value : cor_str(NULL, 0);
}

/* What is left of an object's directives while its members are merged. */
struct member_rules {
    const struct cor_type *type; /* of the object; NULL: not known */
    const struct cor_strategic_directive *orders, *deletes;
    struct cor_str_set retain;
    bool retains;
};

/* A member that the old object has. `value` is at the patch's value, or NULL when the patch has
 * none. Moves both behind their values. */
static void merge_member(struct cor_strategic *m, struct cor_str key, struct cor_json_iter *old,
                         struct cor_json_iter *value, struct cor_str order, struct cor_str deleted,
                         const struct cor_type *parent)
{
    const struct cor_type_field *field = find_field(parent, key);
    enum cor_json_type type = type_at(old);
    struct cor_strategic_list_rule rule = {.key = COR_STR("")};
    bool is_merged = find_rule(field, &rule);

    if (value &&
        (type_at(value) == COR_JSON_NULL ||
         (type_at(value) != type && cor_strategic_has_marker(m, cor_json_iter_open_value(value)))))
        return;
    cor_json_raw_key(&m->w, key);
    if (value && type_at(value) != type)
        write_new(m, value);
    else if (type == COR_JSON_OBJECT && value && field &&
             cor_type_field_patch(field) & COR_PATCH_FLAG_REPLACE)
        cor_json_raw(&m->w, cor_json_iter_value(value));
    else if (type == COR_JSON_OBJECT && value)
        cor_strategic_map(m, old, value, type_below(parent, field), false);
    else if (type == COR_JSON_ARRAY && value && !is_merged && !deleted.p)
        cor_json_raw(&m->w, cor_json_iter_value(value));
    else if (type == COR_JSON_ARRAY && (value || order.p || deleted.p))
        cor_strategic_list(m, &rule, cor_json_iter_value(old),
                           value ? cor_json_iter_value(value) : cor_str(NULL, 0), order, deleted);
    else
        cor_json_raw(&m->w, cor_json_iter_value(value ? value : old));
}

/* A directive about the order of elements is a list, and so is what it is about. */
static void check_list(struct cor_strategic *m, struct cor_str value)
{
    enum cor_json_type type = cor_json_type(value);

    if (type != COR_JSON_ARRAY)
        cor_strategic_fail(m, -COR_EINTERNAL, "expected a []interface {}, but received a %s",
                           type == COR_JSON_NULL ? "%!s(<nil>)" : cor_go_type_of(value));
}

/* The order of the elements of a member, which the old object or the patch has or both have. */
static struct cor_str take_order(struct cor_strategic *m, struct member_rules *rules,
                                 const struct side *a, const struct side *b)
{
    struct cor_str order = take_directive(&rules->orders, a ? a->key : b->key);

    if (order.p && a)
        check_list(m, cor_json_first_value(cor_json_iter_open_value(&a->it)));
    if (order.p && b)
        check_list(m, cor_json_first_value(cor_json_iter_open_value(&b->it)));
    return order;
}

static void merge_old(struct cor_strategic *m, struct member_rules *rules, struct side *a,
                      struct side *b, bool outermost)
{
    struct cor_str order = {NULL, 0}, deleted = {NULL, 0};

    if (type_rank(a->key, outermost) == 2) {
        order = take_order(m, rules, a, b);
        deleted = take_directive(&rules->deletes, a->key);
    }
    if (!rules->retains || cor_str_set_has(&rules->retain, a->key))
        merge_member(m, a->key, &a->it, b ? &b->it : NULL, order, deleted, rules->type);
}

/* Null, or an object with a marker: it is nothing new, and nothing that has to be retained. */
static bool says_nothing(const struct cor_strategic *m, const struct side *b)
{
    struct cor_str open = cor_json_iter_open_value(&b->it);

    return cor_json_type(open) == COR_JSON_NULL || cor_strategic_has_marker(m, open);
}

static void merge_members(struct cor_strategic *m, struct member_rules *rules, struct side *a,
                          struct side *b, bool outermost)
{
    advance(a);
    advance(b);
    while (m->error == 0 && (a->has || b->has)) {
        int c = compare_sides(a, b, outermost);

        if (c >= 0 && is_directive(b->key)) {
            advance(b);
            continue;
        }
        if (c >= 0 && rules->retains && !says_nothing(m, b) &&
            !cor_str_set_has(&rules->retain, b->key)) {
            cor_strategic_fail(m, -COR_EINVAL, BAD_RETAIN);
        } else if (c <= 0) {
            merge_old(m, rules, a, c == 0 ? b : NULL, outermost);
        } else {
            if (type_rank(b->key, outermost) == 2)
                (void)take_order(m, rules, NULL, b);
            if (!says_nothing(m, b)) {
                cor_json_raw_key(&m->w, b->key);
                write_new(m, &b->it);
            }
        }
        if (c >= 0)
            advance(b);
        if (c <= 0)
            advance(a);
    }
}

static void rules_init(struct cor_strategic *m, struct member_rules *rules,
                       const struct cor_type *type, const struct cor_strategic_directives *d)
{
    struct cor_str none = COR_STR("[]");
    struct cor_json_iter it = cor_json_iter(d && d->retain.p ? d->retain : none);
    struct cor_str raw;
    bool is_new;

    rules->type = type;
    rules->orders = d ? d->orders : NULL;
    rules->deletes = d ? d->deletes : NULL;
    rules->retains = d && d->retain.p;
    cor_str_set_init(&rules->retain, COR_STRATEGIC_ITEMS_MAX);
    if (rules->retains && cor_json_type(d->retain) != COR_JSON_ARRAY) {
        cor_strategic_fail(m, -COR_EINVAL, BAD_RETAIN);
        return;
    }
    for (const struct cor_strategic_directive *o = rules->orders; o; o = o->next)
        check_list(m, o->value);
    while (m->error == 0 && cor_json_iter_elem(&it)) {
        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) == 0 &&
            cor_str_set_add(&rules->retain, raw, &is_new) < 0)
            cor_strategic_fail(m, -COR_ENOMEM, "out of memory");
    }
}

void cor_strategic_map(struct cor_strategic *m, struct cor_json_iter *old,
                       struct cor_json_iter *patch, const struct cor_type *type, bool outermost)
{
    const struct cor_strategic_directives *d =
        cor_strategic_directives_of(m, cor_json_iter_open_value(patch).p);
    struct cor_str marker = d ? d->marker : cor_str(NULL, 0);
    struct side a = {.it = cor_json_iter(cor_json_iter_open_value(old))};
    struct side b = {.it = cor_json_iter(cor_json_iter_open_value(patch))};
    struct member_rules rules;

    if (marker.p && cor_str_eq(marker, COR_STR("\"replace\""))) {
        write_replacing(m, patch);
        return;
    }
    if (marker.p && !cor_str_eq(marker, COR_STR("\"delete\"")))
        cor_strategic_fail_marker(m, marker, cor_json_first_value(cor_json_iter_open_value(patch)));
    cor_json_begin_object(&m->w);
    if (!marker.p) {
        rules_init(m, &rules, type, d);
        merge_members(m, &rules, &a, &b, outermost);
        cor_str_set_deinit(&rules.retain);
        cor_json_iter_leave(old, &a.it);
        cor_json_iter_leave(patch, &b.it);
    }
    cor_json_end_object(&m->w);
}

static void merge_documents(struct cor_strategic *m, struct cor_str doc, struct cor_str patch,
                            const struct cor_type *kind)
{
    struct cor_json_iter old = cor_strategic_iter(doc), new_ = cor_strategic_iter(patch),
                         whole = new_;

    cor_strategic_charge(m, (doc.n + patch.n) / STEP_BYTES);
    if (memmem(patch.p, patch.n, "\"$", 2))
        find_directives(m, &whole);
    if (m->error == 0)
        cor_strategic_map(m, &old, &new_, kind, true);
}

/* Merges two canonical documents. */
static int merge_write(struct cor_str doc, struct cor_str patch, const struct cor_type *kind,
                       struct cor_work *work, struct cor_buf *out,
                       struct cor_json_patch_error *reterr)
{
    struct cor_strategic m = {.why = reterr, .work = work};
    size_t mark = out->n;
    int r;

    cor_json_writer_init(&m.w, out);
    cor_map_init(&m.directives, COR_STRATEGIC_ITEMS_MAX);
    merge_documents(&m, doc, patch, kind);
    directives_deinit(&m);
    r = m.error < 0 ? m.error : cor_json_writer_finish(&m.w);
    if (r < 0)
        cor_buf_truncate(out, mark);
    return r;
}

static bool names_type(struct cor_str key)
{
    return cor_str_eqz(key, "kind") || cor_str_eqz(key, "apiVersion");
}

/* What is in place of a member of the patch. */
static struct cor_str keep_member(struct cor_str doc, struct cor_str key, struct cor_str value)
{
    struct cor_str kept;
    bool is_kept = names_type(key) && cor_json_type(value) == COR_JSON_STRING &&
                   cor_json_get(doc, key, COR_JSON_SORTED, &kept) == 0;

    return is_kept ? kept : value;
}

/* Both members are in front of all others of a canonical object. */
static bool names_other_type(struct cor_str doc, struct cor_str patch)
{
    struct cor_json_iter it = cor_json_iter(patch);
    struct cor_str key;

    while (cor_json_iter_member(&it, &key) && names_type(key)) {
        struct cor_str value = cor_json_iter_value(&it);

        if (!cor_str_eq(value, keep_member(doc, key, value)))
            return true;
    }
    return false;
}

/* Upstream makes the object of the Go type that it had, and writes that type's kind and version
 * into it: a patch that names others, as those who send the kind of a Deployment to its scale do,
 * changes neither. What is not a text is a mistake all the same. `scratch` holds the patch that is
 * left. 0, -COR_ENOMEM, -COR_ETOOBIG. */
static int keep_type(struct cor_str doc, struct cor_str *patch, struct cor_buf *scratch)
{
    struct cor_json_iter it = cor_json_iter(*patch);
    struct cor_json_writer w;
    struct cor_str key;
    int r;

    if (!names_other_type(doc, *patch))
        return 0;
    cor_buf_init(scratch, patch->n + doc.n);
    cor_json_writer_init(&w, scratch);
    cor_json_begin_object(&w);
    while (cor_json_iter_member(&it, &key)) {
        cor_json_raw_key(&w, key);
        cor_json_raw(&w, keep_member(doc, key, cor_json_iter_value(&it)));
    }
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    if (r == 0)
        *patch = cor_buf_str(scratch);
    return r;
}

int cor_strategic_merge(struct cor_str doc, struct cor_str patch, const struct cor_type *kind,
                        const struct cor_json_limits *limits, struct cor_buf *out,
                        struct cor_json_dups *dups, struct cor_json_patch_error *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf sorted = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf merged = {0}, kept = {0};
    struct cor_strategic m = {.why = reterr};
    struct cor_json_error why;
    enum cor_json_type type;
    struct cor_str text;
    int r;

    cor_buf_init(&sorted, limits->bytes_max);
    r = cor_json_canonicalize(patch, limits, &sorted, dups, &why);
    if (r == -COR_EINVAL)
        cor_strategic_fail(&m, r, "%s", why.message);
    type = cor_json_type(cor_buf_str(&sorted));
    if (r == 0 && type == COR_JSON_NULL)
        return cor_buf_adds(out, doc);
    if (r == 0 && type != COR_JSON_OBJECT) {
        r = -COR_EINVAL;
        cor_strategic_fail(
            &m, r, "json: cannot unmarshal %s into Go value of type map[string]interface {}",
            cor_json_go_type(type));
    }
    text = cor_buf_str(&sorted);
    if (r == 0)
        r = keep_type(doc, &text, &kept);
    if (r < 0)
        return r;
    if (!kind || !cor_whole_numbers_are_possible(text))
        return merge_write(doc, text, kind, limits->work, out, reterr);
    /* 80.0 is not a key of the element 80, as upstream; it is an integer only in the result. */
    cor_buf_init(&merged, out->max);
    r = merge_write(doc, text, kind, limits->work, &merged, reterr);
    return r < 0 ? r : cor_whole_numbers_write(cor_buf_str(&merged), kind, out);
}
