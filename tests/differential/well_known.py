"""Definitions of custom resources in the spirit of those that many clusters have: certificates, monitoring, gateways, workflows, databases.
They are our own words; what they share with their models is the shape and the size: pod templates, lists by keys, quantities, conditions,
several versions, scales. Written out with one line per member, the largest have more than 5,000 lines."""

QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
DURATION = "^([0-9]+(ms|s|m|h))+$"
LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
HOST = r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
CRON = r"^(\S+ ){4}\S+$"
METRIC = "^[a-zA-Z_:][a-zA-Z0-9_:]*$"
# Texts that fit the patterns, for who makes instances.
FITTING = {QUANTITY: ["1", "100m", "1.5Gi", "2e3"], DURATION: ["5s", "1h30m", "250ms"], LABEL: ["a", "web-1", "x0"],
           HOST: ["example.org", "*.example.org", "a"], CRON: ["* * * * *", "0 3 * * 1"], METRIC: ["up", "http_requests:rate5m"]}


# ---- the words of which schemas are made ----

def text(*options, **keywords):
    return {"type": "string", **({"enum": list(options)} if options else {}), **keywords}


def whole(least=None, most=None, **keywords):
    bounds = {"minimum": least, "maximum": most}
    return {"type": "integer", **{name: bound for name, bound in bounds.items() if bound is not None}, **keywords}


def flag(**keywords):
    return {"type": "boolean", **keywords}


def listed(items, **keywords):
    return {"type": "array", "items": items, **keywords}


def unique(items, **keywords):
    return listed(items, **{"x-kubernetes-list-type": "set", **keywords})


def keyed(items, *keys, **keywords):
    return listed(items, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys), **keywords})


def table(values=None, **keywords):
    return {"type": "object", "additionalProperties": values or text(), **keywords}


def thing(required="", keywords=None, **properties):
    """An object; `required` has the names with spaces between them. A name that Python keeps for itself ends with "_"."""
    named = {name.removesuffix("_"): {"description": f"Says what {name.removesuffix('_')} is.", **schema} for name, schema in properties.items()}
    return {"type": "object", "properties": named, **({"required": required.split()} if required else {}), **(keywords or {})}


def open_thing(**keywords):
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **keywords}


def int_or_string(**keywords):
    return {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}], **keywords}


def quantity():
    return int_or_string(pattern=QUANTITY)


def reference(**more):
    return thing("name", {"x-kubernetes-map-type": "atomic"}, name=text(minLength=1), **more)


def selector():
    expression = thing("key operator", key=text(), operator=text("In", "NotIn", "Exists", "DoesNotExist"), values=listed(text()))
    return thing(keywords={"x-kubernetes-map-type": "atomic"}, matchLabels=table(), matchExpressions=listed(expression))


def conditions():
    return keyed(thing("type status", type=text(maxLength=63), status=text("True", "False", "Unknown"), reason=text(), message=text(maxLength=32768),
                       lastTransitionTime=text(format="date-time"), observedGeneration=whole(0, format="int64")), "type")


# ---- pods ----

def resources():
    return thing(limits=table(quantity()), requests=table(quantity()), claims=keyed(thing("name", name=text(), request=text()), "name"))


def environment():
    source = thing(fieldRef=thing("fieldPath", apiVersion=text(), fieldPath=text()), secretKeyRef=reference(key=text(), optional=flag()),
                   configMapKeyRef=reference(key=text(), optional=flag()),
                   resourceFieldRef=thing("resource", containerName=text(), divisor=quantity(), resource=text()))
    return keyed(thing("name", name=text(minLength=1), value=text(), valueFrom=source), "name")


def action():
    headers = listed(thing("name value", name=text(), value=text()))
    return {"exec": thing(command=listed(text())), "httpGet": thing("port", host=text(), path=text(), port=int_or_string(), scheme=text("HTTP", "HTTPS"),
                                                                    httpHeaders=headers),
            "tcpSocket": thing("port", host=text(), port=int_or_string())}


