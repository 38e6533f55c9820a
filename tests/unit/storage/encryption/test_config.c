#include "storage/encryption/encryption_config.h"

#include <stdio.h>

#include "test.h"

#define HEAD "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\n"
/* 16 bytes. */
#define SECRET     "c2VjcmV0IGlzIHNlY3VyZQ=="
#define GCM(name)  "  - aesgcm: {keys: [{name: " name ", secret: " SECRET "}]}\n"
#define RULE(list) "- resources: " list "\n  providers:\n"

static int read_text(const char *text, struct cor_encryption_config *c, struct cor_status *st)
{
    cor_status_init(st);
    return cor_encryption_config_read(cor_strz(text), c, st);
}

static void refused(const char *text, const char *message)
{
    struct cor_encryption_config c;
    struct cor_status st;

    if (read_text(text, &c, &st) == 0)
        fail_msg("accepted:\n%s", text);
    assert_int_equal(st.err, -COR_EINVAL);
    assert_string_equal(cor_status_message(&st), message);
    cor_status_deinit(&st);
}

static void accepted(const char *text)
{
    struct cor_encryption_config c;
    struct cor_status st;

    if (read_text(text, &c, &st) < 0)
        fail_msg("%s", cor_status_message(&st));
    cor_encryption_config_deinit(&c);
}

TEST(config, reads_rules_providers_and_keys_in_order)
{
    struct cor_encryption_config c;
    struct cor_status st;

    assert_int_equal(
        read_text(
            HEAD "resources:\n" RULE("[secrets, configmaps]") GCM(
                "key1") "  - secretbox:\n"
                        "      keys:\n"
                        "      - name: key2\n"
                        "        secret: YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY=\n"
                        "      - {name: key3, secret: YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY=}\n"
                        "  - identity: {}\n" RULE("['*.apps']") GCM("key4"),
            &c, &st),
        0);
    assert_int_equal(c.nrules, 2);
    assert_int_equal(c.nnames, 3);
    assert_str(c.rules[0].resources[1], "configmaps");
    assert_int_equal(c.rules[0].nproviders, 3);
    assert_int_equal(c.rules[0].providers[0].kind, COR_PROVIDER_AESGCM);
    assert_int_equal(c.rules[0].providers[1].kind, COR_PROVIDER_SECRETBOX);
    assert_int_equal(c.rules[0].providers[1].nkeys, 2);
    assert_str(c.rules[0].providers[1].keys[1].name, "key3");
    assert_int_equal(c.rules[0].providers[2].kind, COR_PROVIDER_IDENTITY);
    assert_str(c.rules[1].resources[0], "*.apps");
    assert_str(c.rules[1].providers[0].keys[0].secret, SECRET);
    cor_encryption_config_deinit(&c);
}

TEST(config, reads_json_and_the_name_of_old)
{
    accepted("{\"kind\":\"EncryptionConfiguration\",\"apiVersion\":\"apiserver.config.k8s.io/v1\","
             "\"resources\":[{\"resources\":[\"secrets\"],\"providers\":[{\"identity\":{}}]}]}");
    accepted("kind: EncryptionConfig\napiVersion: v1\nresources:\n" RULE("[secrets]") GCM("a"));
}

TEST(config, decodes_strictly)
{
    refused(HEAD "resources:\n" RULE("[secrets]") "  - aesgcm: {keys: [{name: a, secrets: " SECRET
                                                  "}]}\n  color: red\n",
            "strict decoding error: unknown field \"resources[0].color\", unknown field "
            "\"resources[0].providers[0].aesgcm.keys[0].secrets\"");
    refused(HEAD HEAD "resources: []\n",
            "strict decoding error: yaml: unmarshal errors:\n  line 3: key \"kind\" already set in "
            "map\n  line 4: key \"apiVersion\" already set in map");
    refused("{\"kind\":\"EncryptionConfiguration\",\"apiVersion\":\"apiserver.config.k8s.io/v1\","
            "\"resources\":[],\"resources\":[]}",
            "strict decoding error: duplicate field \"resources\"");
    refused(HEAD "resources: secrets\n",
            "json: cannot unmarshal string into field \"resources\" of type array");
    refused(HEAD "resources:\n" RULE("[1]") GCM("a"),
            "json: cannot unmarshal number into field \"resources[0].resources[0]\" of type "
            "string");
}

