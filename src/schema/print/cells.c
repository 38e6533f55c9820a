/* Makes the cells of rows (schema/print/cells.h).
 *
 * An object is walked once: cor_cells_init() notes where its members and those of its spec and
 * status begin, and what all rows show of its metadata. Every cell then starts at one of these
 * members, so that the containers of a pod are not skipped again for each of them. A path that a
 * column names has steps; the walk along them stops at the first step that is absent, and `nguard`
 * tells whether that was at or before the last pointer of the path, where Go has nil and not a zero
 * value.
 *
 * Values are looked for in canonical bytes: the keys of an object are in order, so that a look-up
 * ends where the key would be. Texts are copied with their escapes and never decoded, unless a hook
 * has to look into them. */
#include "schema/print/cells.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "meta/names/field_error.h"
#include "meta/select/label_selector.h"
#include "meta/value/time_text.h"
#include "schema/print/cell_hooks.h"
#include "schema/print/custom_columns.h"
#include "schema/types/types_int.h"

/* Go's time.Duration holds no more microseconds; a longer time is printed as if it were this. */
#define DURATION_MAX_US (INT64_MAX / 1000)
/* Go's zero time, which counts as none: the first second of the year 1. */
#define ZERO_TIME_US (-62135596800 * 1000000)
/* The maximum of the text of a selector: that of an object. */
#define SELECTOR_BYTES_MAX (1536u * 1024)

static bool is_null(struct cor_str value)
{
    return value.n == 0 || value.p[0] == 'n';
}

/* The end of the metadata is found on the way: `it` is at it, and is moved behind it. */
static void find_metadata(struct cor_cells *cells, struct cor_json_iter *it)
{
    const struct {
        struct cor_str key, *value;
    } wanted[] = {{COR_STR("creationTimestamp"), &cells->created},
                  {COR_STR("deletionTimestamp"), &cells->deleted},
                  {COR_STR("name"), &cells->name}};
    struct cor_str open = cor_json_iter_open_value(it), raw;
    struct cor_json_iter inner = cor_json_iter(open);
    size_t i = 0;

    if (cor_json_type(open) != COR_JSON_OBJECT) {
        (void)cor_json_iter_value(it);
        return;
    }
    while (i < COR_ARRAY_LEN(wanted) && cor_json_iter_member(&inner, &raw)) {
        int c;

        while (i < COR_ARRAY_LEN(wanted) && (c = cor_json_raw_cmp_text(raw, wanted[i].key)) > 0)
            i++;
        if (i < COR_ARRAY_LEN(wanted) && c == 0 && !is_null(cor_json_iter_open_value(&inner)))
            *wanted[i++].value = cor_json_iter_value(&inner);
    }
    cor_json_iter_leave(it, &inner);
    cells->metadata = cor_str(open.p, (size_t)(it->p - open.p));
}

/* Notes the members of spec or status, at which `it` stands, and moves `it` behind it. */
static void find_below(struct cor_cells *cells, struct cor_cells_top *top, struct cor_json_iter *it)
{
    struct cor_json_iter inner = cor_json_iter(top->member.value);
    struct cor_str key;

    if (cor_json_type(top->member.value) != COR_JSON_OBJECT)
        return;
    top->first = (uint8_t)cells->nbelow;
    top->is_known = true;
    while (top->is_known && cor_json_iter_member(&inner, &key)) {
        top->is_known = cells->nbelow < COR_CELLS_BELOW;
        if (!top->is_known)
            break;
        cells->below[cells->nbelow].key = key;
        cells->below[cells->nbelow++].value = cor_json_iter_open_value(&inner);
        top->n++;
    }
    cor_json_iter_leave(it, &inner);
}

