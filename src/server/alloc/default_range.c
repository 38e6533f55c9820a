/* clang-format off */
/* The object of the default ServiceCIDR (default_range.h).
 *
 *   create: a new key ──► it is taken: fine, as another server or an earlier start has made it ──►
 *   another failure: again after RETRY_MS
 *   widen: a guaranteed update that replaces the spec, if it still has the primary range alone
 *
 * The object is written with its condition Ready, which upstream sets right after the creation.
 * Thread: the API's first loop. */
/* clang-format on */
#include "server/alloc/default_range.h"

#include <assert.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/uuid.h"
#include "meta/names/key.h"
#include "meta/object/object_edit.h"
#include "meta/value/time_text.h"
#include "server/alloc/object_head.h"
#include "storage/store/store.h"
#include "json/text/scan.h"
#include "json/write/edits.h"
#include "json/write/print.h"

#define RETRY_MS     1000
#define DEFAULT_NAME "kubernetes"
#define OBJECT_MAX   4096
#define WIDER_MAX    (4u << 20) /* of a ServiceCIDR that others have written to */

static int default_range_write(const struct cor_default_range *range, struct cor_buf *out)
{
    const struct cor_resource_row *row = cor_api_of_role(COR_ROLE_RANGES);
    char time[COR_TIME_TEXT_MAX], cidr[COR_ADDR_RANGE_TEXT_MAX], uid[COR_UUID_TEXT_MAX];
    struct cor_str now =
        cor_time_print(cor_clock_wall_ms(range->home->settings->clock) / 1000, time);
    const struct cor_object_head head = {
        .row = row, .name = COR_STR(DEFAULT_NAME), .uid = cor_uuid_print(&range->home->rand, uid)};
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_object_head_write(&head, range->home, &w);
    cor_json_print(&w, "spec:{cidrs:[");
    for (size_t i = 0; i < range->nranges; i++)
        cor_json_string(&w, cor_addr_range_print(&range->ranges[i], cidr));
    cor_json_print(
        &w,
        "]},status:{conditions:[{lastTransitionTime:%s,message:'Kubernetes default Service CIDR is ready',"
        "reason:'',status:'True',type:'Ready'}]}}",
        now);
    return cor_json_writer_finish(&w);
}

static void default_range_on_turn(struct cor_mail *mail)
{
    struct cor_default_range *range = COR_CONTAINER_OF(mail, struct cor_default_range, turn);

    range->has_turn = false;
    if (range->is_stopping)
        range->on_idle(range->arg);
    else
        cor_default_range_create(range);
}

/* Without memory for the timer the next turn of the loop tries again. */
static void default_range_retry(struct cor_default_range *range)
{
    if (cor_timer_set(&range->retry, RETRY_MS) == 0 || range->has_turn)
        return;
    range->has_turn = true;
    range->turn.on_mail = default_range_on_turn;
    cor_dlist_init(&range->turn.link);
    cor_loop_post_always(range->home->loop, &range->turn);
}

static void default_range_on_created(void *arg, const struct cor_store_reply *reply)
{
    struct cor_default_range *range = arg;

    range->is_creating = false;
    if (range->is_stopping) {
        range->on_idle(range->arg);
    } else if (reply->err < 0 && reply->err != -COR_EEXIST) {
        COR_LOG_WARN("the default ServiceCIDR could not be created", COR_F_ERR(reply->err));
        default_range_retry(range);
    }
}

void cor_default_range_create(struct cor_default_range *range)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0}, key = {0};
    struct cor_backing *backing;
    int r = cor_api_backing(range->home, cor_api_of_role(COR_ROLE_RANGES), &backing, &why);

    if (range->is_creating || range->is_stopping)
        return;
    cor_buf_init(&json, OBJECT_MAX);
    cor_buf_init(&key, COR_KEY_BYTES_MAX);
    if (r == 0)
        r = default_range_write(range, &json);
    if (r == 0)
        r = cor_object_from_sorted(cor_buf_str(&json), &object);
    if (r == 0)
        r = cor_key_of_object(cor_buf_str(&backing->prefix), false, COR_STR(""),
                              COR_STR(DEFAULT_NAME), &key, &why);
    range->is_creating = true;
    if (r == 0)
        r = cor_store_create(backing->store, cor_buf_str(&key), object, 0, default_range_on_created,
                             range, &why);
    if (r < 0) {
        const struct cor_store_reply reply = {.err = r};

        default_range_on_created(range, &reply);
    }
}

size_t cor_service_cidr_ranges(const struct cor_object *object, struct cor_addr_range ranges[2])
{
    struct cor_str spec = cor_object_member(object, COR_STR("spec")), cidrs, raw;
    struct cor_json_iter it;
    size_t n = 0;

    if (!spec.p || cor_json_get(spec, COR_STR("cidrs"), COR_JSON_ANY_ORDER, &cidrs) < 0)
        return 0;
    it = cor_json_iter(cidrs);
    while (n < 2 && cor_json_iter_elem(&it))
        n += cor_json_to_raw(cor_json_iter_value(&it), &raw) == 0 &&
             cor_addr_range_parse(raw, &ranges[n]) == 0;
    return n;
}

