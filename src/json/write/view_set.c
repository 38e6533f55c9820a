/* The paths' leading keys make a tree; reading walks it and the bytes together, each object once.
 * What follows the keys of a path (an index, a filter) is evaluated on the value they lead to. */
#include "coracle/view.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/path/path_int.h"
#include "json/text/json_int.h"
#include "json/write/view_set.h"
#include "json/write/writer.h"

static size_t leading_keys(const struct cor_json_path *path)
{
    size_t n = 0;

    while (n < path->n && path->steps[n].kind == STEP_KEY)
        n++;
    return n;
}

/* The child of `parent` with this key, made where it is missing; siblings are in canonical order.
 */
static uint16_t child(struct cor_view_set *set, uint16_t parent, struct cor_str key)
{
    int (*cmp)(struct cor_str a, struct cor_str b) =
        parent == 0 ? cor_json_outermost_cmp : cor_str_cmp;
    uint16_t *link = &set->nodes[parent].first_child, made;

    while (*link != COR_VIEW_NONE && cmp(set->nodes[*link].key, key) < 0)
        link = &set->nodes[*link].next;
    if (*link != COR_VIEW_NONE && cor_str_eq(set->nodes[*link].key, key))
        return *link;
    made = (uint16_t)set->nnodes++;
    set->nodes[made] = (struct cor_view_node){
        .key = key,
        .bit = 1ull << set->nodes[parent].nchildren++,
        .first_child = COR_VIEW_NONE,
        .next = *link,
        .first_path = COR_VIEW_NONE,
    };
    *link = made;
    return made;
}

static void add_path(struct cor_view_set *set, uint16_t i)
{
    const struct cor_json_path *path = set->paths[i];
    uint16_t node = 0;

    for (size_t k = 0; k < set->nkeys[i]; k++)
        node = child(set, node, path->steps[k].text);
    set->next_path[i] = set->nodes[node].first_path;
    set->nodes[node].first_path = i;
}

int cor_view_set_new(const struct cor_str *paths, size_t n, struct cor_view_set **ret_set,
                     size_t *reterr_index, struct cor_json_error *reterr)
{
    COR_CLEANUP(cor_view_set_freep) struct cor_view_set *set = NULL;
    size_t nodes = 1;
    int r;

    if (reterr_index)
        *reterr_index = 0;
    if (n > COR_VIEW_SET_MAX) {
        if (reterr)
            *reterr = (struct cor_json_error){.message = "too many paths"};
        return -COR_ETOOBIG;
    }
    set = cor_calloc(1, sizeof(*set));
    if (!set)
        return -COR_ENOMEM;
    for (; set->npaths < n; set->npaths++) {
        r = cor_json_path_new(paths[set->npaths], &set->paths[set->npaths], reterr);
        if (r < 0) {
            if (reterr_index)
                *reterr_index = set->npaths;
            return r;
        }
        set->nkeys[set->npaths] = leading_keys(set->paths[set->npaths]);
        nodes += set->nkeys[set->npaths];
    }
    set->nodes = cor_calloc(nodes, sizeof(*set->nodes));
    if (!set->nodes)
        return -COR_ENOMEM;
    set->nodes[0] = (struct cor_view_node){
        .first_child = COR_VIEW_NONE, .next = COR_VIEW_NONE, .first_path = COR_VIEW_NONE};
    set->nnodes = 1;
    for (size_t i = 0; i < n; i++)
        add_path(set, (uint16_t)i);
    *ret_set = COR_STEAL(set);
    return 0;
}

struct cor_view_set *cor_view_set_free(struct cor_view_set *set)
{
    if (!set)
        return NULL;
    for (size_t i = 0; i < set->npaths; i++)
        cor_json_path_free(set->paths[i]);
    cor_free(set->nodes);
    return cor_free(set);
}

struct reading {
    const struct cor_view_set *set;
    enum cor_json_order order;
    struct cor_view *ret;
};

static const struct cor_view_node *match(const struct reading *rd, const struct cor_view_node *node,
                                         struct cor_str raw)
{
    const struct cor_view_node *nodes = rd->set->nodes;
    bool has_escapes = memchr(raw.p, '\\', raw.n) != NULL;

    for (uint16_t i = node->first_child; i != COR_VIEW_NONE; i = nodes[i].next) {
        if (has_escapes ? cor_json_raw_eq(raw, nodes[i].key) : cor_str_eq(raw, nodes[i].key))
            return &nodes[i];
    }
    return NULL;
}

