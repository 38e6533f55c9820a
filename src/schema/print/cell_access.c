/* The cells of role bindings, certificate requests, admission policies, FlowSchemas and
 * ResourceClaims. */
#include "base/cleanup.h"
#include "schema/print/cell_hooks.h"

/* --- role bindings ------------------------------------------------------------------------------
 */

static void put_subjects(struct cor_cells *cells, const char *kind, bool has_namespace)
{
    struct cor_json_iter it = cor_json_iter(cor_cells_top(cells, "subjects"));
    bool is_begun = false;

    cor_json_begin_string(cells->w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str one = cor_json_iter_open_value(&it);

        if (!cor_cell_is(cor_cell_member(one, "kind"), kind))
            continue;
        if (is_begun)
            cor_json_add_text(cells->w, COR_STR(", "));
        is_begun = true;
        if (has_namespace) {
            cor_json_add_raw_text(cells->w, cor_cell_raw(cor_cell_member(one, "namespace")));
            cor_json_add_text(cells->w, COR_STR("/"));
        }
        cor_json_add_raw_text(cells->w, cor_cell_raw(cor_cell_member(one, "name")));
    }
    cor_json_end_string(cells->w);
}

void cor_cell_subject_users(struct cor_cells *cells)
{
    put_subjects(cells, "User", false);
}

void cor_cell_subject_groups(struct cor_cells *cells)
{
    put_subjects(cells, "Group", false);
}

void cor_cell_subject_accounts(struct cor_cells *cells)
{
    put_subjects(cells, "ServiceAccount", true);
}

/* --- certificate requests -----------------------------------------------------------------------
 */

void cor_cell_requested_duration(struct cor_cells *cells)
{
    struct cor_str seconds = cor_cells_at(cells, "spec", "expirationSeconds");
    int64_t number = cor_cell_number(seconds);

    if (!seconds.p) {
        cor_cells_put(cells, "<none>");
        return;
    }
    /* The field is an int32; what an odd object has more is cut off. */
    if (number > INT32_MAX)
        number = INT32_MAX;
    else if (number < INT32_MIN)
        number = INT32_MIN;
    cor_json_begin_string(cells->w);
    cor_cells_add_duration(cells, number * 1000000);
    cor_json_end_string(cells->w);
}

void cor_cell_request_condition(struct cor_cells *cells)
{
    struct cor_str conditions = cor_cells_at(cells, "status", "conditions");

    cor_json_begin_string(cells->w);
    if (cor_cell_of_type(conditions, "Denied").p)
        cor_json_add_text(cells->w, COR_STR("Denied"));
    else if (cor_cell_of_type(conditions, "Approved").p)
        cor_json_add_text(cells->w, COR_STR("Approved"));
    else
        cor_json_add_text(cells->w, COR_STR("Pending"));
    if (cor_cell_of_type(conditions, "Failed").p)
        cor_json_add_text(cells->w, COR_STR(",Failed"));
    if (cor_cell_raw(cor_cells_at(cells, "status", "certificate")).n > 0)
        cor_json_add_text(cells->w, COR_STR(",Issued"));
    cor_json_end_string(cells->w);
}

/* --- admission policies -------------------------------------------------------------------------
 */

/* A member of a LabelSelector as Go's generated String() prints it: texts of a list in brackets. */
static void add_go_strings(struct cor_cells *cells, struct cor_str list)
{
    struct cor_json_iter it = cor_json_iter(list);
    bool is_begun = false;

    cor_json_add_text(cells->w, COR_STR("["));
    while (cor_json_iter_elem(&it)) {
        if (is_begun)
            cor_json_add_text(cells->w, COR_STR(" "));
        is_begun = true;
        cor_json_add_raw_text(cells->w, cor_cell_raw(cor_json_iter_open_value(&it)));
    }
    cor_json_add_text(cells->w, COR_STR("]"));
}