void cor_cells_init(struct cor_cells *cells, struct cor_json_writer *w, struct cor_str object,
                    int64_t now_us)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_str key;

    assert(w && object.p);
    cells->w = w;
    cells->object = object;
    cells->metadata = cells->name = cells->created = cells->deleted = (struct cor_str){NULL, 0};
    cells->now_us = now_us;
    cells->work = NULL;
    cells->ntops = cells->nbelow = 0;
    cells->pod.is_made = false;
    while (cor_json_iter_member(&it, &key)) {
        struct cor_str value = cor_json_iter_open_value(&it);

        struct cor_cells_top *top = NULL;

        if (cells->ntops < COR_CELLS_TOPS) {
            top = &cells->tops[cells->ntops++];
            *top = (struct cor_cells_top){.member = {key, value}};
        }
        if (cor_str_eq(key, COR_STR("metadata")))
            find_metadata(cells, &it);
        else if (top && (cor_str_eq(key, COR_STR("spec")) || cor_str_eq(key, COR_STR("status"))))
            find_below(cells, top, &it);
    }
}

/* The same for a key that is not one of C's strings. */
static struct cor_str member_named(struct cor_str object, struct cor_str key)
{
    struct cor_json_iter it;
    struct cor_str raw;

    if (cor_json_type(object) != COR_JSON_OBJECT)
        return (struct cor_str){NULL, 0};
    it = cor_json_iter(object);
    while (cor_json_iter_member(&it, &raw)) {
        int c = cor_json_raw_cmp_text(raw, key);

        if (c > 0)
            break;
        if (c == 0) {
            struct cor_str value = cor_json_iter_open_value(&it);

            return is_null(value) ? (struct cor_str){NULL, 0} : value;
        }
    }
    return (struct cor_str){NULL, 0};
}

/* NULL: the object has no such member, or it has too many. */
static const struct cor_cells_top *find_top(const struct cor_cells *cells, struct cor_str key)
{
    for (size_t i = 0; i < cells->ntops; i++) {
        if (cor_str_eq(cells->tops[i].member.key, key))
            return &cells->tops[i];
    }
    return NULL;
}

static struct cor_str top_named(const struct cor_cells *cells, struct cor_str key)
{
    const struct cor_cells_top *top = find_top(cells, key);

    if (!top && cells->ntops == COR_CELLS_TOPS)
        return member_named(cells->object, key);
    return !top || is_null(top->member.value) ? (struct cor_str){NULL, 0} : top->member.value;
}

static struct cor_str below_named(const struct cor_cells *cells, struct cor_str top_key,
                                  struct cor_str key)
{
    const struct cor_cells_top *top = find_top(cells, top_key);

    if (!top || !top->is_known)
        return member_named(top_named(cells, top_key), key);
    for (size_t i = top->first; i < (size_t)top->first + top->n; i++) {
        if (cor_str_eq(cells->below[i].key, key))
            return is_null(cells->below[i].value) ? (struct cor_str){NULL, 0}
                                                  : cells->below[i].value;
    }
    return (struct cor_str){NULL, 0};
}

struct cor_str cor_cells_top(const struct cor_cells *cells, const char *key)
{
    return top_named(cells, cor_strz(key));
}

struct cor_str cor_cells_at(const struct cor_cells *cells, const char *key, const char *below)
{
    return below_named(cells, cor_strz(key), cor_strz(below));
}

struct cor_str cor_cell_member(struct cor_str object, const char *key)
{
    return member_named(object, cor_strz(key));
}

struct cor_str cor_cell_raw(struct cor_str value)
{
    struct cor_str raw = {"", 0};

    if (cor_json_type(value) == COR_JSON_STRING)
        (void)cor_json_to_raw(cor_json_first_value(value), &raw);
    return raw;
}

bool cor_cell_is(struct cor_str value, const char *text)
{
    return cor_json_type(value) == COR_JSON_STRING &&
           cor_json_raw_eq(cor_cell_raw(value), cor_strz(text));
}

int64_t cor_cell_number(struct cor_str value)
{
    int64_t number = 0;

    if (cor_json_type(value) != COR_JSON_NUMBER ||
        cor_json_to_i64(cor_json_first_value(value), &number) < 0)
        return 0;
    return number;
}

bool cor_cell_true(struct cor_str value)
{
    return cor_json_type(value) == COR_JSON_BOOL && value.p[0] == 't';
}

size_t cor_cell_count(struct cor_str value)
{
    struct cor_json_iter it = cor_json_iter(value);
    bool is_object = cor_json_type(value) == COR_JSON_OBJECT;
    struct cor_str key;
    size_t n = 0;

    while (is_object ? cor_json_iter_member(&it, &key) : cor_json_iter_elem(&it))
        n++;
    return n;
}

