/* clang-format off */
/* The stage "managed fields": who owns which field of the object that is written
 * (schema/apply/field_managers.h). Its result is `managed`, the next metadata.managedFields, which the
 * stage "times" puts into the object.
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
 * The stage "times" puts `managed` into the object. An update that changes nothing but the times of
 * managedFields keeps the old times, so that the store has nothing to write.
 *
 * Failures: no memory; COR_WORK_YIELD, when the sets are too much for a loop. Everything else that
 * goes wrong here (a list has an item without its keys, an object is too large for its sets, there
 * are too many sets for the budget of a request) is not the client's mistake: the object is stored
 * without managedFields, as upstream's.
 * Thread: the thread that has the call; cor_write_note_manager() the call's loop. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "meta/object/object_edit.h"
#include "meta/status/quote.h"
#include "schema/walk/default.h"
#include "server/strategy/scale_write.h"
#include "server/strategy/strategy_run.h"
#include "server/write/managed_versions.h"
#include "server/write/stages.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define MANAGER_MAX 128 /* bytes of a manager's name */

/* ---- who writes ---- */

/* Appends the name that a user agent gives to its manager: the printable characters before the
 * first slash, at most MANAGER_MAX bytes of them. A byte that is no text counts for U+FFFD, which
 * prints. */
static int add_agent_name(struct cor_str agent, struct cor_buf *out)
{
    ptrdiff_t slash = cor_str_find(agent, '/');
    struct cor_str rest = slash < 0 ? agent : cor_str(agent.p, (size_t)slash);
    int r = 0;

    while (r == 0 && rest.n > 0) {
        uint32_t code;
        size_t n = cor_utf8_first(rest, &code);

        struct cor_str shown =
            code == COR_UTF8_INVALID ? COR_STR("\xef\xbf\xbd") : cor_str(rest.p, n);

        if (code == COR_UTF8_INVALID || cor_quote_prints(code)) {
            if (out->n + shown.n > MANAGER_MAX)
                break;
            r = cor_buf_adds(out, shown);
        }
        rest = cor_str_from(rest, n);
    }
    return r;
}

int cor_write_note_manager(struct cor_write *write)
{
    struct cor_call *call = &write->call;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf name = {.max = 4 * MANAGER_MAX};
    int r = 0;

    assert(call->req);
    cor_buf_reset(&write->manager);
    r = call->opts.field_manager.n > 0 ? cor_buf_adds(&name, call->opts.field_manager)
                                       : add_agent_name(call->req->user_agent, &name);
    if (r == 0)
        r = cor_json_quote(&write->manager, cor_buf_str(&name));
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}

/* ---- the stage ---- */

/* The list that the client sent, also when it is empty, which the normal form does not have. */
static struct cor_str sent_list(const struct cor_write *write)
{
    struct cor_str list = cor_object_meta_member(write->body, COR_STR("managedFields"));

    if (!list.p && write->sent)
        list = cor_object_meta_member(write->sent, COR_STR("managedFields"));
    return list;
}

/* The entries to begin with; `live` is the list of the present object. Entries that upstream could
 * not decode count for none. 0 or an error of memory. */
static int read_entries(struct cor_managed *m, struct cor_str live, struct cor_field_managers *ret)
{
    const struct cor_write *write = m->write;
    struct cor_str list = write->call.sub ? cor_str(NULL, 0) : sent_list(write);
    int r = -COR_EINVAL;

    *ret = (struct cor_field_managers){0};
    if (list.p && cor_field_managers_is_reset(list))
        return 0;
    if (list.p)
        r = cor_managed_read(m, list, ret, NULL);
    if (r == -COR_EINVAL && live.p)
        r = cor_managed_read(m, live, ret, NULL);
    if (r == -COR_EINVAL)
        *ret = (struct cor_field_managers){0};
    return r == -COR_EINVAL ? 0 : r;
}

/* May the body have repeated owner references that are dropped before ownership is judged? Upstream
 * does so for a POST and a PUT; those of a PATCH are dropped afterwards. Most objects have one
 * owner at most. */
static bool may_repeat_owners(const struct cor_write *write)
{
    struct cor_str owners = cor_object_meta_member(write->body, COR_STR("ownerReferences"));
    struct cor_json_iter it;

    if (write->apply || !owners.p)
        return false;
    it = cor_json_iter(owners);
    if (!cor_json_iter_elem(&it))
        return false;
    (void)cor_json_iter_value(&it);
    return cor_json_iter_elem(&it);
}

