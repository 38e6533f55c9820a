/* clang-format off */
/* The flow of a call:
 *
 *   1. Both texts become arrays of numbers: equal lines have equal numbers.
 *   2. The longest run of lines that both texts have is looked for, then the longest one before it
 *      and the longest one behind it, and so on (diff_find_blocks()). Lines that the second text
 *      has very often begin no run; they only make the run around them longer.
 *   3. Runs that touch each other are joined, and what lies between two runs is written with
 *      its context (diff_write()).
 *
 * A step of the search looks at one pair of equal lines. After STEPS_MAX of them no run is looked
 * for any more; a range of lines keeps the lines that both texts begin it with.
 * Failures: no memory, and the maximum of the buffer. Thread: any. */
/* clang-format on */
#include "base/line_diff.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"

#define CONTEXT     3
#define STEPS_MAX   (1u << 20)
#define LINES_MAX   (1u << 24)
#define POPULAR_MIN 200 /* lines of a text in which lines can be too frequent */
#define NO_LINE     UINT32_MAX

/* A run of `n` lines that both texts have; with n == 0 a place in both. */
struct diff_block {
    uint32_t a, b, n;
};

/* What is to be done next: a range that is searched, or a run that is kept. */
struct diff_task {
    uint32_t a, a_end, b, b_end;
    bool is_block; /* the range is a run */
};

struct diff_text {
    struct cor_str *lines;
    uint32_t *ids; /* of equal lines */
    uint32_t n;
};

struct diff {
    struct diff_text a, b;
    struct cor_map ids;     /* line to id plus 1 */
    uint32_t *first, *next; /* by id, by line of b: the lines of b that are equal, in order */
    /* By line of b: the length of the run that ends there, for even and for odd lines of a. It
     * counts if it was noted for the row that is looked at, or for the one before. */
    uint32_t *length[2], *valid[2];
    uint32_t row; /* counts the lines of a that were looked at */
    size_t steps;
    struct diff_task *tasks;
    size_t ntasks, tasks_cap;
    struct diff_block *blocks;
    size_t nblocks, blocks_cap;
};

static void diff_deinit(struct diff *d)
{
    cor_map_deinit(&d->ids);
    cor_free(d->a.lines);
    cor_free(d->a.ids);
    cor_free(d->b.lines);
    cor_free(d->b.ids);
    cor_free(d->first);
    cor_free(d->next);
    for (int i = 0; i < 2; i++) {
        cor_free(d->length[i]);
        cor_free(d->valid[i]);
    }
    cor_free(d->tasks);
    cor_free(d->blocks);
}

/* Splits a text at its line ends, which the lines do not have. */
static int diff_read(struct diff *d, struct cor_str text, struct diff_text *ret_text)
{
    size_t n = 1;
    int r = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    if (n > LINES_MAX)
        return -COR_ETOOBIG;
    ret_text->lines = cor_calloc(n, sizeof(*ret_text->lines));
    ret_text->ids = cor_calloc(n, sizeof(*ret_text->ids));
    if (!ret_text->lines || !ret_text->ids)
        return -COR_ENOMEM;
    ret_text->n = (uint32_t)n;
    for (size_t i = 0; i < n && r == 0; i++) {
        struct cor_str line = cor_str_cut(&text, '\n');
        uintptr_t id = (uintptr_t)cor_map_peek(&d->ids, line);

        if (id == 0) {
            id = cor_map_len(&d->ids) + 1;
            r = cor_map_put(&d->ids, line, (void *)id, NULL);
        }
        ret_text->lines[i] = line;
        ret_text->ids[i] = (uint32_t)(id - 1);
    }
    return r;
}

/* Chains the equal lines of the second text. */
static int diff_chain(struct diff *d)
{
    size_t nids = cor_map_len(&d->ids), most = d->b.n / 100 + 1;
    uint32_t *counts = cor_calloc(nids, sizeof(*counts));
    bool has_popular = d->b.n >= POPULAR_MIN;

    d->first = cor_calloc(nids, sizeof(*d->first));
    d->next = cor_calloc(d->b.n, sizeof(*d->next));
    for (int i = 0; i < 2; i++) {
        d->length[i] = cor_calloc(d->b.n, sizeof(*d->length[i]));
        d->valid[i] = cor_calloc(d->b.n, sizeof(*d->valid[i]));
    }
    if (!counts || !d->first || !d->next || !d->length[0] || !d->length[1] || !d->valid[0] ||
        !d->valid[1]) {
        cor_free(counts);
        return -COR_ENOMEM;
    }
    for (size_t i = 0; i < nids; i++)
        d->first[i] = NO_LINE;
    for (uint32_t j = d->b.n; j > 0; j--) {
        uint32_t id = d->b.ids[j - 1];

        d->next[j - 1] = d->first[id];
        d->first[id] = j - 1;
        counts[id]++;
    }
    for (size_t i = 0; has_popular && i < nids; i++) {
        if (counts[i] > most)
            d->first[i] = NO_LINE;
    }
    cor_free(counts);
    d->row = 1;
    return 0;
}

