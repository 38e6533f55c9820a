#include "server/access/impersonation.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "net/stream/peer.h"
#include "server/access/authorizer.h"
#include "test.h"

#define HEADERS_MAX 8

/* "Name: value" lines, up to NULL. */
struct question {
    const char *headers[HEADERS_MAX];
};

static size_t parse(const struct question *question, struct cor_http_header *headers)
{
    size_t n = 0;

    for (; n < HEADERS_MAX && question->headers[n]; n++) {
        struct cor_str rest = cor_strz(question->headers[n]);

        headers[n].name = cor_str_cut(&rest, ':');
        headers[n].value = cor_str_trim(rest);
    }
    return n;
}

static const struct cor_str MASTERS[] = {{"system:masters", 14}};

/* root is in system:masters, ann is not. */
static struct cor_identity caller(const char *name)
{
    struct cor_identity id = {.user = {.name = cor_strz(name), .uid = COR_STR("caller-uid")}};

    if (strcmp(name, "root") == 0) {
        id.user.groups = MASTERS;
        id.user.ngroups = 1;
    }
    return id;
}

static int may(void *arg, const struct cor_attributes *a, struct cor_status *st)
{
    const struct cor_authorizer *az = cor_authorizer_of_mode(*(enum cor_authz_mode *)arg);
    struct cor_authz_answer answer;

    assert_int_equal(cor_authorizer_ask(az, 0, a, NULL, &answer), 0);
    return answer.r == 0 && answer.decision == COR_AUTHZ_ALLOWED ? 0
                                                                 : cor_authz_refuse(a, &answer, st);
}

static int ask(enum cor_authz_mode mode, const struct question *question,
               struct cor_identity *identity, struct cor_status *status)
{
    struct cor_http_header headers[HEADERS_MAX];
    struct cor_http_request req = {.target = COR_STR("/api/v1/pods?x=<1>"),
                                   .path = COR_STR("/api/v1/pods"),
                                   .headers = headers,
                                   .nheaders = parse(question, headers)};

    return cor_impersonate(may, &mode, &req, identity, status);
}

/* name|uid|group,group|key=value,key=value */
static void describe(const struct cor_user *user, struct cor_buf *out)
{
    cor_buf_reset(out);
    assert_int_equal(
        cor_buf_addf(out, "%.*s|%.*s|", COR_STR_ARG(user->name), COR_STR_ARG(user->uid)), 0);
    for (size_t i = 0; i < user->ngroups; i++)
        assert_int_equal(cor_buf_addf(out, "%s%.*s", i ? "," : "", COR_STR_ARG(user->groups[i])),
                         0);
    assert_int_equal(cor_buf_addc(out, '|'), 0);
    for (size_t i = 0; i < user->nextras; i++)
        assert_int_equal(cor_buf_addf(out, "%s%.*s=%.*s", i ? "," : "",
                                      COR_STR_ARG(user->extras[i].key),
                                      COR_STR_ARG(user->extras[i].value)),
                         0);
}

