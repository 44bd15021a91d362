# Debian's packages, each behind one target. Everything but glibc is linked statically, so that the image holds one
# program; what Debian ships only as a shared library is compiled here from Debian's own headers or source package.
find_package(Threads REQUIRED)
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.81 REQUIRED COMPONENTS json container)
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL 3 REQUIRED)
find_package(GTest REQUIRED)

add_subdirectory(third_party)
