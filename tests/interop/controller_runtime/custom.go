package main

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// A kind of this program's own, as kubebuilder writes it.
type Buoy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BuoySpec   `json:"spec,omitempty"`
	Status BuoyStatus `json:"status,omitempty"`
}

type BuoySpec struct {
	Depth int32  `json:"depth"`
	Shape string `json:"shape,omitempty"`
}

type BuoyStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type BuoyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Buoy `json:"items"`
}

func (b *Buoy) DeepCopyObject() runtime.Object {
	twin := *b
	twin.ObjectMeta = *b.ObjectMeta.DeepCopy()
	twin.Status.Conditions = append([]metav1.Condition(nil), b.Status.Conditions...)
	return &twin
}

func (l *BuoyList) DeepCopyObject() runtime.Object {
	twin := *l
	twin.ListMeta = *l.ListMeta.DeepCopy()
	twin.Items = nil
	for i := range l.Items {
		twin.Items = append(twin.Items, *l.Items[i].DeepCopyObject().(*Buoy))
	}
	return &twin
}

const buoyFinalizer = "controller-runtime.example.com/light"

var buoyVersion = schema.GroupVersion{Group: "controller-runtime.example.com", Version: "v1"}

func buoyScheme() *runtime.Scheme {
	builder := scheme.Builder{GroupVersion: buoyVersion}
	known, err := builder.Register(&Buoy{}, &BuoyList{}).Build()
	check(err, "scheme")
	check(clientgoscheme.AddToScheme(known), "scheme of client-go")
	return known
}

func buoyDefinition() *apiextensionsv1.CustomResourceDefinition {
	type props = apiextensionsv1.JSONSchemaProps
	one, text := 1.0, props{Type: "string"}
	condition := props{Type: "object", Required: []string{"type", "status", "lastTransitionTime", "reason", "message"}, Properties: map[string]props{
		"type": text, "reason": text, "message": text, "status": {Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"True"`)}, {Raw: []byte(`"False"`)}}},
		"lastTransitionTime": {Type: "string", Format: "date-time"}, "observedGeneration": {Type: "integer", Format: "int64"}}}
	listType := "map"
	whole := &props{Type: "object", Properties: map[string]props{
		"spec": {Type: "object", Required: []string{"depth"}, Properties: map[string]props{
			"depth": {Type: "integer", Format: "int32", Minimum: &one},
			"shape": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"ball"`)}}}},
		"status": {Type: "object", Properties: map[string]props{
			"observedGeneration": {Type: "integer", Format: "int64"},
			"conditions": {Type: "array", XListType: &listType, XListMapKeys: []string{"type"},
				Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &condition}}}},
	}}
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "buoys." + buoyVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: buoyVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "buoys", Singular: "buoy", Kind: "Buoy", ListKind: "BuoyList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: buoyVersion.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: whole},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}}},
		},
	}
}

// Keeps a config map for each buoy, which the buoy owns, and says so in the buoy's status. A finalizer lets it delete the
// config map before the buoy is deleted.
type keeper struct{ client.Client }

func (k *keeper) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	buoy := &Buoy{}
	if err := k.Get(ctx, request.NamespacedName, buoy); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	light := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: buoy.Namespace, Name: buoy.Name + "-light"}}
	if buoy.DeletionTimestamp != nil {
		if err := client.IgnoreNotFound(k.Delete(ctx, light)); err != nil || !controllerutil.RemoveFinalizer(buoy, buoyFinalizer) {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, client.IgnoreNotFound(k.Update(ctx, buoy))
	}
	if controllerutil.AddFinalizer(buoy, buoyFinalizer) {
		return reconcile.Result{}, k.Update(ctx, buoy) // whose change comes back
	}
	_, err := controllerutil.CreateOrUpdate(ctx, k.Client, light, func() error {
		light.Data = map[string]string{"depth": strconv.Itoa(int(buoy.Spec.Depth)), "shape": buoy.Spec.Shape}
		return controllerutil.SetControllerReference(buoy, light, k.Scheme())
	})
	if err != nil {
		return reconcile.Result{}, err
	}
	changed := meta.SetStatusCondition(&buoy.Status.Conditions, metav1.Condition{Type: "Lit", Status: metav1.ConditionTrue,
		Reason: "Kept", Message: "the light is " + light.Name, ObservedGeneration: buoy.Generation})
	if !changed && buoy.Status.ObservedGeneration == buoy.Generation {
		return reconcile.Result{}, nil
	}
	buoy.Status.ObservedGeneration = buoy.Generation
	return reconcile.Result{}, k.Status().Update(ctx, buoy)
}