/* Contract access 2.9.1, 2.9.3, 2.9.4. */
TEST(impersonation, a_master_becomes_whom_the_headers_name_and_nothing_of_the_caller_is_left)
{
    static const struct {
        struct question question;
        const char *user;
    } rows[] = {
        {{{"Impersonate-User: bob"}}, "bob||system:authenticated|"},
        {{{"impersonate-user: bob", "IMPERSONATE-GROUP: a", "impersonate-group: b"}},
         "bob||a,b,system:authenticated|"},
        {{{"Impersonate-User: bob", "Impersonate-Group: system:authenticated"}},
         "bob||system:authenticated|"},
        {{{"Impersonate-User: bob", "Impersonate-Group: system:unauthenticated"}},
         "bob||system:unauthenticated|"},
        {{{"Impersonate-User: bob", "Impersonate-Group: system:masters"}},
         "bob||system:masters,system:authenticated|"},
        {{{"Impersonate-User: system:anonymous"}}, "system:anonymous||system:unauthenticated|"},
        {{{"Impersonate-User: system:anonymous", "Impersonate-Group: system:unauthenticated"}},
         "system:anonymous||system:unauthenticated|"},
        {{{"Impersonate-User: system:anonymous", "Impersonate-Group: system:authenticated"}},
         "system:anonymous||system:authenticated,system:unauthenticated|"},
        {{{"Impersonate-User: system:serviceaccount:ns:sa"}},
         "system:serviceaccount:ns:sa||system:serviceaccounts,system:serviceaccounts:ns,"
         "system:authenticated|"},
        {{{"Impersonate-User: system:serviceaccount:ns:sa", "Impersonate-Group: g"}},
         "system:serviceaccount:ns:sa||g,system:authenticated|"},
        {{{"Impersonate-User: system:serviceaccount:NS:sa"}},
         "system:serviceaccount:NS:sa||system:authenticated|"},
        {{{"Impersonate-User: system:serviceaccount:ns"}},
         "system:serviceaccount:ns||system:authenticated|"},
        {{{"Impersonate-User: system:serviceaccount:ns:sa:x"}},
         "system:serviceaccount:ns:sa:x||system:authenticated|"},
        {{{"Impersonate-User: bob", "Impersonate-Uid: 7", "Impersonate-Uid: 8"}},
         "bob|7|system:authenticated|"},
        {{{"Impersonate-User: bob", "Impersonate-User: eve"}}, "bob||system:authenticated|"},
        /* Keys are lower-cased first and unescaped then; a key's values keep their order. */
        {{{"Impersonate-User: bob", "Impersonate-Extra-Scopes: z", "Impersonate-Extra-scopes: a",
           "Impersonate-Extra-Acme.com%2FProject: p", "Impersonate-Extra-%41: up",
           "Impersonate-Extra-50%: odd"}},
         "bob||system:authenticated|50%=odd,A=up,acme.com/project=p,scopes=z,scopes=a"},
        {{{"Impersonate-User: bob", "Impersonate-Extra-: v"}}, "bob||system:authenticated|=v"},
        {{{"Impersonate-User: bob", "Impersonate-Group:"}}, "bob||,system:authenticated|"},
    };
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;

    cor_buf_init(&text, 4096);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_identity id = caller("root");

        assert_int_equal(ask(COR_AUTHZ_MASTERS, &rows[i].question, &id, NULL), 0);
        describe(&id.user, &text);
        assert_string_equal(cor_buf_z(&text), rows[i].user);
        assert_false(id.is_anonymous);
        cor_identity_deinit(&id);
    }
}

TEST(impersonation, without_its_headers_the_caller_stays)
{
    static const struct question questions[] = {
        {{NULL}},
        {{"Impersonate-User:"}},
        {{"Impersonate-User:", "Impersonate-User: bob"}},
        {{"Impersonate-Uid:"}},
        {{"Impersonate-Nothing: bob", "Impersonate: x", "If-None-Match: y", "Impersonate-: z"}},
    };
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;

    cor_buf_init(&text, 4096);
    for (size_t i = 0; i < COR_ARRAY_LEN(questions); i++) {
        struct cor_identity id = caller("ann");

        assert_int_equal(ask(COR_AUTHZ_MASTERS, &questions[i], &id, NULL), 0);
        describe(&id.user, &text);
        assert_string_equal(cor_buf_z(&text), "ann|caller-uid||");
    }
}

/* Contract access 2.9.2. */
TEST(impersonation, every_part_needs_the_right_and_the_first_that_is_missing_is_named)
{
    static const struct {
        struct question question;
        const char *message;
    } rows[] = {
        {{{"Impersonate-User: bob"}},
         "users \"bob\" is forbidden: User \"ann\" cannot impersonate resource \"users\" in API "
         "group \"\" at the cluster scope"},
        {{{"Impersonate-User: ann"}},
         "users \"ann\" is forbidden: User \"ann\" cannot impersonate resource \"users\" in API "
         "group \"\" at the cluster scope"},
        {{{"Impersonate-User: system:serviceaccount:ns:sa"}},
         "serviceaccounts \"sa\" is forbidden: User \"ann\" cannot impersonate resource "
         "\"serviceaccounts\" in API group \"\" in the namespace \"ns\""},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_identity id = caller("ann");
        struct cor_status status;

        cor_status_init(&status);
        assert_int_equal(ask(COR_AUTHZ_MASTERS, &rows[i].question, &id, &status), -COR_EFORBIDDEN);
        assert_int_equal(status.code, 403);
        assert_string_equal(cor_status_message(&status), rows[i].message);
        assert_str(id.user.name, "ann");
        cor_status_deinit(&status);
    }
}

