/* clang-format off */
/* One quota: count what its namespace uses, and write the status when something differs. Contract controllers 3.3.3, 3.3.4.
 *
 *   the quota as it was delivered last ──► lines of spec.hard ──► (no enumeration yet: enumerate) ──► for each resource
 *   that a line counts: LIST the namespace, page by page, add up ──► compare with the status ──► PUT status
 *
 * A resource that cannot be listed or added up keeps its old numbers; the others are written all the same, and the quota is
 * tried again by the limiter. So is one whose version was too old (409). No object is kept: items are looked at as
 * they arrive, and a page is what one turn of the loop handles.
 * Thread: the host's loop. */
/* clang-format on */
#include <assert.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "coracle/builder.h"
#include "server/controllers/quota/quota_int.h"
#include "json/write/print.h"

#define PAGE_ITEMS 100
#define TOKEN_MAX  4096
#define STATUS_MAX (1024u * 1024)

struct cor_quota_line {
    struct cor_str name; /* in the quota's bytes */
    struct cor_view hard;
    struct cor_str old;             /* what the status has; empty: nothing */
    struct cor_quota_rule rule;     /* for the resource that is listed */
    struct cor_quota_amount listed; /* of that resource */
    struct cor_quota_amount used;
    bool is_known;  /* a resource has it */
    bool is_failed; /* … and one of these could not be added up */
};

static void sync_next(struct cor_quota_task *w);
static int sync_on_item(struct cor_api_request *req, struct cor_object *item);
static void sync_on_page(struct cor_api_request *req, const struct cor_api_answer *answer);

static struct cor_quota_task *task_of(struct cor_api_request *req)
{
    return COR_CONTAINER_OF(req, struct cor_quota_task, task.req);
}

void cor_quota_task_deinit(struct cor_task *task)
{
    struct cor_quota_task *w = cor_quota_task_of(task);

    cor_object_unref(w->quota);
    cor_api_resources_unref(w->resources);
    cor_free(w->lines);
    cor_buf_deinit(&w->page);
    cor_status_deinit(&w->failure);
}

/* ---- the end ---- */

/* The status is written, or is as it should be. The failure of a part makes the quota due again;
 * otherwise the next full computation is queued, always in the primary queue. */
static void sync_end(struct cor_quota_task *w)
{
    struct cor_quota_controller *c = cor_quota_of(&w->task);
    struct cor_reconcile_result result = {.err = w->failure.err, .why = &w->failure};

    if (result.err == 0 && w->task.reconciler == &c->queues[COR_QUOTA_PRIMARY].reconciler)
        result.again_after_ms = COR_QUOTA_RESYNC_MS;
    else if (result.err == 0)
        result.err = cor_quota_enqueue(c, COR_QUOTA_PRIMARY, w->task.rec->ns, w->task.rec->name,
                                       COR_QUOTA_RESYNC_MS);
    if (w->failure.err == 0)
        result.why = NULL;
    cor_task_done(&w->task, &result);
}

static void sync_on_written(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_quota_task *w = task_of(req);

    if (answer->error)
        cor_task_end_with(&w->task, answer);
    else
        sync_end(w);
}

/* ---- the status ---- */

/* The value of the line in the new status; empty: it has none. */
static struct cor_str line_used(const struct cor_quota_line *line)
{
    return line->is_known && !line->is_failed ? cor_strz(line->used.text) : line->old;
}

static bool sync_changes_status(const struct cor_quota_task *w)
{
    struct cor_view used = cor_quota_part(w->quota, "status", "used");
    size_t n = 0;

    if (!cor_quota_lists_equal(cor_quota_part(w->quota, "spec", "hard"),
                               cor_quota_part(w->quota, "status", "hard")))
        return true;
    for (size_t i = 0; i < w->nlines; i++) {
        struct cor_str value = line_used(&w->lines[i]);
        int order;

        if (value.n == 0)
            continue;
        n++;
        if (cor_quantity_cmp(value, w->lines[i].old, &order) < 0 || order != 0)
            return true;
    }
    return n != cor_view_len(used);
}

