# Options, build type and the interface targets that every target of homz links.
option(HOMZ_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(HOMZ_TOOLS "Build the programs" ON)
option(HOMZ_WERROR "Treat warnings as errors" OFF)
set(HOMZ_SANITIZE "" CACHE STRING "Sanitizers, as in address,undefined or thread")

# CUDA is optional: on by itself where a compiler is found. Sanitizers of the host know nothing of nvcc's code.
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER AND NOT HOMZ_SANITIZE)
  set(HOMZ_CUDA_DEFAULT ON)
else()
  set(HOMZ_CUDA_DEFAULT OFF)
endif()
option(HOMZ_CUDA "Build the coders for GPUs (needs a CUDA compiler)" ${HOMZ_CUDA_DEFAULT})
if(HOMZ_CUDA)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES 80 90)
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  string(APPEND CMAKE_CUDA_FLAGS " -std=c++20")  # CMake 3.25 knows no CUDA_STANDARD 20
  find_package(CUDAToolkit 12 REQUIRED)
endif()

# MPI is optional, too. Its C++ interface of old is not wanted.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)
option(HOMZ_MPI "Build the transport over MPI (needs MPI)" ${MPI_CXX_FOUND})
if(HOMZ_MPI AND NOT MPI_CXX_FOUND)
  find_package(MPI 3.0 REQUIRED COMPONENTS CXX)  # says what is missing
endif()

# And NCCL, whose communicators have had settings of their own since 2.17.
if(HOMZ_CUDA)
  find_package(NCCL 2.17 QUIET)
endif()
if(NOT NCCL_FOUND)
  set(NCCL_FOUND OFF)
endif()
option(HOMZ_NCCL "Build the transport over NCCL (needs NCCL and CUDA)" ${NCCL_FOUND})
if(HOMZ_NCCL AND NOT NCCL_FOUND)
  if(NOT HOMZ_CUDA)
    message(FATAL_ERROR "HOMZ_NCCL needs HOMZ_CUDA: turn that on, or this off")
  endif()
  find_package(NCCL 2.17 REQUIRED)  # says what is missing
endif()

# So is SimGrid, whose simulated MPI has an mpi.h of its own. Its interfaces change: by itself it is only on for the
# version that was tested (Debian 12's). Its ranks switch stacks, which sanitizers take amiss.
find_package(PkgConfig QUIET)
pkg_check_modules(HOMZ_SIMGRID_PC QUIET simgrid)
find_path(HOMZ_SMPI_INCLUDE smpi_helpers.h PATH_SUFFIXES smpi)
find_library(HOMZ_SIMGRID_LIBRARY simgrid)
mark_as_advanced(HOMZ_SMPI_INCLUDE HOMZ_SIMGRID_LIBRARY)
if(HOMZ_SMPI_INCLUDE AND HOMZ_SIMGRID_LIBRARY AND HOMZ_SIMGRID_PC_VERSION MATCHES "^3[.]32" AND NOT HOMZ_SANITIZE)
  set(HOMZ_SIMGRID_DEFAULT ON)
else()
  set(HOMZ_SIMGRID_DEFAULT OFF)
endif()
option(HOMZ_SIMGRID "Build the simulation of collectives (needs SimGrid)" ${HOMZ_SIMGRID_DEFAULT})

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, ..." FORCE)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the HDF5 plugin is a shared object
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

# Same bytes on every machine: no contraction of a * b + c into one rounding, set here once for all targets.
add_library(homz_deterministic_fp INTERFACE)
target_compile_options(homz_deterministic_fp INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false -Xcompiler=-ffp-contract=off -lineinfo --expt-relaxed-constexpr>)

add_library(homz_warnings INTERFACE)
target_compile_options(homz_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic $<$<BOOL:${HOMZ_WERROR}>:-Werror>>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra $<$<BOOL:${HOMZ_WERROR}>:-Werror=all-warnings>>)

if(HOMZ_SANITIZE)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${HOMZ_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
  # Address finds null pointers, too. These two take a quarter of the time of compiling.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,vptr>)
  add_link_options(-fsanitize=${HOMZ_SANITIZE})
endif()

# homz_precompile(target <a.hpp> ...): the headers of others that most of its sources include; not such that hold code,
# which each source would compile. For sanitizers only, under which compiling takes three times as long: elsewhere each
# file is to include what it needs.
function(homz_precompile target)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(HOMZ_SANITIZE AND count GREATER 2)
    target_precompile_headers(${target} PRIVATE <algorithm> <memory> <optional> <string> <vector> ${ARGN})
  endif()
endfunction()

# homz_add_library(core SOURCES a.cpp ... LINK x ...): target homz_core, alias and export homz::core.
function(homz_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(homz_${name} ${ARG_SOURCES})
  add_library(homz::${name} ALIAS homz_${name})
  set_target_properties(homz_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(homz_${name} PUBLIC cxx_std_20)
  target_include_directories(homz_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/homz>)
  target_link_libraries(homz_${name}
    PUBLIC ${ARG_LINK}
    PRIVATE $<BUILD_INTERFACE:homz_deterministic_fp> $<BUILD_INTERFACE:homz_warnings> ${ARG_PRIVATE_LINK})
  homz_precompile(homz_${name} <fmt/format.h>)
endfunction()
