/* The head of an object that the allocators write themselves, in stored form and without the stages
 * of a write: its kind and its metadata.
 * Thread: the loop of `loop`. */
#ifndef COR_SERVER_OBJECT_HEAD_H
#define COR_SERVER_OBJECT_HEAD_H

#include "server/api/api_loop.h"
#include "json/write/writer.h"

struct cor_object_head {
    const struct cor_resource_row *row;
    struct cor_str name;
    struct cor_str uid;
    const struct cor_str (*labels)[2]; /* keys and values, ordered by the keys */
    size_t nlabels;
};

/* Begins the object and writes its kind, apiVersion and metadata; it was created now. The caller
 * writes the members that follow and ends the object. */
void cor_object_head_write(const struct cor_object_head *head, struct cor_api_loop *loop,
                           struct cor_json_writer *w);

#endif
