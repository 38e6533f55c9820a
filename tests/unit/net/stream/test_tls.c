#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

#include "../stream_fixture.h"
#include "identities.h"
#include "net/stream/net_int.h"

static struct cor_tls *make(enum cor_tls_role role, const struct cor_cert_pair *own,
                            const struct cor_cert_pair *ca, const char *const *alpn, size_t nalpn)
{
    struct cor_tls_opts opts = {.role = role, .alpn = alpn, .nalpn = nalpn};
    struct cor_tls *tls;

    if (own) {
        opts.cert_pem = cor_buf_str(&own->cert_pem);
        opts.key_pem = cor_buf_str(&own->key_pem);
    }
    if (ca)
        opts.ca_pem = cor_buf_str(&ca->cert_pem);
    assert_int_equal(cor_tls_new(&opts, &tls), 0);
    return tls;
}

static bool server_got_five(void *arg)
{
    return ((struct pair *)arg)->server.got_n >= 5;
}

static bool client_got_five(void *arg)
{
    return ((struct pair *)arg)->client.got_n >= 5;
}

static int write_one(struct cor_stream *s, struct cor_str bytes)
{
    return cor_stream_write(s, &bytes, 1);
}

TEST(tls, both_roles_meet_and_end)
{
    static const char *const server_alpn[] = {"http/1.1"}, *const client_alpn[] = {"h2",
                                                                                   "http/1.1"};
    struct identities ids;
    struct cor_tls *server, *client;
    struct pair p;

    identities_init(&ids);
    server = make(COR_TLS_SERVER, &ids.server, NULL, server_alpn, 1);
    client = make(COR_TLS_CLIENT, NULL, &ids.ca, client_alpn, 2);
    pair_init(&p);
    assert_int_equal(pair_connect(&p, server, client, "localhost"), 0);
    assert_int_equal(write_one(p.client.stream, COR_STR("hello")), 0);
    assert_true(cor_loop_run_until(p.loop, server_got_five, &p, PATIENCE_MS));
    assert_str(cor_buf_str(&p.server.got), "hello");
    assert_str(cor_stream_alpn(p.client.stream), "http/1.1");
    assert_str(cor_stream_alpn(p.server.stream), "http/1.1");
    assert_true(cor_stream_peer(p.server.stream)->is_tls);
    assert_null(cor_stream_peer(p.server.stream)->cert);
    assert_str(cor_stream_peer(p.client.stream)->cert->common_name, "server");
    assert_true(cor_stream_peer(p.client.stream)->cert->is_verified);
    assert_int_equal(write_one(p.server.stream, COR_STR("world")), 0);
    assert_true(cor_loop_run_until(p.loop, client_got_five, &p, PATIENCE_MS));
    cor_stream_end(p.client.stream);
    cor_stream_end(p.server.stream);
    assert_true(cor_loop_run_until(p.loop, both_ended, &p, PATIENCE_MS));
    assert_int_equal(p.server.why, 0);
    assert_int_equal(p.client.why, 0);
    pair_deinit(&p);
    cor_tls_unref(server);
    cor_tls_unref(client);
    identities_deinit(&ids);
}

/* Does one of the session's temporary keys still hold a key? */
static bool keeps_exchange(SSL *ssl)
{
    EVP_PKEY *keys[2] = {NULL, NULL};
    bool keeps = false;

    SSL_get_tmp_key(ssl, &keys[0]);
    SSL_get_peer_tmp_key(ssl, &keys[1]);
    for (int i = 0; i < 2; i++) {
        unsigned char *bytes = NULL;

        keeps |= keys[i] && EVP_PKEY_get1_encoded_public_key(keys[i], &bytes) > 0;
        OPENSSL_free(bytes);
        EVP_PKEY_free(keys[i]);
    }
    return keeps;
}