bool cor_cell_time(struct cor_str value, int64_t *ret_us)
{
    struct cor_str raw = cor_cell_raw(value);

    return raw.n > 0 && cor_micro_time_parse(raw, ret_us) == 0 && *ret_us != ZERO_TIME_US;
}

struct cor_str cor_cell_of_type(struct cor_str list, const char *type)
{
    struct cor_json_iter it = cor_json_iter(list);

    while (cor_json_type(list) == COR_JSON_ARRAY && cor_json_iter_elem(&it)) {
        struct cor_str one = cor_json_iter_open_value(&it);

        if (cor_cell_is(cor_cell_member(one, "type"), type))
            return one;
    }
    return (struct cor_str){NULL, 0};
}

void cor_cells_put(struct cor_cells *cells, const char *text)
{
    cor_json_string(cells->w, cor_strz(text));
}

void cor_cells_put_raw(struct cor_cells *cells, struct cor_str raw, const char *otherwise)
{
    if (raw.n == 0) {
        cor_cells_put(cells, otherwise);
        return;
    }
    cor_json_begin_string(cells->w);
    cor_json_add_raw_text(cells->w, raw);
    cor_json_end_string(cells->w);
}

void cor_cells_add_lower(struct cor_cells *cells, struct cor_str raw)
{
    size_t start = cells->w->out->n;

    cor_json_add_raw_text(cells->w, raw);
    if (cells->w->error)
        return;
    for (size_t i = start; i < cells->w->out->n; i++) {
        char *c = &cells->w->out->p[i];

        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    }
}

void cor_cells_add_duration(struct cor_cells *cells, int64_t us)
{
    char text[COR_AGE_TEXT_MAX];

    if (us > DURATION_MAX_US)
        us = DURATION_MAX_US;
    cor_json_add_text(cells->w, cor_age_print(us / 1000000, text));
}

void cor_cells_put_since(struct cor_cells *cells, struct cor_str time)
{
    int64_t us;

    if (!cor_cell_time(time, &us)) {
        cor_cells_put(cells, "<unknown>");
        return;
    }
    cor_json_begin_string(cells->w);
    cor_cells_add_duration(cells, cells->now_us - us);
    cor_json_end_string(cells->w);
}