func startKeeper(ctx context.Context, restConfig *rest.Config, known *runtime.Scheme, namespace string) func() error {
	ctx, cancel := context.WithCancel(ctx)
	m, err := manager.New(restConfig, manager.Options{
		Scheme:                 known,
		Cache:                  cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	check(err, "manager")
	check(builder.ControllerManagedBy(m).For(&Buoy{}).Owns(&corev1.ConfigMap{}).Complete(&keeper{m.GetClient()}), "controller")
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// Waits until the status describes this generation of the buoy; the config map has followed before.
func expectLit(ctx context.Context, c client.WithWatch, buoy *Buoy, data string) {
	until(ctx, c, &BuoyList{}, buoy.Namespace, "", client.MatchingFields{"metadata.name": buoy.Name}, func(event watch.Event) bool {
		seen := event.Object.(*Buoy)
		return seen.Status.ObservedGeneration == buoy.Generation && meta.IsStatusConditionTrue(seen.Status.Conditions, "Lit")
	})
	light := configMapOnce(ctx, c, buoy.Namespace, buoy.Name+"-light", "", func(*corev1.ConfigMap) bool { return true })
	expect(light.Data["depth"]+" "+light.Data["shape"] == data, "the light", light.Data)
	expect(metav1.IsControlledBy(light, buoy), "the owner of the light", light.OwnerReferences)
}

// As a test with envtest: definitions are installed, a manager reconciles objects of a typed kind, and all goes away again.
func custom(ctx context.Context, restConfig *rest.Config, namespace string) {
	known := buoyScheme()
	options := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{buoyDefinition()}, MaxTime: patience}
	_, err := envtest.InstallCRDs(restConfig, options)
	check(err, "install of the definition")
	_, err = envtest.InstallCRDs(restConfig, options)
	check(err, "a second install")
	c, err := client.NewWithWatch(restConfig, client.Options{Scheme: known})
	check(err, "client")
	stop := startKeeper(ctx, restConfig, known, namespace)

	wrong := &Buoy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "wrong"}}
	expect(apierrors.IsInvalid(c.Create(ctx, wrong)), "a buoy without a depth", "was accepted")
	buoys := make([]*Buoy, 5)
	for i := range buoys {
		buoys[i] = &Buoy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("buoy-%d", i)}, Spec: BuoySpec{Depth: int32(i + 1)}}
		check(c.Create(ctx, buoys[i]), "create")
		expect(buoys[i].Spec.Shape == "ball" && buoys[i].Generation == 1, "the buoy", buoys[i])
	}
	for i, buoy := range buoys {
		expectLit(ctx, c, buoy, fmt.Sprintf("%d ball", i+1))
	}
	first := buoys[0]
	check(c.Get(ctx, client.ObjectKeyFromObject(first), first), "get")
	old := first.DeepCopyObject().(*Buoy)
	first.Spec.Shape = "cone"
	check(c.Patch(ctx, first, client.MergeFrom(old)), "patch")
	expect(first.Generation == 2, "the generation", first.Generation)
	expectLit(ctx, c, first, "1 cone")

	for _, buoy := range buoys {
		check(c.Delete(ctx, buoy), "delete")
	}
	for _, buoy := range buoys {
		until(ctx, c, &BuoyList{}, namespace, buoy.ResourceVersion, client.MatchingFields{"metadata.name": buoy.Name},
			func(event watch.Event) bool { return event.Type == watch.Deleted })
	}
	lights := &corev1.ConfigMapList{}
	check(c.List(ctx, lights, client.InNamespace(namespace)), "list")
	for _, light := range lights.Items {
		expect(metav1.GetControllerOf(&light) == nil, "a light that is left", light.Name)
	}
	check(stop(), "the end of the manager")
	check(envtest.UninstallCRDs(restConfig, options), "uninstall of the definition")
}
