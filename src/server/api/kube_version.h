/* The version of Kubernetes whose API this is, as /version and the metrics show it. */
#ifndef COR_SERVER_KUBE_VERSION_H
#define COR_SERVER_KUBE_VERSION_H

#include "coracle/version.h"

#define COR_KUBE_MAJOR        "1"
#define COR_KUBE_MINOR        "34"
#define COR_KUBE_COMPAT_MINOR "33" /* the oldest version that this one is compatible with */
#define COR_KUBE_VERSION      "v1.34.0"
/* Of the program. */
#define COR_KUBE_GIT_VERSION COR_KUBE_VERSION "+coracle-" COR_VERSION
#define COR_KUBE_BUILD_DATE  "1970-01-01T00:00:00Z" /* builds can be repeated */
#define COR_KUBE_PLATFORM    "linux/amd64"

#endif
