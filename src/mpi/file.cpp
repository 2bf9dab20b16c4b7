#include "mpi/file.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "mpi/errors.h"

namespace openimb {

namespace {

/// The FileErrors of each open file: MPI passes only the handle to an error handler.
std::vector<std::pair<MPI_File, FileErrors*>>& open_files() {
  static std::vector<std::pair<MPI_File, FileErrors*>> files;
  return files;
}

void forget(MPI_File file) {
  std::erase_if(open_files(), [&](const auto& open) { return open.first == file; });
}

void on_error(MPI_File* file, int* code, ...) {
  for (const auto& [handle, errors] : open_files()) {
    if (handle == *file) errors->keep(*code);
  }
}

// Creates the handler once and never frees it, as files may outlive its first user.
MPI_Errhandler error_keeper() {
  static const MPI_Errhandler handler = [] {
    MPI_Errhandler created = MPI_ERRHANDLER_NULL;
    MPI_File_create_errhandler(on_error, &created);
    return created;
  }();
  return handler;
}

// Creates a type with one block, which is this process's share. Its extent is the whole portion.
MPI_Datatype make_tile_type(const Tile& tile) {
  constexpr std::int64_t chunk = 1 << 30;
  const int whole = static_cast<int>(tile.share / chunk), rest = static_cast<int>(tile.share % chunk);
  MPI_Datatype tile_type = MPI_DATATYPE_NULL, block = MPI_DATATYPE_NULL, large = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(chunk), MPI_BYTE, &large);
  const std::array<int, 2> lengths{whole, rest};
  const std::array<MPI_Aint, 2> at{static_cast<MPI_Aint>(tile.first),
                                   static_cast<MPI_Aint>(tile.first + whole * chunk)};
  const std::array<MPI_Datatype, 2> types{large, MPI_BYTE};
  const int parts = whole > 0 ? 2 : 1, from = whole > 0 ? 0 : 1;
  MPI_Type_create_struct(parts, lengths.data() + from, at.data() + from, types.data() + from, &block);
  MPI_Type_create_resized(block, 0, static_cast<MPI_Aint>(tile.portion), &tile_type);
  MPI_Type_commit(&tile_type);
  MPI_Type_free(&large);
  MPI_Type_free(&block);
  return tile_type;
}

}  // namespace

std::string FileErrors::take() {
  const int code = std::exchange(code_, MPI_SUCCESS);
  std::string text = std::exchange(text_, {});
  return code == MPI_SUCCESS ? text : error_text(code);
}

bool FileErrors::all_opened(bool here) {
  constexpr std::chrono::seconds limit(2);
  constexpr std::chrono::milliseconds nap(1);
  const int mine = here ? 1 : 0;
  int least = mine, done = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&mine, &least, 1, MPI_INT, MPI_MIN, together_, &request);
  if (here) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return least != 0;
  }
  const auto start = std::chrono::steady_clock::now();
  for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); done == 0;
       MPI_Test(&request, &done, MPI_STATUS_IGNORE)) {
    if (std::chrono::steady_clock::now() - start > limit) {
      throw std::runtime_error("MPI_File_open failed on this rank, but not on all ranks: " + take());
    }
    std::this_thread::sleep_for(nap);
  }
  return false;
}

File::File(MPI_Comm comm, const std::string& name, int mode, MPI_Info info, FileErrors& errors)
    : errors_(&errors) {
  const int code = MPI_File_open(comm, name.c_str(), mode, info, &file_);
  errors.keep(code);
  if (code != MPI_SUCCESS) {
    file_ = MPI_FILE_NULL;
    return;
  }
  open_files().emplace_back(file_, errors_);
  MPI_File_set_errhandler(file_, error_keeper());
}

File::~File() {
  if (file_ == MPI_FILE_NULL) return;
  const MPI_File closed = file_;
  // Not all MPIs call the handler for an error at close.
  errors_->keep(MPI_File_close(&file_));
  forget(closed);
}

void File::abandon() {
  if (file_ != MPI_FILE_NULL) forget(file_);
  file_ = MPI_FILE_NULL;
}

MPI_Offset File::size() const {
  MPI_Offset size = 0;
  errors_->keep(MPI_File_get_size(file_, &size));
  return size;
}

void File::set_view(const Tile& tile, MPI_Info info) {
  MPI_Datatype type = MPI_BYTE;
  if (tile.share > 0 && tile.share < tile.portion) type = make_tile_type(tile);
  errors_->keep(MPI_File_set_view(file_, 0, MPI_BYTE, type, "native", info));
  if (type != MPI_BYTE) MPI_Type_free(&type);
}

std::vector<std::pair<std::string, std::string>> File::hints() const {
  MPI_Info info = MPI_INFO_NULL;
  MPI_File_get_info(file_, &info);
  std::vector<std::pair<std::string, std::string>> hints;
  if (info == MPI_INFO_NULL) return hints;
  int count = 0;
  MPI_Info_get_nkeys(info, &count);
  for (int i = 0; i < count; ++i) {
    std::array<char, MPI_MAX_INFO_KEY + 1> key{};
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int is_set = 0;
    MPI_Info_get_nthkey(info, i, key.data());
    MPI_Info_get(info, key.data(), MPI_MAX_INFO_VAL, value.data(), &is_set);
    if (is_set != 0) hints.emplace_back(key.data(), value.data());
  }
  MPI_Info_free(&info);
  std::ranges::sort(hints);
  return hints;
}

}  // namespace openimb