/* The longest run in a range, of those the first in `a`, of those the first in `b`. */
static struct diff_block diff_find(struct diff *d, const struct diff_task *range)
{
    struct diff_block best = {range->a, range->b, 0};

    d->row++; /* nothing is known of the line before the range */
    for (uint32_t i = range->a; i < range->a_end && d->steps < STEPS_MAX; i++) {
        uint32_t *length = d->length[i & 1], *before = d->length[!(i & 1)];
        uint32_t *valid = d->valid[i & 1], *valid_before = d->valid[!(i & 1)];

        d->row++;
        d->steps++;
        for (uint32_t j = d->first[d->a.ids[i]]; j != NO_LINE && j < range->b_end; j = d->next[j]) {
            uint32_t n = 1;

            d->steps++;
            if (j < range->b)
                continue;
            if (j > range->b && valid_before[j - 1] == d->row - 1)
                n += before[j - 1];
            length[j] = n;
            valid[j] = d->row;
            if (n > best.n)
                best = (struct diff_block){i + 1 - n, j + 1 - n, n};
        }
    }
    if (d->steps >= STEPS_MAX)
        best = (struct diff_block){range->a, range->b, 0};
    while (best.a > range->a && best.b > range->b && d->a.ids[best.a - 1] == d->b.ids[best.b - 1]) {
        best.a--;
        best.b--;
        best.n++;
    }
    while (best.a + best.n < range->a_end && best.b + best.n < range->b_end &&
           d->a.ids[best.a + best.n] == d->b.ids[best.b + best.n])
        best.n++;
    return best;
}

static int diff_push(struct diff *d, struct diff_task task)
{
    int r = COR_ARRAY_RESERVE(&d->tasks, d->ntasks, &d->tasks_cap, COR_ARRAY_NO_MAX);

    if (r == 0)
        d->tasks[d->ntasks++] = task;
    return r;
}

/* Appends a run, or makes the last one longer that it touches. */
static int diff_keep(struct diff *d, struct diff_block block)
{
    struct diff_block *last = d->nblocks > 0 ? &d->blocks[d->nblocks - 1] : NULL;
    int r;

    if (last && last->a + last->n == block.a && last->b + last->n == block.b) {
        last->n += block.n;
        return 0;
    }
    r = COR_ARRAY_RESERVE(&d->blocks, d->nblocks, &d->blocks_cap, COR_ARRAY_NO_MAX);
    if (r == 0)
        d->blocks[d->nblocks++] = block;
    return r;
}

/* The runs in order, and a block without lines behind the last lines. */
static int diff_find_blocks(struct diff *d)
{
    int r = diff_push(d, (struct diff_task){0, d->a.n, 0, d->b.n, false});

    while (r == 0 && d->ntasks > 0) {
        struct diff_task task = d->tasks[--d->ntasks];
        struct diff_block found;

        if (task.is_block) {
            r = diff_keep(d, (struct diff_block){task.a, task.b, task.a_end - task.a});
            continue;
        }
        found = diff_find(d, &task);
        if (found.n == 0)
            continue;
        if (found.a + found.n < task.a_end && found.b + found.n < task.b_end)
            r = diff_push(d, (struct diff_task){found.a + found.n, task.a_end, found.b + found.n,
                                                task.b_end, false});
        if (r == 0)
            r = diff_push(d, (struct diff_task){found.a, found.a + found.n, found.b,
                                                found.b + found.n, true});
        if (r == 0 && task.a < found.a && task.b < found.b)
            r = diff_push(d, (struct diff_task){task.a, found.a, task.b, found.b, false});
    }
    if (r == 0)
        r = COR_ARRAY_RESERVE(&d->blocks, d->nblocks, &d->blocks_cap, COR_ARRAY_NO_MAX);
    if (r == 0)
        d->blocks[d->nblocks++] = (struct diff_block){d->a.n, d->b.n, 0};
    return r;
}

