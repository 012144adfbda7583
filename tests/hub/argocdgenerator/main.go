// Command argocdgenerator says what an API server with Argo CD's CRD and Argo CD itself make of ApplicationSets.
//
// It reads {"crd": FILE, "clusters": [NAME], "config": {ConfigMap data}, "sets": [ApplicationSet]} from standard input, and
// writes one result for each set.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"sort"

	log "github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/common"
	argov1alpha1 "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/settings"
)

const namespace = "argocd"

type input struct {
	CRD      string            `json:"crd"`
	Clusters []string          `json:"clusters"`
	Config   map[string]string `json:"config"`
	Sets     []map[string]any  `json:"sets"`
}

type result struct {
	// Why the API server refuses the object.
	Refused string `json:"refused"`
	// Fields that the API server drops.
	Dropped []string `json:"dropped"`
	// Why Argo CD generates nothing.
	Error string `json:"error"`
	// What Argo CD says of a source when it makes manifests.
	Source string `json:"source"`
	// Applications that were generated.
	Applications []argov1alpha1.Application `json:"applications"`
	// The spec as the ApplicationSet controller writes it back when it updates the object.
	Written json.RawMessage `json:"written"`
}

func main() {
	log.SetOutput(io.Discard)
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var given input
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		return err
	}
	server, err := newAPIServer(given.CRD)
	if err != nil {
		return err
	}
	generator, err := newGenerator(given.Clusters, given.Config)
	if err != nil {
		return err
	}
	results := []result{}
	for _, item := range given.Sets {
		found := server.admit(item)
		if found.Refused == "" {
			generate(item, generator, &found)
		}
		results = append(results, found)
	}
	return json.NewEncoder(os.Stdout).Encode(results)
}

type apiServer struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

func newAPIServer(file string) (*apiServer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, err
	}
	var internal apiextensions.CustomResourceValidation
	err = apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(crd.Spec.Versions[0].Schema, &internal, nil)
	if err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	return &apiServer{structural: structural, validator: validator}, err
}

// admit prunes and validates an object as the API server does.
func (s *apiServer) admit(item map[string]any) result {
	found := result{}
	found.Dropped = pruning.PruneWithOptions(item, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	sort.Strings(found.Dropped)
	defaulting.PruneNonNullableNullsWithoutDefaults(item, s.structural)
	if errs := validation.ValidateCustomResource(nil, item, s.validator); len(errs) > 0 {
		found.Refused = errs.ToAggregate().Error()
	}
	return found
}

func newGenerator(clusters []string, config map[string]string) (map[string]generators.Generator, error) {
	objects := []runtime.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "decisions", Namespace: namespace}, Data: config}}
	decisions := []any{}
	for _, name := range clusters {
		labels := map[string]string{common.LabelKeySecretType: common.LabelValueSecretTypeCluster}
		objects = append(objects, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "cluster-" + name, Namespace: namespace, Labels: labels},
			Data:       map[string][]byte{"name": []byte(name), "server": []byte("https://" + name + ".example.com"), "config": []byte("{}")},
		})
		decisions = append(decisions, map[string]any{"clusterName": name, "reason": ""})
	}
	decision := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
		"metadata": map[string]any{"name": "decision", "namespace": namespace, "labels": map[string]any{"cluster.open-cluster-management.io/placement": "web"}},
		"status":   map[string]any{"decisions": decisions},
	}}
	resource := schema.GroupVersionResource{Group: "cluster.open-cluster-management.io", Version: "v1beta1", Resource: "placementdecisions"}
	kinds := map[schema.GroupVersionResource]string{resource: "PlacementDecisionList"}
	dynamic := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, decision)
	clientset := kubefake.NewClientset(objects...)
	informer, err := settings.NewClusterInformer(clientset, namespace)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	go informer.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("the cluster Secrets are not there")
	}
	generator := generators.NewDuckTypeGenerator(ctx, dynamic, clientset, namespace, informer)
	inner := map[string]generators.Generator{"ClusterDecisionResource": generator, "List": generators.NewListGenerator()}
	outer := map[string]generators.Generator{"Merge": generators.NewMergeGenerator(inner)}
	maps.Copy(outer, inner)
	return outer, nil
}

// generate does what the ApplicationSet controller does, also when it panics.
func generate(item map[string]any, generator map[string]generators.Generator, found *result) {
	defer func() {
		if reason := recover(); reason != nil {
			found.Error = fmt.Sprint(reason)
		}
	}()
	text, err := json.Marshal(item)
	if err != nil {
		found.Error = err.Error()
		return
	}
	var set argov1alpha1.ApplicationSet
	if err := json.Unmarshal(text, &set); err != nil {
		found.Error = err.Error()
		return
	}
	if found.Written, err = json.Marshal(set.Spec); err != nil {
		found.Error = err.Error()
		return
	}
	applications, _, err := template.GenerateApplications(log.NewEntry(log.StandardLogger()), set, generator, &utils.Render{}, nil)
	if err != nil {
		found.Error = err.Error()
	}
	found.Applications = applications
	for _, application := range applications {
		for _, source := range application.Spec.GetSources() {
			if _, err := source.ExplicitType(); err != nil {
				found.Source = err.Error()
			}
		}
	}
}
