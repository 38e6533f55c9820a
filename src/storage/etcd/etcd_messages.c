/* etcd's v3 messages, written from and read into the engine's requests with protobuf-c.
 *
 * An encoder fills the generated struct on the stack, with pointers into the request, and packs it
 * into the end of the caller's buffer: nothing is copied twice. A decoder unpacks the bytes into an
 * arena that is freed as a whole, builds the engine's own objects from it, and hands them over only
 * when all were made. A message that does not parse, or lacks the part that an answer must have, is
 * -COR_EINTERNAL; an object that finds no memory is -COR_ENOMEM; in both cases the request is as it
 * was. Thread: any; there is no state. */
#include "storage/etcd/etcd_messages.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "etcd.pb-c.h"
#include "storage/etcd/etcd_arena.h"

/* Revisions and sizes are signed on the wire and never negative. */
static uint64_t from_int(int64_t v)
{
    return v > 0 ? (uint64_t)v : 0;
}

static ProtobufCBinaryData bytes_of(struct cor_str s)
{
    return (ProtobufCBinaryData){.len = s.n, .data = (uint8_t *)s.p};
}

static struct cor_str str_of(ProtobufCBinaryData b)
{
    return cor_str(b.data ? (const char *)b.data : "", b.len);
}

static int pack(const ProtobufCMessage *message, struct cor_buf *out)
{
    size_t n = protobuf_c_message_get_packed_size(message);
    int r = cor_buf_reserve(out, n);

    if (r < 0 || n == 0)
        return r;
    protobuf_c_message_pack(message, (uint8_t *)out->p + out->n);
    out->n += n;
    out->p[out->n] = '\0';
    return 0;
}

static int unpack(struct cor_str bytes, const ProtobufCMessageDescriptor *type,
                  struct etcd_arena *arena, void *ret_message)
{
    ProtobufCMessage *message =
        protobuf_c_message_unpack(type, &arena->allocator, bytes.n, (const uint8_t *)bytes.p);

    if (!message)
        return arena->failed ? -COR_ENOMEM : -COR_EINTERNAL;
    *(ProtobufCMessage **)ret_message = message;
    return 0;
}

static int kv_of(const Etcd__KeyValue *from, struct cor_kv **ret_kv)
{
    *ret_kv = cor_kv_new(str_of(from->key), str_of(from->value), from_int(from->create_revision),
                         from_int(from->mod_revision), from->lease);
    return *ret_kv ? 0 : -COR_ENOMEM;
}

static cor_rev rev_of(const Etcd__ResponseHeader *header)
{
    return header ? from_int(header->revision) : 0;
}

int cor_etcd_encode_range(const struct cor_range_req *req, size_t limit, struct cor_buf *out)
{
    Etcd__RangeRequest m = ETCD__RANGE_REQUEST__INIT;

    assert(req->at <= COR_REV_MAX);
    m.key = bytes_of(req->key);
    if (!req->keys_only || req->count)
        m.range_end = bytes_of(req->end);
    m.revision = (int64_t)req->at;
    m.limit = (int64_t)limit;
    m.count_only = req->keys_only;
    return pack(&m.base, out);
}

static int take_kvs(const Etcd__RangeResponse *m, struct cor_range_req *req)
{
    req->ret_kvs = cor_calloc(m->n_kvs ? m->n_kvs : 1, sizeof(*req->ret_kvs));
    if (!req->ret_kvs)
        return -COR_ENOMEM;
    for (size_t i = 0; i < m->n_kvs; i++) {
        int r = kv_of(m->kvs[i], &req->ret_kvs[i]);

        if (r < 0)
            return r;
        req->ret_nkvs++;
    }
    return 0;
}

static void drop_kvs(struct cor_range_req *req)
{
    while (req->ret_nkvs > 0)
        cor_kv_unref(req->ret_kvs[--req->ret_nkvs]);
    req->ret_kvs = cor_free(req->ret_kvs);
}

