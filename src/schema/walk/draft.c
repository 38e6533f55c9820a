/* Drafts. An object is opened in one pass over its bytes: the members of a struct and of its type
 * are both sorted by name, so they are matched as two sorted sequences, and a value is entered only
 * when its type can have defaults. The children of a value are a list in the order of their keys;
 * their addresses never change, so a hook may keep one while it adds another.
 *
 * A change marks the value and all values around it. Writing copies the bytes of whatever is not
 * marked. Memory comes from an arena that is freed as a whole; when it fails, the error sticks,
 * and everything that was half done is never written.
 * Thread: one at a time. */
#include "schema/walk/draft.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "json/text/scan.h"

static void open_value(struct cor_draft *draft, struct cor_draft_value *value,
                       struct cor_json_iter *it);

void *cor_draft_alloc(struct cor_draft *draft, size_t n)
{
    void *p = cor_arena_alloc(&draft->arena, n);

    if (!p)
        draft->error = -COR_ENOMEM;
    return p;
}

static struct cor_draft_value *new_value(struct cor_draft *draft, struct cor_draft_value *parent,
                                         const struct cor_type *type, struct cor_str key,
                                         size_t member)
{
    struct cor_draft_value *value = cor_draft_alloc(draft, sizeof(*value));

    if (value)
        *value = (struct cor_draft_value){
            .parent = parent, .type = type, .key = key, .member = (uint8_t)member};
    return value;
}

static bool has_defaults(const struct cor_type *type)
{
    return type && cor_type_is(type, COR_TYPE_DEFAULTS);
}

/* Does JSON look like a type that has something inside? A list is an array, a struct and a map are
 * objects. */
static bool can_open(const struct cor_type *type, struct cor_str json)
{
    enum cor_shape shape;

    if (!type || json.n == 0)
        return false;
    shape = cor_type_shape(type);
    return json.p[0] == (shape == COR_SHAPE_LIST ? '[' : '{') &&
           (shape == COR_SHAPE_LIST || shape == COR_SHAPE_STRUCT || shape == COR_SHAPE_MAP);
}

/* Links the current value of `it` behind `*tail`, and moves on. */
static bool add_child(struct cor_draft *draft, struct cor_draft_value *child,
                      struct cor_json_iter *it, struct cor_draft_value ***tail)
{
    struct cor_str open;
    struct cor_json_iter inner;

    if (!child)
        return false;
    **tail = child;
    *tail = &child->next;
    open = cor_json_iter_open_value(it);
    if (has_defaults(child->type) && can_open(child->type, open)) {
        inner = cor_json_iter(open);
        open_value(draft, child, &inner);
        cor_json_iter_leave(it, &inner);
        child->json = cor_str(open.p, (size_t)(it->p - open.p));
    } else {
        child->json = cor_json_iter_value(it);
    }
    return draft->error == 0;
}

/* The index of the member with this key, which is at `*at` or behind: keys come in order. The names
 * of members have no escapes, so a key with one names no member. */
static size_t match_member(const struct cor_type *type, struct cor_str key, size_t *at)
{
    if (memchr(key.p, '\\', key.n))
        return COR_DRAFT_UNKNOWN;
    for (; *at < cor_type_nmembers(type); ++*at) {
        struct cor_member member;
        int order;

        cor_type_member(type, *at, &member);
        order = cor_str_cmp(cor_type_field_name(member.field), key);
        if (order == 0)
            return *at;
        if (order > 0)
            break;
    }
    return COR_DRAFT_UNKNOWN;
}

static const struct cor_type *member_type(const struct cor_type *type, size_t index)
{
    struct cor_member member;

    if (index == COR_DRAFT_UNKNOWN)
        return NULL;
    cor_type_member(type, index, &member);
    return cor_type_field_type(member.field);
}

/* An object of a kind begins with these two, which are out of order and have no defaults. */
static bool is_type_key(const struct cor_draft_value *parent, struct cor_str key)
{
    return !parent->parent && cor_type_is(parent->type, COR_TYPE_KIND) &&
           (cor_str_eq(key, COR_STR("kind")) || cor_str_eq(key, COR_STR("apiVersion")));
}