/* A LabelSelector as Go's generated String() prints it. */
static void add_go_selector(struct cor_cells *cells, struct cor_str selector)
{
    struct cor_str labels = cor_cell_member(selector, "matchLabels"), key;
    struct cor_json_iter it = cor_json_iter(labels);
    struct cor_json_iter each = cor_json_iter(cor_cell_member(selector, "matchExpressions"));

    cor_json_add_text(cells->w, COR_STR("&LabelSelector{MatchLabels:map[string]string{"));
    while (cor_json_type(labels) == COR_JSON_OBJECT && cor_json_iter_member(&it, &key)) {
        cor_json_add_raw_text(cells->w, key);
        cor_json_add_text(cells->w, COR_STR(": "));
        cor_json_add_raw_text(cells->w, cor_cell_raw(cor_json_iter_open_value(&it)));
        cor_json_add_text(cells->w, COR_STR(","));
    }
    cor_json_add_text(cells->w, COR_STR("},MatchExpressions:[]LabelSelectorRequirement{"));
    while (cor_json_iter_elem(&each)) {
        struct cor_str one = cor_json_iter_open_value(&each);

        cor_json_add_text(cells->w, COR_STR("LabelSelectorRequirement{Key:"));
        cor_json_add_raw_text(cells->w, cor_cell_raw(cor_cell_member(one, "key")));
        cor_json_add_text(cells->w, COR_STR(",Operator:"));
        cor_json_add_raw_text(cells->w, cor_cell_raw(cor_cell_member(one, "operator")));
        cor_json_add_text(cells->w, COR_STR(",Values:"));
        add_go_strings(cells, cor_cell_member(one, "values"));
        cor_json_add_text(cells->w, COR_STR(",},"));
    }
    cor_json_add_text(cells->w, COR_STR("},}"));
}

/* A parameter that is named, with "*" for a namespace that is not; or the selector of parameters.
 */
void cor_cell_policy_parameter(struct cor_cells *cells)
{
    struct cor_str reference = cor_cells_at(cells, "spec", "paramRef");
    struct cor_str name = cor_cell_raw(cor_cell_member(reference, "name"));
    struct cor_str ns = cor_cell_raw(cor_cell_member(reference, "namespace"));
    struct cor_str selector = cor_cell_member(reference, "selector");

    cor_json_begin_string(cells->w);
    if (name.n > 0) {
        cor_json_add_raw_text(cells->w, ns.n > 0 ? ns : COR_STR("*"));
        cor_json_add_text(cells->w, COR_STR("/"));
        cor_json_add_raw_text(cells->w, name);
    } else if (selector.p) {
        add_go_selector(cells, selector);
    } else {
        cor_json_add_text(cells->w, COR_STR("<unset>"));
    }
    cor_json_end_string(cells->w);
}

/* --- FlowSchemas and ResourceClaims --------------------------------------------------------------
 */

void cor_cell_dangling(struct cor_cells *cells)
{
    struct cor_str condition =
        cor_cell_of_type(cor_cells_at(cells, "status", "conditions"), "Dangling");

    if (condition.p)
        cor_cells_put_raw(cells, cor_cell_raw(cor_cell_member(condition, "status")), "");
    else
        cor_cells_put(cells, "?");
}

void cor_cell_claim_state(struct cor_cells *cells)
{
    struct cor_str status = cor_cells_top(cells, "status");
    struct cor_json_iter reserved = cor_json_iter(cor_cell_member(status, "reservedFor"));
    bool is_deleted = cor_cells_is_deleted(cells);

    cor_json_begin_string(cells->w);
    if (is_deleted)
        cor_json_add_text(cells->w, COR_STR("deleted"));
    if (!cor_cell_member(status, "allocation").p) {
        if (!is_deleted)
            cor_json_add_text(cells->w, COR_STR("pending"));
    } else {
        if (is_deleted)
            cor_json_add_text(cells->w, COR_STR(","));
        cor_json_add_text(cells->w, COR_STR("allocated"));
        if (cor_json_iter_elem(&reserved))
            cor_json_add_text(cells->w, COR_STR(",reserved"));
    }
    cor_json_end_string(cells->w);
}
