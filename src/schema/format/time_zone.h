/* The names of time zones, as Go's time.LoadLocation() knows them where no tz database is
 * installed: those of the copy that Go embeds. The installed database is not read, so that all
 * machines decide alike and no file is opened for a request.
 * Thread: any (pure). */
#ifndef COR_SCHEMA_FORMAT_TIME_ZONE_H
#define COR_SCHEMA_FORMAT_TIME_ZONE_H

#include <stdbool.h>

#include "base/str.h"

/* Is it the name of a zone in the database? Upper and lower case count. */
bool cor_time_zone_exists(struct cor_str name);

enum cor_time_zone_mistake {
    COR_TIME_ZONE_OK,
    COR_TIME_ZONE_UNKNOWN, /* `unknown time zone <name>` */
    COR_TIME_ZONE_NO_NAME, /* `time: invalid location name` */
};

/* What LoadLocation() says of the name. The empty name and `UTC` are UTC, and `Local` is the zone
 * of the server. */
enum cor_time_zone_mistake cor_time_zone_check(struct cor_str name);

#endif
