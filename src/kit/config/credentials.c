/* clang-format off */
/* What a request authenticates with, kept up to date.
 *
 *   init: a token ──► Bearer, for ever
 *         a token file ──► Bearer; read again every COR_TOKEN_FILE_MS, and after a 401
 *         a user name ──► Basic, for ever
 *         nothing of these, no certificate, and a plugin ──► the plugin makes token and certificate
 *   cor_credentials_refresh(): up to date ──► the request continues
 *                          the plugin runs, or has to ──► the request waits ──► on_ready
 *
 * What fails: a token file that cannot be read later leaves the last token; a plugin that fails
 * leaves what it made before, while that has not expired, and else all who wait get its error.
 * Token, certificate and key of a plugin are replaced together or not at all. Secrets are wiped.
 * Thread: the loop. */
/* clang-format on */
#include "kit/config/credentials.h"

#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "net/crypto/cert.h"

#define AUTHORIZATION_MAX (64u * 1024)

static uint64_t now_ms(const struct cor_credentials *c)
{
    return cor_loop_now_ms(c->loop);
}

/* Writes a secret, with `before` in front of it, into an empty buffer. */
static int secret_compose(struct cor_buf *out, const char *before, struct cor_str text)
{
    int r = cor_buf_reserve(out, strlen(before) + text.n);

    if (r < 0)
        return r;
    cor_buf_addz(out, before);
    return cor_buf_adds(out, text);
}

/* Swaps the contents of two buffers. */
static void secret_exchange(struct cor_buf *to, struct cor_buf *with)
{
    struct cor_buf old = *to;

    *to = *with;
    *with = old;
}

/* Replaces a secret; unchanged on failure. */
static int secret_replace(struct cor_buf *to, const char *before, struct cor_str text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf next;
    int r;

    cor_buf_init_secret(&next, to->max);
    r = secret_compose(&next, before, text);
    if (r == 0)
        secret_exchange(to, &next);
    return r;
}

static int set_basic(struct cor_credentials *c)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf plain;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf encoded;
    const struct cor_client_config *config = c->config;
    int r;

    cor_buf_init_secret(&plain, AUTHORIZATION_MAX / 2);
    cor_buf_init_secret(&encoded, AUTHORIZATION_MAX);
    r = cor_buf_addf(&plain, "%s:%s", config->username, config->password ? config->password : "");
    if (r == 0)
        r = cor_base64_encode(COR_BASE64_STD, cor_buf_str(&plain), &encoded);
    return r < 0 ? r : secret_replace(&c->authorization, "Basic ", cor_buf_str(&encoded));
}

/* Reads the token file. A file that cannot be read, or is empty (-COR_EINVALID), leaves the last
 * token as it was. */
static int read_token_file(struct cor_credentials *c)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    struct cor_str token;
    int r;

    cor_buf_init_secret(&text, AUTHORIZATION_MAX);
    r = cor_pem_load(c->config->token_file, &text);
    if (r < 0)
        return r;
    token = cor_str_trim(cor_buf_str(&text));
    if (token.n == 0)
        return -COR_EINVALID;
    r = secret_replace(&c->authorization, "Bearer ", token);
    if (r == 0)
        c->token_due_ms = now_ms(c) + COR_TOKEN_FILE_MS;
    return r;
}

static int credentials_begin(struct cor_credentials *c)
{
    if (cor_config_has(c->config->token))
        return secret_replace(&c->authorization, "Bearer ", cor_strz(c->config->token));
    if (cor_config_has(c->config->token_file))
        return read_token_file(c);
    return cor_config_has(c->config->username) ? set_basic(c) : 0;
}

/* A plugin is used only when the configuration has no other way to authenticate. */
static bool needs_plugin(const struct cor_credentials *c)
{
    const struct cor_client_config *config = c->config;

    return cor_config_has(config->exec.command) && c->authorization.n == 0 &&
           !cor_config_has(config->token_file) && !cor_config_has(config->client_cert_pem) &&
           !cor_config_has(config->client_cert_file);
}

int cor_credentials_init(struct cor_credentials *c, struct cor_loop *loop,
                         const struct cor_client_config *config)
{
    int r;

    *c = (struct cor_credentials){.loop = loop, .clock = cor_clock_real(), .config = config};
    cor_buf_init_secret(&c->authorization, AUTHORIZATION_MAX);
    cor_buf_init(&c->cert_pem, COR_PEM_MAX);
    cor_buf_init_secret(&c->key_pem, COR_PEM_MAX);
    cor_dlist_init(&c->waiting);
    cor_exec_plugin_init(&c->plugin, loop, config);
    r = credentials_begin(c);
    if (r < 0)
        cor_credentials_deinit(c);
    c->is_exec = r == 0 && needs_plugin(c);
    return r;
}

