/* clang-format off */
/* The bytes of a body, or of what a patch made, as a canonical object, and the words of its
 * refusals where they depend on the kind that the bytes say they are of. What the stages DECODE of
 * built-in kinds and of custom resources share.
 *
 *   the decoder of the content type (write_body.h) ──► size of ConfigMaps and Secrets ──► parsed ──►
 *   not JSON, or no object: which of upstream's decoders would have stopped, and with which words
 *
 * Failures: 400 for a body, 422 for what a patch made; 415; no memory.
 * Thread: the thread that has the call. */
/* clang-format on */
#include "server/write/body_parse.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "schema/kinds/decode.h"
#include "schema/walk/read.h"
#include "schema/walk/restore.h"
#include "server/strategy/data_size.h"
#include "server/write/write_body.h"
#include "json/text/scan.h"

#define WHY_MAX (64u * 1024)

/* The type that upstream's decoder would choose; NULL: there is no such kind. */
const struct cor_type *cor_body_type(const struct cor_call *call, const struct cor_body_kind *sent)
{
    if ((sent->api_version.n == 0 || cor_str_eq(sent->api_version, call->type->api_version)) &&
        (sent->kind.n == 0 || cor_str_eq(sent->kind, call->type->kind)))
        return call->schema;
    return cor_decode_type(call->type, sent->api_version, sent->kind);
}

/* Walks over the JSON with the type that it claims to be of; a kind that does not exist is left to
 * the check of kinds. The order of findings is that of the client's JSON. YAML and patched
 * documents are sorted first, because upstream's reach its decoder so. 0, -COR_EINVAL
 * (report->error says why), -COR_ENOMEM. */
int cor_body_read(const struct cor_receiving *write, const struct cor_body_kind *sent,
                  bool is_clean)
{
    const struct cor_json_limits limits = {COR_WRITE_JSON_MAX, COR_JSON_DEPTH_MAX, true};
    const struct cor_type *type = cor_body_type(write->call, sent);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf sorted = {0};
    bool is_sent_json = !write->asked->apply && write->received->text.n == 0;
    struct cor_str json = write->received->json;

    if (!type || is_clean)
        return 0;
    if (!is_sent_json) {
        cor_buf_init(&sorted, json.n);
        if (cor_buf_reserve(&sorted, json.n) < 0 ||
            cor_json_canonicalize(json, &limits, &sorted, NULL, NULL) < 0)
            return -COR_ENOMEM;
        json = cor_buf_str(&sorted);
    }
    write->received->report = cor_read_report_new();
    return write->received->report ? cor_read(json, type, write->received->report) : -COR_ENOMEM;
}

/* Refuses what cor_body_read(), or a check that wrote into `why`, does not accept. Words that are
 * missing are words for which there was no memory. */
int cor_body_refuse(const struct cor_receiving *write, const struct cor_body_kind *sent, int r,
                    const struct cor_buf *why)
{
    const struct cor_buf *words =
        why->n == 0 && write->received->report ? &write->received->report->error : why;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf restored = {0};
    struct cor_call *call = write->call;
    int found = 0;

    if (r != -COR_EINVAL || words->n == 0)
        return cor_status_set_err(&call->status, -COR_ENOMEM);
    /* What a strategic merge patch made is not decoded from JSON upstream. */
    if (write->asked->strategic.p) {
        cor_buf_init(&restored, WHY_MAX);
        found = cor_restore_error(write->received->json, cor_body_type(call, sent), &restored);
    }
    if (found < 0)
        return cor_status_set_err(&call->status, found);
    if (write->asked->apply)
        return cor_body_refuse_patched(write->call, write->asked, write->received->json,
                                       cor_buf_z(found ? &restored : words));
    return cor_body_cannot_handle(call, sent->api_version, sent->kind, cor_buf_z(words));
}

