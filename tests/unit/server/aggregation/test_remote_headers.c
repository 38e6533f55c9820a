/* The head of a request to an aggregated API server. The expected heads are what a recording target
 * saw behind kube-apiserver v1.34.1 (tests/integration/aggregation_proxy.py repeats that where one
 * is named). */
#include "server/aggregation/remote_headers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "server/aggregation/remote_url.h"
#include "test.h"

#define B "/apis/wardle.example.com/v1"

static const struct cor_str groups[] = {COR_STR("system:masters"), COR_STR("g 2")};
static const struct cor_user_extra extras[] = {{COR_STR("scopes/x"), COR_STR("v 1")},
                                               {COR_STR("scopes/x"), COR_STR("v2")},
                                               {COR_STR("100%"), COR_STR("")}};
static const struct cor_user user = {.name = COR_STR("kube"),
                                     .uid = COR_STR("uid-1"),
                                     .groups = groups,
                                     .ngroups = 2,
                                     .extras = extras,
                                     .nextras = 3};

/* The headers of lines "Name: value\n", and the head that is made of them: its target, then its
 * headers, one on each line. */
static const char *made(const char *lines, const char *path, const char *query,
                        const struct cor_remote_names *names, bool is_upgrade)
{
    static struct cor_buf text;
    struct cor_http_header headers[64];
    struct cor_str rest = cor_strz(lines);
    struct cor_remote_head head;
    struct cor_remote_head_opts opts = {.headers = headers,
                                        .path = cor_strz(path),
                                        .query = cor_strz(query),
                                        .user = &user,
                                        .audit_id = COR_STR("aud"),
                                        .client_address = "127.0.0.1:4000",
                                        .names = names,
                                        .is_upgrade = is_upgrade};

    while (rest.n > 0) {
        struct cor_str value = cor_str_cut(&rest, '\n'), name = cor_str_cut(&value, ':');

        headers[opts.nheaders++] = (struct cor_http_header){name, cor_str_trim(value)};
    }
    assert_int_equal(cor_remote_head_init(&head, &opts), 0);
    if (!is_upgrade)
        cor_remote_head_set_host(&head, "::1", 8443);
    cor_buf_deinit(&text);
    cor_buf_init(&text, 1 << 20);
    cor_buf_addf(&text, "%.*s\n", COR_STR_ARG(head.target));
    for (size_t i = 0; i < head.nheaders; i++)
        cor_buf_addf(&text, "%.*s: %.*s\n", COR_STR_ARG(head.headers[i].name),
                     COR_STR_ARG(head.headers[i].value));
    cor_remote_head_deinit(&head);
    {
        static char kept[65536];

        snprintf(kept, sizeof(kept), "%s", cor_buf_z(&text));
        cor_buf_deinit(&text);
        return kept;
    }
}

#define USER                                                                                       \
    "X-Remote-User: kube\nX-Remote-Uid: uid-1\nX-Remote-Group: system:masters\n"                   \
    "X-Remote-Group: g 2\nX-Remote-Extra-scopes%2Fx: v 1\nX-Remote-Extra-scopes%2Fx: v2\n"         \
    "X-Remote-Extra-100%25: \n"
#define FORWARDED(uri)                                                                             \
    "X-Forwarded-For: 127.0.0.1\nX-Forwarded-Proto: https\nX-Forwarded-Uri: " uri                  \
    "\nAudit-Id: aud\n" USER "X-Forwarded-Host: [::1]:8443\n"

/* Contract extension 4.4.4; worked case 37. */
TEST(remote_headers, the_user_is_said_and_the_credentials_are_not)
{
    assert_string_equal(made("Host: c\nAuthorization: Bearer t\nAccept: application/json\n"
                             "Content-Length: 3\nExpect: 100-continue\n",
                             B "/things", "", NULL, false),
                        B "/things\nAccept: application/json\n" FORWARDED(B "/things"));
}

TEST(remote_headers, headers_of_the_connection_stay_behind)
{
    assert_string_equal(
        made("User-Agent: me\nX-Forwarded-For: 1.2.3.4\nX-Forwarded-Proto: gopher\n"
             "X-Forwarded-Host: fh\nX-Forwarded-Uri: /u\nForwarded: for=1\nVia: 1.0 x\n"
             "X-Custom: a\nX-Custom: b\nConnection: X-Drop, keep-alive\nX-Drop: 1\nKeep-Alive: 3\n"
             "Proxy-Connection: x\nProxy-Authorization: x\nTrailer: x\nTE: gzip, trailers\n"
             "Cookie: c=1\nAudit-ID: old\nAccept-Encoding: br\nUpgrade: x\n",
             B "/things", "b=2&a=1&c=%20x+y&a=0", NULL, false),
        B "/things?a=1&a=0&b=2&c=+x+y\nUser-Agent: me\nForwarded: for=1\nVia: 1.0 x\n"
          "X-Custom: a\nX-Custom: b\nCookie: c=1\nAccept-Encoding: br\nTe: trailers\n"
          "X-Forwarded-For: 1.2.3.4, 127.0.0.1\nX-Forwarded-Proto: https\n"
          "X-Forwarded-Uri: " B "/things\nAudit-Id: aud\n" USER "X-Forwarded-Host: [::1]:8443\n");
}

