#include "server/access/authenticator.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/crypto/cert.h"
#include "net/stream/peer.h"
#include "server/access/client_trust.h"
#include "test.h"

static struct cor_token_table *tokens(void)
{
    struct cor_token_table *table;

    assert_int_equal(cor_token_table_new(&table), 0);
    assert_int_equal(cor_token_table_add(table, COR_STR("secret"), COR_STR("ann"), COR_STR("u1"),
                                         COR_STR("dev")),
                     0);
    return table;
}

/* The generation of authorities that were set `n` times (net/stream/client_cas.c). */
#define GENERATION(n) ((n) + 1u)
#define BY_CLIENT_CA  (1u << COR_CA_CLIENT)
#define BY_PROXY_CA   (1u << COR_CA_PROXY)

/* Trusts a CA for clients, and one for front proxies when there are settings for them. Certificates
 * of these tests carry what it would say of them; net/stream/test_client_cas.c has real ones. */
static struct cor_client_trust *make_trust(struct cor_front_proxy *take_proxy)
{
    const struct cor_cert_opts opts = {
        .use = COR_CERT_CA, .common_name = COR_STR("ca"), .now_s = 1700000000, .valid_s = 1 << 30};
    struct cor_client_trust *trust;
    struct cor_cert_pair ca;

    cor_cert_pair_init(&ca);
    assert_int_equal(cor_cert_make(&opts, NULL, &ca), 0);
    assert_int_equal(cor_client_trust_new(&trust), 0);
    for (int i = 0; i < (take_proxy ? 2 : 1); i++)
        assert_int_equal(
            cor_client_cas_set(cor_client_trust_cas(trust), i, cor_buf_str(&ca.cert_pem)), 0);
    cor_client_trust_set_proxy(trust, take_proxy);
    cor_cert_pair_deinit(&ca);
    return trust;
}

static int authenticate(const struct cor_token_table *table, const struct cor_peer *peer,
                        const char *authorization, struct cor_identity *id)
{
    struct cor_client_trust *trust = make_trust(NULL);
    struct cor_authenticator auth = {.tokens = table, .server_uid = 1000, .trust = trust};
    struct cor_http_header header = {COR_STR("Authorization"), cor_strz(authorization)};
    struct cor_http_request req = {
        .headers = &header, .nheaders = authorization != NULL, .peer = peer};
    int r = cor_authenticate(&auth, &req, NULL, id);

    cor_client_trust_free(trust);
    return r;
}

TEST(authenticator, a_bearer_token_names_its_user)
{
    static const char *const good[] = {"Bearer secret", "bearer secret", "BEARER secret more",
                                       "  Bearer secret  "};
    struct cor_token_table *table = tokens();
    struct cor_peer peer = {.is_tls = true};
    struct cor_identity id;

    for (size_t i = 0; i < COR_ARRAY_LEN(good); i++) {
        assert_int_equal(authenticate(table, &peer, good[i], &id), 0);
        assert_str(id.user.name, "ann");
        assert_true(cor_user_is_in(&id.user, COR_STR("dev")));
        assert_true(cor_user_is_in(&id.user, COR_STR("system:authenticated")));
        assert_false(id.is_anonymous);
        cor_identity_deinit(&id);
    }
    cor_token_table_free(table);
}

TEST(authenticator, a_wrong_token_is_not_anonymous)
{
    struct cor_token_table *table = tokens();
    struct cor_peer peer = {.is_tls = true};
    struct cor_identity id;

    assert_int_equal(authenticate(table, &peer, "Bearer wrong", &id), -COR_EUNAUTHORIZED);
    assert_int_equal(authenticate(NULL, &peer, "Bearer secret", &id), -COR_EUNAUTHORIZED);
    assert_int_equal(
        authenticate(table, &(struct cor_peer){.is_unix = true, .uid = 0}, "Bearer wrong", &id),
        -COR_EUNAUTHORIZED);
    cor_token_table_free(table);
}

TEST(authenticator, without_credentials_it_is_system_anonymous)
{
    static const char *const none[] = {NULL, "", "Basic abc", "Bearer", "Bearer ", "Bearer  x"};
    struct cor_peer peer = {.is_tls = true};
    struct cor_identity id;

    for (size_t i = 0; i < COR_ARRAY_LEN(none); i++) {
        assert_int_equal(authenticate(NULL, &peer, none[i], &id), 0);
        assert_true(id.is_anonymous);
        assert_str(id.user.name, "system:anonymous");
        assert_int_equal(id.user.ngroups, 1);
        assert_str(id.user.groups[0], "system:unauthenticated");
    }
}

static struct cor_peer_cert *make_cert(bool is_verified, const char *cn)
{
    struct cor_peer_cert *cert = cor_calloc(1, sizeof(*cert) + 2 * sizeof(struct cor_str));

    assert_non_null(cert);
    cert->judged.generation = GENERATION(1);
    cert->judged.until_s = INT64_MAX;
    cert->judged.by = is_verified ? BY_CLIENT_CA : 0;
    cert->common_name = cor_strz(cn);
    cert->norgs = 2;
    cert->orgs[0] = COR_STR("dev");
    cert->orgs[1] = COR_STR("system:masters");
    return cert;
}

