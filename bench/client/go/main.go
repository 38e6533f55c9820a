// The peer of ../subject.c: the same work by client-go and controller-runtime, with the same arguments and the same answer.
//
//	peer sync|events|reconcile|lookups|queue|fields|decode KIND URL TOKEN NAMESPACE N
//
// KIND is typed, pods (typed), dynamic or metadata; all but pods are of config maps. Typed clients ask for protobuf, which is
// client-go's default since 0.33. Prints lines of "NAME VALUE".
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	handlers   = 3
	labels     = 100
	lookupsOf  = 1000
	indexed    = "app"
	queueKeys  = 1000
	waitMax    = 10 * time.Minute
	retryAfter = time.Millisecond
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func check(err error, doing string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "peer: %s: %v\n", doing, err)
		os.Exit(1)
	}
}

func cpu() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage), "getrusage")
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func anonymous() uint64 {
	text, err := os.ReadFile("/proc/self/status")
	check(err, "status")
	for _, line := range strings.Split(string(text), "\n") {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "RssAnon:" {
			kb, err := strconv.ParseUint(words[1], 10, 64)
			check(err, "RssAnon")
			return kb * 1024
		}
	}
	return 0
}

type meter struct {
	began time.Time
	cpu   time.Duration
}

func start() meter { return meter{time.Now(), cpu()} }

func (m meter) show() {
	fmt.Printf("wall_ms %f\ncpu_ms %f\n", float64(time.Since(m.began))/1e6, float64(cpu()-m.cpu)/1e6)
}

type work struct {
	kind      string
	config    *rest.Config
	namespace string
	n         int
}

func (w *work) informer() cache.SharedIndexInformer {
	switch w.kind {
	case "pods":
		client, err := kubernetes.NewForConfig(w.config)
		check(err, "client")
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(w.namespace))
		return factory.Core().V1().Pods().Informer()
	case "typed":
		client, err := kubernetes.NewForConfig(w.config)
		check(err, "client")
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(w.namespace))
		return factory.Core().V1().ConfigMaps().Informer()
	case "dynamic":
		client, err := dynamic.NewForConfig(w.config)
		check(err, "client")
		return dynamicinformer.NewFilteredDynamicInformer(client, configMaps, w.namespace, 0, cache.Indexers{}, nil).Informer()
	default:
		client, err := metadata.NewForConfig(w.config)
		check(err, "client")
		return metadatainformer.NewFilteredMetadataInformer(client, configMaps, w.namespace, 0, cache.Indexers{}, nil).Informer()
	}
}

// cache.WaitForCacheSync() looks each 100 ms, which is too coarse for the small syncs.
func wait(done func() bool) {
	for end := time.Now().Add(waitMax); !done(); time.Sleep(retryAfter) {
		if time.Now().After(end) {
			check(context.DeadlineExceeded, "wait")
		}
	}
}

func (w *work) sync() {
	m := start()
	informer := w.informer()
	go informer.Run(nil)
	wait(func() bool { return informer.HasSynced() && len(informer.GetStore().ListKeys()) == w.n })
	m.show()
	fmt.Printf("running_bytes %d\n", anonymous())
	debug.FreeOSMemory()
	fmt.Printf("bytes %d\n", anonymous())
	runtime.KeepAlive(informer)
}

func (w *work) events() {
	var calls atomic.Int64
	first, last := make(chan struct{}), make(chan struct{})
	wanted := int64(w.n) * handlers
	informer := w.informer()
	for range handlers {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
			switch calls.Add(1) {
			case 1:
				close(first)
			case wanted:
				close(last)
			}
		}})
		check(err, "handler")
	}
	go informer.Run(nil)
	<-first
	m := start()
	<-last
	m.show()
}

func (w *work) lookups() {
	informer := w.informer()
	check(informer.AddIndexers(cache.Indexers{indexed: func(object any) ([]string, error) {
		return []string{object.(*corev1.ConfigMap).Labels["app"]}, nil
	}}), "index")
	go informer.Run(nil)
	wait(func() bool { return informer.HasSynced() })
	found := 0
	m := start()
	for i := range lookupsOf * labels {
		objects, err := informer.GetIndexer().ByIndex(indexed, "a"+strconv.Itoa(i%labels))
		check(err, "index")
		found += len(objects)
	}
	m.show()
	fmt.Printf("found %d\n", found)
}

func (w *work) queue() {
	limiter := workqueue.DefaultTypedControllerRateLimiter[string]()
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	keys := make([]string, queueKeys)
	for i := range keys {
		keys[i] = "bench/o-" + strconv.Itoa(i)
	}
	m := start()
	for range w.n / queueKeys {
		for _, key := range keys {
			queue.Add(key)
		}
		for range keys {
			key, _ := queue.Get()
			queue.Done(key)
		}
	}
	m.show()
}

// fields decodes the pod whose file is in the namespace's place, as a typed client does with every answer, and reads ten fields.
func (w *work) fields() {
	text, err := os.ReadFile(w.namespace)
	check(err, "pod")
	decoder := scheme.Codecs.UniversalDeserializer()
	found := 0
	m := start()
	for range w.n {
		object, _, err := decoder.Decode(text, nil, nil)
		check(err, "decode")
		pod := object.(*corev1.Pod)
		found += len(pod.Name) + len(pod.Namespace) + len(pod.UID) + len(pod.Labels["app"]) + len(pod.Spec.NodeName) +
			len(pod.Spec.RestartPolicy) + len(pod.Spec.Containers[0].Image) + len(pod.Status.Phase) + len(pod.Status.PodIP) +
			len(pod.Status.Conditions[1].Status)
	}
	m.show()
	fmt.Printf("found %d\n", found)
}

// decode decodes the same pod with encoding/json alone.
func (w *work) decode() {
	text, err := os.ReadFile(w.namespace)
	check(err, "pod")
	found := 0
	m := start()
	for range w.n {
		pod := corev1.Pod{}
		check(json.Unmarshal(text, &pod), "decode")
		found += len(pod.Name)
	}
	m.show()
	fmt.Printf("found %d\n", found)
}

func main() {
	if len(os.Args) != 7 {
		fmt.Fprintln(os.Stderr, "usage: peer sync|events|reconcile|lookups|queue|fields|decode KIND URL TOKEN NAMESPACE N")
		os.Exit(2)
	}
	n, err := strconv.Atoi(os.Args[6])
	check(err, "N")
	w := &work{kind: os.Args[2], namespace: os.Args[5], n: n, config: &rest.Config{
		Host: os.Args[3], BearerToken: os.Args[4], QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: strings.HasPrefix(os.Args[3], "https")}}}
	map[string]func(){"sync": w.sync, "events": w.events, "reconcile": w.reconcile, "lookups": w.lookups, "queue": w.queue, "fields": w.fields, "decode": w.decode}[os.Args[1]]()
}
