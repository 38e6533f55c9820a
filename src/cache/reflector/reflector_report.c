/* The names of what a reflector reports, for logs and metrics. Thread: any. */
#include "coracle/reflector_report.h"

#include "base/cleanup.h"

static const char *const names[] = {
    [COR_REFLECTOR_UNEXPECTED_TYPE] = "unexpected type",
    [COR_REFLECTOR_UNREADABLE] = "unreadable event",
    [COR_REFLECTOR_UNKNOWN_EVENT] = "unknown event",
    [COR_REFLECTOR_STORE_FAILED] = "store failed",
    [COR_REFLECTOR_CHANGE_REFUSED] = "change refused",
    [COR_REFLECTOR_RESYNC_FAILED] = "resync failed",
    [COR_REFLECTOR_WATCH_EXPIRED] = "watch expired",
    [COR_REFLECTOR_WATCH_FAILED] = "watch failed",
    [COR_REFLECTOR_WATCH_RETRY] = "watch retried",
    [COR_REFLECTOR_WATCH_SILENT] = "watch silent",
    [COR_REFLECTOR_STREAM_FAILED] = "streamed list failed",
    [COR_REFLECTOR_STREAM_RETRY] = "streamed list retried",
    [COR_REFLECTOR_STREAM_LATE] = "streamed list late",
    [COR_REFLECTOR_SLOW] = "slow list",
    [COR_REFLECTOR_SLOW_CHANGE] = "slow change",
    [COR_REFLECTOR_SLOW_HANDLER] = "slow handler",
};

const char *cor_reflector_report_name(enum cor_reflector_report report)
{
    return (unsigned)report < COR_ARRAY_LEN(names) ? names[report] : "unknown";
}
