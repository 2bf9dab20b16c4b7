#include "mpi/file.h"

#include <algorithm>
#include <array>

namespace openimb {

namespace {

int first_error = MPI_SUCCESS;

void note(int code) {
  if (first_error == MPI_SUCCESS) first_error = code;
}

void on_error(MPI_File*, int* code, ...) { note(*code); }

// Made once, and never freed: files may outlive whoever asked for it first.
MPI_Errhandler error_keeper() {
  static const MPI_Errhandler handler = [] {
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    MPI_File_create_errhandler(on_error, &made);
    return made;
  }();
  return handler;
}

}  // namespace

File::File(MPI_Comm comm, const std::string& name, int mode, MPI_Info info) {
  const int code = MPI_File_open(comm, name.c_str(), mode, info, &file_);
  if (code != MPI_SUCCESS) {
    file_ = MPI_FILE_NULL;
    note(code);
    return;
  }
  MPI_File_set_errhandler(file_, error_keeper());
}

void File::set_view(const Tile& tile, MPI_Info info) {
  MPI_Datatype type = MPI_BYTE;
  if (tile.share > 0 && tile.share < tile.portion) {
    // One block where this process's share lies, as wide as the whole portion.
    MPI_Datatype bytes = MPI_DATATYPE_NULL, block = MPI_DATATYPE_NULL;
    constexpr std::int64_t chunk = 1 << 30;
    const int whole = static_cast<int>(tile.share / chunk), rest = static_cast<int>(tile.share % chunk);
    MPI_Datatype large = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(chunk), MPI_BYTE, &large);
    const std::array<int, 2> lengths{whole, rest};
    const std::array<MPI_Aint, 2> at{static_cast<MPI_Aint>(tile.first),
                                     static_cast<MPI_Aint>(tile.first + whole * chunk)};
    const std::array<MPI_Datatype, 2> types{large, MPI_BYTE};
    const int parts = whole > 0 ? 2 : 1, from = whole > 0 ? 0 : 1;
    MPI_Type_create_struct(parts, lengths.data() + from, at.data() + from, types.data() + from, &block);
    MPI_Type_create_resized(block, 0, static_cast<MPI_Aint>(tile.portion), &bytes);
    MPI_Type_commit(&bytes);
    MPI_Type_free(&large);
    MPI_Type_free(&block);
    type = bytes;
  }
  MPI_File_set_view(file_, 0, MPI_BYTE, type, "native", info);
  if (type != MPI_BYTE) MPI_Type_free(&type);
}

Hints File::hints() const {
  MPI_Info info = MPI_INFO_NULL;
  MPI_File_get_info(file_, &info);
  Hints hints;
  if (info == MPI_INFO_NULL) return hints;
  int count = 0;
  MPI_Info_get_nkeys(info, &count);
  for (int i = 0; i < count; ++i) {
    std::array<char, MPI_MAX_INFO_KEY + 1> key{};
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int found = 0;
    MPI_Info_get_nthkey(info, i, key.data());
    MPI_Info_get(info, key.data(), MPI_MAX_INFO_VAL, value.data(), &found);
    if (found != 0) hints.emplace_back(key.data(), value.data());
  }
  MPI_Info_free(&info);
  std::ranges::sort(hints);
  return hints;
}

std::string take_file_trouble() {
  const int code = std::exchange(first_error, MPI_SUCCESS);
  if (code == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  std::string words(text.data(), static_cast<std::size_t>(length));
  // On one line, and of an error stack the last entry: where it began.
  while (!words.empty() && (words.back() == '\n' || words.back() == ' ')) words.pop_back();
  const std::size_t last = words.rfind('\n');
  if (last != std::string::npos) words.erase(0, last + 1);
  return words.empty() ? "an error of its own" : words;
}

}  // namespace openimb
