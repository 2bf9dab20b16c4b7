#include "mpi/window.h"

#include "mpi/errors.h"
#include "mpi/world.h"

namespace openimb {

namespace {

// Like open_window() for dynamic windows, but also returns errors of MPI_Win_attach. These go to the window's
// own error handler, which by default ends the job.
int create_and_attach(void* memory, MPI_Aint bytes, MPI_Info info, MPI_Comm comm, MPI_Win& win) {
  const int code = MPI_Win_create_dynamic(info, comm, &win);
  if (code != MPI_SUCCESS) return code;
  return_errors_on_window(win);
  return MPI_Win_attach(win, memory, at_least_one_byte(bytes));
}

}  // namespace

Info::Info(std::span<const std::pair<std::string, std::string>> pairs) {
  if (pairs.empty()) return;
  MPI_Info_create(&info_);
  for (const auto& [key, value] : pairs) MPI_Info_set(info_, key.c_str(), value.c_str());
}

Info::~Info() {
  if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
}

Window::Window(WindowKind kind, std::byte* memory, std::int64_t bytes, MPI_Info info, MPI_Comm comm)
    : memory_(memory), dynamic_(kind == WindowKind::dynamic) {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  bases_.assign(static_cast<std::size_t>(ranks), 0);
  const ReturnErrorsScope scope(comm);
  const auto size = static_cast<MPI_Aint>(bytes);
  const int code = dynamic_ ? create_and_attach(memory_, size, info, comm, win_)
                            : open_window(kind, memory_, size, info, comm, win_);
  good_ = code == MPI_SUCCESS && win_ != MPI_WIN_NULL;
  if (good_) make_errors_fatal_on_window(win_);
}

void Window::exchange_bases(MPI_Comm comm) {
  if (!dynamic_) return;
  MPI_Aint mine = 0;
  MPI_Get_address(memory_, &mine);
  MPI_Allgather(&mine, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, comm);
}

bool share_memory(MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  return Communicator::split_by_host(comm).size() == ranks;
}

}  // namespace openimb
