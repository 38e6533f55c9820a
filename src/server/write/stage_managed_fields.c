/* clang-format off */
/* The stage MANAGE_FIELDS: who owns which field of the object that is written
 * (schema/apply/field_managers.h). Its result is `managed`, the next metadata.managedFields, which the
 * stage PUT_MANAGED_FIELDS puts into the object.
 *
 *   the objects before and after, in the version of the request ──►
 *     a new object without entries            ──► cor_field_managers_create() ──► `managed`
 *     an update that moves no field           ──► cor_field_managers_keep()   ──► `managed`
 *     nobody is tracked                       ──► none
 *     all others: the entries to begin with   ──► cor_field_managers_update() ──► `managed`
 *
 * The entries to begin with are those of the body if upstream could decode them, else those of the
 * present object; a body with [] or [{}] resets them, and a subresource has no say. The object
 * before a creation is the zero object of the kind.
 * A Scale is compared with the scale of the present object, and its managers are those of the object
 * who own the replicas (schema/apply/scale_managers.h).
 *
 * The stages between have no use for managedFields, which are often longer than all the rest of the
 * metadata: `old`, the present object, and `object` are without them.
 *
 * Failures: no memory; COR_WORK_YIELD, when the sets are too much for a loop. Everything else that
 * goes wrong here (a list has an item without its keys, an object is too large for its sets, there
 * are too many sets for the budget of a request) is not the client's mistake: the object is stored
 * without managedFields, as upstream's.
 * Thread: the thread that has the call. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "meta/object/object_edit.h"
#include "schema/walk/default.h"
#include "server/strategy/scale_write.h"
#include "server/strategy/strategy_run.h"
#include "server/write/managed_versions.h"
#include "server/write/stages.h"
#include "json/text/json.h"
#include "json/text/scan.h"

/* Lists of managedFields; a p of NULL: there is none. */
struct lists {
    struct cor_str live; /* of the present object */
    struct cor_str body;
    struct cor_str sent; /* of the body, also when it is empty, which the normal form does not have;
                          * a subresource has no say */
};

static struct lists lists_of(const struct cor_managing *write, struct cor_str live)
{
    const struct cor_write_received *received = write->received;
    struct cor_str body = cor_object_meta_member(received->body, COR_STR("managedFields"));
    struct lists lists = {.live = live, .body = body};

    if (write->call->sub)
        return lists;
    lists.sent = body.p || !received->sent
                     ? body
                     : cor_object_meta_member(received->sent, COR_STR("managedFields"));
    return lists;
}

/* The entries to begin with. Entries that upstream could not decode count for none. 0 or an error
 * of memory. */
static int read_entries(struct cor_managed *m, const struct lists *lists,
                        struct cor_field_managers *ret)
{
    int r = -COR_EINVAL;

    *ret = (struct cor_field_managers){0};
    if (lists->sent.p && cor_field_managers_is_reset(lists->sent))
        return 0;
    if (lists->sent.p)
        r = cor_managed_read(m, lists->sent, ret, NULL);
    if (r == -COR_EINVAL && lists->live.p)
        r = cor_managed_read(m, lists->live, ret, NULL);
    if (r == -COR_EINVAL)
        *ret = (struct cor_field_managers){0};
    return r == -COR_EINVAL ? 0 : r;
}

/* May the body have repeated owner references that are dropped before ownership is judged? Upstream
 * does so for a POST and a PUT; those of a PATCH are dropped afterwards. Most objects have one
 * owner at most. */
static bool may_repeat_owners(const struct cor_managing *write)
{
    struct cor_json_iter it = cor_json_iter(cor_object_owners(write->received->body));

    if (write->asked->apply)
        return false;
    if (!cor_json_iter_elem(&it))
        return false;
    (void)cor_json_iter_value(&it);
    return cor_json_iter_elem(&it);
}

/* Sets *ret_object to the body without repeated owner references, if it has any. */
static int drop_repeated_owners(const struct cor_managing *write, struct cor_object **ret_object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf kept = {.max = COR_WRITE_JSON_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf uids = {.max = COR_WRITE_JSON_MAX};
    struct cor_object_edit edit = {.kind = write->call->stored->kind,
                                   .api_version = write->call->stored->api_version,
                                   .top = cor_object_json(write->received->body),
                                   .metadata = cor_object_metadata(write->received->body)};
    int r = cor_strategy_unique_owners(cor_object_owners(write->received->body), &kept, &uids);

    if (r <= 0)
        return r;
    cor_edits_set(&edit.meta_edits, COR_STR("ownerReferences"), cor_buf_str(&kept));
    return cor_object_edit(&edit, ret_object, &write->call->status);
}

/* Appends the object after the write, in the version of the request. Of a kind whose defaults are
 * filled in late (stage_default_late.c) it has those that copy what the client sent, because
 * upstream fills them in when it decodes the body. */
static int add_after(const struct cor_managing *write, struct cor_buf *out)
{
    const struct cor_type *late = cor_write_late_type(write->call);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = COR_WRITE_JSON_MAX};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *unique = NULL;
    int r = may_repeat_owners(write) ? drop_repeated_owners(write, &unique) : 0;

    if (r == 0)
        r = cor_managed_add_object(write->call, unique ? unique : write->received->body, out);
    if (r < 0 || !late)
        return r;
    r = cor_default_late(late, cor_buf_str(out), &json);
    if (r <= 0)
        return r;
    cor_buf_reset(out);
    return cor_buf_adds(out, cor_buf_str(&json));
}

/* The objects before and after, in the version of the request. They are the write's own where those
 * can be compared as they are. */
struct sides {
    struct cor_str before, after;
    struct cor_buf before_text, after_text;
};

