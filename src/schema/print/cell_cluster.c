/* The cells of Nodes, Events, ResourceQuotas, ComponentStatuses and APIServices. */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/print/cell_hooks.h"

/* --- Nodes ------------------------------------------------------------------------------------ */

/* The last condition of the type Ready counts. */
void cor_cell_node_status(struct cor_cells *cells)
{
    struct cor_json_iter it = cor_json_iter(cor_cells_at(cells, "status", "conditions"));
    struct cor_str text = COR_STR("Unknown");

    while (cor_json_iter_elem(&it)) {
        struct cor_str one = cor_json_iter_open_value(&it);

        if (cor_cell_is(cor_cell_member(one, "type"), "Ready"))
            text = cor_cell_is(cor_cell_member(one, "status"), "True") ? COR_STR("Ready")
                                                                       : COR_STR("NotReady");
    }
    cor_json_begin_string(cells->w);
    cor_json_add_text(cells->w, text);
    if (cor_cell_true(cor_cells_at(cells, "spec", "unschedulable")))
        cor_json_add_text(cells->w, COR_STR(",SchedulingDisabled"));
    cor_json_end_string(cells->w);
}

static void add_role(struct cor_cells *cells, struct cor_str role, bool *is_begun)
{
    if (*is_begun)
        cor_json_add_text(cells->w, COR_STR(","));
    *is_begun = true;
    cor_json_add_raw_text(cells->w, role);
}

/* The roles are sorted, each once. Those that keys of labels name come in order, because the keys
 * do; the one that the value of another label names is put in its place among them. */
void cor_cell_node_roles(struct cor_cells *cells)
{
    static const struct cor_str prefix = COR_STR("node-role.kubernetes.io/");
    struct cor_str labels = cor_cell_member(cells->metadata, "labels"), key;
    struct cor_str value = cor_cell_raw(cor_cell_member(labels, "kubernetes.io/role"));
    struct cor_json_iter it = cor_json_iter(labels);
    bool is_begun = false;

    cor_json_begin_string(cells->w);
    while (cor_json_type(labels) == COR_JSON_OBJECT && cor_json_iter_member(&it, &key)) {
        struct cor_str role = cor_str_from(key, prefix.n);
        int c;

        if (!cor_str_starts(key, prefix) || role.n == 0)
            continue;
        c = value.n > 0 ? cor_json_raw_cmp(value, role) : 1;
        if (c < 0)
            add_role(cells, value, &is_begun);
        if (c <= 0)
            value.n = 0;
        add_role(cells, role, &is_begun);
    }
    if (value.n > 0)
        add_role(cells, value, &is_begun);
    if (!is_begun)
        cor_json_add_text(cells->w, COR_STR("<none>"));
    cor_json_end_string(cells->w);
}

static void put_address(struct cor_cells *cells, const char *type)
{
    struct cor_str address = cor_cell_of_type(cor_cells_at(cells, "status", "addresses"), type);

    if (address.p)
        cor_cells_put_raw(cells, cor_cell_raw(cor_cell_member(address, "address")), "");
    else
        cor_cells_put(cells, "<none>");
}

void cor_cell_node_internal_ip(struct cor_cells *cells)
{
    put_address(cells, "InternalIP");
}

void cor_cell_node_external_ip(struct cor_cells *cells)
{
    put_address(cells, "ExternalIP");
}

/* --- Events ------------------------------------------------------------------------------------
 */

static struct cor_str event_first(struct cor_cells *cells)
{
    struct cor_str first = cor_cells_top(cells, "firstTimestamp");
    int64_t us;

    return cor_cell_time(first, &us) ? first : cor_cells_top(cells, "eventTime");
}

void cor_cell_event_first_seen(struct cor_cells *cells)
{
    cor_cells_put_since(cells, event_first(cells));
}

