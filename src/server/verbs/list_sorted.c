/* Sorts the objects of a cursor. They are borrowed from it, and stay valid as long as it does: the
 * new cursor has only their addresses, which count among what the list holds. Nobody is asked to
 * give the source up before the answer is sent: kinds with an order of their own have few objects.
 */
#include "server/verbs/list_sorted.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/print/cells.h"

struct sorted_object {
    int64_t order;
    size_t place; /* in the source */
    struct cor_object *object;
};

struct sorted_cursor {
    struct cor_list_cursor cursor;
    struct cor_list_cursor *source;
    struct sorted_object *objects;
    size_t n, cap, at;
};

static struct cor_object *sorted_next(struct cor_list_cursor *cursor)
{
    struct sorted_cursor *sorted = COR_CONTAINER_OF(cursor, struct sorted_cursor, cursor);

    return sorted->at < sorted->n ? sorted->objects[sorted->at++].object : NULL;
}

static void sorted_rewind(struct cor_list_cursor *cursor)
{
    COR_CONTAINER_OF(cursor, struct sorted_cursor, cursor)->at = 0;
}

static void sorted_free(struct cor_list_cursor *cursor)
{
    struct sorted_cursor *sorted = COR_CONTAINER_OF(cursor, struct sorted_cursor, cursor);

    cor_list_cursor_free(sorted->source);
    cor_free(sorted->objects);
    cor_free(sorted);
}

static const struct cor_list_cursor_ops sorted_ops = {sorted_next, sorted_rewind, sorted_free};

static int sorted_cmp(const void *a, const void *b)
{
    const struct sorted_object *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static int sorted_add(struct sorted_cursor *sorted, struct cor_object *object, int64_t order)
{
    if (sorted->n == sorted->cap) {
        size_t cap = sorted->cap > 0 ? 2 * sorted->cap : 64;
        struct sorted_object *grown = cor_realloc(sorted->objects, cap * sizeof(*grown));

        if (!grown)
            return -COR_ENOMEM;
        sorted->objects = grown;
        sorted->cap = cap;
    }
    sorted->objects[sorted->n] = (struct sorted_object){order, sorted->n, object};
    sorted->n++;
    return 0;
}

int cor_list_sorted_open(struct cor_list_cursor *source, const struct cor_table_columns *columns,
                         struct cor_list_cursor **ret_cursor)
{
    struct sorted_cursor *sorted = cor_calloc(1, sizeof(*sorted));
    struct cor_buf nothing = {0};
    struct cor_json_writer w;
    struct cor_object *object;
    struct cor_cells cells;
    int r = sorted ? 0 : -COR_ENOMEM;

    assert(columns->order > 0);
    cor_json_writer_init(&w, &nothing);
    source->is_bounded = source->is_paused = false;
    while (r == 0 && (object = cor_list_cursor_next(source))) {
        cor_cells_init(&cells, &w, cor_object_json(object), 0);
        r = sorted_add(sorted, object, cor_cells_order(&cells, columns));
    }
    if (r < 0) {
        cor_list_cursor_rewind(source);
        cor_free(sorted ? sorted->objects : NULL);
        cor_free(sorted);
        return r;
    }
    if (sorted->n > 0)
        qsort(sorted->objects, sorted->n, sizeof(*sorted->objects), sorted_cmp);
    sorted->cursor = *source;
    sorted->cursor.ops = &sorted_ops;
    sorted->cursor.bytes += sorted->cap * sizeof(*sorted->objects);
    sorted->source = source;
    *ret_cursor = &sorted->cursor;
    return 0;
}
