/* clang-format off */
/* Promises of the interpreter of validation for any table that its compiler could make. The input
 * is a run of choices: of a kind, of the rows of a program for it, of an object, and of the object
 * that it replaces.
 *   - The program ends without a failure and without reading anything outside of the object.
 *   - It takes at most one step for each row and each value of the object.
 *   - All structs that it opened are closed or accounted for: a second run finds the same. */
/* clang-format on */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "schema/types/types_int.h"
#include "schema/validate/validate.h"
#include "schema/validate/validate_int.h"
#include "json/write/writer.h"

#define ROWS_MAX  64
#define STEPS_MAX 512
#define JSON_MAX  (1u << 20)
#define DEPTH_MAX 5 /* of blocks, and of the structs of an object */

struct choices {
    const uint8_t *data;
    size_t n;
};

/* A number below `k`; 0 when no input is left. */
static size_t choose(struct choices *choices, size_t k)
{
    size_t c = 0;

    for (size_t room = 1; room < k && choices->n > 0; room <<= 8, choices->n--)
        c = c << 8 | *choices->data++;
    return c % k;
}

/* --- The rows ----------------------------------------------------------------------------------
 */

struct program {
    struct choices *choices;
    struct cor_validate_row rows[ROWS_MAX];
    struct cor_validate_condition conditions[ROWS_MAX];
    uint32_t steps[STEPS_MAX], values[ROWS_MAX];
    int64_t numbers[4 * ROWS_MAX];
    size_t nrows, nconditions, nsteps, nvalues, nnumbers;
};

/* Some text of the pool: the name of a type. */
static uint32_t choose_text(struct program *program)
{
    return cor_types[choose(program->choices, cor_types_n)].name;
}

/* A path from a struct; what it leads to. */
static const struct cor_type *choose_path(struct program *program, const struct cor_type *type,
                                          bool can_be_old, struct cor_validate_path *path)
{
    size_t depth = choose(program->choices, 4);

    *path = (struct cor_validate_path){.first = (uint32_t)program->nsteps};
    path->is_old = can_be_old && choose(program->choices, 4) == 0;
    while (path->depth < depth && program->nsteps < STEPS_MAX) {
        if (type->shape == COR_SHAPE_STRUCT && type->nmembers > 0) {
            uint32_t member = (uint32_t)choose(program->choices, type->nmembers);

            program->steps[program->nsteps++] = member;
            type = &cor_types[cor_type_fields[cor_type_members[type->first_member + member].field]
                                  .type];
        } else if (type->shape == COR_SHAPE_MAP) {
            program->steps[program->nsteps++] = COR_VALIDATE_STEP_KEY | choose_text(program);
            type = &cor_types[type->element];
        } else {
            break;
        }
        path->depth++;
    }
    return type;
}

static bool is_int(const struct cor_type *type)
{
    return type->shape == COR_SHAPE_INT32 || type->shape == COR_SHAPE_INT64;
}

static bool is_list(const struct cor_type *type)
{
    return type->shape == COR_SHAPE_LIST || type->shape == COR_SHAPE_MAP;
}

/* A format that can be asked about values of the type. */
static bool choose_format(struct program *program, const struct cor_type *type, uint16_t *ret)
{
    enum cor_format format = (enum cor_format)choose(program->choices, COR_FORMATS_N);
    enum cor_format_input input = cor_format_input(format);

    *ret = (uint16_t)format;
    if (type->shape == COR_SHAPE_STRING)
        return input & COR_FORMAT_OF_TEXT;
    if (type->shape == COR_SHAPE_INT_OR_STRING)
        return input == COR_FORMAT_OF_INT_OR_TEXT;
    return is_int(type) && (input & COR_FORMAT_OF_INT);
}

static void add_number(struct program *program, struct cor_validate_row *row, int64_t number)
{
    if (row->nnumbers == 0)
        row->first_number = (uint32_t)program->nnumbers;
    program->numbers[program->nnumbers++] = number;
    row->nnumbers++;
}

