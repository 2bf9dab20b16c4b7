// An MPI of which one call fails on one rank. ControlVariables beside those of inject.h:
//   FAIL_CALL=name  such as MPI_File_open; MPI_Win: any that makes a window or attaches memory to one
//   FAIL_AT=k       its k-th call on that rank fails, counted from 1
//   FAIL_AT=0       nothing fails; the number of calls goes to FAIL_LOG
//   FAIL_ON=world   errors of calls without a communicator go to MPI_COMM_WORLD, as before MPI 4 (default:
//   to MPI_COMM_SELF)
//   FAIL_HANDLER=0  the error is returned, but the error handler is not invoked (default: it is, as the
//   standard says)
// The real call is made first, so that a collective one completes on the other ranks. A window or a file that
// one rank does not get is never freed there: ranks that have it and free it wait forever, as with a library
// of which a collective call fails on one rank only.
#include <mpi.h>

#include <cstring>

#include "inject.h"

namespace {

int calls = 0;

bool fails(const char* name) {
  static const char* const wanted = std::getenv("FAIL_CALL");
  static const int at = inject::number_in("FAIL_AT", 0);
  if (wanted == nullptr || !inject::here()) return false;
  const bool any_window = std::strcmp(wanted, "MPI_Win") == 0 && std::strncmp(name, "MPI_Win", 7) == 0;
  if (!any_window && std::strcmp(wanted, name) != 0) return false;
  if (++calls != at) return false;
  inject::announce(name);
  return true;
}

bool invokes_handler() { return inject::number_in("FAIL_HANDLER", 1) != 0; }

// Of a call without a communicator.
int refuse() {
  const char* const on = std::getenv("FAIL_ON");
  const bool on_world = on != nullptr && std::strcmp(on, "world") == 0;
  if (invokes_handler()) PMPI_Comm_call_errhandler(on_world ? MPI_COMM_WORLD : MPI_COMM_SELF, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

int refuse(MPI_File file) {
#ifdef OPEN_MPI  // whose MPI_File_call_errhandler takes no MPI_FILE_NULL; the default handler there does
                 // nothing
  if (file == MPI_FILE_NULL) return MPI_ERR_OTHER;
#endif
  if (invokes_handler()) PMPI_File_call_errhandler(file, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

int refuse(MPI_Comm comm, MPI_Win* win) {
  *win = MPI_WIN_NULL;
  if (invokes_handler()) PMPI_Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
  return MPI_ERR_NO_MEM;
}

}  // namespace

extern "C" {

// No error handler is invoked: there is no communicator yet.
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return fails("MPI_Init_thread") ? MPI_ERR_OTHER : PMPI_Init_thread(argc, argv, required, provided);
}

// Nothing is written, and MPI_T has no error handlers.
int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void* value) {
  return fails("MPI_T_cvar_write") ? MPI_T_ERR_CVAR_SET_NOT_NOW : PMPI_T_cvar_write(handle, value);
}

int MPI_Finalize() {
  if (std::getenv("FAIL_CALL") != nullptr && inject::here() && inject::number_in("FAIL_AT", 0) == 0) {
    inject::say_count(calls);
  }
  return PMPI_Finalize();
}

#define MAKES_TOPOLOGY(name, parameters, arguments)                        \
  int MPI_##name parameters {                                              \
    const int code = PMPI_##name arguments;                                \
    if (code != MPI_SUCCESS || !fails("MPI_" #name)) return code;          \
    *made = MPI_COMM_NULL;                                                 \
    if (invokes_handler()) PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); \
    return MPI_ERR_OTHER;                                                  \
  }
MAKES_TOPOLOGY(Cart_create,
               (MPI_Comm comm, int dimensions, const int extents[], const int periodic[], int reorder,
                MPI_Comm* made),
               (comm, dimensions, extents, periodic, reorder, made))
MAKES_TOPOLOGY(Dist_graph_create_adjacent,
               (MPI_Comm comm, int in, const int sources[], const int weights_in[], int out,
                const int destinations[], const int weights_out[], MPI_Info info, int reorder,
                MPI_Comm* made),
               (comm, in, sources, weights_in, out, destinations, weights_out, info, reorder, made))

#define MAKES_WINDOW(name, parameters, arguments)                     \
  int MPI_Win_##name parameters {                                     \
    const int code = PMPI_Win_##name arguments;                       \
    if (code != MPI_SUCCESS || !fails("MPI_Win_" #name)) return code; \
    return refuse(comm, win);                                         \
  }
int MPI_Allgather(const void* send, int sends, MPI_Datatype type, void* receive, int receives,
                  MPI_Datatype received, MPI_Comm comm) {
  const int code = PMPI_Allgather(send, sends, type, receive, receives, received, comm);
  if (code != MPI_SUCCESS || !fails("MPI_Allgather")) return code;
  if (invokes_handler()) PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

int MPI_Buffer_attach(void* memory, int bytes) {
  return fails("MPI_Buffer_attach") ? refuse() : PMPI_Buffer_attach(memory, bytes);
}
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
int MPI_Buffer_attach_c(void* memory, MPI_Count bytes) {
  return fails("MPI_Buffer_attach") ? refuse() : PMPI_Buffer_attach_c(memory, bytes);
}
#endif

#define WITHOUT_COMM(name, parameters, arguments)                        \
  int MPI_##name parameters {                                            \
    const int code = PMPI_##name arguments;                              \
    return code == MPI_SUCCESS && fails("MPI_" #name) ? refuse() : code; \
  }
WITHOUT_COMM(Type_contiguous, (int count, MPI_Datatype base, MPI_Datatype* made), (count, base, made))
WITHOUT_COMM(Type_vector, (int count, int length, int stride, MPI_Datatype base, MPI_Datatype* made),
             (count, length, stride, base, made))
WITHOUT_COMM(Type_indexed,
             (int count, const int lengths[], const int places[], MPI_Datatype base, MPI_Datatype* made),
             (count, lengths, places, base, made))
WITHOUT_COMM(Type_create_struct,
             (int count, const int lengths[], const MPI_Aint places[], const MPI_Datatype types[],
              MPI_Datatype* made),
             (count, lengths, places, types, made))
WITHOUT_COMM(Type_create_resized, (MPI_Datatype base, MPI_Aint lower, MPI_Aint extent, MPI_Datatype* made),
             (base, lower, extent, made))
WITHOUT_COMM(Type_commit, (MPI_Datatype * type), (type))
WITHOUT_COMM(Type_free, (MPI_Datatype * type), (type))
WITHOUT_COMM(Type_size, (MPI_Datatype type, int* bytes), (type, bytes))
WITHOUT_COMM(Op_create, (MPI_User_function * function, int commutes, MPI_Op* made),
             (function, commutes, made))
WITHOUT_COMM(Op_free, (MPI_Op * op), (op))
WITHOUT_COMM(Info_create, (MPI_Info * made), (made))
WITHOUT_COMM(Info_set, (MPI_Info info, const char* key, const char* value), (info, key, value))
WITHOUT_COMM(Group_incl, (MPI_Group all, int count, const int ranks[], MPI_Group* made),
             (all, count, ranks, made))

// On the communicator that comes first.
#define ON_COMM(name, parameters, arguments)                               \
  int MPI_##name parameters {                                              \
    const int code = PMPI_##name arguments;                                \
    if (code != MPI_SUCCESS || !fails("MPI_" #name)) return code;          \
    if (invokes_handler()) PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); \
    return MPI_ERR_OTHER;                                                  \
  }
ON_COMM(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made))
ON_COMM(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), (comm, color, key, made))
int MPI_Pack_size(int count, MPI_Datatype type, MPI_Comm comm, int* bytes) {
  const int code = PMPI_Pack_size(count, type, comm, bytes);
  return code == MPI_SUCCESS && fails("MPI_Pack_size") ? refuse() : code;
}

MAKES_WINDOW(create, (void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* win),
             (base, size, unit, info, comm, win))
MAKES_WINDOW(allocate, (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win),
             (size, unit, info, comm, base, win))
MAKES_WINDOW(allocate_shared,
             (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win),
             (size, unit, info, comm, base, win))
MAKES_WINDOW(create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* win), (info, comm, win))

int MPI_Win_attach(MPI_Win win, void* base, MPI_Aint size) {
  if (!fails("MPI_Win_attach")) return PMPI_Win_attach(win, base, size);
  if (invokes_handler()) PMPI_Win_call_errhandler(win, MPI_ERR_NO_MEM);
  return MPI_ERR_NO_MEM;
}

int MPI_Win_detach(MPI_Win win, const void* base) {
  const int code = PMPI_Win_detach(win, base);
  if (code != MPI_SUCCESS || !fails("MPI_Win_detach")) return code;
  if (invokes_handler()) PMPI_Win_call_errhandler(win, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

int MPI_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
  const int code = PMPI_File_open(comm, name, mode, info, file);
  if (code != MPI_SUCCESS || !fails("MPI_File_open")) return code;
  int ranks = 1;
  PMPI_Comm_size(comm, &ranks);
  if (ranks == 1) PMPI_File_close(file);
  *file = MPI_FILE_NULL;
  return refuse(MPI_FILE_NULL);  // whose handler is the one of files that are not open
}

int MPI_File_delete(const char* name, MPI_Info info) {
  const int code = PMPI_File_delete(name, info);
  return fails("MPI_File_delete") ? refuse(MPI_FILE_NULL) : code;
}

int MPI_File_close(MPI_File* file) {
  // Its handler must be asked while the file is open.
  const bool failing = fails("MPI_File_close");
  if (failing && invokes_handler()) PMPI_File_call_errhandler(*file, MPI_ERR_OTHER);
  const int code = PMPI_File_close(file);
  return failing ? MPI_ERR_OTHER : code;
}

#define ON_FILE(name, parameters, arguments)               \
  int MPI_File_##name parameters {                         \
    const int code = PMPI_File_##name arguments;           \
    return fails("MPI_File_" #name) ? refuse(file) : code; \
  }
ON_FILE(set_view,
        (MPI_File file, MPI_Offset at, MPI_Datatype element, MPI_Datatype type, const char* how,
         MPI_Info info),
        (file, at, element, type, how, info))
ON_FILE(write_at,
        (MPI_File file, MPI_Offset at, const void* data, int count, MPI_Datatype type, MPI_Status* status),
        (file, at, data, count, type, status))
ON_FILE(write, (MPI_File file, const void* data, int count, MPI_Datatype type, MPI_Status* status),
        (file, data, count, type, status))
ON_FILE(read_at_all,
        (MPI_File file, MPI_Offset at, void* data, int count, MPI_Datatype type, MPI_Status* status),
        (file, at, data, count, type, status))
ON_FILE(sync, (MPI_File file), (file))
ON_FILE(get_size, (MPI_File file, MPI_Offset* size), (file, size))

}  // extern "C"
