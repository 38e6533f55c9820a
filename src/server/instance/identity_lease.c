/* clang-format off */
/* The identity Lease (identity_lease.h).
 *
 *   renew: a merge patch of renewTime, duration and labels ──► 404: create it ──► on_renewed
 *   collect: list the labelled Leases (from the store) ──► remove each that has expired, by its uid and
 *   resourceVersion, so that a Lease that was renewed meanwhile stays ──► on_collected
 *
 * Upstream reads a Lease once more before it removes it; the preconditions take the place of that.
 * A Lease without a time or a duration has expired. Conflicts (409) and Leases that are not there
 * any more (404) are not failures: another server was faster. Other failures end the renewal or the
 * collection.
 * Thread: that of the port. */
/* clang-format on */
#include "server/instance/identity_lease.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "coracle/view.h"
#include "meta/value/time_text.h"
#include "net/crypto/crypto.h"
#include "json/write/print.h"

#define REQUEST_MS    30000
#define BODY_MAX      4096
#define EXPIRED_MAX   (64u * 1024)
#define COMPONENT     "kube-apiserver"
#define COMPONENT_KEY "apiserver.kubernetes.io/identity"
#define HOST_KEY      "kubernetes.io/hostname"
#define ID_BYTES      16 /* of the digest */
#define NAMESPACE     "kube-system"

static void lease_on_renewal(struct cor_api_request *req, const struct cor_api_answer *answer);
static int lease_on_item(struct cor_api_request *req, struct cor_object *item);
static void lease_on_collection(struct cor_api_request *req, const struct cor_api_answer *answer);

/* Base 32 (RFC 4648) in lower case and without padding. */
static void print_base32(const uint8_t *bytes, size_t n, char *out)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint32_t held = 0;
    unsigned bits = 0;

    for (size_t i = 0; i < n; i++) {
        held = held << 8 | bytes[i];
        for (bits += 8; bits >= 5; bits -= 5)
            *out++ = digits[held >> (bits - 5) & 31];
    }
    if (bits > 0)
        *out++ = digits[held << (5 - bits) & 31];
    *out = '\0';
}

/* A digest of the host's name and the component's, each after its length. 0, -COR_ENOMEM. */
static int print_id(struct cor_str host, char *out)
{
    static const char component[] = COMPONENT;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf in;
    uint8_t digest[COR_SHA256_BYTES];
    int r = 0;

    cor_buf_init(&in, COR_IDENTITY_HOST_MAX + sizeof(component) + 4);
    for (int part = 0; r == 0 && part < 2; part++) {
        struct cor_str text = part == 0 ? host : cor_str(component, sizeof(component) - 1);
        const uint8_t length[2] = {(uint8_t)(text.n >> 8), (uint8_t)text.n};

        r = cor_buf_add(&in, length, sizeof(length));
        if (r == 0)
            r = cor_buf_adds(&in, text);
    }
    if (r == 0)
        r = cor_sha256(cor_buf_str(&in), digest);
    if (r == 0)
        print_base32(digest, ID_BYTES, out);
    return r;
}

int cor_identity_lease_init(struct cor_identity_lease *l, struct cor_api_port *port,
                            const struct cor_clock *clock, struct cor_str host, struct cor_str uuid)
{
    static const struct cor_api_request_cbs renewal_cbs = {.on_done = lease_on_renewal};
    static const struct cor_api_request_cbs collection_cbs = {.on_item = lease_on_item,
                                                              .on_done = lease_on_collection};
    /* names a kind: the resource of the object */
    static const struct cor_gvr gvr = {COR_STR_INIT("coordination.k8s.io"), COR_STR_INIT("v1"),
                                       COR_STR_INIT("leases")};
    char id[COR_IDENTITY_ID_MAX];
    int r;

    assert(host.n < COR_IDENTITY_HOST_MAX);
    *l = (struct cor_identity_lease){.port = port, .clock = clock};
    cor_buf_init(&l->body, BODY_MAX);
    cor_buf_init(&l->expired, EXPIRED_MAX);
    r = print_id(host, id);
    if (r < 0)
        return r;
    snprintf(l->host, sizeof(l->host), "%.*s", (int)host.n, host.p);
    snprintf(l->name, sizeof(l->name), "apiserver-%.40s", id);
    snprintf(l->holder, sizeof(l->holder), "%s_%.*s", l->name, (int)uuid.n, uuid.p);
    l->renewal = (struct cor_api_request){.timeout_ms = REQUEST_MS, .cbs = &renewal_cbs};
    l->renewal.at =
        (struct cor_resource_path){.gvr = gvr, .ns = COR_STR(NAMESPACE), .name = cor_strz(l->name)};
    l->collection = (struct cor_api_request){.timeout_ms = REQUEST_MS, .cbs = &collection_cbs};
    l->collection.at = (struct cor_resource_path){.gvr = gvr, .ns = COR_STR(NAMESPACE)};
    return 0;
}

void cor_identity_lease_deinit(struct cor_identity_lease *l)
{
    cor_buf_deinit(&l->body);
    cor_buf_deinit(&l->expired);
}

