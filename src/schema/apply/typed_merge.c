/* Merging a configuration into the live object.
 *
 * What only one side has is copied as it is. Where both sides have a value, a leaf is the
 * configuration's, granular maps are merged key by key, and lists with keys and sets item by item;
 * merge_list() has the order of their items. */
#include "base/err.h"
#include "schema/apply/typed_int.h"
#include "json/write/writer.h"

#define NO_ITEM UINT32_MAX

struct merge {
    struct cor_arena *arena;
    struct cor_json_writer w;
    int error; /* sticks; so does the writer's */
};

static void merge_value(struct merge *m, const struct cor_apply_place *place,
                        struct cor_apply_value l, struct cor_apply_value r);

static void merge_map(struct merge *m, const struct cor_apply_place *place,
                      struct cor_apply_value l, struct cor_apply_value r)
{
    struct cor_apply_pairs pairs = cor_apply_pairs(l, r);
    struct cor_apply_place member;

    cor_json_begin_object(&m->w);
    while (m->error == 0 && cor_apply_pairs_next(&pairs)) {
        cor_arena_charge(m->arena, 1);
        if (cor_apply_place_member(place, pairs.key, &member) == COR_APPLY_UNKNOWN) {
            m->error = -COR_EINVALID;
            break;
        }
        cor_json_raw_key(&m->w, pairs.key);
        merge_value(m, &member, pairs.left, pairs.right);
    }
    cor_json_end_object(&m->w);
}

/* An item of one side, by its index in the list. */
struct side_item {
    uint32_t at;      /* node */
    uint32_t partner; /* index of the item with the same path element on the other side */
    bool is_repeated; /* the live list has several items with this path element */
};

struct sides {
    struct side_item *l, *r;
    size_t nl, nr;
};

/* Finds the partners. A configuration's item has the first of several live items as its partner. */
static void pair_items(const struct cor_apply_items *a, const struct cor_apply_items *b,
                       struct sides *s)
{
    size_t j = 0, run;

    for (size_t i = 0; i < a->n; i += run) {
        uint32_t partner = NO_ITEM;

        run = cor_apply_items_run(a, i);
        while (j < b->n && cor_path_element_cmp(&b->v[j].element, &a->v[i].element) < 0)
            j++;
        if (j < b->n && cor_path_element_cmp(&b->v[j].element, &a->v[i].element) == 0) {
            partner = b->v[j].index;
            s->r[partner].partner = a->v[i].index;
        }
        for (size_t k = i; k < i + run; k++) {
            struct side_item *item = &s->l[a->v[k].index];

            item->partner = partner;
            item->is_repeated = run > 1;
        }
    }
}

static int make_sides(struct merge *m, const struct cor_apply_place *place,
                      struct cor_apply_value l, struct cor_apply_value r, struct sides *ret_sides)
{
    struct cor_apply_items a, b;
    int rc = cor_apply_items(m->arena, place, l, &a);

    if (rc == 0)
        rc = cor_apply_items(m->arena, place, r, &b);
    if (rc < 0)
        return rc;
    ret_sides->nl = a.n;
    ret_sides->nr = b.n;
    ret_sides->l = cor_arena_alloc(m->arena, a.n * sizeof(ret_sides->l[0]));
    ret_sides->r = cor_arena_alloc(m->arena, b.n * sizeof(ret_sides->r[0]));
    if (!ret_sides->l || !ret_sides->r)
        return m->arena->error;
    for (size_t i = 0; i < a.n; i++)
        ret_sides->l[a.v[i].index].at = a.v[i].at;
    for (size_t i = 0; i < b.n; i++)
        ret_sides->r[b.v[i].index] = (struct side_item){b.v[i].at, NO_ITEM, false};
    pair_items(&a, &b, ret_sides);
    return 0;
}

