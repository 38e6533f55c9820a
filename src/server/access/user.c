#include "server/access/user.h"

#include "json/write/print.h"

const struct cor_user *cor_user_or_server(const struct cor_user *user)
{
    static const struct cor_str groups[] = {COR_STR_INIT("system:masters")};
    static const struct cor_user server = {
        .name = COR_STR_INIT("system:apiserver"), .groups = groups, .ngroups = 1};

    return user ? user : &server;
}

/* Extras are ordered by key: the values of one key follow one another. */
void cor_user_write_extras(const struct cor_user *user, struct cor_json_writer *w)
{
    const struct cor_user_extra *extra = user->extras, *end = extra + user->nextras;

    cor_json_key(w, COR_STR("extra"));
    cor_json_begin_object(w);
    while (extra < end) {
        struct cor_str key = extra->key;

        cor_json_key(w, key);
        cor_json_begin_array(w);
        for (; extra < end && cor_str_eq(extra->key, key); extra++)
            cor_json_string(w, extra->value);
        cor_json_end_array(w);
    }
    cor_json_end_object(w);
}

void cor_user_write(const struct cor_user *user, struct cor_json_writer *w)
{
    cor_json_begin_object(w);
    if (user->nextras > 0)
        cor_user_write_extras(user, w);
    if (user->ngroups > 0) {
        cor_json_key(w, COR_STR("groups"));
        cor_json_begin_array(w);
        for (size_t i = 0; i < user->ngroups; i++)
            cor_json_string(w, user->groups[i]);
        cor_json_end_array(w);
    }
    cor_json_print(w, "uid?:%s,username:%s}", user->uid, user->name);
}
