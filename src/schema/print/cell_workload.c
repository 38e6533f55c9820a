/* The cells of Deployments, ControllerRevisions, Jobs and HorizontalPodAutoscalers. */
#include "base/cleanup.h"
#include "schema/print/cell_hooks.h"

void cor_cell_deployment_selector(struct cor_cells *cells)
{
    cor_cells_put_selector(cells, cor_cells_at(cells, "spec", "selector"), "", "<invalid>");
}

/* The kind, with its group unless that is the core group, and the name. */
void cor_cell_controller(struct cor_cells *cells)
{
    struct cor_str owners = cor_cell_member(cells->metadata, "ownerReferences");
    struct cor_json_iter it = cor_json_iter(owners);

    while (cor_json_iter_elem(&it)) {
        struct cor_str owner = cor_json_iter_open_value(&it);
        struct cor_str version = cor_cell_raw(cor_cell_member(owner, "apiVersion"));
        struct cor_str kind = cor_cell_raw(cor_cell_member(owner, "kind"));
        ptrdiff_t slash = cor_str_find(version, '/');

        if (!cor_cell_true(cor_cell_member(owner, "controller")))
            continue;
        cor_json_begin_string(cells->w);
        cor_cells_add_lower(cells, kind);
        if (slash > 0) {
            cor_json_add_text(cells->w, COR_STR("."));
            cor_cells_add_lower(cells, cor_str(version.p, (size_t)slash));
        }
        if (kind.n > 0 || slash > 0)
            cor_json_add_text(cells->w, COR_STR("/"));
        cor_json_add_raw_text(cells->w, cor_cell_raw(cor_cell_member(owner, "name")));
        cor_json_end_string(cells->w);
        return;
    }
    cor_cells_put(cells, "<none>");
}

/* --- Jobs ---------------------------------------------------------------------------------------
 */

static bool job_has(struct cor_cells *cells, const char *type)
{
    struct cor_str condition = cor_cell_of_type(cor_cells_at(cells, "status", "conditions"), type);

    return cor_cell_is(cor_cell_member(condition, "status"), "True");
}

void cor_cell_job_status(struct cor_cells *cells)
{
    const char *text = "Running";

    if (job_has(cells, "Complete"))
        text = "Complete";
    else if (job_has(cells, "Failed"))
        text = "Failed";
    else if (cor_cells_is_deleted(cells))
        text = "Terminating";
    else if (job_has(cells, "Suspended"))
        text = "Suspended";
    else if (job_has(cells, "FailureTarget"))
        text = "FailureTarget";
    else if (job_has(cells, "SuccessCriteriaMet"))
        text = "SuccessCriteriaMet";
    cor_cells_put(cells, text);
}

void cor_cell_job_completions(struct cor_cells *cells)
{
    struct cor_str wanted = cor_cells_at(cells, "spec", "completions");
    int64_t parallelism = cor_cell_number(cor_cells_at(cells, "spec", "parallelism"));

    cor_json_begin_string(cells->w);
    cor_json_add_i64(cells->w, cor_cell_number(cor_cells_at(cells, "status", "succeeded")));
    cor_json_add_text(cells->w, COR_STR("/"));
    cor_json_add_i64(cells->w, wanted.p ? cor_cell_number(wanted) : 1);
    if (!wanted.p && parallelism > 1) {
        cor_json_add_text(cells->w, COR_STR(" of "));
        cor_json_add_i64(cells->w, parallelism);
    }
    cor_json_end_string(cells->w);
}

/* A job that has not started has no duration. */
void cor_cell_job_duration(struct cor_cells *cells)
{
    int64_t start, end;

    cor_json_begin_string(cells->w);
    if (cor_cell_time(cor_cells_at(cells, "status", "startTime"), &start)) {
        if (!cor_cell_time(cor_cells_at(cells, "status", "completionTime"), &end))
            end = cells->now_us;
        cor_cells_add_duration(cells, end - start);
    }
    cor_json_end_string(cells->w);
}

/* --- HorizontalPodAutoscalers -------------------------------------------------------------------
 */

/* A cell shows at most this many metrics, and then the number of the others. */
#define METRICS_SHOWN_MAX 2

