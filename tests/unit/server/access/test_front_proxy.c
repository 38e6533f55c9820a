#include "server/access/front_proxy.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/crypto/cert.h"
#include "net/stream/peer.h"
#include "server/access/authenticator.h"
#include "server/access/client_trust.h"
#include "test.h"

#define BY_CLIENT_CA (1u << COR_CA_CLIENT)
#define BY_PROXY_CA  (1u << COR_CA_PROXY)

static struct cor_front_proxy *make_proxy(const char *usernames, const char *uids,
                                          const char *groups, const char *extras,
                                          const char *allowed)
{
    const char *const values[COR_PROXY_LISTS] = {usernames, uids, groups, extras, allowed};
    struct cor_front_proxy *proxy;

    assert_int_equal(cor_front_proxy_new(&proxy), 0);
    for (unsigned i = 0; i < COR_PROXY_LISTS; i++)
        if (values[i])
            assert_int_equal(cor_front_proxy_add_flag(proxy, i, values[i], NULL), 0);
    return proxy;
}

static struct cor_front_proxy *standard_proxy(const char *allowed)
{
    return make_proxy("x-remote-user", "x-remote-uid", "x-remote-group", "x-remote-extra-",
                      allowed);
}

static struct cor_peer_cert cert_named(const char *cn)
{
    return (struct cor_peer_cert){.common_name = cor_strz(cn)};
}

/* "Name: value" for each line; as many as there are. */
struct head {
    struct cor_http_header headers[16];
    struct cor_http_request req;
};

static void head_init(struct head *head, const char *const *lines, size_t nlines)
{
    *head = (struct head){0};
    for (size_t i = 0; i < nlines && lines[i]; i++) {
        struct cor_str rest = cor_strz(lines[i]);

        head->headers[i].name = cor_str_cut(&rest, ':');
        head->headers[i].value = cor_str_trim(rest);
        head->req.nheaders++;
    }
    head->req.headers = head->headers;
}

/* The user as `name/uid [group,group] key=value,key=value`. */
static void user_text(const struct cor_user *user, char *out, size_t size)
{
    int n = snprintf(out, size, "%.*s/%.*s [", COR_STR_ARG(user->name), COR_STR_ARG(user->uid));

    for (size_t i = 0; i < user->ngroups; i++)
        n += snprintf(out + n, size - (size_t)n, "%s%.*s", i ? "," : "",
                      COR_STR_ARG(user->groups[i]));
    n += snprintf(out + n, size - (size_t)n, "]");
    for (size_t i = 0; i < user->nextras; i++)
        n += snprintf(out + n, size - (size_t)n, "%s%.*s=%.*s", i ? "," : " ",
                      COR_STR_ARG(user->extras[i].key), COR_STR_ARG(user->extras[i].value));
}

