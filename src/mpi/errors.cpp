#include "mpi/errors.h"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "model/exit_status.h"
#include "mpi/error_reason.h"
#include "mpi/optional.h"

namespace openimb {

namespace {

AbortJob abort_job_with = [](const char* message) {
  std::fprintf(stderr, "IMB: %s\n", message);
  MPI_Abort(MPI_COMM_WORLD, exit_aborted);
  std::abort();
};

// MPI calls it: no exception may pass through MPI's frames.
void on_fatal(int code) noexcept {
  const std::string message = "MPI reports: " + error_text(code);
  abort_job_with(message.c_str());
}

void on_comm_error(MPI_Comm*, int* code, ...) { on_fatal(*code); }
void on_window_error(MPI_Win*, int* code, ...) { on_fatal(*code); }
#ifdef OPENIMB_SESSIONS
void on_session_error(MPI_Session*, int* code, ...) { on_fatal(*code); }
#endif
void return_comm_error(MPI_Comm*, int*, ...) {}
void return_window_error(MPI_Win*, int*, ...) {}

MPI_Errhandler comm_errhandler(MPI_Comm_errhandler_function* function) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(function, &handler);
  return handler;
}

MPI_Errhandler window_errhandler(MPI_Win_errhandler_function* function) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Win_create_errhandler(function, &handler);
  return handler;
}

// Handlers are created once, after MPI_Init, and never freed.
void return_errors_on_comm(MPI_Comm comm) {
  static const MPI_Errhandler handler = comm_errhandler(return_comm_error);
  MPI_Comm_set_errhandler(comm, handler);
}

}  // namespace

void set_abort_job(AbortJob abort_job) { abort_job_with = abort_job; }

void make_errors_fatal() {
  make_errors_fatal_on_comm(MPI_COMM_WORLD);
  make_errors_fatal_on_comm(MPI_COMM_SELF);
}

void make_errors_fatal_on_comm(MPI_Comm comm) {
  static const MPI_Errhandler handler = comm_errhandler(on_comm_error);
  if (comm != MPI_COMM_NULL) MPI_Comm_set_errhandler(comm, handler);
}

void make_errors_fatal_on_window(MPI_Win win) {
  static const MPI_Errhandler handler = window_errhandler(on_window_error);
  if (win != MPI_WIN_NULL) MPI_Win_set_errhandler(win, handler);
}

#ifdef OPENIMB_SESSIONS
MPI_Errhandler SessionErrors::view() const {
  static const MPI_Errhandler handler = [] {
    MPI_Errhandler created = MPI_ERRHANDLER_NULL;
    MPI_Session_create_errhandler(on_session_error, &created);
    return created;
  }();
  return handler;
}
#endif

void return_errors_on_window(MPI_Win win) {
  static const MPI_Errhandler handler = window_errhandler(return_window_error);
  MPI_Win_set_errhandler(win, handler);
}

ReturnErrorsScope::ReturnErrorsScope(MPI_Comm comm) : comm_(comm) {
  return_errors_on_comm(MPI_COMM_WORLD);
  return_errors_on_comm(MPI_COMM_SELF);
  if (comm_ != MPI_COMM_NULL) return_errors_on_comm(comm_);
}

ReturnErrorsScope::~ReturnErrorsScope() {
  make_errors_fatal();
  make_errors_fatal_on_comm(comm_);
}

std::string error_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING + 1> buffer{};
  int length = 0;
  MPI_Error_string(code, buffer.data(), &length);
  return error_reason({buffer.data(), static_cast<std::size_t>(length)}, MPI_MAX_ERROR_STRING);
}

}  // namespace openimb
