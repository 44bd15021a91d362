{{/* Images and containers. */}}

{{/*
One image reference: (dict "root" ROOT "where" PATH "name" NAME "image" VALUE). VALUE is a complete reference, or a map of repository, tag and digest,
of which the digest wins. Without a repository it is <imagePrefix>/<name>, without tag and digest the chart's appVersion. A tag may be a number: YAML
reads 26.05 as one.
*/}}
{{- define "slurm.image" -}}
{{- if and (kindIs "string" .image) .image -}}
{{-   .image -}}
{{- else if not (and (kindIs "map" .image) .image) -}}
{{-   fail (printf "%s.image: an image is required: give a reference, or repository, tag or digest." .where) -}}
{{- else -}}
{{-   $repository := .image.repository | default (printf "%s/%s" (.root.Values.imagePrefix | trimSuffix "/") .name) -}}
{{-   if .image.digest -}}
{{-     printf "%s@%s" $repository .image.digest -}}
{{-   else -}}
{{-     $tag := .image.tag | default .root.Chart.AppVersion -}}
{{-     printf "%s:%s" $repository (kindIs "string" $tag | ternary $tag (toJson $tag)) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{/*
A container block of a custom resource: (dict "root" ROOT "where" PATH "name" NAME "block" MAP ["inherit" IMAGE]). All fields of the block are passed
on; image and imagePullPolicy are filled in. "inherit" is the reference used when the block names no image (sidecars run their main container's).
*/}}
{{- define "slurm.container" -}}
{{- $block := .block | default dict -}}
{{- $container := include "slurm.pruned" $block | fromYaml -}}
{{- if and .inherit (not $block.image) -}}
{{-   $_ := set $container "image" .inherit -}}
{{- else -}}
{{-   $_ := set $container "image" (include "slurm.image" (dict "root" .root "where" .where "name" .name "image" $block.image)) -}}
{{- end -}}
{{- if not $container.imagePullPolicy -}}
{{-   $_ := set $container "imagePullPolicy" .root.Values.imagePullPolicy -}}
{{- end -}}
{{- toYaml $container -}}
{{- end -}}
