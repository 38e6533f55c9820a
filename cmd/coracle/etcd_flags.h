/* The flags that say where etcd is: rows for a command's table of flags. Those that kube-apiserver
 * has too are called as there. Thread: main. */
#ifndef COR_CMD_ETCD_FLAGS_H
#define COR_CMD_ETCD_FLAGS_H

#include "flags.h"
#include "storage/engine/engine.h"

#define ETCD_FLAG_AT(at, field) ((at) + offsetof(struct cor_etcd_config, field))

/* `at`: where a struct cor_etcd_config stands in the command's options. */
#define ETCD_FLAGS(at)                                                                             \
    {"etcd-servers", 0,                                                                            \
     FLAG_TEXT,      ETCD_FLAG_AT(at, servers),                                                    \
     "URL,..",       "the members of an etcd cluster: http or https, host, port"},                 \
        {"etcd-cafile", 0,                                                                         \
         FLAG_TEXT,     ETCD_FLAG_AT(at, ca_file),                                                 \
         "FILE",        "who may sign etcd's certificates"},                                       \
        {"etcd-certfile", 0,                                                                       \
         FLAG_TEXT,       ETCD_FLAG_AT(at, cert_file),                                             \
         "FILE",          "the certificate to show to etcd"},                                      \
        {"etcd-keyfile", 0,                                                                        \
         FLAG_TEXT,      ETCD_FLAG_AT(at, key_file),                                               \
         "FILE",         "the key of --etcd-certfile"},                                            \
        {"etcd-username",        0,      FLAG_TEXT,                                                \
         ETCD_FLAG_AT(at, user), "NAME", "the user to log in to etcd as"},                         \
    {                                                                                              \
        "etcd-password-file", 0, FLAG_TEXT, ETCD_FLAG_AT(at, password_file), "FILE",               \
            "the password of --etcd-username"                                                      \
    }

#endif