/* Contract access 2.3.2. */
TEST(front_proxy, headers_name_the_user)
{
    static const struct {
        const char *lines[8];
        const char *user; /* NULL: not authenticated */
    } rows[] = {
        {{"X-Remote-User: ann"}, "ann/ [system:authenticated]"},
        {{"x-REMOTE-user: ann"}, "ann/ [system:authenticated]"},
        {{"X-Remote-User: ann", "X-Remote-User: eve"}, "ann/ [system:authenticated]"},
        {{"X-Remote-User: ann", "X-Remote-Uid: 7", "X-Remote-Uid: 8"},
         "ann/7 [system:authenticated]"},
        {{"X-Remote-Group: a", "X-Remote-User: ann", "x-remote-group: b", "X-Remote-Group:"},
         "ann/ [a,b,system:authenticated]"},
        {{"X-Remote-User: ann", "X-Remote-Group: system:authenticated"},
         "ann/ [system:authenticated]"},
        {{"X-Remote-User: system:anonymous", "X-Remote-Group: system:unauthenticated"},
         "system:anonymous/ [system:unauthenticated]"},
        {{"X-Remote-User: system:anonymous"}, "system:anonymous/ []"},
        /* A comma does not separate: the list is taken literally. */
        {{"X-Remote-User: ann", "X-Remote-Group: a,b"}, "ann/ [a,b,system:authenticated]"},
        {{"X-Remote-User: ann", "X-Remote-Extra-Scopes: s2", "x-remote-extra-scopes: s1",
          "X-Remote-Extra-Acme.com%2FKey: v"},
         "ann/ [system:authenticated] acme.com/key=v,scopes=s2,scopes=s1"},
        {{"X-Remote-User: ann", "X-Remote-Extra-a%zz: v", "X-Remote-Extra-: e"},
         "ann/ [system:authenticated] =e,a%zz=v"},
        /* No user name: not authenticated, whatever else there is. */
        {{"X-Remote-Group: system:masters"}, NULL},
        {{"X-Remote-User:"}, NULL},
        {{"X-Remote-User:", "X-Remote-User: ann"}, NULL},
        /* Other names are other headers. */
        {{"X_Remote_User: ann"}, NULL},
        {{"X-Remote-User-: ann"}, NULL},
        {{"XRemoteUser: ann"}, NULL},
        {{"X-Remote-User : ann"}, NULL},
        {{"Remote-User: ann"}, NULL},
        {{NULL}, NULL},
    };
    struct cor_front_proxy *proxy = standard_proxy(NULL);
    const struct cor_peer_cert cert = cert_named("front-proxy");
    char text[500];

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct head head;

        head_init(&head, rows[i].lines, COR_ARRAY_LEN(rows[i].lines));
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_identity id = {0};
            int r = cor_front_proxy_identify(proxy, &cert, &head.req, &id);

            if (r == -COR_ENOMEM) {
                assert_true(test_alloc_failed());
                continue;
            }
            assert_int_equal(r, rows[i].user != NULL);
            if (r == 1) {
                user_text(&id.user, text, sizeof(text));
                assert_string_equal(text, rows[i].user);
                assert_str(id.sender, "front-proxy");
            }
            cor_identity_deinit(&id);
        }
    }
    cor_front_proxy_unref(proxy);
}

/* Contract access 2.3.2: the headers are the settings'. */
TEST(front_proxy, the_first_header_that_is_not_empty_counts)
{
    static const char *const lines[] = {
        "X-Remote-User: ann", "X-Second: eve", "X-First:", "G2: two", "G1: one",
        "G2: three",          "E-k: 1",        "Ex-k: 2"};
    struct cor_front_proxy *proxy =
        make_proxy("x-first,x-second,x-remote-user", NULL, "g1,g2", "ex-,e-", NULL);
    const struct cor_peer_cert cert = cert_named("p");
    struct cor_identity id = {0};
    struct head head;
    char text[200];

    head_init(&head, lines, COR_ARRAY_LEN(lines));
    assert_int_equal(cor_front_proxy_identify(proxy, &cert, &head.req, &id), 1);
    user_text(&id.user, text, sizeof(text));
    assert_string_equal(text, "eve/ [one,two,three,system:authenticated] k=2,k=1");
    cor_identity_deinit(&id);
    cor_front_proxy_unref(proxy);
}

/* Contract access 2.3.1. */
TEST(front_proxy, only_allowed_names_may_speak_for_others)
{
    static const char *const lines[] = {"X-Remote-User: ann"};
    static const struct {
        const char *allowed, *cn;
        int r;
    } rows[] = {
        {NULL, "any", 1},
        {NULL, "", 1},
        {"a,b", "a", 1},
        {"a,b", "b", 1},
        {"a,b", "A", -COR_EUNAUTHORIZED},
        {"a,b", "", -COR_EUNAUTHORIZED},
        {"a,b", "a,b", -COR_EUNAUTHORIZED},
    };
    struct head head;

    head_init(&head, lines, 1);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_front_proxy *proxy = standard_proxy(rows[i].allowed);
        const struct cor_peer_cert cert = cert_named(rows[i].cn);
        struct cor_identity id = {0};

        assert_int_equal(cor_front_proxy_identify(proxy, &cert, &head.req, &id), rows[i].r);
        cor_identity_deinit(&id);
        cor_front_proxy_unref(proxy);
    }
}

