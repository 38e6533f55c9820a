/* ./dev bench selective: what a request costs the server that selects few objects of many. The
 * cluster grows from 900 pods to 150,300; the same requests are measured at each size, and what
 * quota and the garbage collector do after a change. Each row names its slope: 0, the cost does not
 * depend on what else there is; 1, it grows as the cluster. docs/internals/performance.md says how
 * to read it.
 *
 *   bench_selective CORACLE DATA_DIR [--short] [--strict]
 *
 * A failure ends the program with words (process.h). Thread: one. */
#include <math.h>
#include <stdio.h>

#include "asker.h"
#include "client.h"
#include "cluster.h"
#include "process.h"
#include "reactions.h"
#include "requests.h"
#include "versus.h"

#define SIZES_MAX 4
#define JSON      "application/json"
#define PROTOBUF  "application/vnd.kubernetes.protobuf"
#define NODE_LIST "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-#"
/* A watch that ends by itself when it has shown the initial state. */
#define INITIAL                                                                                    \
    "&watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"   \
    "&timeoutSeconds=1"

/* What the number in a request is of. */
enum of { OF_NODES, OF_SPACES, OF_SPENT };

struct row {
    const char *what, *method, *path, *accept;
    enum of of;
    size_t n, conns;      /* requests, and connections that they come from */
    double us_max, slope; /* bars: at the largest cluster, and of the slope; NAN: none */
    double (*measure)(const struct target *t); /* what controllers do about a change; else NULL */
};

static const struct row rows[] = {
    {"pods of a node, JSON", "GET", NODE_LIST, JSON, OF_NODES, 200, 1, 300, 0.1},
    {"pods of a node, protobuf", "GET", NODE_LIST, PROTOBUF, OF_NODES, 200, 1, 300, NAN},
    {"pods of a node, streaming list, JSON", "GET", NODE_LIST INITIAL, JSON, OF_NODES, 40, 40, 400,
     0.1},
    {"pods of a node, streaming list, protobuf", "GET", NODE_LIST INITIAL, PROTOBUF, OF_NODES, 40,
     40, 400, NAN},
    {"pods of a node, a page of ten", "GET", NODE_LIST "&limit=10", JSON, OF_NODES, 200, 1, NAN,
     0.1},
    {"pods of a node in a namespace", "GET",
     "/api/v1/namespaces/ns0/pods?fieldSelector=spec.nodeName%3Dnode-#", JSON, OF_NODES, 200, 1,
     NAN, 0.1},
    {"pods of a namespace", "GET", "/api/v1/namespaces/ns#/pods", JSON, OF_SPACES, 200, 1, NAN,
     0.1},
    {"pods of a namespace by metadata.namespace", "GET",
     "/api/v1/pods?fieldSelector=metadata.namespace%3Dns#", JSON, OF_SPACES, 200, 1, NAN, 0.1},
    {"pods of a namespace by label", "GET", "/api/v1/namespaces/ns#/pods?labelSelector=app%3Da1",
     JSON, OF_SPACES, 200, 1, NAN, 0.1},
    {"deletion of a namespace's pods by label, dry run", "DELETE",
     "/api/v1/namespaces/ns#/pods?labelSelector=app%3Da1&dryRun=All", JSON, OF_SPACES, 100, 1, NAN,
     0.1},
    {"deletion of 5 of a namespace's 20 pods by label", "DELETE",
     "/api/v1/namespaces/spent#/pods?labelSelector=goes%3Dyes&gracePeriodSeconds=0", JSON, OF_SPENT,
     CLUSTER_SPENT, 1, NAN, 0.1},
    {"the same by spec.nodeName", "DELETE",
     "/api/v1/namespaces/spent#/pods?fieldSelector=spec.nodeName%3Dnode-of-those"
     "&gracePeriodSeconds=0",
     JSON, OF_SPENT, CLUSTER_SPENT, 1, NAN, 0.1},
    {.what = "a quota counts its namespace's 15 pods",
     .us_max = NAN,
     .slope = 0.1,
     .measure = reactions_count},
    {.what = "the collector deletes an owner's 5 pods",
     .us_max = NAN,
     .slope = 0.1,
     .measure = reactions_collect},
    {"events of a pod by involvedObject", "GET",
     "/api/v1/namespaces/ns#/events?fieldSelector=involvedObject.name%3Dpod-1", JSON, OF_SPACES,
     100, 1, NAN, 0.15},
    {"the same where all namespaces' events are", "GET",
     "/api/v1/namespaces/busy/events?fieldSelector=involvedObject.name%3Dpod-#", JSON, OF_SPACES,
     10, 1, NAN, NAN},
    {"30 pods by label, of all", "GET", "/api/v1/pods?labelSelector=one%3Do#", JSON, OF_NODES, 20,
     1, NAN, NAN},
    {"no pods by a field without an index, of all", "GET",
     "/api/v1/pods?fieldSelector=status.phase%3DFailed", JSON, OF_NODES, 10, 1, NAN, NAN},
};

