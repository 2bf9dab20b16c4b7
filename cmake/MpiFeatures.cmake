# Detects what this MPI offers beyond MPI 3.0, by compiling and linking: version numbers promise too much or
# too little.
include(CheckCXXSourceCompiles)

set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_CXX)
set(CMAKE_REQUIRED_DEFINITIONS -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)
set(OPENIMB_MPI_FEATURES "")

function(openimb_mpi_feature name code)
  check_cxx_source_compiles("#include <mpi.h>\nint main(int argc, char**) { if (argc < 0) { ${code} } }" HAVE_${name})
  if(HAVE_${name})
    list(APPEND OPENIMB_MPI_FEATURES ${name})
    set(OPENIMB_MPI_FEATURES "${OPENIMB_MPI_FEATURES}" PARENT_SCOPE)
  endif()
endfunction()

openimb_mpi_feature(OPENIMB_LARGE_COUNT
  "MPI_Count n = 0; MPI_Datatype t; MPI_Send_c(nullptr, n, MPI_BYTE, 0, 0, MPI_COMM_WORLD); \
   MPI_Type_contiguous_c(n, MPI_BYTE, &t); \
   MPI_Reduce_scatter_c(nullptr, nullptr, &n, MPI_INT, MPI_SUM, MPI_COMM_WORLD); \
   MPI_Reduce_local_c(nullptr, nullptr, n, MPI_INT, MPI_SUM); \
   MPI_Put_c(nullptr, n, MPI_BYTE, 0, 0, n, MPI_BYTE, MPI_WIN_NULL); \
   MPI_Get_accumulate_c(nullptr, n, MPI_INT, nullptr, n, MPI_INT, 0, 0, n, MPI_INT, MPI_SUM, MPI_WIN_NULL); \
   MPI_File_write_c(MPI_FILE_NULL, nullptr, n, MPI_BYTE, MPI_STATUS_IGNORE); \
   MPI_File_read_ordered_begin_c(MPI_FILE_NULL, nullptr, n, MPI_BYTE);")
openimb_mpi_feature(OPENIMB_FLOAT16 "MPI_Datatype t = MPIX_C_FLOAT16; MPI_Type_free(&t);")
openimb_mpi_feature(OPENIMB_BFLOAT16 "MPI_Datatype t = MPIX_BFLOAT16; MPI_Type_free(&t);")
openimb_mpi_feature(OPENIMB_PERSISTENT_COLLECTIVES
  "MPI_Request r; MPI_Bcast_init(nullptr, 0, MPI_BYTE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r); \
   MPI_Alltoallv_init(nullptr, nullptr, nullptr, MPI_BYTE, nullptr, nullptr, nullptr, MPI_BYTE, MPI_COMM_WORLD, \
     MPI_INFO_NULL, &r); \
   MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &r);")
openimb_mpi_feature(OPENIMB_PARTITIONED
  "MPI_Request r; MPI_Psend_init(nullptr, 1, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r); \
   MPI_Precv_init(nullptr, 1, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r); MPI_Pready(0, r);")
openimb_mpi_feature(OPENIMB_SESSIONS
  "MPI_Session s; MPI_Errhandler e; MPI_Session_create_errhandler(nullptr, &e); \
   MPI_Session_init(MPI_INFO_NULL, e, &s); MPI_Session_finalize(&s);")
openimb_mpi_feature(OPENIMB_TOOLS
  "int n; MPI_Datatype t; MPI_T_enum e; MPI_T_cvar_handle h; MPI_T_init_thread(MPI_THREAD_SINGLE, &n); \
   MPI_T_cvar_get_index(nullptr, &n); MPI_T_cvar_get_info(0, nullptr, &n, &n, &t, &e, nullptr, &n, &n, &n); \
   MPI_T_enum_get_info(e, &n, nullptr, &n); MPI_T_cvar_handle_alloc(0, nullptr, &h, &n); \
   MPI_T_cvar_read(h, nullptr); MPI_T_cvar_write(h, nullptr); MPI_T_cvar_handle_free(&h); MPI_T_finalize();")
if(OPENIMB_INTERFACE)
  if(NOT HAVE_OPENIMB_LARGE_COUNT)
    list(APPEND OPENIMB_MPI_FEATURES OPENIMB_LARGE_COUNT_UNDECLARED)
  endif()
  list(APPEND OPENIMB_MPI_FEATURES OPENIMB_LARGE_COUNT OPENIMB_PERSISTENT_COLLECTIVES OPENIMB_SESSIONS OPENIMB_PARTITIONED
    "OPENIMB_PORTABLE=\"${OPENIMB_INTERFACE}\"")
  list(REMOVE_DUPLICATES OPENIMB_MPI_FEATURES)
endif()
# SimGrid's simulator.
openimb_mpi_feature(OPENIMB_SMPI "smpi_execute(0.0);")