/* ---- renewal ---- */

/* The patch that renews the Lease, or with the holder the whole Lease. */
static int lease_write(struct cor_identity_lease *l, bool is_new)
{
    char now[COR_MICRO_TIME_TEXT_MAX];
    struct cor_json_writer w;

    cor_buf_reset(&l->body);
    cor_json_writer_init(&w, &l->body);
    cor_json_print(&w,
                   "{metadata:{labels:{" COMPONENT_KEY ":'" COMPONENT "'," HOST_KEY
                   ":%s},name?:%s},spec:{holderIdentity?:%s,leaseDurationSeconds:%d,renewTime:%s}}",
                   l->host, is_new ? l->name : "", is_new ? l->holder : "", COR_IDENTITY_DURATION_S,
                   cor_micro_time_print(cor_clock_wall_ms(l->clock) * 1000, now));
    return cor_json_writer_finish(&w);
}

static void lease_send(struct cor_identity_lease *l, bool is_new)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    struct cor_api_request *req = &l->renewal;
    int r = lease_write(l, is_new);

    l->is_creating = is_new;
    if (r < 0)
        (void)cor_status_set_err(&req->refusal, r);
    else if (is_new)
        r = cor_object_from_json(cor_buf_str(&l->body), &object, &req->refusal);
    if (r < 0)
        cor_api_refuse(l->port, req);
    else if (is_new)
        cor_api_create(l->port, req, object, NULL);
    else
        cor_api_patch(l->port, req, COR_PATCH_MERGE, cor_buf_str(&l->body), NULL);
}

void cor_identity_lease_renew(struct cor_identity_lease *l)
{
    lease_send(l, false);
}

static void lease_on_renewal(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_identity_lease *l = COR_CONTAINER_OF(req, struct cor_identity_lease, renewal);

    if (!l->is_creating && cor_api_answer_is(answer, 404))
        lease_send(l, true);
    else
        l->on_renewed(l->arg,
                      answer->error && !cor_api_answer_is(answer, 409) ? answer->error->err : 0);
}

/* ---- collection ---- */

static bool lease_is_expired(const struct cor_identity_lease *l, const struct cor_object *lease)
{
    struct cor_view spec = cor_view_member(cor_object_view(lease), COR_STR("spec"));
    struct cor_str time =
        cor_view_text_or(cor_view_member(spec, COR_STR("renewTime")), NULL, 0, "");
    int64_t renewed_us, duration_s;

    return cor_micro_time_parse(time, &renewed_us) < 0 ||
           cor_view_int(cor_view_member(spec, COR_STR("leaseDurationSeconds")), &duration_s) < 0 ||
           renewed_us / 1000 + duration_s * 1000 < cor_clock_wall_ms(l->clock);
}

static int lease_on_item(struct cor_api_request *req, struct cor_object *item)
{
    struct cor_identity_lease *l = COR_CONTAINER_OF(req, struct cor_identity_lease, collection);
    struct cor_str name = cor_object_name(item), uid = cor_object_uid(item);
    struct cor_str version = cor_object_resource_version(item);

    if (!lease_is_expired(l, item) || l->nexpired == COR_IDENTITY_EXPIRED_MAX)
        return 0;
    l->nexpired++;
    return cor_buf_addf(&l->expired, "%.*s %.*s %.*s\n", (int)name.n, name.p, (int)uid.n, uid.p,
                        (int)version.n, version.p);
}

static void lease_remove_next(struct cor_identity_lease *l)
{
    struct cor_str rest = cor_str_from(cor_buf_str(&l->expired), l->next), line, name;
    struct cor_removal_options opts = {.dry_run = false};

    if (rest.n == 0) {
        l->collection.at.name = COR_STR("");
        l->on_collected(l->arg, 0);
        return;
    }
    line = cor_str_cut(&rest, '\n');
    l->next += line.n + 1;
    name = cor_str_cut(&line, ' ');
    opts.uid = cor_str_cut(&line, ' ');
    opts.resource_version = line;
    l->collection.at.name = name;
    cor_api_remove(l->port, &l->collection, &opts);
}

static void lease_on_collection(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_identity_lease *l = COR_CONTAINER_OF(req, struct cor_identity_lease, collection);

    if (answer->error && !cor_api_answer_is_late(answer)) {
        l->collection.at.name = COR_STR("");
        l->on_collected(l->arg, answer->error->err);
        return;
    }
    lease_remove_next(l);
}

void cor_identity_lease_collect(struct cor_identity_lease *l)
{
    static const struct cor_list_query query = {.label_selector =
                                                    COR_STR_INIT(COMPONENT_KEY "=" COMPONENT)};

    assert(l->collection.at.name.n == 0);
    cor_buf_reset(&l->expired);
    l->nexpired = l->next = 0;
    cor_api_list(l->port, &l->collection, &query);
}

void cor_identity_lease_cancel(struct cor_identity_lease *l)
{
    cor_api_cancel(l->port, &l->renewal);
    cor_api_cancel(l->port, &l->collection);
}