static const size_t whole[] = {900, 9000, 45000, 150300};
static const size_t brief[] = {900, 1800};

static size_t numbers_of(const struct row *row, size_t pods)
{
    switch (row->of) {
    case OF_NODES:
        return cluster_nodes(pods);
    case OF_SPACES:
        return cluster_spaces(pods);
    case OF_SPENT:
        break;
    }
    return CLUSTER_SPENT;
}

/* What a deletion takes is made before, and all of it is taken. */
static double measure(const struct target *t, const struct row *row, size_t pods, bool is_short)
{
    struct cluster_ask ask = {.method = row->method, .path = row->path, .accept = row->accept};
    size_t n = is_short && row->n > 4 && row->of != OF_SPENT ? 4 : row->n;

    if (row->measure)
        return row->measure(t);
    ask.n = numbers_of(row, pods);
    if (row->of == OF_SPENT)
        cluster_spend(t);
    else
        /* Once before, so that what is made on first demand is there. */
        (void)versus_run(t, 1, 1, cluster_write_ask, &ask);
    return versus_run(t, row->conns < n ? row->conns : n, n, cluster_write_ask, &ask);
}

static void print_row(struct versus *v, const struct row *row, const double *us,
                      const size_t *sizes, size_t nsizes)
{
    size_t last = nsizes - 1;
    double slope = log(us[last] / us[0]) / log((double)sizes[last] / (double)sizes[0]);
    bool has_bar = !isnan(row->us_max) || !isnan(row->slope);
    bool missed = !v->is_short && (us[last] > row->us_max || slope > row->slope);

    v->missed |= missed;
    printf("%-50s", row->what);
    for (size_t i = 0; i < nsizes; i++)
        printf(" %10.1f", us[i]);
    printf(" %7.2f", slope);
    if (!isnan(row->us_max))
        printf("  <= %.0f us", row->us_max);
    if (!isnan(row->slope))
        printf("  slope <= %.2f", row->slope);
    printf("%s\n", missed ? "  MISSED" : has_bar && !v->is_short ? "  ok" : "");
}

static void start(const struct versus *v, struct target *ret)
{
    const struct target_program program = {.program = v->program, .has_controllers = true};
    char own[VERSUS_DIR_MAX];

    snprintf(own, sizeof(own), "%s/coracle", v->dir);
    target_start_coracle(&program, own, ret);
}

int main(int argc, char **argv)
{
    struct versus v = versus_read(argc, argv);
    const size_t *sizes = v.is_short ? brief : whole;
    size_t nsizes = v.is_short ? COR_ARRAY_LEN(brief) : COR_ARRAY_LEN(whole);
    double us[COR_ARRAY_LEN(rows)][SIZES_MAX];
    struct target t;

    versus_say("coracle");
    start(&v, &t);
    reactions_make(&t);
    for (size_t i = 0; i < nsizes; i++) {
        cluster_grow(&t, i > 0 ? sizes[i - 1] : 0, sizes[i]);
        /* Controllers have their own objects in each namespace. */
        (void)asker_memory_at_rest(&t);
        for (size_t k = 0; k < COR_ARRAY_LEN(rows); k++)
            us[k][i] = measure(&t, &rows[k], sizes[i], v.is_short);
    }
    printf("%-50s", "server CPU of a request, us; pods");
    for (size_t i = 0; i < nsizes; i++)
        printf(" %10zu", sizes[i]);
    printf(" %7s\n", "slope");
    for (size_t k = 0; k < COR_ARRAY_LEN(rows); k++)
        print_row(&v, &rows[k], us[k], sizes, nsizes);
    target_stop(&t);
    return versus_status(&v);
}
