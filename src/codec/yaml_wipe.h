/* Frees what libyaml has read, and wipes it first: documents hold secrets. */
#ifndef COR_CODEC_YAML_WIPE_H
#define COR_CODEC_YAML_WIPE_H

#include <string.h>

#include <yaml.h>

static inline void cor_yaml_event_delete(yaml_event_t *ev)
{
    if (ev->type == YAML_SCALAR_EVENT)
        explicit_bzero(ev->data.scalar.value, ev->data.scalar.length);
    yaml_event_delete(ev);
}

static inline void cor_yaml_parser_delete(yaml_parser_t *parser)
{
    for (yaml_token_t *t = parser->tokens.head; t != parser->tokens.tail; t++)
        if (t->type == YAML_SCALAR_TOKEN)
            explicit_bzero(t->data.scalar.value, t->data.scalar.length);
    explicit_bzero(parser->raw_buffer.start,
                   (size_t)(parser->raw_buffer.end - parser->raw_buffer.start));
    explicit_bzero(parser->buffer.start, (size_t)(parser->buffer.end - parser->buffer.start));
    yaml_parser_delete(parser);
}

#endif
