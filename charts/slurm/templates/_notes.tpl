{{/* Parts of NOTES.txt. Helm strips blanks at their beginning, so a logo's first line cannot be indented. */}}
{{- define "slurm.logo" -}}
.---------------------------------------.
|   C A P S T A N  ~  Slurm, on deck    |
'---------------------------------------'
{{- end -}}

{{/* What an uninstallation leaves behind, as arguments of kubectl delete; nothing when it leaves nothing. */}}
{{- define "slurm.leftovers" -}}
{{- $left := list -}}
{{- $persistence := .Values.controller.persistence -}}
{{- if and (not .Values.controller.external) $persistence.enabled (not $persistence.existingClaim) -}}
{{-   $left = append $left (printf "persistentvolumeclaim/statesave-%s-controller-0" (include "slurm.fullname" .)) -}}
{{- end -}}
{{- $generated := include "slurm.generateKeys" . -}}
{{- if has $generated (list "true" "slurm") -}}
{{-   $left = append $left (printf "secret/%s" (include "slurm.slurmKeyRef" . | fromYaml).name) -}}
{{- end -}}
{{- if has $generated (list "true" "jwt") -}}
{{-   $left = append $left (printf "secret/%s" (include "slurm.jwtKeyRef" . | fromYaml).name) -}}
{{- end -}}
{{- if and .Values.accounting.enabled .Values.accounting.database.embedded.enabled -}}
{{-   $left = append $left (printf "persistentvolumeclaim/data-%s-accounting-db-0" (include "slurm.fullname" .)) -}}
{{- end -}}
{{- range $key, $set := include "slurm.loginsets" . | fromJson -}}
{{-   $left = append $left (printf "secret/%s-ssh-host-keys" (include "slurm.setName" (list $ "login" $key))) -}}
{{- end -}}
{{- range $key, $set := include "slurm.nodesets" . | fromJson -}}
{{-   if dig "ssh" "enabled" false $set -}}
{{-     $left = append $left (printf "secret/%s-ssh-host-keys" (include "slurm.setName" (list $ "worker" $key))) -}}
{{-   end -}}
{{- end -}}
{{- join " " $left -}}
{{- end -}}

{{/* The Secrets that the operator does not create and that must exist, as "NAME with the key KEY", one a line. */}}
{{- define "slurm.expectedSecrets" -}}
{{- $generated := include "slurm.generateKeys" . -}}
{{- $expected := list -}}
{{- range $which, $ref := dict "slurm" (include "slurm.slurmKeyRef" . | fromYaml) "jwt" (include "slurm.jwtKeyRef" . | fromYaml) -}}
{{-   if not (has $generated (list "true" $which)) -}}
{{-     $expected = append $expected (printf "%s with the key %s" $ref.name $ref.key) -}}
{{-   end -}}
{{- end -}}
{{- $acct := .Values.accounting -}}
{{- if and $acct.enabled (not $acct.external) (not $acct.database.embedded.enabled) -}}
{{-   with $acct.storageConfig.passwordKeyRef -}}
{{-     $expected = append $expected (printf "%s with the key %s" .name .key) -}}
{{-   end -}}
{{- end -}}
{{- join "\n" $expected -}}
{{- end -}}