TEST(authenticator, a_verified_certificate_gives_name_and_groups)
{
    struct cor_peer_cert *cert = make_cert(true, "eve");
    struct cor_peer peer = {.is_tls = true, .cert = cert};
    struct cor_identity id;

    assert_int_equal(authenticate(NULL, &peer, NULL, &id), 0);
    assert_str(id.user.name, "eve");
    assert_int_equal(id.user.ngroups, 3);
    assert_true(cor_user_is_in(&id.user, COR_STR("system:masters")));
    assert_true(cor_user_is_in(&id.user, COR_STR("system:authenticated")));
    cor_identity_deinit(&id);
    cor_free(cert);
}

TEST(authenticator, an_unverified_certificate_proves_nothing)
{
    struct cor_peer_cert *cert = make_cert(false, "eve");
    struct cor_peer peer = {.is_tls = true, .cert = cert};
    struct cor_token_table *table = tokens();
    struct cor_identity id;

    assert_int_equal(authenticate(table, &peer, NULL, &id), -COR_EUNAUTHORIZED);
    assert_int_equal(authenticate(table, &peer, "Bearer secret", &id), 0);
    assert_str(id.user.name, "ann");
    cor_token_table_free(table);
    cor_free(cert);
}

TEST(authenticator, a_certificate_without_a_name_is_nobody)
{
    struct cor_peer_cert *cert = make_cert(true, "");
    struct cor_peer peer = {.is_tls = true, .cert = cert};
    struct cor_identity id;

    assert_int_equal(authenticate(NULL, &peer, NULL, &id), 0);
    assert_true(id.is_anonymous);
    cor_free(cert);
}

TEST(authenticator, root_and_the_servers_own_user_are_masters_on_a_unix_socket)
{
    static const struct {
        uid_t uid;
        const char *name;
        bool is_master;
    } rows[] = {{0, "system:unix:0", true},
                {1000, "system:unix:1000", true},
                {1001, "system:unix:1001", false}};
    struct cor_identity id;

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_peer peer = {.is_unix = true, .uid = rows[i].uid};

        assert_int_equal(authenticate(NULL, &peer, NULL, &id), 0);
        assert_str(id.user.name, rows[i].name);
        assert_int_equal(cor_user_is_in(&id.user, COR_STR("system:masters")), rows[i].is_master);
        assert_true(cor_user_is_in(&id.user, COR_STR("system:authenticated")));
    }
}

/* Contract access 2.1.1, 2.4.2: the first success wins, also after a wrong bearer token. */
TEST(authenticator, the_token_of_a_websocket_names_its_user)
{
#define SOCKET_TOKEN "base64url.bearer.authorization.k8s.io."
    static const struct {
        const char *protocol, *authorization;
        int r;
        bool is_by_websocket;
    } rows[] = {
        {SOCKET_TOKEN "c2VjcmV0, v1", NULL, 0, true},
        {SOCKET_TOKEN "c2VjcmV0, v1", "Bearer wrong", 0, true},
        {SOCKET_TOKEN "c2VjcmV0, v1", "Bearer secret", 0, false},
        {SOCKET_TOKEN "d3Jvbmc, v1", "Bearer secret", 0, false},
        {SOCKET_TOKEN "d3Jvbmc, v1", NULL, -COR_EUNAUTHORIZED, false},
        {SOCKET_TOKEN "c2VjcmV0", NULL, -COR_EUNAUTHORIZED, false},
        {"v1", "Bearer wrong", -COR_EUNAUTHORIZED, false},
    };
    struct cor_token_table *table = tokens();
    struct cor_authenticator auth = {.tokens = table, .server_uid = 1000};
    struct cor_peer peer = {.is_tls = true};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_http_header headers[4] = {
            {COR_STR("Upgrade"), COR_STR("websocket")},
            {COR_STR("Connection"), COR_STR("Upgrade")},
            {COR_STR("Sec-WebSocket-Protocol"), cor_strz(rows[i].protocol)},
            {COR_STR("Authorization"), cor_strz(rows[i].authorization)}};
        struct cor_http_request req = {
            .headers = headers, .nheaders = rows[i].authorization ? 4 : 3, .peer = &peer};

        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_identity id = {0};
            int r = cor_authenticate(&auth, &req, NULL, &id);

            if (r == -COR_ENOMEM) {
                assert_true(test_alloc_failed());
                continue;
            }
            assert_int_equal(r, rows[i].r);
            assert_int_equal(id.is_by_websocket, rows[i].is_by_websocket);
            if (r == 0)
                assert_str(id.user.name, "ann");
            cor_identity_deinit(&id);
        }
    }
    /* Of a request that asks for no WebSocket it is not looked at. */
    for (int i = 0; i < 2; i++) {
        struct cor_http_header headers[2] = {
            {COR_STR("Sec-WebSocket-Protocol"), COR_STR(SOCKET_TOKEN "c2VjcmV0, v1")},
            {i == 0 ? COR_STR("Connection") : COR_STR("Upgrade"), COR_STR("Upgrade")}};
        struct cor_http_request req = {.headers = headers, .nheaders = 2, .peer = &peer};
        struct cor_identity id = {0};

        assert_int_equal(cor_authenticate(&auth, &req, NULL, &id), 0);
        assert_true(id.is_anonymous);
        cor_identity_deinit(&id);
    }
    cor_token_table_free(table);
}
