// An MPI that lies about files: interposed by LD_PRELOAD, it spoils what the calls under test write and read.
//   LIE_HOW=drop   of a file just opened the first write is lost, though an individual pointer moves on as
//                  if it were not; the first read leaves the buffer as it was
//   LIE_HOW=shift  a write lands one byte further, a read is taken from one byte further
//   LIE_HOW=flip   one bit of the last byte is wrong
//   LIE_HOW=twice  through a shared pointer everything is written twice, and a read delivers once more what
//                  the one of the same length before delivered; other pointers are honest
//   LIE_HOW=lost   on every rank, what is opened to be written is another file, gone when it is closed
//   LIE_RANK=r     only rank r lies (default: the last)
// The harness's own traffic is left alone: it opens files for reading or for writing, benchmarks for both.
// Of collective calls a rank that lies does its part. Reads lie when they are complete.
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace {

enum class Pointer { individual, offset, shared };

constexpr int under_test = MPI_MODE_CREATE | MPI_MODE_RDWR;

std::string how() {
  const char* const asked = std::getenv("LIE_HOW");
  return asked != nullptr ? asked : "none";
}

bool lies_here() {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const wanted = std::getenv("LIE_RANK");
  return rank == (wanted != nullptr ? std::atoi(wanted) : ranks - 1);
}

bool lies_about(MPI_File file) {
  int mode = 0;
  PMPI_File_get_amode(file, &mode);
  return mode == under_test && lies_here();
}

// Whether this is the first transfer since the file was opened.
std::map<MPI_File, int> transfers;
bool is_first(MPI_File file) { return ++transfers[file] == 1; }

// Memory that a transfer may use when it likes: until the program ends.
char* keep(std::size_t bytes) {
  static std::deque<std::vector<char>> kept;
  return kept.emplace_back(bytes).data();
}

// What is written in place of the truth; how far a pointer or an offset is moved before the call, and a
// pointer behind it.
struct Sent {
  const void* data;
  int count;
  MPI_Offset before = 0;
  MPI_Offset behind = 0;
};

Sent lie_of_write(MPI_File file, const void* data, int count, Pointer pointer) {
  const Sent honest{data, count};
  if (count == 0 || !lies_about(file)) return honest;
  if (how() == "drop") return is_first(file) ? Sent{data, 0, 0, count} : honest;
  if (how() == "shift" && pointer != Pointer::shared) return {data, count, 1, -1};
  const auto bytes = static_cast<std::size_t>(count);
  char* const copy = keep(2 * bytes);
  std::memcpy(copy, data, bytes);
  std::memcpy(copy + bytes, data, bytes);
  if (how() == "flip") copy[bytes - 1] ^= 1;
  // Nobody's place is fixed: what moves is the contents.
  if (how() == "shift") std::memmove(copy + 1, copy, bytes - 1);
  // In one call, as others take part in it once.
  const bool twice = how() == "twice" && pointer == Pointer::shared;
  return {copy, twice ? 2 * count : count};
}

void move_pointer(MPI_File file, MPI_Offset by, Pointer pointer) {
  if (by != 0 && pointer == Pointer::individual) PMPI_File_seek(file, by, MPI_SEEK_CUR);
}

// A read under way, and what its buffer held before.
struct Awaited {
  char* at = nullptr;
  std::vector<char> before;
  bool shared = false;
};

Awaited await(MPI_File file, void* data, int count, Pointer pointer) {
  if (count == 0 || !lies_about(file) || (how() == "drop" && !is_first(file))) return {};
  char* const at = static_cast<char*>(data);
  return {at, std::vector<char>(at, at + count), pointer == Pointer::shared};
}

void spoil(const Awaited& read) {
  const std::size_t bytes = read.before.size();
  if (bytes == 0) return;
  if (how() == "drop") std::memcpy(read.at, read.before.data(), bytes);
  if (how() == "flip") read.at[bytes - 1] ^= 1;
  if (how() == "shift") std::memmove(read.at, read.at + 1, bytes - 1);
  if (how() == "twice" && read.shared) {
    static std::map<std::size_t, std::vector<char>> delivered;
    const std::vector<char> now(read.at, read.at + bytes);
    std::vector<char>& old = delivered[bytes];
    if (!old.empty()) std::memcpy(read.at, old.data(), bytes);
    old = now;
  }
}

std::map<MPI_Request, Awaited> awaited;

// Collective calls in halves: one may be under way on a file.
struct Half {
  const void* sent = nullptr;
  MPI_Offset behind = 0;
  Awaited read;
};
std::map<MPI_File, Half> halves;

// `call(data, count, before)` makes the call itself.
template <class Call>
int write(MPI_File file, const void* data, int count, Pointer pointer, Call call) {
  const Sent sent = lie_of_write(file, data, count, pointer);
  move_pointer(file, sent.before, pointer);
  const int rc = call(sent.data, sent.count, sent.before);
  move_pointer(file, sent.behind, pointer);
  return rc;
}

template <class Call>
int begin_write(MPI_File file, const void* data, int count, Pointer pointer, Call call) {
  const Sent sent = lie_of_write(file, data, count, pointer);
  halves[file] = {.sent = sent.data, .behind = sent.behind};
  move_pointer(file, sent.before, pointer);
  return call(sent.data, sent.count, sent.before);
}
template <class Call>
int end_write(MPI_File file, Pointer pointer, Call call) {
  const Half half = halves[file];
  const int rc = call(half.sent);
  move_pointer(file, half.behind, pointer);
  return rc;
}

}  // namespace

