/* clang-format off */
/* The interpreter of validation programs.
 *
 * A program is a run of rows. A row has a path, which is relative to the place of its block, and an
 * operation on what is there. Rows that are fine cost a look-up per step and one test; the path of
 * an error is put together only when there is one.
 *
 *   run_rows ──► a statement ─► its path ─► skip? (nil on the way, empty and optional …)
 *      ▲                                 └► test ─► error: path, value, detail
 *      └── if, at, each, use: the rows of a block, with the place that it enters
 *
 * `stop` ends the block that at, each, use or the program itself began; if passes it on.
 * Depth: blocks and sets are nested as the rule files nest them; no set uses itself.
 * Failures: no memory, which the errors keep; then everything ends. Thread: any. */
/* clang-format on */
#include "schema/validate/validate.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "schema/validate/validate_run.h"

static bool run_rows(struct cor_check *check, const struct cor_place *place, size_t i, size_t end);

/* Runs rows at the field of a row: those of at and use. */
static void run_at(struct cor_check *check, const struct cor_place *place,
                   const struct cor_validate_row *row, size_t first, size_t end)
{
    struct cor_validate_target to = cor_validate_resolve(check, place, &row->path);
    struct cor_place at;
    struct cor_validate_way way;

    if (to.is_lost || (to.is_pointer && to.node == COR_JSON_NO_NODE && row->path.depth > 0))
        return;
    cor_validate_walk(check, place, &row->path, &way);
    if (row->flags & COR_VALIDATE_AT) {
        at = *way.end;
        at.path = cor_validate_other_path(place, cor_strz(cor_validate_text(row->at)));
        way.end = &at;
    }
    (void)run_rows(check, way.end, first, end);
}

static void run_each(struct cor_check *check, const struct cor_place *place,
                     const struct cor_validate_row *row, size_t first)
{
    struct cor_validate_target to = cor_validate_resolve(check, place, &row->path);
    struct cor_place at, item;
    struct cor_validate_way way;

    if (to.node == COR_JSON_NO_NODE)
        return;
    cor_validate_walk(check, place, &row->path, &way);
    if (row->flags & COR_VALIDATE_AT) {
        at = *way.end;
        at.path = cor_validate_other_path(place, cor_strz(cor_validate_text(row->at)));
        way.end = &at;
    }
    COR_EACH(check, way.end, item) {
        if (row->flags & COR_VALIDATE_UNINDEXED)
            item.path = way.end->path;
        (void)run_rows(check, &item, first, row->end);
    }
}

/* Runs the rows from `i` to before `end` at a place. True: one of them has ended the block. */
static bool run_rows(struct cor_check *check, const struct cor_place *place, size_t i, size_t end)
{
    while (i < end && !cor_check_is_over(check)) {
        const struct cor_validate_row *row = &check->tables->rows[i];
        size_t before = check->errors->n;

        check->steps++;
        switch ((enum cor_validate_op)row->op) {
        case COR_VALIDATE_OP_IF:
            if (!cor_validate_all_hold(check, place, row)) {
                i = row->end;
                continue;
            }
            if (run_rows(check, place, i + 1, row->end))
                return true;
            i = row->chain;
            continue;
        case COR_VALIDATE_OP_AT:
            run_at(check, place, row, i + 1, row->end);
            i = row->end;
            continue;
        case COR_VALIDATE_OP_EACH:
            run_each(check, place, row, i + 1);
            i = row->end;
            continue;
        case COR_VALIDATE_OP_USE:
            run_at(check, place, row, row->end, row->chain);
            break;
        case COR_VALIDATE_OP_STOP:
            return true;
        default:
            cor_validate_run_row(check, place, row);
            break;
        }
        if (check->errors->n > before && (row->flags & COR_VALIDATE_STOP))
            return true;
        while (check->errors->n > before && (check->tables->rows[i].flags & COR_VALIDATE_ELSE))
            i++;
        i++;
    }
    return false;
}

/* --- Programs ----------------------------------------------------------------------------------
 */

static const struct cor_validate_program *find_program(const struct cor_type *type,
                                                       enum cor_check_operation operation)
{
    size_t index = (size_t)(type - cor_types), low = 0, high = cor_validate_programs_n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct cor_validate_program *program = &cor_validate_programs[middle];
        size_t have = (size_t)program->type << 8 | program->operation << 1 | program->is_warn;
        size_t want = index << 8 | (size_t)operation << 1;

        if (have == want)
            return program;
        if (have < want)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool cor_validate_has(const struct cor_type *type, enum cor_check_operation operation)
{
    return find_program(type, operation) != NULL;
}

static const struct cor_validate_tables compiled = {
    cor_validate_rows,   cor_validate_conditions, cor_validate_steps,
    cor_validate_values, cor_validate_numbers,
};

void cor_validate_run(struct cor_check *check, const struct cor_place *place, size_t first,
                      size_t end)
{
    (void)run_rows(check, place, first, end);
}

/* Begins a run over the object, or with the new and the old object exchanged. Deinitialise the
 * check in any case. */
static int begin_check(const struct cor_validation *validation, bool is_of_old,
                       struct cor_field_errors *errors, struct cor_check *check)
{
    struct cor_str object = is_of_old ? validation->old : validation->object;
    struct cor_str old = is_of_old ? validation->object : validation->old;
    int r = cor_check_init(check, object, old, errors);

