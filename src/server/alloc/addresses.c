/* Creating and deleting IPAddress objects (addresses.h).
 *
 * The object is written in its stored form at once, without the stages of a write: all that is in
 * it is the server's own. A release judges the object in the step of the deletion: an address that
 * a repair has freed meanwhile may belong to another Service, or to another Service of the same
 * name, which only the uid of the IPAddress shows.
 * Failures: the store's, in on_done; no memory, returned.
 * Thread: the loop of the operation. */
#include "server/alloc/addresses.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/uuid.h"
#include "meta/names/key.h"
#include "meta/object/object_edit.h"
#include "server/alloc/object_head.h"
#include "storage/store/store.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define OBJECT_MAX    4096
#define FAMILY_LABEL  "ipaddress.kubernetes.io/ip-family"
#define MANAGER_LABEL "ipaddress.kubernetes.io/managed-by"
#define MANAGER       "ipallocator.k8s.io"

static int address_write(struct cor_address_op *op, const struct cor_resource_row *row,
                         struct cor_buf *out)
{
    const struct cor_resource_row *parent = cor_api_of_role(COR_ROLE_SERVICES);
    const struct cor_str labels[][2] = {
        {COR_STR(FAMILY_LABEL), cor_addr_family_name(cor_addr_family(op->id.ip))},
        {COR_STR(MANAGER_LABEL), COR_STR(MANAGER)}};
    char ip[COR_IP_TEXT_MAX];
    const struct cor_object_head head = {.row = row,
                                         .name = cor_addr_print(op->id.ip, ip),
                                         .uid = cor_uuid_print(&op->loop->rand, op->id.uid),
                                         .labels = labels,
                                         .nlabels = COR_ARRAY_LEN(labels)};
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_object_head_write(&head, op->loop, &w);
    cor_json_key(&w, COR_STR("spec"));
    cor_json_begin_object(&w);
    cor_json_key(&w, COR_STR("parentRef"));
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("name"), op->name);
    cor_json_member(&w, COR_STR("namespace"), op->ns);
    cor_json_member(&w, COR_STR("resource"), parent->plural);
    cor_json_end_object(&w);
    cor_json_end_object(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

static int address_key(const struct cor_address_op *op, struct cor_backing *backing,
                       struct cor_buf *out, struct cor_status *st)
{
    char ip[COR_IP_TEXT_MAX];

    return cor_key_of_object(cor_buf_str(&backing->prefix), false, COR_STR(""),
                             cor_addr_print(op->id.ip, ip), out, st);
}

static void address_on_reserved(void *arg, const struct cor_store_reply *reply)
{
    struct cor_address_op *op = arg;

    op->on_done(op, reply->err, reply->status);
}

int cor_address_reserve(struct cor_address_op *op, struct cor_status *reterr_status)
{
    const struct cor_resource_row *row = cor_api_of_role(COR_ROLE_ADDRESSES);
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0}, key = {0};
    struct cor_backing *backing;
    int r = cor_api_backing(op->loop, row, &backing, reterr_status);

    assert(op->on_done && cor_loop_is_current(op->loop->loop));
    if (r < 0)
        return r;
    cor_buf_init(&json, OBJECT_MAX);
    cor_buf_init(&key, COR_KEY_BYTES_MAX);
    r = address_write(op, row, &json);
    if (r == 0)
        r = cor_object_from_sorted(cor_buf_str(&json), &object);
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    r = address_key(op, backing, &key, reterr_status);
    return r < 0 ? r
                 : cor_store_create(backing->store, cor_buf_str(&key), object, 0,
                                    address_on_reserved, op, reterr_status);
}

static struct cor_str text_of(struct cor_str object, const char *key)
{
    struct cor_str value, raw;

    if (cor_json_get(object, cor_strz(key), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_to_raw(value, &raw) < 0)
        return COR_STR("");
    return raw;
}

struct cor_address_facts cor_address_facts(const struct cor_object *object)
{
    const struct cor_resource_row *parent = cor_api_of_role(COR_ROLE_SERVICES);
    struct cor_str labels = cor_object_meta_member(object, COR_STR("labels"));
    struct cor_str spec = cor_object_member(object, COR_STR("spec")), ref = COR_STR("{}");
    struct cor_address_facts facts = {.ns = COR_STR(""), .name = COR_STR("")};

    facts.is_address = cor_addr_parse(cor_object_name(object), &facts.ip) == 0;
    if (labels.p) {
        facts.is_managed = cor_str_eqz(text_of(labels, MANAGER_LABEL), MANAGER);
        facts.has_labels = facts.is_managed && facts.is_address &&
                           cor_str_eq(text_of(labels, FAMILY_LABEL),
                                      cor_addr_family_name(cor_addr_family(facts.ip)));
    }
    if (spec.p)
        (void)cor_json_get(spec, COR_STR("parentRef"), COR_JSON_ANY_ORDER, &ref);
    facts.is_service =
        text_of(ref, "group").n == 0 && cor_str_eq(text_of(ref, "resource"), parent->plural);
    facts.ns = text_of(ref, "namespace");
    facts.name = text_of(ref, "name");
    return facts;
}

static void address_release_step(void *arg, struct cor_store_change *change,
                                 struct cor_object *current)
{
    const struct cor_address_op *op = arg;
    const struct cor_address_facts facts = cor_address_facts(current);

    bool is_same;

    if (op->rev > 0)
        is_same = current->rev == op->rev;
    else
        is_same = facts.is_service && cor_str_eq(facts.ns, op->ns) &&
                  cor_str_eq(facts.name, op->name) &&
                  (!op->id.uid[0] || cor_str_eqz(cor_object_uid(current), op->id.uid));
    if (is_same)
        cor_store_change_accept(change);
    else
        cor_store_change_stop(change);
}

static void address_on_released(void *arg, const struct cor_store_reply *reply)
{
    struct cor_address_op *op = arg;
    bool is_done = reply->was_stopped || reply->err == -COR_ENOTFOUND;

    op->on_done(op, is_done ? 0 : reply->err, is_done ? NULL : reply->status);
}

int cor_address_release(struct cor_address_op *op, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *suggestion = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key = {0};
    struct cor_store_delete_opts opts = {
        .step = address_release_step, .on_done = address_on_released, .arg = op};
    struct cor_backing *backing;
    int r = cor_api_backing(op->loop, cor_api_of_role(COR_ROLE_ADDRESSES), &backing, reterr_status);

    assert(op->on_done && cor_loop_is_current(op->loop->loop));
    if (r < 0)
        return r;
    cor_buf_init(&key, COR_KEY_BYTES_MAX);
    r = address_key(op, backing, &key, reterr_status);
    if (r < 0)
        return r;
    suggestion = cor_reader_suggest(backing->reader, cor_buf_str(&key));
    opts.suggestion = suggestion;
    return cor_store_delete(backing->store, cor_buf_str(&key), &opts, reterr_status);
}
