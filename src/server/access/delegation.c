/* The delegation of one server: the kubeconfigs, the paths that need no question, and for each loop
 * a net with its clients and reviews. A loop is closed in this order: reviews (which cancels their
 * calls), clients, net. */
#include "server/access/delegation.h"

#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/stream/net.h"
#include "server/access/review_bodies.h"

/* With all attempts. Upstream ends attempts for a token after 10 s; those for access with the
 * request. */
#define TOKEN_LIMIT_MS  10000
#define ACCESS_LIMIT_MS 30000

struct delegation_loop {
    struct cor_net *net;
    struct cor_delegate *authenticator, *authorizer;
    struct cor_reviews *tokens, *accesses;
    size_t nclosing;
    void (*on_closed)(void *arg);
    void *arg;
};

struct cor_delegation {
    struct cor_client_config authentication, authorization; /* empty without the flag */
    struct cor_delegation_opts opts;                        /* strings are the maker's */
    size_t nloops;
    struct delegation_loop loops[];
};

static int check_paths(const char *paths, struct cor_status *st)
{
    struct cor_str rest = cor_strz(paths ? paths : "");

    while (rest.n > 0) {
        struct cor_str path = cor_str_cut(&rest, ',');

        if (path.n > 0 && path.p[0] == '/')
            path = cor_str_from(path, 1);
        if (path.n > 1 && memchr(path.p, '*', path.n - 1))
            return cor_status_set(st, -COR_EINVAL,
                                  "--authorization-always-allow-paths: only trailing * allowed in "
                                  "\"%.*s\"",
                                  COR_STR_ARG(path));
    }
    return 0;
}

static int open_tokens(struct cor_delegation *dn, struct delegation_loop *dl,
                       const struct cor_delegation_opts *opts, struct cor_status *st)
{
    int r = cor_delegate_open(dl->net, &dn->authentication, &dl->authenticator, st);
    const struct cor_reviews_opts reviews = {.delegate = dl->authenticator,
                                             .resource = cor_token_review_resource,
                                             .kept_max = COR_TOKENS_KEPT_MAX,
                                             .limit_ms = TOKEN_LIMIT_MS,
                                             .yes_ms = opts->token_ttl_ms,
                                             .no_ms = opts->token_ttl_ms,
                                             .read = cor_token_review_read};

    return r == 0 ? cor_reviews_open(&reviews, &dl->tokens, st) : r;
}

static int open_accesses(struct cor_delegation *dn, struct delegation_loop *dl,
                         const struct cor_delegation_opts *opts, struct cor_status *st)
{
    int r = cor_delegate_open(dl->net, &dn->authorization, &dl->authorizer, st);
    const struct cor_reviews_opts reviews = {.delegate = dl->authorizer,
                                             .resource = cor_access_review_resource,
                                             .kept_max = COR_ACCESSES_KEPT_MAX,
                                             .limit_ms = ACCESS_LIMIT_MS,
                                             .yes_ms = opts->allowed_ttl_ms,
                                             .no_ms = opts->unallowed_ttl_ms,
                                             .read = cor_access_review_read};

    return r == 0 ? cor_reviews_open(&reviews, &dl->accesses, st) : r;
}

int cor_delegation_open_loop(struct cor_delegation *dn, size_t i, struct cor_loop *loop,
                             struct cor_status *st)
{
    const struct cor_delegation_opts *opts = &dn->opts;
    struct delegation_loop *dl = &dn->loops[i];
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    const char *flag = NULL;
    int r;

    assert(i < dn->nloops && !dl->net);
    r = cor_net_open(loop, &dl->net);
    if (r < 0)
        return cor_status_set_err(st, r);
    if (opts->authentication_kubeconfig) {
        flag = "--authentication-kubeconfig";
        r = open_tokens(dn, dl, opts, &why);
    }
    if (r == 0 && opts->authorization_kubeconfig) {
        flag = "--authorization-kubeconfig";
        r = open_accesses(dn, dl, opts, &why);
    }
    return r < 0 ? cor_status_set(st, r, "%s: %s", flag, cor_status_message(&why)) : 0;
}

