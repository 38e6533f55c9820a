/* What a scripted server says of config maps. */
#ifndef COR_TEST_CLIENT_CONFIGMAP_WORDS_H
#define COR_TEST_CLIENT_CONFIGMAP_WORDS_H

#define MAP(name, rv)                                                                              \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name                 \
    "\",\"namespace\":\"default\",\"resourceVersion\":\"" rv "\"}}"
#define LIST(rv, items)                                                                            \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"" rv    \
    "\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define STATUS(code, reason)                                                                       \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"" reason       \
    "\",\"code\":" code ",\"message\":\"as the test wants it\"}"
#define EXPIRED EVENT("ERROR", STATUS("410", "Expired"))

#endif