/* How a type of metric is called, and the member that has it. */
static const struct {
    const char *type, *member;
    bool is_resource; /* its name precedes the values, and utilization is in percent */
} metric_types[] = {{"External", "external", false},
                    {"Pods", "pods", false},
                    {"Object", "object", false},
                    {"Resource", "resource", true},
                    {"ContainerResource", "containerResource", true}};

/* A quantity, or "<unknown>" where `is_known` is false; Go prints one that is nil as "<nil>". */
static void add_quantity(struct cor_cells *cells, struct cor_str value, bool is_known)
{
    struct cor_str raw = cor_cell_raw(value);

    if (!is_known)
        cor_json_add_text(cells->w, COR_STR("<unknown>"));
    else if (raw.n > 0)
        cor_json_add_raw_text(cells->w, raw);
    else
        cor_json_add_text(cells->w, COR_STR("<nil>"));
}

static void add_percent(struct cor_cells *cells, struct cor_str value, const char *otherwise)
{
    if (!value.p) {
        cor_json_add_text(cells->w, cor_strz(otherwise));
        return;
    }
    cor_json_add_i64(cells->w, cor_cell_number(value));
    cor_json_add_text(cells->w, COR_STR("%"));
}

static void add_metric(struct cor_cells *cells, struct cor_str spec, struct cor_str status)
{
    struct cor_str type = cor_cell_member(spec, "type"), source, target, measured, current, average;
    size_t i = 0;
    bool is_pods, has_current;

    while (i < COR_ARRAY_LEN(metric_types) && !cor_cell_is(type, metric_types[i].type))
        i++;
    if (i == COR_ARRAY_LEN(metric_types)) {
        cor_json_add_text(cells->w, COR_STR("<unknown type>"));
        return;
    }
    is_pods = cor_cell_is(type, "Pods");
    source = cor_cell_member(spec, metric_types[i].member);
    target = cor_cell_member(source, "target");
    measured = cor_cell_member(status, metric_types[i].member);
    current = cor_cell_member(measured, "current");
    average = cor_cell_member(target, "averageValue");
    if (metric_types[i].is_resource) {
        cor_json_add_raw_text(cells->w, cor_cell_raw(cor_cell_member(source, "name")));
        cor_json_add_text(cells->w, COR_STR(": "));
    }
    if (metric_types[i].is_resource && !average.p) {
        add_percent(cells, cor_cell_member(current, "averageUtilization"), "<unknown>");
        cor_json_add_text(cells->w, COR_STR("/"));
        add_percent(cells, cor_cell_member(target, "averageUtilization"), "<auto>");
        return;
    }
    if (metric_types[i].is_resource || is_pods) {
        add_quantity(cells, cor_cell_member(current, "averageValue"), measured.p != NULL);
        cor_json_add_text(cells->w, COR_STR("/"));
        add_quantity(cells, average, true);
        return;
    }
    has_current = measured.p && (!average.p || cor_cell_member(current, "averageValue").p);
    add_quantity(cells, cor_cell_member(current, average.p ? "averageValue" : "value"),
                 has_current);
    cor_json_add_text(cells->w, COR_STR("/"));
    add_quantity(cells, average.p ? average : cor_cell_member(target, "value"), true);
    if (average.p)
        cor_json_add_text(cells->w, COR_STR(" (avg)"));
}

void cor_cell_scaling_targets(struct cor_cells *cells)
{
    struct cor_json_iter it = cor_json_iter(cor_cells_at(cells, "spec", "metrics"));
    struct cor_json_iter status_it = cor_json_iter(cor_cells_at(cells, "status", "currentMetrics"));
    int64_t n = 0;

    cor_json_begin_string(cells->w);
    for (; cor_json_iter_elem(&it); n++) {
        struct cor_str status = {NULL, 0};

        if (n >= METRICS_SHOWN_MAX)
            continue;
        if (cor_json_iter_elem(&status_it))
            status = cor_json_iter_open_value(&status_it);
        if (n > 0)
            cor_json_add_text(cells->w, COR_STR(", "));
        add_metric(cells, cor_json_iter_open_value(&it), status);
    }
    if (n == 0)
        cor_json_add_text(cells->w, COR_STR("<none>"));
    if (n > METRICS_SHOWN_MAX) {
        cor_json_add_text(cells->w, COR_STR(" + "));
        cor_json_add_i64(cells->w, n - METRICS_SHOWN_MAX);
        cor_json_add_text(cells->w, COR_STR(" more..."));
    }
    cor_json_end_string(cells->w);
}
