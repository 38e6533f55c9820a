/* clang-format off */
/* The places of a check.
 *
 * Both objects are read into nodes once. A struct is opened when something asks for one of its
 * members: a walk over its keys in step with the members of its type, both of which are sorted,
 * notes the node of each member in the check's slots. From then on a member costs one look-up.
 *
 *   object.opened[node] ──► slots[first .. first + nmembers]: nodes by member
 *   open[]               the open structs in the order of their opening
 *
 * The elements of a long list are closed again when the next one comes, so that the list needs the
 * slots of a few. A place knows its node only, never its slots: what was closed is opened again by
 * whoever asks.
 *
 * Failures: no memory, which is kept in the errors. Thread: one at a time. */
/* clang-format on */
#include "schema/check/check.h"

#include <assert.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/types/types_int.h"
#include "schema/walk/equal.h"
#include "json/text/scan.h"

#define SLOTS_KEPT 4096 /* of the elements of lists that stay open */

/* A text that lives as long as the check. */
struct cor_check_text {
    struct cor_check_text *next;
    char bytes[];
};

void cor_check_note(struct cor_check *check, int r)
{
    if (r < 0 && r != -COR_EINVALID && check->errors->error == 0)
        check->errors->error = r;
}

static struct cor_check_tree *check_tree(struct cor_check *check, bool is_old)
{
    return is_old ? &check->old : &check->object;
}

static const struct cor_json_nodes *check_nodes(const struct cor_check *check, bool is_old)
{
    return is_old ? &check->old.nodes : &check->object.nodes;
}

static int tree_init(struct cor_check_tree *tree, struct cor_str json)
{
    int r = cor_json_nodes_init(&tree->nodes, json);

    tree->opened = tree->few;
    if (r < 0)
        return r;
    if (tree->nodes.n > COR_JSON_NODES_FEW) {
        tree->opened = cor_calloc(tree->nodes.n, sizeof(*tree->opened));
        return tree->opened ? 0 : -COR_ENOMEM;
    }
    memset(tree->few, 0, tree->nodes.n * sizeof(*tree->few));
    return 0;
}

static void tree_deinit(struct cor_check_tree *tree)
{
    if (tree->opened != tree->few)
        cor_free(tree->opened);
    cor_json_nodes_deinit(&tree->nodes);
}

int cor_check_init(struct cor_check *check, struct cor_str object, struct cor_str old,
                   struct cor_field_errors *errors)
{
    int r;

    /* The nodes themselves need not be cleared, and are most of the struct. */
    memset(check, 0, offsetof(struct cor_check, object));
    check->slots = NULL;
    check->open = NULL;
    check->texts = NULL;
    check->text_bytes = 0;
    memset(check->unescaped, 0, sizeof(check->unescaped));
    check->seen = NULL;
    check->claim_names = NULL;
    check->nslots = check->slots_cap = check->nopen = check->open_cap = 0;
    check->errors = errors;
    check->has_old = old.p != NULL;
    r = tree_init(&check->object, object);
    cor_check_note(check, r);
    r = tree_init(&check->old, check->has_old ? old : COR_STR("{}"));
    cor_check_note(check, r);
    return check->errors->error;
}

void cor_check_deinit(struct cor_check *check)
{
    tree_deinit(&check->object);
    tree_deinit(&check->old);
    if (check->sent_nodes)
        cor_json_nodes_deinit(check->sent_nodes);
    cor_free(check->sent_nodes);
    cor_free(check->slots);
    cor_free(check->open);
    for (size_t i = 0; check->seen && i < COR_SEEN_TOPICS; i++)
        cor_str_set_deinit(&check->seen[i].texts);
    cor_free(check->seen);
    while (check->texts) {
        struct cor_check_text *text = check->texts;

        check->texts = text->next;
        cor_free(text);
    }
}

struct cor_place cor_check_root(const struct cor_type *type, const struct cor_check *check)
{
    return (struct cor_place){.type = type, .old = check->has_old ? 0 : COR_JSON_NO_NODE};
}

