#include "schema/protobuf.h"

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "meta/time_text.h"
#include "json/json.h"
#include "json/writer.h"

/* Each field of a message is looked for in all of it. */
#define MESSAGE_BYTES_MAX (3u << 20)

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

/* One field on the wire. */
struct item {
    uint32_t number;
    enum wire wire;
    uint64_t value;       /* of a varint */
    struct cor_str bytes; /* of BYTES */
};

static int take_varint(struct cor_str *in, uint64_t *ret)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && in->n > 0; shift += 7) {
        unsigned char c = (unsigned char)in->p[0];

        *in = cor_str_from(*in, 1);
        value |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            *ret = value;
            return 0;
        }
    }
    return -COR_EINVAL;
}

static int take_bytes(struct cor_str *in, uint64_t n, struct cor_str *ret)
{
    if (n > in->n)
        return -COR_EINVAL;
    *ret = cor_str(in->p, (size_t)n);
    *in = cor_str_from(*in, (size_t)n);
    return 0;
}

/* 1: an item; 0: the end; -COR_EINVAL. */
static int take_item(struct cor_str *in, struct item *ret)
{
    uint64_t tag, n;

    if (in->n == 0)
        return 0;
    if (take_varint(in, &tag) < 0 || tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
        return -COR_EINVAL;
    *ret = (struct item){.number = (uint32_t)(tag >> 3), .wire = (enum wire)(tag & 7)};
    switch (ret->wire) {
    case VARINT:
        return take_varint(in, &ret->value) < 0 ? -COR_EINVAL : 1;
    case FIXED64:
        return take_bytes(in, 8, &ret->bytes) < 0 ? -COR_EINVAL : 1;
    case FIXED32:
        return take_bytes(in, 4, &ret->bytes) < 0 ? -COR_EINVAL : 1;
    case BYTES:
        return take_varint(in, &n) < 0 || take_bytes(in, n, &ret->bytes) < 0 ? -COR_EINVAL : 1;
    }
    return -COR_EINVAL;
}

/* The next item with this number and kind of content. 1, 0, -COR_EINVAL. */
static int next_of(struct cor_str *in, uint32_t number, enum wire wire, struct item *ret)
{
    int r;

    do {
        r = take_item(in, ret);
    } while (r == 1 && (ret->number != number || ret->wire != wire));
    return r;
}

/* The last one counts. 1, 0, -COR_EINVAL. */
static int find_last(struct cor_str in, uint32_t number, enum wire wire, struct item *ret)
{
    struct item item;
    int r, found = 0;

    while ((r = next_of(&in, number, wire, &item)) == 1) {
        *ret = item;
        found = 1;
    }
    return r < 0 ? r : found;
}

static enum wire wire_of(enum cor_pb_type type)
{
    return type == COR_PB_INT || type == COR_PB_BOOL ? VARINT : BYTES;
}

static int write_message(const struct cor_pb_message *m, struct cor_str in,
                         struct cor_json_writer *w);

static int write_bytes(struct cor_str bytes, struct cor_json_writer *w)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r;

    cor_buf_init(&text, 2 * MESSAGE_BYTES_MAX);
    r = cor_base64_encode(COR_BASE64_STD, bytes, &text);
    if (r == 0)
        cor_json_string(w, cor_buf_str(&text));
    return r;
}

static int write_time(struct cor_str in, struct cor_json_writer *w)
{
    char text[COR_TIME_TEXT_MAX];
    struct item seconds;
    int r = find_last(in, 1, VARINT, &seconds);

    if (r < 0)
        return r;
    if (r == 1 && (int64_t)seconds.value >= -62135596800 && seconds.value < 253402300800u)
        cor_json_string(w, cor_time_print((int64_t)seconds.value, text));
    else
        cor_json_null(w);
    return 0;
}

static int write_json(struct cor_str in, struct cor_json_writer *w)
{
    const struct cor_json_limits limits = {MESSAGE_BYTES_MAX, COR_JSON_DEPTH_MAX / 2};
    struct item raw;
    bool canonical;
    int r = find_last(in, 1, BYTES, &raw);

    if (r < 0)
        return r;
    if (r == 1 && cor_json_check(raw.bytes, &limits, &canonical, NULL) == 0)
        cor_json_raw(w, raw.bytes);
    else
        cor_json_null(w);
    return 0;
}

static int write_list(struct cor_str in, struct cor_json_writer *w)
{
    struct item item;
    int r;

    cor_json_begin_array(w);
    while ((r = next_of(&in, 1, BYTES, &item)) == 1)
        cor_json_string(w, item.bytes);
    cor_json_end_array(w);
    return r;
}