void cor_cell_event_last_seen(struct cor_cells *cells)
{
    struct cor_str series = cor_cells_top(cells, "series");
    struct cor_str last = cor_cells_top(cells, "lastTimestamp");
    int64_t us;

    if (series.p)
        last = cor_cell_member(series, "lastObservedTime");
    else if (!cor_cell_time(last, &us))
        last = event_first(cells);
    cor_cells_put_since(cells, last);
}

/* An event that says nothing has happened once. */
void cor_cell_event_count(struct cor_cells *cells)
{
    struct cor_str series = cor_cells_top(cells, "series");
    int64_t count = cor_cell_number(cor_cells_top(cells, "count"));

    if (series.p)
        count = cor_cell_number(cor_cell_member(series, "count"));
    else if (count == 0)
        count = 1;
    cor_json_i64(cells->w, count);
}

void cor_cell_event_object(struct cor_cells *cells)
{
    struct cor_str object = cor_cells_top(cells, "involvedObject");
    struct cor_str name = cor_cell_raw(cor_cell_member(object, "name"));

    cor_json_begin_string(cells->w);
    cor_cells_add_lower(cells, cor_cell_raw(cor_cell_member(object, "kind")));
    if (name.n > 0) {
        cor_json_add_text(cells->w, COR_STR("/"));
        cor_json_add_raw_text(cells->w, name);
    }
    cor_json_end_string(cells->w);
}

void cor_cell_event_source(struct cor_cells *cells)
{
    struct cor_str source = cor_cells_top(cells, "source");
    struct cor_str component = cor_cell_raw(cor_cell_member(source, "component"));
    struct cor_str host = cor_cell_raw(cor_cell_member(source, "host"));

    if (component.n == 0)
        component = cor_cell_raw(cor_cells_top(cells, "reportingComponent"));
    if (host.n == 0)
        host = cor_cell_raw(cor_cells_top(cells, "reportingInstance"));
    cor_json_begin_string(cells->w);
    cor_json_add_raw_text(cells->w, component);
    if (host.n > 0) {
        cor_json_add_text(cells->w, COR_STR(", "));
        cor_json_add_raw_text(cells->w, host);
    }
    cor_json_end_string(cells->w);
}

/* The white space at the start of a text, or at its end; 0: there is none. These are the characters
 * that Go's unicode.IsSpace() knows. */
static size_t space_at(struct cor_str text, bool is_end)
{
    static const char *const spaces[] = {"\t",           "\n",           "\v",
                                         "\f",           "\r",           " ",
                                         "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80",
                                         "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82",
                                         "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85",
                                         "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88",
                                         "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
                                         "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f",
                                         "\xe3\x80\x80"};

    for (size_t i = 0; i < COR_ARRAY_LEN(spaces); i++) {
        struct cor_str space = cor_strz(spaces[i]);

        if (is_end ? cor_str_ends(text, space) : cor_str_starts(text, space))
            return space.n;
    }
    return 0;
}

void cor_cell_event_message(struct cor_cells *cells)
{
    struct cor_str raw = cor_cell_raw(cor_cells_top(cells, "message")), text = raw;
    COR_CLEANUP(cor_freep) char *decoded = NULL;
    size_t n;

    if (cor_str_find(raw, '\\') >= 0) {
        decoded = cor_alloc(raw.n);
        if (!decoded) {
            if (!cells->w->error)
                cells->w->error = -COR_ENOMEM;
            return;
        }
        (void)cor_json_unescape(raw, decoded, raw.n, &text);
    }
    while ((n = space_at(text, false)) > 0)
        text = cor_str_from(text, n);
    while ((n = space_at(text, true)) > 0)
        text.n -= n;
    cor_json_string(cells->w, text);
}

/* --- ResourceQuotas ----------------------------------------------------------------------------
 */

/* What is used of each resource, and what may be used. Both maps are sorted and are read side by
 * side. */
