/* The envelope around a message: "k8s", a zero byte, and a runtime.Unknown with apiVersion, kind
 * and the message's bytes. Everything is borrowed from the body. Thread: any. */
#include "schema/protobuf/protobuf.h"

#include <stdio.h>

#include "base/err.h"

/* The last field with this number that holds bytes; empty: there is none. 0 or -COR_EINVAL. */
static int find_bytes(struct cor_str message, uint32_t number, struct cor_str *ret,
                      struct cor_pb_error *reterr)
{
    struct cor_wire_item item;
    int more;

    *ret = COR_STR("");
    while ((more = cor_pb_take_item(&message, "Unknown", &item, reterr)) == 1) {
        if (item.number == number && item.wire == COR_WIRE_LEN)
            *ret = item.bytes;
    }
    return more;
}

int cor_protobuf_open(struct cor_str body, struct cor_protobuf *ret_object,
                      struct cor_pb_error *reterr)
{
    struct cor_str type;
    int r;

    if (body.n == 0)
        return cor_pb_refuse(reterr, "empty data");
    if (!cor_str_starts(body, COR_PROTOBUF_PREFIX))
        return cor_pb_refuse(reterr, "provided data does not appear to be a protobuf message, "
                                     "expected prefix [107 56 115 0]");
    body = cor_str_from(body, COR_PROTOBUF_PREFIX.n);
    if (body.n == 0)
        return cor_pb_refuse(reterr, "empty body");
    r = find_bytes(body, 1, &type, reterr);
    if (r == 0)
        r = find_bytes(body, 2, &ret_object->raw, reterr);
    if (r == 0)
        r = find_bytes(type, 1, &ret_object->api_version, reterr);
    return r == 0 ? find_bytes(type, 2, &ret_object->kind, reterr) : r;
}

const struct cor_type *cor_protobuf_type(const struct cor_protobuf *object,
                                         const struct cor_gvk *expected)
{
    struct cor_gv gv = {expected->group, expected->version};
    struct cor_str kind = object->kind.n > 0 ? object->kind : expected->kind;
    const struct cor_type *type;
    char name[128];

    if (object->api_version.n > 0 && cor_gv_parse(object->api_version, &gv, NULL) < 0)
        return NULL;
    type = cor_type_of_kind(gv.group, gv.version, kind);
    if (type)
        return type;
    snprintf(name, sizeof(name), "meta_v1.%.*s", COR_STR_ARG(kind));
    type = cor_type_named(cor_strz(name));
    return type && cor_type_shape(type) == COR_SHAPE_STRUCT ? type : NULL;
}
