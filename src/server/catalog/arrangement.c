/* clang-format off */
/* Puts the rows and the APIServices of a snapshot into discovery's order.
 *
 *   services, rows ──► one entry for each group version, found by hash, with its priorities ──► ranks of groups ──► entries sorted
 *   ──► rows counted and placed behind each other, entry by entry; those of a remote service are left out
 *
 * A group version without an APIService has the priorities that registration will give it: a server
 * lists a custom resource as soon as it serves it, and before its APIServices are read it lists what
 * is built in. When the services are known, a built-in version without one is not listed: somebody
 * has deleted its APIService (contract extension 4.2.1).
 * Thread: any. */
/* clang-format on */
#include "server/catalog/arrangement.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "schema/kinds/group_priority.h"
#include "server/catalog/version_order.h"

/* A group version while it is arranged. */
struct entry {
    struct cor_served_version version;
    struct cor_group_priority priority;
    const struct entry *rank; /* the entry of its group that comes first by priority and name */
};

struct entries {
    struct entry *v;
    size_t n;
    uint32_t *index; /* 1 + an entry's number, by hash; 0: empty */
    size_t mask;
};

static size_t entries_at(const struct entries *e, struct cor_str group, struct cor_str version)
{
    size_t at = (cor_str_hash(group) * 31 + cor_str_hash(version)) & e->mask;

    while (e->index[at]) {
        const struct cor_served_version *v = &e->v[e->index[at] - 1].version;

        if (cor_str_eq(v->group, group) && cor_str_eq(v->version, version))
            break;
        at = (at + 1) & e->mask;
    }
    return at;
}

static bool is_registration(struct cor_str group)
{
    return cor_str_eqz(group, COR_GROUP_REGISTRATION);
}

/* The core group has documents of its own, and precedes all others. */
static struct entry *entries_add(struct entries *e, size_t at, struct cor_str group,
                                 struct cor_str version, struct cor_str api_version,
                                 struct cor_group_priority priority)
{
    struct entry *entry = &e->v[e->n++];

    if (group.n == 0)
        priority.group = INT_MAX;
    else if (is_registration(group))
        priority.group = INT_MAX - 1;
    entry->priority = priority;
    e->index[at] = (uint32_t)e->n;
    entry->version = (struct cor_served_version){
        .group = group, .version = version, .api_version = api_version, .is_listed = true};
    return entry;
}

static void add_service(struct entries *e, struct cor_api_service *service)
{
    size_t at = entries_at(e, service->group, service->version);
    struct entry *entry;

    assert(!e->index[at]);
    entry = entries_add(
        e, at, service->group, service->version, service->api_version,
        (struct cor_group_priority){service->group_priority, service->version_priority});
    entry->version.service = service;
}

/* The group version of a row that no service registers. The core group and that of the APIServices
 * are listed all the same. */
static void add_unregistered(struct entries *e, size_t at, const struct cor_resource_row *row,
                             bool are_known)
{
    struct cor_group_priority priority = COR_CUSTOM_PRIORITY;
    bool is_listed = true;

    if (!row->custom && row->group.n > 0 && !is_registration(row->group)) {
        is_listed = !are_known;
        if (are_known)
            priority.group = INT_MIN;
        else
            (void)cor_group_priority(row->group, row->version, &priority);
    }
    entries_add(e, at, row->group, row->version, row->api_version, priority)->version.is_listed =
        is_listed;
}

bool cor_served_version_is_remote(const struct cor_served_version *version)
{
    return version->service && version->service->is_remote && !is_registration(version->group);
}

/* The texts "<version>.<group>", compared as bytes. */
static int order_names(const struct cor_served_version *a, const struct cor_served_version *b)
{
    size_t n = a->version.n < b->version.n ? a->version.n : b->version.n;
    int order = memcmp(a->version.p, b->version.p, n);

    if (order)
        return order;
    if (a->version.n != b->version.n)
        return a->version.n < b->version.n ? '.' - b->version.p[n] : a->version.p[n] - '.';
    return cor_str_cmp(a->group, b->group);
}

static int order_ranks(const struct entry *a, const struct entry *b)
{
    if (a->priority.group != b->priority.group)
        return a->priority.group > b->priority.group ? -1 : 1;
    return order_names(&a->version, &b->version);
}

static int order_by_rank(const void *a, const void *b)
{
    return order_ranks(*(const struct entry *const *)a, *(const struct entry *const *)b);
}

static int order_entries(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a;
    const struct entry *y = *(const struct entry *const *)b;

    if (x->rank != y->rank)
        return order_ranks(x->rank, y->rank);
    if (x->priority.version != y->priority.version)
        return x->priority.version > y->priority.version ? -1 : 1;
    return cor_version_order(x->version.version, y->version.version);
}