static void give(const struct reading *rd, const struct cor_view_node *node, struct cor_str value)
{
    if (value.n == 0)
        return;
    for (uint16_t i = node->first_path; i != COR_VIEW_NONE; i = rd->set->next_path[i]) {
        const struct cor_json_path *path = rd->set->paths[i];
        struct cor_str found = value;

        if (rd->set->nkeys[i] == path->n ||
            cor_json_path_first_from(path, rd->set->nkeys[i], value, rd->order, &found) == 0)
            rd->ret[i] = (struct cor_view){found, rd->order};
    }
}

static void read_members(const struct reading *rd, const struct cor_view_node *node,
                         struct cor_json_iter *it);

static void read_nested(const struct reading *rd, const struct cor_view_node *node,
                        struct cor_json_iter *it, bool goes_on)
{
    struct cor_str open = cor_json_iter_open_value(it);
    struct cor_json_iter inner = cor_json_iter(open);

    if (cor_json_type(open) != COR_JSON_OBJECT)
        return;
    read_members(rd, node, &inner);
    if (goes_on)
        cor_json_iter_leave(it, &inner);
}

static void read_whole(const struct reading *rd, const struct cor_view_node *node,
                       struct cor_str value)
{
    struct cor_json_iter inner = cor_json_iter(value);

    give(rd, node, value);
    if (cor_json_type(value) == COR_JSON_OBJECT)
        read_members(rd, node, &inner);
}

/* Reads what `node`'s children want of the object at `it`, and stops when all are found: the
 * iterator follows the last that was. A child that was found is not looked for again. */
static void read_members(const struct reading *rd, const struct cor_view_node *node,
                         struct cor_json_iter *it)
{
    uint64_t seen = 0;
    unsigned left = node->nchildren;
    struct cor_str raw;

    while (left > 0 && cor_json_iter_member(it, &raw)) {
        const struct cor_view_node *hit = match(rd, node, raw);

        if (!hit || hit->bit & seen)
            continue;
        seen |= hit->bit;
        left--;
        if (hit->first_path != COR_VIEW_NONE) {
            read_whole(rd, hit, cor_json_iter_value(it));
        } else {
            read_nested(rd, hit, it, left > 0);
        }
    }
}

void cor_view_set_read(const struct cor_view_set *set, struct cor_view view, struct cor_view *ret)
{
    const struct reading rd = {set, (enum cor_json_order)view.order, ret};

    memset(ret, 0, set->npaths * sizeof(*ret));
    if (cor_view_exists(view))
        read_whole(&rd, &set->nodes[0], view.json);
}

bool cor_view_set_is_plain(const struct cor_view_set *set, size_t i)
{
    return set->nkeys[i] == set->paths[i]->n && set->nkeys[i] > 0;
}

/* What a path that ends at `node` found; all of them find the same. */
static struct cor_str own_value(const struct cor_view_set *set, const struct cor_view_node *node,
                                const struct cor_view *found)
{
    return node->first_path == COR_VIEW_NONE ? cor_str(NULL, 0) : found[node->first_path].json;
}

static bool is_found(const struct cor_view_set *set, const struct cor_view_node *node,
                     const struct cor_view *found)
{
    if (own_value(set, node, found).p)
        return true;
    for (uint16_t i = node->first_child; i != COR_VIEW_NONE; i = set->nodes[i].next) {
        if (is_found(set, &set->nodes[i], found))
            return true;
    }
    return false;
}

static void print_node(const struct cor_view_set *set, const struct cor_view_node *node,
                       const struct cor_view *found, struct cor_json_writer *w)
{
    struct cor_str own = own_value(set, node, found);

    if (own.p) {
        cor_json_raw(w, own);
        return;
    }
    cor_json_begin_object(w);
    for (uint16_t i = node->first_child; i != COR_VIEW_NONE; i = set->nodes[i].next) {
        if (!is_found(set, &set->nodes[i], found))
            continue;
        cor_json_key(w, set->nodes[i].key);
        print_node(set, &set->nodes[i], found, w);
    }
    cor_json_end_object(w);
}

int cor_view_set_print(const struct cor_view_set *set, const struct cor_view *found,
                       struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    print_node(set, &set->nodes[0], found, &w);
    return cor_json_writer_finish(&w);
}
