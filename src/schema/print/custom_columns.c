/* Columns of custom resources: compiled from the definition, and written as cells.
 *
 * A cell is the first result of the column's query. What it looks like depends on the type of the
 * column, and for the type string on the type of the value: texts as they are, numbers as Go prints
 * them, objects and arrays as the JSON that Go writes. A value that does not have the type of its
 * column is null, and so is a cell for which a row has no steps left (base/work.h). Failures: no
 * memory, and COR_WORK_YIELD, which the writer keeps. Thread: any. */
#include "schema/print/custom_columns.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/value/time_text.h"
#include "schema/convert/conversion.h"
#include "schema/go/go_text.h"
#include "json/text/float_text.h"
#include "json/text/json.h"
#include "json/write/print.h"

#define BYTES_OF_STEP   64  /* of an object in which most members are passed */
#define NUMBER_TEXT_MAX 400 /* a number with more digits is not a double's text */
#define CELL_BYTES_MAX  (8u * COR_OBJECT_BYTES_MAX_DEFAULT)
#define ZERO_TIME_US    (-62135596800 * 1000000)
#define PATH_WORDS      "Custom resource definition column (in JSONPath format): "

/* --- compiling ------------------------------------------------------------------------------ */

/* The text of a string member, in the arena; empty when it is absent. */
static struct cor_str take_text(struct cor_arena *arena, struct cor_str object, const char *key)
{
    struct cor_str raw, text = {"", 0};
    char *copy;

    if (cor_json_to_raw(cor_convert_member(object, key), &raw) < 0 || raw.n == 0)
        return text;
    copy = cor_arena_alloc(arena, raw.n);
    if (copy)
        (void)cor_json_unescape(raw, copy, raw.n, &text);
    /* A text without escapes is the raw one, which is not ours. */
    return copy && text.p != copy ? cor_arena_copy(arena, text) : text;
}

static struct cor_str words_of_path(struct cor_arena *arena, struct cor_str path)
{
    size_t n = strlen(PATH_WORDS) + path.n;
    char *words = cor_arena_alloc(arena, n);

    if (!words)
        return COR_STR("");
    memcpy(words, PATH_WORDS, strlen(PATH_WORDS));
    memcpy(words + strlen(PATH_WORDS), path.p, path.n);
    return cor_str(words, n);
}

/* 1: the column was compiled; 0: its path cannot be parsed; -COR_ENOMEM, -COR_ETOOBIG. */
static int column_compile(struct cor_arena *arena, struct cor_str json,
                          struct cor_custom_column *column)
{
    struct cor_str path = take_text(arena, json, "jsonPath");
    int r;

    column->name = take_text(arena, json, "name");
    column->type = take_text(arena, json, "type");
    column->format = take_text(arena, json, "format");
    column->description = take_text(arena, json, "description");
    if (column->description.n == 0)
        column->description = words_of_path(arena, path);
    column->priority = 0;
    (void)cor_json_to_i64(cor_convert_member(json, "priority"), &column->priority);
    if (arena->error < 0)
        return arena->error;
    r = cor_json_query_new(arena, path, &column->query, NULL);
    if (arena->error < 0)
        return arena->error;
    return r == 0;
}

/* The column of a version that declares none. */
static int columns_add_age(struct cor_custom_columns *columns)
{
    struct cor_custom_column *age = &columns->v[0];
    int r;

    *age = (struct cor_custom_column){.name = COR_STR("Age"),
                                      .type = COR_STR("date"),
                                      .format = COR_STR(""),
                                      .description = cor_column_age_words()};
    r = cor_json_query_new(&columns->arena, COR_STR(".metadata.creationTimestamp"), &age->query,
                           NULL);
    columns->n = r == 0;
    return r;
}

static int columns_compile(struct cor_custom_columns *columns, struct cor_str list)
{
    struct cor_json_iter it = cor_json_iter(list);
    size_t n = cor_json_type(list) == COR_JSON_ARRAY ? cor_cell_count(list) : 0;
    int r = 1;

    columns->v = cor_arena_alloc(&columns->arena, (n + 1) * sizeof(*columns->v));
    if (!columns->v)
        return columns->arena.error;
    if (n == 0)
        return columns_add_age(columns);
    while (r == 1 && cor_json_iter_elem(&it)) {
        r = column_compile(&columns->arena, cor_json_iter_value(&it), &columns->v[columns->n]);
        columns->n += r == 1;
    }
    return r < 0 ? r : 0;
}

