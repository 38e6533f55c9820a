/* Certificates for tests. */
#ifndef COR_TEST_IDENTITIES_H
#define COR_TEST_IDENTITIES_H

#include "base/clock.h"
#include "net/crypto/cert.h"
#include "test.h"

/* A CA with a server certificate for localhost and 127.0.0.1, and a client certificate. */
struct identities {
    struct cor_cert_pair ca, server, client;
};

static inline void identities_init(struct identities *ids)
{
    static const char *const names[] = {"localhost"}, *const addresses[] = {"127.0.0.1", "::1"};
    static const struct cor_str orgs[] = {COR_STR("system:masters"), COR_STR("dev")};
    struct cor_cert_opts opts = {.use = COR_CERT_CA,
                                 .common_name = COR_STR("test-ca"),
                                 .now_s = cor_clock_wall_ms(cor_clock_real()) / 1000,
                                 .valid_s = 3600};

    cor_cert_pair_init(&ids->ca);
    cor_cert_pair_init(&ids->server);
    cor_cert_pair_init(&ids->client);
    assert_int_equal(cor_cert_make(&opts, NULL, &ids->ca), 0);
    opts.use = COR_CERT_CLIENT;
    opts.common_name = COR_STR("admin");
    opts.orgs = orgs;
    opts.norgs = 2;
    assert_int_equal(cor_cert_make(&opts, &ids->ca, &ids->client), 0);
    opts = (struct cor_cert_opts){.use = COR_CERT_SERVER,
                                  .common_name = COR_STR("server"),
                                  .dns_names = names,
                                  .ndns_names = 1,
                                  .addresses = addresses,
                                  .naddresses = 2,
                                  .now_s = opts.now_s,
                                  .valid_s = 3600};
    assert_int_equal(cor_cert_make(&opts, &ids->ca, &ids->server), 0);
}

static inline void identities_deinit(struct identities *ids)
{
    cor_cert_pair_deinit(&ids->ca);
    cor_cert_pair_deinit(&ids->server);
    cor_cert_pair_deinit(&ids->client);
}

#endif
