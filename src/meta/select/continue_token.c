#include "meta/select/continue_token.h"

#include "base/base64.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/names/key.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define TOKEN_VERSION "meta.k8s.io/v1"
/* A key of COR_KEY_BYTES_MAX with every byte escaped, and the rest. */
#define TOKEN_JSON_MAX (6 * COR_KEY_BYTES_MAX + 128)

/* Go's encoder also escapes what would be special in HTML or JavaScript. */
static int add_go_escapes(struct cor_str json, struct cor_buf *out)
{
    int r = 0;

    while (r == 0 && json.n > 0) {
        size_t len = 1;

        if (json.p[0] == '<' || json.p[0] == '>' || json.p[0] == '&') {
            r = cor_buf_addf(out, "\\u%04x", (unsigned)json.p[0]);
        } else if (cor_str_starts(json, COR_STR("\xe2\x80\xa8")) ||
                   cor_str_starts(json, COR_STR("\xe2\x80\xa9"))) {
            len = 3;
            r = cor_buf_addz(out, json.p[2] == '\xa8' ? "\\u2028" : "\\u2029");
        } else {
            r = cor_buf_addc(out, json.p[0]);
        }
        json = cor_str_from(json, len);
    }
    return r;
}

static int write_token(struct cor_str start, int64_t rev, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf plain = {.max = TOKEN_JSON_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = TOKEN_JSON_MAX};
    struct cor_json_writer w;
    int r;

    cor_json_writer_init(&w, &plain);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("v"), COR_STR(TOKEN_VERSION));
    cor_json_key(&w, COR_STR("rv"));
    cor_json_i64(&w, rev);
    cor_json_member(&w, COR_STR("start"), start);
    cor_json_end_object(&w);
    if ((r = cor_json_writer_finish(&w)) < 0 ||
        (r = add_go_escapes(cor_buf_str(&plain), &json)) < 0)
        return r;
    return cor_base64_encode(COR_BASE64_RAW_URL, cor_buf_str(&json), out);
}

int cor_continue_encode(struct cor_str start, struct cor_str key_prefix, int64_t rev,
                        struct cor_buf *out, struct cor_status *reterr_status)
{
    int r;

    if (key_prefix.n == 0 || !cor_str_starts(start, key_prefix))
        return cor_status_untyped(
            reterr_status, -COR_EINVAL,
            "unable to encode next field: the key and key prefix do not match");
    r = write_token(cor_str_from(start, key_prefix.n), rev, out);
    return r == 0 ? 0 : cor_status_set_err(reterr_status, r);
}

int cor_continue_encode_after(struct cor_str last, struct cor_str key_prefix, int64_t rev,
                              struct cor_buf *out, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf start = {.max = COR_KEY_BYTES_MAX + 1};
    int r;

    if ((r = cor_buf_adds(&start, last)) < 0 || (r = cor_buf_addc(&start, '\0')) < 0)
        return cor_status_set_err(reterr_status, r);
    return cor_continue_encode(cor_buf_str(&start), key_prefix, rev, out, reterr_status);
}

struct token {
    struct cor_buf version, start;
    int64_t rev;
};

static void token_deinit(struct token *t)
{
    cor_buf_deinit(&t->version);
    cor_buf_deinit(&t->start);
}

static const char *go_type(struct cor_str value)
{
    switch (cor_json_type(value)) {
    case COR_JSON_BOOL:
        return "bool";
    case COR_JSON_NUMBER:
        return "number";
    case COR_JSON_STRING:
        return "string";
    case COR_JSON_ARRAY:
        return "array";
    case COR_JSON_OBJECT:
        return "object";
    case COR_JSON_NONE:
    case COR_JSON_NULL:
        break;
    }
    return "null";
}

static int refuse(struct cor_status *st, const char *why)
{
    return cor_status_bad_request(st, "invalid continue token: continue key is not valid: %s", why);
}

static int refuse_type(struct cor_status *st, struct cor_str value, const char *field,
                       const char *type)
{
    bool number = cor_json_type(value) == COR_JSON_NUMBER && strcmp(type, "int64") == 0;

    return cor_status_bad_request(
        st,
        "invalid continue token: continue key is not valid: json: cannot unmarshal %s%s%.*s into "
        "Go struct field continueToken.%s of type %s",
        go_type(value), number ? " " : "", number ? (int)value.n : 0, value.p, field, type);
}

static int read_string(struct cor_str value, const char *field, struct cor_buf *out,
                       struct cor_status *st)
{
    struct cor_str raw, text;
    int r;

    if (cor_json_type(value) == COR_JSON_NULL)
        return 0;
    if (cor_json_to_raw(value, &raw) < 0)
        return refuse_type(st, value, field, "string");
    cor_buf_reset(out);
    r = cor_buf_reserve(out, raw.n + 1);
    if (r < 0)
        return cor_status_set_err(st, r);
    r = cor_json_unescape(raw, out->p, raw.n, &text);
    if (r < 0)
        return cor_status_set_err(st, r);
    if (text.n > 0)
        memmove(out->p, text.p, text.n);
    out->n = text.n;
    out->p[out->n] = '\0';
    return 0;
}