void cor_credentials_deinit(struct cor_credentials *c)
{
    cor_buf_deinit(&c->authorization);
    cor_buf_deinit(&c->cert_pem);
    cor_buf_deinit(&c->key_pem);
}

bool cor_credentials_close(struct cor_credentials *c, void (*on_closed)(void *arg), void *arg)
{
    c->is_closing = true;
    if (!c->plugin.process)
        return false;
    cor_exec_plugin_close(&c->plugin, on_closed, arg);
    return true;
}

static bool credentials_is_fresh(const struct cor_credentials *c)
{
    return c->generation > 0 &&
           (!c->expires || cor_clock_wall_ms(c->clock) <= c->expires_at_s * 1000);
}

/* Takes what a plugin made, all of it or nothing: with a certificate that does not belong to the
 * key every connection would fail. */
static int credentials_take(struct cor_credentials *c, const struct cor_exec_credential *made)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf authorization;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf cert;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key;
    int r;

    cor_buf_init_secret(&authorization, AUTHORIZATION_MAX);
    cor_buf_init(&cert, COR_PEM_MAX);
    cor_buf_init_secret(&key, COR_PEM_MAX);
    r = made->token ? secret_compose(&authorization, "Bearer ", cor_strz(made->token)) : 0;
    if (r == 0)
        r = secret_compose(&cert, "", cor_strz(made->cert_pem));
    if (r == 0)
        r = secret_compose(&key, "", cor_strz(made->key_pem));
    if (r < 0)
        return r;
    c->cert_version += !cor_str_eq(cor_buf_str(&cert), cor_buf_str(&c->cert_pem)) ||
                       !cor_str_eq(cor_buf_str(&key), cor_buf_str(&c->key_pem));
    secret_exchange(&c->authorization, &authorization);
    secret_exchange(&c->cert_pem, &cert);
    secret_exchange(&c->key_pem, &key);
    c->expires = made->expires;
    c->expires_at_s = made->expires_at_s;
    c->generation++;
    return 0;
}

/* A plugin that failed leaves what it made before, until that expires. */
static void on_plugin_done(void *arg, const struct cor_exec_credential *made,
                           const struct cor_status *error)
{
    struct cor_credentials *c = arg;
    struct cor_status no_memory = {0};
    struct cor_dlist ready, *link;
    int r = made ? credentials_take(c, made) : 0;

    if (r < 0) {
        cor_status_set_err(&no_memory, r);
        error = &no_memory;
    }
    if (error && credentials_is_fresh(c))
        error = NULL;
    cor_dlist_init(&ready);
    cor_dlist_splice(&ready, &c->waiting);
    while ((link = cor_dlist_pop(&ready))) {
        struct cor_credentials_wait *w = COR_CONTAINER_OF(link, struct cor_credentials_wait, link);

        w->on_ready(w, error);
    }
    cor_status_deinit(&no_memory);
}

static int credentials_run_plugin(struct cor_credentials *c, struct cor_status *reterr)
{
    c->plugin.on_done = on_plugin_done;
    c->plugin.arg = c;
    return cor_exec_plugin_run(&c->plugin, reterr);
}

int cor_credentials_refresh(struct cor_credentials *c, struct cor_credentials_wait *w,
                            struct cor_status *reterr)
{
    int r;

    if (cor_config_has(c->config->token_file) && now_ms(c) >= c->token_due_ms)
        (void)read_token_file(c); /* on failure the last token stays */
    if (!c->is_exec || (credentials_is_fresh(c) && !c->plugin.process))
        return 1;
    r = c->plugin.process ? 0 : credentials_run_plugin(c, reterr);
    if (r == 0)
        cor_dlist_push(&c->waiting, &w->link);
    return r;
}

void cor_credentials_leave(struct cor_credentials_wait *w)
{
    cor_dlist_remove(&w->link);
}

void cor_credentials_refused(struct cor_credentials *c, uint64_t generation)
{
    c->token_due_ms = 0;
    if (c->is_exec && !c->is_closing && generation == c->generation && !c->plugin.process)
        credentials_run_plugin(c, NULL);
}