int cor_custom_columns_new(struct cor_str list, struct cor_custom_columns **ret_columns)
{
    COR_CLEANUP(cor_custom_columns_freep)
    struct cor_custom_columns *columns = cor_calloc(1, sizeof(*columns));
    int r;

    if (!columns)
        return -COR_ENOMEM;
    cor_arena_init(&columns->arena, COR_CUSTOM_COLUMNS_BYTES_MAX);
    columns->table.custom = columns;
    r = columns_compile(columns, list.p ? list : COR_STR("[]"));
    if (r < 0)
        return r;
    *ret_columns = COR_STEAL(columns);
    return 0;
}

struct cor_custom_columns *cor_custom_columns_free(struct cor_custom_columns *columns)
{
    if (columns)
        cor_arena_deinit(&columns->arena);
    return cor_free(columns);
}

/* --- definitions ---------------------------------------------------------------------------- */

void cor_custom_columns_write(struct cor_json_writer *w, const struct cor_custom_columns *columns)
{
    for (size_t i = 0; i < columns->n; i++) {
        const struct cor_custom_column *column = &columns->v[i];

        cor_json_print(w, "{name:%s,type:%s,format:%s,description:%s,priority:%d}", column->name,
                       column->type, column->format, column->description, column->priority);
    }
}

/* --- cells ---------------------------------------------------------------------------------- */

static void keep_error(struct cor_json_writer *w, int r)
{
    if (r < 0 && !w->error)
        w->error = r;
}

/* A number of JSON as Go decodes it: true and the integer, or false and the double. */
static bool number_is_integer(struct cor_str number, int64_t *ret_integer, double *ret_real)
{
    char text[NUMBER_TEXT_MAX];

    if (cor_json_to_i64(number, ret_integer) == 0)
        return true;
    *ret_real = 0;
    if (number.n < sizeof(text)) {
        memcpy(text, number.p, number.n);
        text[number.n] = '\0';
        *ret_real = strtod(text, NULL);
    }
    return false;
}

/* How many bytes from `p` on are one number. */
static size_t number_length(const char *p, const char *end)
{
    size_t n = 0;

    while (p + n < end && cor_str_find(COR_STR("+-.0123456789eE"), p[n]) >= 0)
        n++;
    return n;
}

static int add_go_number(struct cor_str number, struct cor_buf *out)
{
    char text[COR_FLOAT_TEXT_MAX];
    int64_t integer;
    double real;

    if (number_is_integer(number, &integer, &real) || !isfinite(real))
        return cor_buf_adds(out, number);
    return cor_buf_adds(out, cor_float_print(real, text));
}

/* JSON as Go's encoder writes it after decoding: some bytes of texts are escaped, and numbers with
 * a fraction or an exponent are printed anew. `json` is canonical. */
static int add_go_json(struct cor_str json, struct cor_buf *out)
{
    const char *end = json.p + json.n, *p = json.p;
    bool in_text = false;
    int r = 0;

    while (r == 0 && p < end) {
        size_t n = 1;

        if (in_text && *p == '\\' && end - p >= 2) {
            n = 2;
            r = cor_buf_add(out, p, n);
        } else if (in_text && (*p == '<' || *p == '>' || *p == '&')) {
            r = cor_buf_addf(out, "\\u%04x", (unsigned)*p);
        } else if (in_text && end - p >= 3 && memcmp(p, "\xe2\x80", 2) == 0 &&
                   (p[2] == '\xa8' || p[2] == '\xa9')) {
            n = 3;
            r = cor_buf_addz(out, p[2] == '\xa8' ? "\\u2028" : "\\u2029");
        } else if (!in_text && (*p == '-' || (*p >= '0' && *p <= '9'))) {
            n = number_length(p, end);
            r = add_go_number(cor_str(p, n), out);
        } else {
            in_text = in_text != (*p == '"');
            r = cor_buf_addc(out, *p);
        }
        p += n;
    }
    return r;
}

/* What Go's fmt.Fprint writes of a value; of an object or array, its JSON. */
static void write_printed(struct cor_json_writer *w, const struct cor_json_result *value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    enum cor_json_type type = COR_JSON_NUMBER;
    struct cor_str raw;
    char number[32];

    cor_buf_init(&text, CELL_BYTES_MAX);
    switch (value->kind) {
    case COR_JSON_RESULT_JSON:
        type = cor_json_type(value->text);
        break;
    case COR_JSON_RESULT_TEXT:
        cor_json_string(w, value->text);
        return;
    case COR_JSON_RESULT_BOOL:
        cor_json_string(w, value->integer ? COR_STR("true") : COR_STR("false"));
        return;
    case COR_JSON_RESULT_FLOAT:
        snprintf(number, sizeof(number), "%.17e", value->real);
        keep_error(w, cor_go_text(cor_strz(number), &text));
        cor_json_string(w, cor_buf_str(&text));
        return;
    case COR_JSON_RESULT_INT:
    case COR_JSON_RESULT_BYTE:
        snprintf(number, sizeof(number), "%lld", (long long)value->integer);
        cor_json_string(w, cor_strz(number));
        return;
    }
    switch (type) {
    case COR_JSON_NULL:
        cor_json_string(w, COR_STR("<no value>"));
        return;
    case COR_JSON_STRING:
        raw = cor_cell_raw(value->text);
        cor_json_begin_string(w);
        cor_json_add_raw_text(w, raw);
        cor_json_end_string(w);
        return;
    case COR_JSON_OBJECT:
    case COR_JSON_ARRAY:
        keep_error(w, add_go_json(value->text, &text));
        break;
    default:
        keep_error(w, cor_go_text(value->text, &text));
        break;
    }
    cor_json_string(w, cor_buf_str(&text));
}