TEST(impersonation, with_always_allow_everybody_who_is_somebody_may)
{
    static const struct question question = {{"Impersonate-User: bob"}};
    struct cor_identity id = caller("ann"), nobody = {.is_anonymous = true};
    struct cor_status status;

    assert_int_equal(ask(COR_AUTHZ_ALWAYS_ALLOW, &question, &id, NULL), 0);
    assert_str(id.user.name, "bob");
    cor_identity_deinit(&id);
    cor_status_init(&status);
    assert_int_equal(ask(COR_AUTHZ_ALWAYS_ALLOW, &question, &nobody, &status), -COR_EUNAUTHORIZED);
    assert_int_equal(status.code, 401);
    cor_status_deinit(&status);
}

/* Contract access 2.9.1: whoever asks, a master too. */
TEST(impersonation, groups_a_uid_and_extras_of_nobody_are_refused)
{
#define BEGIN "Internal Server Error: \"/api/v1/pods?x=&lt;1&gt;\": requested ["
#define END   "] without impersonating a user\n"
    static const struct {
        struct question question;
        const char *text;
    } rows[] = {
        {{{"Impersonate-Group: gg"}}, BEGIN "{Group  gg    }" END},
        {{{"Impersonate-User:", "Impersonate-Group: a", "Impersonate-Group: b"}},
         BEGIN "{Group  a    } {Group  b    }" END},
        {{{"Impersonate-Uid: u"}}, BEGIN "{UID  u  authentication.k8s.io/v1  }" END},
        {{{"Impersonate-Extra-Scopes: v", "Impersonate-Uid: u"}},
         BEGIN "{UserExtra  v  authentication.k8s.io/v1  scopes} "
               "{UID  u  authentication.k8s.io/v1  }" END},
    };
#undef BEGIN
#undef END

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_identity id = caller("root");
        struct cor_status status;

        cor_status_init(&status);
        assert_int_equal(ask(COR_AUTHZ_MASTERS, &rows[i].question, &id, &status), -COR_EINVAL);
        assert_int_equal(status.code, 500);
        assert_string_equal(cor_status_message(&status), rows[i].text);
        assert_str(id.user.name, "root");
        cor_status_deinit(&status);
    }
}

TEST(impersonation, out_of_memory_leaves_the_caller_and_success_is_whole)
{
    static const struct question question = {{"Impersonate-User: system:serviceaccount:ns:sa",
                                              "Impersonate-Uid: 7", "Impersonate-Extra-b: 2",
                                              "Impersonate-Extra-a: 1"}};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;

    cor_buf_init(&text, 4096);
    assert_int_equal(cor_buf_reserve(&text, 4000), 0); /* describe() allocates nothing */
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_identity id = caller("root");
        int r = ask(COR_AUTHZ_MASTERS, &question, &id, NULL);

        describe(&id.user, &text);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_string_equal(cor_buf_z(&text),
                            r < 0 ? "root|caller-uid|system:masters|"
                                  : "system:serviceaccount:ns:sa|7|system:serviceaccounts,"
                                    "system:serviceaccounts:ns,system:authenticated|a=1,b=2");
        cor_identity_deinit(&id);
    }
}

/* The code of a refusal is right whatever fails; a message is whole or the table's. */
TEST(impersonation, a_refusal_without_memory_is_still_a_refusal)
{
    static const struct question group = {{"Impersonate-Group: gg"}};
    static const struct question user = {{"Impersonate-User: bob"}};

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_identity root = caller("root"), ann = caller("ann");
        struct cor_status status;
        int r;

        cor_status_init(&status);
        r = ask(COR_AUTHZ_MASTERS, &group, &root, &status);
        assert_true(r == -COR_EINVAL || (r == -COR_ENOMEM && test_alloc_failed()));
        assert_int_equal(status.code, 500);
        if (!test_alloc_failed())
            assert_non_null(strstr(cor_status_message(&status), "[{Group  gg    }]"));
        assert_str(root.user.name, "root");
        r = ask(COR_AUTHZ_MASTERS, &user, &ann, &status);
        assert_true(r == -COR_EFORBIDDEN || (r == -COR_ENOMEM && test_alloc_failed()));
        if (!test_alloc_failed())
            assert_non_null(strstr(cor_status_message(&status), "users \"bob\" is forbidden"));
        assert_str(ann.user.name, "ann");
        cor_status_deinit(&status);
    }
}
