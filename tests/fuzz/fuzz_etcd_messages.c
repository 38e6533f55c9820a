/* Input: what an etcd might send; it is taken as the answer to each question. What is accepted has
 * a revision, keys where there are events, and nothing is left behind. */
#include "base/err.h"
#include "fuzz.h"
#include "storage/etcd/etcd_messages.h"

static void try_range(struct cor_str bytes)
{
    struct cor_range_req req = {.count = true};
    int r = cor_etcd_decode_range(bytes, &req);

    FUZZ_CHECK(r == 0 || r == -COR_EINTERNAL);
    FUZZ_CHECK(r < 0 ? req.ret_nkvs == 0 && !req.ret_kvs : req.ret_rev > 0);
    cor_range_req_deinit(&req);
}

static void try_write(struct cor_str bytes)
{
    struct cor_write_req req = {.expected = 0};
    int r = cor_etcd_decode_write(bytes, &req);

    FUZZ_CHECK(r == 0 || r == -COR_EINTERNAL || r == -COR_ECONFLICT);
    FUZZ_CHECK(r != 0 || req.ret_rev > 0);
    FUZZ_CHECK(r == -COR_ECONFLICT || !req.ret_prev);
    cor_write_req_deinit(&req);
}

static void try_watch(struct cor_str bytes)
{
    struct etcd_watch_answer answer;

    if (cor_etcd_decode_watch(bytes, &answer) < 0)
        return;
    for (size_t i = 0; i < answer.nevents; i++)
        FUZZ_CHECK(answer.events[i].kv);
    cor_etcd_watch_answer_deinit(&answer);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str bytes = cor_str((const char *)data, size);
    struct etcd_member_status status;
    struct cor_buf token;
    int64_t id;

    try_range(bytes);
    try_write(bytes);
    try_watch(bytes);
    FUZZ_CHECK(cor_etcd_decode_grant(bytes, &id) < 0 || id > 0);
    (void)cor_etcd_decode_status(bytes, &status);
    cor_buf_init(&token, 4096);
    FUZZ_CHECK(cor_etcd_decode_authenticate(bytes, &token) < 0 || token.n > 0);
    cor_buf_deinit(&token);
    return 0;
}
