#include "meta/object/builder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "meta/object/object.h"
#include "meta/object/object_received.h"
#include "meta/status/status.h"
#include "json/write/editor.h"
#include "json/write/writer.h"

struct cor_builder {
    struct cor_json_editor editor;
    struct cor_status why; /* the first failure; err 0: none yet */
};

static const struct cor_json_limits value_limits = {.bytes_max = COR_BUILDER_BYTES_MAX,
                                                    .depth_max = COR_JSON_DEPTH_MAX};

/* The editor wants bytes without spaces and repeated keys. */
static int start(struct cor_builder *b, struct cor_str json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf canonical;
    int r;

    cor_buf_init(&canonical, COR_BUILDER_BYTES_MAX);
    r = cor_json_canonicalize(json, &value_limits, &canonical, NULL, NULL);
    return r < 0 ? r
                 : cor_json_editor_init(&b->editor, cor_buf_str(&canonical), COR_BUILDER_BYTES_MAX);
}

int cor_builder_new(const struct cor_object *object, struct cor_builder **ret_builder)
{
    struct cor_builder *b = cor_calloc(1, sizeof(*b));
    int r;

    if (!b)
        return -COR_ENOMEM;
    cor_status_init(&b->why);
    r = object ? cor_object_make_json(object) : 0;
    if (r == 0)
        r = start(b, object ? cor_object_json(object) : COR_STR("{\"metadata\":{}}"));
    if (r < 0) {
        cor_builder_free(b);
        return r;
    }
    *ret_builder = b;
    return 0;
}

struct cor_builder *cor_builder_free(struct cor_builder *b)
{
    if (!b)
        return NULL;
    cor_json_editor_deinit(&b->editor);
    cor_status_deinit(&b->why);
    return cor_free(b);
}

static int fail(struct cor_builder *b, int r, const char *path, const char *why)
{
    return cor_status_set(&b->why, r, "%s: %s", path, why);
}

int cor_builder_failure(const struct cor_builder *b)
{
    return b->why.err;
}

int cor_builder_refuse(struct cor_builder *b, int r, const char *fmt, ...)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = COR_STATUS_MESSAGE_MAX};
    va_list ap;

    if (b->why.err)
        return b->why.err;
    va_start(ap, fmt);
    if (cor_buf_addv(&text, fmt, ap) < 0)
        cor_status_set_err(&b->why, r);
    else
        cor_status_set(&b->why, r, "%s", cor_buf_z(&text));
    va_end(ap);
    return r;
}

struct cor_view cor_builder_view(const struct cor_builder *b)
{
    return cor_view(cor_buf_str(&b->editor.bytes));
}

typedef int (*edit_fn)(struct cor_json_editor *e, struct cor_str path, struct cor_str value);

/* `value` is canonical. */
static int edit(struct cor_builder *b, edit_fn fn, const char *path, struct cor_str value)
{
    int r = fn(&b->editor, cor_strz(path), value);

    if (r == -COR_ENOMEM)
        return fail(b, r, path, "no memory for a change");
    return r < 0 ? fail(b, r, path, b->editor.why) : 0;
}

static int edit_text(struct cor_builder *b, edit_fn fn, const char *path, struct cor_str text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted;
    int r;

    cor_buf_init(&quoted, COR_BUILDER_BYTES_MAX);
    if (b->why.err)
        return b->why.err;
    r = cor_json_quote(&quoted, text);
    if (r < 0)
        return fail(b, r, path, r == -COR_ETOOBIG ? "the text is too long" : cor_err_text(r));
    return edit(b, fn, path, cor_buf_str(&quoted));
}

static int edit_json(struct cor_builder *b, edit_fn fn, const char *path, struct cor_str json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf canonical;
    struct cor_json_error why;
    int r;

    cor_buf_init(&canonical, COR_BUILDER_BYTES_MAX);
    if (b->why.err)
        return b->why.err;
    r = cor_json_canonicalize(json, &value_limits, &canonical, NULL, &why);
    if (r == -COR_EINVAL)
        return fail(b, r, path, why.message);
    if (r < 0)
        return fail(b, r, path, cor_err_text(r));
    return edit(b, fn, path, cor_buf_str(&canonical));
}

int cor_builder_set_text(struct cor_builder *b, const char *path, struct cor_str text)
{
    return edit_text(b, cor_json_editor_set, path, text);
}

int cor_builder_set_json(struct cor_builder *b, const char *path, struct cor_str json)
{
    return edit_json(b, cor_json_editor_set, path, json);
}