static int write_value(const struct cor_pb_field *field, const struct item *item,
                       struct cor_json_writer *w)
{
    switch (field->type) {
    case COR_PB_STRING:
        cor_json_string(w, item->bytes);
        return 0;
    case COR_PB_BYTES:
        return write_bytes(item->bytes, w);
    case COR_PB_INT:
        cor_json_i64(w, (int64_t)item->value);
        return 0;
    case COR_PB_BOOL:
        cor_json_bool(w, item->value != 0);
        return 0;
    case COR_PB_TIME:
        return write_time(item->bytes, w);
    case COR_PB_JSON:
        return write_json(item->bytes, w);
    case COR_PB_MESSAGE:
        return write_message(field->message, item->bytes, w);
    case COR_PB_LIST_IN_MESSAGE:
        return write_list(item->bytes, w);
    }
    return 0;
}

/* Go leaves such values out of JSON. */
static bool is_empty(const struct cor_pb_field *field, const struct item *item)
{
    if (field->flags & COR_PB_POINTER)
        return false;
    return item->wire == VARINT ? item->value == 0 : item->bytes.n == 0;
}

/* A map's entry is a message of its key and its value, either of which may be left out. */
static int write_entry(const struct cor_pb_field *field, struct cor_str entry,
                       struct cor_json_writer *w)
{
    struct item key = {.bytes = COR_STR("")}, value = {.bytes = COR_STR("")};
    int r = find_last(entry, 1, BYTES, &key);

    if (r >= 0)
        r = find_last(entry, 2, BYTES, &value);
    if (r < 0)
        return r;
    cor_json_key(w, key.bytes);
    return write_value(field, &value, w);
}

static int write_many(const struct cor_pb_field *field, struct cor_str in,
                      struct cor_json_writer *w)
{
    bool is_map = field->flags & COR_PB_MAP;
    struct item item;
    size_t n = 0;
    int r;

    for (; (r = next_of(&in, field->number, BYTES, &item)) == 1; n++) {
        if (n == 0) {
            cor_json_key(w, cor_strz(field->name));
            if (is_map)
                cor_json_begin_object(w);
            else
                cor_json_begin_array(w);
        }
        r = is_map ? write_entry(field, item.bytes, w) : write_value(field, &item, w);
        if (r < 0)
            return r;
    }
    if (n > 0 && is_map)
        cor_json_end_object(w);
    else if (n > 0)
        cor_json_end_array(w);
    return r;
}

static int write_fields(const struct cor_pb_message *m, struct cor_str in,
                        struct cor_json_writer *w)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct cor_pb_field *field = &m->v[i];
        struct item item;
        int r;

        if (field->flags & (COR_PB_REPEATED | COR_PB_MAP)) {
            r = write_many(field, in, w);
        } else {
            r = find_last(in, field->number, wire_of(field->type), &item);
            if (r == 1 && !is_empty(field, &item)) {
                cor_json_key(w, cor_strz(field->name));
                r = write_value(field, &item, w);
            }
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int write_message(const struct cor_pb_message *m, struct cor_str in,
                         struct cor_json_writer *w)
{
    int r;

    cor_json_begin_object(w);
    r = write_fields(m, in, w);
    cor_json_end_object(w);
    return r;
}

static const struct cor_pb_message *find_kind(struct cor_str api_version, struct cor_str kind)
{
    size_t n;
    const struct cor_pb_kind *kinds = cor_pb_kinds(&n);

    for (size_t i = 0; i < n; i++) {
        if (cor_str_eqz(kind, kinds[i].kind) &&
            (!kinds[i].api_version || cor_str_eqz(api_version, kinds[i].api_version)))
            return kinds[i].message;
    }
    return NULL;
}

/* The envelope: kind and version, and the bytes of the message, which nothing has encoded once
 * more.
 */
static int open_envelope(struct cor_str body, struct cor_str *ret_version, struct cor_str *ret_kind,
                         struct cor_str *ret_raw)
{
    struct item type = {.bytes = COR_STR("")}, version = type, kind = type, raw = type,
                encoding = type;

    if (!cor_str_starts(body, COR_PROTOBUF_PREFIX))
        return -COR_EINVAL;
    body = cor_str_from(body, 4);
    if (find_last(body, 1, BYTES, &type) < 0 || find_last(body, 2, BYTES, &raw) < 0 ||
        find_last(body, 3, BYTES, &encoding) < 0 || encoding.bytes.n > 0 ||
        find_last(type.bytes, 1, BYTES, &version) < 0 || find_last(type.bytes, 2, BYTES, &kind) < 0)
        return -COR_EINVAL;
    *ret_version = version.bytes;
    *ret_kind = kind.bytes;
    *ret_raw = raw.bytes;
    return 0;
}

int cor_protobuf_to_json(struct cor_str body, struct cor_buf *out)
{
    const struct cor_pb_message *message;
    struct cor_str version, kind, raw;
    struct cor_json_writer w;
    int r = body.n > MESSAGE_BYTES_MAX ? -COR_ETOOBIG : open_envelope(body, &version, &kind, &raw);

    if (r < 0)
        return r;
    message = find_kind(version, kind);
    if (!message)
        return -COR_ENOTSUP;
    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), kind);
    cor_json_member(&w, COR_STR("apiVersion"), version);
    r = write_fields(message, raw, &w);
    cor_json_end_object(&w);
    return r < 0 ? r : cor_json_writer_finish(&w);
}
