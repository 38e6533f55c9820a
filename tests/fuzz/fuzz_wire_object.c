/* Promises of objects that came as protobuf, on any bytes: nothing outside of them is read, every
 * field can be asked for, the JSON that is made of them is JSON, and what the head says the JSON
 * says, too. The first byte chooses the kind. */
#include <string.h>

#include "coracle/metadata.h"
#include "coracle/types/apiextensions_v1.h"
#include "coracle/types/apps_v1.h"
#include "coracle/types/authorization_v1.h"
#include "coracle/types/core_v1.h"
#include "fuzz.h"
#include "meta/object/object_wire.h"
#include "json/text/json.h"

#define DEPTH_MAX 12
#define ASKED_MAX 100000

static const struct cor_wire_type *const types[] = {
    &cor_core_v1_pod_wire,        &cor_apps_v1_stateful_set_wire,
    &cor_core_v1_secret_wire,     &cor_apiextensions_v1_custom_resource_definition_wire,
    &cor_core_v1_config_map_wire, &cor_authorization_v1_subject_access_review_wire,
    &cor_core_v1_service_wire,
};

static size_t asked;
/* Volatile: a compiler may leave out the reads of bytes that nobody asks for afterwards, and then
 * the sanitizers have nothing to check. */
static volatile size_t seen;

static void see(struct cor_str bytes)
{
    size_t sum = 0;

    for (size_t i = 0; i < bytes.n; i++)
        sum += (unsigned char)bytes.p[i];
    seen = sum;
}

static void see_text(struct cor_text text)
{
    static char buf[1 << 17];
    struct cor_str decoded;

    see(text.raw);
    if (cor_text_exists(text) && text.raw.n <= sizeof(buf))
        FUZZ_CHECK(cor_text_get(text, buf, sizeof(buf), &decoded) == 0);
}

/* The field as a generated accessor names it (gen/wire_tables.c). */
static uint64_t field_of(const struct cor_wire_field *f)
{
    bool is_list = f->flags & COR_WIRE_LIST, is_map = f->flags & COR_WIRE_MAP;
    bool has_text = f->shape == COR_WIRE_STRUCT || f->shape == COR_WIRE_STRING ||
                    (f->shape == COR_WIRE_QUANTITY && !is_list);
    bool is_number = f->shape >= COR_WIRE_BOOL && f->shape <= COR_WIRE_DOUBLE;
    unsigned flags = f->flags;

    if (!has_text && (is_list || is_map || !is_number))
        flags |= COR_VALUE_JSON;
    else if (f->shape == COR_WIRE_QUANTITY)
        flags |= COR_VALUE_QUANTITY;
    return COR_VALUE_FIELD(f->name_len, f->number, f->via[0], f->via[1], flags);
}

static void ask_struct(struct cor_value at, const struct cor_wire_type *type, unsigned depth);

static void ask_list(struct cor_value list, const struct cor_wire_field *f, unsigned depth)
{
    struct cor_value one;
    struct cor_text text;
    size_t n = cor_value_len(list);

    if (f->shape == COR_WIRE_STRING) {
        struct cor_text_array texts = {list};

        while (n > 0 && cor_text_array_next(&texts, &text)) {
            see_text(text);
            n--;
        }
    } else {
        while (n > 0 && cor_value_next(&list, &one)) {
            if (f->shape == COR_WIRE_STRUCT)
                ask_struct(one, f->of, depth);
            else
                see(cor_value_view(one).json);
            n--;
        }
    }
    FUZZ_CHECK(n == 0);
}

static void ask_map(struct cor_value map, const struct cor_wire_field *f, unsigned depth)
{
    struct cor_value one;
    struct cor_text key, text;

    if (f->shape == COR_WIRE_STRING || f->shape == COR_WIRE_QUANTITY) {
        struct cor_text_map texts = {map};

        while (cor_text_map_next(&texts, &key, &text)) {
            see_text(key);
            see_text(text);
        }
        see_text(cor_text_map_get((struct cor_text_map){map}, COR_STR("a")));
        return;
    }
    see(cor_value_view(cor_value_entry(map, COR_STR("a"))).json);
    while (cor_value_next_member(&map, &key, &one)) {
        see_text(key);
        if (f->shape == COR_WIRE_STRUCT)
            ask_struct(one, f->of, depth);
        else
            see(cor_value_view(one).json);
    }
}

