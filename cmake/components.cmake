# Defines OPENIMB_COMPONENTS, and writes files that include each component. As a script (cmake -DFOLDER=...
# -P) it only writes the files.
set(components ${CMAKE_CURRENT_LIST_DIR}/../src/benchmarks/components.txt)
file(STRINGS ${components} OPENIMB_COMPONENTS REGEX ".")

# benchmarks/headers.inc includes the header of each; components.inc has a line OPENIMB_FOR_COMPONENT(mpi1, Mpi1) for each.
function(openimb_write_components folder)
  foreach(component IN LISTS OPENIMB_COMPONENTS)
    string(TOLOWER ${component} name)
    string(SUBSTRING ${component} 0 1 initial)
    string(SUBSTRING ${name} 1 -1 rest)
    string(APPEND headers "#include \"benchmarks/${name}.h\"\n")
    string(APPEND lines "OPENIMB_FOR_COMPONENT(${name}, ${initial}${rest})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/benchmarks/headers.inc CONTENT "${headers}")
  file(CONFIGURE OUTPUT ${folder}/benchmarks/components.inc CONTENT "${lines}")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  openimb_write_components(${FOLDER})
else()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${components})
endif()