def probe():
    times = {name: whole(0, format="int32") for name in ("initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold", "successThreshold")}
    return thing(**action(), grpc=thing("port", port=whole(1, 65535), service=text(default="")), **times)


def security():
    return thing(runAsUser=whole(0, format="int64"), runAsGroup=whole(0, format="int64"), runAsNonRoot=flag(), privileged=flag(),
                 readOnlyRootFilesystem=flag(), allowPrivilegeEscalation=flag(), procMount=text(),
                 capabilities=thing(add=listed(text()), drop=listed(text())),
                 seccompProfile=thing("type", type=text("Localhost", "RuntimeDefault", "Unconfined"), localhostProfile=text()),
                 seLinuxOptions=thing(level=text(), role=text(), type=text(), user=text()))


def container(**more):
    port = thing("containerPort", containerPort=whole(1, 65535, format="int32"), protocol=text("TCP", "UDP", "SCTP", default="TCP"),
                 name=text(pattern=LABEL, maxLength=15), hostPort=whole(0, 65535), hostIP=text(format="ipv4"))
    mount = thing("name mountPath", name=text(), mountPath=text(minLength=1), subPath=text(), readOnly=flag(), mountPropagation=text())
    lifecycle = thing(**action(), sleep=thing("seconds", seconds=whole(0)))
    return thing("name", name=text(minLength=1, maxLength=63), image=text(), imagePullPolicy=text("Always", "IfNotPresent", "Never"), command=listed(text()),
                 args=listed(text()), workingDir=text(), env=environment(),
                 envFrom=listed(thing(prefix=text(), configMapRef=reference(optional=flag()), secretRef=reference(optional=flag()))),
                 ports=keyed(port, "containerPort", "protocol"), volumeMounts=keyed(mount, "mountPath"), resources=resources(), livenessProbe=probe(),
                 readinessProbe=probe(), startupProbe=probe(), lifecycle=thing(postStart=lifecycle, preStop=lifecycle), securityContext=security(),
                 terminationMessagePath=text(), terminationMessagePolicy=text("File", "FallbackToLogsOnError"), stdin=flag(), tty=flag(), **more)


def volume():
    items = listed(thing("key path", key=text(), path=text(), mode=whole(0, 511, format="int32")))
    secret = thing(secretName=text(), optional=flag(), items=items, defaultMode=whole(0, 511))
    claim = thing(accessModes=unique(text()), resources=resources(), storageClassName=text(), selector=selector(), volumeName=text(),
                  volumeMode=text("Block", "Filesystem"))
    template = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    return thing("name", name=text(pattern=LABEL), emptyDir=thing(medium=text(), sizeLimit=quantity()), secret=secret,
                 configMap=thing(name=text(), optional=flag(), items=items, defaultMode=whole(0, 511)), hostPath=thing("path", path=text(), type=text()),
                 persistentVolumeClaim=thing("claimName", claimName=text(), readOnly=flag()), ephemeral=thing(claim=claim, template=template),
                 csi=thing("driver", driver=text(), fsType=text(), readOnly=flag(), volumeAttributes=table(), nodePublishSecretRef=reference()),
                 nfs=thing("path server", path=text(), server=text(), readOnly=flag()),
                 projected=thing(sources=listed(thing(secret=secret, configMap=secret, downwardAPI=thing(items=items))), defaultMode=whole(0, 511)))


def affinity():
    term = thing("topologyKey", topologyKey=text(), labelSelector=selector(), namespaceSelector=selector(), namespaces=unique(text()),
                 matchLabelKeys=listed(text()))
    weighted = thing("weight podAffinityTerm", weight=whole(1, 100), podAffinityTerm=term)
    pods = thing(requiredDuringSchedulingIgnoredDuringExecution=listed(term), preferredDuringSchedulingIgnoredDuringExecution=listed(weighted))
    expression = listed(thing("key operator", key=text(), operator=text("In", "NotIn", "Exists", "Gt", "Lt"), values=listed(text())))
    node_term = thing(matchExpressions=expression, matchFields=expression)
    nodes = thing(requiredDuringSchedulingIgnoredDuringExecution=thing("nodeSelectorTerms", nodeSelectorTerms=listed(node_term)),
                  preferredDuringSchedulingIgnoredDuringExecution=listed(thing("weight preference", weight=whole(1, 100), preference=node_term)))
    return thing(nodeAffinity=nodes, podAffinity=pods, podAntiAffinity=pods)


