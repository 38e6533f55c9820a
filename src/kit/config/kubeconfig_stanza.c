/* Reads the fields of a stanza by their types: text, boolean, path, Base64. Absent and null fields
 * leave the result as it is. Another type is -COR_EINVAL with file, line and field in the message.
 * Texts may be secrets: what is replaced or only used for decoding is overwritten.
 * Thread: one at a time. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "kit/config/kubeconfig_int.h"
#include "json/text/scan.h"

#define MESSAGE_MAX 512

int cor_stanza_mistake(const struct cor_stanza *s, const char *field, struct cor_status *reterr,
                       const char *fmt, ...)
{
    char message[MESSAGE_MAX], where[MESSAGE_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    snprintf(where, sizeof(where), "%s.%s", s->where, field);
    if (!s->path[0]) /* overrides: there is no file with this line */
        return cor_status_set(reterr, -COR_EINVAL, "%s: %s", where, message);
    return cor_kubeconfig_mistake(s->path, s->lines, where, message, reterr);
}

int cor_stanza_text(struct cor_str value, char **ret)
{
    struct cor_str raw, text;
    char *copy;
    int r = cor_json_to_raw(value, &raw);

    if (r < 0)
        return r;
    copy = cor_alloc(raw.n + 1);
    if (!copy)
        return -COR_ENOMEM;
    r = cor_json_unescape(raw, copy, raw.n, &text);
    if (r < 0 || memchr(text.p, '\0', text.n)) {
        explicit_bzero(copy, raw.n + 1);
        cor_free(copy);
        return -COR_EINVAL;
    }
    memmove(copy, text.p, text.n);
    copy[text.n] = '\0';
    cor_free_secret(*ret);
    *ret = copy;
    return 0;
}

static bool stanza_find(const struct cor_stanza *s, const char *field, struct cor_str *ret)
{
    return cor_json_get(s->json, cor_strz(field), COR_JSON_ANY_ORDER, ret) == 0 &&
           cor_json_type(*ret) != COR_JSON_NULL;
}

int cor_stanza_string(const struct cor_stanza *s, const char *field, char **ret,
                      struct cor_status *reterr)
{
    struct cor_str value;
    int r;

    if (!stanza_find(s, field, &value))
        return 0;
    r = cor_stanza_text(value, ret);
    if (r == -COR_ENOMEM)
        return cor_status_no_memory(reterr);
    return r < 0 ? cor_stanza_mistake(s, field, reterr, "a string is expected") : 0;
}

int cor_stanza_bool(const struct cor_stanza *s, const char *field, bool *ret,
                    struct cor_status *reterr)
{
    struct cor_str value;

    if (!stanza_find(s, field, &value))
        return 0;
    if (cor_json_to_bool(value, ret) < 0)
        return cor_stanza_mistake(s, field, reterr, "true or false is expected");
    return 0;
}

int cor_stanza_path(const struct cor_stanza *s, const char *field, char **ret,
                    struct cor_status *reterr)
{
    COR_CLEANUP(cor_freep) char *path = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf whole;
    int r = cor_stanza_string(s, field, &path, reterr);

    cor_buf_init(&whole, COR_KUBECONFIG_FILE_MAX);
    if (r < 0 || !path || !path[0])
        return r;
    if (path[0] == '/') {
        *ret = COR_STEAL(path);
        return 0;
    }
    if (cor_buf_addz(&whole, s->folder) < 0 || cor_buf_addz(&whole, path) < 0)
        return cor_status_no_memory(reterr);
    *ret = cor_strndup(whole.p, whole.n);
    return *ret ? 0 : cor_status_no_memory(reterr);
}

int cor_stanza_data(const struct cor_stanza *s, const char *field, char **ret,
                    struct cor_status *reterr)
{
    COR_CLEANUP(cor_freep) char *text = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf bytes;
    size_t at = 0;
    int r = cor_stanza_string(s, field, &text, reterr);

    cor_buf_init_secret(&bytes, COR_KUBECONFIG_FILE_MAX);
    if (r < 0 || !text || !text[0])
        return r;
    r = cor_base64_decode(COR_BASE64_STD, cor_strz(text), &bytes, &at);
    explicit_bzero(text, strlen(text));
    if (r == -COR_EINVAL)
        return cor_stanza_mistake(s, field, reterr, "illegal base64 data at input byte %zu", at);
    if (r == 0)
        *ret = cor_strndup(bytes.p, bytes.n);
    return *ret ? 0 : cor_status_no_memory(reterr);
}
