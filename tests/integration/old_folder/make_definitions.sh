#!/bin/sh
# Makes definitions.db.gz with the program of commit 723973c, for which an object was lost whose definition got defaults that make
# it too large:
#   sh make_definitions.sh PATH-OF-THAT-PROGRAM
# Each definition takes anything at first, and changes after its objects were made.
set -e
dir=$(mktemp -d)
"$1" serve --data "$dir" --port 0 --unix-socket "$dir/s" --etcd-compaction-interval 0 --watch-cache=false --controllers=-* &
pid=$!
ask() { curl -s --unix-socket "$dir/s" "$@"; }
until ask -f http://x/readyz >/dev/null; do sleep 0.1; done
send() { # METHOD PATH BODY TYPE
    printf '%s' "$3" | ask -f -o /dev/null -X "$1" -H "Content-Type: ${4:-application/json}" "http://x$2" --data-binary @- || { echo "$1 $2"; exit 1; }
}
crds=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
things=/apis/old.example.com/v1/namespaces/default
loose='{"type":"object","x-kubernetes-preserve-unknown-fields":true}'
version() { # NAME STORAGE SCHEMA SUBRESOURCES
    printf '{"name":"%s","served":true,"storage":%s,"schema":{"openAPIV3Schema":%s},"subresources":%s}' "$1" "$2" "$3" "${4:-{\}}"
}
define() { # PLURAL KIND
    send POST $crds '{"metadata":{"name":"'"$1"'.old.example.com"},"spec":{"group":"old.example.com","scope":"Namespaced","names":{"plural":"'"$1"'","kind":"'"$2"'"},"versions":['"$(version v1 true "$loose")"']}}'
    until ask -f "http://x$things/$1" >/dev/null; do sleep 0.1; done
}
change() { # PLURAL VERSIONS
    send PATCH "$crds/$1.old.example.com" '{"spec":{"versions":['"$2"']}}' application/merge-patch+json
}
object() { # PLURAL KIND NAME REST
    send POST "$things/$1" '{"apiVersion":"old.example.com/v1","kind":"'"$2"'","metadata":{"name":"'"$3"'","finalizers":["example.com/hold"]},'"$4"'}'
}
in_spec() { printf '{"type":"object","properties":{"spec":{"type":"object","properties":{%s}}}}' "$1"; }
many=$(seq -s, 5000 | sed 's/[0-9][0-9]*/{}/g')
long=$(printf '%04096d' 0)
# A default in each of many items: 15 KB would become 20 MB.
define larges Large
object larges Large large '"spec":{"items":['"$many"']}'
object larges Large small '"spec":{"items":[{}]}'
change larges "$(version v1 true "$(in_spec '"items":{"type":"array","items":{"type":"object","properties":{"d":{"type":"string","default":"'"$long"'"}}}}')")"
# Defaults that fit, and a field that is not known any more.
define plains Plain
object plains Plain one '"spec":{"name":"a","gone":1}'
change plains "$(version v1 true "$(in_spec '"name":{"type":"string"},"replicas":{"type":"integer","default":3},"mode":{"type":"string","default":"auto"}')")"
# Values of another type, a list of the type map with a key that comes twice, and a status that went apart.
define stricts Strict
object stricts Strict one '"spec":{"name":7,"parts":[{"k":"a"},{"k":"a"}]},"status":{"phase":["x"]}'
change stricts "$(version v1 true '{"type":"object","properties":{"spec":{"type":"object","properties":{"name":{"type":"string"},"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"integer","default":1}}}}}},"status":{"type":"object","properties":{"phase":{"type":"string"}}}}}' '{"status":{}}')"
# Another version is the stored one, and knows less.
define movers Mover
object movers Mover one '"spec":{"a":1,"b":2}'
change movers "$(version v1 false "$loose"),$(version v2 true "$(in_spec '"a":{"type":"integer"},"c":{"type":"integer","default":5}')")"
# A branch for each of many values is more than a validation may look at.
define dears Dear
object dears Dear one '"spec":{"list":['"$(seq -s, 9000 | sed 's/[0-9][0-9]*/1/g')"']}'
branches=$(seq -s, 1000 4999 | sed 's/[0-9][0-9]*/{"minimum":&}/g')
change dears "$(version v1 true "$(in_spec '"list":{"type":"array","items":{"type":"integer","anyOf":['"$branches"']}}')")"
kill $pid
wait $pid || true
python3 - "$dir/store.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
print(db.execute("SELECT MAX(rev), COUNT(*) FROM log").fetchone())
PY
gzip -9nc "$dir/store.db" > definitions.db.gz
rm -r "$dir"