def tolerations():
    return listed(thing(key=text(), operator=text("Exists", "Equal"), value=text(), effect=text("NoSchedule", "PreferNoSchedule", "NoExecute"),
                        tolerationSeconds=whole(format="int64")))


def pod():
    spread = thing("maxSkew topologyKey whenUnsatisfiable", maxSkew=whole(1), topologyKey=text(), whenUnsatisfiable=text("DoNotSchedule", "ScheduleAnyway"),
                   labelSelector=selector(), minDomains=whole(1))
    return thing("containers", containers=keyed(container(), "name", minItems=1), initContainers=keyed(container(restartPolicy=text("Always")), "name"),
                 volumes=keyed(volume(), "name"), nodeSelector=table(), affinity=affinity(), tolerations=tolerations(),
                 topologySpreadConstraints=keyed(spread, "topologyKey", "whenUnsatisfiable"), serviceAccountName=text(), priorityClassName=text(),
                 restartPolicy=text("Always", "OnFailure", "Never", default="Always"), terminationGracePeriodSeconds=whole(0, default=30),
                 dnsPolicy=text("ClusterFirst", "Default", "None"), hostNetwork=flag(), imagePullSecrets=keyed(reference(), "name"), securityContext=security(),
                 hostAliases=keyed(thing("ip", ip=text(format="ipv4"), hostnames=listed(text(format="hostname"))), "ip"))


def pod_template():
    return thing("spec", metadata=open_thing(), spec=pod())


# ---- definitions ----

def column(name, kind, path, **more):
    return {"name": name, "type": kind, "jsonPath": path, **more}


READY = column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status')
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}
AGE = column("Age", "date", ".metadata.creationTimestamp")


def replicated():
    return thing(replicas=whole(0), readyReplicas=whole(0), selector=text(), conditions=conditions(), observedGeneration=whole())


def certificate():
    keystore = thing("create", create=flag(), passwordSecretRef=reference(key=text()), alias=text(minLength=1))
    key = thing(algorithm=text("RSA", "ECDSA", "Ed25519"), size=whole(256, 8192), encoding=text("PKCS1", "PKCS8"), rotationPolicy=text("Never",
                "Always", default="Never"))
    return thing("issuerRef secretName", issuerRef=reference(kind=text(default="Issuer"), group=text()), secretName=text(minLength=1),
                 commonName=text(maxLength=64), dnsNames=unique(text(pattern=HOST)), ipAddresses=listed(text(format="ipv4")),
                 uris=listed(text(format="uri")), emailAddresses=listed(text(format="email")), duration=text(pattern=DURATION),
                 renewBefore=text(format="duration"), isCA=flag(default=False), usages=unique(text("signing", "digital signature", "server auth",
                 "client auth", "crl sign")), privateKey=key, keystores=thing(jks=keystore, pkcs12=keystore), revisionHistoryLimit=whole(1,
                 format="int32"), secretTemplate=thing(annotations=table(), labels=table()), subject=thing(organizations=listed(text()),
                 countries=listed(text()), serialNumber=text()), additionalOutputFormats=keyed(thing("type", type=text("DER", "CombinedPEM")),
                 "type"))


def issuer():
    dns = thing(keywords={"oneOf": [{"required": ["webhook"]}, {"required": ["zone"]}]}, webhook=thing("groupName solverName", groupName=text(),
                solverName=text(), config={"x-kubernetes-preserve-unknown-fields": True}), zone=thing("name", name=text(format="hostname"),
                tokenRef=reference(key=text())))
    http = thing(ingress=thing(class_=text(), podTemplate=pod_template()), gatewayHTTPRoute=thing(labels=table(),
                 parentRefs=listed(reference(port=whole(1, 65535)))))
    solver = thing(selector=thing(dnsNames=listed(text()), matchLabels=table()), dns01=dns, http01=http)
    acme = thing("server privateKeySecretRef", server=text(format="uri", maxLength=2048), email=text(format="email"), privateKeySecretRef=reference(key=text()),
                 solvers=listed(solver), skipTLSVerify=flag(), caBundle=text(format="byte"))
    kinds = [{"required": [name]} for name in ("acme", "ca", "selfSigned")]
    return thing(keywords={"oneOf": kinds}, acme=acme, ca=thing("secretName", secretName=text()), selfSigned=thing(crlDistributionPoints=listed(text())))


