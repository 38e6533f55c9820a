#include "base/buf.h"
#include "base/cleanup.h"
#include "gen/c_name.h"
#include "test.h"

static void check(const char *name, const char *want)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, 100);
    assert_int_equal(cor_gen_snake(cor_strz(name), &out), 0);
    assert_string_equal(cor_buf_z(&out), want);
}

TEST(c_name, splits_names_into_words)
{
    check("nodeName", "node_name");
    check("podIP", "pod_ip");
    check("podIPs", "pod_ips");
    check("clusterIPsFound", "cluster_ips_found");
    check("CSIDriver", "csi_driver");
    check("APIService", "api_service");
    check("openAPIV3Schema", "open_api_v3_schema");
    check("fieldsV1", "fields_v1");
    check("ScaleIOVolumeSource", "scale_io_volume_source");
    check("targetWWNs", "target_wwns");
    check("Endpoints", "endpoints");
    check("ISSN", "issn");
    check("v1beta1", "v1beta1");
}

TEST(c_name, leaves_out_what_no_name_has)
{
    check("x-kubernetes-list-type", "x_kubernetes_list_type");
    check("$ref", "ref");
    check("a..b_", "a_b");
    check("-", "");
    check("", "");
}

TEST(c_name, fails_when_the_buffer_is_full)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, 5);
    assert_true(cor_gen_snake(COR_STR("nodeName"), &out) < 0);
}
