# Writes mpi/mpi_calls.inc: the calls that an mpi.h declares, as OPENIMB_MPI_CALLS(call), which expands to
# call(Abort) call(Accumulate) ... As a script (cmake -DFOLDER=... -DCOMPILER=... -P) it only writes this
# file.

# `compiler`: the command as a list, with -I FOLDER of mpi.h. Leaves out deprecated calls, which the suite
# does not make.
function(openimb_write_mpi_calls folder compiler)
  set(source ${folder}/mpi/mpi_h.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include <mpi.h>\n")
  execute_process(COMMAND ${compiler} -E -P -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX ${source}
    OUTPUT_VARIABLE text ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(status)
    message(FATAL_ERROR "mpi.h cannot be read: ${errors}")
  endif()
  string(REGEX REPLACE "[][\n]" " " text "${text}")
  string(REGEX MATCHALL "[^A-Za-z_]int +MPI_[A-Za-z0-9_]+ *\\([^;]*" declarations "${text}")
  foreach(declaration IN LISTS declarations)
    string(REGEX MATCH "MPI_([A-Za-z0-9_]+)" name "${declaration}")
    set(name ${CMAKE_MATCH_1})
    if(NOT declaration MATCHES "deprecated|removed|\\.\\.\\.")
      list(APPEND names "call(${name})")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  list(LENGTH names count)
  if(count LESS 200)  # MPI 3.1 has more than 300
    message(FATAL_ERROR "mpi.h declares ${count} calls: they were not found")
  endif()
  string(REPLACE ";" " \\\n  " names "${names}")
  file(CONFIGURE OUTPUT ${folder}/mpi/mpi_calls.inc CONTENT "#define OPENIMB_MPI_CALLS(call) \\\n  ${names}\n" @ONLY)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  openimb_write_mpi_calls(${FOLDER} "${COMPILER}")
endif()