def scrape():
    relabel = thing(action=text("replace", "keep", "drop", "labelmap", default="replace"), regex=text(), replacement=text(), separator=text(),
                    sourceLabels=listed(text(pattern=METRIC)), targetLabel=text(), modulus=whole(format="int64"))
    tls = thing(ca=thing(secret=reference(key=text()), configMap=reference(key=text())), insecureSkipVerify=flag(), serverName=text())
    login = thing(username=reference(key=text()), password=reference(key=text()))
    return thing(port=text(), targetPort=int_or_string(), path=text(), scheme=text("http", "https"), interval=text(pattern=DURATION),
                 scrapeTimeout=text(pattern=DURATION), honorLabels=flag(), params=table(listed(text())), relabelings=listed(relabel),
                 metricRelabelings=listed(relabel), tlsConfig=tls, basicAuth=login, oauth2=thing("clientId tokenUrl", clientId=text(),
                 clientSecret=reference(key=text()), tokenUrl=text(minLength=1), scopes=listed(text()), tlsConfig=tls))


def monitor():
    return thing("endpoints selector", endpoints=listed(scrape(), maxItems=20), selector=selector(), namespaceSelector=thing(any=flag(),
                 matchNames=listed(text())), jobLabel=text(), sampleLimit=whole(0, format="int64"), targetLabels=listed(text()),
                 bodySizeLimit=text(pattern=QUANTITY))


def collector():
    """The whole program that scrapes: the size of the largest that people install."""
    remote = thing("url", url=text(format="uri"), name=text(), remoteTimeout=text(pattern=DURATION), headers=table(), writeRelabelConfigs=listed(scrape()),
                   queueConfig=thing(capacity=whole(1), minShards=whole(1), maxShards=whole(1), batchSendDeadline=text(pattern=DURATION)))
    storage = thing(disableMountSubPath=flag(), emptyDir=thing(medium=text(), sizeLimit=quantity()),
                    volumeClaimTemplate={**thing(spec=thing(accessModes=listed(text()), resources=resources(), storageClassName=text(),
                    selector=selector())), "x-kubernetes-embedded-resource": True})
    return thing(replicas=whole(0, format="int32"), shards=whole(1), image=text(), version=text(), retention=text(pattern=DURATION, default="24h"),
                 retentionSize=text(pattern=QUANTITY), serviceMonitorSelector=selector(), podMonitorSelector=selector(), ruleSelector=selector(),
                 remoteWrite=listed(remote), remoteRead=listed(remote), storage=storage, containers=keyed(container(), "name"),
                 initContainers=keyed(container(), "name"), volumes=keyed(volume(), "name"), affinity=affinity(), tolerations=tolerations(),
                 podMetadata=thing(name=text(), labels=table(), annotations=table()), logLevel=text("debug", "info", "warn", "error"),
                 externalLabels=table(), web=thing(pageTitle=text(), maxConnections=whole(0), tlsConfig=thing(keySecret=reference(key=text()),
                 minVersion=text())), securityContext=security(), podTemplate=pod_template(), alerting=thing("alertmanagers",
                 alertmanagers=listed(thing("name port", name=text(), namespace=text(), port=int_or_string()))))


def rules():
    rule = thing("expr", keywords={"anyOf": [{"required": ["record"]}, {"required": ["alert"]}]}, expr=int_or_string(), record=text(pattern=METRIC),
                 alert=text(), for_=text(pattern=DURATION), labels=table(), annotations=table())
    return thing(groups=keyed(thing("name", name=text(minLength=1), interval=text(pattern=DURATION), rules=listed(rule), limit=whole()), "name"))


