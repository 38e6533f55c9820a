#include "net/stream/client_cas.h"

#include <pthread.h>

#include "../stream_fixture.h"
#include "base/err.h"
#include "identities.h"
#include "net/stream/net_int.h"
#include "test.h"

#define BY_CLIENT_CA (1u << COR_CA_CLIENT)
#define BY_PROXY_CA  (1u << COR_CA_PROXY)

/* A connection whose client has `own`, to a server with these authorities. */
struct meeting {
    struct cor_tls *server, *client;
    struct pair pair;
};

static void meeting_init(struct meeting *m, const struct identities *ids,
                         const struct cor_cert_pair *own, struct cor_client_cas *cas)
{
    struct cor_tls_opts server = {.role = COR_TLS_SERVER,
                                  .cert_pem = cor_buf_str(&ids->server.cert_pem),
                                  .key_pem = cor_buf_str(&ids->server.key_pem),
                                  .client_cas = cas};
    struct cor_tls_opts client = {.role = COR_TLS_CLIENT, .ca_pem = cor_buf_str(&ids->ca.cert_pem)};

    if (own) {
        client.cert_pem = cor_buf_str(&own->cert_pem);
        client.key_pem = cor_buf_str(&own->key_pem);
    }
    assert_int_equal(cor_tls_new(&server, &m->server), 0);
    assert_int_equal(cor_tls_new(&client, &m->client), 0);
    pair_init(&m->pair);
    assert_int_equal(pair_connect(&m->pair, m->server, m->client, "127.0.0.1"), 0);
    assert_true(cor_loop_run_until(m->pair.loop, both_open, &m->pair, PATIENCE_MS));
}

static void meeting_deinit(struct meeting *m)
{
    cor_stream_end(m->pair.client.stream);
    cor_stream_end(m->pair.server.stream);
    assert_true(cor_loop_run_until(m->pair.loop, both_ended, &m->pair, PATIENCE_MS));
    pair_deinit(&m->pair);
    cor_tls_unref(m->server);
    cor_tls_unref(m->client);
}

static struct cor_peer_cert *meeting_cert(struct meeting *m)
{
    return cor_stream_peer(m->pair.server.stream)->cert;
}

static int64_t now_s(void)
{
    return (int64_t)time(NULL);
}

/* Contract access 2.2.1: no chain check in the handshake, a check per request, and both bundles are
 * independent of one another. */
TEST(client_cas, a_certificate_is_judged_by_each_bundle)
{
    struct identities ids, others;
    struct cor_client_cas *cas;
    struct meeting m;

    identities_init(&ids);
    identities_init(&others);
    assert_int_equal(cor_client_cas_new(&cas), 0);
    meeting_init(&m, &ids, &ids.client, cas);
    assert_non_null(meeting_cert(&m));
    assert_false(meeting_cert(&m)->is_verified);
    assert_int_equal(cor_client_cas_judge(cas, meeting_cert(&m), now_s()), 0);

    assert_int_equal(cor_client_cas_set(cas, COR_CA_CLIENT, cor_buf_str(&ids.ca.cert_pem)), 0);
    assert_true(cor_client_cas_has(cas, COR_CA_CLIENT));
    assert_int_equal(cor_client_cas_judge(cas, meeting_cert(&m), now_s()), BY_CLIENT_CA);
    assert_int_equal(cor_client_cas_set(cas, COR_CA_PROXY, cor_buf_str(&others.ca.cert_pem)), 0);
    assert_int_equal(cor_client_cas_judge(cas, meeting_cert(&m), now_s()), BY_CLIENT_CA);
    assert_int_equal(cor_client_cas_set(cas, COR_CA_PROXY, cor_buf_str(&ids.ca.cert_pem)), 0);
    assert_int_equal(cor_client_cas_judge(cas, meeting_cert(&m), now_s()),
                     BY_CLIENT_CA | BY_PROXY_CA);
    /* A bundle that is replaced or removed counts from the next request on. */
    assert_int_equal(cor_client_cas_set(cas, COR_CA_CLIENT, cor_buf_str(&others.ca.cert_pem)), 0);
    assert_int_equal(cor_client_cas_judge(cas, meeting_cert(&m), now_s()), BY_PROXY_CA);
    assert_int_equal(cor_client_cas_set(cas, COR_CA_PROXY, COR_STR("")), 0);
    assert_false(cor_client_cas_has(cas, COR_CA_PROXY));
    assert_int_equal(cor_client_cas_judge(cas, meeting_cert(&m), now_s()), 0);
    meeting_deinit(&m);
    cor_client_cas_free(cas);
    identities_deinit(&others);
    identities_deinit(&ids);
}

