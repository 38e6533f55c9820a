/* Custom resources and OpenAPI documents as inputs; tests/gen has the words of mistakes. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "gen/from_crd.h"
#include "gen/from_openapi.h"
#include "gen/views.h"
#include "test.h"

static const char crd[] =
    "kind: CustomResourceDefinition\n"
    "spec:\n"
    "  group: example.com\n"
    "  names: {kind: Site, plural: sites}\n"
    "  versions:\n"
    "  - name: v1\n"
    "    schema: {openAPIV3Schema: {properties: {spec: {properties: {\n"
    "      tier: {type: string, enum: [free, paid]},\n"
    "      ports: {type: array, items: {type: object, properties: {name: {type: string}}},\n"
    "        x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name]}}}}}}\n";

static const char openapi[] =
    "{\"openapi\":\"3.0.0\",\"paths\":{\"/apis/a.b/v1/sites\":{\"get\":{\"x-kubernetes-action\":"
    "\"list\",\"x-kubernetes-group-version-kind\":{\"group\":\"a.b\",\"version\":\"v1\",\"kind\":"
    "\"Site\"}}}},\"components\":{\"schemas\":{\"b.a.v1.Site\":{\"x-kubernetes-group-version-kind\":"
    "[{\"group\":\"a.b\",\"version\":\"v1\",\"kind\":\"Site\"}],\"properties\":{\"inner\":{\"$ref\":"
    "\"#/components/schemas/b.a.v1.Site\"},\"name\":{\"type\":\"string\"}}}}}}";

static const struct cor_gen_views_opts opts = {.source = "a test", .version = "1"};

static int write_of(struct cor_gen_model *model, const char *stem, struct cor_buf *header)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf source;
    int r = cor_gen_name(model);

    cor_buf_init(&source, 1u << 20);
    if (r == 0)
        r = cor_gen_views(model, cor_gen_find_package(model, cor_strz(stem)), &opts, header,
                          &source);
    return r;
}

TEST(inputs, custom_resources_become_types_or_there_is_no_memory)
{
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf header = {.max = 1u << 20};
        const struct cor_gen_input input = {"f", COR_STR(crd), "my_", COR_STR("here/")};
        struct cor_gen_error why = {.message = ""};
        struct cor_gen_model model;
        int r;

        cor_gen_model_init(&model);
        r = cor_gen_from_crd(&model, &input, &why);
        if (r == 0)
            r = write_of(&model, "example_v1", &header);
        if (r == 0) {
            assert_non_null(strstr(cor_buf_z(&header), "{\"example.com\", \"v1\", \"sites\"}"));
            assert_non_null(strstr(cor_buf_z(&header), "my_example_v1_site_spec_ports_by_name("));
            assert_non_null(
                strstr(cor_buf_z(&header), "MY_EXAMPLE_V1_SITE_SPEC_TIER_PAID \"paid\""));
            assert_non_null(strstr(cor_buf_z(&header), "my_example_v1_site_list_items("));
        } else {
            assert_int_equal(r, -COR_ENOMEM);
        }
        cor_gen_model_deinit(&model);
    }
}

TEST(inputs, openapi_documents_become_types_or_there_is_no_memory)
{
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf header = {.max = 1u << 20};
        const struct cor_gen_input input = {"f", COR_STR(openapi), "", COR_STR("")};
        struct cor_gen_error why = {.message = ""};
        struct cor_gen_model model;
        int r;

        cor_gen_model_init(&model);
        r = cor_gen_from_openapi(&model, &input, &why);
        if (r == 0)
            r = write_of(&model, "a_v1", &header);
        if (r == 0) {
            assert_non_null(
                strstr(cor_buf_z(&header), "A_V1_SITE_RESOURCE {\"a.b\", \"v1\", \"sites\"}"));
            assert_non_null(strstr(cor_buf_z(&header), "struct a_v1_site a_v1_site_inner("));
        } else {
            assert_int_equal(r, -COR_ENOMEM);
        }
        cor_gen_model_deinit(&model);
    }
}
