// The pull-secrets command runs one controller of OCM's klusterlet operator: it copies the image pull Secret of the
// operator's namespace into namespaces with OCM's label. The operator's other controllers install the work agent and the
// registration agent, which the suite starts itself.

package main

import (
	"context"
	"time"

	"github.com/openshift/library-go/pkg/controller/controllercmd"
	"github.com/spf13/cobra"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"open-cluster-management.io/ocm/pkg/common/options"
	"open-cluster-management.io/ocm/pkg/operator/operators/klusterlet/controllers/addonsecretcontroller"
	"open-cluster-management.io/ocm/pkg/version"
)

func pullSecretsCommand() *cobra.Command {
	opts := options.NewOptions()
	config := opts.NewControllerCommandConfig("pull-secrets", version.Get(), copyPullSecrets, clock.RealClock{})
	command := config.NewCommandWithContext(context.TODO())
	opts.AddFlags(command.Flags())
	return command
}

// copyPullSecrets does what RunKlusterletOperator does for this controller (pkg/operator/operators/klusterlet/options.go).
func copyPullSecrets(ctx context.Context, controller *controllercmd.ControllerContext) error {
	client, err := kubernetes.NewForConfig(controller.KubeConfig)
	if err != nil {
		return err
	}
	informer := informers.NewSharedInformerFactory(client, 5*time.Minute)
	copying := addonsecretcontroller.NewAddonPullImageSecretController(
		client, controller.OperatorNamespace, informer.Core().V1().Namespaces(),
	)
	informer.Start(ctx.Done())
	copying.Run(ctx, 1)
	return nil
}