int cor_etcd_decode_range(struct cor_str bytes, struct cor_range_req *req)
{
    COR_CLEANUP(cor_etcd_arena_deinit) struct etcd_arena arena;
    Etcd__RangeResponse *m;
    int r;

    cor_etcd_arena_init(&arena);
    r = unpack(bytes, &etcd__range_response__descriptor, &arena, &m);
    if (r == 0 && rev_of(m->header) == 0)
        r = -COR_EINTERNAL;
    if (r == 0)
        r = take_kvs(m, req);
    if (r < 0) {
        drop_kvs(req);
        return r;
    }
    req->ret_rev = rev_of(m->header);
    req->ret_more = m->more;
    req->ret_count = req->count ? from_int(m->count) : 0;
    return 0;
}

int cor_etcd_encode_write(const struct cor_write_req *req, struct cor_buf *out)
{
    Etcd__Compare compare = ETCD__COMPARE__INIT, *compares[] = {&compare};
    Etcd__PutRequest put = ETCD__PUT_REQUEST__INIT;
    Etcd__DeleteRangeRequest del = ETCD__DELETE_RANGE_REQUEST__INIT;
    Etcd__RangeRequest get = ETCD__RANGE_REQUEST__INIT;
    Etcd__RequestOp change = ETCD__REQUEST_OP__INIT, *changes[] = {&change};
    Etcd__RequestOp look = ETCD__REQUEST_OP__INIT, *looks[] = {&look};
    Etcd__TxnRequest txn = ETCD__TXN_REQUEST__INIT;

    compare.target = ETCD__COMPARE__TARGET__MOD;
    compare.key = put.key = del.key = get.key = bytes_of(req->key);
    compare.target_union_case = ETCD__COMPARE__TARGET_UNION_MOD_REVISION;
    compare.mod_revision = (int64_t)req->expected;
    put.value = bytes_of(req->value);
    put.lease = req->lease;
    if (req->is_delete) {
        change.request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE;
        change.request_delete_range = &del;
    } else {
        change.request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_PUT;
        change.request_put = &put;
    }
    look.request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_RANGE;
    look.request_range = &get;
    txn.compare = compares;
    txn.success = changes;
    txn.failure = looks;
    txn.n_compare = txn.n_success = txn.n_failure = 1;
    return pack(&txn.base, out);
}

static int take_current(const Etcd__TxnResponse *m, struct cor_write_req *req)
{
    const Etcd__RangeResponse *range;

    if (m->n_responses != 1 ||
        m->responses[0]->response_case != ETCD__RESPONSE_OP__RESPONSE_RESPONSE_RANGE)
        return -COR_EINTERNAL;
    range = m->responses[0]->response_range;
    if (range->n_kvs > 0 && kv_of(range->kvs[0], &req->ret_prev) < 0)
        return -COR_ENOMEM;
    return -COR_ECONFLICT;
}

int cor_etcd_decode_write(struct cor_str bytes, struct cor_write_req *req)
{
    COR_CLEANUP(cor_etcd_arena_deinit) struct etcd_arena arena;
    Etcd__TxnResponse *m;
    int r;

    cor_etcd_arena_init(&arena);
    r = unpack(bytes, &etcd__txn_response__descriptor, &arena, &m);
    if (r < 0)
        return r;
    if (rev_of(m->header) == 0)
        return -COR_EINTERNAL;
    if (!m->succeeded)
        return take_current(m, req);
    req->ret_rev = rev_of(m->header);
    return 0;
}

int cor_etcd_encode_compaction(cor_rev rev, struct cor_buf *out)
{
    Etcd__CompactionRequest m = ETCD__COMPACTION_REQUEST__INIT;

    m.revision = (int64_t)rev;
    return pack(&m.base, out);
}

int cor_etcd_encode_grant(int64_t ttl_s, struct cor_buf *out)
{
    Etcd__LeaseGrantRequest m = ETCD__LEASE_GRANT_REQUEST__INIT;

    m.ttl = ttl_s;
    return pack(&m.base, out);
}

int cor_etcd_decode_grant(struct cor_str bytes, int64_t *ret_id)
{
    COR_CLEANUP(cor_etcd_arena_deinit) struct etcd_arena arena;
    Etcd__LeaseGrantResponse *m;
    int r;

    cor_etcd_arena_init(&arena);
    r = unpack(bytes, &etcd__lease_grant_response__descriptor, &arena, &m);
    if (r == 0 && (m->id <= 0 || m->error[0]))
        r = -COR_EINTERNAL;
    if (r == 0)
        *ret_id = m->id;
    return r;
}