    check->sent = is_of_old ? (struct cor_str){NULL, 0} : validation->sent;
    check->operation = validation->operation;
    check->meta = validation->meta;
    check->api_version = validation->api_version;
    check->ns_object = validation->ns_object;
    check->allow_privileged = validation->allow_privileged;
    check->ret_meets_privileged = validation->ret_meets_privileged;
    check->key_pair = validation->key_pair;
    check->check_request = validation->check_request;
    check->tables = &compiled;
    return r;
}

/* Warnings that are too long for the check end its program, and refuse nothing. */
static void run_program(const struct cor_validation *validation, struct cor_check *check,
                        const struct cor_validate_program *program)
{
    struct cor_place root = cor_check_root(validation->type, check);

    check->warn = program->is_warn ? validation->warn : NULL;
    check->warn_arg = validation->warn_arg;
    assert(!program->is_warn || check->errors->error == 0);
    cor_validate_run(check, &root, program->first, program->end);
    if (program->is_warn && check->errors->error == -COR_ETOOBIG)
        check->errors->error = 0;
}

/* The warn program for the operation of another program, behind which the table has it; NULL: there
 * is none. */
static const struct cor_validate_program *find_warnings(const struct cor_validate_program *program)
{
    const struct cor_validate_program *next = program + 1;

    if (next == cor_validate_programs + cor_validate_programs_n || next->type != program->type ||
        next->operation != program->operation)
        return NULL;
    assert(next->is_warn);
    return next;
}

bool cor_validate(const struct cor_validation *validation, struct cor_field_errors *errors)
{
    const struct cor_validate_program *program =
        find_program(validation->type, validation->operation);
    const struct cor_validate_program *warnings;
    struct cor_check check;
    bool has_meta;

    if (!program)
        return false;
    warnings = validation->warn ? find_warnings(program) : NULL;
    if (begin_check(validation, false, errors, &check) == 0)
        run_program(validation, &check, program);
    has_meta = check.has_meta;
    if (errors->n > 0 || errors->error < 0)
        warnings = NULL;
    /* On a creation, the rules of all objects could still refuse what the hook has not checked. */
    assert(!warnings || validation->operation != COR_CHECK_CREATE || has_meta);
    if (warnings && !warnings->is_of_old)
        run_program(validation, &check, warnings);
    cor_check_deinit(&check);
    if (warnings && warnings->is_of_old)
        cor_validate_warn(validation, errors);
    return has_meta;
}

void cor_validate_warn(const struct cor_validation *validation, struct cor_field_errors *errors)
{
    /* A list of its own: a program ends when the list of its errors is full. */
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors own = {0};
    const struct cor_validate_program *program =
        find_program(validation->type, validation->operation);
    const struct cor_validate_program *warnings = program ? find_warnings(program) : NULL;
    struct cor_check check;

    if (!warnings || (warnings->is_of_old && !validation->old.p))
        return;
    if (begin_check(validation, warnings->is_of_old, &own, &check) == 0)
        run_program(validation, &check, warnings);
    cor_check_deinit(&check);
    if (errors->error == 0)
        errors->error = own.error;
}

/* --- For explain-type ---------------------------------------------------------------------------
 */

size_t cor_validate_find_line(const struct cor_type *type, const size_t *members, size_t n,
                              size_t from)
{
    for (size_t i = from; i < cor_validate_rows_n; i++) {
        const struct cor_validate_row *row = &cor_validate_rows[i];
        const struct cor_validate_path *path = &row->path;
        size_t same = 0;

        /* What is behind `else` is on the line of the row before. */
        if (i > 0 && (row[-1].flags & COR_VALIDATE_ELSE))
            continue;
        if (&cor_types[row->type] != type || path->depth != n || path->is_old || path->climbs > 0 ||
            row->op <= COR_VALIDATE_OP_EACH || row->op == COR_VALIDATE_OP_STOP)
            continue;
        while (same < n && cor_validate_steps[path->first + same] == members[same])
            same++;
        if (same == n)
            return i;
    }
    return COR_VALIDATE_NO_LINE;
}

struct cor_str cor_validate_line(size_t line)
{
    assert(line < cor_validate_rows_n);
    return cor_strz(cor_validate_text(cor_validate_rows[line].line));
}

size_t cor_validate_condition(size_t line)
{
    for (size_t i = line; i-- > 0;) {
        if (cor_validate_rows[i].op == COR_VALIDATE_OP_IF && cor_validate_rows[i].end > line)
            return i;
    }
    return COR_VALIDATE_NO_LINE;
}