def gateway():
    route = thing(namespaces=thing(from_=text("All", "Same", "Selector", default="Same"), selector=selector()), kinds=listed(thing("kind",
                  kind=text(), group=text())))
    listener = thing("name port protocol", name=text(pattern=LABEL, maxLength=253), port=whole(1, 65535, format="int32"), protocol=text(minLength=1,
                     maxLength=255), hostname=text(pattern=HOST), allowedRoutes={**route, "default": {"namespaces": {"from": "Same"}}},
                     tls=thing(mode=text("Terminate", "Passthrough", default="Terminate"),
                     certificateRefs=listed(reference(kind=text(default="Secret")), maxItems=64), options=table(maxProperties=16)))
    address = thing("value", type=text(default="IPAddress"), value=text(), keywords={"oneOf": [
        {"properties": {"type": {"enum": ["IPAddress"]}, "value": {"format": "ipv4"}}}, {"properties": {"type": {"not": {"enum": ["IPAddress"]}}}}]})
    return thing("gatewayClassName listeners", gatewayClassName=text(minLength=1, maxLength=253), listeners=keyed(listener, "name", minItems=1, maxItems=64),
                 addresses=listed(address, maxItems=16), infrastructure=thing(labels=table(maxProperties=8), parametersRef=reference(kind=text())))


def route():
    match_kind = text("Exact", "PathPrefix", "RegularExpression")
    header = thing("name value", type=text("Exact", "RegularExpression", default="Exact"), name=text(pattern=r"^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$"),
                   value=text(minLength=1))
    match = thing(path=thing(type={**match_kind, "default": "PathPrefix"}, value=text(maxLength=1024, default="/"),
                  keywords={"default": {"type": "PathPrefix", "value": "/"}}), headers=keyed(header, "name", maxItems=16), queryParams=keyed(header,
                  "name", maxItems=16), method=text("GET", "PUT", "POST", "DELETE"))
    edits = thing(set=keyed(header, "name"), add=keyed(header, "name"), remove=unique(text(), maxItems=16))
    backend = thing("name", name=text(), port=whole(1, 65535), kind=text(default="Service"), group=text(default="", maxLength=253),
                    namespace=text(pattern=LABEL), weight=whole(0, 1000000, default=1))
    change = thing("type", type=text("RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror", "RequestRedirect", "URLRewrite"),
                   requestHeaderModifier=edits, responseHeaderModifier=edits, requestMirror=thing("backendRef", backendRef=backend, percent=whole(0,
                   100)), requestRedirect=thing(hostname=text(pattern=HOST), port=whole(1, 65535), scheme=text("http", "https"),
                   statusCode=whole(enum=[301, 302], default=302)))
    rule = thing(name=text(pattern=LABEL), matches=listed(match, maxItems=64, default=[{"path": {"type": "PathPrefix", "value": "/"}}]),
                 filters=listed(change, maxItems=16), backendRefs=listed({**backend, "properties": {**backend["properties"],
                 "filters": listed(change)}}), timeouts=thing(request=text(pattern=DURATION)))
    return thing(parentRefs=listed(reference(sectionName=text(), port=whole(1, 65535)), maxItems=32), hostnames=listed(text(pattern=HOST),
                 maxItems=16), rules=listed(rule, maxItems=16))


