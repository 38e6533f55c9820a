/* Reads an APIService object into the form that requests are routed by. All texts are copied into
 * one block, so that nothing of the object stays.
 *
 * Failures: no memory; an object that validation would not let in (another program may have written
 * to the store), which is not served.
 * Thread: any. */
#include "server/catalog/api_service.h"

#include <assert.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "coracle/view.h"

#define TEXT_MAX     256 /* of a name */
#define PRIORITY_MAX 20000
#define PORT_DEFAULT 443

/* Is the name "<version>.<group>"? Then no two services have the same group version. */
static bool is_named(const struct cor_api_service *s)
{
    return s->name.n == s->version.n + 1 + s->group.n && cor_str_starts(s->name, s->version) &&
           s->name.p[s->version.n] == '.' &&
           cor_str_eq(cor_str_from(s->name, s->version.n + 1), s->group);
}

/* What is read of an object before it is copied. */
struct read {
    char name[TEXT_MAX], ns[TEXT_MAX];
    struct cor_buf api_version, ca_bundle;
};

static struct cor_view member(struct cor_view view, const char *key)
{
    return cor_view_member(view, cor_strz(key));
}

static struct cor_view spec_of(const struct cor_object *object)
{
    return member(cor_object_view(object), "spec");
}

static int read_remote(struct cor_api_service *s, struct cor_view spec, struct read *to)
{
    struct cor_view service = member(spec, "service");
    struct cor_str bundle = cor_view_text_or(member(spec, "caBundle"), NULL, 0, "");
    int64_t port = cor_view_int_or(member(service, "port"), PORT_DEFAULT);

    s->service_ns = cor_view_text_or(member(service, "namespace"), to->ns, sizeof(to->ns), "");
    s->service_name = cor_view_text_or(member(service, "name"), to->name, sizeof(to->name), "");
    s->insecure_skip_tls_verify = cor_view_bool_or(member(spec, "insecureSkipTLSVerify"), false);
    if (port < 1 || port > UINT16_MAX || s->service_name.n == 0 || s->service_ns.n == 0)
        return -COR_EINVAL;
    s->service_port = (uint16_t)port;
    if (bundle.n > 0) {
        int r = cor_base64_decode(COR_BASE64_STD, bundle, &to->ca_bundle, NULL);

        if (r < 0)
            return r;
        s->ca_bundle = cor_buf_str(&to->ca_bundle);
    }
    return 0;
}

static int read_spec(struct cor_api_service *s, const struct cor_object *object, struct read *to)
{
    struct cor_view spec = spec_of(object);
    int64_t group_priority = cor_view_int_or(member(spec, "groupPriorityMinimum"), 0);
    int64_t version_priority = cor_view_int_or(member(spec, "versionPriority"), 0);
    int r;

    s->name = cor_object_name(object);
    s->uid = cor_object_uid(object);
    s->rev = object->rev;
    s->spec = spec.json;
    s->group = cor_view_text_or(member(spec, "group"), NULL, 0, "");
    s->version = cor_view_text_or(member(spec, "version"), NULL, 0, "");
    if (s->version.n == 0 || !is_named(s) || group_priority < 1 || group_priority > PRIORITY_MAX ||
        version_priority < 1 || version_priority > PRIORITY_MAX)
        return -COR_EINVAL;
    s->group_priority = (int32_t)group_priority;
    s->version_priority = (int32_t)version_priority;
    r = cor_buf_addf(&to->api_version, "%.*s%s%.*s", COR_STR_ARG(s->group), s->group.n ? "/" : "",
                     COR_STR_ARG(s->version));
    if (r < 0)
        return r;
    s->api_version = cor_buf_str(&to->api_version);
    s->is_remote = cor_view_type(member(spec, "service")) == COR_JSON_OBJECT;
    return s->is_remote ? read_remote(s, spec, to) : 0;
}

bool cor_api_service_says_available(const struct cor_object *object)
{
    struct cor_view status = member(cor_object_view(object), "status");
    struct cor_view_iter it = cor_view_iter(member(status, "conditions"));

    while (cor_view_next(&it)) {
        if (cor_str_eqz(cor_view_text_or(member(it.value, "type"), NULL, 0, ""), "Available"))
            return cor_str_eqz(cor_view_text_or(member(it.value, "status"), NULL, 0, ""), "True");
    }
    return false;
}

int cor_api_service_new(const struct cor_object *object, struct cor_api_service **ret_service)
{
    struct cor_api_service *s = cor_calloc(1, sizeof(*s));
    struct read to;
    int r;

    assert(object);
    if (!s)
        return -COR_ENOMEM;
    cor_ref_init(&s->refs);
    cor_buf_init(&to.api_version, 2 * TEXT_MAX);
    cor_buf_init(&to.ca_bundle, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = read_spec(s, object, &to);
    if (r == 0) {
        struct cor_str *const texts[] = {&s->name,        &s->group,      &s->version,
                                         &s->api_version, &s->service_ns, &s->service_name,
                                         &s->ca_bundle,   &s->uid,        &s->spec};

        r = cor_str_gather(texts, COR_ARRAY_LEN(texts), &s->block);
    }
    cor_buf_deinit(&to.api_version);
    cor_buf_deinit(&to.ca_bundle);
    if (r < 0) {
        cor_free(s);
        return r == -COR_ENOMEM ? r : -COR_EINVAL;
    }
    atomic_init(&s->is_available, cor_api_service_says_available(object));
    *ret_service = s;
    return 0;
}

struct cor_api_service *cor_api_service_ref(struct cor_api_service *service)
{
    cor_ref_get(&service->refs);
    return service;
}

struct cor_api_service *cor_api_service_unref(struct cor_api_service *service)
{
    if (!service || !cor_ref_put(&service->refs))
        return NULL;
    cor_free(service->block);
    return cor_free(service);
}

bool cor_api_service_is_of(const struct cor_api_service *service, const struct cor_object *object)
{
    return cor_str_eq(service->uid, cor_object_uid(object)) &&
           cor_str_eq(service->spec, spec_of(object).json);
}
