/* On which line of a YAML document each of its values stands, so that whoever finds a mistake in
 * what the document became can say where it is. Immutable. Values inside an anchor are known where
 * the anchor stands, not where an alias repeats them.
 * Owner: reference counted.  Thread: any.  Maximum: COR_YAML_LINES_MAX values, COR_YAML_LINES_DEPTH
 * levels; what is beyond is known by what it is in. */
#ifndef COR_CODEC_YAML_LINES_H
#define COR_CODEC_YAML_LINES_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"

struct cor_yaml_lines;

#define COR_YAML_LINES_MAX   65536
#define COR_YAML_LINES_DEPTH 32

/* 0, -COR_EINVAL (not YAML), -COR_ENOMEM. */
int cor_yaml_lines_read(struct cor_str in, struct cor_yaml_lines **ret_lines);

struct cor_yaml_lines *cor_yaml_lines_ref(struct cor_yaml_lines *lines);
struct cor_yaml_lines *cor_yaml_lines_unref(struct cor_yaml_lines *lines);
COR_DEFINE_CLEANUP(struct cor_yaml_lines, cor_yaml_lines_unref)

/* The line, from 1, of "clusters[0].cluster.server" or, when it is not there, of the nearest thing
 * that it would be in. 0: the document is empty. */
size_t cor_yaml_lines_find(const struct cor_yaml_lines *lines, struct cor_str path);

#endif
