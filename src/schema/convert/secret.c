/* A Secret may be written with its values as text: stringData goes over data, in base64, and is not
 * kept. */
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "schema/convert/conversion.h"
#include "json/patch/patch.h"
#include "json/text/scan.h"
#include "json/write/edits.h"

#define DATA_BYTES_MAX (2u * COR_OBJECT_BYTES_MAX_DEFAULT)

/* Appends a string's bytes in base64, with quotes. Null is the empty string, as Go has it. */
static int add_encoded(struct cor_str value, struct cor_buf *scratch, struct cor_buf *out)
{
    struct cor_str raw, text = COR_STR("");
    int r = 0;

    if (cor_json_to_raw(value, &raw) == 0) {
        cor_buf_reset(scratch);
        r = cor_buf_reserve(scratch, raw.n);
        if (r == 0)
            r = cor_json_unescape(raw, scratch->p, raw.n, &text);
    }
    if (r == 0)
        r = cor_buf_addc(out, '"');
    if (r == 0)
        r = cor_base64_encode(COR_BASE64_STD, text, out);
    return r < 0 ? r : cor_buf_addc(out, '"');
}

static int encode(struct cor_str strings, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {0}, value = {0};
    struct cor_json_iter it = cor_json_iter(strings);
    struct cor_json_writer w;
    struct cor_str key;
    int r = 0;

    cor_buf_init(&scratch, DATA_BYTES_MAX);
    cor_buf_init(&value, DATA_BYTES_MAX);
    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    while (r == 0 && cor_json_iter_member(&it, &key)) {
        cor_buf_reset(&value);
        r = add_encoded(cor_json_iter_value(&it), &scratch, &value);
        cor_json_raw_key(&w, key);
        cor_json_raw(&w, cor_buf_str(&value));
    }
    cor_json_end_object(&w);
    return r < 0 ? r : cor_json_writer_finish(&w);
}

static int merge(struct cor_str data, struct cor_str strings, struct cor_buf *out)
{
    static const struct cor_json_limits limits = {DATA_BYTES_MAX, COR_JSON_DEPTH_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf encoded = {0};
    int r;

    cor_buf_init(&encoded, DATA_BYTES_MAX);
    r = encode(strings, &encoded);
    return r < 0 ? r : cor_json_merge_patch(data, cor_buf_str(&encoded), &limits, out, NULL, NULL);
}

int cor_secret_fold(struct cor_str json, struct cor_json_writer *w)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf data = {0};
    struct cor_str strings = cor_convert_member(json, "stringData");
    struct cor_str old = cor_convert_member(json, "data");
    struct cor_edits edits = {.n = 0};
    int r = 0;

    cor_buf_init(&data, DATA_BYTES_MAX);
    cor_edits_drop(&edits, COR_STR("stringData"));
    if (strings.n > 2 && cor_json_type(strings) == COR_JSON_OBJECT) {
        r = merge(cor_json_type(old) == COR_JSON_OBJECT ? old : COR_STR("{}"), strings, &data);
        cor_edits_set(&edits, COR_STR("data"), cor_buf_str(&data));
    }
    if (r < 0)
        return r;
    cor_edits_write(&edits, json, true, w);
    return w->error;
}
