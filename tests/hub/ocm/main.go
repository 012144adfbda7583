// Command ocm is the part of Open Cluster Management that the suite runs, linked once instead of once for each program.
//
// The first argument names what OCM ships as a program of its own, or one of our two additions:
//
//	placement, addon, registration   OCM's controllers on the hub, started as their own commands start them
//	work-agent                       OCM's work agent on a spoke
//	pull-secrets                     one controller of OCM's klusterlet operator (pullsecrets.go)
//	webhooks                         OCM's webhook handlers on 127.0.0.1 (webhooks.go)
//	render                           OCM's manifest templates as YAML (render.go)
package main

import (
	"context"
	goflag "flag"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	"k8s.io/utils/clock"

	"open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/addon"
	"open-cluster-management.io/ocm/pkg/common/options"
	"open-cluster-management.io/ocm/pkg/features"
	placement "open-cluster-management.io/ocm/pkg/placement/controllers"
	registration "open-cluster-management.io/ocm/pkg/registration/hub"
	"open-cluster-management.io/ocm/pkg/version"
	work "open-cluster-management.io/ocm/pkg/work/spoke"
)

// What OCM's packages pkg/cmd/hub and pkg/cmd/spoke do. Those also bring the operators and the gRPC server.
var controllers = map[string]func() *cobra.Command{
	"placement":    placementCommand,
	"addon":        addonCommand,
	"registration": registrationCommand,
	"work-agent":   workAgentCommand,
	"pull-secrets": pullSecretsCommand,
}

func main() {
	if len(os.Args) < 2 {
		fail("ocm", fmt.Errorf("say what to run: placement, addon, registration, work-agent, pull-secrets, webhooks or render"))
	}
	name := os.Args[1]
	os.Args = append([]string{name}, os.Args[2:]...)
	switch build := controllers[name]; {
	case build != nil:
		control(name, build)
	case name == "webhooks":
		fail(name, serveWebhooks())
	case name == "render":
		fail(name, render(os.Args[1:]))
	default:
		fail("ocm", fmt.Errorf("%q: write placement, addon, registration, work-agent, pull-secrets, webhooks or render", name))
	}
}

func fail(name string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// control runs one controller with the global flags of OCM's own mains.
func control(name string, build func() *cobra.Command) {
	pflag.CommandLine.SetNormalizeFunc(utilflag.WordSepNormalizeFunc)
	pflag.CommandLine.AddGoFlagSet(goflag.CommandLine)
	logs.AddFlags(pflag.CommandLine)
	logs.InitLogs()
	defer logs.FlushLogs()
	fail(name, build().Execute())
}

func placementCommand() *cobra.Command {
	opts := options.NewOptions()
	config := opts.NewControllerCommandConfig("placement", version.Get(), placement.RunControllerManager, clock.RealClock{})
	command := config.NewCommandWithContext(context.TODO())
	opts.AddFlags(command.Flags())
	return command
}

func addonCommand() *cobra.Command {
	opts := options.NewOptions()
	config := opts.NewControllerCommandConfig("manager", version.Get(), addon.RunManager, clock.RealClock{})
	command := config.NewCommandWithContext(context.TODO())
	opts.AddFlags(command.Flags())
	return command
}

func registrationCommand() *cobra.Command {
	utilruntime.Must(features.HubMutableFeatureGate.Add(feature.DefaultHubRegistrationFeatureGates))
	features.HubMutableFeatureGate.AddFlag(pflag.CommandLine)
	opts := options.NewOptions()
	manager := registration.NewHubManagerOptions()
	config := opts.NewControllerCommandConfig(
		"registration-controller", version.Get(), manager.RunControllerManager, clock.RealClock{},
	)
	command := config.NewCommandWithContext(context.TODO())
	manager.AddFlags(command.Flags())
	opts.AddFlags(command.Flags())
	return command
}

func workAgentCommand() *cobra.Command {
	utilruntime.Must(features.HubMutableFeatureGate.Add(feature.DefaultHubWorkFeatureGates))
	features.HubMutableFeatureGate.AddFlag(pflag.CommandLine)
	opts := options.NewAgentOptions()
	agent := work.NewWorkloadAgentOptions()
	runner := work.NewWorkAgentConfig(opts, agent)
	config := opts.CommonOpts.NewControllerCommandConfig("work-agent", version.Get(), runner.RunWorkloadAgent, clock.RealClock{})
	command := config.NewCommandWithContext(context.TODO())
	opts.AddFlags(command.Flags())
	agent.AddFlags(command.Flags())
	utilruntime.Must(features.SpokeMutableFeatureGate.Add(feature.DefaultSpokeWorkFeatureGates))
	features.SpokeMutableFeatureGate.AddFlag(command.Flags())
	return command
}
