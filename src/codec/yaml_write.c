/* JSON to YAML as kubectl prints it: the values are walked and handed to libyaml's emitter, which
 * calls write_bytes() with what it has laid out. Members are sorted by their decoded keys. The
 * first failure, of the buffer or of an allocation, ends the walk. Thread: any. */
#include <stdlib.h>

#include <yaml.h>

#include "base/ascii.h"
#include "base/err.h"
#include "base/mem.h"
#include "codec/json_extents.h"
#include "codec/yaml.h"
#include "codec/yaml_scalar.h"
#include "json/text/scan.h"

struct writer {
    yaml_emitter_t emitter;
    struct cor_buf *out;
    struct cor_json_extents extents; /* of the document: its members are written in another order */
    int error;                       /* of the buffer, or of an allocation here */
};

struct member {
    struct cor_str key; /* decoded */
    struct cor_str value;
    char *owned; /* the key's bytes when they were decoded */
};

static int write_bytes(void *arg, unsigned char *p, size_t n)
{
    struct writer *w = arg;
    int r = cor_buf_add(w->out, p, n);

    if (r < 0 && w->error == 0)
        w->error = r;
    return r == 0;
}

static bool emit(struct writer *w, yaml_event_t *ev)
{
    return yaml_emitter_emit(&w->emitter, ev);
}

static bool out_of_memory(struct writer *w)
{
    w->error = -COR_ENOMEM;
    return false;
}

static bool emit_scalar(struct writer *w, struct cor_str text, yaml_scalar_style_t style)
{
    yaml_event_t ev;

    if (!yaml_scalar_event_initialize(&ev, NULL, NULL, (const yaml_char_t *)text.p, (int)text.n, 1,
                                      1, style))
        return out_of_memory(w);
    return emit(w, &ev);
}

