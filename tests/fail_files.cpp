// An operating system that refuses files: opens and closes of IMB_out* fail. ControlVariables beside those of
// inject.h:
//   FAIL_OPEN=k    from the k-th open on they fail with EMFILE
//   FAIL_CLOSE=k   in the rank's k-th MPI_File_close the file is closed, but close() reports EDQUOT; FAIL_LOG
//                  gets what MPI_File_close then returned
//   FAIL_CLOSE=0   nothing fails; the number of calls of MPI_File_close goes to FAIL_LOG
// Files that MPI libraries make beside them, such as those of shared pointers, are left alone.
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "inject.h"

namespace {

int opens = 0, closes = 0;
bool closing_fails = false, has_failed = false;
bool under_test[4096];
pid_t first_process = 0;  // a process that it forks is another program

bool watched(const char* path) {
  if (path == nullptr || !inject::here()) return false;
  if (first_process == 0) first_process = getpid();
  const char* const name = strrchr(path, '/') != nullptr ? strrchr(path, '/') + 1 : path;
  const char* const last =
      strrchr(name, '-');  // IMB_out.HOST-PID-NUMBER_RANK; others are the MPI's own beside it
  return first_process == getpid() && strncmp(name, "IMB_out.", 8) == 0 && last != nullptr &&
         strspn(last + 1, "0123456789_") == strlen(last + 1);
}

template <class Real>
int open_with(Real real, const char* path, int flags, mode_t mode) {
  const bool ours = watched(path);
  const int from = inject::number_in("FAIL_OPEN", 0);
  if (ours && ++opens >= from && from > 0) {
    if (opens == from) inject::announce("open of a file: EMFILE");
    errno = EMFILE;
    return -1;
  }
  const int file = real(path, flags, mode);
  if (file >= 0 && file < 4096) under_test[file] = ours;
  return file;
}

template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

mode_t mode_of(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

[[gnu::destructor]] void say_how_many() {
  if (inject::here() && inject::number_in("FAIL_CLOSE", -1) == 0 && first_process == getpid())
    inject::say_count(closes);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static int (*const real)(const char*, int, ...) = next(&open, "open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_with(real, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  static int (*const real)(const char*, int, ...) = next(&open64, "open64");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_with(real, path, flags, mode);
}

int close(int file) {
  static int (*const real)(int) = next(&close, "close");
  const bool ours = file >= 0 && file < 4096 && under_test[file];
  if (ours) under_test[file] = false;
  const int result = real(file);
  if (!ours || !closing_fails) return result;
  has_failed = true;
  errno = EDQUOT;
  return -1;
}

int MPI_File_close(MPI_File* file) {
  const int wanted = inject::number_in("FAIL_CLOSE", -1);
  closing_fails = wanted >= 0 && inject::here() && ++closes == wanted;
  const int code = PMPI_File_close(file);
  if (has_failed) {
    inject::announce("close of a file: EDQUOT");
    inject::announce(code == MPI_SUCCESS ? "MPI_File_close returned success"
                                         : "MPI_File_close returned an error");
  }
  closing_fails = has_failed = false;
  return code;
}

}  // extern "C"