static int read_rev(struct cor_str value, int64_t *ret, struct cor_status *st)
{
    if (cor_json_type(value) == COR_JSON_NULL)
        return 0;
    return cor_json_to_i64(value, ret) == 0 ? 0 : refuse_type(st, value, "rv", "int64");
}

/* As Go's decoder, which does not mind case in a member's name. */
static bool is_named(struct cor_str raw_key, const char *name)
{
    if (raw_key.n != strlen(name))
        return false;
    for (size_t i = 0; i < raw_key.n; i++) {
        char c = raw_key.p[i];

        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != name[i])
            return false;
    }
    return true;
}

static int read_members(struct cor_str json, struct token *t, struct cor_status *st)
{
    struct cor_json_iter it = cor_json_iter(json);
    struct cor_str key;
    int r = 0;

    while (r == 0 && cor_json_iter_member(&it, &key)) {
        struct cor_str value = cor_json_iter_value(&it);

        if (is_named(key, "v"))
            r = read_string(value, "v", &t->version, st);
        else if (is_named(key, "rv"))
            r = read_rev(value, &t->rev, st);
        else if (is_named(key, "start"))
            r = read_string(value, "start", &t->start, st);
    }
    return r;
}

static int read_json(struct cor_str json, struct token *t, struct cor_status *st)
{
    const struct cor_json_limits limits = {.bytes_max = json.n, .depth_max = COR_JSON_DEPTH_MAX};
    struct cor_json_error error;
    bool canonical;

    if (cor_json_check(json, &limits, &canonical, &error) < 0)
        return refuse(st, error.message);
    json = cor_json_first_value(json);
    if (cor_json_type(json) != COR_JSON_OBJECT && cor_json_type(json) != COR_JSON_NULL)
        return cor_status_bad_request(st,
                                      "invalid continue token: continue key is not valid: json: "
                                      "cannot unmarshal %s into Go value of type "
                                      "storage.continueToken",
                                      go_type(json));
    return read_members(json, t, st);
}

static int check_token(const struct token *t, struct cor_status *st)
{
    if (!cor_str_eq(cor_buf_str(&t->version), COR_STR(TOKEN_VERSION)))
        return cor_status_bad_request(st,
                                      "invalid continue token: continue key is not valid: server "
                                      "does not recognize this encoded version %s",
                                      cor_buf_z(&t->version));
    if (t->rev == 0)
        return refuse(st, "incorrect encoded start resourceVersion (version " TOKEN_VERSION ")");
    if (t->start.n == 0)
        return refuse(st, "encoded start key empty (version " TOKEN_VERSION ")");
    return 0;
}

/* The key must stay below the prefix: a client could have written `../other`. */
static int add_start(const struct token *t, struct cor_str key_prefix, struct cor_buf *out,
                     struct cor_status *st)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf rooted = {.max = t->start.n + 1};
    struct cor_str start = cor_buf_str(&t->start);
    size_t mark = out->n;
    int r = 0;

    if (!cor_str_starts(start, COR_STR("/")))
        r = cor_buf_addc(&rooted, '/');
    if (r == 0)
        r = cor_buf_adds(&rooted, start);
    if (r == 0 && !cor_key_is_clean(cor_buf_str(&rooted)))
        return refuse(st, cor_buf_z(&t->start));
    if (r == 0)
        r = cor_buf_adds(out, key_prefix);
    if (r == 0)
        r = cor_buf_adds(out, cor_str_from(cor_buf_str(&rooted), 1));
    if (r == 0)
        return 0;
    cor_buf_truncate(out, mark);
    return cor_status_set_err(st, r);
}

int cor_continue_decode(struct cor_str token, struct cor_str key_prefix, struct cor_buf *out_start,
                        int64_t *ret_rev, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = token.n};
    COR_CLEANUP(token_deinit)
    struct token t = {.version = {.max = token.n + 1}, .start = {.max = token.n + 1}};
    size_t at;
    int r;

    r = cor_base64_decode(COR_BASE64_RAW_URL, token, &json, &at);
    if (r == -COR_EINVAL)
        return cor_status_bad_request(reterr_status,
                                      "invalid continue token: continue key is not valid: illegal "
                                      "base64 data at input byte %zu",
                                      at);
    if (r < 0)
        return cor_status_set_err(reterr_status, r);
    if ((r = read_json(cor_buf_str(&json), &t, reterr_status)) < 0 ||
        (r = check_token(&t, reterr_status)) < 0 ||
        (r = add_start(&t, key_prefix, out_start, reterr_status)) < 0)
        return r;
    *ret_rev = t.rev;
    return 0;
}