/* The bytes could not be parsed as an object: finds the words that upstream has for it. */
static int refuse_bytes(const struct cor_receiving *write,
                        int (*check)(const struct cor_receiving *write, struct cor_str json))
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {0};
    struct cor_call *call = write->call;
    struct cor_body_kind sent = {COR_STR(""), COR_STR("")};
    struct cor_str value, json = write->received->json;
    int r;

    cor_buf_init(&why, WHY_MAX);
    if (cor_decode_check_bytes(json, &why) < 0)
        return write->asked->apply ? cor_body_refuse_patched(write->call, write->asked,
                                                             write->received->json, cor_buf_z(&why))
                                   : cor_body_unrecognized(call, cor_buf_z(&why));
    json = cor_str_trim(json);
    if (cor_json_get(json, COR_STR("kind"), COR_JSON_ANY_ORDER, &value) == 0)
        (void)cor_json_to_raw(value, &sent.kind);
    if (cor_json_get(json, COR_STR("apiVersion"), COR_JSON_ANY_ORDER, &value) == 0)
        (void)cor_json_to_raw(value, &sent.api_version);
    if (check && check(write, json) < 0)
        return call->status.err;
    r = cor_body_read(write, &sent, false);
    if (r == 0)
        r = cor_decode_check_numbers(json, &why);
    return r < 0 ? cor_body_refuse(write, &sent, r, &why) : call->status.err;
}

/* `json` is `text` from now on, which is left empty. */
void cor_body_take_text(const struct cor_receiving *write, struct cor_buf *text)
{
    cor_buf_deinit(&write->received->text);
    write->received->text = *text;
    *text = (struct cor_buf){0};
    write->received->json = cor_buf_str(&write->received->text);
}

/* Sets `json` from the body. */
static int take_body(const struct cor_receiving *write)
{
    struct cor_call *call = write->call;
    const struct cor_gvk expected = {call->type->group, call->type->version, call->type->kind};
    int r = cor_body_json(call, &expected, &write->received->text, &write->received->yaml_dups,
                          &write->received->json);

    /* Go decodes null into an empty struct. */
    if (r == 0 && cor_str_eq(cor_str_trim(write->received->json), COR_STR("null")))
        write->received->json = COR_STR("{}");
    return r;
}

/* Parses `json`, once more with its text mended if that is all that is wrong with it. 0, or the
 * failure in the status. */
static int parse_text(const struct cor_receiving *write, const struct cor_object_limits *limits,
                      struct cor_json_dups *dups, struct cor_object **ret_object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf mended = {.max = 3 * COR_WRITE_JSON_MAX};
    struct cor_status *st = &write->call->status;
    int r = cor_object_parse(write->received->json, limits, dups, &write->received->rv, ret_object,
                             st),
        has_mended;

    if (r != -COR_EINVAL)
        return r;
    has_mended = cor_json_mend(write->received->json, &mended);
    if (has_mended == 0)
        return r;
    cor_status_deinit(st);
    if (has_mended < 0)
        return cor_status_set_err(st, has_mended);
    cor_body_take_text(write, &mended);
    return cor_object_parse(write->received->json, limits, dups, &write->received->rv, ret_object,
                            st);
}

int cor_body_parse(const struct cor_receiving *write, const struct cor_object_limits *limits,
                   int (*check)(const struct cor_receiving *write, struct cor_str json),
                   struct cor_json_dups *dups, struct cor_object **ret_object)
{
    bool is_sent_json;
    int r = write->asked->apply ? 0 : take_body(write);

    assert(write->call->type && write->call->stored);
    if (r == 0)
        r = cor_data_size_check(write->call, write->received->json);
    if (r < 0)
        return r;
    /* What a patch makes repeats nothing, and YAML has a report of its own. */
    is_sent_json = !write->asked->apply && write->received->text.n == 0;
    r = parse_text(write, limits, is_sent_json ? dups : NULL, ret_object);
    return r == -COR_EINVAL ? refuse_bytes(write, check) : r;
}
