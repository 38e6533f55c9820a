/* The two documents that are exchanged with a plugin: ExecCredential with spec (written) and with
 * status (read). What a plugin answers is checked in upstream's words: apiVersion, a token or a
 * certificate with its key, a time that can be read. Secrets are wiped when they are freed.
 * Thread: any (values). */
#include "kit/config/exec_credential.h"

#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "kit/config/kubeconfig_int.h"
#include "meta/value/time_text.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/print.h"

void cor_exec_credential_deinit(struct cor_exec_credential *c)
{
    cor_free_secret(c->token);
    cor_free_secret(c->key_pem);
    cor_free(c->cert_pem);
    *c = (struct cor_exec_credential){0};
}

static int write_cluster(struct cor_json_writer *w, const struct cor_client_config *c)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf ca;
    struct cor_str pem = cor_strz(c->ca_pem);
    int r;

    cor_buf_init(&ca, pem.n / 3 * 4 + 8);
    r = cor_base64_encode(COR_BASE64_STD, pem, &ca);
    cor_json_print(w,
                   "cluster:{server:%s,tls-server-name?:%s,insecure-skip-tls-verify?:%b,"
                   "certificate-authority-data?:%s,proxy-url?:%s,disable-compression?:%b,"
                   "config?:%j}",
                   c->server, c->tls_server_name, c->insecure_skip_tls_verify, cor_buf_str(&ca),
                   c->proxy_url, c->disable_compression, c->exec.cluster_config);
    return r;
}

int cor_exec_credential_write_info(const struct cor_client_config *c, bool interactive,
                                   struct cor_buf *out)
{
    struct cor_json_writer w;
    int r = 0, written;

    cor_json_writer_init(&w, out);
    cor_json_print(&w, "{kind:'ExecCredential',apiVersion:%s,spec:{", c->exec.api_version);
    if (c->exec.provide_cluster_info)
        r = write_cluster(&w, c);
    cor_json_print(&w, "interactive:%b}}", interactive);
    written = cor_json_writer_finish(&w);
    return r < 0 ? r : written;
}

static int mistake(struct cor_status *reterr, const char *text)
{
    return cor_status_set(reterr, -COR_EINVAL, "%s", text);
}

/* An optional string; absent, null and empty are the same. */
static int read_string(struct cor_str object, const char *where, const char *field, char **ret,
                       struct cor_status *reterr)
{
    struct cor_str value;
    int r;

    if (cor_json_get(object, cor_strz(field), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_type(value) == COR_JSON_NULL)
        return 0;
    r = cor_stanza_text(value, ret);
    if (r == -COR_ENOMEM)
        return cor_status_set(reterr, r, "no memory for a credential");
    if (r < 0)
        return cor_status_set(reterr, r, "decoding stdout: %s%s: a string is expected", where,
                              field);
    if (!cor_config_has(*ret))
        *ret = cor_free(*ret);
    return 0;
}

static int check_type(struct cor_str output, const char *api_version, struct cor_status *reterr)
{
    COR_CLEANUP(cor_freep) char *kind = NULL;
    COR_CLEANUP(cor_freep) char *version = NULL;
    int r = read_string(output, "", "kind", &kind, reterr);

    if (r == 0)
        r = read_string(output, "", "apiVersion", &version, reterr);
    if (r < 0)
        return r;
    if (!kind || strcmp(kind, "ExecCredential") != 0)
        return mistake(reterr, "decoding stdout: kind: ExecCredential is expected");
    if (!version)
        return mistake(reterr, "decoding stdout: apiVersion: a version is expected");
    if (strcmp(version, api_version) != 0)
        return cor_status_set(reterr, -COR_EINVAL,
                              "exec plugin is configured to use API version %s, plugin returned "
                              "version %.64s",
                              api_version, version);
    return 0;
}

static int read_expiry(struct cor_str status, struct cor_exec_credential *c,
                       struct cor_status *reterr)
{
    COR_CLEANUP(cor_freep) char *text = NULL;
    int r = read_string(status, "status.", "expirationTimestamp", &text, reterr);

    if (r < 0 || !text)
        return r;
    c->expires = true;
    if (cor_time_parse(cor_strz(text), &c->expires_at_s) < 0)
        return mistake(reterr,
                       "decoding stdout: status.expirationTimestamp: an RFC 3339 time is expected");
    return 0;
}

static int check(const struct cor_exec_credential *c, struct cor_status *reterr)
{
    if (!c->token && !c->cert_pem && !c->key_pem)
        return mistake(reterr, "exec plugin didn't return a token or cert/key pair (status.token, "
                               "status.clientCertificateData, status.clientKeyData)");
    if (!c->cert_pem != !c->key_pem)
        return cor_status_set(reterr, -COR_EINVAL,
                              "exec plugin returned only certificate or key, not both: status.%s "
                              "is missing",
                              c->cert_pem ? "clientKeyData" : "clientCertificateData");
    return 0;
}

int cor_exec_credential_read(struct cor_str output, const char *api_version,
                             struct cor_exec_credential *ret, struct cor_status *reterr)
{
    COR_CLEANUP(cor_exec_credential_deinit) struct cor_exec_credential c = {0};
    const struct cor_json_limits limits = {COR_EXEC_OUTPUT_MAX, COR_JSON_DEPTH_MAX};
    struct cor_str json = cor_str_trim(output), status;
    struct cor_json_error why;
    bool canonical;
    int r;

    if (cor_json_check(json, &limits, &canonical, &why) < 0 ||
        cor_json_type(json) != COR_JSON_OBJECT)
        return mistake(reterr, "decoding stdout: a JSON object is expected");
    r = check_type(json, api_version, reterr);
    if (r < 0)
        return r;
    if (cor_json_get(json, COR_STR("status"), COR_JSON_ANY_ORDER, &status) < 0 ||
        cor_json_type(status) == COR_JSON_NULL)
        return mistake(reterr, "exec plugin didn't return a status field");
    if (cor_json_type(status) != COR_JSON_OBJECT)
        return mistake(reterr, "decoding stdout: status: an object is expected");
    r = read_string(status, "status.", "token", &c.token, reterr);
    if (r == 0)
        r = read_string(status, "status.", "clientCertificateData", &c.cert_pem, reterr);
    if (r == 0)
        r = read_string(status, "status.", "clientKeyData", &c.key_pem, reterr);
    if (r == 0)
        r = read_expiry(status, &c, reterr);
    if (r == 0)
        r = check(&c, reterr);
    if (r < 0)
        return r;
    *ret = c;
    c = (struct cor_exec_credential){0};
    return 0;
}
