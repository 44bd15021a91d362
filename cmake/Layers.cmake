# One library per folder of src/, linking only what lies below it. A folder's headers are visible through an include
# root of its own (build/layers/<folder>/<folder> -> src/<folder>), which only its dependents have: an include
# against the layers does not compile.

# capstan_layer(<folder> [QUICK] [RUNTIME] [DEPS <folders and libraries visible to users>] [PRIVATE <libraries used in .cc files only>])
# makes capstan_<folder> from the folder's *.cc (subfolders included), capstan_<folder>_testing from its testing/ (fakes
# that users' tests may link, and the folder's own do), and the program <folder>_test from its *_test.cc.
# A main.cc is left out: it belongs to a program that the folder declares itself. RUNTIME layers are installed for
# other projects (Install.cmake).
function(capstan_layer folder)
  cmake_parse_arguments(arg "QUICK;RUNTIME" "" "DEPS;PRIVATE;TEST_DEPS" ${ARGN})
  set(dir ${CMAKE_SOURCE_DIR}/src/${folder})
  set(root ${CMAKE_BINARY_DIR}/layers/${folder})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${dir} ${root}/${folder} SYMBOLIC)

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  set(fakes ${sources})
  list(FILTER fakes INCLUDE REGEX "/${folder}/([^/]+/)*testing/")
  if(fakes)
    list(REMOVE_ITEM sources ${fakes})
  endif()

  set(library capstan_${folder})
  if(sources)
    add_library(${library} STATIC ${sources})
    capstan_batches(${library})
    set(visible PUBLIC)
    target_link_libraries(${library} PRIVATE ${arg_PRIVATE})
    if(CAPSTAN_SANITIZE STREQUAL "address")
      target_compile_options(${library} PRIVATE -fsanitize=fuzzer-no-link) # for test/fuzz
    endif()
    if(arg_QUICK)
      target_compile_options(${library} PRIVATE $<$<CONFIG:Release>:-O2>)
    endif()
  else()
    add_library(${library} INTERFACE)
    set(visible INTERFACE)
  endif()
  target_include_directories(${library} ${visible} $<BUILD_INTERFACE:${root}>)
  target_link_libraries(${library} ${visible} ${arg_DEPS})

  # With the fakes of the folders below, even when the folder has none of its own.
  set(testing ${library}_testing)
  if(fakes)
    add_library(${testing} STATIC ${fakes})
    capstan_batches(${testing} TEST)
    target_compile_options(${testing} PRIVATE $<$<CONFIG:Release>:-O2>)
    set(visible PUBLIC)
    target_link_libraries(${testing} PRIVATE ${arg_PRIVATE})
  else()
    add_library(${testing} INTERFACE)
    set(visible INTERFACE)
  endif()
  target_link_libraries(${testing} ${visible} ${library} GTest::gtest)
  foreach(below IN LISTS arg_DEPS)
    if(TARGET ${below}_testing)
      target_link_libraries(${testing} ${visible} ${below}_testing)
    endif()
  endforeach()

  if(arg_RUNTIME)
    capstan_install_layer(${folder})
  endif()

  if(tests)
    add_executable(${folder}_test ${tests})
    capstan_batches(${folder}_test TEST)
    target_link_libraries(${folder}_test PRIVATE ${testing} ${library} ${arg_PRIVATE} ${arg_TEST_DEPS} capstan_test_main GTest::gmock GTest::gtest)
    # What a test says itself need not be quick, and compiles in half the time.
    target_compile_options(${folder}_test PRIVATE -O0)
    set_property(GLOBAL APPEND PROPERTY CAPSTAN_UNIT_TESTS ${folder}_test)
    add_test(NAME ${folder}_test COMMAND ${folder}_test)
  endif()
endfunction()