int cor_etcd_encode_revoke(int64_t id, struct cor_buf *out)
{
    Etcd__LeaseRevokeRequest m = ETCD__LEASE_REVOKE_REQUEST__INIT;

    m.id = id;
    return pack(&m.base, out);
}

int cor_etcd_encode_keep_alive(int64_t id, struct cor_buf *out)
{
    Etcd__LeaseKeepAliveRequest m = ETCD__LEASE_KEEP_ALIVE_REQUEST__INIT;

    m.id = id;
    return pack(&m.base, out);
}

int cor_etcd_decode_keep_alive(struct cor_str bytes, int64_t *ret_ttl_s)
{
    COR_CLEANUP(cor_etcd_arena_deinit) struct etcd_arena arena;
    Etcd__LeaseKeepAliveResponse *m;
    int r;

    cor_etcd_arena_init(&arena);
    r = unpack(bytes, &etcd__lease_keep_alive_response__descriptor, &arena, &m);
    if (r == 0)
        *ret_ttl_s = m->ttl > 0 ? m->ttl : 0;
    return r;
}

int cor_etcd_encode_put(struct cor_str key, struct cor_str value, int64_t lease,
                        struct cor_buf *out)
{
    Etcd__PutRequest m = ETCD__PUT_REQUEST__INIT;

    m.key = bytes_of(key);
    m.value = bytes_of(value);
    m.lease = lease;
    return pack(&m.base, out);
}

int cor_etcd_encode_authenticate(const char *name, const char *password, struct cor_buf *out)
{
    Etcd__AuthenticateRequest m = ETCD__AUTHENTICATE_REQUEST__INIT;

    m.name = (char *)name;
    m.password = (char *)password;
    return pack(&m.base, out);
}

int cor_etcd_decode_authenticate(struct cor_str bytes, struct cor_buf *ret_token)
{
    COR_CLEANUP(cor_etcd_arena_deinit) struct etcd_arena arena;
    Etcd__AuthenticateResponse *m;
    int r;

    cor_etcd_arena_init(&arena);
    r = unpack(bytes, &etcd__authenticate_response__descriptor, &arena, &m);
    if (r == 0 && m->token[0] == '\0')
        r = -COR_EINTERNAL;
    if (r < 0)
        return r;
    cor_buf_reset(ret_token);
    return cor_buf_addz(ret_token, m->token);
}

/* Whether it is at least 3.4.`patch_4`, 3.5.`patch_5` or 3.6. */
static bool is_version_from(const char *version, uint64_t patch_4, uint64_t patch_5)
{
    struct cor_str rest = cor_strz(version);
    uint64_t major, minor, patch;

    if (cor_str_to_u64(cor_str_cut(&rest, '.'), &major) < 0 ||
        cor_str_to_u64(cor_str_cut(&rest, '.'), &minor) < 0)
        return false;
    /* Text after the digits of the last part ("0-rc.1") is ignored. */
    rest.n = strspn(rest.p ? rest.p : "", "0123456789");
    if (cor_str_to_u64(rest, &patch) < 0)
        return false;
    if (major != 3)
        return major > 3;
    if (minor == 4)
        return patch >= patch_4;
    return minor == 5 ? patch >= patch_5 : minor > 5;
}

/* Older members answer a request for progress at once, also when watches have not had all events.
 */
static bool has_progress(const char *version)
{
    return is_version_from(version, 31, 13);
}

/* Older members lose such deletions; from 3.4.34 and 3.5.16 on only when they are restarted during
 * a compaction. */
static bool keeps_deletions(const char *version)
{
    return is_version_from(version, 36, 18);
}

int cor_etcd_decode_status(struct cor_str bytes, struct etcd_member_status *ret_status)
{
    COR_CLEANUP(cor_etcd_arena_deinit) struct etcd_arena arena;
    Etcd__StatusResponse *m;
    int r;

    cor_etcd_arena_init(&arena);
    r = unpack(bytes, &etcd__status_response__descriptor, &arena, &m);
    if (r == 0)
        *ret_status = (struct etcd_member_status){.db_bytes = from_int(m->db_size),
                                                  .used_bytes = from_int(m->db_size_in_use),
                                                  .has_progress = has_progress(m->version),
                                                  .keeps_deletions = keeps_deletions(m->version)};
    return r;
}

