#!/bin/sh
# Makes store.db.gz with the program of commit 6fa593c, which kept built-in objects as they were sent:
#   sh make.sh PATH-OF-THAT-PROGRAM
set -e
dir=$(mktemp -d)
"$1" serve --data "$dir" --port 0 --unix-socket "$dir/s" --etcd-compaction-interval 0 --watch-cache=false &
pid=$!
until curl -sf --unix-socket "$dir/s" http://x/readyz >/dev/null; do sleep 0.1; done
send() { # METHOD PATH BODY
    curl -sf -o /dev/null --unix-socket "$dir/s" -X "$1" -H "Content-Type: ${4:-application/json}" "http://x$2" -d "$3" || { echo "$1 $2"; exit 1; }
}
ns=namespaces/default
send POST /api/v1/$ns/configmaps '{"metadata":{"name":"plain"},"data":{"k":"v"}}'
send POST /api/v1/$ns/configmaps '{"metadata":{"name":"odd","labels":{},"annotations":null},"data":{},"unknown":{"a":1}}'
send POST /api/v1/$ns/secrets '{"metadata":{"name":"secret"},"stringData":{"k":"v"}}'
send POST /api/v1/$ns/services '{"metadata":{"name":"service"},"spec":{"ports":[{"port":80}],"selector":{"a":"b"}}}'
send POST /api/v1/$ns/pods '{"metadata":{"name":"pod","nothing":true},"spec":{"containers":[{"name":"c","image":"i:1","resources":{"limits":{"cpu":"0.5","memory":"1024Mi"}},"tty":false}],"nodeName":"n1"}}'
send POST /apis/apps/v1/$ns/deployments '{"metadata":{"name":"deployment"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}},"frobs":[1]}}'
send POST /apis/batch/v1/$ns/cronjobs '{"metadata":{"name":"cronjob"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}],"restartPolicy":"Never"}}}}}}'
send POST /apis/autoscaling/v2/$ns/horizontalpodautoscalers '{"metadata":{"name":"hpa"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"deployment","apiVersion":"apps/v1"}}}'
send POST /apis/autoscaling/v1/$ns/horizontalpodautoscalers '{"metadata":{"name":"hpa1"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"deployment","apiVersion":"apps/v1"},"targetCPUUtilizationPercentage":70}}'
send POST /api/v1/$ns/events '{"metadata":{"name":"event"},"involvedObject":{"kind":"Pod","namespace":"default","name":"pod"},"reason":"Old","type":"Normal","count":2}'
send POST /apis/events.k8s.io/v1/$ns/events '{"metadata":{"name":"event2"},"regarding":{"kind":"Pod","namespace":"default","name":"pod"},"reason":"Old","action":"Did","type":"Normal","eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"x","reportingInstance":"y"}'
send PATCH /apis/apps/v1/$ns/deployments/deployment '{"spec":{"paused":true}}' application/merge-patch+json
send PATCH /api/v1/$ns/pods/pod '{"metadata":{"labels":{"changed":"once"}}}' application/merge-patch+json
kill $pid
wait $pid || true
python3 - "$dir/store.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE lease SET expires_wall_ms = 32503680000000")  # events stay until the year 3000
db.commit()
db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
print(db.execute("SELECT MAX(rev), COUNT(*) FROM log").fetchone())
PY
gzip -9nc "$dir/store.db" > store.db.gz
rm -r "$dir"