static int default_range_write_wider(const struct cor_default_range *range,
                                     const struct cor_object *current,
                                     struct cor_object **ret_object)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *stored = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf spec = {0}, json = {0};
    const struct cor_resource_row *row = cor_api_of_role(COR_ROLE_RANGES);
    struct cor_edits top = {.n = 0};
    char cidr[COR_ADDR_RANGE_TEXT_MAX];
    struct cor_json_writer w;
    int r = cor_object_at(current, 0, &stored);

    if (r < 0)
        return r;
    cor_buf_init(&spec, OBJECT_MAX);
    cor_buf_init(&json, WIDER_MAX);
    cor_json_writer_init(&w, &spec);
    cor_json_print(&w, "{cidrs:[");
    for (size_t i = 0; i < range->nranges; i++)
        cor_json_string(&w, cor_addr_range_print(&range->ranges[i], cidr));
    cor_json_end_array(&w);
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    if (r < 0)
        return r;
    cor_edits_set(&top, COR_STR("spec"), cor_buf_str(&spec));
    cor_json_writer_init(&w, &json);
    cor_json_print(&w, "{kind:%s,apiVersion:%s", row->kind, row->api_version);
    cor_edits_write(&top, cor_object_json(stored), true, &w);
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    return r < 0 ? r : cor_object_from_sorted(cor_buf_str(&json), ret_object);
}

/* Returns whether it has exactly the primary range, while the flags name a second one. */
static bool default_range_is_narrow(const struct cor_default_range *range,
                                    const struct cor_object *object)
{
    struct cor_addr_range ranges[2];

    return range->nranges == 2 && cor_service_cidr_ranges(object, ranges) == 1 &&
           cor_addr_eq(ranges[0].net, range->ranges[0].net) &&
           ranges[0].prefix == range->ranges[0].prefix;
}

static void default_range_step(void *arg, struct cor_store_change *change,
                               struct cor_object *current)
{
    struct cor_default_range *range = arg;
    struct cor_object *wider = NULL;

    if (default_range_is_narrow(range, current) &&
        default_range_write_wider(range, current, &wider) == 0)
        cor_store_change_write(change, wider, 0);
    else
        cor_store_change_stop(change);
}

static void default_range_on_widened(void *arg, const struct cor_store_reply *reply)
{
    struct cor_default_range *range = arg;

    range->is_widening = false;
    if (reply->err < 0 && !reply->was_stopped)
        COR_LOG_WARN("the default ServiceCIDR could not get its second range",
                     COR_F_ERR(reply->err));
    if (range->is_stopping)
        range->on_idle(range->arg);
}

/* A cluster that was started with one family and has two now: the second range is added, as
 * upstream does. Without memory or store the next start of a server tries again. */
static void default_range_widen(struct cor_default_range *range)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key = {0};
    const struct cor_store_update_opts opts = {
        .step = default_range_step, .on_done = default_range_on_widened, .arg = range};
    struct cor_backing *backing;

    cor_buf_init(&key, COR_KEY_BYTES_MAX);
    range->is_widening =
        cor_api_backing(range->home, cor_api_of_role(COR_ROLE_RANGES), &backing, &why) == 0 &&
        cor_key_of_object(cor_buf_str(&backing->prefix), false, COR_STR(""), COR_STR(DEFAULT_NAME),
                          &key, &why) == 0 &&
        cor_store_update(backing->store, cor_buf_str(&key), &opts, &why) == 0;
}

bool cor_default_range_note(struct cor_default_range *range, const struct cor_object *object,
                            bool is_gone)
{
    if (!cor_str_eqz(cor_object_name(object), DEFAULT_NAME))
        return false;
    if (is_gone)
        cor_default_range_create(range);
    else if (default_range_is_narrow(range, object) && !range->is_widening && !range->is_stopping)
        default_range_widen(range);
    return true;
}

static void default_range_on_retry(struct cor_timer *timer)
{
    cor_default_range_create(COR_CONTAINER_OF(timer, struct cor_default_range, retry));
}

void cor_default_range_init(struct cor_default_range *range, struct cor_api_loop *home,
                            void (*on_idle)(void *arg), void *arg)
{
    assert(range->nranges > 0 && home && on_idle);
    range->home = home;
    range->on_idle = on_idle;
    range->arg = arg;
    cor_timer_init(&range->retry, home->loop, default_range_on_retry);
}

void cor_default_range_stop(struct cor_default_range *range)
{
    range->is_stopping = true;
    cor_timer_cancel(&range->retry);
}
