/* The range of node ports, and which of them are taken, as upstream keeps them in one object: a
 * RangeAllocation with the range as text and a big-endian bitmap in base64.
 * Thread: one at a time (a value). */
#ifndef COR_SERVER_PORT_MAP_H
#define COR_SERVER_PORT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/rand.h"
#include "base/str.h"

struct cor_port_range {
    uint32_t first, last; /* both are in the range; 1 to 65535 */
};

#define COR_PORT_RANGE_DEFAULT ((struct cor_port_range){30000, 32767})

/* Reads "30000-32767", "30000+2767" (a first port and how many follow) or "30000". 0,
 * -COR_EINVAL. */
int cor_port_range_parse(struct cor_str text, struct cor_port_range *ret_range);

#define COR_PORT_RANGE_TEXT_MAX 24
struct cor_str cor_port_range_print(struct cor_port_range range, char out[COR_PORT_RANGE_TEXT_MAX]);

static inline bool cor_port_range_contains(struct cor_port_range range, int64_t port)
{
    return port >= range.first && port <= range.last;
}

/* The first port that dynamic allocation takes before it looks at the ports below. */
uint32_t cor_port_range_dynamic(struct cor_port_range range);

/* A bit per port number, whatever the range is. */
struct cor_port_map {
    uint64_t words[65536 / 64];
};

static inline bool cor_port_map_has(const struct cor_port_map *map, uint32_t port)
{
    return map->words[port / 64] >> (port % 64) & 1;
}

static inline void cor_port_map_set(struct cor_port_map *map, uint32_t port)
{
    map->words[port / 64] |= UINT64_C(1) << (port % 64);
}

static inline void cor_port_map_clear(struct cor_port_map *map, uint32_t port)
{
    map->words[port / 64] &= ~(UINT64_C(1) << (port % 64));
}

/* A port of the range that is not taken, from a random one on: of the dynamic band, and when it is
 * full of the static one. 0: all are taken. */
uint32_t cor_port_map_next(const struct cor_port_map *map, struct cor_port_range range,
                           struct cor_rand *rand);

/* Reads a RangeAllocation (canonical JSON): its range, and the ports of it that are taken. 0,
 * -COR_ECORRUPT, -COR_ENOMEM. */
int cor_port_map_read(struct cor_str json, struct cor_port_range *ret_range,
                      struct cor_port_map *ret_map);

/* Appends the RangeAllocation of these ports, in stored form. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_port_map_write(const struct cor_port_map *map, struct cor_port_range range,
                       struct cor_buf *out);

#endif
