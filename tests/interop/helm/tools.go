//go:build tools

// helm, from its public Go module.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
