/* What a request selects, as a SubjectAccessReview says it: a table of queries. Contract access
 * 1.4. */
#include "server/access/review_selectors.h"

#include <string.h>

#include "base/err.h"
#include "server/access/review_bodies.h"
#include "test.h"

static const struct cor_identity ann = {.user = {.name = COR_STR("ann")}};

#define MAPS "/api/v1/namespaces/n/configmaps"
#define HEAD                                                                                       \
    "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"metadata\":{}" \
    ",\"spec\":{\"resourceAttributes\":{\"namespace\":\"n\",\"verb\":"
#define OF_MAPS ",\"version\":\"v1\",\"resource\":\"configmaps\""
#define TAIL    "},\"user\":\"ann\"}}"

/* The question about a request. As cor_review_selectors_read(). */
static int ask(enum cor_http_method method, const char *path, const char *query,
               struct cor_buf *out)
{
    struct cor_review_selectors selectors;
    struct cor_request_info info;
    int r = cor_request_info_init(&info, method, cor_strz(path), cor_strz(query));

    if (r < 0)
        return r;
    r = cor_review_selectors_read(&info, cor_strz(query), &selectors);
    if (r == 0) {
        struct cor_attributes a = cor_attributes_of_request(&info, &ann);

        if (selectors.name.n > 0)
            a.name = selectors.name;
        a.selectors = &selectors;
        r = cor_access_review_write(&a, out);
        cor_review_selectors_deinit(&selectors);
    }
    cor_request_info_deinit(&info);
    return r;
}

#define LIST                 HEAD "\"list\"" OF_MAPS
#define FIELDS(t)            ",\"fieldSelector\":{\"requirements\":[" t "]}"
#define LABELS(t)            ",\"labelSelector\":{\"requirements\":[" t "]}"
#define ONE(key, op, values) "{\"key\":\"" key "\",\"operator\":\"" op "\",\"values\":[" values "]}"

TEST(review_selectors, are_the_requirements_of_the_question)
{
    static const struct {
        enum cor_http_method method;
        const char *path, *query, *question;
    } cases[] = {
        {COR_HTTP_GET, MAPS, "", LIST TAIL},
        {COR_HTTP_GET, MAPS, "limit=5", LIST TAIL},
        {COR_HTTP_GET, MAPS, "fieldSelector=spec.nodeName%3Da%2Cb!%3Dc%5C%2C%2Cd%3D%3De",
         LIST FIELDS(ONE("b", "NotIn", "\"c,\"") "," ONE("d", "In", "\"e\"") "," ONE(
             "spec.nodeName", "In", "\"a\"")) TAIL},
        {COR_HTTP_GET, MAPS, "labelSelector=a,!b,c%3Dd,e!%3Df,g+in+(y,x),h+notin+(z)",
         LIST LABELS(
             "{\"key\":\"a\",\"operator\":\"Exists\"},{\"key\":\"b\",\"operator\":"
             "\"DoesNotExist\"}," ONE("c", "In", "\"d\"") "," ONE("e", "NotIn", "\"f\"") "," ONE(
                 "g", "In", "\"x\",\"y\"") "," ONE("h", "NotIn", "\"z\"")) TAIL},
        /* What the review cannot say is left out. */
        {COR_HTTP_GET, MAPS, "labelSelector=a%3E1,b",
         LIST LABELS("{\"key\":\"b\",\"operator\":\"Exists\"}") TAIL},
        {COR_HTTP_GET, MAPS, "labelSelector=a%3C1", LIST TAIL},
        /* One name is the name of the request, too, if a path may have it. */
        {COR_HTTP_GET, MAPS, "fieldSelector=metadata.name%3Dx",
         LIST ",\"name\":\"x\"" FIELDS(ONE("metadata.name", "In", "\"x\"")) TAIL},
        {COR_HTTP_GET, MAPS, "fieldSelector=metadata.name!%3Dx",
         LIST FIELDS(ONE("metadata.name", "NotIn", "\"x\"")) TAIL},
        {COR_HTTP_GET, MAPS, "fieldSelector=metadata.name%3Dx%2Fy",
         LIST FIELDS(ONE("metadata.name", "In", "\"x/y\"")) TAIL},
        {COR_HTTP_GET, MAPS, "watch=1&fieldSelector=metadata.name%3Dx",
         HEAD "\"watch\"" OF_MAPS ",\"name\":\"x\"" FIELDS(ONE("metadata.name", "In", "\"x\""))
             TAIL},
        {COR_HTTP_DELETE, MAPS, "fieldSelector=metadata.name%3Dx&labelSelector=a",
         HEAD "\"deletecollection\"" OF_MAPS FIELDS(ONE("metadata.name", "In", "\"x\""))
             LABELS("{\"key\":\"a\",\"operator\":\"Exists\"}") TAIL},
        /* The first of several; what cannot be read narrows nothing. */
        {COR_HTTP_GET, MAPS, "labelSelector=a&labelSelector=b",
         LIST LABELS("{\"key\":\"a\",\"operator\":\"Exists\"}") TAIL},
        {COR_HTTP_GET, MAPS, "labelSelector=a+b&fieldSelector=c", LIST TAIL},
        {COR_HTTP_GET, MAPS, "fieldSelector=%zz&labelSelector=", LIST TAIL},
        {COR_HTTP_GET, MAPS, "fieldSelector=c&labelSelector=a",
         LIST LABELS("{\"key\":\"a\",\"operator\":\"Exists\"}") TAIL},
        /* Other verbs, and the old form of a watch, select nothing. */
        {COR_HTTP_GET, MAPS "/x", "labelSelector=a&fieldSelector=b%3Dc",
         HEAD "\"get\"" OF_MAPS ",\"name\":\"x\"" TAIL},
        {COR_HTTP_POST, MAPS, "labelSelector=a", HEAD "\"create\"" OF_MAPS TAIL},
        {COR_HTTP_GET, "/api/v1/watch/namespaces/n/configmaps", "labelSelector=a",
         HEAD "\"watch\"" OF_MAPS TAIL},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_buf out;

        cor_buf_init(&out, 1u << 16);
        assert_int_equal(ask(cases[i].method, cases[i].path, cases[i].query, &out), 0);
        assert_string_equal(cor_buf_z(&out), cases[i].question);
        cor_buf_deinit(&out);
    }
}

TEST(review_selectors, without_memory_nothing_is_asked)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_buf out;
        int r;

        cor_buf_init(&out, 1u << 16);
        r = ask(COR_HTTP_GET, MAPS, "fieldSelector=metadata.name%3Dx&labelSelector=a+in+(b,c)",
                &out);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_buf_deinit(&out);
    }
}