{{/*
Values that were given and do nothing, one a line. A values file of the peer's chart is accepted as it is, so a key without effect must at least be
said, and a misspelt one is found here too.
*/}}
{{- define "slurm.unusedValues" -}}
{{- $unused := list -}}
{{- $known := list "nameOverride" "fullnameOverride" "namespaceOverride" "asciiArt" "imagePrefix" "imagePullSecrets" "imagePullPolicy" "priorityClass"
      "slurmKey" "jwtKey" "jwksKeys" "clusterName" "configFiles" "prologScripts" "epilogScripts" "prologSlurmctldScripts" "epilogSlurmctldScripts"
      "prologScriptRefs" "epilogScriptRefs" "prologSlurmctldScriptRefs" "epilogSlurmctldScriptRefs" "controller" "restapi" "accounting" "loginsets"
      "loginsetDefaults" "sssd" "homes" "nodesets" "nodesetDefaults" "partitions" "vendor" "extraObjects" "global" "networkPolicy" -}}
{{- range keys .Values | sortAlpha -}}
{{-   if not (has . $known) -}}
{{-     $unused = append $unused . -}}
{{-   end -}}
{{- end -}}
{{- range list "slurmKey" "jwtKey" -}}
{{-   if (get $.Values .).annotations -}}
{{-     $unused = append $unused (printf "%s.annotations" .) -}}
{{-   end -}}
{{- end -}}
{{- $sections := dict
      "controller" (list "external" "externalConfig" "slurmctld" "inplaceReconfigure" "reconfigure" "logfile" "ha" "persistence" "extraConf" "extraConfMap" "metadata" "podSpec" "service" "metrics")
      "networkPolicy" (list "enabled" "operatorPort" "operatorNamespace" "restapi" "controller" "accounting")
      "restapi" (list "replicas" "pdb" "slurmrestd" "metadata" "podSpec" "service")
      "accounting" (list "enabled" "external" "externalConfig" "slurmdbd" "storageConfig" "database" "extraConf" "extraConfMap" "metadata" "podSpec" "service") -}}
{{- range $section, $keys := $sections -}}
{{-   range keys (get $.Values $section) | sortAlpha -}}
{{-     if not (has . $keys) -}}
{{-       $unused = append $unused (printf "%s.%s" $section .) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- $nodesets := include "slurm.nodesets" . | fromJson -}}
{{- /* The defaults are no list of known keys: a misspelt one would make itself known. */ -}}
{{- $nodesetKeys := list "enabled" "scalingMode" "replicas" "pinToNode" "workloadDisruptionProtection" "pruneSlurmNodeRecords" "ordinalPadding"
      "oversubscribeNode" "slurmd" "logfile" "extraConf" "extraConfMap" "partition" "ssh" "updateStrategy" "metadata" "podSpec" "minReadySeconds"
      "revisionHistoryLimit" "persistentVolumeClaimRetentionPolicy" "volumeClaimTemplates" -}}
{{- $loginsetKeys := list "enabled" "replicas" "strategy" "login" "initconf" "rootSshAuthorizedKeys" "extraSshdConfig" "metadata" "podSpec" "service" -}}
{{- range list
      (list "nodesetDefaults" .Values.nodesetDefaults $nodesetKeys)
      (list "loginsetDefaults" .Values.loginsetDefaults $loginsetKeys) -}}
{{-   $unused = concat $unused (include "slurm.unusedKeys" . | fromJsonArray) -}}
{{- end -}}
{{- range $name, $set := .Values.nodesets -}}
{{-   $unused = concat $unused (include "slurm.unusedKeys" (list (printf "nodesets.%s" $name) $set $nodesetKeys) | fromJsonArray) -}}
{{- end -}}
{{- range $name, $set := .Values.loginsets -}}
{{-   $unused = concat $unused (include "slurm.unusedKeys" (list (printf "loginsets.%s" $name) $set $loginsetKeys) | fromJsonArray) -}}
{{- end -}}
{{- range $machine := list "a3mega" "a3ultra" -}}
{{-   range get $.Values.vendor.google $machine -}}
{{-     if not (hasKey $nodesets .targetNodeSet) -}}
{{-       $unused = append $unused (printf "vendor.google.%s: there is no node set %s" $machine .targetNodeSet) -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- join "\n" $unused -}}
{{- end -}}

{{/*
Keys of one node set or login set, or of their defaults, that nobody reads, also in those of its parts whose keys are all known: (list PATH SET KNOWN),
as a JSON list.
*/}}
{{- define "slurm.unusedKeys" -}}
{{- $path := index . 0 -}}
{{- $known := index . 2 -}}
{{- $parts := dict "partition" (list "enabled" "config" "configMap") "ssh" (list "enabled" "extraSshdConfig")
      "updateStrategy" (list "type" "rollingUpdate" "scheduledUpdate") "metadata" (list "labels" "annotations") -}}
{{- $unused := list -}}
{{- range $key, $value := index . 1 -}}
{{-   if not (has $key $known) -}}
{{-     $unused = append $unused (printf "%s.%s" $path $key) -}}
{{-   else if and (hasKey $parts $key) (kindIs "map" $value) -}}
{{-     $unused = concat $unused (include "slurm.unusedKeys" (list (printf "%s.%s" $path $key) $value (get $parts $key)) | fromJsonArray) -}}
{{-   end -}}
{{- end -}}
{{- toJson $unused -}}
{{- end -}}

{{/* How to log in to one login set by SSH: (list ROOT NAME SERVICE). */}}
{{- define "slurm.sshCommand" -}}
{{- $get := printf "kubectl --namespace %s get service %s --output" (include "slurm.namespace" (index . 0)) (index . 1) -}}
{{- $service := index . 2 | default dict -}}
{{- $port := $service.port | default 22 | int -}}
{{- $type := dig "spec" "type" "ClusterIP" $service -}}
{{- if eq $type "LoadBalancer" -}}
ssh -p {{ $port }} USER@"$({{ $get }} jsonpath='{.status.loadBalancer.ingress[0].ip}{.status.loadBalancer.ingress[0].hostname}')"
{{- else if eq $type "NodePort" -}}
ssh -p "$({{ $get }} jsonpath='{.spec.ports[0].nodePort}')" USER@NODE   # the address of any Kubernetes node
{{- else -}}
ssh -p {{ $port }} USER@"$({{ $get }} jsonpath='{.spec.clusterIP}')"   # from within the cluster
{{- end -}}
{{- end -}}