char *cor_check_alloc(struct cor_check *check, size_t n)
{
    struct cor_check_text *text;

    if (n > COR_CHECK_TEXTS_MAX - check->text_bytes) {
        cor_check_note(check, -COR_ETOOBIG);
        return NULL;
    }
    check->text_bytes += n;
    text = cor_alloc(sizeof(*text) + n);
    if (!text) {
        cor_check_note(check, -COR_ENOMEM);
        return NULL;
    }
    text->next = check->texts;
    check->texts = text;
    return text->bytes;
}

static uint32_t place_node(const struct cor_place *place)
{
    return place->is_old ? place->old : place->node;
}

const struct cor_place *cor_place_around(const struct cor_place *place, const char *type_name)
{
    while (place && !cor_str_eq(cor_type_name(place->type), cor_strz(type_name)))
        place = place->parent;
    return place;
}

/* --- Opening -----------------------------------------------------------------------------------
 */

/* Byte order of a name, which ends with NUL, and a key. They mostly differ in the first bytes. */
static inline int compare_name(const char *name, struct cor_str key)
{
    for (size_t i = 0; i < key.n; i++) {
        unsigned char a = (unsigned char)name[i], b = (unsigned char)key.p[i];

        if (a != b)
            return a < b ? -1 : 1;
    }
    return name[key.n] != '\0';
}

static bool is_first_key(struct cor_str key)
{
    return cor_str_eqz(key, "kind") || cor_str_eqz(key, "apiVersion");
}

/* Notes where the members of the struct are. Both the keys and the members are sorted, except for
 * the outermost object, where kind and apiVersion come first. */
static void fill_slots(const struct cor_json_nodes *nodes, const struct cor_type *type,
                       uint32_t node, uint32_t *slots)
{
    uint32_t end = cor_json_node_next(nodes, node);
    size_t m = 0, n = type->nmembers;

    memset(slots, 0xff, n * sizeof(*slots));
    for (uint32_t i = node + 1; i + 1 < end && m < n; i = cor_json_node_next(nodes, i + 1)) {
        struct cor_str key = cor_json_node_raw(nodes, i);

        if (node == 0 && m == 0 && i <= 3 && is_first_key(key)) {
            size_t first = cor_type_member_index(type, key);

            if (first < n)
                slots[first] = i + 1;
            continue;
        }
        for (; m < n; m++) {
            const struct cor_type_member *member = &cor_type_members[type->first_member + m];
            const char *name = cor_type_pool + cor_type_fields[member->field].name;
            int order = compare_name(name, key);

            if (order == 0 && cor_json_node_first(nodes, i + 1) != 'n')
                slots[m] = i + 1;
            if (order >= 0)
                break;
        }
    }
}

/* The first slot of a struct, which is opened if need be. False: no memory, or no struct. */
static bool check_open(struct cor_check *check, bool is_old, const struct cor_type *type,
                       uint32_t node, size_t *ret_first)
{
    struct cor_check_tree *tree = check_tree(check, is_old);
    int r;

    assert(type->shape == COR_SHAPE_STRUCT);
    if (tree->opened[node]) {
        *ret_first = tree->opened[node] - 1;
        return true;
    }
    if (cor_json_node_first(&tree->nodes, node) != '{')
        return false;
    r = COR_ARRAY_RESERVE_MORE(&check->slots, check->nslots, type->nmembers, &check->slots_cap,
                               COR_ARRAY_NO_MAX);
    if (r == 0)
        r = COR_ARRAY_RESERVE(&check->open, check->nopen, &check->open_cap, COR_ARRAY_NO_MAX);
    cor_check_note(check, r);
    if (r < 0)
        return false;
    *ret_first = check->nslots;
    check->open[check->nopen++] = (struct cor_check_opened){node, (uint32_t)check->nslots, is_old};
    fill_slots(&tree->nodes, type, node, check->slots + check->nslots);
    check->nslots += type->nmembers;
    tree->opened[node] = (uint32_t)*ret_first + 1;
    return true;
}

