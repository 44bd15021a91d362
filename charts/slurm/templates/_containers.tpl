{{/* Images and containers. */}}

{{/*
One image reference: (dict "root" ROOT "where" PATH "name" NAME "image" VALUE). VALUE is a complete reference, or a map of repository and tag or
digest; the digest wins. An empty repository is <imagePrefix>/<name>; a missing one is an error, as every missing part.
*/}}
{{- define "slurm.image" -}}
{{- if and (kindIs "string" .image) .image -}}
{{-   .image -}}
{{- else if not (and (kindIs "map" .image) .image) -}}
{{-   fail (printf "%s.image: an image is required: give a reference, or repository and tag." .where) -}}
{{- else if kindIs "invalid" .image.repository -}}
{{-   fail (printf "%s.image: an image repository is required; \"\" means <imagePrefix>/%s." .where .name) -}}
{{- else -}}
{{-   $repository := .image.repository | default (printf "%s/%s" (.root.Values.imagePrefix | trimSuffix "/") .name) -}}
{{-   if .image.digest -}}
{{-     printf "%s@%s" $repository .image.digest -}}
{{-   else if .image.tag -}}
{{-     printf "%s:%s" $repository (toString .image.tag) -}}
{{-   else -}}
{{-     fail (printf "%s.image: an image tag or digest is required." .where) -}}
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
