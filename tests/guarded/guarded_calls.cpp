// Every MPI call of the suite, with message memory open while it lasts. calls.inc names them; their types are
// those of mpi.h.
//
// Messages, collectives and windows, nonblocking ones too, are carried by MPI calls of the ranks, so memory
// is closed between start and wait as well. That holds for libraries without progress threads and where no
// rank copies from another one's memory: the test turns such transports off. What reads and writes files in
// the background may be a thread of the C library or the kernel: there memory stays open from start to end.
#include <mpi.h>

#include <string_view>

#include "guard.h"

namespace {

using openimb::guard::Open;

struct Name {
  std::string_view text;
  constexpr bool starts(std::string_view with) const { return text.starts_with(with); }
  constexpr bool ends(std::string_view with) const { return text.ends_with(with); }
  /// In a file, in the background.
  constexpr bool lends() const {
    return starts("MPI_File_iread") || starts("MPI_File_iwrite") ||
           (starts("MPI_File_") && (ends("_begin") || ends("_begin_c")));
  }
  constexpr bool takes_back() const { return starts("MPI_Wait") || (starts("MPI_File_") && ends("_end")); }
};

// While it exists, memory is open; what is in flight behind it keeps it open.
template <class Which>
class Call {
 public:
  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if constexpr (Which::name.lends()) openimb::guard::lend();
    if constexpr (Which::name.takes_back()) openimb::guard::take_back();
  }

 private:
  Open open_;
};

template <class Which, auto call>
struct Wrapper;
template <class Which, class Result, class... Arguments, Result (*call)(Arguments...)>
struct Wrapper<Which, call> {
  static Result wrapped(Arguments... arguments) {
    const Call<Which> open;
    return call(arguments...);
  }
};

}  // namespace

// MPI's profiling interface; as indirect functions, since only a template can repeat a prototype.
#define WRAP(function)                                                      \
  namespace {                                                               \
  struct Which_##function {                                                 \
    static constexpr Name name{#function};                                  \
  };                                                                        \
  }                                                                         \
  extern "C" {                                                              \
  static auto resolve_##function() -> decltype(&function) {                 \
    return &Wrapper<Which_##function, &P##function>::wrapped;               \
  }                                                                         \
  decltype(function) function __attribute__((ifunc("resolve_" #function))); \
  }
#include "calls.inc"