/* Could the compiler have made a row of this operation for the type? Chooses its arguments. */
static bool choose_arguments(struct program *program, struct cor_validate_row *row,
                             const struct cor_type *block, const struct cor_type *type)
{
    switch ((enum cor_validate_op)row->op) {
    case COR_VALIDATE_OP_ENUM:
        row->first_value = (uint32_t)program->nvalues;
        row->nvalues = 1;
        program->values[program->nvalues++] = choose_text(program);
        return type->shape == COR_SHAPE_STRING;
    case COR_VALIDATE_OP_RANGE:
        add_number(program, row, (int64_t)choose(program->choices, 3));
        add_number(program, row, (int64_t)choose(program->choices, 70000));
        return is_int(type);
    case COR_VALIDATE_OP_COMPARE:
        row->code = (uint16_t)(COR_VALIDATE_TEST_LT + choose(program->choices, 6));
        return is_int(type) && is_int(choose_path(program, block, true, &row->other));
    case COR_VALIDATE_OP_LENGTH:
        add_number(program, row, (int64_t)choose(program->choices, 4));
        return is_list(type) || type->shape == COR_SHAPE_STRING;
    case COR_VALIDATE_OP_ITEMS:
        add_number(program, row, (int64_t)choose(program->choices, 4));
        return is_list(type);
    case COR_VALIDATE_OP_FORMAT:
        return choose_format(program, type, &row->code);
    case COR_VALIDATE_OP_KEYS_FORMAT:
        row->code = COR_FORMAT_DNS_LABEL;
        return type->shape == COR_SHAPE_MAP;
    case COR_VALIDATE_OP_VALUES_FORMAT:
        return is_list(type) && choose_format(program, &cor_types[type->element], &row->code);
    case COR_VALIDATE_OP_UNIQUE:
        if (type->shape == COR_SHAPE_LIST && cor_types[type->element].shape == COR_SHAPE_STRUCT)
            add_number(program, row,
                       (int64_t)choose(program->choices, cor_types[type->element].nmembers));
        return type->shape == COR_SHAPE_LIST;
    case COR_VALIDATE_OP_KEEP_ONLY:
    case COR_VALIDATE_OP_ONE_OF:
        for (size_t i = 0; i < 2 && type->shape == COR_SHAPE_STRUCT && type->nmembers > 0; i++)
            add_number(program, row, (int64_t)choose(program->choices, type->nmembers));
        return type->shape == COR_SHAPE_STRUCT;
    case COR_VALIDATE_OP_TOO_LONG:
    case COR_VALIDATE_OP_TOO_MANY:
        add_number(program, row, 1);
        return true;
    default:
        return true;
    }
}

static void choose_condition(struct program *program, const struct cor_type *block)
{
    struct cor_validate_condition *condition = &program->conditions[program->nconditions++];
    const struct cor_type *type = choose_path(program, block, true, &condition->path);
    enum cor_validate_test test =
        (enum cor_validate_test)choose(program->choices, COR_VALIDATE_TESTS);

    condition->number = (uint32_t)program->nnumbers;
    program->numbers[program->nnumbers++] = (int64_t)choose(program->choices, 3);
    condition->is_not = choose(program->choices, 2) == 0;
    condition->mask = (uint16_t)choose(program->choices, 256);
    if (test >= COR_VALIDATE_TEST_LT && (is_list(type) || type->shape == COR_SHAPE_STRING))
        condition->compared = COR_VALIDATE_LENGTHS;
    else if (test == COR_VALIDATE_TEST_HOOK || (test >= COR_VALIDATE_TEST_LT && !is_int(type)) ||
             (test == COR_VALIDATE_TEST_HAS && type->shape != COR_SHAPE_LIST))
        test = COR_VALIDATE_TEST_SET;
    condition->test = (uint8_t)test;
}

static void choose_rows(struct program *program, const struct cor_type *block, size_t depth);

/* A block over the field of a row. */
static void choose_block(struct program *program, size_t at, const struct cor_type *inside,
                         size_t depth)
{
    if (inside->shape == COR_SHAPE_STRUCT && depth < DEPTH_MAX)
        choose_rows(program, inside, depth + 1);
    program->rows[at].end = (uint32_t)program->nrows;
    program->rows[at].chain = (uint32_t)program->nrows;
}

static void choose_rows(struct program *program, const struct cor_type *block, size_t depth)
{
    static const uint16_t flags[] = {
        COR_VALIDATE_OPTIONAL,   COR_VALIDATE_STOP,       COR_VALIDATE_IF_CHANGED,
        COR_VALIDATE_OLD_BAD,    COR_VALIDATE_AT,         COR_VALIDATE_VALUE_NONE,
        COR_VALIDATE_VALUE_TEXT, COR_VALIDATE_VALUE_JSON,
    };
    size_t n = 1 + choose(program->choices, 6);

    for (size_t i = 0; i < n && program->nrows < ROWS_MAX; i++) {
        size_t at = program->nrows++;
        struct cor_validate_row *row = &program->rows[at];
        const struct cor_type *type;

        *row = (struct cor_validate_row){.op = (uint8_t)choose(program->choices, COR_VALIDATE_OPS)};
        type = choose_path(program, block, false, &row->path);
        row->at = choose_text(program);
        if (row->op == COR_VALIDATE_OP_IF) {
            row->path.depth = 0;
            row->first_condition = (uint32_t)program->nconditions;
            row->nconditions = 1;
            choose_condition(program, block);
            choose_block(program, at, block, depth);
        } else if (row->op == COR_VALIDATE_OP_AT && type->shape == COR_SHAPE_STRUCT) {
            choose_block(program, at, type, depth);
        } else if (row->op == COR_VALIDATE_OP_EACH && is_list(type)) {
            choose_block(program, at, &cor_types[type->element], depth);
        } else if (row->op <= COR_VALIDATE_OP_USE || row->op == COR_VALIDATE_OP_HOOK ||
                   !choose_arguments(program, row, block, type)) {
            row->op = COR_VALIDATE_OP_REQUIRED;
            row->nnumbers = 0;
        }
        if (row->op > COR_VALIDATE_OP_STOP && row->op != COR_VALIDATE_OP_WARN) {
            row->flags = flags[choose(program->choices, COR_ARRAY_LEN(flags))];
            if (choose(program->choices, 4) == 0)
                row->flags |= COR_VALIDATE_ELSE;
        }
    }
}