TEST(config, wants_its_kind)
{
    refused("", "couldn't get version/kind; json parse error");
    refused("[]", "couldn't get version/kind; json parse error");
    refused("apiVersion: v1\n", "Object 'Kind' is missing");
    refused("kind: EncryptionConfiguration\n", "Object 'apiVersion' is missing");
    refused("kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v2\n",
            "no kind \"EncryptionConfiguration\" is registered for version "
            "\"apiserver.config.k8s.io/v2\"");
    refused("kind: EncryptionConfig\napiVersion: apiserver.config.k8s.io/v1\n",
            "no kind \"EncryptionConfig\" is registered for version "
            "\"apiserver.config.k8s.io/v1\"");
}

TEST(config, needs_at_least_one_of_everything)
{
    refused(HEAD, "resources: Required value: at least one resources is required");
    refused(HEAD "resources:\n- {}\n",
            "[resources[0].resources: Required value: at least one resources[0].resources is "
            "required, resources[0].providers: Required value: at least one "
            "resources[0].providers is required]");
    refused(HEAD "resources:\n" RULE("[secrets]") "  - aescbc: {}\n",
            "resources[0].providers[0].aescbc.keys: Required value: at least one keys is "
            "required");
    refused(HEAD "resources:\n" RULE("[secrets]") "  - secretbox: {keys: [{}]}\n",
            "[resources[0].providers[0].secretbox.keys[0].name: Required value: name is a "
            "mandatory field for a key, resources[0].providers[0].secretbox.keys[0].secret: "
            "Required value: secret is a mandatory field for a key]");
}

TEST(config, takes_one_provider_per_element)
{
    refused(HEAD "resources:\n" RULE("[secrets]") "  - {}\n",
            "resources[0].providers[0]: Invalid value: \"REDACTED\": provider does not contain any "
            "of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity");
    refused(HEAD "resources:\n" RULE("[secrets]") "  - identity:\n",
            "resources[0].providers[0]: Invalid value: \"REDACTED\": provider does not contain any "
            "of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity");
    refused(HEAD "resources:\n" RULE("[secrets]") "  - identity: {}\n    aesgcm: {keys: [{name: a, "
                                                  "secret: " SECRET "}]}\n",
            "resources[0].providers[0]: Invalid value: \"REDACTED\": more than one provider "
            "specified in a single element, should split into different list elements");
}

TEST(config, refuses_kms_and_names_the_field)
{
    refused(HEAD "resources:\n" RULE("[secrets]") GCM("a") "  - kms: {apiVersion: v2, name: vault, "
                                                           "endpoint: 'unix:///kms.sock'}\n",
            "resources[0].providers[1].kms: Forbidden: KMS providers are not supported by this "
            "server; use aesgcm, aescbc or secretbox");
}

TEST(config, checks_secrets_and_never_prints_them)
{
    refused(HEAD
            "resources:\n" RULE("[secrets]") "  - aesgcm: {keys: [{name: a, secret: '%%%'}]}\n",
            "resources[0].providers[0].aesgcm.keys[0].secret: Invalid value: \"REDACTED\": secrets "
            "must be base64 encoded");
    refused(HEAD "resources:\n" RULE("[secrets]") "  - aescbc: {keys: [{name: a, secret: YWJj}]}\n",
            "resources[0].providers[0].aescbc.keys[0].secret: Invalid value: \"REDACTED\": secret "
            "is not of the expected length, got 3, expected one of [16 24 32]");
    refused(HEAD "resources:\n" RULE("[secrets]") "  - secretbox: {keys: [{name: a, secret: " SECRET
                                                  "}]}\n",
            "resources[0].providers[0].secretbox.keys[0].secret: Invalid value: \"REDACTED\": "
            "secret is not of the expected length, got 16, expected one of [32]");
}

TEST(config, checks_the_names_of_resources)
{
    static const struct {
        const char *name, *why;
    } rows[] = {
        {"Secrets", "resource name should not contain capital letters"},
        {"*", "use '*.' to encrypt all the resources from core API group or *.* to encrypt all "
              "resources"},
        {"apiserveripinfo", "resources which do not have REST API/s cannot be encrypted"},
        {"serviceipallocations", "resources which do not have REST API/s cannot be encrypted"},
        {"servicenodeportallocations",
         "resources which do not have REST API/s cannot be encrypted"},
        {"events.events.k8s.io", "'*.events.k8s.io' objects are stored using the 'events' API "
                                 "group in etcd. Use 'events' instead in the config file"},
        {"*.extensions", "'extensions' group has been removed and cannot be used for encryption"},
        {"secrets.*", "encrypting the same resource across groups is not supported"},
    };
    char text[512], message[512];

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        snprintf(text, sizeof(text), HEAD "resources:\n- resources: ['%s']\n  providers:\n%s",
                 rows[i].name, GCM("a"));
        snprintf(message, sizeof(message), "resources[0].resources[0]: Invalid value: \"%s\": %s",
                 rows[i].name, rows[i].why);
        refused(text, message);
    }
}

