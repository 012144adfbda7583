// The webhooks command serves one of OCM's webhook sets on 127.0.0.1.
//
// The handlers are OCM's own packages. OCM's own commands cannot be used on a shared machine: they listen on every
// address, and the ports of their health and metrics servers are fixed.

package main

import (
	"crypto/tls"
	"flag"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"open-cluster-management.io/api/feature"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/features"

	addonv1alpha1 "open-cluster-management.io/ocm/pkg/addon/webhook/v1alpha1"
	addonv1beta1 "open-cluster-management.io/ocm/pkg/addon/webhook/v1beta1"
	registrationv1 "open-cluster-management.io/ocm/pkg/registration/webhook/v1"
	registrationv1beta2 "open-cluster-management.io/ocm/pkg/registration/webhook/v1beta2"
	workoptions "open-cluster-management.io/ocm/pkg/work/webhook"
	workcommon "open-cluster-management.io/ocm/pkg/work/webhook/common"
	workwebhookv1 "open-cluster-management.io/ocm/pkg/work/webhook/v1"
)

type initializer interface {
	Init(manager ctrl.Manager) error
}

type webhookSet struct {
	schemes  []func(*runtime.Scheme) error
	webhooks []initializer
	gates    map[featuregate.Feature]featuregate.FeatureSpec
}

// sets repeats which webhooks each of OCM's servers installs with its default feature gates.
var sets = map[string]webhookSet{
	"addon": {
		schemes: []func(*runtime.Scheme) error{addonv1alpha1.Install, addonv1beta1.Install},
		webhooks: []initializer{
			&addonv1alpha1.ManagedClusterAddOnWebhook{},
			&addonv1beta1.ManagedClusterAddOnWebhook{},
			&addonv1alpha1.ClusterManagementAddOnWebhook{},
			&addonv1beta1.ClusterManagementAddOnWebhook{},
		},
	},
	"registration": {
		schemes: []func(*runtime.Scheme) error{clusterv1.Install, registrationv1beta2.Install},
		webhooks: []initializer{
			&registrationv1.ManagedClusterWebhook{},
			&registrationv1beta2.ManagedClusterSetBindingWebhook{},
		},
		gates: feature.DefaultHubRegistrationFeatureGates,
	},
	"work": {
		schemes:  []func(*runtime.Scheme) error{workv1.Install},
		webhooks: []initializer{&workwebhookv1.ManifestWorkWebhook{}},
		gates:    feature.DefaultHubWorkFeatureGates,
	},
}

func serveWebhooks() error {
	// --kubeconfig is a flag of controller-runtime's.
	serve := flag.String("serve", "", "which webhooks: addon, registration or work")
	port := flag.Int("port", 9443, "port on 127.0.0.1")
	certificates := flag.String("certdir", "", "directory with tls.crt and tls.key")
	flag.Parse()
	return runWebhooks(*serve, *port, *certificates)
}

func runWebhooks(serve string, port int, certificates string) error {
	set, known := sets[serve]
	if !known {
		return fmt.Errorf("--serve %q: write addon, registration or work", serve)
	}
	ctrl.SetLogger(klog.Background())
	if err := features.HubMutableFeatureGate.Add(set.gates); err != nil {
		return err
	}
	workcommon.ManifestValidator.WithLimit(workoptions.NewOptions().ManifestLimit)

	scheme := runtime.NewScheme()
	for _, install := range append(set.schemes, clientgoscheme.AddToScheme) {
		if err := install(scheme); err != nil {
			return err
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		HealthProbeBindAddress: "0",
		Metrics:                metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host:    "127.0.0.1",
			Port:    port,
			CertDir: certificates,
			TLSOpts: []func(*tls.Config){func(settings *tls.Config) { settings.MinVersion = tls.VersionTLS12 }},
		}),
	})
	if err != nil {
		return err
	}
	for _, one := range set.webhooks {
		if err := one.Init(manager); err != nil {
			return err
		}
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