/* Go's conversion of a double to int64 on amd64 and arm64 differs outside the range; amd64's result
 * is the smallest number. */
static int64_t truncate_double(double real)
{
    return real >= -9223372036854775808.0 && real < 9223372036854775808.0 ? (int64_t)real
                                                                          : INT64_MIN;
}

static void write_integer(struct cor_json_writer *w, const struct cor_json_result *value,
                          bool is_double)
{
    char text[COR_FLOAT_TEXT_MAX];
    int64_t integer = 0;
    double real = value->real;

    if (value->kind == COR_JSON_RESULT_JSON && cor_json_type(value->text) == COR_JSON_NUMBER) {
        if (number_is_integer(value->text, &integer, &real))
            real = (double)integer;
        else
            integer = truncate_double(real);
    } else if (value->kind == COR_JSON_RESULT_FLOAT) {
        integer = truncate_double(real);
    } else {
        cor_json_null(w);
        return;
    }
    if (!is_double)
        cor_json_i64(w, integer);
    else if (isfinite(real))
        cor_json_raw(w, cor_float_print(real, text));
    else
        cor_json_null(w);
}

static void write_boolean(struct cor_json_writer *w, const struct cor_json_result *value)
{
    if (value->kind == COR_JSON_RESULT_BOOL)
        cor_json_bool(w, value->integer != 0);
    else if (value->kind == COR_JSON_RESULT_JSON && cor_json_type(value->text) == COR_JSON_BOOL)
        cor_json_bool(w, value->text.p[0] == 't');
    else
        cor_json_null(w);
}

static void write_date(struct cor_cells *cells, const struct cor_json_result *value)
{
    struct cor_str text = value->text;
    int64_t us;

    if (value->kind == COR_JSON_RESULT_JSON && cor_json_type(value->text) == COR_JSON_STRING) {
        text = cor_cell_raw(value->text);
    } else if (value->kind != COR_JSON_RESULT_TEXT) {
        cor_json_null(cells->w);
        return;
    }
    if (text.n == 0 || cor_str_eq(text, COR_STR("null"))) {
        cor_cells_put(cells, "<unknown>");
    } else if (cor_micro_time_parse(text, &us) < 0) {
        cor_cells_put(cells, "<invalid>");
    } else if (us == ZERO_TIME_US) {
        cor_cells_put(cells, "<unknown>");
    } else {
        cor_json_begin_string(cells->w);
        cor_cells_add_duration(cells, cells->now_us - us);
        cor_json_end_string(cells->w);
    }
}

uint64_t cor_columns_steps(const struct cor_table_columns *columns, size_t bytes)
{
    uint64_t n = columns->custom ? columns->custom->n : 1;

    return n * bytes / BYTES_OF_STEP;
}

void cor_custom_cells_write(struct cor_cells *cells, const struct cor_custom_columns *columns)
{
    struct cor_work own = cor_work_new(false), *work = cells->work ? cells->work : &own;

    assert(cells && columns);
    for (size_t i = 0; i < columns->n && cells->w->error == 0; i++) {
        const struct cor_custom_column *column = &columns->v[i];
        struct cor_json_result value;
        int r = cor_json_query_first(column->query, cells->object, work, &value);

        if (r == -COR_ENOMEM || r == COR_WORK_YIELD)
            keep_error(cells->w, r);
        if (r < 0)
            cor_json_null(cells->w);
        else if (cor_str_eq(column->type, COR_STR("string")))
            write_printed(cells->w, &value);
        else if (cor_str_eq(column->type, COR_STR("integer")))
            write_integer(cells->w, &value, false);
        else if (cor_str_eq(column->type, COR_STR("number")))
            write_integer(cells->w, &value, true);
        else if (cor_str_eq(column->type, COR_STR("boolean")))
            write_boolean(cells->w, &value);
        else if (cor_str_eq(column->type, COR_STR("date")))
            write_date(cells, &value);
        else
            cor_json_null(cells->w);
    }
}
