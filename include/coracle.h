/* libcoracle: Kubernetes informers for C. This header includes all others; each can be included by
 * itself.
 *
 * Three words that are easily confused have one meaning each: an *event* is what a watch delivers
 * (struct cor_watch_event); a *change* is what happened to an object of a cache, and what a handler
 * is called for (struct cor_handler_fns); an *Event*, with a capital, is the API object that
 * reports to people what a controller did (coracle/events.h).
 *
 * The library has no global state but its allocator (coracle/mem.h), installs no signal handlers
 * and writes nothing to a file or terminal. */
#ifndef CORACLE_H
#define CORACLE_H

#include "coracle/api.h"
#include "coracle/apply.h"
#include "coracle/builder.h"
#include "coracle/cache_controller.h"
#include "coracle/cancel.h"
#include "coracle/client.h"
#include "coracle/client_config.h"
#include "coracle/clock.h"
#include "coracle/control_event.h"
#include "coracle/controller.h"
#include "coracle/delta_fifo.h"
#include "coracle/discovery.h"
#include "coracle/election.h"
#include "coracle/equality.h"
#include "coracle/err.h"
#include "coracle/events.h"
#include "coracle/fifo.h"
#include "coracle/filtering_handler.h"
#include "coracle/handler_fns.h"
#include "coracle/indexer.h"
#include "coracle/indexes.h"
#include "coracle/informer.h"
#include "coracle/informer_request.h"
#include "coracle/informers.h"
#include "coracle/json_path.h"
#include "coracle/label_selector.h"
#include "coracle/list_watch.h"
#include "coracle/list_watch_script.h"
#include "coracle/managed_fields.h"
#include "coracle/mem.h"
#include "coracle/metadata.h"
#include "coracle/namespaced_informer.h"
#include "coracle/object.h"
#include "coracle/object_key.h"
#include "coracle/patch.h"
#include "coracle/plain_informer.h"
#include "coracle/pod_logs.h"
#include "coracle/projection.h"
#include "coracle/prometheus.h"
#include "coracle/quantity.h"
#include "coracle/rate_limiter.h"
#include "coracle/raw_request.h"
#include "coracle/reflector.h"
#include "coracle/reflector_report.h"
#include "coracle/reflector_stats.h"
#include "coracle/request.h"
#include "coracle/resolve.h"
#include "coracle/runtime.h"
#include "coracle/sized.h"
#include "coracle/status.h"
#include "coracle/status_is.h"
#include "coracle/store.h"
#include "coracle/str.h"
#include "coracle/time.h"
#include "coracle/transform.h"
#include "coracle/typed.h"
#include "coracle/until.h"
#include "coracle/value.h"
#include "coracle/version.h"
#include "coracle/view.h"
#include "coracle/view_values.h"
#include "coracle/watch_type.h"
#include "coracle/wire.h"
#include "coracle/workqueue.h"

#endif