void cor_check_release(struct cor_check *check, size_t mark)
{
    while (check->nopen > mark) {
        const struct cor_check_opened *open = &check->open[--check->nopen];

        check_tree(check, open->is_old)->opened[open->node] = 0;
        check->nslots = open->first;
    }
}

uint32_t cor_check_open_slot(struct cor_check *check, bool is_old, const struct cor_type *type,
                             uint32_t node, size_t member)
{
    size_t first;

    assert(member < type->nmembers);
    if (!check_open(check, is_old, type, node, &first))
        return COR_JSON_NO_NODE;
    return check->slots[first + member];
}

uint32_t cor_check_find_entry(const struct cor_check *check, bool is_old, uint32_t node,
                              struct cor_str key)
{
    const struct cor_json_nodes *nodes = check_nodes(check, is_old);
    uint32_t end;

    if (node == COR_JSON_NO_NODE || cor_json_node_first(nodes, node) != '{')
        return COR_JSON_NO_NODE;
    end = cor_json_node_next(nodes, node);
    for (uint32_t i = node + 1; i + 1 < end; i = cor_json_node_next(nodes, i + 1)) {
        if (cor_json_raw_eq(cor_json_node_raw(nodes, i), key))
            return i + 1;
    }
    return COR_JSON_NO_NODE;
}

/* --- Moving ------------------------------------------------------------------------------------
 */

bool cor_place_member(struct cor_check *check, const struct cor_place *place, size_t member,
                      struct cor_place *ret_field)
{
    const struct cor_type_field *field =
        &cor_type_fields[cor_type_members[place->type->first_member + member].field];

    assert(place->type->shape == COR_SHAPE_STRUCT && member < place->type->nmembers);
    *ret_field = (struct cor_place){
        .parent = place,
        .type = &cor_types[field->type],
        .node = cor_check_slot(check, false, place->type, place->node, member),
        .old = cor_check_slot(check, true, place->type, place->old, member),
        .is_pointer = field->flags & COR_FIELD_POINTER,
        .is_old = place->is_old,
        .path = cor_field_child(place->parent ? &place->path : NULL,
                                cor_strz(cor_type_pool + field->name)),
    };
    return cor_place_is_present(ret_field);
}

bool cor_place_entry(struct cor_check *check, const struct cor_place *place, struct cor_str key,
                     struct cor_place *ret_entry)
{
    assert(place->type->shape == COR_SHAPE_MAP);
    *ret_entry = (struct cor_place){
        .parent = place,
        .type = &cor_types[place->type->element],
        .node = cor_check_find_entry(check, false, place->node, key),
        .old = cor_check_find_entry(check, true, place->old, key),
        .is_old = place->is_old,
        .path = cor_field_key(&place->path, key),
        .key = key,
    };
    return cor_place_is_present(ret_entry);
}

/* The nodes inside a list or map; none when the value is absent. */
static void each_span(const struct cor_json_nodes *nodes, uint32_t node, char first,
                      uint32_t *ret_next, uint32_t *ret_end)
{
    *ret_next = *ret_end = 0;
    if (node == COR_JSON_NO_NODE || cor_json_node_first(nodes, node) != first)
        return;
    *ret_next = node + 1;
    *ret_end = cor_json_node_next(nodes, node);
}

struct cor_each cor_each(struct cor_check *check, const struct cor_place *place)
{
    bool is_map = place->type->shape == COR_SHAPE_MAP;
    char first = is_map ? '{' : '[';
    struct cor_each each = {.place = place, .mark = check->nopen, .is_map = is_map};

    assert(is_map || place->type->shape == COR_SHAPE_LIST);
    each_span(check_nodes(check, place->is_old), place_node(place), first, &each.next, &each.end);
    if (!place->is_old)
        each_span(&check->old.nodes, place->old, first, &each.old, &each.old_end);
    return each;
}

/* The old entry with this key: the keys of both objects are sorted, so the walk goes on from the
 * one before. */
