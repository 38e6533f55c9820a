/* Reservations that looked like leaks to a pass of the repair, and since when. A write in progress
 * looks the same, so a leak counts only when it persists.  Owner: the repair. Thread: the API's
 * first loop. */
#ifndef COR_SERVER_LEAKS_H
#define COR_SERVER_LEAKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

/* What tells one leak from another: an address with the revision of its object, or a port. Unused
 * bytes are 0. */
#define COR_LEAK_BYTES 32

/* More are not noted, and are found by a later pass. */
#define COR_LEAKS_MAX ((size_t)1 << 20)

struct cor_leaks {
    struct cor_map map; /* of struct leak, by their keys */
};

void cor_leaks_init(struct cor_leaks *leaks);
void cor_leaks_deinit(struct cor_leaks *leaks);

/* The pass with this number has seen the leak. True: the leak is known since `grace_ms` or longer.
 * Without memory the leak is noted by a later pass. */
bool cor_leaks_note(struct cor_leaks *leaks, const unsigned char key[COR_LEAK_BYTES], uint64_t pass,
                    uint64_t now_ms, uint64_t grace_ms);

/* Forgets the leaks that this pass has not seen. Returns how many are left. */
size_t cor_leaks_end_pass(struct cor_leaks *leaks, uint64_t pass);

#endif
