// The reference program in Go: a small operator on controller-runtime, as its users write and run them, to measure
// Capstan's runtime against. bench/runtime/reference.cc does the same on Capstan's.
//
//	go-reference -kubeconfig FILE [-prefix TEXT] [-expect N]
//
// For every Source it keeps a ConfigMap of the same name that holds -prefix and the Source's text. Pods, Secrets and
// Nodes are watched besides and lead to nothing. Everything is cached whole and cluster-wide, built-in kinds are read as
// protobuf and the Source as JSON: controller-runtime's defaults, and what slurm-operator does. Ten keys are reconciled
// at a time, and there is no client-side throttle.
//
// Standard output: "synced" once every cache is filled, "wrote N" after the N-th accepted write when -expect is N.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var sourceVersion = schema.GroupVersion{Group: "bench.example.com", Version: "v1"}

type SourceSpec struct {
	Text string `json:"text,omitempty"`
}

type Source struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SourceSpec `json:"spec,omitempty"`
}

func (s *Source) DeepCopyObject() runtime.Object {
	copied := *s
	s.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

type SourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Source `json:"items"`
}

func (l *SourceList) DeepCopyObject() runtime.Object {
	copied := *l
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = make([]Source, len(l.Items))
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].DeepCopyObject().(*Source)
	}
	return &copied
}

type reconciler struct {
	client.Client
	prefix  string
	expect  int64
	written atomic.Int64
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var source Source
	if err := r.Get(ctx, request.NamespacedName, &source); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	wanted := r.prefix + source.Spec.Text
	var dependent corev1.ConfigMap
	err := r.Get(ctx, request.NamespacedName, &dependent)
	if client.IgnoreNotFound(err) != nil || (err == nil && dependent.Data["text"] == wanted) {
		return reconcile.Result{}, err
	}
	owner := metaapply.OwnerReference().WithAPIVersion(sourceVersion.String()).WithKind("Source").
		WithName(source.Name).WithUID(source.UID).WithController(true)
	child := coreapply.ConfigMap(source.Name, source.Namespace).WithOwnerReferences(owner).
		WithData(map[string]string{"text": wanted})
	if err := r.Apply(ctx, child, client.FieldOwner("go-reference"), client.ForceOwnership); err != nil {
		return reconcile.Result{}, err
	}
	if written := r.written.Add(1); written == r.expect {
		fmt.Println("wrote", written)
	}
	return reconcile.Result{}, nil
}

// Says "synced" once the cache holds everything.
func announce(mgr manager.Manager) manager.RunnableFunc {
	return func(ctx context.Context) error {
		kinds := []client.Object{&Source{}, &corev1.ConfigMap{}, &corev1.Pod{}, &corev1.Secret{}, &corev1.Node{}}
		for _, kind := range kinds {
			if _, err := mgr.GetCache().GetInformer(ctx, kind); err != nil {
				return err
			}
		}
		fmt.Println("synced")
		return nil
	}
}

func run() error {
	prefix := flag.String("prefix", "", "what every dependent's text begins with")
	expect := flag.Int64("expect", 0, "say so after this many writes")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	scheme.AddKnownTypes(sourceVersion, &Source{}, &SourceList{})
	metav1.AddToGroupVersion(scheme, sourceVersion)
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	nothing := handler.EnqueueRequestsFromMapFunc(
		func(context.Context, client.Object) []reconcile.Request { return nil })
	err = ctrl.NewControllerManagedBy(mgr).For(&Source{}).Owns(&corev1.ConfigMap{}).
		Watches(&corev1.Pod{}, nothing).Watches(&corev1.Secret{}, nothing).Watches(&corev1.Node{}, nothing).
		WithOptions(controller.Options{MaxConcurrentReconciles: 10}).
		Complete(&reconciler{Client: mgr.GetClient(), prefix: *prefix, expect: *expect})
	if err != nil {
		return err
	}
	if err := mgr.Add(announce(mgr)); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "go-reference:", err)
		os.Exit(1)
	}
}
