# Run by CPack after the packages have been made. CPack writes scripts that call ldconfig, which Debian's policy leaves to
# the trigger: the package of the libraries is packed once more, without these scripts.
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  if(package MATCHES "/libcpodes[0-9]+_")
    set(tree "${package}.tree")
    execute_process(COMMAND dpkg-deb --raw-extract "${package}" "${tree}" COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE "${tree}/DEBIAN/postinst" "${tree}/DEBIAN/postrm")
    execute_process(COMMAND dpkg-deb --root-owner-group --build "${tree}" "${package}" OUTPUT_QUIET
                                                                                       COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE_RECURSE "${tree}")
  endif()
endforeach()
