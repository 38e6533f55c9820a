// Upstream's sample API server (wardle.example.com), from its public Go module. Its metadata is kept in an etcd.
package main

import (
	"os"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	"k8s.io/sample-apiserver/pkg/cmd/server"
)

func main() {
	options := server.NewWardleServerOptions(os.Stdout, os.Stderr)
	os.Exit(cli.Run(server.NewCommandStartWardleServer(genericapiserver.SetupSignalContext(), options, false)))
}