static int sync_write_status(const struct cor_quota_task *w, struct cor_buf *out)
{
    struct cor_json_writer j;

    cor_json_writer_init(&j, out);
    cor_json_print(&j, "{hard:{");
    for (size_t i = 0; i < w->nlines; i++)
        cor_json_member(&j, w->lines[i].name, cor_quota_text(w->lines[i].hard));
    cor_json_print(&j, "},used:{");
    for (size_t i = 0; i < w->nlines; i++) {
        struct cor_str value = line_used(&w->lines[i]);

        if (value.n > 0)
            cor_json_member(&j, w->lines[i].name, value);
    }
    cor_json_end_object(&j);
    cor_json_end_object(&j);
    return cor_json_writer_finish(&j);
}

static void sync_put(struct cor_quota_task *w)
{
    static const struct cor_api_request_cbs cbs = {.on_done = sync_on_written};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf status;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_builder *builder = NULL;
    int r;

    cor_buf_init(&status, STATUS_MAX);
    r = sync_write_status(w, &status);
    if (r == 0)
        r = cor_builder_new(w->quota, &builder);
    if (r == 0)
        r = cor_builder_set_json(builder, "status", cor_buf_str(&status));
    if (r == 0)
        r = cor_builder_finish(builder, &object, &why);
    cor_builder_free(builder);
    if (r < 0) {
        cor_task_end(&w->task, r, NULL);
        return;
    }
    /* names a kind: what the controller is about */
    w->task.req = (struct cor_api_request){
        .at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("resourcequotas")},
               .ns = w->task.rec->ns,
               .name = w->task.rec->name,
               .subresource = COR_STR("status")},
        .cbs = &cbs};
    cor_api_update(cor_task_port(&w->task), &w->task.req, object, NULL);
}

/* ---- adding up ---- */

/* Sets the rules of the lines for a resource. Does it count any of them? */
static bool sync_set_rules(struct cor_quota_task *w, const struct cor_port_resource *resource)
{
    bool counts = false;

    for (size_t i = 0; i < w->nlines; i++) {
        w->lines[i].rule = cor_quota_rule_of(&resource->gvr, w->lines[i].name);
        w->lines[i].listed = (struct cor_quota_amount){"0"};
        counts = counts || w->lines[i].rule.counter != COR_QUOTA_NOTHING;
    }
    return counts;
}

static void sync_list(struct cor_quota_task *w)
{
    static const struct cor_api_request_cbs cbs = {.on_item = sync_on_item,
                                                   .on_done = sync_on_page};
    const struct cor_list_query query = {
        .list = {.limit = PAGE_ITEMS, .continue_token = cor_buf_str(&w->page)}};

    w->task.req = (struct cor_api_request){
        .at = {.gvr = w->resources->list[w->at].gvr, .ns = w->task.rec->ns}, .cbs = &cbs};
    cor_api_list(cor_task_port(&w->task), &w->task.req, &query);
}

/* Lists the next resource that the quota counts, or ends. */
static void sync_next(struct cor_quota_task *w)
{
    for (; w->at < w->resources->n; w->at++) {
        const struct cor_port_resource *resource = &w->resources->list[w->at];

        if (cor_quota_is_countable(resource) && sync_set_rules(w, resource)) {
            cor_buf_reset(&w->page);
            sync_list(w);
            return;
        }
    }
    if (sync_changes_status(w))
        sync_put(w);
    else
        sync_end(w);
}

static int sync_on_item(struct cor_api_request *req, struct cor_object *item)
{
    struct cor_quota_task *w = task_of(req);
    enum cor_quota_kind kind = cor_quota_kind_of(&w->resources->list[w->at].gvr);
    struct cor_view spec = cor_view_member(cor_object_view(w->quota), COR_STR("spec"));
    struct cor_quota_facts facts;
    int r;

    assert(w->at < w->resources->n);
    r = cor_quota_facts_find(kind, item, w->now_ms, &facts);
    if (r == 0 && cor_quota_matches_scopes(&facts, spec))
        for (size_t i = 0; i < w->nlines && r == 0; i++)
            r = cor_quota_add(&w->lines[i].rule, &facts, &w->lines[i].listed);
    cor_quota_facts_deinit(&facts);
    return r;
}