static int load_configs(struct cor_delegation *dn, const struct cor_delegation_opts *opts,
                        struct cor_status *st)
{
    int r = check_paths(opts->always_allow_paths, st);

    if (r == 0 && opts->authentication_kubeconfig)
        r = cor_delegate_config_load(opts->authentication_kubeconfig, "authentication-kubeconfig",
                                     &dn->authentication, st);
    if (r == 0 && opts->authorization_kubeconfig)
        r = cor_delegate_config_load(opts->authorization_kubeconfig, "authorization-kubeconfig",
                                     &dn->authorization, st);
    return r;
}

int cor_delegation_new(const struct cor_delegation_opts *opts, size_t nloops,
                       struct cor_delegation **ret_delegation, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_delegation_freep)
    struct cor_delegation *dn = cor_calloc(1, sizeof(*dn) + nloops * sizeof(dn->loops[0]));
    int r;

    if (!dn)
        return cor_status_no_memory(reterr_status);
    dn->opts = *opts;
    dn->nloops = nloops;
    r = load_configs(dn, opts, reterr_status);
    if (r < 0)
        return r;
    *ret_delegation = COR_STEAL(dn);
    return 0;
}

struct cor_delegation *cor_delegation_free(struct cor_delegation *dn)
{
    if (!dn)
        return NULL;
    cor_client_config_deinit(&dn->authentication);
    cor_client_config_deinit(&dn->authorization);
    return cor_free(dn);
}

static void loop_on_net_closed(void *arg)
{
    struct delegation_loop *dl = arg;

    dl->net = NULL;
    dl->on_closed(dl->arg);
}

static void loop_on_part_closed(void *arg)
{
    struct delegation_loop *dl = arg;

    if (--dl->nclosing > 0)
        return;
    cor_net_close(dl->net, loop_on_net_closed, dl);
}

void cor_delegation_close_loop(struct cor_delegation *dn, size_t loop, void (*on_closed)(void *arg),
                               void *arg)
{
    struct delegation_loop *dl = &dn->loops[loop];

    assert(loop < dn->nloops);
    if (!dl->net) {
        on_closed(arg);
        return;
    }
    dl->on_closed = on_closed;
    dl->arg = arg;
    dl->tokens = cor_reviews_close(dl->tokens);
    dl->accesses = cor_reviews_close(dl->accesses);
    dl->nclosing = 1;
    if (dl->authenticator) {
        dl->nclosing++;
        cor_delegate_close(dl->authenticator, loop_on_part_closed, dl);
        dl->authenticator = NULL;
    }
    if (dl->authorizer) {
        dl->nclosing++;
        cor_delegate_close(dl->authorizer, loop_on_part_closed, dl);
        dl->authorizer = NULL;
    }
    loop_on_part_closed(dl);
}

struct cor_reviews *cor_delegation_tokens(const struct cor_delegation *dn, size_t loop)
{
    return dn->loops[loop].tokens;
}

struct cor_reviews *cor_delegation_accesses(const struct cor_delegation *dn, size_t loop)
{
    return dn->loops[loop].accesses;
}

struct cor_delegate *cor_delegation_authenticator(const struct cor_delegation *dn, size_t loop)
{
    return dn->loops[loop].authenticator;
}

static struct cor_str without_slash(struct cor_str path)
{
    return path.n > 0 && path.p[0] == '/' ? cor_str_from(path, 1) : path;
}

bool cor_delegation_allows_path(const struct cor_delegation *dn, struct cor_str path)
{
    struct cor_str rest = cor_strz(dn->opts.always_allow_paths ? dn->opts.always_allow_paths : "");

    path = without_slash(path);
    while (rest.n > 0) {
        struct cor_str pattern = without_slash(cor_str_cut(&rest, ','));

        if (pattern.n > 0 && pattern.p[pattern.n - 1] == '*'
                ? cor_str_starts(path, cor_str(pattern.p, pattern.n - 1))
                : cor_str_eq(path, pattern))
            return true;
    }
    return false;
}