int cor_builder_append_text(struct cor_builder *b, const char *path, struct cor_str text)
{
    return edit_text(b, cor_json_editor_append, path, text);
}

int cor_builder_append_json(struct cor_builder *b, const char *path, struct cor_str json)
{
    return edit_json(b, cor_json_editor_append, path, json);
}

int cor_builder_set_int(struct cor_builder *b, const char *path, int64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%" PRId64, value);

    return b->why.err ? b->why.err : edit(b, cor_json_editor_set, path, cor_str(text, (size_t)n));
}

int cor_builder_set_bool(struct cor_builder *b, const char *path, bool value)
{
    return b->why.err ? b->why.err
                      : edit(b, cor_json_editor_set, path, cor_strz(value ? "true" : "false"));
}

static int remove_at(struct cor_json_editor *e, struct cor_str path,
                     __attribute__((unused)) struct cor_str value)
{
    return cor_json_editor_remove(e, path);
}

int cor_builder_remove(struct cor_builder *b, const char *path)
{
    return b->why.err ? b->why.err : edit(b, remove_at, path, COR_STR(""));
}

/* `<map>['<key>']` */
static int print_path(struct cor_builder *b, const char *map, const char *key, struct cor_buf *out)
{
    int r = b->why.err ? b->why.err : cor_buf_addf(out, "%s['", map);

    for (; r == 0 && *key; key++) {
        if (*key == '\'' || *key == '\\')
            r = cor_buf_addc(out, '\\');
        if (r == 0)
            r = cor_buf_addc(out, *key);
    }
    if (r == 0)
        r = cor_buf_addz(out, "']");
    if (r < 0 && !b->why.err)
        fail(b, r, map, r == -COR_ETOOBIG ? "the key is too long" : cor_err_text(r));
    return r;
}

int cor_builder_set_text_in(struct cor_builder *b, const char *map, const char *key,
                            struct cor_str value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path;
    int r;

    cor_buf_init(&path, COR_JSON_PATH_BYTES_MAX);
    r = print_path(b, map, key, &path);
    return r < 0 ? r : cor_builder_set_text(b, cor_buf_z(&path), value);
}

int cor_builder_set_json_in(struct cor_builder *b, const char *map, const char *key,
                            struct cor_str json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path;
    int r;

    cor_buf_init(&path, COR_JSON_PATH_BYTES_MAX);
    r = print_path(b, map, key, &path);
    return r < 0 ? r : cor_builder_set_json(b, cor_buf_z(&path), json);
}

int cor_builder_set_base64_in(struct cor_builder *b, const char *map, const char *key,
                              struct cor_str bytes)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init_secret(&text, COR_BUILDER_BYTES_MAX);
    r = b->why.err ? b->why.err : cor_base64_encode(COR_BASE64_STD, bytes, &text);
    if (r < 0 && !b->why.err)
        return cor_builder_refuse(b, r, "%s: %s: %s", map, key,
                                  r == -COR_ETOOBIG ? "the text is too long" : cor_err_text(r));
    return r < 0 ? r : cor_builder_set_text_in(b, map, key, cor_buf_str(&text));
}

int cor_builder_remove_in(struct cor_builder *b, const char *map, const char *key)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path;
    int r;

    cor_buf_init(&path, COR_JSON_PATH_BYTES_MAX);
    r = print_path(b, map, key, &path);
    return r < 0 ? r : cor_builder_remove(b, cor_buf_z(&path));
}

int cor_builder_set_label(struct cor_builder *b, const char *key, struct cor_str value)
{
    return cor_builder_set_text_in(b, "metadata.labels", key, value);
}

int cor_builder_remove_label(struct cor_builder *b, const char *key)
{
    return cor_builder_remove_in(b, "metadata.labels", key);
}

int cor_builder_set_annotation(struct cor_builder *b, const char *key, struct cor_str value)
{
    return cor_builder_set_text_in(b, "metadata.annotations", key, value);
}

int cor_builder_remove_annotation(struct cor_builder *b, const char *key)
{
    return cor_builder_remove_in(b, "metadata.annotations", key);
}

int cor_builder_finish(struct cor_builder *b, struct cor_object **ret_object,
                       struct cor_status *reterr)
{
    if (b->why.err) {
        if (reterr)
            (void)cor_status_copy(reterr, &b->why);
        return b->why.err;
    }
    return cor_object_canonical(cor_buf_str(&b->editor.bytes), ret_object, reterr);
}
