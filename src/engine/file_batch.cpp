#include "engine/file_batch.h"

#include <algorithm>
#include <utility>

#include "engine/file_check.h"

namespace openimb {

FileBatch::FileBatch(const Spec& spec, std::unique_ptr<const Setup> setup)
    : spec_(spec), setup_(std::move(setup)), errors_(has_one_rank() ? MPI_COMM_SELF : setup_->group.control) {
  group_.comm = has_one_rank() ? MPI_COMM_SELF : setup_->group.comm;
  MPI_Comm_rank(group_.comm, &group_.rank);
  MPI_Comm_size(group_.comm, &group_.ranks);
  mark_ = mark_of(group_.rank);
}

FileBatch::~FileBatch() {
  close_file();
  barrier();
  delete_file();
}

void FileBatch::prepare() {
  close_file();
  if (!reads()) {
    barrier();
    delete_file();
    barrier();
  }
  if (spec_.file.use != FileUse::open) open();
  if (reads()) require_size(file_, setup_->file.repetitions);
}

void FileBatch::conclude(std::int64_t repetitions) {
  close_file();
  if (!writes()) return;
  barrier();
  if (group_.rank != 0) return;
  require_size(open_on_self(), repetitions);
}

std::int64_t FileBatch::check(std::int64_t repetitions) {
  if (writes()) return check_writes(repetitions);
  return reads() ? check_reads(repetitions) : check_opening();
}

void FileBatch::open() {
  file_ = File(group_.comm, setup_->file.name, FileContext<int>::mode, setup_->info, errors_);
  // MPI_File_close is collective: if one rank has no file to close, the others cannot close theirs.
  if (!errors_.all_opened(static_cast<bool>(file_))) return file_.abandon();
  if (spec_.file.pointer == FilePointer::individual) file_.set_view(setup_->file.tile, setup_->info);
  hints_ = file_.hints();
}

void FileBatch::barrier() const {
  if (!has_one_rank()) setup_->group.barrier(setup_->group.control);
}

void FileBatch::close_file() { file_ = File(); }

// Ignores errors, because the file may not exist. MPI removes its auxiliary files when it closes the file.
void FileBatch::delete_file() const {
  if (group_.rank == 0) MPI_File_delete(setup_->file.name.c_str(), MPI_INFO_NULL);
}

File FileBatch::open_on_self() const {
  return {MPI_COMM_SELF, setup_->file.name, MPI_MODE_RDONLY, setup_->info, errors_};
}

// Keeps an error if the file is too short for `repetitions` repetitions. If a disk is full or a limit is
// reached, some libraries write less and report success. `file` must have just been opened, because a rank
// that had the file open may see an old size.
void FileBatch::require_size(const File& file, std::int64_t repetitions) {
#ifdef OPENIMB_SMPI  // the simulator has a separate file of this name on each host
  return;
#endif
  if (!file || group_.rank != 0) return;
  const MPI_Offset size = file.size();
  const std::int64_t required = repetitions * setup_->file.tile.portion;
  if (size >= required) return;
  errors_.keep("MPI reports no error, but its file holds " + std::to_string(size) + " bytes of " +
               std::to_string(required));
}

void FileBatch::complete() const {
  if (setup_->file.sync == FileSync::standard) {
    complete_writes<FileSync::standard>(context_for<int>());
  } else {
    complete_writes<FileSync::never>(context_for<int>());
  }
}

// Closes the file and reads it back. If ranks share the file, each reads what another one wrote.
std::int64_t FileBatch::check_writes(std::int64_t repetitions) {
  FileCheck check(spec_, *setup_, group_);
  Iterations<true, false, true> iterations(plan());
  for (std::int64_t i = 0; i < repetitions; ++i, iterations.advance()) {
    check.write_send(i, iterations.current().slot);
    transfer(iterations.current());
    if (!setup_->aggregate) complete();
  }
  if (setup_->aggregate) complete();
  close_file();
  barrier();
  const std::int64_t defects = check.count_written(repetitions, [&] { return open_on_self(); });
  barrier();
  check.restore();
  return defects;
}

std::int64_t FileBatch::check_reads(std::int64_t repetitions) {
  FileCheck check(spec_, *setup_, group_);
  Iterations<true, false, true> iterations(plan());
  for (std::int64_t i = 0; i < repetitions; ++i, iterations.advance()) {
    check.arm_receive(i, iterations.current().slot);
    transfer(iterations.current());
    check.check_receive(i, iterations.current().slot);
  }
  const std::int64_t defects = check.count_read(repetitions);
  check.restore();
  return defects;
}

// Checks Open_Close: the file must consist of one byte from each rank.
std::int64_t FileBatch::check_opening() {
  transfer({});
  barrier();
  std::int64_t defects = 0;
  if (group_.rank == 0) {
    const File file = open_on_self();
    std::vector<unsigned char> marks(static_cast<std::size_t>(group_.ranks), 0);
    MPI_Offset size = 0;
    if (file) {
      size = file.size();
      MPI_File_read_at(file.handle(), 0, marks.data(), group_.ranks, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    for (int rank = 0; rank < group_.ranks; ++rank) {
      defects += marks[static_cast<std::size_t>(rank)] != mark_of(rank) ? 1 : 0;
    }
    defects += std::max<std::int64_t>(0, size - group_.ranks);
  }
  barrier();
  return defects;
}

}  // namespace openimb
