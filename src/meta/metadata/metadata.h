/* What the files behind coracle/metadata.h share.
 * Thread: any; a builder is used by one thread at a time. */
#ifndef COR_META_METADATA_METADATA_H
#define COR_META_METADATA_METADATA_H

#include "coracle/metadata.h"

/* The bytes of a decoded text that cor_view_is_text() can compare: finalizers, types of conditions,
 * names and kinds are shorter. */
#define COR_VIEW_IS_TEXT_MAX 1024

/* The bytes of the path of a list's element, for cor_builder_remove_element(). */
#define COR_ELEMENT_PATH_MAX 512

/* Is the value a string with this text, when its escapes are decoded? */
bool cor_view_is_text(struct cor_view view, struct cor_str text);

/* Removes element `i` of the `n` elements of the list at `path`; the list itself when no element
 * is left, because Kubernetes leaves empty lists out. `path` is shorter than COR_ELEMENT_PATH_MAX
 * by 24 bytes. 0, or as cor_builder_remove(). */
int cor_builder_remove_element(struct cor_builder *b, const char *path, int64_t i, size_t n);

#endif