/* Sorts pointers to the entries. Entries that are not listed have the lowest priority and stay
 * behind, whatever their group. */
static void sort_entries(struct entries *e, struct entry **sorted)
{
    for (size_t i = 0; i < e->n; i++)
        sorted[i] = &e->v[i];
    qsort(sorted, e->n, sizeof(sorted[0]), order_by_rank);
    /* The index has served its purpose: now it finds the first entry of a group. */
    memset(e->index, 0, (e->mask + 1) * sizeof(e->index[0]));
    for (size_t i = 0; i < e->n; i++) {
        struct entry *entry = sorted[i];
        size_t at = cor_str_hash(entry->version.group) & e->mask;

        entry->rank = entry;
        if (!entry->version.is_listed)
            continue;
        while (e->index[at]) {
            const struct entry *first = &e->v[e->index[at] - 1];

            if (cor_str_eq(first->version.group, entry->version.group)) {
                entry->rank = first;
                break;
            }
            at = (at + 1) & e->mask;
        }
        if (entry->rank == entry)
            e->index[at] = (uint32_t)(entry - e->v) + 1;
    }
    qsort(sorted, e->n, sizeof(sorted[0]), order_entries);
}

static size_t index_size(size_t n)
{
    size_t size = 16;

    while (size < 2 * n)
        size *= 2;
    return size;
}

/* Makes an entry for each group version; `of_row` gets the entry of each row. */
static void collect(struct entries *e, const struct cor_served_opts *opts, struct entry **of_row)
{
    for (size_t i = 0; i < opts->nservices; i++)
        add_service(e, opts->services[i]);
    for (size_t i = 0; i < opts->nrows; i++) {
        const struct cor_resource_row *row = opts->rows[i];
        size_t at = entries_at(e, row->group, row->version);

        if (!e->index[at])
            add_unregistered(e, at, row, opts->nservices > 0);
        of_row[i] = &e->v[e->index[at] - 1];
        if (!cor_served_version_is_remote(&of_row[i]->version))
            of_row[i]->version.nrows++;
    }
}

/* Places the rows, entry by entry. */
static void place(struct cor_arrangement *a, const struct cor_served_opts *opts,
                  struct entry *const *sorted, struct entry *const *of_row)
{
    size_t at = 0;

    for (size_t i = 0; i < a->nversions; i++) {
        sorted[i]->version.first_row = at;
        at += sorted[i]->version.nrows;
        sorted[i]->version.nrows = 0;
    }
    a->nrows = at;
    for (size_t i = 0; i < opts->nrows; i++) {
        struct cor_served_version *version = &of_row[i]->version;

        if (!cor_served_version_is_remote(version))
            a->rows[version->first_row + version->nrows++] = opts->rows[i];
    }
    for (size_t i = 0; i < a->nversions; i++) {
        a->versions[i] = sorted[i]->version;
        a->nremote += cor_served_version_is_remote(&sorted[i]->version);
    }
}

int cor_arrangement_init(struct cor_arrangement *a, const struct cor_served_opts *opts)
{
    size_t max = opts->nservices + opts->nrows, size = index_size(max);
    struct entry **sorted = NULL, **of_row = NULL;
    struct entries e = {.mask = size - 1};
    bool has_memory;

    *a = (struct cor_arrangement){0};
    e.v = cor_calloc(max, sizeof(e.v[0]));
    e.index = cor_calloc(size, sizeof(e.index[0]));
    sorted = cor_calloc(max, sizeof(sorted[0]));
    of_row = cor_calloc(opts->nrows, sizeof(of_row[0]));
    a->rows = cor_calloc(opts->nrows, sizeof(a->rows[0]));
    has_memory = e.v && e.index && sorted && of_row && a->rows;
    if (has_memory) {
        collect(&e, opts, of_row);
        a->versions = cor_calloc(e.n, sizeof(a->versions[0]));
        has_memory = a->versions;
    }
    if (has_memory) {
        sort_entries(&e, sorted);
        a->nversions = e.n;
        place(a, opts, sorted, of_row);
    }
    cor_free(of_row);
    cor_free(sorted);
    cor_free(e.index);
    cor_free(e.v);
    if (has_memory)
        return 0;
    cor_arrangement_deinit(a);
    return -COR_ENOMEM;
}

void cor_arrangement_deinit(struct cor_arrangement *a)
{
    cor_free(a->versions);
    cor_free(a->rows);
    *a = (struct cor_arrangement){0};
}
