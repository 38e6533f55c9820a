/* Memory for one decoded message: taken in chunks, given back all at once.
 * Thread: one at a time.  Owner: whoever embeds it. */
#ifndef COR_STORAGE_ETCD_ETCD_ARENA_H
#define COR_STORAGE_ETCD_ETCD_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

struct etcd_arena_chunk;

struct etcd_arena {
    ProtobufCAllocator allocator; /* for protobuf-c */
    struct etcd_arena_chunk *chunks;
    size_t used; /* of the first chunk */
    bool failed; /* there was no memory */
};

void cor_etcd_arena_init(struct etcd_arena *arena);
void cor_etcd_arena_deinit(struct etcd_arena *arena);

#endif