void cor_cells_put_selector(struct cor_cells *cells, struct cor_str selector, const char *empty,
                            const char *invalid)
{
    static const struct cor_field_path path = {.name = COR_STR("selector")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *read = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r;

    cor_buf_init(&text, SELECTOR_BYTES_MAX);
    if (cor_json_type(selector) != COR_JSON_OBJECT) {
        cor_cells_put(cells, empty);
        return;
    }
    r = cor_label_selector_read(cor_json_first_value(selector), &path, &errs, &read);
    if (r == 0)
        r = cor_label_selector_print(read, &text);
    if (r == -COR_EINVALID) {
        cor_cells_put(cells, invalid);
        return;
    }
    if (r < 0 && !cells->w->error)
        cells->w->error = r;
    cor_json_string(cells->w, text.n > 0 ? cor_buf_str(&text) : cor_strz(empty));
}

/* --- the cells that columns describe -------------------------------------------------------- */

/* The value at the end of a path; p == NULL: absent. `ret_is_nil`: it is absent because a pointer
 * on the path is. */
static struct cor_str value_at(struct cor_cells *cells, const struct cor_column_part *part,
                               bool *ret_is_nil)
{
    struct cor_str value = {NULL, 0}, top = {NULL, 0};

    for (size_t i = 0; i < part->nsteps; i++) {
        struct cor_str step = cor_strz(cor_type_pool + cor_column_steps[part->first_step + i]);

        if (i == 0)
            top = step;
        value = i == 0   ? top_named(cells, step)
                : i == 1 ? below_named(cells, top, step)
                         : member_named(value, step);
        if (!value.p) {
            *ret_is_nil = i < part->nguard;
            return value;
        }
    }
    *ret_is_nil = false;
    return value;
}

static void put_otherwise(struct cor_cells *cells, const struct cor_column *column)
{
    cor_json_string(cells->w, cor_column_otherwise(column));
}

/* In the middle of a string: a text as it is, a number by its digits. */
static void add_value(struct cor_json_writer *w, struct cor_str value)
{
    if (cor_json_type(value) == COR_JSON_STRING)
        cor_json_add_raw_text(w, cor_cell_raw(value));
    else if (cor_json_type(value) == COR_JSON_NUMBER)
        cor_json_add_i64(w, cor_cell_number(value));
}

/* Without a pointer on the path, an empty text is as good as none. */
static void write_text(struct cor_cells *cells, const struct cor_column *column,
                       const struct cor_column_part *part)
{
    bool is_nil;
    struct cor_str value = value_at(cells, part, &is_nil);

    if ((column->flags & COR_COLUMN_OTHERWISE) &&
        (part->nguard > 0 ? is_nil
                          : !value.p || (cor_json_type(value) == COR_JSON_STRING &&
                                         cor_cell_raw(value).n == 0))) {
        put_otherwise(cells, column);
        return;
    }
    cor_json_begin_string(cells->w);
    add_value(cells->w, value);
    cor_json_end_string(cells->w);
}

static void write_number(struct cor_cells *cells, const struct cor_column *column,
                         const struct cor_column_part *part)
{
    bool is_nil;
    struct cor_str value = value_at(cells, part, &is_nil);

    if (is_nil && (column->flags & COR_COLUMN_OTHERWISE))
        put_otherwise(cells, column);
    else
        cor_json_i64(cells->w, cor_cell_number(value));
}

static void write_bool(struct cor_cells *cells, const struct cor_column *column,
                       const struct cor_column_part *part)
{
    bool is_nil;
    struct cor_str value = value_at(cells, part, &is_nil);
    bool is_otherwise = is_nil && (column->flags & COR_COLUMN_OTHERWISE);

    if (column->cell == COR_CELL_TRUTH && is_otherwise)
        put_otherwise(cells, column);
    else if (column->cell == COR_CELL_TRUTH)
        cor_cells_put(cells, cor_cell_true(value) ? "True" : "False");
    else
        cor_json_bool(cells->w, is_otherwise || cor_cell_true(value));
}

static void write_join(struct cor_cells *cells, const struct cor_column *column,
                       const struct cor_column_part *part)
{
    bool is_nil, is_begun = false;
    struct cor_json_iter it = cor_json_iter(value_at(cells, part, &is_nil));
    struct cor_str member = cor_strz(cor_type_pool + part->text);

    while (cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_open_value(&it);

        if (is_begun)
            cor_json_add_text(cells->w, COR_STR(","));
        else
            cor_json_begin_string(cells->w);
        is_begun = true;
        add_value(cells->w, member.n > 0 ? member_named(element, member) : element);
    }
    if (is_begun)
        cor_json_end_string(cells->w);
    else
        put_otherwise(cells, column);
}

static void write_labels(struct cor_cells *cells, const struct cor_column_part *part)
{
    bool is_nil, is_begun = false;
    struct cor_str value = value_at(cells, part, &is_nil), key;
    struct cor_json_iter it = cor_json_iter(value);

    while (cor_json_type(value) == COR_JSON_OBJECT && cor_json_iter_member(&it, &key)) {
        if (is_begun)
            cor_json_add_text(cells->w, COR_STR(","));
        else
            cor_json_begin_string(cells->w);
        is_begun = true;
        cor_json_add_raw_text(cells->w, key);
        cor_json_add_text(cells->w, COR_STR("="));
        add_value(cells->w, cor_json_iter_open_value(&it));
    }
    if (is_begun)
        cor_json_end_string(cells->w);
    else
        cor_cells_put(cells, "<none>");
}

static void write_print(struct cor_cells *cells, const struct cor_column *column)
{
    const struct cor_column_part *part = &cor_column_parts[column->first_part];
    size_t n = column->nparts;
    bool is_nil;

    if (column->flags & COR_COLUMN_WHEN) {
        if (!value_at(cells, part, &is_nil).p) {
            put_otherwise(cells, column);
            return;
        }
        part++;
        n--;
    }
    cor_json_begin_string(cells->w);
    for (; n > 0; n--, part++) {
        struct cor_str value = value_at(cells, part, &is_nil);

        cor_json_add_text(cells->w, cor_strz(cor_type_pool + part->text));
        if (part->is_number)
            cor_json_add_i64(cells->w, cor_cell_number(value));
        else
            add_value(cells->w, value);
    }
    cor_json_end_string(cells->w);
}

static void write_count(struct cor_cells *cells, const struct cor_column *column)
{
    size_t n = 0;
    bool is_nil;

    for (size_t i = 0; i < column->nparts; i++)
        n += cor_cell_count(value_at(cells, &cor_column_parts[column->first_part + i], &is_nil));
    cor_json_u64(cells->w, n);
}

static void write_since(struct cor_cells *cells, const struct cor_column *column,
                        const struct cor_column_part *part)
{
    bool is_nil;
    struct cor_str value = value_at(cells, part, &is_nil);

    if (is_nil && (column->flags & COR_COLUMN_OTHERWISE))
        put_otherwise(cells, column);
    else
        cor_cells_put_since(cells, value);
}

static void write_created(struct cor_cells *cells)
{
    char text[COR_TIME_TEXT_MAX];
    int64_t us;

    if (!cor_cell_time(cells->created, &us))
        us = ZERO_TIME_US;
    cor_json_string(cells->w, cor_time_print(us / 1000000 - (us % 1000000 < 0), text));
}

static void run_hook(struct cor_cells *cells, enum cor_cell_hook hook)
{
    switch (hook) {
#define X(name)                                                                                    \
    case COR_CELL_HOOK_##name:                                                                     \
        cor_cell_##name(cells);                                                                    \
        return;
        COR_CELL_HOOKS(X)
#undef X
    case COR_CELL_HOOK_none:
    case COR_CELL_HOOK_COUNT:
        break;
    }
    assert(!"a column without a cell");
}

static void write_cell(struct cor_cells *cells, const struct cor_column *column)
{
    const struct cor_column_part *part = &cor_column_parts[column->first_part];
    bool is_nil;

    switch ((enum cor_cell)column->cell) {
    case COR_CELL_NAME:
        cor_cells_put_raw(cells, cor_cell_raw(cells->name), "");
        break;
    case COR_CELL_AGE:
        cor_cells_put_since(cells, cells->created);
        break;
    case COR_CELL_CREATED:
        write_created(cells);
        break;
    case COR_CELL_TEXT:
        write_text(cells, column, part);
        break;
    case COR_CELL_NUMBER:
        write_number(cells, column, part);
        break;
    case COR_CELL_BOOL:
    case COR_CELL_TRUTH:
        write_bool(cells, column, part);
        break;
    case COR_CELL_COUNT:
        write_count(cells, column);
        break;
    case COR_CELL_JOIN:
        write_join(cells, column, part);
        break;
    case COR_CELL_LABELS:
        write_labels(cells, part);
        break;
    case COR_CELL_SELECTOR:
        cor_cells_put_selector(cells, value_at(cells, part, &is_nil), "<none>", "<error>");
        break;
    case COR_CELL_PRINT:
        write_print(cells, column);
        break;
    case COR_CELL_SINCE:
        write_since(cells, column, part);
        break;
    case COR_CELL_HOOK:
        run_hook(cells, (enum cor_cell_hook)column->hook);
        break;
    }
}

void cor_cells_write(struct cor_cells *cells, const struct cor_table_columns *columns)
{
    assert(cells && columns);
    cor_json_begin_array(cells->w);
    if (columns->custom) {
        write_cell(cells, cor_column_of_name());
        cor_custom_cells_write(cells, columns->custom);
    }
    for (size_t i = 0; i < columns->ncolumns; i++)
        write_cell(cells, cor_column_at(columns, i));
    cor_json_end_array(cells->w);
}

void cor_cells_write_conditions(struct cor_cells *cells, const struct cor_table_columns *columns)
{
    assert(cells && columns);
    if (columns->conditions)
        run_hook(cells, (enum cor_cell_hook)columns->conditions);
}

int64_t cor_cells_order(struct cor_cells *cells, const struct cor_table_columns *columns)
{
    bool is_nil;

    assert(cells && columns->order > 0);
    return cor_cell_number(value_at(cells, &cor_column_parts[columns->order - 1], &is_nil));
}
