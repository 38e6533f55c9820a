/* clang-format off */
/* Makes the options of a connection from its query, by the members of their kind, as upstream
 * converts a query into its type:
 *
 *   a boolean        the first value: false if it is 0 or false, else true
 *   a text           the first value
 *   a list of texts  all values
 *   a list of ports  all values, each with commas between the numbers
 *   path             of a subresource that takes one: what follows it in the path of the request
 *
 * The length of a query bounds the object.
 * Failures: 400 for a port, in upstream's words; no memory.
 * Thread: the call's loop. */
/* clang-format on */
#include "server/verbs/connect_options.h"

#include <assert.h>
#include <strings.h>

#include "base/err.h"
#include "base/limits.h"
#include "http/url.h"
#include "meta/status/quote.h"
#include "schema/types/types.h"
#include "json/write/writer.h"

#define PORT_MAX 65535

struct options {
    struct cor_call *call;
    struct cor_json_writer w;
    struct cor_buf value; /* decoded */
};

/* Decodes the next value of `name` in the rest of a query. 1: there is one; 0; -COR_ENOMEM. */
static int options_next(struct options *o, struct cor_str *rest, struct cor_str name)
{
    struct cor_str raw_name, raw;
    int r;

    while ((r = cor_url_query_next(rest, &raw_name, &raw)) != 0) {
        if (r < 0 || !cor_url_query_is(raw_name, name))
            continue;
        cor_buf_reset(&o->value);
        r = cor_url_unescape(raw, COR_URL_QUERY, &o->value);
        if (r != -COR_EINVAL)
            return r < 0 ? r : 1;
    }
    return 0;
}

static int options_refuse_port(struct options *o, struct cor_str port, const char *why)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};

    if (cor_quote(port, &quoted) < 0)
        return cor_status_no_memory(&o->call->status);
    return cor_status_bad_request(&o->call->status,
                                  "cannot convert to []int32: strconv.ParseUint: parsing %.*s: %s",
                                  COR_STR_ARG(cor_buf_str(&quoted)), why);
}

/* The numbers of one value. */
static int options_write_ports(struct options *o)
{
    struct cor_str rest = cor_buf_str(&o->value);

    do {
        struct cor_str port = cor_str_cut(&rest, ',');
        uint64_t number = 0;

        for (size_t i = 0; i < port.n; i++) {
            if (port.p[i] < '0' || port.p[i] > '9')
                return options_refuse_port(o, port, "invalid syntax");
            number = number <= PORT_MAX ? number * 10 + (uint64_t)(port.p[i] - '0') : number;
        }
        if (port.n == 0)
            return options_refuse_port(o, port, "invalid syntax");
        if (number > PORT_MAX)
            return options_refuse_port(o, port, "value out of range");
        cor_json_i64(&o->w, (int64_t)number);
    } while (rest.p);
    return 0;
}

static int options_write_list(struct options *o, struct cor_str name, bool is_of_texts)
{
    struct cor_str rest = o->call->req->query;
    int r, r_value = 0;

    cor_json_key(&o->w, name);
    cor_json_begin_array(&o->w);
    while ((r = options_next(o, &rest, name)) > 0 && r_value == 0) {
        if (is_of_texts)
            cor_json_string(&o->w, cor_buf_str(&o->value));
        else
            r_value = options_write_ports(o);
    }
    cor_json_end_array(&o->w);
    return r < 0 ? cor_status_set_err(&o->call->status, r) : r_value;
}

static bool is_false(struct cor_str value)
{
    return cor_str_eqz(value, "0") || (value.n == 5 && strncasecmp(value.p, "false", 5) == 0);
}

/* What follows the subresource in the path: "/a/b" of /api/v1/nodes/n/proxy/a/b. */
static struct cor_str path_behind(const struct cor_request_info *info)
{
    struct cor_str rest = info->path;

    for (size_t segments = info->in_namespace ? 8 : 6; segments > 0 && rest.p; segments--)
        (void)cor_str_cut(&rest, '/');
    return rest.p ? cor_str(rest.p - 1, rest.n + 1) : COR_STR("");
}

static int options_write_member(struct options *o, const struct cor_member *member)
{
    const struct cor_type *type = cor_type_field_type(member->field);
    struct cor_str name = cor_type_field_name(member->field), rest = o->call->req->query, value;
    int r;

    if (cor_type_shape(type) == COR_SHAPE_LIST)
        return options_write_list(o, name,
                                  cor_type_shape(cor_type_element(type)) == COR_SHAPE_STRING);
    r = options_next(o, &rest, name);
    if (r < 0)
        return cor_status_set_err(&o->call->status, r);
    value = r > 0 ? cor_buf_str(&o->value) : COR_STR("");
    if (o->call->sub->takes_path)
        value = path_behind(&o->call->req->info);
    if (cor_type_shape(type) == COR_SHAPE_BOOL && r > 0 && !is_false(value)) {
        cor_json_key(&o->w, name);
        cor_json_bool(&o->w, true);
    } else if (cor_type_shape(type) == COR_SHAPE_STRING && value.n > 0) {
        cor_json_member(&o->w, name, value);
    }
    return 0;
}

static int options_write(struct options *o)
{
    const struct cor_resource_row *row = o->call->res;
    struct cor_str kind = cor_strz(o->call->sub->kind);
    const struct cor_type *type = cor_type_of_kind(row->group, row->version, kind);
    struct cor_member member;
    int r = 0;

    assert(type);
    cor_json_begin_object(&o->w);
    cor_json_member(&o->w, COR_STR("kind"), kind);
    cor_json_member(&o->w, COR_STR("apiVersion"), row->api_version);
    cor_json_key(&o->w, COR_STR("metadata"));
    cor_json_begin_object(&o->w);
    cor_json_end_object(&o->w);
    for (size_t i = 0; i < cor_type_nmembers(type) && r == 0; i++) {
        cor_type_member(type, i, &member);
        if (!member.via[0]) /* the inlined members are apiVersion and kind */
            r = options_write_member(o, &member);
    }
    cor_json_end_object(&o->w);
    return r;
}

int cor_connect_options_make(struct cor_call *call, struct cor_object **ret_options)
{
    struct options o = {.call = call};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    int r;

    assert(call->req && call->sub && call->sub->connect != COR_CONNECT_NONE && call->sub->kind);
    cor_buf_init(&o.value, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_json_writer_init(&o.w, &json);
    r = options_write(&o);
    cor_buf_deinit(&o.value);
    if (r < 0)
        return r;
    r = cor_json_writer_finish(&o.w);
    if (r == 0)
        r = cor_object_parse(cor_buf_str(&json), NULL, NULL, NULL, ret_options, NULL);
    return r < 0 ? cor_status_set_err(&call->status, r) : 0;
}
