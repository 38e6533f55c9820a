/* Promises of the cells of tables: a row can be made of every object, it is JSON, and it has a cell
 * for each column. The input is the name of a type (core_v1.Pod), a space, and an object. */
#include "fuzz.h"
#include "schema/print/cells.h"
#include "json/text/json.h"

#define OUT_MAX (1u << 22)

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    const struct cor_json_limits limits = {OUT_MAX, COR_JSON_DEPTH_MAX, true};
    const struct cor_json_limits out_limits = {16 * OUT_MAX, COR_JSON_DEPTH_MAX, true};
    const struct cor_table_columns *columns;
    struct cor_json_writer w;
    struct cor_buf in, out;
    struct cor_cells cells;
    struct cor_str rest = cor_str((const char *)data, size), array;
    bool is_canonical;

    columns = cor_columns_of(cor_type_named(cor_str_cut(&rest, ' ')));
    cor_buf_init(&in, OUT_MAX);
    cor_buf_init(&out, 16 * OUT_MAX);
    if (cor_json_canonicalize(rest, &limits, &in, NULL, NULL) == 0) {
        cor_json_writer_init(&w, &out);
        cor_cells_init(&cells, &w, cor_buf_str(&in), 1767312000LL * 1000000);
        cor_json_begin_object(&w);
        cor_json_key(&w, COR_STR("cells"));
        cor_cells_write(&cells, columns);
        cor_cells_write_conditions(&cells, columns);
        cor_json_end_object(&w);
        FUZZ_CHECK(cor_json_writer_finish(&w) == 0);
        FUZZ_CHECK(cor_json_check(cor_buf_str(&out), &out_limits, &is_canonical, NULL) == 0);
        FUZZ_CHECK(cor_json_get(cor_buf_str(&out), COR_STR("cells"), COR_JSON_ANY_ORDER, &array) ==
                   0);
        FUZZ_CHECK(cor_cell_count(array) == columns->ncolumns);
    }
    cor_buf_deinit(&in);
    cor_buf_deinit(&out);
    return 0;
}