def workflow():
    parameter = thing("name", name=text(), value=text(), default=text(), enum=listed(text(), minItems=1), valueFrom=thing(path=text(),
                      expression=text(), default=text()))
    artifact = thing("name", name=text(), path=text(), optional=flag(), s3=thing(bucket=text(), key=text(), endpoint=text(),
                     accessKeySecret=reference(key=text())), git=thing("repo", repo=text(), revision=text(), depth=whole(0, format="int64")),
                     raw=thing("data", data=text()))
    arguments = thing(parameters=keyed(parameter, "name"), artifacts=keyed(artifact, "name"))
    retry = thing(limit=int_or_string(), retryPolicy=text("Always", "OnFailure", "OnError"), backoff=thing(duration=text(), factor=int_or_string(),
                  maxDuration=text()))
    items = listed({"x-kubernetes-preserve-unknown-fields": True})
    task = thing("name", name=text(), template=text(), depends=text(), dependencies=listed(text()), arguments=arguments, withItems=items, when=text(),
                 continueOn=thing(error=flag(), failed=flag()))
    template = thing("name", name=text(maxLength=128), inputs=arguments, outputs=arguments, container=container(), script=container(source=text()),
                     sidecars=listed(container(mirrorVolumeMounts=flag())), dag=thing("tasks", tasks=keyed(task, "name"), failFast=flag()),
                     steps=listed(listed(task)), retryStrategy=retry, activeDeadlineSeconds=int_or_string(), suspend=thing(duration=text()),
                     resource=thing("action", action=text("get", "create", "apply", "delete"), manifest=text(), flags=listed(text())),
                     nodeSelector=table(), tolerations=tolerations(), affinity=affinity(), parallelism=whole(0))
    return thing("entrypoint", entrypoint=text(), arguments=arguments, templates=keyed(template, "name"), volumes=keyed(volume(), "name"),
                 suspend=flag(), priority=whole(format="int32"), ttlStrategy=thing(secondsAfterCompletion=whole(0), secondsAfterFailure=whole(0)),
                 podGC=thing(strategy=text()), podSpecPatch=text())


def scheduled():
    return thing("schedule workflowSpec", schedule=text(pattern=CRON), timezone=text(), concurrencyPolicy=text("Allow", "Forbid", "Replace", default="Allow"),
                 startingDeadlineSeconds=whole(0, nullable=True), workflowSpec=workflow())


def database():
    backup = thing(schedule=text(pattern=CRON), retention=text(pattern="^[1-9][0-9]*[dwm]$"), target=text("primary", "prefer-standby", default="primary"),
                   destination=thing("path", path=text(minLength=1), credentials=reference(key=text()), tags=table()))
    return thing("storage", replicas=whole(1, 9, default=1), version=text("14", "15", "16", default="16"), image=text(), storage=thing("size",
                 size=quantity(), storageClass=text(nullable=True), resizeInUseVolumes=flag(default=True)), backup=backup,
                 parameters=table(maxProperties=100), users=keyed(thing("name", name=text(pattern="^[a-z_]+$"), superuser=flag(default=False),
                 databases=unique(text())), "name"), resources=resources(), affinity=affinity(), bootstrap=thing(keywords={"maxProperties": 1},
                 initdb=thing(owner=text(), encoding=text(default="UTF8")), recovery=thing("source", source=text(),
                 targetTime=text(format="date-time"))), projectedVolumeTemplate=volume())


def rollout():
    step = thing(setWeight=whole(0, 100), pause=thing(duration=int_or_string()), setHeaderRoute=thing(name=text(), match=listed(thing("headerName",
                 headerName=text(), exact=text()))), analysis=thing(templates=listed(thing(templateName=text(), clusterScope=flag())),
                 args=listed(thing("name", name=text(), value=text()))), keywords={"maxProperties": 1})
    canary = thing(steps=listed(step), maxSurge=int_or_string(), maxUnavailable=int_or_string(), canaryService=text(), stableService=text())
    blue = thing("activeService", activeService=text(), previewService=text(), autoPromotionEnabled=flag(), scaleDownDelaySeconds=whole(0))
    return thing("selector template", replicas=whole(0, default=1), selector=selector(), template=pod_template(), strategy=thing(canary=canary,
                 blueGreen=blue, keywords={"maxProperties": 1}), minReadySeconds=whole(0), revisionHistoryLimit=whole(0), paused=flag(),
                 progressDeadlineSeconds=whole(1))


