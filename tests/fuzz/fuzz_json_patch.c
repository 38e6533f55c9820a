/* Input: a document, a newline, a patch. Whatever applies gives canonical bytes within the limits,
 * a refusal says why and leaves no trace, a merge patch is idempotent, and the replacement of the
 * whole document passes a test for equality. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "json/patch/patch.h"

static const struct cor_json_limits limits = {.bytes_max = 1u << 20, .depth_max = 64};

typedef int (*patch_fn)(struct cor_str doc, struct cor_str patch,
                        const struct cor_json_limits *limits, struct cor_buf *out,
                        struct cor_json_dups *dups, struct cor_json_patch_error *reterr);

static int apply(patch_fn fn, struct cor_str doc, struct cor_str patch, struct cor_buf *out)
{
    struct cor_json_patch_error err = {{0}};
    bool canonical = false;
    int r = fn(doc, patch, &limits, out, NULL, &err);

    if (r == 0) {
        FUZZ_CHECK(cor_json_check(cor_buf_str(out), &limits, &canonical, NULL) == 0);
        FUZZ_CHECK(canonical);
    } else {
        FUZZ_CHECK(r == -COR_EINVAL || r == -COR_EINVALID || r == -COR_ETOOBIG);
        FUZZ_CHECK(out->n == 0 && err.message[0]);
    }
    return r;
}

static void check_merge(struct cor_str doc, struct cor_str patch)
{
    struct cor_buf once, twice;

    cor_buf_init(&once, 4u << 20);
    cor_buf_init(&twice, 4u << 20);
    if (apply(cor_json_merge_patch, doc, patch, &once) == 0) {
        FUZZ_CHECK(apply(cor_json_merge_patch, cor_buf_str(&once), patch, &twice) == 0);
        /* Arrays over objects are taken as they are, nulls and all; the second time they are not.
         */
        if (!memchr(doc.p, '[', doc.n) && !memchr(patch.p, '[', patch.n))
            FUZZ_CHECK(cor_str_eq(cor_buf_str(&once), cor_buf_str(&twice)));
    }
    cor_buf_deinit(&once);
    cor_buf_deinit(&twice);
}

static void check_replaced(struct cor_str doc)
{
    static const struct cor_json_limits wider = {.bytes_max = 3u << 20, .depth_max = 66};
    struct cor_buf patch, out;

    cor_buf_init(&patch, 4u << 20);
    cor_buf_init(&out, 4u << 20);
    FUZZ_CHECK(cor_buf_addz(&patch, "[{\"op\":\"replace\",\"path\":\"\",\"value\":") == 0);
    FUZZ_CHECK(cor_buf_adds(&patch, doc) == 0);
    FUZZ_CHECK(cor_buf_addz(&patch, "},{\"op\":\"test\",\"path\":\"\",\"value\":") == 0);
    FUZZ_CHECK(cor_buf_adds(&patch, doc) == 0);
    FUZZ_CHECK(cor_buf_addz(&patch, "}]") == 0);
    if ((doc.p[0] == '{' || doc.p[0] == '[') && patch.n <= wider.bytes_max) {
        FUZZ_CHECK(
            cor_json_json_patch(COR_STR("{}"), cor_buf_str(&patch), &wider, &out, NULL, NULL) == 0);
        FUZZ_CHECK(cor_str_eq(cor_buf_str(&out), doc));
    }
    cor_buf_deinit(&patch);
    cor_buf_deinit(&out);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str patch = cor_str((const char *)data, size);
    struct cor_str source = cor_str_cut(&patch, '\n');
    struct cor_buf doc, out;

    cor_buf_init(&doc, limits.bytes_max);
    cor_buf_init(&out, 4u << 20);
    if (patch.p && cor_json_canonicalize(source, &limits, &doc, NULL, NULL) == 0) {
        check_replaced(cor_buf_str(&doc));
        check_merge(cor_buf_str(&doc), patch);
        apply(cor_json_json_patch, cor_buf_str(&doc), patch, &out);
    }
    cor_buf_deinit(&doc);
    cor_buf_deinit(&out);
    return 0;
}