TEST(client_cas, an_open_connection_does_not_outlive_its_certificate)
{
    struct identities ids;
    struct cor_client_cas *cas;
    struct meeting m;

    identities_init(&ids);
    assert_int_equal(cor_client_cas_new(&cas), 0);
    assert_int_equal(cor_client_cas_set(cas, COR_CA_CLIENT, cor_buf_str(&ids.ca.cert_pem)), 0);
    meeting_init(&m, &ids, &ids.client, cas);
    assert_int_equal(cor_client_cas_judge(cas, meeting_cert(&m), now_s()), BY_CLIENT_CA);
    assert_int_equal(cor_client_cas_judge(cas, meeting_cert(&m), now_s() + 50LL * 365 * 86400), 0);
    assert_int_equal(cor_client_cas_judge(cas, meeting_cert(&m), now_s()), 0);
    /* A refusal is looked at again after a minute. */
    meeting_cert(&m)->judged.until_s = now_s() - 1;
    assert_int_equal(cor_client_cas_judge(cas, meeting_cert(&m), now_s()), BY_CLIENT_CA);
    meeting_deinit(&m);
    cor_client_cas_free(cas);
    identities_deinit(&ids);
}

/* Contract access 2.2.1: extended key usage ClientAuth. */
TEST(client_cas, a_server_certificate_is_not_a_client_s)
{
    struct identities ids;
    struct cor_client_cas *cas;
    struct meeting m;

    identities_init(&ids);
    assert_int_equal(cor_client_cas_new(&cas), 0);
    assert_int_equal(cor_client_cas_set(cas, COR_CA_CLIENT, cor_buf_str(&ids.ca.cert_pem)), 0);
    meeting_init(&m, &ids, &ids.server, cas);
    assert_int_equal(cor_client_cas_judge(cas, meeting_cert(&m), now_s()), 0);
    meeting_deinit(&m);
    meeting_init(&m, &ids, NULL, cas);
    assert_null(meeting_cert(&m));
    meeting_deinit(&m);
    cor_client_cas_free(cas);
    identities_deinit(&ids);
}

/* A CA, and a certificate that it has signed with SHA-1. Both are valid for a hundred years. */
static const char weak_ca[] = "-----BEGIN CERTIFICATE-----\n"
                              "MIIBezCCASGgAwIBAgIUPbfAcmMNMY4Ko+8H40E2z0mFIc4wCgYIKoZIzj0EAwIw\n"
                              "EjEQMA4GA1UEAwwHd2Vhay1jYTAgFw0yNjExMTgwOTI5MjBaGA8yMTI2MTAyNTA5\n"
                              "MjkyMFowEjEQMA4GA1UEAwwHd2Vhay1jYTBZMBMGByqGSM49AgEGCCqGSM49AwEH\n"
                              "A0IABDQ1NmNrFNvvP7nHCGiwe1wN6iGbifmRCd4yoC5608F6G1TJSLkvfupKXnJY\n"
                              "o0ky3ixIvC4Mms3k6BQoesV/mHyjUzBRMB0GA1UdDgQWBBR754VWQlq4X2/ANONY\n"
                              "AKEfNmg1/TAfBgNVHSMEGDAWgBR754VWQlq4X2/ANONYAKEfNmg1/TAPBgNVHRMB\n"
                              "Af8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQCwLqzclCJBQuF083/XyUoSqLw9\n"
                              "4IHY6unwPoXV+T+RqgIgSEoyOttwWWOH64c4zWBYRMkb5/Iy0oJbVbh3K2IDuUM=\n"
                              "-----END CERTIFICATE-----\n";