/* Sets *ret_object to the body without repeated owner references, if it has any. */
static int drop_repeated_owners(struct cor_write *write, struct cor_object **ret_object)
{
    struct cor_str owners = cor_object_meta_member(write->body, COR_STR("ownerReferences"));
    COR_CLEANUP(cor_buf_deinit) struct cor_buf kept = {.max = COR_WRITE_JSON_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf uids = {.max = COR_WRITE_JSON_MAX};
    struct cor_object_edit edit = {.kind = write->call.stored->kind,
                                   .api_version = write->call.stored->api_version,
                                   .top = cor_object_json(write->body),
                                   .metadata = cor_object_metadata(write->body)};
    int r = cor_strategy_unique_owners(owners, &kept, &uids);

    if (r <= 0)
        return r;
    cor_edits_set(&edit.meta_edits, COR_STR("ownerReferences"), cor_buf_str(&kept));
    return cor_object_edit(&edit, ret_object, &write->call.status);
}

/* Appends the object after the write, in the version of the request. Of a kind whose defaults are
 * filled in late (stage_default.c) it has those that copy what the client sent, because upstream
 * fills them in when it decodes the body. */
static int add_after(struct cor_write *write, struct cor_buf *out)
{
    const struct cor_type *late = cor_write_late_type(write);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = COR_WRITE_JSON_MAX};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *unique = NULL;
    int r = may_repeat_owners(write) ? drop_repeated_owners(write, &unique) : 0;

    if (r == 0)
        r = cor_managed_add_object(write, unique ? unique : write->body, out);
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
static bool is_compared_as_stored(const struct cor_write *write)
{
    return write->call.type == write->call.stored && !cor_scale_is_written(&write->call);
}

/* `is_exact`: without the resourceVersion, which the present object has and nobody owns. */
static int sides_show_before(struct sides *sides, struct cor_write *write, bool is_exact)
{
    int r = 0;

    if (!write->is_create && !is_exact && is_compared_as_stored(write)) {
        sides->before = cor_object_json(write->old);
        return 0;
    }
    cor_buf_reset(&sides->before_text);
    r = write->is_create ? cor_managed_add_zero(&write->call, &sides->before_text)
                         : cor_managed_add_object(write, write->current, &sides->before_text);
    sides->before = cor_buf_str(&sides->before_text);
    return r;
}

static int sides_show_after(struct sides *sides, struct cor_write *write)
{
    int r = 0;

    if (is_compared_as_stored(write) && !cor_write_late_type(write) && !may_repeat_owners(write) &&
        !cor_object_meta_member(write->body, COR_STR("managedFields")).p) {
        sides->after = cor_object_json(write->body);
        return 0;
    }
    /* A Scale is never converted: it is not what is stored. */
    r = cor_scale_is_written(&write->call) ? cor_managed_add_bare(write->body, &sides->after_text)
                                           : add_after(write, &sides->after_text);
    sides->after = cor_buf_str(&sides->after_text);
    return r;
}

/* Sets `managed` of an update that moves no field, if the client has sent no other entries than
 * those of the present object. 1: it is another update. */
static int managed_keep(struct cor_managed *m, const struct sides *sides, struct cor_str live)
{
    struct cor_write *write = m->write;
    struct cor_str sent = write->call.sub ? cor_str(NULL, 0) : sent_list(write);
    int r;

    if (!live.p || cor_scale_is_written(&write->call) || (sent.p && !cor_str_eq(sent, live)))
        return 1;
    r = cor_field_managers_keep(&m->request, live, sides->before, sides->after,
                                &write->managed_text);
    if (r <= 0)
        return r < 0 ? r : 1;
    write->managed = r == COR_MANAGERS_SAME ? live : cor_buf_str(&write->managed_text);
    return 0;
}

/* Sets `managed` of a new object whose client has sent no entries. 1: it is another write. */
static int managed_create(struct cor_managed *m, const struct sides *sides)
{
    struct cor_write *write = m->write;
    int r;

    if (cor_scale_is_written(&write->call) || (!write->call.sub && sent_list(write).p))
        return 1;
    r = cor_field_managers_create(&m->request, sides->before, sides->after, &write->managed_text);
    if (r == COR_MANAGERS_MADE)
        write->managed = cor_buf_str(&write->managed_text);
    return r < 0 ? r : r == 0;
}

static int managed_run(struct cor_managed *m, struct cor_str live)
{
    struct cor_write *write = m->write;
    COR_CLEANUP(sides_deinit)
    struct sides sides = {.before_text = {.max = COR_WRITE_JSON_MAX},
                          .after_text = {.max = COR_WRITE_JSON_MAX}};
    struct cor_field_managers managers;
    int r = sides_show_before(&sides, write, false);

    if (r == 0)
        r = sides_show_after(&sides, write);
    if (r == 0)
        r = write->is_create ? managed_create(m, &sides) : managed_keep(m, &sides, live);
    if (r <= 0)
        return r;
    r = sides_show_before(&sides, write, true);
    if (r == 0)
        r = read_entries(m, live, &managers);
    if (r < 0)
        return r;
    /* An object whose managers are not known stays so until somebody applies to it, and so does a
     * scale whose replicas nobody owns. */
    if (write->is_create || managers.n > 0)
        r = cor_field_managers_update(&managers, &m->request, sides.before, sides.after);
    return r < 0 ? r : cor_managed_write(m, &managers);
}

/* Sets `old`. */
static int note_old(struct cor_write *write, struct cor_str live)
{
    int r = 0;

    write->old = cor_object_unref(write->old);
    if (live.p)
        r = cor_object_without_managed(write->current, live, &write->old);
    else if (!write->is_create)
        write->old = cor_object_ref(write->current);
    return r < 0 ? cor_status_set_err(&write->call.status, r) : 0;
}

int cor_write_managed_fields(struct cor_write *write)
{
    struct cor_str live = write->is_create
                              ? cor_str(NULL, 0)
                              : cor_object_meta_member(write->current, COR_STR("managedFields"));
    uint64_t steps = write->work.steps;
    struct cor_managed m;
    int r;

    assert(write->body && (write->is_create || write->current));
    r = note_old(write, live);
    if (r < 0)
        return r;
    /* An apply has judged ownership when it merged its configuration. */
    if (write->is_applied)
        return 0;
    write->managed = cor_str(NULL, 0);
    cor_buf_reset(&write->managed_text);
    r = cor_managed_init(&m, write);
    if (r == 0)
        r = managed_run(&m, live);
    cor_managed_deinit(&m);
    if (r == COR_WORK_YIELD)
        return r;
    if (r == -COR_ENOMEM)
        return cor_status_set_err(&write->call.status, r);
    if (r < 0) {
        /* What was done in vain leaves the other stages their budget. */
        write->work.steps = steps;
        cor_status_deinit(&write->call.status);
        cor_status_init(&write->call.status);
        write->managed = cor_str(NULL, 0);
    }
    return 0;
}

/* ---- the stage "times" ---- */

/* The member `time` of an entry with one of its commas; empty: the entry has none. It is the last
 * member of a canonical entry. */
static struct cor_str time_of(struct cor_str entry)
{
    struct cor_str value;
    const char *begin;

    if (cor_json_get(entry, COR_STR("time"), COR_JSON_SORTED, &value) < 0)
        return cor_str(entry.p + entry.n, 0);
    begin = value.p - sizeof(",\"time\":") + 1;
    return cor_str(begin, (size_t)(value.p + value.n - begin));
}

/* Are both entries equal but for their times? */
static bool is_same_entry(struct cor_str a, struct cor_str b)
{
    struct cor_str a_time = time_of(a), b_time = time_of(b);

    return cor_str_eq(cor_str(a.p, (size_t)(a_time.p - a.p)),
                      cor_str(b.p, (size_t)(b_time.p - b.p)));
}

/* Have both lists the same entries in the same order, but for their times? */
static bool is_same_list(struct cor_str a, struct cor_str b)
{
    struct cor_json_iter a_it = cor_json_iter(a), b_it = cor_json_iter(b);

    for (;;) {
        bool has_a = cor_json_iter_elem(&a_it), has_b = cor_json_iter_elem(&b_it);

        if (!has_a || !has_b)
            return has_a == has_b;
        if (!is_same_entry(cor_json_iter_value(&a_it), cor_json_iter_value(&b_it)))
            return false;
    }
}

bool cor_write_has_managed(const struct cor_write *write)
{
    return write->managed.p != NULL;
}

/* Sorts the fields in the entries of a custom resource, for which upstream has no type that keeps
 * their order: so they are read from the store. Sets *list to the text in `room`. */
static int sort_fields(struct cor_write *write, struct cor_buf *room, struct cor_str *list)
{
    static const struct cor_json_limits limits = {COR_WRITE_JSON_MAX, COR_JSON_DEPTH_MAX, true};
    int r = cor_json_canonicalize(*list, &limits, room, NULL, NULL);

    *list = cor_buf_str(room);
    return r < 0 ? cor_status_set_err(&write->call.status, r) : 0;
}

int cor_write_times(struct cor_write *write)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf sorted = {.max = COR_WRITE_JSON_MAX};
    struct cor_str list = write->managed;
    struct cor_object *with;
    int r = 0;

    assert(write->object && list.p);
    if (write->call.res->custom)
        r = sort_fields(write, &sorted, &list);
    if (r < 0)
        return r;
    if (!write->is_create && !write->removes && cor_object_same_stored(write->object, write->old)) {
        struct cor_str live = cor_object_meta_member(write->current, COR_STR("managedFields"));

        if (live.p && is_same_list(live, list))
            list = live;
    }
    /* An object that is too large with managedFields is stored without them, unless its client
     * applies it. */
    if (write->object->len + sizeof("\"managedFields\":,") - 1 + list.n >
        COR_OBJECT_BYTES_MAX_DEFAULT)
        return write->is_applied ? cor_status_set_err(&write->call.status, -COR_ETOOBIG) : 0;
    r = cor_object_with_managed(write->object, list, &with);
    if (r < 0)
        return cor_status_set_err(&write->call.status, r);
    cor_object_unref(write->object);
    write->object = with;
    return 0;
}