def application():
    helm = thing(values=text(), valuesObject=open_thing(), valueFiles=listed(text()), parameters=listed(thing(name=text(), value=text(),
                 forceString=flag())), releaseName=text())
    source = thing("repoURL", repoURL=text(), path=text(), targetRevision=text(), chart=text(), helm=helm, kustomize=thing(images=listed(text()),
                   namePrefix=text(), commonLabels=table(), patches=listed(open_thing())))
    return thing("destination project", destination=thing(server=text(), namespace=text(), name=text()), project=text(), source=source,
                 sources=listed(source), ignoreDifferences=listed(thing("kind", group=text(), kind=text(), name=text(), jsonPointers=listed(text()))),
                 syncPolicy=thing(automated=thing(prune=flag(), selfHeal=flag()), syncOptions=listed(text()), retry=thing(limit=whole(format="int64"),
                 backoff=thing(duration=text(), factor=whole(format="int64"), maxDuration=text()))), info=listed(thing("name value", name=text(),
                 value=text())), revisionHistoryLimit=whole(format="int64"))


def secret_source():
    remote = thing("key", key=text(), property=text(), version=text(), decodingStrategy=text("Auto", "Base64", "None", default="None"),
                   conversionStrategy=text("Default", "Unicode", default="Default"))
    return thing("storeRef", storeRef=reference(kind=text("Store", "ClusterStore", default="Store")), refreshInterval=text(default="1h"),
                 target=thing(name=text(maxLength=253), creationPolicy=text("Owner", "Merge", "None", default="Owner"), template=thing(type=text(),
                 data=table(), metadata=thing(labels=table(), annotations=table()), engineVersion=text("v1", "v2", default="v2")),
                 keywords={"default": {"creationPolicy": "Owner"}}), data=listed(thing("secretKey remoteRef", secretKey=text(), remoteRef=remote)),
                 dataFrom=listed(thing(extract=remote, find=thing(name=thing(regexp=text()), tags=table()), keywords={"minProperties": 1})))


def network_policy():
    ports = listed(thing(protocol=text("TCP", "UDP", "SCTP", "ANY"), port=text(pattern=r"^(6553[0-5]|[0-9]{1,4}|[a-z][-a-z0-9]*)$"), endPort=whole(0,
                   65535)), maxItems=40)
    peer = {"fromEndpoints": listed(selector()), "fromCIDR": listed(text(format="cidr")), "toPorts": listed(thing(ports=ports,
            rules=thing(http=listed(thing(method=text(), path=text(), headers=listed(text()))), dns=listed(thing(matchName=text(maxLength=255),
            matchPattern=text()))))), "fromEntities": listed(text("all", "world", "host", "cluster"))}
    rule = thing(**peer)
    return thing(endpointSelector=selector(), nodeSelector=selector(), ingress=listed(rule), egress=listed(rule), ingressDeny=listed(rule),
                 description=text(), enableDefaultDeny=thing(ingress=flag(), egress=flag()))


def function():
    trigger = thing("type", type=text(), name=text(), metadata=table(), authenticationRef=reference(kind=text()), useCachedMetrics=flag(),
                    metricType=text("AverageValue", "Value", "Utilization"))
    return thing("template", replicas=whole(0, 1000), minReplicas=whole(0), maxReplicas=whole(1, default=100), pollingInterval=whole(1, default=30),
                 cooldownPeriod=whole(0), triggers=listed(trigger, minItems=1), fallback=thing("failureThreshold replicas", failureThreshold=whole(0),
                 replicas=whole(0)), template=pod_template(), traffic=listed(thing(percent=whole(0, 100), tag=text(), revisionName=text(),
                 latestRevision=flag())))


def machine():
    reference_kind = thing(keywords={"x-kubernetes-map-type": "atomic"}, apiVersion=text(), kind=text(), name=text(), namespace=text(),
                           fieldPath=text(), uid=text())
    return thing("clusterName", replicas=whole(0, default=1), clusterName=text(minLength=1), template=thing(metadata=thing(labels=table(),
                 annotations=table()), spec=thing("bootstrap infrastructureRef", bootstrap=thing(configRef=reference_kind,
                 dataSecretName=text(nullable=True)), infrastructureRef=reference_kind, version=text(), nodeDrainTimeout=text(), providerID=text())),
                 selector=selector(), deletePolicy=text("Random", "Newest", "Oldest"), strategy=thing(type=text("RollingUpdate", "OnDelete"),
                 rollingUpdate=thing(maxSurge=int_or_string(), maxUnavailable=int_or_string())),
                 machineNamingStrategy=thing(template=text(maxLength=256)))


