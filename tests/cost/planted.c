/* clang-format off */
/* Work that grows as it should, and work that does not, for shapes.py, which must tell them apart:
 *
 *   planted_cost N...              every shape with N elements, one after the other
 *   planted_cost --only NAME N...  the shape with this name
 *
 * What is counted happens inside of drive_request(). One line is printed for each: the shape, its
 * elements, their bytes, 0, and the work. */
/* clang-format on */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "work.h"

struct planted {
    uint64_t *v; /* as many as it has elements */
    char *text;  /* with a NUL */
    size_t n;
};

/* Reads each element, and moves all of them once. */
static uint64_t pass(struct planted *p)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < p->n; i++)
        sum += p->v[i];
    memmove(p->v, p->v + 1, (p->n - 1) * sizeof(*p->v));
    return sum;
}

/* Each element goes in front of those before it. */
static uint64_t move(struct planted *p)
{
    for (size_t i = 1; i < p->n; i++) {
        uint64_t last = p->v[i];

        memmove(p->v + 1, p->v, i * sizeof(*p->v));
        p->v[0] = last;
    }
    return p->v[0];
}

/* Each element is looked for among those before it. */
static uint64_t walk(struct planted *p)
{
    uint64_t found = 0;

    for (size_t i = 0; i < p->n; i++) {
        for (size_t k = 0; k < i; k++)
            found += p->v[k] == p->v[i];
    }
    return found;
}

/* The end of the text is looked for from each of its bytes. */
static uint64_t measure(struct planted *p)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < p->n; i++)
        sum += strlen(p->text + i);
    return sum;
}

/* Beginnings of the text are compared with its copy. */
static uint64_t compare(struct planted *p)
{
    uint64_t same = 0;

    for (size_t i = 0; i < p->n; i++)
        same += memcmp(p->text, p->text + p->n + 1, i) == 0;
    return same;
}

static const struct {
    const char *name;
    uint64_t (*work)(struct planted *p);
} shapes[] = {
    {"pass", pass}, {"move", move}, {"walk", walk}, {"measure", measure}, {"compare", compare},
};

/* Valgrind counts what happens in here. */
__attribute__((noinline)) static uint64_t drive_request(size_t shape, struct planted *p)
{
    return shapes[shape].work(p);
}

static void run_shape(size_t shape, size_t n)
{
    struct planted p = {.v = calloc(n, sizeof(*p.v)), .text = malloc(2 * (n + 1)), .n = n};
    static volatile uint64_t seen;
    uint64_t work;

    if (!p.v || !p.text || n == 0)
        abort();
    for (size_t i = 0; i < n; i++)
        p.v[i] = i;
    memset(p.text, 'a', 2 * (n + 1));
    p.text[n] = p.text[2 * n + 1] = 0;
    work = work_so_far();
    seen = drive_request(shape, &p);
    work = work_so_far() - work;
    printf("%s %zu %zu 0 %" PRIu64 "\n", shapes[shape].name, n, n * sizeof(*p.v), work);
    (void)seen;
    free(p.v);
    free(p.text);
}

int main(int argc, char **argv)
{
    const char *only = NULL;

    if (argc > 2 && strcmp(argv[1], "--only") == 0) {
        only = argv[2];
        argv += 2;
        argc -= 2;
    }
    for (size_t s = 0; s < COR_ARRAY_LEN(shapes); s++) {
        for (int i = 1; i < argc; i++) {
            if (!only || strcmp(only, shapes[s].name) == 0)
                run_shape(s, strtoull(argv[i], NULL, 10));
        }
    }
    return 0;
}
