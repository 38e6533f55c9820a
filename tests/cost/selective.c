/* clang-format off */
/* Lists, pages, lists at a past revision and initial states of watches, each of the pods of one
 * node or one namespace among many, for tests/cost/selective.py, which counts the instructions.
 *
 *   selective PODS [SELECTION]   thirty pods on each node, and ten in each namespace
 *
 * Prints, for each selection, its name and how many objects each of its requests gave. */
/* clang-format on */
#include <stdio.h>

#include "fake_engine.h"
#include "meta/select/predicate.h"

#define PER_NODE  30
#define PER_SPACE 10
#define PAGE      7

static const struct cor_field_label label_rows[] = {
    {.label = "metadata.name"}, {.label = "metadata.namespace"}, {.label = "spec.nodeName"}};
static const struct cor_field_labels labels = {.v = label_rows, .n = COR_ARRAY_LEN(label_rows)};

static const struct selection {
    const char *name, *key, *fields;
} selections[] = {
    {"node", "/pods", "spec.nodeName=n3"},
    {"node-in-namespace", "/pods/ns9", "spec.nodeName=n3"},
    {"namespace", "/pods/ns9", ""},
    {"namespace-field", "/pods", "metadata.namespace=ns9"},
    {"name", "/pods/ns9", "metadata.name=p000090"},
};

static struct fake f;

struct listed {
    struct cor_list_cursor *cursor;
    int err;
    bool done;
};

static bool is_done(void *arg)
{
    return ((struct listed *)arg)->done;
}

static void on_list(void *arg, int err, struct cor_status *status,
                    struct cor_list_cursor *take_cursor)
{
    struct listed *listed = arg;

    listed->err = err;
    listed->cursor = take_cursor;
    listed->done = true;
}

static size_t list(const struct selection *selection, const char *rv, const char *match,
                   int64_t limit)
{
    COR_CLEANUP(cor_predicate_deinit) struct cor_predicate predicate;
    struct listed listed = {0};
    struct cor_store_list_opts opts = {.predicate = &predicate,
                                       .options = {.recursive = true,
                                                   .resource_version = cor_strz(rv),
                                                   .resource_version_match = cor_strz(match),
                                                   .limit = limit}};
    size_t n = 0;

    assert_int_equal(
        cor_predicate_parse(COR_STR(""), cor_strz(selection->fields), &labels, &predicate, NULL),
        0);
    assert_int_equal(
        cor_reader_list(f.reader, cor_strz(selection->key), &opts, on_list, &listed, NULL), 0);
    fake_wait(&f, is_done, &listed);
    assert_int_equal(listed.err, 0);
    while (cor_list_cursor_next(listed.cursor))
        n++;
    cor_list_cursor_free(listed.cursor);
    return n;
}

static bool has_initial_state(void *arg)
{
    return ((struct fake_watch *)arg)->initial_end;
}

static size_t watch(const struct selection *selection)
{
    struct fake_watch w;
    struct cor_reader_watch_opts opts = fake_watch_opts(&w, "", selection->fields);

    opts.options.send_initial_events = COR_TRUE;
    opts.options.resource_version_match = COR_STR("NotOlderThan");
    opts.options.allow_bookmarks = true;
    fake_watch_open(&f, &w, selection->key, &opts);
    fake_wait(&f, has_initial_state, &w);
    fake_watch_close(&w);
    return w.n_before_bookmark;
}

/* Not inlined: valgrind counts what it and all below it does. */
__attribute__((noinline)) static void drive_selection(const struct selection *selection,
                                                      const char *past)
{
    size_t listed = list(selection, "", "", 0), paged = list(selection, "", "", PAGE);
    size_t exact = list(selection, past, "Exact", 0), watched = watch(selection);

    printf("%s %zu %zu %zu %zu\n", selection->name, listed, paged, exact, watched);
}

int main(int argc, char **argv)
{
    uint64_t pods = 0;
    char past[24];

    if (argc < 2 || cor_str_to_u64(cor_strz(argv[1]), &pods) < 0 || pods > 999999)
        fail_msg("usage: selective PODS [SELECTION]");
    fake_open(&f, 0);
    f.brings_objects = true;
    for (size_t i = 0; i < pods; i++) {
        char ns[32], name[32], node[32];

        snprintf(ns, sizeof(ns), "ns%zu", i / PER_SPACE);
        snprintf(name, sizeof(name), "p%06zu", i);
        snprintf(node, sizeof(node), "n%zu", i / PER_NODE);
        fake_put(&f, ns, name, node, NULL);
        if (i % 1000 == 0)
            fake_settle(&f);
    }
    snprintf(past, sizeof(past), "%llu", (unsigned long long)f.rev);
    for (size_t i = 0; i < 20; i++)
        fake_put(&f, "other", "p", "other", NULL);
    fake_settle(&f);
    for (size_t i = 0; i < COR_ARRAY_LEN(selections); i++)
        if (argc < 3 || strcmp(argv[2], selections[i].name) == 0)
            drive_selection(&selections[i], past);
    fake_close(&f);
    return 0;
}
