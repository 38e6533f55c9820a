#include "json/text/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "test.h"
#include "json/text/json.h"

TEST(nodes, are_the_values_and_keys_in_their_order)
{
    static const char *const bytes[] = {"{\"a\":[1, -2.5e3 ,{}],\"b\\\"\\\\\":\"x\\n\",\"c\":null}",
                                        "\"a\"",
                                        "[1, -2.5e3 ,{}]",
                                        "1",
                                        "-2.5e3",
                                        "{}",
                                        "\"b\\\"\\\\\"",
                                        "\"x\\n\"",
                                        "\"c\"",
                                        "null"};
    struct cor_json_nodes nodes;

    assert_int_equal(cor_json_nodes_init(&nodes, cor_strz(bytes[0])), 0);
    assert_int_equal(nodes.n, COR_ARRAY_LEN(bytes));
    for (uint32_t i = 0; i < nodes.n; i++)
        assert_str(cor_json_node_bytes(&nodes, i), bytes[i]);
    assert_int_equal(cor_json_node_next(&nodes, 0), nodes.n);
    assert_int_equal(cor_json_node_next(&nodes, 2), 6);
    assert_int_equal(cor_json_node_next(&nodes, 5), 6);
    assert_int_equal(cor_json_node_next(&nodes, 7), 8);
    assert_str(cor_json_node_raw(&nodes, 6), "b\\\"\\\\");
    assert_true(nodes.v[6].end & COR_JSON_NODE_ESCAPED);
    assert_false(nodes.v[1].end & COR_JSON_NODE_ESCAPED);
    cor_json_nodes_deinit(&nodes);
}

/* Quotes and backslashes at every place of the words in which strings are read. */
TEST(nodes, find_the_ends_of_strings_of_every_length)
{
    char text[80];

    for (size_t n = 0; n < 40; n++) {
        for (size_t escape = 0; escape <= n; escape++) {
            struct cor_json_nodes nodes;
            size_t len;

            memset(text, 'x', sizeof(text));
            text[0] = '"';
            len = n + 1;
            if (escape < n) {
                memcpy(text + 1 + escape, "\\\"", 2);
                len = (escape + 2 > n ? escape + 2 : n) + 1;
            }
            text[len] = '"';
            assert_int_equal(cor_json_nodes_init(&nodes, cor_str(text, len + 1)), 0);
            assert_int_equal(cor_json_node_raw(&nodes, 0).n, len - 1);
            cor_json_nodes_deinit(&nodes);
            /* Without its end it is refused, and nothing behind it is read. */
            {
                char *cut = malloc(len);

                assert_non_null(cut);
                memcpy(cut, text, len);
                assert_int_equal(cor_json_nodes_init(&nodes, cor_str(cut, len)), -COR_EINVAL);
                cor_json_nodes_deinit(&nodes);
                free(cut);
            }
        }
    }
}

TEST(nodes, of_a_long_text_are_all_there)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1 << 20};
    struct cor_json_nodes nodes;

    assert_int_equal(cor_buf_addc(&json, '['), 0);
    for (int i = 0; i < 5 * COR_JSON_NODES_FEW; i++)
        assert_int_equal(cor_buf_addf(&json, "%s%d", i > 0 ? "," : "", i), 0);
    assert_int_equal(cor_buf_addc(&json, ']'), 0);
    assert_int_equal(cor_json_nodes_init(&nodes, cor_buf_str(&json)), 0);
    assert_int_equal(nodes.n, 5 * COR_JSON_NODES_FEW + 1);
    assert_str(cor_json_node_bytes(&nodes, 5 * COR_JSON_NODES_FEW), "2559");
    cor_json_nodes_deinit(&nodes);
    FOR_EACH_FAILED_ALLOC(n) {
        int r = cor_json_nodes_init(&nodes, cor_buf_str(&json));

        assert_true(r == -COR_ENOMEM || (r == 0 && nodes.n == 5 * COR_JSON_NODES_FEW + 1));
        cor_json_nodes_deinit(&nodes);
    }
}

TEST(nodes, refuse_what_has_no_end_or_is_too_deep)
{
    static const char *const texts[] = {"", " ", "{", "[1", "{\"a\":", "]", "\"", "\"\\", "{\"a"};
    static char deep[2 * COR_JSON_DEPTH_MAX + 4];
    struct cor_json_nodes nodes;

    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++) {
        assert_int_equal(cor_json_nodes_init(&nodes, cor_strz(texts[i])), -COR_EINVAL);
        cor_json_nodes_deinit(&nodes);
    }
    for (size_t depth = COR_JSON_DEPTH_MAX; depth <= COR_JSON_DEPTH_MAX + 1; depth++) {
        memset(deep, '[', depth);
        memset(deep + depth, ']', depth);
        assert_int_equal(cor_json_nodes_init(&nodes, cor_str(deep, 2 * depth)),
                         depth > COR_JSON_DEPTH_MAX ? -COR_EINVAL : 0);
        cor_json_nodes_deinit(&nodes);
    }
}
