/* Fields of a check's structs by their names, as hooks know them.
 *
 * A caller that needs only the value of a field gets it from its node: a place with its path, and
 * its counterpart in the old object, are made for those who look further or report. The schemas of
 * a CustomResourceDefinition are asked for some forty fields each, most of which are absent.
 *
 * Failures: no memory, which is kept in the errors. Thread: one at a time. */
#include <assert.h>
#include <string.h>

#include "schema/check/check.h"
#include "schema/types/types_int.h"

/* A member that was looked for by its name. */
struct known_member {
    const struct cor_type *type;
    const char *name; /* NULL: none */
    uint32_t member;
};

/* The index of a member. Hooks ask for the same few names again and again, by the same literals:
 * a thread remembers these by their addresses, for all checks, and the text is compared once more.
 */
static size_t find_member(const struct cor_type *type, const char *name)
{
    static _Thread_local struct known_member members[256];
    uintptr_t hash = ((uintptr_t)name ^ (uintptr_t)type << 5) * 0x9e3779b97f4a7c15u;
    struct known_member *known = &members[hash >> (sizeof(hash) * 8 - 8)];
    size_t member;

    if (known->type == type && known->name == name) {
        member = known->member;
        if (strcmp(cor_type_pool +
                       cor_type_fields[cor_type_members[type->first_member + member].field].name,
                   name) == 0)
            return member;
    }
    member = cor_type_member_index(type, cor_strz(name));
    if (member != SIZE_MAX)
        *known = (struct known_member){type, name, (uint32_t)member};
    return member;
}

bool cor_place_field(struct cor_check *check, const struct cor_place *place, const char *name,
                     struct cor_place *ret_field)
{
    size_t member = find_member(place->type, name);

    assert(member != SIZE_MAX);
    return cor_place_member(check, place, member, ret_field);
}

/* The node of the field in the object that the place is read from. */
static uint32_t field_node(struct cor_check *check, const struct cor_place *place, const char *name)
{
    size_t member = find_member(place->type, name);

    assert(member != SIZE_MAX && place->type->shape == COR_SHAPE_STRUCT);
    return cor_check_slot(check, place->is_old, place->type,
                          place->is_old ? place->old : place->node, member);
}

bool cor_field_is_present(struct cor_check *check, const struct cor_place *place, const char *name)
{
    return field_node(check, place, name) != COR_JSON_NO_NODE;
}

struct cor_str cor_field_text(struct cor_check *check, const struct cor_place *place,
                              const char *name)
{
    return cor_check_node_text(check, place->is_old, field_node(check, place, name));
}

int64_t cor_field_int(struct cor_check *check, const struct cor_place *place, const char *name)
{
    return cor_check_node_int(check, place->is_old, field_node(check, place, name));
}

bool cor_field_bool(struct cor_check *check, const struct cor_place *place, const char *name)
{
    uint32_t node = field_node(check, place, name);
    const struct cor_json_nodes *nodes = place->is_old ? &check->old.nodes : &check->object.nodes;

    return node != COR_JSON_NO_NODE && cor_json_node_first(nodes, node) == 't';
}
