/* Promises of the reader of other servers' discovery: a document is taken or refused, and what is
 * written of a document that was taken is JSON, which is taken again and written as the same bytes.
 */
#include "base/err.h"
#include "base/limits.h"
#include "fuzz.h"
#include "server/aggregation/discovery_parse.h"
#include "json/text/json.h"

static const struct cor_json_limits limits = {.bytes_max = 1u << 24, .depth_max = 64};

static void check_json(struct cor_str json)
{
    bool is_canonical;

    FUZZ_CHECK(cor_json_check(json, &limits, &is_canonical, NULL) == 0);
}

static void check_again(struct cor_str resources)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1u << 24}, out = {.max = 1u << 24};
    struct cor_discovery_list list;

    (void)cor_buf_addf(
        &json,
        "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":\"g\"},"
        "\"versions\":[{\"version\":\"v\",\"resources\":%.*s}]}]}",
        COR_STR_ARG(resources));
    if (cor_discovery_list_init(&list, cor_buf_str(&json)) == 0) {
        const struct cor_discovery_entry *entry =
            cor_discovery_list_find(&list, COR_STR("g"), COR_STR("v"));

        FUZZ_CHECK(entry);
        FUZZ_CHECK(cor_discovery_write_resources(entry, &out) == 0);
        FUZZ_CHECK(cor_str_eq(cor_buf_str(&out), resources));
    } else {
        FUZZ_CHECK(json.n > COR_REMOTE_DISCOVERY_BYTES);
    }
    cor_discovery_list_deinit(&list);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str in = cor_str((const char *)data, size);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1u << 24};
    struct cor_discovery_list list;

    if (cor_discovery_list_init(&list, in) == 0) {
        for (size_t i = 0; i < list.n; i++) {
            cor_buf_reset(&out);
            if (cor_discovery_write_resources(&list.v[i], &out) == 0) {
                check_json(cor_buf_str(&out));
                check_again(cor_buf_str(&out));
            }
        }
    }
    cor_discovery_list_deinit(&list);
    cor_buf_reset(&out);
    if (cor_discovery_write_legacy(in, &out) == 0) {
        check_json(cor_buf_str(&out));
        check_again(cor_buf_str(&out));
    }
    (void)cor_discovery_is_aggregated(in);
    return 0;
}
