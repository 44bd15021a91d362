# `cmake --install <build> --prefix <prefix> --component runtime`: the runtime (base to process) for other projects.
#
#   <prefix>/include/capstan/<folder>/   headers, testing/ included; one include root, so the layers are ours to keep
#   <prefix>/lib/                        static libraries: the layers, their test kits, and what third_party/ compiles
#   <prefix>/lib/cmake/Capstan/          find_package(Capstan), cmake/CapstanConfig.cmake.in
#   <prefix>/share/doc/capstan/          licences
#
# The prefix can be moved: nothing in it names this tree or where it was installed first. The target `runtime` builds all
# that is installed.
include(CMakePackageConfigHelpers)

add_custom_target(runtime)

# Installs libraries as Capstan::<name without capstan_>. Test kits are exported apart, because they need GoogleTest.
function(capstan_install_library)
  foreach(library IN LISTS ARGN)
    string(REGEX REPLACE "^capstan_" "" name ${library})
    set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
    if(name MATCHES "_testing$")
      set(export CapstanTesting)
    else()
      set(export CapstanRuntime)
    endif()
    install(TARGETS ${library} EXPORT ${export} ARCHIVE DESTINATION lib COMPONENT runtime)
    add_dependencies(runtime ${library})
  endforeach()
endfunction()

function(capstan_install_layer folder)
  foreach(library capstan_${folder} capstan_${folder}_testing)
    get_target_property(kind ${library} TYPE)
    if(kind STREQUAL "INTERFACE_LIBRARY")
      set(visible INTERFACE)
    else()
      set(visible PUBLIC)
    endif()
    target_include_directories(${library} ${visible} $<INSTALL_INTERFACE:include/capstan>)
    target_compile_features(${library} ${visible} cxx_std_23)
  endforeach()
  capstan_install_library(capstan_${folder} capstan_${folder}_testing)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/${folder} DESTINATION include/capstan COMPONENT runtime
          FILES_MATCHING PATTERN "*.h" PATTERN "*_test.h" EXCLUDE PATTERN testdata EXCLUDE)
endfunction()

# After all layers.
function(capstan_install_package)
  set(package lib/cmake/Capstan)
  set(here ${CMAKE_BINARY_DIR}/package)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/CapstanConfig.cmake.in ${here}/CapstanConfig.cmake @ONLY)
  write_basic_package_version_file(${here}/CapstanConfigVersion.cmake VERSION ${CAPSTAN_VERSION} COMPATIBILITY ExactVersion)
  install(FILES ${here}/CapstanConfig.cmake ${here}/CapstanConfigVersion.cmake DESTINATION ${package} COMPONENT runtime)
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/NOTICE DESTINATION share/doc/capstan COMPONENT runtime)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/licences DESTINATION share/doc/capstan COMPONENT runtime)
  foreach(export CapstanRuntime CapstanTesting)
    install(EXPORT ${export} NAMESPACE Capstan:: DESTINATION ${package} COMPONENT runtime)
  endforeach()
endfunction()