/* They are of no use any more, and those of ML-KEM are large. */
TEST(tls, the_keys_of_the_exchange_do_not_outlive_the_handshake)
{
    struct identities ids;
    struct cor_tls *server, *client;
    struct pair p;

    identities_init(&ids);
    server = make(COR_TLS_SERVER, &ids.server, NULL, NULL, 0);
    client = make(COR_TLS_CLIENT, NULL, &ids.ca, NULL, 0);
    pair_init(&p);
    assert_int_equal(pair_connect(&p, server, client, "localhost"), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    assert_false(keeps_exchange(p.server.stream->ssl));
    assert_false(keeps_exchange(p.client.stream->ssl));
    /* New keys of the connection come without them. */
    assert_int_equal(SSL_key_update(p.client.stream->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    assert_int_equal(write_one(p.client.stream, COR_STR("hello")), 0);
    assert_true(cor_loop_run_until(p.loop, server_got_five, &p, PATIENCE_MS));
    assert_int_equal(write_one(p.server.stream, COR_STR("there")), 0);
    assert_true(cor_loop_run_until(p.loop, client_got_five, &p, PATIENCE_MS));
    assert_str(cor_buf_str(&p.server.got), "hello");
    assert_str(cor_buf_str(&p.client.got), "there");
    pair_deinit(&p);
    cor_tls_unref(server);
    cor_tls_unref(client);
    identities_deinit(&ids);
}

TEST(tls, a_client_shakes_hands_on_a_connected_socket)
{
    struct identities ids;
    struct sockaddr_in to = {.sin_family = AF_INET};
    struct cor_stream_opts opts = {
        .cbs = &end_cbs, .out_max = 256 * 1024, .server_name = "localhost"};
    struct cor_tls *server, *client;
    struct pair p;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    identities_init(&ids);
    server = make(COR_TLS_SERVER, &ids.server, NULL, NULL, 0);
    client = make(COR_TLS_CLIENT, NULL, &ids.ca, NULL, 0);
    pair_init(&p);
    p.server_opts.tls = server;
    assert_int_equal(cor_listener_open(p.net, "127.0.0.1", 0, pair_on_accept, &p, &p.listener), 0);
    to.sin_port = htons(cor_listener_port(p.listener));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    opts.arg = &p.client;
    opts.tls = client;
    assert_int_equal(cor_stream_open(p.net, fd, &opts, &p.client.stream), 0);
    assert_false(p.client.is_open);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    pair_deinit(&p);
    cor_tls_unref(server);
    cor_tls_unref(client);
    identities_deinit(&ids);
}

/* What the server knows of a client with `own` when it trusts `ca`. */
static void check_client(const struct identities *ids, const struct cor_cert_pair *own,
                         const struct cor_cert_pair *ca, bool verified)
{
    struct cor_tls *server = make(COR_TLS_SERVER, &ids->server, ca, NULL, 0);
    struct cor_tls *client = make(COR_TLS_CLIENT, own, &ids->ca, NULL, 0);
    const struct cor_peer_cert *cert;
    struct pair p;

    pair_init(&p);
    assert_int_equal(pair_connect(&p, server, client, "127.0.0.1"), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    cert = cor_stream_peer(p.server.stream)->cert;
    if (own) {
        assert_non_null(cert);
        assert_int_equal(cert->is_verified, verified);
        assert_str(cert->common_name, "admin");
        assert_int_equal(cert->norgs, 2);
        assert_str(cert->orgs[0], "system:masters");
        assert_str(cert->orgs[1], "dev");
    } else {
        assert_null(cert);
    }
    pair_deinit(&p);
    cor_tls_unref(server);
    cor_tls_unref(client);
}

TEST(tls, a_client_certificate_is_asked_for_and_judged)
{
    struct identities ids, others;

    identities_init(&ids);
    identities_init(&others);
    check_client(&ids, &ids.client, &ids.ca, true);
    check_client(&ids, &others.client, &ids.ca, false);
    check_client(&ids, NULL, &ids.ca, false);
    identities_deinit(&others);
    identities_deinit(&ids);
}

TEST(tls, a_server_certificate_does_not_pass_for_a_client_s)
{
    struct identities ids;
    struct cor_tls *server, *client;
    struct pair p;

    identities_init(&ids);
    server = make(COR_TLS_SERVER, &ids.server, &ids.ca, NULL, 0);
    client = make(COR_TLS_CLIENT, &ids.server, &ids.ca, NULL, 0);
    pair_init(&p);
    assert_int_equal(pair_connect(&p, server, client, "localhost"), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    assert_false(cor_stream_peer(p.server.stream)->cert->is_verified);
    pair_deinit(&p);
    cor_tls_unref(server);
    cor_tls_unref(client);
    identities_deinit(&ids);
}

static void check_refused(const struct identities *ids, const struct cor_cert_pair *ca,
                          const char *name)
{
    struct cor_tls *server = make(COR_TLS_SERVER, &ids->server, NULL, NULL, 0);
    struct cor_tls *client = make(COR_TLS_CLIENT, NULL, ca, NULL, 0);
    struct pair p;

    pair_init(&p);
    assert_int_equal(pair_connect(&p, server, client, name), 0);
    assert_true(cor_loop_run_until(p.loop, both_ended, &p, PATIENCE_MS));
    assert_int_equal(p.client.why, -COR_ETLS);
    assert_int_equal(p.server.why, -COR_ETLS);
    assert_false(p.client.is_open);
    pair_deinit(&p);
    cor_tls_unref(server);
    cor_tls_unref(client);
}

/* Contract client 4.12.1: nothing older than TLS 1.2; a CA is in the place of the system's. */
TEST(tls, a_client_refuses_strangers_and_wrong_names)
{
    struct identities ids, others;
    struct cor_tls *tls;

    identities_init(&ids);
    identities_init(&others);
    tls = make(COR_TLS_CLIENT, NULL, &ids.ca, NULL, 0);
    assert_int_equal(SSL_CTX_get_min_proto_version(tls->ctx), TLS1_2_VERSION);
    cor_tls_unref(tls);
    check_refused(&ids, &others.ca, "localhost");
    check_refused(&ids, NULL, "localhost");
    check_refused(&ids, &ids.ca, "example.org");
    check_refused(&ids, &ids.ca, "127.0.0.2");
    identities_deinit(&others);
    identities_deinit(&ids);
}

static bool server_ended(void *arg)
{
    return ((struct pair *)arg)->server.has_ended;
}

static bool client_ended(void *arg)
{
    return ((struct pair *)arg)->client.has_ended;
}

TEST(tls, a_plain_client_is_refused)
{
    struct identities ids;
    struct cor_tls *server;
    struct pair p;

    identities_init(&ids);
    server = make(COR_TLS_SERVER, &ids.server, NULL, NULL, 0);
    pair_init(&p);
    assert_int_equal(pair_connect(&p, server, NULL, NULL), 0);
    assert_int_equal(write_one(p.client.stream, COR_STR("GET / HTTP/1.1\r\n\r\n")), 0);
    assert_true(cor_loop_run_until(p.loop, server_ended, &p, PATIENCE_MS));
    assert_int_equal(p.server.why, -COR_ETLS);
    assert_false(p.server.is_open);
    pair_deinit(&p);
    cor_tls_unref(server);
    identities_deinit(&ids);
}

TEST(tls, a_connection_that_breaks_off_is_no_clean_end)
{
    struct identities ids;
    struct cor_tls *server, *client;
    struct pair p;

    identities_init(&ids);
    server = make(COR_TLS_SERVER, &ids.server, NULL, NULL, 0);
    client = make(COR_TLS_CLIENT, NULL, &ids.ca, NULL, 0);
    pair_init(&p);
    assert_int_equal(pair_connect(&p, server, client, "localhost"), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    cor_stream_close(p.server.stream, on_end_closed, &p.server);
    p.server.stream = NULL;
    assert_true(cor_loop_run_until(p.loop, client_ended, &p, PATIENCE_MS));
    assert_int_equal(p.client.why, -COR_EIO);
    pair_deinit(&p);
    cor_tls_unref(server);
    cor_tls_unref(client);
    identities_deinit(&ids);
}

static uint64_t total;

static void pour(struct end *end)
{
    char piece[7001];

    while (end->left > 0) {
        size_t n = end->left < sizeof(piece) ? (size_t)end->left : sizeof(piece);

        for (size_t i = 0; i < n; i++)
            piece[i] = (char)((end->left - i) * 31 >> 3);
        if (write_one(end->stream, cor_str(piece, n)) < 0) {
            cor_stream_want_writable(end->stream);
            return;
        }
        end->left -= n;
    }
    cor_stream_end(end->stream);
}

static void check_poured(struct end *end, struct cor_str bytes)
{
    uint64_t left = total - (end->got_n - bytes.n);

    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] != (char)((left - i) * 31 >> 3))
            fail_msg("byte %zu differs", end->got_n - bytes.n + i);
    }
}

TEST(tls, much_output_goes_both_ways_at_once)
{
    struct identities ids;
    struct cor_tls *server, *client;
    struct pair p;

    total = 8u << 20;
    identities_init(&ids);
    server = make(COR_TLS_SERVER, &ids.server, NULL, NULL, 0);
    client = make(COR_TLS_CLIENT, NULL, &ids.ca, NULL, 0);
    pair_init(&p);
    assert_int_equal(pair_connect(&p, server, client, "localhost"), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    p.client.forgets = p.server.forgets = true;
    p.client.on_data = p.server.on_data = check_poured;
    p.client.on_writable = p.server.on_writable = pour;
    p.client.left = p.server.left = total;
    pour(&p.client);
    pour(&p.server);
    assert_true(cor_loop_run_until(p.loop, both_ended, &p, PATIENCE_MS));
    assert_int_equal(p.client.got_n, total);
    assert_int_equal(p.server.got_n, total);
    assert_int_equal(p.client.why, 0);
    assert_int_equal(p.server.why, 0);
    pair_deinit(&p);
    cor_tls_unref(server);
    cor_tls_unref(client);
    identities_deinit(&ids);
}

TEST(tls, failed_allocations_end_a_handshake_cleanly)
{
    struct identities ids;
    struct cor_tls *server, *client;

    identities_init(&ids);
    server = make(COR_TLS_SERVER, &ids.server, &ids.ca, NULL, 0);
    client = make(COR_TLS_CLIENT, &ids.client, &ids.ca, NULL, 0);
    FOR_EACH_FAILED_ALLOC(i) {
        struct pair p;

        test_fail_alloc(0, false);
        pair_init(&p);
        p.server.forgets = p.client.forgets = true;
        assert_int_equal(cor_listener_open(p.net, "127.0.0.1", 0, pair_on_accept, &p, &p.listener),
                         0);
        test_fail_alloc(i, false);
        p.server_opts.tls = server;
        if (cor_stream_connect(
                p.net, "127.0.0.1", cor_listener_port(p.listener),
                &(struct cor_stream_opts){
                    .cbs = &end_cbs, .arg = &p.client, .out_max = 1000, .tls = client},
                &p.client.stream) == 0)
            cor_loop_run_until(p.loop, both_open, &p, test_alloc_failed() ? 50 : 2000);
        assert_true(test_alloc_failed() || both_open(&p));
        pair_deinit(&p);
    }
    cor_tls_unref(server);
    cor_tls_unref(client);
    identities_deinit(&ids);
}

static void stop_at_once(struct end *end, struct cor_str bytes)
{
    cor_stream_read_stop(end->stream);
}

static bool server_got_more(void *arg)
{
    struct pair *p = arg;

    return p->server.got_n > p->server.left;
}

static bool never(void *arg)
{
    return false;
}

/* The first read ends one byte before the end of a full record, and the second brings that byte and
 * as much as fits after it. Owners size their buffers by the promise. */
TEST(tls, one_read_brings_no_more_than_was_promised)
{
    static const size_t records[] = {16384, 16384, 16297, 16384, 8192, 8192,
                                     8192,  8192,  8192,  8192,  8192, 8192};
    static char bytes[16384];
    struct cor_stream_opts opts = {.cbs = &end_cbs, .out_max = 256 * 1024};
    struct identities ids;
    struct pair p;
    char path[100];

    identities_init(&ids);
    pair_init(&p);
    opts.arg = &p.client;
    opts.server_name = "localhost";
    opts.tls = make(COR_TLS_CLIENT, NULL, &ids.ca, NULL, 0);
    p.server_opts.tls = make(COR_TLS_SERVER, &ids.server, NULL, NULL, 0);
    snprintf(path, sizeof(path), "%s/sock", test_tmpdir());
    assert_int_equal(cor_listener_open_unix(p.net, path, 0600, pair_on_accept, &p, &p.listener), 0);
    assert_int_equal(cor_stream_connect_unix(p.net, path, &opts, &p.client.stream), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    cor_stream_read_stop(p.server.stream);
    p.server.on_data = stop_at_once;
    for (size_t i = 0; i < COR_ARRAY_LEN(records); i++) {
        assert_int_equal(write_one(p.client.stream, cor_str(bytes, records[i])), 0);
        cor_loop_run_until(p.loop, never, NULL, 1);
    }
    for (int i = 0; i < 2; i++) {
        cor_stream_read_start(p.server.stream);
        p.server.left = p.server.got_n;
        assert_true(cor_loop_run_until(p.loop, server_got_more, &p, PATIENCE_MS));
    }
    assert_int_equal(p.server.left, 16384 + 16384 + 16297);
    assert_int_equal(p.server.got_n - p.server.left, 16384 + 7 * 8192);
    assert_true(p.server.got_n - p.server.left <= COR_STREAM_READ_MAX);
    pair_deinit(&p);
    cor_tls_unref(opts.tls);
    cor_tls_unref(p.server_opts.tls);
    identities_deinit(&ids);
}

/* Asking for its password would stop the whole program at a terminal. */
/* Connections whose first flight has come and that never go on, as one address can make by the
 * thousand, and one client from another address. */
#define FLOOD 120

struct flood {
    struct cor_net *net;
    struct cor_stream_opts opts;
    struct end ends[FLOOD + 1];
    size_t nends, most_steps;
    struct end client;
};

static void flood_on_accept(int fd, void *arg)
{
    struct flood *f = arg;
    struct end *end = &f->ends[f->nends++];

    f->opts.arg = end;
    assert_int_equal(cor_stream_open(f->net, fd, &f->opts, &end->stream), 0);
}

static int connect_from(const char *address, uint16_t port)
{
    struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* What a client says first. */
static size_t client_hello(struct cor_tls *tls, char *out, int max)
{
    SSL *ssl = SSL_new(tls->ctx);
    BIO *wire = BIO_new(BIO_s_mem());
    int n;

    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), wire);
    SSL_set_connect_state(ssl);
    SSL_do_handshake(ssl);
    n = BIO_read(wire, out, max);
    assert_true(n > 0);
    SSL_free(ssl);
    return (size_t)n;
}

static size_t nbegun(const struct flood *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->nends; i++)
        n += f->ends[i].stream && SSL_get_state(f->ends[i].stream->ssl) != TLS_ST_BEFORE;
    return n;
}

/* Asked once per turn. */
static bool flood_client_is_open(void *arg)
{
    struct flood *f = arg;

    if (f->net->handshakes.nsteps > f->most_steps)
        f->most_steps = f->net->handshakes.nsteps;
    return f->client.is_open;
}

static bool flood_has_begun(void *arg)
{
    return nbegun(arg) == FLOOD;
}

static void flood_close(struct end *end)
{
    if (end->stream)
        cor_stream_close(end->stream, on_end_closed, end);
    end->stream = NULL;
}

static bool flood_is_closed(void *arg)
{
    struct flood *f = arg;

    for (size_t i = 0; i < f->nends; i++) {
        if (!f->ends[i].is_closed)
            return false;
    }
    return f->client.is_closed;
}

TEST(tls, handshakes_of_one_address_take_turns_with_those_of_others)
{
    static struct flood f;
    struct identities ids;
    struct cor_tls *server, *client;
    struct pair p;
    struct cor_stream_opts opts = {
        .cbs = &end_cbs, .arg = &f.client, .out_max = 10000, .server_name = "localhost"};
    char hello[4096];
    int fds[FLOOD];
    size_t n;

    f = (struct flood){0};
    identities_init(&ids);
    server = make(COR_TLS_SERVER, &ids.server, NULL, NULL, 0);
    client = make(COR_TLS_CLIENT, NULL, &ids.ca, NULL, 0);
    opts.tls = client;
    pair_init(&p);
    f.net = p.net;
    p.net->handshakes.key = 1; /* with it the two addresses do not share a queue */
    f.opts = (struct cor_stream_opts){.cbs = &end_cbs, .out_max = 100000, .tls = server};
    assert_int_equal(cor_listener_open(p.net, "127.0.0.1", 0, flood_on_accept, &f, &p.listener), 0);
    n = client_hello(client, hello, sizeof(hello));
    for (size_t i = 0; i < FLOOD; i++) {
        fds[i] = connect_from("127.0.0.1", cor_listener_port(p.listener));
        assert_int_equal(write(fds[i], hello, n), n);
    }
    assert_int_equal(cor_stream_open(p.net,
                                     connect_from("127.0.0.2", cor_listener_port(p.listener)),
                                     &opts, &f.client.stream),
                     0);
    assert_true(cor_loop_run_until(p.loop, flood_client_is_open, &f, PATIENCE_MS));
    /* It has not waited for those who came before it. */
    assert_int_equal(f.nends, FLOOD + 1);
    assert_uint_in_range(nbegun(&f), 2, FLOOD * 3 / 4);
    assert_int_equal(f.most_steps, COR_HANDSHAKE_STEPS);
    /* The others are served too, unless they go away. */
    assert_true(p.net->handshakes.nwaiting > 0);
    flood_close(&f.ends[FLOOD - 1]);
    assert_true(cor_loop_run_until(p.loop, flood_has_begun, &f, PATIENCE_MS));
    assert_int_equal(p.net->handshakes.nwaiting, 0);
    for (size_t i = 0; i < FLOOD; i++)
        close(fds[i]);
    for (size_t i = 0; i < f.nends; i++)
        flood_close(&f.ends[i]);
    flood_close(&f.client);
    assert_true(cor_loop_run_until(p.loop, flood_is_closed, &f, PATIENCE_MS));
    pair_deinit(&p);
    cor_tls_unref(server);
    cor_tls_unref(client);
    identities_deinit(&ids);
}

TEST(tls, a_locked_key_is_refused_without_asking)
{
    struct cor_tls_opts opts = {
        .role = COR_TLS_SERVER,
        .key_pem = COR_STR("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                           "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhQK6TbqzPUbAICCAAw\n"
                           "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEENLhg/T0ocxDrJdKMSE8LWUEgZC/\n"
                           "g0XjN5xeAnRcFs1rgJ5hi2rUK0M0q/EsVlBMWof8Z3v4L08DA6jUfBg0CXbeJzFv\n"
                           "oTqN6RsjAlCOSQNQn7qpNQXwCJQdsVlfN/+/ihYKApmHJllf2daL3+QDiAQPy49n\n"
                           "We0ANIu6BWKQd+z2dtJKFInl9hM5gLlW+51Td2m84Wevys2NbP/VBhbuUuuwcj8=\n"
                           "-----END ENCRYPTED PRIVATE KEY-----\n")};
    struct identities ids;
    struct cor_tls *tls;
    char answer[7] = "";
    int input[2], own = dup(0);

    assert_int_equal(pipe(input), 0);
    assert_int_equal(write(input[1], "secret\n", 7), 7);
    dup2(input[0], 0);
    identities_init(&ids);
    opts.cert_pem = cor_buf_str(&ids.server.cert_pem);
    assert_int_equal(cor_tls_new(&opts, &tls), -COR_EINVAL);
    close(input[1]);
    assert_int_equal(read(input[0], answer, 7), 7);
    close(input[0]);
    dup2(own, 0);
    close(own);
    identities_deinit(&ids);
}