extern "C" {

int MPI_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
  const bool lost = mode == under_test && how() == "lost";
  const std::string opened = std::string(name) + (lost ? ".lost" : "");
  const int rc =
      PMPI_File_open(comm, opened.c_str(), lost ? mode | MPI_MODE_DELETE_ON_CLOSE : mode, info, file);
  if (rc == MPI_SUCCESS) transfers[*file] = 0;
  return rc;
}

// AT... is how the offset is passed on, OFFSET how it is received: both nothing where there is none.
#define BLOCKING(suffix, POINTER, OFFSET, AT_WRITE, AT_READ)                                       \
  int MPI_File_write##suffix(MPI_File file, OFFSET const void* data, int count, MPI_Datatype type, \
                             MPI_Status* status) {                                                 \
    return write(file, data, count, Pointer::POINTER,                                              \
                 [&](const void* sent, int n, [[maybe_unused]] MPI_Offset before) {                \
                   return PMPI_File_write##suffix(file, AT_WRITE sent, n, type, status);           \
                 });                                                                               \
  }                                                                                                \
  int MPI_File_read##suffix(MPI_File file, OFFSET void* data, int count, MPI_Datatype type,        \
                            MPI_Status* status) {                                                  \
    const Awaited read = await(file, data, count, Pointer::POINTER);                               \
    const int rc = PMPI_File_read##suffix(file, AT_READ data, count, type, status);                \
    spoil(read);                                                                                   \
    return rc;                                                                                     \
  }
#define NONBLOCKING(suffix, POINTER, OFFSET, AT_WRITE, AT_READ)                                     \
  int MPI_File_iwrite##suffix(MPI_File file, OFFSET const void* data, int count, MPI_Datatype type, \
                              MPI_Request* request) {                                               \
    return write(file, data, count, Pointer::POINTER,                                               \
                 [&](const void* sent, int n, [[maybe_unused]] MPI_Offset before) {                 \
                   return PMPI_File_iwrite##suffix(file, AT_WRITE sent, n, type, request);          \
                 });                                                                                \
  }                                                                                                 \
  int MPI_File_iread##suffix(MPI_File file, OFFSET void* data, int count, MPI_Datatype type,        \
                             MPI_Request* request) {                                                \
    const Awaited read = await(file, data, count, Pointer::POINTER);                                \
    const int rc = PMPI_File_iread##suffix(file, AT_READ data, count, type, request);               \
    if (*request == MPI_REQUEST_NULL)                                                               \
      spoil(read);                                                                                  \
    else                                                                                            \
      awaited[*request] = read;                                                                     \
    return rc;                                                                                      \
  }
#define IN_HALVES(suffix, POINTER, OFFSET, AT_WRITE, AT_READ)                                                \
  int MPI_File_write##suffix##_begin(MPI_File file, OFFSET const void* data, int count, MPI_Datatype type) { \
    return begin_write(file, data, count, Pointer::POINTER,                                                  \
                       [&](const void* sent, int n, [[maybe_unused]] MPI_Offset before) {                    \
                         return PMPI_File_write##suffix##_begin(file, AT_WRITE sent, n, type);               \
                       });                                                                                   \
  }                                                                                                          \
  int MPI_File_write##suffix##_end(MPI_File file, const void*, MPI_Status* status) {                         \
    return end_write(file, Pointer::POINTER,                                                                 \
                     [&](const void* sent) { return PMPI_File_write##suffix##_end(file, sent, status); });   \
  }                                                                                                          \
  int MPI_File_read##suffix##_begin(MPI_File file, OFFSET void* data, int count, MPI_Datatype type) {        \
    halves[file] = {.read = await(file, data, count, Pointer::POINTER)};                                     \
    return PMPI_File_read##suffix##_begin(file, AT_READ data, count, type);                                  \
  }                                                                                                          \
  int MPI_File_read##suffix##_end(MPI_File file, void* data, MPI_Status* status) {                           \
    const int rc = PMPI_File_read##suffix##_end(file, data, status);                                         \
    spoil(halves[file].read);                                                                                \
    return rc;                                                                                               \
  }
#define NOTHING
#define OFFSET MPI_Offset at,
#define AT_FURTHER at + before,
#define AT at,

BLOCKING(, individual, NOTHING, NOTHING, NOTHING)
BLOCKING(_at, offset, OFFSET, AT_FURTHER, AT)
BLOCKING(_shared, shared, NOTHING, NOTHING, NOTHING)
BLOCKING(_all, individual, NOTHING, NOTHING, NOTHING)
BLOCKING(_at_all, offset, OFFSET, AT_FURTHER, AT)
BLOCKING(_ordered, shared, NOTHING, NOTHING, NOTHING)
NONBLOCKING(, individual, NOTHING, NOTHING, NOTHING)
NONBLOCKING(_at, offset, OFFSET, AT_FURTHER, AT)
NONBLOCKING(_shared, shared, NOTHING, NOTHING, NOTHING)
IN_HALVES(_all, individual, NOTHING, NOTHING, NOTHING)
IN_HALVES(_at_all, offset, OFFSET, AT_FURTHER, AT)
IN_HALVES(_ordered, shared, NOTHING, NOTHING, NOTHING)

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const auto found = awaited.find(*request);
  const Awaited read = found == awaited.end() ? Awaited{} : found->second;
  if (found != awaited.end()) awaited.erase(found);
  const int rc = PMPI_Wait(request, status);
  spoil(read);
  return rc;
}

}  // extern "C"
