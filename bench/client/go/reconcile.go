package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Those of ../replay.h.
const (
	replayObjects = 1000
	firstVersion  = 1000000000
)

type noting struct {
	client.Client
	n     int
	times []float64
	meter meter
	stop  func()
}

func (r *noting) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	now := time.Now().UnixNano()
	var object corev1.ConfigMap
	if err := r.Get(ctx, req.NamespacedName, &object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	version, err := strconv.Atoi(object.ResourceVersion)
	check(err, "version")
	sent, err := strconv.ParseInt(object.Data["t"], 10, 64)
	check(err, "time")
	if version <= firstVersion+replayObjects {
		return ctrl.Result{}, nil
	}
	if len(r.times) == 0 {
		r.meter = start()
	}
	r.times = append(r.times, float64(now-sent)/1e3)
	if version == firstVersion+replayObjects+r.n {
		r.meter.show()
		r.stop()
	}
	return ctrl.Result{}, nil
}

// The server replays ready bytes and has no discovery.
func mapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	m.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	return m, nil
}

func (w *work) reconcile() {
	ctx, stop := context.WithCancel(context.Background())
	ctrl.SetLogger(logr.Discard())
	w.config.ContentType = "application/json"
	manager, err := ctrl.NewManager(w.config, ctrl.Options{
		Cache:          cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
		MapperProvider: mapper,
		Metrics:        server.Options{BindAddress: "0"},
	})
	check(err, "manager")
	r := &noting{Client: manager.GetClient(), n: w.n, times: make([]float64, 0, w.n), stop: stop}
	check(ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(r), "controller")
	check(manager.Start(ctx), "run")
	slices.Sort(r.times)
	fmt.Printf("runs %d\np50_us %f\np99_us %f\n", len(r.times), r.times[len(r.times)/2], r.times[len(r.times)*99/100])
}