static void sides_deinit(struct sides *sides)
{
    cor_buf_deinit(&sides->before_text);
    cor_buf_deinit(&sides->after_text);
}

/* Can the objects of the write be compared as they are stored? */
static bool is_compared_as_stored(const struct cor_managing *write)
{
    return write->call->type == write->call->stored && !cor_scale_is_written(write->call);
}

/* `is_exact`: without the resourceVersion, which the present object has and nobody owns. */
static int sides_show_before(struct sides *sides, const struct cor_managing *write, bool is_exact)
{
    int r = 0;

    if (!write->present->is_create && !is_exact && is_compared_as_stored(write)) {
        sides->before = cor_object_json(write->managed->old);
        return 0;
    }
    cor_buf_reset(&sides->before_text);
    r = write->present->is_create
            ? cor_managed_add_zero(write->call, &sides->before_text)
            : cor_managed_add_object(write->call, write->present->current, &sides->before_text);
    sides->before = cor_buf_str(&sides->before_text);
    return r;
}

static int sides_show_after(struct sides *sides, const struct cor_managing *write,
                            const struct lists *lists)
{
    int r = 0;

    if (is_compared_as_stored(write) && !cor_write_late_type(write->call) &&
        !may_repeat_owners(write) && !lists->body.p) {
        sides->after = cor_object_json(write->received->body);
        return 0;
    }
    /* A Scale is never converted: it is not what is stored. */
    r = cor_scale_is_written(write->call)
            ? cor_managed_add_bare(write->received->body, &sides->after_text)
            : add_after(write, &sides->after_text);
    sides->after = cor_buf_str(&sides->after_text);
    return r;
}

/* Sets `managed` of an update that moves no field, if the client has sent no other entries than
 * those of the present object. 1: it is another update. */
static int managed_keep(struct cor_managed *m, const struct sides *sides, const struct lists *lists)
{
    const struct cor_managing *write = m->write;
    struct cor_str live = lists->live, sent = lists->sent;
    int r;

    if (!live.p || cor_scale_is_written(write->call) || (sent.p && !cor_str_eq(sent, live)))
        return 1;
    r = cor_field_managers_keep(&m->request, live, sides->before, sides->after,
                                &write->managed->text);
    if (r <= 0)
        return r < 0 ? r : 1;
    write->managed->next = r == COR_MANAGERS_SAME ? live : cor_buf_str(&write->managed->text);
    return 0;
}

/* Sets `managed` of a new object whose client has sent no entries. 1: it is another write. */
static int managed_create(struct cor_managed *m, const struct sides *sides,
                          const struct lists *lists)
{
    const struct cor_managing *write = m->write;
    int r;

    if (cor_scale_is_written(write->call) || lists->sent.p)
        return 1;
    r = cor_field_managers_create(&m->request, sides->before, sides->after, &write->managed->text);
    if (r == COR_MANAGERS_MADE)
        write->managed->next = cor_buf_str(&write->managed->text);
    return r < 0 ? r : r == 0;
}

static int managed_run(struct cor_managed *m, struct cor_str live)
{
    const struct cor_managing *write = m->write;
    const struct lists lists = lists_of(write, live);
    COR_CLEANUP(sides_deinit)
    struct sides sides = {.before_text = {.max = COR_WRITE_JSON_MAX},
                          .after_text = {.max = COR_WRITE_JSON_MAX}};
    struct cor_field_managers managers;
    int r = sides_show_before(&sides, write, false);

    if (r == 0)
        r = sides_show_after(&sides, write, &lists);
    if (r == 0)
        r = write->present->is_create ? managed_create(m, &sides, &lists)
                                      : managed_keep(m, &sides, &lists);
    if (r <= 0)
        return r;
    r = sides_show_before(&sides, write, true);
    if (r == 0)
        r = read_entries(m, &lists, &managers);
    if (r < 0)
        return r;
    /* An object without known managers stays that way until an apply, and so does a scale whose
     * replicas nobody owns. */
    if (write->present->is_create || managers.n > 0)
        r = cor_field_managers_update(&managers, &m->request, sides.before, sides.after);
    return r < 0 ? r : cor_managed_write(m, &managers);
}

/* Sets `old`. */
static int note_old(const struct cor_managing *write, struct cor_str live)
{
    int r = 0;

    write->managed->old = cor_object_unref(write->managed->old);
    if (live.p)
        r = cor_object_without_managed(write->present->current, live, &write->managed->old);
    else if (!write->present->is_create)
        write->managed->old = cor_object_ref(write->present->current);
    return r < 0 ? cor_status_set_err(&write->call->status, r) : 0;
}

int cor_stage_manage_fields(const struct cor_managing *write)
{
    struct cor_str live =
        write->present->is_create
            ? cor_str(NULL, 0)
            : cor_object_meta_member(write->present->current, COR_STR("managedFields"));
    uint64_t steps = write->work->steps;
    struct cor_managed m;
    int r;

    assert(write->received->body && (write->present->is_create || write->present->current));
    r = note_old(write, live);
    if (r < 0)
        return r;
    /* An apply has judged ownership when it merged its configuration. */
    if (write->asked->is_applied)
        return 0;
    write->managed->next = cor_str(NULL, 0);
    cor_buf_reset(&write->managed->text);
    r = cor_managed_init(&m, write);
    if (r == 0)
        r = managed_run(&m, live);
    cor_managed_deinit(&m);
    if (r == COR_WORK_YIELD)
        return r;
    if (r == -COR_ENOMEM)
        return cor_status_set_err(&write->call->status, r);
    if (r < 0) {
        /* What was done in vain leaves the other stages their budget. */
        write->work->steps = steps;
        cor_status_deinit(&write->call->status);
        cor_status_init(&write->call->status);
        write->managed->next = cor_str(NULL, 0);
    }
    return 0;
}
