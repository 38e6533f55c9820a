#include "base/err.h"
#include "meta/status/gvk.h"
#include "test.h"

TEST(gvk, api_version_is_a_version_or_a_group_and_a_version)
{
    static const struct {
        const char *text, *group, *version;
    } rows[] = {
        {"v1", "", "v1"},
        {"apps/v1", "apps", "v1"},
        {"", "", ""},
        {"/", "", ""},
        {"/v1", "", "v1"},
        {"apps/", "apps", ""},
        {"a.b.io/v1beta1", "a.b.io", "v1beta1"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_gv gv;

        assert_int_equal(cor_gv_parse(cor_strz(rows[i].text), &gv, NULL), 0);
        assert_str(gv.group, rows[i].group);
        assert_str(gv.version, rows[i].version);
    }
}

TEST(gvk, api_version_with_two_slashes_is_refused)
{
    struct cor_status st = {0};
    struct cor_gv gv;

    assert_int_equal(cor_gv_parse(COR_STR("g1/g2/v1"), &gv, &st), -COR_EINVAL);
    assert_string_equal(cor_status_message(&st), "unexpected GroupVersion string: g1/g2/v1");
    assert_int_equal(cor_gv_parse(COR_STR("//"), &gv, &st), -COR_EINVAL);
    cor_status_deinit(&st);
}

TEST(gvk, the_core_group_is_not_printed)
{
    struct cor_gvk pod = {COR_STR(""), COR_STR("v1"), COR_STR("Pod")};
    struct cor_gvk deployment = {COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")};
    struct cor_gvr pods = {COR_STR(""), COR_STR("v1"), COR_STR("pods")};
    struct cor_gvr deployments = {COR_STR("apps"), COR_STR("v1"), COR_STR("deployments")};
    struct cor_gk gks[] = {cor_gvk_gk(&pod), cor_gvk_gk(&deployment)};
    struct cor_gr grs[] = {cor_gvr_gr(&pods), cor_gvr_gr(&deployments)};
    struct cor_gv gvs[] = {cor_gvk_gv(&pod), cor_gvr_gv(&deployments)};
    struct cor_buf b;

    cor_buf_init(&b, 1000);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(cor_gk_print(&gks[i], &b), 0);
        assert_int_equal(cor_buf_addc(&b, ' '), 0);
        assert_int_equal(cor_gr_print(&grs[i], &b), 0);
        assert_int_equal(cor_buf_addc(&b, ' '), 0);
        assert_int_equal(cor_gv_print(&gvs[i], &b), 0);
        assert_int_equal(cor_buf_addc(&b, ' '), 0);
    }
    assert_string_equal(cor_buf_z(&b), "Pod pods v1 Deployment.apps deployments.apps apps/v1 ");
    cor_buf_deinit(&b);
}

TEST(gvk, a_full_name_prints_as_upstream_logs_it)
{
    struct cor_gvk gvk = {COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")};
    struct cor_gvr gvr = {COR_STR(""), COR_STR("v1"), COR_STR("pods")};
    struct cor_buf b;

    cor_buf_init(&b, 1000);
    assert_int_equal(cor_gvk_print(&gvk, &b), 0);
    assert_int_equal(cor_buf_addz(&b, "; "), 0);
    assert_int_equal(cor_gvr_print(&gvr, &b), 0);
    assert_string_equal(cor_buf_z(&b), "apps/v1, Kind=Deployment; /v1, Resource=pods");
    cor_buf_deinit(&b);
}

TEST(gvk, equality_looks_at_every_part)
{
    struct cor_gr a = {COR_STR("g"), COR_STR("r")}, b = a;

    assert_true(cor_gr_eq(&a, &b));
    b.group = COR_STR("");
    assert_false(cor_gr_eq(&a, &b));
    b = (struct cor_gr){COR_STR("g"), COR_STR("s")};
    assert_false(cor_gr_eq(&a, &b));
}

TEST(gvk, a_print_that_does_not_fit_leaves_the_text_as_it_was)
{
    struct cor_gvk gvk = {COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")};
    struct cor_buf b;

    cor_buf_init(&b, 12);
    assert_int_equal(cor_buf_addc(&b, '!'), 0);
    assert_int_equal(cor_gvk_print(&gvk, &b), -COR_ETOOBIG);
    assert_string_equal(cor_buf_z(&b), "!");
    cor_buf_deinit(&b);
}
