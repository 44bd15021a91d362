{{/*
Values that were given and do nothing, one a line. Values files of the peer's chart are accepted as they are: there is no webhook here (the custom
resource definitions validate by themselves), so no certificates either, and one loop decides about everything, so there are no workers to count.
*/}}
{{- define "slurm-operator.unusedValues" -}}
{{- $unused := list -}}
{{- $known := list "nameOverride" "fullnameOverride" "namespaceOverride" "imagePrefix" "imagePullSecrets" "imagePullPolicy" "priorityClassName" "propagatedNodeConditions" "crds"
      "operator" "templatePolicy" "extraObjects" "global" "slurm-operator-crds" -}}
{{- $knownOperator := list "enabled" "replicas" "image" "imagePullPolicy" "serviceAccount" "nodeSelector" "affinity" "tolerations" "topologySpreadConstraints"
      "podSecurityContext" "securityContext" "resources" "pdb" "logLevel" "healthPort" "metricsPort" "metricsSecure" "leaderElection" "namespaces" "clusterDomain" -}}
{{- range keys .Values | sortAlpha -}}
{{-   if not (has . $known) -}}
{{-     $unused = append $unused . -}}
{{-   end -}}
{{- end -}}
{{- range keys .Values.operator | sortAlpha -}}
{{-   if not (has . $knownOperator) -}}
{{-     $unused = append $unused (printf "operator.%s" .) -}}
{{-   end -}}
{{- end -}}
{{- join "\n" $unused -}}
{{- end -}}