static bool emit_text(struct writer *w, struct cor_str text)
{
    bool is_plain = cor_yaml_resolve(text).kind == COR_YAML_STR && !cor_yaml_is_base60(text) &&
                    !cor_str_eqz(text, "<<");

    if (cor_str_find(text, '\n') >= 0)
        return emit_scalar(w, text, YAML_LITERAL_SCALAR_STYLE);
    return emit_scalar(w, text,
                       is_plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

static bool emit_string(struct writer *w, struct cor_str value)
{
    struct cor_str raw, text;
    char *buf;
    bool ok;

    if (cor_json_to_raw(value, &raw) < 0)
        return emit_scalar(w, COR_STR("null"), YAML_PLAIN_SCALAR_STYLE);
    buf = cor_alloc(raw.n);
    if (!buf)
        return out_of_memory(w);
    (void)cor_json_unescape(raw, buf, raw.n, &text);
    ok = emit_text(w, text);
    cor_free(buf);
    return ok;
}

/* Integers stay as they are; the rest is a float64 on its way through Go. */
static bool emit_number(struct writer *w, struct cor_str value)
{
    struct cor_yaml_scalar scalar = cor_yaml_resolve(value);
    char number[COR_YAML_NUMBER_MAX];

    if (scalar.kind != COR_YAML_FLOAT)
        return emit_scalar(w, value, YAML_PLAIN_SCALAR_STYLE);
    cor_yaml_format_g(scalar.number, false, number);
    return emit_scalar(w, cor_strz(number), YAML_PLAIN_SCALAR_STYLE);
}

/* Every byte of a multi-byte character counts as a letter; their order is that of the characters.
 */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* The number that begins at `at`, `n` digits long; wraps as Go's does. */
static int64_t number_at(struct cor_str s, size_t at, int64_t v, size_t *ret_end)
{
    uint64_t u = (uint64_t)v;

    for (; at < s.n && cor_is_digit(s.p[at]); at++)
        u = u * 10 + (uint64_t)(s.p[at] - '0');
    *ret_end = at;
    return (int64_t)u;
}

static int compare_at(struct cor_str a, struct cor_str b, size_t i)
{
    bool a_letter = is_letter(a.p[i]), b_letter = is_letter(b.p[i]);
    int64_t lead = 0, a_number, b_number;
    size_t a_end, b_end;

    if (a_letter && b_letter)
        return (unsigned char)a.p[i] < (unsigned char)b.p[i] ? -1 : 1;
    if (a_letter || b_letter)
        return b_letter ? -1 : 1;
    if (a.p[i] == '0' || b.p[i] == '0')
        for (size_t j = i; lead == 0 && j > 0 && cor_is_digit(a.p[j - 1]); j--)
            lead = a.p[j - 1] != '0';
    a_number = number_at(a, i, lead, &a_end);
    b_number = number_at(b, i, lead, &b_end);
    if (a_number != b_number)
        return a_number < b_number ? -1 : 1;
    if (a_end != b_end)
        return a_end < b_end ? -1 : 1;
    return (unsigned char)a.p[i] < (unsigned char)b.p[i] ? -1 : 1;
}

/* yaml.v2's order of keys: numbers inside names count as numbers, letters come last. */
static int compare_members(const void *x, const void *y)
{
    struct cor_str a = ((const struct member *)x)->key, b = ((const struct member *)y)->key;

    for (size_t i = 0; i < a.n && i < b.n; i++)
        if (a.p[i] != b.p[i])
            return compare_at(a, b, i);
    return a.n == b.n ? 0 : a.n < b.n ? -1 : 1;
}

static bool decode_key(struct member *m, struct cor_str raw)
{
    m->key = raw;
    if (cor_str_find(raw, '\\') < 0)
        return true;
    m->owned = cor_alloc(raw.n);
    if (!m->owned)
        return false;
    (void)cor_json_unescape(raw, m->owned, raw.n, &m->key);
    return true;
}

static void members_free(struct member *members, size_t n)
{
    for (size_t i = 0; members && i < n; i++)
        cor_free(members[i].owned);
    cor_free(members);
}

static bool collect(struct writer *w, struct cor_str object, struct member **ret_members,
                    size_t *ret_n)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct member *members;
    struct cor_str raw;
    size_t n = 0, i = 0;

    for (; cor_json_iter_member(&it, &raw); n++)
        (void)cor_json_extents_value(&w->extents, &it);
    members = cor_calloc(n + 1, sizeof(*members));
    if (!members)
        return out_of_memory(w);
    it = cor_json_iter(object);
    for (; i < n && cor_json_iter_member(&it, &raw); i++) {
        if (!decode_key(&members[i], raw)) {
            members_free(members, n);
            return out_of_memory(w);
        }
        members[i].value = cor_json_extents_value(&w->extents, &it);
    }
    if (i > 1)
        qsort(members, i, sizeof(*members), compare_members);
    *ret_members = members;
    *ret_n = i;
    return true;
}

static bool emit_value(struct writer *w, struct cor_str value);

static bool emit_object(struct writer *w, struct cor_str value)
{
    struct member *members;
    yaml_event_t ev;
    size_t n;
    bool ok;

    if (!collect(w, value, &members, &n))
        return false;
    ok = yaml_mapping_start_event_initialize(&ev, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE) &&
         emit(w, &ev);
    for (size_t i = 0; ok && i < n; i++)
        ok = emit_text(w, members[i].key) && emit_value(w, members[i].value);
    members_free(members, n);
    return ok && yaml_mapping_end_event_initialize(&ev) && emit(w, &ev);
}

static bool emit_array(struct writer *w, struct cor_str value)
{
    struct cor_json_iter it = cor_json_iter(value);
    yaml_event_t ev;

    if (!yaml_sequence_start_event_initialize(&ev, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE) ||
        !emit(w, &ev))
        return false;
    while (cor_json_iter_elem(&it))
        if (!emit_value(w, cor_json_extents_value(&w->extents, &it)))
            return false;
    return yaml_sequence_end_event_initialize(&ev) && emit(w, &ev);
}

static bool emit_value(struct writer *w, struct cor_str value)
{
    switch (cor_json_type(value)) {
    case COR_JSON_OBJECT:
        return emit_object(w, value);
    case COR_JSON_ARRAY:
        return emit_array(w, value);
    case COR_JSON_STRING:
        return emit_string(w, value);
    case COR_JSON_NUMBER:
        return emit_number(w, value);
    case COR_JSON_BOOL:
    case COR_JSON_NULL:
    case COR_JSON_NONE:
        break;
    }
    return emit_scalar(w, value, YAML_PLAIN_SCALAR_STYLE);
}

static bool emit_document(struct writer *w, struct cor_str json)
{
    yaml_event_t ev;

    return yaml_stream_start_event_initialize(&ev, YAML_UTF8_ENCODING) && emit(w, &ev) &&
           yaml_document_start_event_initialize(&ev, NULL, NULL, NULL, 1) && emit(w, &ev) &&
           emit_value(w, json) && yaml_document_end_event_initialize(&ev, 1) && emit(w, &ev) &&
           yaml_stream_end_event_initialize(&ev) && emit(w, &ev);
}

int cor_yaml_from_json(struct cor_str json, struct cor_buf *out)
{
    struct writer w = {.out = out};
    size_t before = out->n;
    bool ok;

    json = cor_json_first_value(json);
    if (cor_json_extents_init(&w.extents, json) < 0)
        return -COR_ENOMEM;
    if (!yaml_emitter_initialize(&w.emitter)) {
        cor_json_extents_deinit(&w.extents);
        return -COR_ENOMEM;
    }
    yaml_emitter_set_output(&w.emitter, write_bytes, &w);
    yaml_emitter_set_unicode(&w.emitter, 1);
    ok = emit_document(&w, json);
    yaml_emitter_delete(&w.emitter);
    cor_json_extents_deinit(&w.extents);
    if (!ok) {
        cor_buf_truncate(out, before);
        return w.error ? w.error : -COR_ENOMEM;
    }
    /* libyaml marks the end of a text that ends in empty lines; one document needs no mark. */
    if (cor_str_ends(cor_str_from(cor_buf_str(out), before), COR_STR("\n...\n")))
        cor_buf_truncate(out, out->n - 4);
    return 0;
}
