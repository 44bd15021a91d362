// All images with buildx, for who has it and a registry, from the clone's top:
//
//   docker buildx bake -f images/docker-bake.hcl                       for this machine
//   REGISTRY=registry.example.org/hpc docker buildx bake -f images/docker-bake.hcl multiarch --push
//   docker buildx bake -f images/docker-bake.hcl pyxis                 see images/slurm/pyxis/README.md
//
// The programs are built in Debian 12, the images stand on Debian forky. dev/images builds the same without a daemon and for
// one architecture. `make check` has buildx read this file where it is installed; nothing was built with it yet.

variable "REGISTRY" { default = "localhost/capstan" }
variable "SLURM" { default = "26.05" }
variable "VERSION" { default = "0.1.0" }
variable "BASE" { default = "debian:forky" }
variable "BUILD_BASE" { default = "debian:bookworm" }
variable "PLATFORMS" { default = ["linux/amd64", "linux/arm64"] }

group "default" { targets = ["slurm", "trial", "capstan"] }
group "multiarch" { targets = ["slurm-multiarch", "trial-multiarch", "capstan-multiarch"] }
group "pyxis" { targets = ["slurmd-pyxis", "login-pyxis"] }

target "entry-rootfs" {
  context    = "."
  dockerfile = "images/build/Containerfile"
  target     = "entry-rootfs"
  args       = { BUILD_BASE = BUILD_BASE }
}

target "capstan-rootfs" {
  inherits = ["entry-rootfs"]
  target   = "capstan-rootfs"
}

target "entry-rootfs-multiarch" {
  inherits  = ["entry-rootfs"]
  platforms = PLATFORMS
}

target "capstan-rootfs-multiarch" {
  inherits  = ["capstan-rootfs"]
  platforms = PLATFORMS
}

target "slurm" {
  name       = image
  matrix     = { image = ["slurmctld", "slurmdbd", "slurmrestd", "sackd", "slurmd", "login"] }
  context    = "images/slurm"
  dockerfile = "Containerfile"
  target     = image
  contexts   = { rootfs = "target:entry-rootfs" }
  args       = { BASE = BASE }
  tags       = ["${REGISTRY}/${image}:${SLURM}"]
}

target "slurm-multiarch" {
  name      = "${image}-multiarch"
  matrix    = { image = ["slurmctld", "slurmdbd", "slurmrestd", "sackd", "slurmd", "login"] }
  inherits  = [image]
  contexts  = { rootfs = "target:entry-rootfs-multiarch" }
  platforms = PLATFORMS
}

target "pyxis-images" {
  name     = "${image}-pyxis"
  matrix   = { image = ["slurmd", "login"] }
  inherits = [image]
  target   = "${image}-pyxis"
  tags     = ["${REGISTRY}/${image}-pyxis:${SLURM}"]
}

target "trial" {
  name       = image
  matrix     = { image = ["mariadb", "slapd"] }
  context    = "images/trial"
  dockerfile = "Containerfile"
  target     = image
  contexts   = { rootfs = "target:entry-rootfs", common = "images/slurm" }
  args       = { BASE = BASE }
  tags       = ["${REGISTRY}/${image}:${VERSION}"]
}

target "trial-multiarch" {
  name      = "${image}-multiarch"
  matrix    = { image = ["mariadb", "slapd"] }
  inherits  = [image]
  contexts  = { rootfs = "target:entry-rootfs-multiarch", common = "images/slurm" }
  platforms = PLATFORMS
}

target "capstan" {
  context    = "images/capstan"
  dockerfile = "Containerfile"
  contexts   = { rootfs = "target:capstan-rootfs" }
  tags       = ["${REGISTRY}/capstan:${VERSION}"]
}

target "capstan-multiarch" {
  inherits  = ["capstan"]
  contexts  = { rootfs = "target:capstan-rootfs-multiarch" }
  platforms = PLATFORMS
}
