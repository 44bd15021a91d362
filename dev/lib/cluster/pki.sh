# shellcheck shell=bash
# The local cluster's certificates and kubeconfigs. Sourced by dev/cluster.
#
# Keys are P-256, for they are made in a moment. All stay in the state folder, mode 0700.

pki=$state/pki

Authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -keyout "$pki/$1.key" -out "$pki/$1.crt" -subj "/CN=$2" -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
}

# Certificate FILE AUTHORITY SUBJECT [ALTERNATIVE NAMES]
Certificate() {
  local file=$1 authority=$2 subject=$3 names=${4:-}
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$subject" \
    -keyout "$pki/$file.key" -out "$pki/$file.csr" 2>/dev/null
  openssl x509 -req -in "$pki/$file.csr" -CA "$pki/$authority.crt" -CAkey "$pki/$authority.key" \
    -set_serial "0x$(openssl rand -hex 16)" -days 3650 -out "$pki/$file.crt" -extfile <(
    echo "extendedKeyUsage=clientAuth${names:+,serverAuth}"
    [ -z "$names" ] || echo "subjectAltName=$names"
  ) 2>/dev/null
  rm -f "$pki/$file.csr"
}

# Kubeconfig FILE CERTIFICATE SERVER: with certificates inside, so that the file can be
# given to a container or to another program as it is.
Kubeconfig() {
  WriteFile "$state/$1" <<END
apiVersion: v1
kind: Config
clusters:
- name: capstan-dev
  cluster:
    server: $3
    certificate-authority-data: $(base64 -w0 "$pki/ca.crt")
users:
- name: $2
  user:
    client-certificate-data: $(base64 -w0 "$pki/$2.crt")
    client-key-data: $(base64 -w0 "$pki/$2.key")
contexts:
- name: capstan-dev
  context: {cluster: capstan-dev, user: $2}
current-context: capstan-dev
END
}

MakeCertificates() {
  local node inside="IP:127.0.0.1,IP:$control_address,IP:${service_net%.0/*}.1,DNS:localhost,DNS:control"
  [ -f "$pki/complete" ] && return
  rm -rf "$pki"
  mkdir -p "$pki"
  Authority ca capstan-dev
  Authority front-proxy-ca capstan-dev-front-proxy
  Certificate apiserver ca /CN=kube-apiserver \
    "$inside,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.$domain"
  Certificate kubelet-client ca /O=system:masters/CN=kube-apiserver-kubelet-client
  Certificate front-proxy front-proxy-ca /CN=front-proxy-client
  Certificate admin ca /O=system:masters/CN=admin
  Certificate controller-manager ca /CN=system:kube-controller-manager
  Certificate scheduler ca /CN=system:kube-scheduler
  Certificate proxy ca /CN=system:kube-proxy
  Certificate coredns ca /CN=system:coredns
  for node in "${nodes[@]}"; do NodeCertificate "$node"; done
  openssl genrsa -out "$pki/service-account.key" 2048 2>/dev/null
  openssl rsa -in "$pki/service-account.key" -pubout -out "$pki/service-account.pub" 2>/dev/null
  touch "$pki/complete"
}

NodeCertificate() { Certificate "$1" ca "/O=system:nodes/CN=system:node:$1" "DNS:$1,IP:${address[$1]},IP:127.0.0.1"; }

server=https://$control_address:$api_port

MakeKubeconfigs() {
  local node
  [ -f "$state/inside.kubeconfig" ] && return
  Kubeconfig control/controller-manager.kubeconfig controller-manager "$server"
  Kubeconfig control/scheduler.kubeconfig scheduler "$server"
  Kubeconfig control/coredns.kubeconfig coredns "$server"
  for node in "${nodes[@]}"; do NodeKubeconfigs "$node"; done
  Kubeconfig inside.kubeconfig admin "$server"
}

NodeKubeconfigs() {
  Kubeconfig "$1/kubelet.kubeconfig" "$1" "$server"
  Kubeconfig "$1/proxy.kubeconfig" proxy "$server"
}
