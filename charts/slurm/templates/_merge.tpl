{{/*
Writes the second map over the first, in place: (list INTO FROM). Maps merge key by key, anything else replaces, null removes the key. Sprig's own
merge functions differ on false, 0 and "", which here count as given.
*/}}
{{- define "slurm.mergeInto" -}}
{{- $into := index . 0 -}}
{{- range $key, $value := index . 1 -}}
{{-   if kindIs "invalid" $value -}}
{{-     $_ := unset $into $key -}}
{{-   else if and (kindIs "map" $value) (kindIs "map" (get $into $key)) -}}
{{-     include "slurm.mergeInto" (list (get $into $key) $value) -}}
{{-   else -}}
{{-     $_ := set $into $key $value -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{/*
Writes the second value over the first, as JSON {"_": VALUE}: (list LEFT RIGHT). Maps merge key by key; of two lists, items with the same name merge and
the others follow; anything else replaces.
*/}}
{{- define "slurm.patched" -}}
{{- $left := index . 0 -}}
{{- $right := index . 1 -}}
{{- $out := $right -}}
{{- if and (kindIs "map" $left) (kindIs "map" $right) -}}
{{-   $out = $left -}}
{{-   range $key, $value := $right -}}
{{-     $_ := set $out $key (include "slurm.patched" (list (get $left $key) $value) | fromJson)._ -}}
{{-   end -}}
{{- else if and (kindIs "slice" $left) (kindIs "slice" $right) -}}
{{-   $out = list -}}
{{-   $taken := dict -}}
{{-   range $item := $left -}}
{{-     range $other := $right -}}
{{-       if and (kindIs "map" $item) $item.name (eq (toString $item.name) (toString $other.name)) -}}
{{-         $item = (include "slurm.patched" (list $item $other) | fromJson)._ -}}
{{-         $_ := set $taken $other.name true -}}
{{-       end -}}
{{-     end -}}
{{-     $out = append $out $item -}}
{{-   end -}}
{{-   range $other := $right -}}
{{-     if not (hasKey $taken $other.name) -}}
{{-       $out = append $out $other -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- dict "_" $out | toJson -}}
{{- end -}}

{{/*
A map without its keys that are null, or an empty list or map, as YAML; nothing when no key is left. An empty list must not reach the custom
resource: there it counts as given, and some lists (a container's command) replace the operator's as a whole. False, 0 and "" stay.
*/}}
{{- define "slurm.pruned" -}}
{{- $kept := dict -}}
{{- range $key, $value := . -}}
{{-   $void := or (kindIs "invalid" $value) (and (or (kindIs "map" $value) (kindIs "slice" $value)) (empty $value)) -}}
{{-   if not $void -}}
{{-     $_ := set $kept $key $value -}}
{{-   end -}}
{{- end -}}
{{- if $kept -}}
{{-   toYaml $kept -}}
{{- end -}}
{{- end -}}

{{/* The enabled entries of a map of sets, each merged over its defaults, as one JSON map: (list SETS DEFAULTS). */}}
{{- define "slurm.enabledSets" -}}
{{- $defaults := index . 1 -}}
{{- $sets := dict -}}
{{- range $key, $given := index . 0 -}}
{{-   $set := deepCopy $defaults -}}
{{-   include "slurm.mergeInto" (list $set ($given | default dict)) -}}
{{-   if $set.enabled -}}
{{-     $_ := set $sets $key $set -}}
{{-   end -}}
{{- end -}}
{{- toJson $sets -}}
{{- end -}}

{{- define "slurm.nodesets" -}}
{{- $sets := dict -}}
{{- range $key, $set := include "slurm.enabledSets" (list .Values.nodesets .Values.nodesetDefaults) | fromJson -}}
{{-   $set = include "slurm.vendorNodeset" (list $ $key $set) | fromJson -}}
{{-   $_ := set $sets $key (include "slurm.withHomes" (list $ "slurmd" $set) | fromJson) -}}
{{- end -}}
{{- toJson $sets -}}
{{- end -}}

{{- define "slurm.loginsets" -}}
{{- $sets := dict -}}
{{- range $key, $set := include "slurm.enabledSets" (list .Values.loginsets .Values.loginsetDefaults) | fromJson -}}
{{-   $_ := set $sets $key (include "slurm.withHomes" (list $ "login" $set) | fromJson) -}}
{{- end -}}
{{- toJson $sets -}}
{{- end -}}

{{/* A set whose pods have the claim of the homes, if there is one, as JSON: (list ROOT CONTAINER SET). */}}
{{- define "slurm.withHomes" -}}
{{- $set := index . 2 -}}
{{- with (index . 0).Values.homes.existingClaim -}}
{{-   $mount := dict "volumeMounts" (list (dict "name" "homes" "mountPath" "/home")) -}}
{{-   $volume := dict "name" "homes" "persistentVolumeClaim" (dict "claimName" .) -}}
{{-   $patch := dict (index $ 1) $mount "podSpec" (dict "volumes" (list $volume)) -}}
{{-   $set = (include "slurm.patched" (list $set $patch) | fromJson)._ -}}
{{- end -}}
{{- toJson $set -}}
{{- end -}}