static int write_lines(const struct diff_text *text, char mark, uint32_t from, uint32_t to,
                       struct cor_buf *out)
{
    int r = 0;

    for (uint32_t i = from; i < to && r == 0; i++) {
        size_t size = text->lines[i].n + 2;

        if (size > out->max - out->n)
            return -COR_ETOOBIG;
        r = cor_buf_addf(out, "%c%.*s\n", mark, COR_STR_ARG(text->lines[i]));
    }
    return r;
}

/* A range of lines as the head of a group has it. */
static int write_range(uint32_t from, uint32_t to, struct cor_buf *out)
{
    if (to - from == 1)
        return cor_buf_addf(out, "%u", from + 1);
    return cor_buf_addf(out, "%u,%u", to > from ? from + 1 : from, to - from);
}

static int write_head(const struct diff_block *from, const struct diff_block *to,
                      struct cor_buf *out)
{
    int r = cor_buf_adds(out, COR_STR("@@ -"));

    if (r == 0)
        r = write_range(from->a, to->a, out);
    if (r == 0)
        r = cor_buf_adds(out, COR_STR(" +"));
    if (r == 0)
        r = write_range(from->b, to->b, out);
    return r < 0 ? r : cor_buf_adds(out, COR_STR(" @@\n"));
}

/* Where the group that begins before block `i` ends: before the first run that is longer than two
 * contexts, or at the end of the last context. `ret_to` is the end of its lines. */
static size_t group_end(const struct diff *d, size_t i, struct diff_block *ret_to)
{
    const struct diff_block *block = &d->blocks[i];
    uint32_t kept;

    while (block->n > 0 && block->n <= 2 * CONTEXT && i + 1 < d->nblocks) {
        /* A short run at the very end of the texts is context, not a part of the group's middle. */
        const struct diff_block *next = block + 1;

        if (next->n == 0 && block->a + block->n == next->a && block->b + block->n == next->b)
            break;
        block = next;
        i++;
    }
    kept = block->n < CONTEXT ? block->n : CONTEXT;
    *ret_to = (struct diff_block){block->a + kept, block->b + kept, 0};
    return i;
}

/* Writes the groups. A group begins with the context that the run before it ends with. */
static int diff_write(const struct diff *d, struct cor_buf *out)
{
    struct diff_block at = {0, 0, 0}, to;
    size_t i = 0;
    int r = 0;

    /* A run that both texts begin with is the context of the first group. */
    if (d->blocks[0].a == 0 && d->blocks[0].b == 0 && d->blocks[0].n > 0) {
        at = d->blocks[0];
        i = 1;
    }
    while (r == 0 && i < d->nblocks && !(at.a + at.n == d->a.n && at.b + at.n == d->b.n)) {
        uint32_t context = at.n < CONTEXT ? at.n : CONTEXT;
        uint32_t a = at.a + at.n - context, b = at.b + at.n - context;
        struct diff_block from = {a, b, 0};
        size_t last = group_end(d, i, &to);

        r = write_head(&from, &to, out);
        if (r == 0)
            r = write_lines(&d->a, ' ', a, a + context, out);
        a += context;
        b += context;
        for (; r == 0 && i <= last; i++) {
            const struct diff_block *block = &d->blocks[i];
            uint32_t end = i == last ? to.a : block->a + block->n;

            r = write_lines(&d->a, '-', a, block->a, out);
            if (r == 0)
                r = write_lines(&d->b, '+', b, block->b, out);
            if (r == 0)
                r = write_lines(&d->a, ' ', block->a, end, out);
            a = block->a + block->n;
            b = block->b + block->n;
        }
        at = d->blocks[last];
    }
    return r;
}

int cor_line_diff(struct cor_str before, struct cor_str after, struct cor_buf *out)
{
    COR_CLEANUP(diff_deinit) struct diff d = {.steps = 0};
    int r;

    assert(out);
    cor_map_init(&d.ids, LINES_MAX);
    if (cor_str_eq(before, after))
        return 0;
    r = diff_read(&d, before, &d.a);
    if (r == 0)
        r = diff_read(&d, after, &d.b);
    if (r == 0)
        r = diff_chain(&d);
    if (r == 0)
        r = diff_find_blocks(&d);
    return r < 0 ? r : diff_write(&d, out);
}