/* What stands behind `else` is a statement on the same line, never a block. */
static void mend_else(struct program *program)
{
    for (size_t i = 0; i < program->nrows; i++) {
        if (i + 1 == program->nrows || program->rows[i + 1].op <= COR_VALIDATE_OP_STOP)
            program->rows[i].flags &= (uint16_t)~COR_VALIDATE_ELSE;
    }
}

/* --- The objects -------------------------------------------------------------------------------
 */

static void write_value(struct choices *choices, const struct cor_type *type, size_t depth,
                        struct cor_json_writer *w)
{
    static const char *const texts[] = {"", "a", "A b", "x.y/z", "10.0.0.1", "5%", "\n\"\\"};
    static const char *const numbers[] = {"0", "1", "-1", "80", "9223372036854775807"};
    size_t n = choose(choices, 4);

    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT:
        cor_json_begin_object(w);
        for (size_t i = 0; i < type->nmembers && depth < 2 * DEPTH_MAX; i++) {
            struct cor_member member;

            cor_type_member(type, i, &member);
            if (choose(choices, 4) == 0)
                continue;
            cor_json_key(w, cor_type_field_name(member.field));
            write_value(choices, cor_type_field_type(member.field), depth + 1, w);
        }
        cor_json_end_object(w);
        break;
    case COR_SHAPE_LIST:
        cor_json_begin_array(w);
        for (size_t i = 0; i < n; i++)
            write_value(choices, cor_type_element(type), depth + 1, w);
        cor_json_end_array(w);
        break;
    case COR_SHAPE_MAP:
        cor_json_begin_object(w);
        for (size_t i = 0; i < n; i++) {
            cor_json_key(w, cor_str(&"abcd"[i], 1));
            write_value(choices, cor_type_element(type), depth + 1, w);
        }
        cor_json_end_object(w);
        break;
    case COR_SHAPE_BOOL:
        cor_json_bool(w, n > 1);
        break;
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
        cor_json_raw(w, cor_strz(numbers[choose(choices, COR_ARRAY_LEN(numbers))]));
        break;
    case COR_SHAPE_QUANTITY:
        cor_json_string(w, n > 1 ? COR_STR("1") : COR_STR("500m"));
        break;
    case COR_SHAPE_INT_OR_STRING:
        cor_json_raw(w, n > 1 ? COR_STR("5") : COR_STR("\"50%\""));
        break;
    case COR_SHAPE_STRING:
        cor_json_string(w, cor_strz(texts[choose(choices, COR_ARRAY_LEN(texts))]));
        break;
    default:
        cor_json_raw(w, COR_STR("null"));
        break;
    }
}

static void make_object(struct choices *choices, const struct cor_type *type, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    write_value(choices, type, 0, &w);
    FUZZ_CHECK(cor_json_writer_finish(&w) == 0);
}

static size_t run(const struct program *program, const struct cor_type *type, struct cor_str object,
                  struct cor_str old)
{
    const struct cor_validate_tables tables = {program->rows, program->conditions, program->steps,
                                               program->values, program->numbers};
    struct cor_field_errors errors = {0};
    struct cor_check check;
    struct cor_place root;
    size_t n;

    FUZZ_CHECK(cor_check_init(&check, object, old, &errors) == 0);
    check.tables = &tables;
    check.operation = old.p ? COR_CHECK_UPDATE : COR_CHECK_CREATE;
    root = cor_check_root(type, &check);
    cor_validate_run(&check, &root, 0, program->nrows);
    FUZZ_CHECK(errors.error == 0);
    FUZZ_CHECK(check.steps <= program->nrows * (check.object.nodes.n + 1));
    n = errors.n;
    cor_check_release(&check, 0);
    FUZZ_CHECK(check.nopen == 0 && check.nslots == 0);
    cor_check_deinit(&check);
    cor_field_errors_deinit(&errors);
    return n;
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    static struct program program;
    struct choices choices = {data, size};
    const struct cor_type *type;
    struct cor_buf object, old;
    struct cor_str before = {NULL, 0};
    size_t at;

    memset(&program, 0, sizeof(program));
    program.choices = &choices;
    at = choose(&choices, cor_types_count());
    while (!cor_type_is(cor_type_at(at), COR_TYPE_KIND))
        at = (at + 1) % cor_types_count();
    type = cor_type_at(at);
    choose_rows(&program, type, 0);
    mend_else(&program);
    cor_buf_init(&object, JSON_MAX);
    cor_buf_init(&old, JSON_MAX);
    make_object(&choices, type, &object);
    if (choose(&choices, 2) == 0) {
        make_object(&choices, type, &old);
        before = cor_buf_str(&old);
    }
    FUZZ_CHECK(run(&program, type, cor_buf_str(&object), before) ==
               run(&program, type, cor_buf_str(&object), before));
    cor_buf_deinit(&object);
    cor_buf_deinit(&old);
    return 0;
}
