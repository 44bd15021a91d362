{{/* What GPUs and networks of a vendor ask of node sets. Each patch has the shape of a node set's values. */}}

{{/* One node set with what the vendors ask of it, as JSON: (list ROOT KEY SET). */}}
{{- define "slurm.vendorNodeset" -}}
{{- $root := index . 0 -}}
{{- $key := index . 1 -}}
{{- $set := index . 2 -}}
{{- range $machine := list "a3mega" "a3ultra" -}}
{{-   range $config := get $root.Values.vendor.google $machine -}}
{{-     if eq (toString $config.targetNodeSet) $key -}}
{{-       $number := len ($config.networks | default list) -}}
{{-       if ne $number 9 -}}
{{-         fail (printf "vendor.google.%s: node set %s requires exactly 9 networks, but %d were specified." $machine $key $number) -}}
{{-       end -}}
{{-       $patch := include (printf "slurm.google.%s" $machine) $config | fromYaml -}}
{{-       $set = (include "slurm.patched" (list $set $patch) | fromJson)._ -}}
{{-     end -}}
{{-   end -}}
{{- end -}}
{{- /* Last, so that it sees the GPUs that the others have added. */ -}}
{{- with $root.Values.vendor.nvidia.dcgm -}}
{{-   if and .enabled (include "slurm.hasGpu" $set) -}}
{{-     $set = (include "slurm.patched" (list $set (include "slurm.nvidia.dcgm" . | fromYaml)) | fromJson)._ -}}
{{-   end -}}
{{- end -}}
{{- toJson $set -}}
{{- end -}}

{{/* Whether the workers of a node set have GPUs: of slurmd or of the pod, as a limit or as a request. */}}
{{- define "slurm.hasGpu" -}}
{{- range $part := list .slurmd .podSpec -}}
{{-   range $amount := list "limits" "requests" -}}
{{-     if dig "resources" $amount "nvidia.com/gpu" false ($part | default dict) -}}true{{- end -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{/* The folder that the workers share with dcgm-exporter on their machine. */}}
{{- define "slurm.nvidia.dcgm" -}}
slurmd:
  volumeMounts:
    - name: dcgm-job-mapping
      mountPath: {{ .jobMappingDir }}
podSpec:
  volumes:
    - name: dcgm-job-mapping
      hostPath:
        path: {{ .jobMappingDir }}
        type: DirectoryOrCreate
{{- end -}}

{{/* A script of ours with the folder of the values: (list ROOT FILE). */}}
{{- define "slurm.dcgmScript" -}}
{{- $root := index . 0 -}}
{{- $root.Files.Get (index . 1) | replace "/var/lib/dcgm-exporter/job-mapping" $root.Values.vendor.nvidia.dcgm.jobMappingDir -}}
{{- end -}}

{{/* Which ConfigMap tells Slurm to find the GPUs of Google's machines, less <fullname>-; nothing when there are none, or the user has a gres.conf. */}}
{{- define "slurm.gresConfigMap" -}}
{{- $google := .Values.vendor.google -}}
{{- if not (hasKey (.Values.configFiles | default dict) "gres.conf") -}}
{{-   if $google.a3mega -}}config-a3mega{{- else if $google.a3ultra -}}config-a3ultra{{- end -}}
{{- end -}}
{{- end -}}

{{/* GKE's list of a pod's network interfaces: (list NETWORKS NUMBERS), the second with the number of each interface. */}}
{{- define "slurm.google.interfaces" -}}
{{- $numbers := index . 1 -}}
{{- $interfaces := list -}}
{{- range $place, $network := index . 0 -}}
{{-   $interfaces = append $interfaces (dict "interfaceName" (printf "eth%v" (index $numbers $place)) "network" $network) -}}
{{- end -}}
networking.gke.io/default-interface: eth0
networking.gke.io/interfaces: {{ $interfaces | toJson | quote }}
{{- end -}}

{{/* GKE's A3 Mega: 8 H100 GPUs, 8 networks of their own, and Google's daemon for GPUDirect-TCPXO beside slurmd. */}}
{{- define "slurm.google.a3mega" -}}
{{- $devices := list -}}
{{- range list "nvidia0" "nvidia1" "nvidia2" "nvidia3" "nvidia4" "nvidia5" "nvidia6" "nvidia7" "nvidiactl" "nvidia-uvm" "dmabuf_import_helper" -}}
{{-   $devices = append $devices (dict "path" (printf "/dev/%s" .)) -}}
{{- end -}}
slurmd:
  env:
    - name: LD_LIBRARY_PATH
      value: /usr/local/nvidia/lib64
    - name: NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY
      value: /dev/aperture_devices
  volumeMounts:
    - name: aperture-devices
      mountPath: /dev/aperture_devices
  resources:
    limits:
      nvidia.com/gpu: 8
    requests:
      nvidia.com/gpu: 8
extraConfMap:
  Gres: gpu:nvidia_h100_80gb_hbm3:8
metadata:
  annotations:
    devices.gke.io/container.tcpxo-daemon: {{ toYaml $devices | quote }}
    {{- include "slurm.google.interfaces" (list .networks (until 9)) | nindent 4 }}
podSpec:
  nodeSelector:
    cloud.google.com/gke-nodepool: {{ .nodePool | quote }}
  containers:
    - name: tcpxo-daemon
      image: us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21
      imagePullPolicy: Always
      command: [/bin/sh, -c]
      args:
        - chmod 755 /fts/entrypoint_rxdm_container.sh && exec /fts/entrypoint_rxdm_container.sh --num_hops=2 --num_nics=8 --uid= --alsologtostderr
      securityContext:
        capabilities:
          add: [NET_ADMIN, NET_BIND_SERVICE]
      env:
        - name: LD_LIBRARY_PATH
          value: /usr/local/nvidia/lib64
      volumeMounts:
        - name: libraries
          mountPath: /usr/local/nvidia/lib64
        - name: sys
          mountPath: /hostsysfs
        - name: proc-sys
          mountPath: /hostprocsysfs
  volumes:
    - name: libraries
      hostPath:
        path: /home/kubernetes/bin/nvidia/lib64
    - name: sys
      hostPath:
        path: /sys
    - name: proc-sys
      hostPath:
        path: /proc/sys
    - name: aperture-devices
      hostPath:
        path: /dev/aperture_devices
{{- end -}}

{{/* GKE's A3 Ultra: 8 H200 GPUs, and 8 RDMA networks, whose interfaces are eth2 to eth9. */}}
{{- define "slurm.google.a3ultra" -}}
slurmd:
  env:
    - name: LD_LIBRARY_PATH
      value: /usr/local/nvidia/lib64
    - name: PATH
      value: /usr/local/nvidia/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  volumeMounts:
    - name: library-dir-host
      mountPath: /usr/local/nvidia
    - name: gib
      mountPath: /usr/local/gib
  resources:
    limits:
      nvidia.com/gpu: 8
    requests:
      nvidia.com/gpu: 8
extraConfMap:
  Gres: gpu:nvidia_h200:8
metadata:
  annotations:
    {{- include "slurm.google.interfaces" (list .networks (list 0 2 3 4 5 6 7 8 9)) | nindent 4 }}
podSpec:
  nodeSelector:
    cloud.google.com/gke-nodepool: {{ .nodePool | quote }}
  volumes:
    - name: library-dir-host
      hostPath:
        path: /home/kubernetes/bin/nvidia
    - name: gib
      hostPath:
        path: /home/kubernetes/bin/gib
    - name: sys
      hostPath:
        path: /sys
    - name: proc-sys
      hostPath:
        path: /proc/sys
{{- end -}}