static void put_quota(struct cor_cells *cells, bool is_limits)
{
    struct cor_str status = cor_cells_top(cells, "status"), key, used_key = {NULL, 0};
    struct cor_str hard = cor_cell_member(status, "hard"), used = cor_cell_member(status, "used");
    struct cor_json_iter it = cor_json_iter(hard), used_it = cor_json_iter(used);
    bool has_used =
        cor_json_type(used) == COR_JSON_OBJECT && cor_json_iter_member(&used_it, &used_key);
    bool is_begun = false;

    cor_json_begin_string(cells->w);
    while (cor_json_type(hard) == COR_JSON_OBJECT && cor_json_iter_member(&it, &key)) {
        struct cor_str now = COR_STR("0"), may = cor_cell_raw(cor_json_iter_open_value(&it));

        while (has_used && cor_json_raw_cmp(used_key, key) < 0)
            has_used = cor_json_iter_member(&used_it, &used_key);
        if (has_used && cor_json_raw_cmp(used_key, key) == 0)
            now = cor_cell_raw(cor_json_iter_open_value(&used_it));
        if (cor_str_starts(key, COR_STR("limits.")) != is_limits)
            continue;
        if (is_begun)
            cor_json_add_text(cells->w, COR_STR(", "));
        is_begun = true;
        cor_json_add_raw_text(cells->w, key);
        cor_json_add_text(cells->w, COR_STR(": "));
        cor_json_add_raw_text(cells->w, now);
        cor_json_add_text(cells->w, COR_STR("/"));
        cor_json_add_raw_text(cells->w, may.n > 0 ? may : COR_STR("0"));
    }
    cor_json_end_string(cells->w);
}

void cor_cell_quota_requests(struct cor_cells *cells)
{
    put_quota(cells, false);
}

void cor_cell_quota_limits(struct cor_cells *cells)
{
    put_quota(cells, true);
}

/* --- ComponentStatuses and APIServices ---------------------------------------------------------
 */

static struct cor_str component_condition(struct cor_cells *cells)
{
    return cor_cell_of_type(cor_cells_top(cells, "conditions"), "Healthy");
}

void cor_cell_component_status(struct cor_cells *cells)
{
    struct cor_str condition = component_condition(cells);

    if (!condition.p)
        cor_cells_put(cells, "Unknown");
    else
        cor_cells_put(cells, cor_cell_is(cor_cell_member(condition, "status"), "True")
                                 ? "Healthy"
                                 : "Unhealthy");
}

void cor_cell_component_message(struct cor_cells *cells)
{
    cor_cells_put_raw(cells, cor_cell_raw(cor_cell_member(component_condition(cells), "message")),
                      "");
}

void cor_cell_component_error(struct cor_cells *cells)
{
    cor_cells_put_raw(cells, cor_cell_raw(cor_cell_member(component_condition(cells), "error")),
                      "");
}

void cor_cell_api_service(struct cor_cells *cells)
{
    struct cor_str service = cor_cells_at(cells, "spec", "service");

    if (!service.p) {
        cor_cells_put(cells, "Local");
        return;
    }
    cor_json_begin_string(cells->w);
    cor_json_add_raw_text(cells->w, cor_cell_raw(cor_cell_member(service, "namespace")));
    cor_json_add_text(cells->w, COR_STR("/"));
    cor_json_add_raw_text(cells->w, cor_cell_raw(cor_cell_member(service, "name")));
    cor_json_end_string(cells->w);
}

void cor_cell_api_available(struct cor_cells *cells)
{
    struct cor_str condition =
        cor_cell_of_type(cor_cells_at(cells, "status", "conditions"), "Available");
    struct cor_str status = cor_cell_member(condition, "status");
    struct cor_str reason = cor_cell_raw(cor_cell_member(condition, "reason"));

    if (!condition.p) {
        cor_cells_put(cells, "Unknown");
        return;
    }
    cor_json_begin_string(cells->w);
    cor_json_add_raw_text(cells->w, cor_cell_raw(status));
    if (!cor_cell_is(status, "True") && reason.n > 0) {
        cor_json_add_text(cells->w, COR_STR(" ("));
        cor_json_add_raw_text(cells->w, reason);
        cor_json_add_text(cells->w, COR_STR(")"));
    }
    cor_json_end_string(cells->w);
}
