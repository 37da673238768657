# Installs libraries, headers and a package for find_package(homz).
include(CMakePackageConfigHelpers)

set(libraries homz_core homz_codecs homz_homomorphic homz_collectives)
set(collectives_headers communicator loopback peer profile request transport tune)
if(HOMZ_MPI)
  list(APPEND libraries homz_mpi)
  list(APPEND collectives_headers mpi)
endif()
if(HOMZ_NCCL)
  list(APPEND libraries homz_nccl)
  list(APPEND collectives_headers nccl)
endif()
install(TARGETS ${libraries} EXPORT homz
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY core DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/homz FILES_MATCHING PATTERN "*.hpp")
install(FILES codecs/builtin.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/homz/codecs)
install(FILES homomorphic/arithmetic.hpp homomorphic/codec_arithmetic.hpp homomorphic/moments.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/homz/homomorphic)
foreach(header IN LISTS collectives_headers)
  install(FILES collectives/${header}.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/homz/collectives)
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/homz)
install(EXPORT homz NAMESPACE homz:: FILE homz-targets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/homz-config.cmake.in ${PROJECT_BINARY_DIR}/homz-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/homz-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/homz-config.cmake ${PROJECT_BINARY_DIR}/homz-config-version.cmake
  DESTINATION ${package_dir})
if(HOMZ_NCCL)
  install(FILES cmake/FindNCCL.cmake DESTINATION ${package_dir})
endif()
