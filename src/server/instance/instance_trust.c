/* Whom an instance believes because of a client certificate: --client-ca-file and
 * --requestheader-client-ca-file, with the settings of the other --requestheader-… flags. Both
 * files are looked at each second; a file that cannot be used leaves the authorities that are in
 * force, and is logged once for each content. At the start such a file is a failure. Thread: home.
 */
#include "base/err.h"
#include "base/log.h"
#include "net/crypto/cert.h"
#include "server/instance/instance_int.h"

#define LOOK_MS 1000

static const struct {
    enum cor_ca which;
    const char *flag;
} files[COR_CA_COUNT] = {{COR_CA_CLIENT, "--client-ca-file"},
                         {COR_CA_PROXY, "--requestheader-client-ca-file"}};

static const char *file_path(const struct cor_instance *in, size_t i)
{
    return i == COR_CA_CLIENT ? in->opts.client_ca_file : in->opts.requestheader_ca_file;
}

/* Reads a file; what is there is in force afterwards. 1: it has changed; 0: it has not. */
static int load_file(struct cor_instance *in, size_t i, struct cor_status *st)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pem;
    const char *path = file_path(in, i);
    int r;

    cor_buf_init(&pem, COR_PEM_MAX);
    r = cor_pem_load(path, &pem);
    if (r == 0 && pem.n > 0 && cor_str_eq(cor_buf_str(&pem), cor_buf_str(&in->ca_files[i])))
        return 0;
    if (r == 0)
        r = pem.n > 0 ? cor_client_cas_set(cor_client_trust_cas(in->trust), files[i].which,
                                           cor_buf_str(&pem))
                      : -COR_EINVAL;
    if (r == -COR_EINVAL)
        return cor_status_set(st, r, "%s %s: there is no certificate in PEM", files[i].flag, path);
    if (r < 0)
        return cor_status_set(st, r, "%s %s: %s", files[i].flag, path, cor_err_text(r));
    cor_buf_deinit(&in->ca_files[i]);
    in->ca_files[i] = pem;
    pem = (struct cor_buf){0};
    return 1;
}

/* On each second. A failure is logged when it begins. */
static void look_at_file(struct cor_instance *in, size_t i)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st;
    int r;

    cor_status_init(&st);
    r = load_file(in, i, &st);
    if (r == 1)
        COR_LOG_INFO("Loaded new client CA content", COR_F_STR("path", file_path(in, i)));
    else if (r < 0 && !in->is_ca_file_bad[i])
        COR_LOG_ERROR("client CA file cannot be used; the one before stays in force",
                      COR_F_STR("error", cor_status_message(&st)));
    in->is_ca_file_bad[i] = r < 0;
}

void cor_instance_check_trust(struct cor_timer *timer)
{
    struct cor_instance *in = COR_CONTAINER_OF(timer, struct cor_instance, trust_timer);

    for (size_t i = 0; i < COR_CA_COUNT; i++)
        if (file_path(in, i))
            look_at_file(in, i);
    if (cor_timer_set(timer, LOOK_MS) < 0)
        COR_LOG_ERROR("no memory for the timer: client CA files are not looked at any more");
}

static int set_proxy(struct cor_instance *in, struct cor_status *st)
{
    static const char *const defaults[COR_PROXY_LISTS] = {[COR_PROXY_USERNAMES] = "x-remote-user",
                                                          [COR_PROXY_GROUPS] = "x-remote-group",
                                                          [COR_PROXY_EXTRA_PREFIXES] =
                                                              "x-remote-extra-"};
    COR_CLEANUP(cor_front_proxy_unrefp) struct cor_front_proxy *proxy = NULL;
    int r = cor_front_proxy_new(&proxy);

    for (unsigned i = 0; r == 0 && i < COR_PROXY_LISTS; i++) {
        const char *value = in->opts.requestheader_lists[i];

        value = value ? value : defaults[i];
        /* An empty value of a flag is an empty list, as in upstream. */
        if (value && value[0])
            r = cor_front_proxy_add_flag(proxy, i, value, st);
    }
    if (r == 0)
        cor_client_trust_set_proxy(in->trust, COR_STEAL(proxy));
    return r;
}

int cor_instance_open_trust(struct cor_instance *in, struct cor_status *reterr_status)
{
    int r = cor_client_trust_new(&in->trust);

    if (r == 0)
        r = set_proxy(in, reterr_status);
    for (size_t i = 0; r >= 0 && i < COR_CA_COUNT; i++)
        if (file_path(in, i))
            r = load_file(in, i, reterr_status);
    if (r >= 0 && (file_path(in, COR_CA_CLIENT) || file_path(in, COR_CA_PROXY)))
        r = cor_timer_set(&in->trust_timer, LOOK_MS);
    return r < 0 ? r : 0;
}

void cor_instance_close_trust(struct cor_instance *in)
{
    for (size_t i = 0; i < COR_CA_COUNT; i++)
        cor_buf_deinit(&in->ca_files[i]);
    in->trust = cor_client_trust_free(in->trust);
}