TEST(config, a_list_may_not_repeat_or_overlap)
{
    static const char overlap[] = "using overlapping resources such as 'secrets' and '*.' in the "
                                  "same resource list is not allowed as they will be masked";
    static const struct {
        const char *list;
        bool repeats, overlaps;
    } rows[] = {
        {"[\"secrets\",\"secrets\"]", true, false},
        {"[\"secrets\",\"*.\"]", false, true},
        {"[\"*.apps\",\"deployments.apps\"]", false, true},
        {"[\"*.*\",\"secrets\"]", false, true},
        {"[\"*.*\",\"*.*\"]", true, true},
        {"[\"*.\",\"*.apps\",\"crontabs.stable.example.com\"]", false, false},
        {"[\"secrets\",\"secrets.example.com\"]", false, false},
    };
    char text[512], message[1024];

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        snprintf(text, sizeof(text), HEAD "resources:\n- resources: %s\n  providers:\n%s",
                 rows[i].list, GCM("a"));
        if (!rows[i].repeats && !rows[i].overlaps) {
            accepted(text);
            continue;
        }
        snprintf(message, sizeof(message), "%s%s%s%s%s%s%s%s%s",
                 rows[i].repeats && rows[i].overlaps ? "[" : "",
                 rows[i].repeats ? "resources[0].resources: Invalid value: " : "",
                 rows[i].repeats ? rows[i].list : "",
                 rows[i].repeats ? ": the same resource cannot be specified multiple times" : "",
                 rows[i].repeats && rows[i].overlaps ? ", " : "",
                 rows[i].overlaps ? "resources[0].resources: Invalid value: " : "",
                 rows[i].overlaps ? rows[i].list : "", rows[i].overlaps ? ": " : "",
                 rows[i].overlaps ? overlap : "");
        if (rows[i].repeats && rows[i].overlaps)
            strncat(message, "]", sizeof(message) - strlen(message) - 1);
        refused(text, message);
    }
}

TEST(config, has_maxima)
{
    struct cor_encryption_config c;
    struct cor_status st;
    struct cor_buf text;

    cor_buf_init(&text, COR_ENCRYPTION_FILE_MAX + 1);
    assert_int_equal(cor_buf_addz(&text, HEAD "resources:\n- resources:\n"), 0);
    for (int i = 0; i <= COR_ENCRYPTION_NAMES_MAX; i++)
        assert_int_equal(cor_buf_addf(&text, "  - r%d\n", i), 0);
    assert_int_equal(read_text(cor_buf_z(&text), &c, &st), -COR_ETOOBIG);
    assert_string_equal(cor_status_message(&st), "resources: Too many: more than 4096 names");
    cor_status_deinit(&st);
    while (text.n <= COR_ENCRYPTION_FILE_MAX)
        assert_int_equal(cor_buf_addc(&text, '\n'), 0);
    assert_int_equal(read_text(cor_buf_z(&text), &c, &st), -COR_ETOOBIG);
    cor_status_deinit(&st);
    cor_buf_deinit(&text);
}

TEST(config, survives_every_failed_allocation)
{
    static const char json_twice[] =
        "{\"kind\":\"EncryptionConfiguration\",\"apiVersion\":\"apiserver.config.k8s.io/v1\","
        "\"resources\":[],\"resources\":[]}";
    static const char *const texts[] = {
        HEAD "resources:\n" RULE("[secrets, configmaps]") GCM("a") RULE("['*.*']") GCM("b"),
        HEAD "resources:\n" RULE("[secrets]") "  - aesgcm: {keys: [{name: a, secret: '%%'}]}\n",
        HEAD "resources:\n" RULE("[secrets]") "  - colors: {}\n",
        HEAD HEAD "resources: []\n",
        json_twice,
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++) {
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_encryption_config c;
            struct cor_status st;
            int r = read_text(texts[i], &c, &st);

            /* Only the first of them is a configuration. */
            assert_true(r == (i == 0 ? 0 : -COR_EINVAL) ||
                        (r == -COR_ENOMEM && test_alloc_failed()));
            if (r == 0) {
                assert_int_equal(c.nrules, 2);
                assert_int_equal(c.nnames, 3);
                cor_encryption_config_deinit(&c);
            }
            cor_status_deinit(&st);
        }
    }
}