static void ask_field(struct cor_value at, const struct cor_wire_field *f, unsigned depth)
{
    uint64_t field = field_of(f);

    if (f->flags & COR_WIRE_LIST) {
        ask_list(cor_value_member(at, f->name, field), f, depth);
    } else if (f->flags & COR_WIRE_MAP) {
        ask_map(cor_value_member(at, f->name, field), f, depth);
    } else if (f->shape == COR_WIRE_STRUCT) {
        ask_struct(cor_value_member(at, f->name, field), f->of, depth);
    } else if (f->shape == COR_WIRE_STRING || f->shape == COR_WIRE_QUANTITY ||
               f->shape == COR_WIRE_TIME || f->shape == COR_WIRE_MICRO_TIME) {
        see_text(cor_value_string(at, f->name, field));
    } else if (f->shape >= COR_WIRE_BOOL && f->shape <= COR_WIRE_DOUBLE) {
        seen = cor_value_has(at, f->name, field) + cor_value_bool(at, f->name, field) +
               (size_t)cor_value_int32(at, f->name, field) +
               (size_t)cor_value_int64(at, f->name, field) +
               (cor_value_double(at, f->name, field) > 0);
    } else {
        see(cor_value_any(at, f->name, field).json);
    }
}

static void ask_struct(struct cor_value at, const struct cor_wire_type *type, unsigned depth)
{
    if (!cor_value_exists(at) || depth == DEPTH_MAX)
        return;
    for (size_t i = 0; i < type->nfields && asked < ASKED_MAX; i++, asked++)
        ask_field(at, &type->fields[i], depth + 1);
    see(cor_value_view(at).json);
}

static void check_json(const struct cor_object *object)
{
    const struct cor_json_limits limits = {UINT32_MAX - 1, COR_JSON_DEPTH_MAX, .any_number = true};
    struct cor_str json = cor_object_json(object);
    struct cor_view meta = cor_view_member(cor_object_view(object), COR_STR("metadata"));
    struct cor_str name = cor_object_name(object), version = cor_object_resource_version(object);
    bool is_canonical;

    FUZZ_CHECK(json.n > 0 && json.p[json.n] == '\0');
    FUZZ_CHECK(cor_json_check(json, &limits, &is_canonical, NULL) == 0);
    FUZZ_CHECK(cor_json_check(cor_object_head(object), &limits, &is_canonical, NULL) == 0);
    FUZZ_CHECK(
        cor_str_eq(cor_view_text_or(cor_view_member(meta, COR_STR("name")), NULL, 0, ""), name));
    FUZZ_CHECK(cor_str_eq(
        cor_view_text_or(cor_view_member(meta, COR_STR("resourceVersion")), NULL, 0, ""), version));
    FUZZ_CHECK(cor_object_generation(object) ==
               cor_view_int_or(cor_view_member(meta, COR_STR("generation")), 0));
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    const struct cor_wire_type *type =
        types[(size > 0 ? data[0] : 0) % (sizeof(types) / sizeof(types[0]))];
    struct cor_str message = cor_str((const char *)data + (size > 0), size > 0 ? size - 1 : 0);
    struct cor_object *object;
    struct cor_status why = {0};
    int r = cor_object_received_wire(message, type, &object, &why);

    FUZZ_CHECK(r == why.err);
    if (r == 0) {
        struct cor_value at = cor_value_of_wire_object(object, type->api_version, type->kind);

        asked = 0;
        ask_struct(at, type, 0);
        FUZZ_CHECK(cor_value_exists(at));
        if (object->has_wire)
            check_json(object);
        cor_object_unref(object);
    }
    cor_status_deinit(&why);
    return 0;
}