/* Worked case 38 of contract extension 6.3, with every spelling. */
TEST(remote_headers, nobody_says_by_a_header_who_they_are)
{
    static const char *const names[] = {"X-Remote-User",
                                        "x-remote-user",
                                        "X-REMOTE-USER",
                                        "x_remote_user",
                                        "X_Remote-User",
                                        "X-Remote_User",
                                        "X-Remote-Uid",
                                        "X_REMOTE_UID",
                                        "X-Remote-Group",
                                        "x_remote_group",
                                        "X-Remote-Extra-Scopes",
                                        "x_remote_extra_scopes",
                                        "X-Remote-Extra-",
                                        "x-remote-extra-a%2fb",
                                        "Impersonate-User",
                                        "impersonate_group",
                                        "Impersonate-Extra-x",
                                        "Impersonate-Uid",
                                        "X-My-User",
                                        "x_my_user",
                                        "X-My-Groups",
                                        "x-my-extra-1",
                                        "X_My_Extra_2"};
    static const struct cor_remote_names configured = {
        .names = {"X-My-User,X-Remote-User", NULL, " X-My-Groups"}, .prefixes = "X-My-Extra-"};
    char line[128];

    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        snprintf(line, sizeof(line), "%s: root\n", names[i]);
        assert_string_equal(made(line, B, "", &configured, false), B "\n" FORWARDED(B));
        assert_null(strstr(made(line, B, "", &configured, true), "root"));
    }
    /* Others that look alike are the client's own. */
    assert_non_null(strstr(made("X-Remote-Users: a\n", B, "", NULL, false), "X-Remote-Users: a\n"));
    assert_non_null(strstr(made("X-Remote-Addr: a\n", B, "", NULL, false), "X-Remote-Addr: a\n"));
}

/* Contract extension 4.4.6. */
TEST(remote_headers, an_upgrade_keeps_its_headers_but_not_the_token)
{
    assert_string_equal(made("Host: c\nConnection: Upgrade\nUpgrade: websocket\nAuthorization: x\n"
                             "X-Remote-User: root\nX-Forwarded-For: 9.9.9.9\nSec-WebSocket-Key: k\n"
                             "Sec-WebSocket-Protocol: v4.channel.k8s.io, "
                             "base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io\n",
                             B "/up", "", NULL, true),
                        B "/up\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: k\n"
                          "Sec-WebSocket-Protocol: v4.channel.k8s.io,v5.channel.k8s.io\n"
                          "X-Forwarded-For: 9.9.9.9, 127.0.0.1\nAudit-Id: aud\n" USER);
}

TEST(remote_headers, an_upgrade_is_asked_for_by_the_connection_header)
{
    static const struct {
        const char *name, *value;
        bool is;
    } cases[] = {{"Connection", "Upgrade", true},
                 {"connection", "keep-alive, upGRADE", true},
                 {"Connection", "keep-alive", false},
                 {"Upgrade", "websocket", false}};

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        const struct cor_http_header h = {cor_strz(cases[i].name), cor_strz(cases[i].value)};

        assert_int_equal(cor_remote_is_upgrade(&h, 1), cases[i].is);
    }
}

