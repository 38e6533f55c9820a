/* The bitmap of node ports, and the object that holds it (port_map.h). */
#include "server/alloc/port_map.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

/* The static band of the range: a thirty-second of it, within these bounds. */
#define BAND_MIN  16
#define BAND_MAX  128
#define BAND_STEP 32

#define BYTES_MAX (65536 / 8)

int cor_port_range_parse(struct cor_str text, struct cor_port_range *ret_range)
{
    struct cor_str rest = text;
    bool is_count = text.n > 0 && memchr(text.p, '+', text.n) != NULL;
    struct cor_str first_text = cor_str_cut(&rest, is_count ? '+' : '-');
    uint64_t first, last;

    if (cor_str_to_u64(cor_str_trim(first_text), &first) < 0 || first > 65535)
        return -COR_EINVAL;
    last = first;
    if (rest.p && cor_str_to_u64(cor_str_trim(rest), &last) < 0)
        return -COR_EINVAL;
    if (is_count)
        last = last > 65535 ? 65536 : first + last;
    if (first < 1 || last < first || last > 65535)
        return -COR_EINVAL;
    *ret_range = (struct cor_port_range){(uint32_t)first, (uint32_t)last};
    return 0;
}

struct cor_str cor_port_range_print(struct cor_port_range range, char out[COR_PORT_RANGE_TEXT_MAX])
{
    int n = snprintf(out, COR_PORT_RANGE_TEXT_MAX, "%u-%u", range.first, range.last);

    return cor_str(out, (size_t)n);
}

uint32_t cor_port_range_dynamic(struct cor_port_range range)
{
    uint32_t size = range.last - range.first + 1, band = size / BAND_STEP;

    if (size <= BAND_MIN)
        return range.first;
    return range.first + (band < BAND_MIN ? BAND_MIN : band > BAND_MAX ? BAND_MAX : band);
}

/* The first free port of `from` to `to`; 0: there is none. */
static uint32_t map_scan(const struct cor_port_map *map, uint32_t from, uint32_t to)
{
    while (from <= to) {
        uint64_t free_bits = ~map->words[from / 64] >> (from % 64);

        if (free_bits != 0) {
            from += (uint32_t)__builtin_ctzll(free_bits);
            return from <= to ? from : 0;
        }
        from = (from / 64 + 1) * 64;
    }
    return 0;
}

static uint32_t map_search(const struct cor_port_map *map, uint32_t first, uint32_t last,
                           struct cor_rand *rand)
{
    uint32_t start, found;

    if (last < first)
        return 0;
    start = first + (uint32_t)cor_rand_below(rand, last - first + 1);
    found = map_scan(map, start, last);
    return found > 0 || start == first ? found : map_scan(map, first, start - 1);
}

uint32_t cor_port_map_next(const struct cor_port_map *map, struct cor_port_range range,
                           struct cor_rand *rand)
{
    uint32_t dynamic = cor_port_range_dynamic(range);
    uint32_t found = map_search(map, dynamic, range.last, rand);

    return found > 0 ? found : map_search(map, range.first, dynamic - 1, rand);
}

int cor_port_map_read(struct cor_str json, struct cor_port_range *ret_range,
                      struct cor_port_map *ret_map)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf bytes = {0};
    struct cor_str value, range, data = COR_STR("");

    if (cor_json_get(json, COR_STR("range"), COR_JSON_ANY_ORDER, &value) < 0 ||
        cor_json_to_raw(value, &range) < 0 || cor_port_range_parse(range, ret_range) < 0)
        return -COR_ECORRUPT;
    if (cor_json_get(json, COR_STR("data"), COR_JSON_ANY_ORDER, &value) == 0)
        (void)cor_json_to_raw(value, &data);
    cor_buf_init(&bytes, BYTES_MAX);
    if (data.n > 0) {
        int r = cor_base64_decode(COR_BASE64_STD, data, &bytes, NULL);

        if (r < 0)
            return r == -COR_ENOMEM ? r : -COR_ECORRUPT;
    }
    memset(ret_map, 0, sizeof(*ret_map));
    /* The last byte has the ports at the beginning of the range. */
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char byte = (unsigned char)cor_buf_str(&bytes).p[bytes.n - 1 - i];

        for (size_t bit = 0; bit < 8; bit++)
            if (byte >> bit & 1 && ret_range->first + 8 * i + bit <= ret_range->last)
                cor_port_map_set(ret_map, ret_range->first + (uint32_t)(8 * i + bit));
    }
    return 0;
}

int cor_port_map_write(const struct cor_port_map *map, struct cor_port_range range,
                       struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    unsigned char bytes[BYTES_MAX] = {0};
    char range_text[COR_PORT_RANGE_TEXT_MAX];
    struct cor_json_writer w;
    size_t n = 0;
    int r;

    /* As Go's big.Int has it: no zeros in front. */
    for (uint32_t port = range.first; port <= range.last; port++)
        if (cor_port_map_has(map, port))
            n = (port - range.first) / 8 + 1;
    for (uint32_t port = range.first; port <= range.last; port++)
        if (cor_port_map_has(map, port))
            bytes[n - 1 - (port - range.first) / 8] |=
                (unsigned char)(1u << ((port - range.first) % 8));
    cor_buf_init(&text, 2 * BYTES_MAX);
    r = cor_base64_encode(COR_BASE64_STD, cor_str((const char *)bytes, n), &text);
    if (r < 0)
        return r;
    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), COR_STR("RangeAllocation"));
    cor_json_member(&w, COR_STR("apiVersion"), COR_STR("v1"));
    cor_json_member(&w, COR_STR("data"), cor_buf_str(&text));
    cor_json_key(&w, COR_STR("metadata"));
    cor_json_begin_object(&w);
    cor_json_end_object(&w);
    cor_json_member(&w, COR_STR("range"), cor_port_range_print(range, range_text));
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}