static void sync_on_page(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_quota_task *w = task_of(req);
    const struct cor_status *error = answer->error;
    int r = error ? error->err : 0;

    if (r == 0 && answer->continue_token.n > 0) {
        cor_buf_reset(&w->page);
        r = cor_buf_adds(&w->page, answer->continue_token);
        if (r == 0) {
            sync_list(w);
            return;
        }
    }
    for (size_t i = 0; i < w->nlines; i++) {
        struct cor_quota_line *line = &w->lines[i];

        if (line->rule.counter == COR_QUOTA_NOTHING)
            continue;
        if (r == 0)
            r = cor_quota_plus(&line->used, &line->listed);
        line->is_known = true;
        line->is_failed = line->is_failed || r < 0;
    }
    if (r < 0 && w->failure.err == 0 && (!error || cor_status_copy(&w->failure, error) < 0))
        (void)cor_status_set_err(&w->failure, r);
    w->at++;
    sync_next(w);
}

/* ---- the beginning ---- */

static void sync_on_resources(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_quota_task *w = task_of(req);

    if (answer->error) {
        cor_task_end(&w->task, answer->error->err, answer->error);
        return;
    }
    w->resources = cor_api_resources_ref(answer->resources);
    sync_next(w);
}

static int compare_lines(const void *a, const void *b)
{
    return cor_str_cmp(((const struct cor_quota_line *)a)->name,
                       ((const struct cor_quota_line *)b)->name);
}

/* Notes what the status has of each line. Lines and status are in the order of their names. */
static void sync_note_old(struct cor_quota_task *w)
{
    struct cor_view_iter used = cor_view_iter(cor_quota_part(w->quota, "status", "used"));
    bool has = cor_view_next(&used);

    for (size_t i = 0; i < w->nlines; i++) {
        struct cor_quota_line *line = &w->lines[i];

        while (has && cor_str_cmp(used.key, line->name) < 0)
            has = cor_view_next(&used);
        if (has && cor_str_eq(used.key, line->name))
            line->old = cor_quota_text(used.value);
    }
}

static int sync_make_lines(struct cor_quota_task *w)
{
    struct cor_view hard = cor_quota_part(w->quota, "spec", "hard");
    struct cor_view_iter it = cor_view_iter(hard);
    size_t n = cor_view_len(hard);

    if (n == 0)
        return 0;
    w->lines = cor_calloc(n, sizeof(*w->lines));
    if (!w->lines)
        return -COR_ENOMEM;
    while (cor_view_next(&it))
        w->lines[w->nlines++] =
            (struct cor_quota_line){.name = it.key, .hard = it.value, .used = {"0"}};
    qsort(w->lines, w->nlines, sizeof(*w->lines), compare_lines);
    sync_note_old(w);
    return 0;
}

void cor_quota_sync(struct cor_quota_task *w)
{
    static const struct cor_api_request_cbs cbs = {.on_done = sync_on_resources};
    struct cor_quota_controller *c = cor_quota_of(&w->task);
    const struct cor_quota_entry *entry =
        cor_quota_table_find(&c->quotas, w->task.rec->ns, w->task.rec->name);
    int r;

    assert(w->task.rec->ns.n > 0 && !w->quota);
    if (!entry) {
        cor_task_end(&w->task, 0, NULL);
        return;
    }
    w->quota = cor_object_ref(entry->quota);
    w->now_ms = cor_task_now_ms(&w->task);
    cor_buf_init(&w->page, TOKEN_MAX);
    r = sync_make_lines(w);
    if (r < 0) {
        cor_task_end(&w->task, r, NULL);
    } else if (c->resources) {
        w->resources = cor_api_resources_ref(c->resources);
        sync_next(w);
    } else {
        w->task.req = (struct cor_api_request){.cbs = &cbs};
        cor_api_resources(cor_task_port(&w->task), &w->task.req);
    }
}