TEST(remote_headers, paths_and_queries_are_written_as_go_writes_them)
{
    static const struct {
        const char *path, *query, *target, *uri;
    } cases[] = {
        {B "/name/spaces/a b/~x;y=1", "x=%zz&y=1;2&z",
         B "/name/spaces/a%20b/~x;y=1?z=", B "/name/spaces/a%20b/~x;y=1"},
        {B "/things/", "", B "/things/", B "/things/"},
        {B "//things/../x", "", B "//things/../x", B "/x"},
        {B "/x", "a=%E4%BD%A0&b=a/b:c@d!*()'$,;&c=~-_.", B "/x?a=%E4%BD%A0&c=~-_.", B "/x"},
        {B "/x/\xe4\xbd\xa0/a!*()'$,;:@&=+", "#",
         B "/x/%E4%BD%A0/a%21%2A%28%29%27$,;:@&=+?%23=", B "/x/%E4%BD%A0/a%21%2A%28%29%27$,;:@&=+"},
        {B, "timeout=1s&&", B "?timeout=1s", B},
        {B, "=&a=b=c&b=a%2Fb%20", B "?=&a=b%3Dc&b=a%2Fb+", B},
    };
    struct cor_buf out;

    cor_buf_init(&out, 4096);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        cor_buf_reset(&out);
        assert_int_equal(cor_remote_url_add_path(cor_strz(cases[i].path), &out), 0);
        assert_int_equal(cor_remote_url_add_query(cor_strz(cases[i].query), &out), 0);
        assert_string_equal(cor_buf_z(&out), cases[i].target);
        cor_buf_reset(&out);
        assert_int_equal(cor_remote_url_add_clean_path(cor_strz(cases[i].path), &out), 0);
        assert_string_equal(cor_buf_z(&out), cases[i].uri);
    }
    cor_buf_deinit(&out);
}

static int init_as(const struct cor_user *who)
{
    struct cor_remote_head_opts opts = {.path = COR_STR(B), .user = who, .client_address = "@"};
    struct cor_remote_head head;
    int r = cor_remote_head_init(&head, &opts);

    if (r == 0)
        cor_remote_head_deinit(&head);
    return r;
}

/* What a service would read otherwise than it was written. */
TEST(remote_headers, a_name_that_cannot_stand_in_a_header_is_refused)
{
    static const struct cor_str bad[] = {COR_STR("a\r\nX-Remote-Group: system:masters"),
                                         COR_STR("a\nb"),
                                         COR_STR("a\0b"),
                                         COR_STR("a\x01"),
                                         COR_STR("a\x7f"),
                                         COR_STR("system:masters "),
                                         COR_STR(" system:masters"),
                                         COR_STR("\tsystem:masters"),
                                         COR_STR(" ")};

    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
        const struct cor_user_extra extra = {COR_STR("k"), bad[i]};

        assert_int_equal(init_as(&(struct cor_user){.name = bad[i]}), -COR_EINVAL);
        assert_int_equal(init_as(&(struct cor_user){.name = COR_STR("u"), .uid = bad[i]}),
                         -COR_EINVAL);
        assert_int_equal(
            init_as(&(struct cor_user){.name = COR_STR("u"), .groups = &bad[i], .ngroups = 1}),
            -COR_EINVAL);
        assert_int_equal(
            init_as(&(struct cor_user){.name = COR_STR("u"), .extras = &extra, .nextras = 1}),
            -COR_EINVAL);
    }
    assert_int_equal(init_as(&(struct cor_user){.name = COR_STR("a b\tc, \xc3\xa9")}), 0);
}

TEST(remote_headers, an_answer_loses_the_headers_of_the_connection_and_of_cors)
{
    static const struct cor_http_header in[] = {
        {COR_STR("Access-Control-Allow-Origin"), COR_STR("*")},
        {COR_STR("X-A"), COR_STR("1")},
        {COR_STR("X-B"), COR_STR("2")},
        {COR_STR("Connection"), COR_STR("close, X-B")},
        {COR_STR("Warning"), COR_STR("299 - \"w\"")},
        {COR_STR("Date"), COR_STR("yesterday")},
        {COR_STR("Keep-Alive"), COR_STR("5")},
        {COR_STR("Trailer"), COR_STR("T")},
        {COR_STR("Content-Type"), COR_STR("application/json")},
        {COR_STR("Content-Length"), COR_STR("2")}};
    struct cor_http_header out[16];

    assert_int_equal(cor_remote_answer_headers(in, COR_ARRAY_LEN(in), out, 16), 3);
    assert_str(out[0].name, "X-A");
    assert_str(out[1].name, "Warning");
    assert_str(out[2].name, "Content-Type");
    assert_int_equal(cor_remote_answer_length(in, COR_ARRAY_LEN(in)), 2);
    assert_true(cor_remote_answer_length(in, 3) == UINT64_MAX);
}

TEST(remote_headers, fail_cleanly_without_memory)
{
    static const struct cor_http_header in[] = {{COR_STR("Accept"), COR_STR("*/*")}};
    const struct cor_remote_head_opts opts = {.headers = in,
                                              .nheaders = 1,
                                              .path = COR_STR(B),
                                              .query = COR_STR("a=b&c=d"),
                                              .user = &user,
                                              .client_address = "127.0.0.1:1"};

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_remote_head head;
        int r = cor_remote_head_init(&head, &opts);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            cor_remote_head_deinit(&head);
    }
}