TEST(front_proxy, flags_are_checked_in_upstreams_words)
{
    static const struct {
        enum cor_front_proxy_list list;
        const char *value, *message;
    } rows[] = {
        {COR_PROXY_USERNAMES, "a, ,b", "empty value in \"requestheader-username-headers\""},
        {COR_PROXY_GROUPS, "a,", "empty value in \"requestheader-group-headers\""},
        {COR_PROXY_EXTRA_PREFIXES, " ", "empty value in \"requestheader-extra-headers-prefix\""},
        {COR_PROXY_ALLOWED, ",", "empty value in \"requestheader-allowed-names\""},
        {COR_PROXY_UIDS, "", "empty value in \"requestheader-uid-headers\""},
        {COR_PROXY_UIDS, "X-Other",
         "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - "
         "API aggregation will not work"},
        {COR_PROXY_UIDS, "X-Other,x-remote-uid", NULL},
        {COR_PROXY_USERNAMES, "X-Other", NULL},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_front_proxy *proxy;
        struct cor_status st;

        cor_status_init(&st);
        assert_int_equal(cor_front_proxy_new(&proxy), 0);
        assert_int_equal(cor_front_proxy_add_flag(proxy, rows[i].list, rows[i].value, &st),
                         rows[i].message ? -COR_EINVAL : 0);
        if (rows[i].message)
            assert_string_equal(cor_status_message(&st), rows[i].message);
        cor_status_deinit(&st);
        cor_front_proxy_unref(proxy);
    }
}

/* Contract access 2.3.4: the values of the ConfigMap are JSON arrays of strings. */
TEST(front_proxy, settings_are_read_from_json)
{
    static const struct {
        const char *json;
        int r;
    } rows[] = {
        {"[\"X-Remote-User\"]", 0},
        {"[\"X-Other\",\"X-Remote-\\u0055ser\"]", 0},
        {" [ \"\" , \"X-Remote-User\" ] ", 0},
        {"\"X-Remote-User\"", -COR_EINVAL},
        {"[1]", -COR_EINVAL},
        {"[\"X-Remote-User\"", -COR_EINVAL},
        {"[\"X-Remote-User\\u0000\"]", -COR_EINVAL},
        {"{}", -COR_EINVAL},
        {"null", -COR_EINVAL},
    };
    static const char *const lines[] = {"X-Remote-User: ann"};
    const struct cor_peer_cert cert = cert_named("p");
    struct head head;

    head_init(&head, lines, 1);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_front_proxy *proxy = NULL;
            struct cor_identity id = {0};
            int r = cor_front_proxy_new(&proxy);

            if (r == 0)
                r = cor_front_proxy_add_json(proxy, COR_PROXY_USERNAMES, cor_strz(rows[i].json));
            if (r == 0)
                r = cor_front_proxy_identify(proxy, &cert, &head.req, &id);
            if (r != -COR_ENOMEM)
                assert_int_equal(r, rows[i].r == 0 ? 1 : rows[i].r);
            else
                assert_true(test_alloc_failed());
            cor_identity_deinit(&id);
            cor_front_proxy_unref(proxy);
        }
    }
    {
        struct cor_front_proxy *proxy;

        assert_int_equal(cor_front_proxy_new(&proxy), 0);
        assert_int_equal(cor_front_proxy_add_json(proxy, COR_PROXY_UIDS, COR_STR("")), 0);
        cor_front_proxy_unref(proxy);
    }
}

/* Trusts both authorities; certificates of these tests carry what they would say of them. */
static struct cor_client_trust *make_trust(bool has_client_ca, struct cor_front_proxy *take_proxy)
{
    const struct cor_cert_opts opts = {
        .use = COR_CERT_CA, .common_name = COR_STR("ca"), .now_s = 1700000000, .valid_s = 1 << 30};
    struct cor_client_trust *trust;
    struct cor_cert_pair ca;
    struct cor_client_cas *cas;

    cor_cert_pair_init(&ca);
    assert_int_equal(cor_cert_make(&opts, NULL, &ca), 0);
    assert_int_equal(cor_client_trust_new(&trust), 0);
    cas = cor_client_trust_cas(trust);
    assert_int_equal(cor_client_cas_set(cas, COR_CA_CLIENT, cor_buf_str(&ca.cert_pem)), 0);
    assert_int_equal(cor_client_cas_set(cas, COR_CA_PROXY, cor_buf_str(&ca.cert_pem)), 0);
    if (!has_client_ca)
        assert_int_equal(cor_client_cas_set(cas, COR_CA_CLIENT, COR_STR("")), 0);
    cor_client_trust_set_proxy(trust, take_proxy);
    cor_cert_pair_deinit(&ca);
    return trust;
}