/* The next item of the configuration, from `i` on, that the live list has too. */
static uint32_t next_shared(const struct sides *s, size_t i)
{
    while (i < s->nr && s->r[i].partner == NO_ITEM)
        i++;
    return i < s->nr ? (uint32_t)i : NO_ITEM;
}

/* The order of the merged items: both lists are walked side by side.
 * - When both heads are the same item, it is written merged.
 * - A live head that the configuration has too, but not next among the shared items, is skipped: it
 *   is written where the configuration has it.
 * - A live head that the configuration does not have is written as it is.
 * - Otherwise the configuration's head is written, merged with its live partner.
 * Live items with repeated keys are kept when the configuration does not have their key; else the
 * configuration's item replaces all of them. */
static void merge_list(struct merge *m, const struct cor_apply_place *place,
                       struct cor_apply_value l, struct cor_apply_value r)
{
    struct cor_apply_place item = cor_apply_place_item(place);
    const struct cor_apply_value none = {NULL, COR_JSON_NO_NODE};
    struct sides s;
    size_t i = 0, j = 0;
    uint32_t shared;

    m->error = make_sides(m, place, l, r, &s);
    if (m->error < 0)
        return;
    shared = next_shared(&s, 0);
    cor_json_begin_array(&m->w);
    while (m->error == 0 && (i < s.nl || j < s.nr)) {
        uint32_t partner = i < s.nl ? s.l[i].partner : NO_ITEM;

        if (i < s.nl && j < s.nr && partner != NO_ITEM && partner != j && shared != NO_ITEM &&
            shared != partner) {
            i++;
            continue;
        }
        if (i < s.nl && partner == NO_ITEM) {
            merge_value(m, &item, (struct cor_apply_value){l.json, s.l[i].at}, none);
            i++;
            continue;
        }
        if (i < s.nl && partner <= j) /* the item is written now, or has been */
            i++;
        if (j < s.nr) {
            uint32_t live = s.r[j].partner;
            struct cor_apply_value old = live == NO_ITEM || s.l[live].is_repeated
                                             ? none
                                             : (struct cor_apply_value){l.json, s.l[live].at};

            merge_value(m, &item, old, (struct cor_apply_value){r.json, s.r[j].at});
            if (shared == j)
                shared = next_shared(&s, j + 1);
            j++;
        }
    }
    cor_json_end_array(&m->w);
}

static void merge_value(struct merge *m, const struct cor_apply_place *place,
                        struct cor_apply_value l, struct cor_apply_value r)
{
    enum cor_apply_form form;

    if (cor_apply_is_absent(l) || cor_apply_is_absent(r)) {
        cor_json_raw(&m->w, cor_apply_bytes(cor_apply_is_absent(r) ? l : r));
        return;
    }
    form = cor_apply_first_form(cor_apply_forms(place, r));
    if (form == COR_APPLY_FORM_MAP && place->map == COR_APPLY_MAP_GRANULAR &&
        ((cor_apply_is_object(l) && cor_apply_has_items(l)) || cor_apply_has_items(r)))
        merge_map(m, place, l, r);
    else if (form == COR_APPLY_FORM_LIST && place->list != COR_APPLY_LIST_ATOMIC &&
             ((cor_apply_is_array(l) && cor_apply_has_items(l)) || cor_apply_has_items(r)))
        merge_list(m, place, l, r);
    else
        cor_json_raw(&m->w, cor_apply_bytes(r));
}

int cor_typed_merge(struct cor_typed live, struct cor_typed config, struct cor_arena *arena,
                    struct cor_buf *out)
{
    struct merge m = {.arena = arena};
    size_t before = out->n;
    int r;

    cor_json_writer_init(&m.w, out);
    merge_value(&m, live.place, cor_apply_root(live), cor_apply_root(config));
    r = m.error < 0 ? m.error : arena->error < 0 ? arena->error : cor_json_writer_finish(&m.w);
    if (r < 0)
        cor_buf_truncate(out, before);
    return r;
}