static void open_value(struct cor_draft *draft, struct cor_draft_value *value,
                       struct cor_json_iter *it)
{
    enum cor_shape shape = cor_type_shape(value->type);
    struct cor_draft_value **tail = &value->first;
    struct cor_str key;
    size_t at = 0, member = COR_DRAFT_UNKNOWN;
    const struct cor_type *type = cor_type_element(value->type);

    value->is_open = true;
    value->first = NULL;
    if (shape == COR_SHAPE_LIST) {
        while (cor_json_iter_elem(it)) {
            if (!add_child(draft, new_value(draft, value, type, cor_str(NULL, 0), member), it,
                           &tail))
                return;
        }
        return;
    }
    while (cor_json_iter_member(it, &key)) {
        if (shape == COR_SHAPE_STRUCT) {
            member =
                is_type_key(value, key) ? COR_DRAFT_UNKNOWN : match_member(value->type, key, &at);
            type = member_type(value->type, member);
        }
        if (!add_child(draft, new_value(draft, value, type, key, member), it, &tail))
            return;
    }
}

void cor_draft_open(struct cor_draft *draft, struct cor_draft_value *value)
{
    struct cor_json_iter it;

    if (draft->error < 0 || value->is_open || !can_open(value->type, value->json))
        return;
    it = cor_json_iter(value->json);
    open_value(draft, value, &it);
}

void cor_draft_init(struct cor_draft *draft, const struct cor_type *type, struct cor_str json)
{
    *draft = (struct cor_draft){.root = {.type = type, .json = json}, .arena = {.max = SIZE_MAX}};
    cor_draft_open(draft, &draft->root);
}

void cor_draft_deinit(struct cor_draft *draft)
{
    cor_arena_deinit(&draft->arena);
}

static bool is_null(const struct cor_draft_value *value)
{
    return !value->is_open && cor_str_eq(value->json, COR_STR("null"));
}

struct cor_draft_value *cor_draft_member(const struct cor_draft_value *object, size_t member)
{
    for (struct cor_draft_value *child = object->first; child; child = child->next) {
        if (child->member == member)
            return is_null(child) ? NULL : child;
    }
    return NULL;
}

struct cor_draft_value *cor_draft_get(const struct cor_draft_value *object, struct cor_str key)
{
    for (struct cor_draft_value *child = object->first; child; child = child->next) {
        if (cor_str_eq(child->key, key))
            return is_null(child) ? NULL : child;
    }
    return NULL;
}

struct cor_draft_value *cor_draft_open_member(struct cor_draft *draft,
                                              const struct cor_draft_value *object,
                                              const char *name)
{
    struct cor_draft_value *value = cor_draft_get(object, cor_strz(name));

    if (value)
        cor_draft_open(draft, value);
    return value && value->is_open ? value : NULL;
}

static void mark(struct cor_draft_value *value)
{
    for (; value && !value->is_changed; value = value->parent)
        value->is_changed = true;
}

void cor_draft_replace(struct cor_draft *draft, struct cor_draft_value *value, struct cor_str json)
{
    value->json = json;
    value->first = value->hint = NULL;
    value->is_open = false;
    mark(value);
    if (has_defaults(value->type))
        cor_draft_open(draft, value);
}

/* Keys that come in order are put without a search, so filling a map is linear. */
static struct cor_draft_value *put(struct cor_draft *draft, struct cor_draft_value *object,
                                   const struct cor_type *type, struct cor_str raw_key,
                                   size_t member, struct cor_str json)
{
    struct cor_draft_value **at = &object->first, *value;
    int order = 1;

    assert(object->is_open && cor_type_shape(object->type) != COR_SHAPE_LIST);
    if (object->hint && cor_json_raw_cmp(object->hint->key, raw_key) < 0)
        at = &object->hint->next;
    for (; *at; at = &(*at)->next) {
        order = is_type_key(object, (*at)->key) ? -1 : cor_json_raw_cmp((*at)->key, raw_key);
        if (order >= 0)
            break;
    }
    if (*at && order == 0) {
        cor_draft_replace(draft, *at, json);
        return draft->error < 0 ? NULL : *at;
    }
    value = new_value(draft, object, type, raw_key, member);
    if (!value)
        return NULL;
    value->next = *at;
    *at = value;
    object->hint = value;
    cor_draft_replace(draft, value, json);
    return draft->error < 0 ? NULL : value;
}