static uint32_t find_old_entry(const struct cor_check *check, struct cor_each *each,
                               struct cor_str raw_key)
{
    const struct cor_json_nodes *old = &check->old.nodes;

    while (each->old + 1 < each->old_end) {
        int order = cor_json_raw_cmp(cor_json_node_raw(old, each->old), raw_key);

        if (order > 0)
            break;
        if (order == 0)
            return each->old + 1;
        each->old = cor_json_node_next(old, each->old + 1);
    }
    return COR_JSON_NO_NODE;
}

bool cor_each_next(struct cor_check *check, struct cor_each *each, struct cor_place *ret_item)
{
    bool is_old = each->place->is_old;
    const struct cor_json_nodes *nodes = check_nodes(check, is_old);
    struct cor_place *item = ret_item;

    /* Few elements stay open, because other rules will ask for them. */
    if (check->nslots > SLOTS_KEPT)
        cor_check_release(check, each->mark);
    if (each->next + each->is_map >= each->end || cor_check_is_over(check))
        return false;
    *item = (struct cor_place){.parent = each->place,
                               .type = &cor_types[each->place->type->element],
                               .is_old = is_old,
                               .old = COR_JSON_NO_NODE,
                               .node = each->next + each->is_map};
    if (each->is_map) {
        item->key = cor_check_node_text(check, is_old, each->next);
        item->path = cor_field_key(&each->place->path, item->key);
        if (each->old < each->old_end)
            item->old = find_old_entry(check, each, cor_json_node_raw(nodes, each->next));
    } else {
        item->path = cor_field_index(&each->place->path, each->index);
        if (each->old < each->old_end) {
            item->old = each->old;
            each->old = cor_json_node_next(&check->old.nodes, each->old);
        }
    }
    each->next = cor_json_node_next(nodes, item->node);
    each->index++;
    if (is_old) {
        item->old = item->node;
        item->node = COR_JSON_NO_NODE;
    }
    return true;
}

bool cor_each_next_key(struct cor_check *check, struct cor_each *each, struct cor_str *ret_key)
{
    bool is_old = each->place->is_old;

    assert(each->is_map);
    if (each->next + 1 >= each->end || cor_check_is_over(check))
        return false;
    *ret_key = cor_check_node_text(check, is_old, each->next);
    each->next = cor_json_node_next(check_nodes(check, is_old), each->next + 1);
    return true;
}

struct cor_place cor_place_old(const struct cor_place *place)
{
    struct cor_place old = *place;

    old.is_old = true;
    return old;
}

/* --- Reading -----------------------------------------------------------------------------------
 */

bool cor_check_is_zero(const struct cor_check *check, bool is_old, const struct cor_type *type,
                       uint32_t node)
{
    const struct cor_json_nodes *nodes = check_nodes(check, is_old);

    if (node == COR_JSON_NO_NODE)
        return true;
    switch (cor_json_node_first(nodes, node)) {
    case '{':
    case '[':
        return cor_json_node_next(nodes, node) == node + 1;
    case '"':
        return type->shape == COR_SHAPE_QUANTITY
                   ? cor_str_eq(cor_json_node_raw(nodes, node), COR_STR("0"))
                   : nodes->v[node].end == 0;
    case 'f':
    case 'n':
        return true;
    case '0':
        return nodes->v[node].end == 1;
    default:
        return false;
    }
}

bool cor_place_is_empty(struct cor_check *check, const struct cor_place *place)
{
    return cor_check_is_zero(check, place->is_old, place->type, place_node(place));
}

bool cor_place_is_set(struct cor_check *check, const struct cor_place *place)
{
    return place->is_pointer ? place_node(place) != COR_JSON_NO_NODE
                             : !cor_place_is_empty(check, place);
}

struct cor_str cor_check_node_text(struct cor_check *check, bool is_old, uint32_t node)
{
    const struct cor_json_nodes *nodes = check_nodes(check, is_old);
    struct cor_check_unescaped *kept = &check->unescaped[node % COR_CHECK_UNESCAPED];
    struct cor_str raw, text = COR_STR("");
    char *bytes;