static const char weak_cert[] = "-----BEGIN CERTIFICATE-----\n"
                                "MIIBhzCCAS6gAwIBAgIUTcPN6BVwXdjxnw7r/iycqVnnNOEwCQYHKoZIzj0EATAS\n"
                                "MRAwDgYDVQQDDAd3ZWFrLWNhMCAXDTI2MTExODA5MjkyMFoYDzIxMjYxMDI1MDky\n"
                                "OTIwWjAPMQ0wCwYDVQQDDAR3ZWFrMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n"
                                "yZ3LOpwPOJCEctThRyWQ+VXL9DtkxdyWJKvZ3q5lkzIOXmLeHHe6c8nTdxTS33cq\n"
                                "pWfZjFgv0cwJHLcwgbMI1aNkMGIwEwYDVR0lBAwwCgYIKwYBBQUHAwIwCwYDVR0P\n"
                                "BAQDAgeAMB0GA1UdDgQWBBQhPnWNbUf6/S8qbDPX5mLzS0qrMDAfBgNVHSMEGDAW\n"
                                "gBR754VWQlq4X2/ANONYAKEfNmg1/TAJBgcqhkjOPQQBA0gAMEUCIEXFBhxSTvLm\n"
                                "dhYzQP/KndRnof1RR2ssMDKjdbyCKOrfAiEApSK4jeqEwjNS4fBpnsqVi2NdZGs/\n"
                                "KLzlUtF7+atRXtQ=\n"
                                "-----END CERTIFICATE-----\n";

/* As Go has it: nothing that is signed with SHA-1 proves anything. */
TEST(client_cas, a_weak_signature_is_not_believed)
{
    BIO *in = BIO_new_mem_buf(weak_cert, -1);
    struct cor_peer_cert cert = {.x509 = PEM_read_bio_X509(in, NULL, NULL, NULL)};
    struct cor_client_cas *cas;

    assert_non_null(cert.x509);
    assert_int_equal(cor_client_cas_new(&cas), 0);
    assert_int_equal(cor_client_cas_set(cas, COR_CA_CLIENT, cor_strz(weak_ca)), 0);
    assert_int_equal(cor_client_cas_judge(cas, &cert, now_s()), 0);
    cor_client_cas_free(cas);
    X509_free(cert.x509);
    BIO_free_all(in);
}

TEST(client_cas, what_is_not_a_bundle_changes_nothing)
{
    static const char *const bad[] = {"x", "-----BEGIN CERTIFICATE-----\nAAAA\n", "\n"};
    struct identities ids;
    struct cor_client_cas *cas;
    struct meeting m;

    identities_init(&ids);
    assert_int_equal(cor_client_cas_new(&cas), 0);
    assert_int_equal(cor_client_cas_set(cas, COR_CA_CLIENT, cor_buf_str(&ids.ca.cert_pem)), 0);
    meeting_init(&m, &ids, &ids.client, cas);
    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
        assert_int_equal(cor_client_cas_set(cas, COR_CA_CLIENT, cor_strz(bad[i])), -COR_EINVAL);
        assert_int_equal(cor_client_cas_judge(cas, meeting_cert(&m), now_s()), BY_CLIENT_CA);
    }
    meeting_deinit(&m);
    cor_client_cas_free(cas);
    identities_deinit(&ids);
}

struct replacing {
    struct cor_client_cas *cas;
    const struct identities *ids, *others;
};

static void *replace_bundles(void *arg)
{
    const struct replacing *r = arg;

    for (int i = 0; i < 50; i++) {
        const struct identities *from = i % 2 ? r->ids : r->others;

        if (cor_client_cas_set(r->cas, i % 3 == 0, cor_buf_str(&from->ca.cert_pem)) < 0)
            return r->cas;
    }
    return cor_client_cas_set(r->cas, COR_CA_CLIENT, cor_buf_str(&r->ids->ca.cert_pem)) < 0 ? r->cas
                                                                                            : NULL;
}

/* For TSan: a file is read on one thread while connections are judged on others. */
TEST(client_cas, bundles_are_replaced_while_certificates_are_judged)
{
    struct identities ids, others;
    struct replacing r = {.ids = &ids, .others = &others};
    struct meeting m;
    pthread_t thread;
    void *failed;

    identities_init(&ids);
    identities_init(&others);
    assert_int_equal(cor_client_cas_new(&r.cas), 0);
    meeting_init(&m, &ids, &ids.client, r.cas);
    assert_int_equal(pthread_create(&thread, NULL, replace_bundles, &r), 0);
    for (int i = 0; i < 200; i++) {
        struct stack_st_X509_NAME *names = cor_client_cas_names(r.cas);

        assert_true(cor_client_cas_judge(r.cas, meeting_cert(&m), now_s()) <=
                    (BY_CLIENT_CA | BY_PROXY_CA));
        (void)cor_client_cas_has(r.cas, COR_CA_PROXY);
        sk_X509_NAME_pop_free(names, X509_NAME_free);
    }
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_true(cor_client_cas_judge(r.cas, meeting_cert(&m), now_s()) & BY_CLIENT_CA);
    meeting_deinit(&m);
    cor_client_cas_free(r.cas);
    identities_deinit(&others);
    identities_deinit(&ids);
}
