# How every target is compiled. GCC 12 miscompiles ordinary coroutine code (it frees temporaries of a co_await
# expression twice), so clang is not a preference but a requirement.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR "Capstan needs clang 19 or newer; configure with: cmake --preset release")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

# Members that a designated initializer leaves out have defaults, on purpose.
add_compile_options(-Wall -Wextra -Werror -Wno-missing-designated-field-initializers -fno-plt -ffunction-sections -fdata-sections -fcolor-diagnostics)
# __FILE__, which each assertion of a test holds, is the same in every clone: so ccache knows it again, and people read it.
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
# Resident memory is mostly the program's own pages: small code is fast code here. What must be quick whatever its size
# (decoding) says so itself, see capstan_layer's QUICK.
add_link_options(-fuse-ld=lld-19 -Wl,--gc-sections -Wl,--icf=safe -Wl,-z,pack-relative-relocs)

# Asio and Beast compile once, in capstan_asio; the macros must be the same in every translation unit, those of projects
# that use the installed runtime included.
set(CAPSTAN_ASIO_DEFINITIONS BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED
                             BOOST_ASIO_DISABLE_BOOST_COROUTINE)
add_compile_definitions(${CAPSTAN_ASIO_DEFINITIONS})

# Several sources are compiled as one, for most of a file's time is what it includes: tests always, product code only for
# the sanitizers, so that a change of it compiles one file where people work.
#
# A batch is six files of one folder: in a folder no two files may give one name, in anonymous namespaces, to two things.
# Files that do are compiled by themselves (SKIP_UNITY_BUILD_INCLUSION).
set(CAPSTAN_UNITY tests CACHE STRING "what is compiled in batches: none, tests or all")
function(capstan_batches target)
  cmake_parse_arguments(arg "TEST" "" "" ${ARGN})
  if(CAPSTAN_UNITY STREQUAL "none" OR (CAPSTAN_UNITY STREQUAL "tests" AND NOT arg_TEST))
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  foreach(source IN LISTS sources)
    file(REAL_PATH ${source} path)
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${path}) # so that another clone's names are the same, for ccache
    get_filename_component(folder ${path} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${folder}" group)
    if(NOT DEFINED files_${group})
      set(files_${group} 0)
    endif()
    math(EXPR batch "${files_${group}} / 6")
    math(EXPR files_${group} "${files_${group}} + 1")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP "${group}_${batch}")
  endforeach()
endfunction()

set(CAPSTAN_SANITIZE "" CACHE STRING "address or thread; empty for none")
if(CAPSTAN_SANITIZE STREQUAL "address")
  # vptr, null and alignment double the compile time of coroutine-heavy files and have found nothing that the rest did not.
  set(sanitize -fsanitize=address,undefined -fno-sanitize=vptr,null,alignment -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(CAPSTAN_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread)
endif()
add_compile_options(${sanitize})
add_link_options(${sanitize})

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/dev/lib/ccache)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/dev/lib/ccache)
endif()
