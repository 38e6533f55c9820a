/* Input: a token, or the JSON inside of one, or a key: it is tried as each. A token that is
 * accepted starts below its prefix and survives being written again; one that is refused says why;
 * a clean key comes back as it went in. */
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "meta/names/key.h"
#include "meta/select/continue_token.h"

#define PREFIX COR_STR("/registry/pods/")

static void check_same(struct cor_str token, const struct cor_buf *start, int64_t rev)
{
    struct cor_buf again;
    int64_t again_rev;

    cor_buf_init(&again, 1u << 20);
    FUZZ_CHECK(cor_continue_decode(token, PREFIX, &again, &again_rev, NULL) == 0);
    FUZZ_CHECK(again_rev == rev && cor_str_eq(cor_buf_str(&again), cor_buf_str(start)));
    cor_buf_deinit(&again);
}

static void check_accepted(const struct cor_buf *start, int64_t rev)
{
    struct cor_buf token;

    FUZZ_CHECK(rev != 0 && cor_str_starts(cor_buf_str(start), PREFIX));
    FUZZ_CHECK(cor_key_is_clean(cor_str_from(cor_buf_str(start), PREFIX.n - 1)));
    cor_buf_init(&token, 1u << 20);
    if (start->n > PREFIX.n &&
        cor_continue_encode(cor_buf_str(start), PREFIX, rev, &token, NULL) == 0)
        check_same(cor_buf_str(&token), start, rev);
    cor_buf_deinit(&token);
}

static void try_token(struct cor_str token)
{
    struct cor_status st = {0};
    struct cor_buf start;
    int64_t rev;
    int r;

    cor_buf_init(&start, 1u << 20);
    r = cor_continue_decode(token, PREFIX, &start, &rev, &st);
    if (r == 0) {
        check_accepted(&start, rev);
    } else {
        FUZZ_CHECK(r == st.err && start.n == 0 && cor_status_message(&st)[0]);
        FUZZ_CHECK(r != -COR_EINVAL || st.code == 400);
    }
    cor_status_deinit(&st);
    cor_buf_deinit(&start);
}

static void try_key(struct cor_str key)
{
    struct cor_buf start, token;

    cor_buf_init(&start, 1u << 20);
    cor_buf_init(&token, 1u << 20);
    FUZZ_CHECK(cor_buf_adds(&start, PREFIX) == 0 && cor_buf_adds(&start, key) == 0);
    if (key.n > 0 && key.p[0] != '/' && cor_utf8_find_invalid(key) < 0 &&
        cor_key_is_clean(cor_str_from(cor_buf_str(&start), PREFIX.n - 1)) &&
        cor_continue_encode(cor_buf_str(&start), PREFIX, 7, &token, NULL) == 0)
        check_same(cor_buf_str(&token), &start, 7);
    cor_buf_deinit(&start);
    cor_buf_deinit(&token);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str in = cor_str((const char *)data, size);
    struct cor_buf token;

    if (size > 1u << 16)
        return 0;
    try_token(in);
    try_key(in);
    cor_buf_init(&token, 1u << 20);
    FUZZ_CHECK(cor_base64_encode(COR_BASE64_RAW_URL, in, &token) == 0);
    try_token(cor_buf_str(&token));
    cor_buf_deinit(&token);
    return 0;
}