# plural, kind, group, scope, schema of the spec, schema of the status, columns, whether it has a scale, selectable fields, a second version
WELL_KNOWN = [("certificates", "Certificate", "pki", "Namespaced", certificate, lambda: thing(conditions=conditions(),
              notAfter=text(format="date-time"), revision=whole()), [READY, column("Secret", "string", ".spec.secretName"), column("Issuer", "string",
              ".spec.issuerRef.name", priority=1), AGE], False, [".spec.secretName"], ""), ("issuers", "Issuer", "pki", "Namespaced", issuer,
              lambda: thing(conditions=conditions(), acme=thing(uri=text())), [READY, AGE], False, [], ""), ("monitors", "Monitor", "metrics",
              "Namespaced", monitor, None, [], False, [], ""), ("collectors", "Collector", "metrics", "Namespaced", collector, replicated,
              [column("Version", "string", ".spec.version"), column("Desired", "integer", ".spec.replicas"), column("Ready", "integer",
              ".status.readyReplicas"), AGE], True, [], ""), ("alertrules", "AlertRule", "metrics", "Namespaced", rules, None, [], False, [], ""),
              ("gateways", "Gateway", "net", "Namespaced", gateway, lambda: thing(conditions=conditions(), addresses=listed(thing("value",
              type=text(), value=text()))), [column("Class", "string", ".spec.gatewayClassName"), column("Address", "string",
              ".status.addresses[*].value"), AGE], False, [".spec.gatewayClassName"], "v1beta1"), ("httproutes", "HTTPRoute", "net", "Namespaced",
              route, lambda: thing(parents=listed(thing("name", name=text(), conditions=conditions()))), [column("Hostnames", "string",
              ".spec.hostnames"), AGE], False, [], "v1alpha1"), ("workflows", "Workflow", "flow", "Namespaced", workflow, lambda: open_thing(),
              [column("Status", "string", ".status.phase"), column("Age", "date", ".status.startedAt")], False, [], ""), ("scheduledworkflows",
              "ScheduledWorkflow", "flow", "Namespaced", scheduled, lambda: open_thing(nullable=True), [column("Schedule", "string",
              ".spec.schedule")], False, [".spec.schedule"], ""), ("databases", "Database", "data", "Namespaced", database, replicated,
              [column("Size", "string", ".spec.storage.size"), column("Instances", "integer", ".spec.replicas"), READY], True, [".spec.version"],
              "v2"), ("rollouts", "Rollout", "apps", "Namespaced", rollout, replicated, [column("Desired", "integer", ".spec.replicas"),
              column("Current", "integer", ".status.replicas")], True, [], ""), ("applications", "Application", "deploy", "Namespaced", application,
              lambda: thing(health=thing(status=text()), sync=thing("status", status=text(), revision=text())), [column("Sync", "string",
              ".status.sync.status"), column("Health", "string", ".status.health.status")], False, [".spec.project"], ""), ("secretsources",
              "SecretSource", "secrets", "Namespaced", secret_source, lambda: thing(conditions=conditions(), refreshTime=text(format="date-time",
              nullable=True)), [column("Store", "string", ".spec.storeRef.name"), column("Refresh", "string", ".spec.refreshInterval")], False, [],
              "v1beta1"), ("trafficpolicies", "TrafficPolicy", "net", "Cluster", network_policy, None, [], False, [], ""), ("functions", "Function",
              "run", "Namespaced", function, replicated, [column("Min", "integer", ".spec.minReplicas"), column("Triggers", "string",
              ".spec.triggers[*].type")], True, [], ""), ("machinesets", "MachineSet", "infra", "Namespaced", machine, replicated, [column("Cluster",
              "string", ".spec.clusterName"), column("Replicas", "integer", ".spec.replicas")], True, [".spec.clusterName"], "v1beta2"), ]