int cor_etcd_encode_watch_create(const struct etcd_watch_create *create, struct cor_buf *out)
{
    Etcd__WatchCreateRequest c = ETCD__WATCH_CREATE_REQUEST__INIT;
    Etcd__WatchRequest m = ETCD__WATCH_REQUEST__INIT;

    c.key = bytes_of(create->key);
    c.range_end = bytes_of(create->end);
    c.start_revision = (int64_t)create->from + 1;
    c.prev_kv = create->with_prev;
    c.watch_id = create->id;
    c.fragment = true;
    m.request_union_case = ETCD__WATCH_REQUEST__REQUEST_UNION_CREATE_REQUEST;
    m.create_request = &c;
    return pack(&m.base, out);
}

int cor_etcd_encode_watch_cancel(int64_t id, struct cor_buf *out)
{
    Etcd__WatchCancelRequest c = ETCD__WATCH_CANCEL_REQUEST__INIT;
    Etcd__WatchRequest m = ETCD__WATCH_REQUEST__INIT;

    c.watch_id = id;
    m.request_union_case = ETCD__WATCH_REQUEST__REQUEST_UNION_CANCEL_REQUEST;
    m.cancel_request = &c;
    return pack(&m.base, out);
}

int cor_etcd_encode_watch_progress(struct cor_buf *out)
{
    Etcd__WatchProgressRequest p = ETCD__WATCH_PROGRESS_REQUEST__INIT;
    Etcd__WatchRequest m = ETCD__WATCH_REQUEST__INIT;

    m.request_union_case = ETCD__WATCH_REQUEST__REQUEST_UNION_PROGRESS_REQUEST;
    m.progress_request = &p;
    return pack(&m.base, out);
}

static int take_event(const Etcd__Event *from, struct cor_feed_event *to)
{
    int r;

    if (!from->kv)
        return -COR_EINTERNAL;
    to->deleted = from->type == ETCD__EVENT__TYPE__DELETE;
    r = kv_of(from->kv, &to->kv);
    if (r == 0 && from->prev_kv)
        r = kv_of(from->prev_kv, &to->prev);
    return r;
}

static int take_events(const Etcd__WatchResponse *m, struct etcd_watch_answer *answer)
{
    if (m->n_events == 0)
        return 0;
    answer->events = cor_calloc(m->n_events, sizeof(*answer->events));
    if (!answer->events)
        return -COR_ENOMEM;
    for (size_t i = 0; i < m->n_events; i++) {
        int r;

        answer->nevents++;
        r = take_event(m->events[i], &answer->events[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

int cor_etcd_decode_watch(struct cor_str bytes, struct etcd_watch_answer *ret_answer)
{
    COR_CLEANUP(cor_etcd_arena_deinit) struct etcd_arena arena;
    struct etcd_watch_answer answer = {0};
    Etcd__WatchResponse *m;
    int r;

    cor_etcd_arena_init(&arena);
    r = unpack(bytes, &etcd__watch_response__descriptor, &arena, &m);
    if (r < 0)
        return r;
    answer.id = m->watch_id;
    answer.cluster_id = m->header ? m->header->cluster_id : 0;
    answer.rev = rev_of(m->header);
    answer.created = m->created;
    answer.canceled = m->canceled;
    answer.is_fragment = m->fragment;
    answer.compact_rev = from_int(m->compact_revision);
    if (m->canceled)
        snprintf(answer.reason, sizeof(answer.reason), "%s", m->cancel_reason);
    r = take_events(m, &answer);
    if (r < 0) {
        cor_etcd_watch_answer_deinit(&answer);
        return r;
    }
    *ret_answer = answer;
    return 0;
}

void cor_etcd_watch_answer_deinit(struct etcd_watch_answer *answer)
{
    for (size_t i = 0; i < answer->nevents; i++) {
        cor_kv_unref(answer->events[i].kv);
        cor_kv_unref(answer->events[i].prev);
    }
    answer->events = cor_free(answer->events);
    answer->nevents = 0;
}