/* Contract access 2.1.1, 2.1.2, 2.3.1, 2.3.3: what a certificate and headers prove together, where
 * there are two authorities and the proxies' names are limited to "proxy". */
TEST(front_proxy, stands_before_the_other_ways_to_authenticate)
{
    static const struct {
        bool has_cert;
        unsigned by;
        const char *cn, *user, *token;
        const char *name; /* NULL: 401 */
    } rows[] = {
        /* No certificate: headers are never believed. */
        {false, 0, "", "ann", NULL, "system:anonymous"},
        {false, 0, "", "ann", "Bearer secret", "tom"},
        {false, 0, "", "ann", "Bearer wrong", NULL},
        /* A client's certificate: headers are not believed either. */
        {true, BY_CLIENT_CA, "eve", "ann", NULL, "eve"},
        {true, BY_CLIENT_CA, "proxy", "ann", NULL, "proxy"},
        {true, BY_CLIENT_CA, "eve", NULL, "Bearer wrong", "eve"},
        /* One without a name is nobody's, but it is not a proxy's either: no anonymous caller. */
        {true, BY_CLIENT_CA, "", NULL, NULL, NULL},
        {true, BY_CLIENT_CA, "", NULL, "Bearer secret", "tom"},
        /* A certificate of an unknown CA. */
        {true, 0, "proxy", "ann", NULL, NULL},
        {true, 0, "proxy", "ann", "Bearer secret", "tom"},
        /* A proxy's. */
        {true, BY_PROXY_CA, "proxy", "ann", NULL, "ann"},
        {true, BY_PROXY_CA, "proxy", "ann", "Bearer secret", "ann"},
        {true, BY_PROXY_CA | BY_CLIENT_CA, "proxy", "ann", NULL, "ann"},
        {true, BY_PROXY_CA | BY_CLIENT_CA, "proxy", NULL, NULL, "proxy"},
        /* Without headers it is no login, and with a token it is the token's. */
        {true, BY_PROXY_CA, "proxy", NULL, "Bearer secret", "tom"},
        {true, BY_PROXY_CA, "proxy", NULL, NULL, NULL},
        /* A certificate of the proxies' CA with another name. */
        {true, BY_PROXY_CA, "other", "ann", NULL, NULL},
        {true, BY_PROXY_CA, "other", NULL, NULL, NULL},
        {true, BY_PROXY_CA, "other", "ann", "Bearer secret", "tom"},
        {true, BY_PROXY_CA | BY_CLIENT_CA, "other", "ann", NULL, "other"},
    };
    struct cor_client_trust *trust = make_trust(true, standard_proxy("proxy"));
    struct cor_token_table *tokens;

    assert_int_equal(cor_token_table_new(&tokens), 0);
    assert_int_equal(
        cor_token_table_add(tokens, COR_STR("secret"), COR_STR("tom"), COR_STR(""), COR_STR("")),
        0);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_authenticator auth = {.tokens = tokens, .server_uid = 1000, .trust = trust};
        struct cor_peer_cert cert = {.common_name = cor_strz(rows[i].cn),
                                     .judged = {.generation = 3, /* two sets after the first */
                                                .until_s = INT64_MAX,
                                                .by = rows[i].by}};
        struct cor_peer peer = {.is_tls = true, .cert = rows[i].has_cert ? &cert : NULL};
        struct cor_http_header headers[2];
        struct cor_http_request req = {.headers = headers, .peer = &peer};
        struct cor_identity id = {0};
        int r;

        if (rows[i].user)
            headers[req.nheaders++] =
                (struct cor_http_header){COR_STR("X-Remote-User"), cor_strz(rows[i].user)};
        if (rows[i].token)
            headers[req.nheaders++] =
                (struct cor_http_header){COR_STR("Authorization"), cor_strz(rows[i].token)};
        r = cor_authenticate(&auth, &req, NULL, &id);
        assert_int_equal(r, rows[i].name ? 0 : -COR_EUNAUTHORIZED);
        if (r == 0)
            assert_str(id.user.name, rows[i].name);
        cor_identity_deinit(&id);
    }
    cor_token_table_free(tokens);
    cor_client_trust_free(trust);
}