    if (node == COR_JSON_NO_NODE || cor_json_node_first(nodes, node) != '"')
        return COR_STR("");
    raw = cor_json_node_raw(nodes, node);
    if (!(nodes->v[node].end & COR_JSON_NODE_ESCAPED))
        return raw;
    /* Hooks read the same string once per element of a list. */
    if (kept->text.p && kept->node == node && kept->is_old == is_old)
        return kept->text;
    bytes = cor_check_alloc(check, raw.n);
    if (bytes)
        cor_check_note(check, cor_json_unescape(raw, bytes, raw.n, &text));
    if (bytes)
        *kept = (struct cor_check_unescaped){node, is_old, text};
    return text;
}

struct cor_str cor_place_text(struct cor_check *check, const struct cor_place *place)
{
    return cor_check_node_text(check, place->is_old, place_node(place));
}

int64_t cor_check_node_int(const struct cor_check *check, bool is_old, uint32_t node)
{
    const struct cor_json_nodes *nodes = check_nodes(check, is_old);
    int64_t number;

    if (node == COR_JSON_NO_NODE || cor_json_node_has_nodes(nodes, node) ||
        cor_json_to_i64(cor_json_node_bytes(nodes, node), &number) < 0)
        return 0;
    return number;
}

int64_t cor_place_int(struct cor_check *check, const struct cor_place *place)
{
    return cor_check_node_int(check, place->is_old, place_node(place));
}

bool cor_place_bool(struct cor_check *check, const struct cor_place *place)
{
    uint32_t node = place_node(place);

    return node != COR_JSON_NO_NODE &&
           cor_json_node_first(check_nodes(check, place->is_old), node) == 't';
}

bool cor_place_is_text(const struct cor_check *check, const struct cor_place *place)
{
    uint32_t node = place_node(place);

    return node != COR_JSON_NO_NODE &&
           cor_json_node_first(check_nodes(check, place->is_old), node) == '"';
}

size_t cor_check_node_length(struct cor_check *check, bool is_old, uint32_t node)
{
    const struct cor_json_nodes *nodes = check_nodes(check, is_old);
    uint32_t end;
    size_t n = 0;

    if (node == COR_JSON_NO_NODE)
        return 0;
    if (!cor_json_node_has_nodes(nodes, node))
        return cor_check_node_text(check, is_old, node).n;
    end = cor_json_node_next(nodes, node);
    for (uint32_t i = node + 1; i < end; i = cor_json_node_next(nodes, i))
        n++;
    return cor_json_node_first(nodes, node) == '{' ? n / 2 : n;
}

size_t cor_place_length(struct cor_check *check, const struct cor_place *place)
{
    return cor_check_node_length(check, place->is_old, place_node(place));
}

struct cor_str cor_place_json(const struct cor_check *check, const struct cor_place *place)
{
    uint32_t node = place_node(place);

    if (node == COR_JSON_NO_NODE)
        return (struct cor_str){NULL, 0};
    return cor_json_node_bytes(check_nodes(check, place->is_old), node);
}

struct cor_str cor_place_open_json(const struct cor_check *check, const struct cor_place *place)
{
    const struct cor_json_nodes *nodes = check_nodes(check, place->is_old);
    uint32_t node = place_node(place);

    if (node == COR_JSON_NO_NODE)
        return (struct cor_str){NULL, 0};
    return cor_str_from(nodes->json, nodes->v[node].at);
}

bool cor_check_are_equal(struct cor_check *check, const struct cor_type *type, bool is_pointer,
                         uint32_t node, uint32_t old)
{
    return cor_semantic_equal(type, is_pointer, &check->object.nodes, node, &check->old.nodes, old,
                              0);
}

bool cor_place_is_changed(struct cor_check *check, const struct cor_place *place)
{
    return !check->has_old ||
           !cor_check_are_equal(check, place->type, place->is_pointer, place->node, place->old);
}