struct cor_draft_value *cor_draft_set_member(struct cor_draft *draft,
                                             struct cor_draft_value *object, size_t member,
                                             struct cor_str json)
{
    struct cor_member row;

    cor_type_member(object->type, member, &row);
    return put(draft, object, cor_type_field_type(row.field), cor_type_field_name(row.field),
               member, json);
}

struct cor_draft_value *cor_draft_set(struct cor_draft *draft, struct cor_draft_value *object,
                                      struct cor_str raw_key, struct cor_str json)
{
    size_t member;

    if (cor_type_shape(object->type) == COR_SHAPE_MAP)
        return put(draft, object, cor_type_element(object->type), raw_key, COR_DRAFT_UNKNOWN, json);
    member = cor_type_member_index(object->type, raw_key);
    assert(member != SIZE_MAX);
    return cor_draft_set_member(draft, object, member, json);
}

/* Both maps are sorted, so this is one walk. */
void cor_draft_add_missing(struct cor_draft *draft, struct cor_draft_value *object,
                           const char *name, const struct cor_draft_value *from,
                           bool (*wants)(struct cor_str raw_key))
{
    struct cor_draft_value *map = cor_draft_open_member(draft, object, name);
    struct cor_draft_value *at = map ? map->first : NULL;

    for (const struct cor_draft_value *entry = from->first; entry; entry = entry->next) {
        if (wants && !wants(entry->key))
            continue;
        while (at && cor_json_raw_cmp(at->key, entry->key) < 0)
            at = at->next;
        if (at && cor_json_raw_cmp(at->key, entry->key) == 0)
            continue;
        if (!map) {
            cor_draft_set(draft, object, cor_strz(name), COR_STR("{}"));
            map = cor_draft_open_member(draft, object, name);
        }
        if (!map || !cor_draft_set(draft, map, entry->key, entry->json))
            return;
    }
}

void cor_draft_remove(struct cor_draft_value *value)
{
    struct cor_draft_value **at = &value->parent->first;

    while (*at != value)
        at = &(*at)->next;
    *at = value->next;
    value->parent->hint = NULL;
    mark(value->parent);
}

static int write_value(const struct cor_draft_value *value, struct cor_buf *out)
{
    bool is_list;
    int r;

    if (!value->is_changed || !value->is_open)
        return cor_buf_adds(out, value->json);
    is_list = cor_type_shape(value->type) == COR_SHAPE_LIST;
    r = cor_buf_addc(out, is_list ? '[' : '{');
    for (const struct cor_draft_value *child = value->first; r == 0 && child; child = child->next) {
        if (child != value->first)
            r = cor_buf_addc(out, ',');
        if (r == 0 && !is_list) {
            r = cor_buf_reserve(out, child->key.n + 3);
            if (r == 0) {
                cor_buf_addc(out, '"');
                cor_buf_adds(out, child->key);
                cor_buf_add(out, "\":", 2);
            }
        }
        if (r == 0)
            r = write_value(child, out);
    }
    return r < 0 ? r : cor_buf_addc(out, is_list ? ']' : '}');
}

int cor_draft_write(const struct cor_draft *draft, struct cor_buf *out)
{
    size_t before = out->n;
    int r = draft->error < 0 ? draft->error : write_value(&draft->root, out);

    if (r < 0)
        cor_buf_truncate(out, before);
    return r;
}

int cor_draft_finish(struct cor_draft *draft, struct cor_buf *out)
{
    int r = draft->error;

    if (r == 0 && draft->root.is_changed) {
        r = cor_draft_write(draft, out);
        r = r < 0 ? r : 1;
    }
    cor_draft_deinit(draft);
    return r;
}
