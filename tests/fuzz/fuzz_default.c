/* Promises of the default walk: whatever an object holds, the object with its defaults is canonical
 * and has none left to fill in. */
#include "base/err.h"
#include "fuzz.h"
#include "fuzz_kind.h"
#include "schema/walk/default.h"
#include "json/text/json.h"

#define OUT_MAX (1u << 26)

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    const struct cor_json_limits limits = {OUT_MAX, COR_JSON_DEPTH_MAX};
    struct cor_buf in, out, again;
    const struct cor_type *type = NULL;
    bool is_canonical;
    int r;

    cor_buf_init(&in, OUT_MAX);
    cor_buf_init(&out, OUT_MAX);
    cor_buf_init(&again, OUT_MAX);
    if (cor_json_canonicalize(cor_str((const char *)data, size), &limits, &in, NULL, NULL) == 0)
        type = fuzz_type_of(cor_buf_str(&in));
    if (type) {
        r = cor_default(type, cor_buf_str(&in), &out);
        FUZZ_CHECK(r == 0 || r == 1 || r == -COR_ETOOBIG);
        FUZZ_CHECK((r == 1) == (out.n > 0));
        if (r == 1) {
            FUZZ_CHECK(cor_json_check(cor_buf_str(&out), &limits, &is_canonical, NULL) == 0);
            FUZZ_CHECK(is_canonical);
            FUZZ_CHECK(cor_default(type, cor_buf_str(&out), &again) == 0);
        }
    }
    cor_buf_deinit(&in);
    cor_buf_deinit(&out);
    cor_buf_deinit(&again);
    return 0;
}
