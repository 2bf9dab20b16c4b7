// Interposed by LD_PRELOAD: a rank that loses time.
//   DELAYED_RANK=r     which rank
//   DELAY_BCAST=s      it stays in each MPI_Bcast for so many seconds more
//   DELAY_GATES=s:i,j  it loses s seconds behind the gates i, j, ... of src/clocks/gate.cpp (the first one is
//                      0): between the agreement on a start and the start
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>

namespace {

constexpr int gate_tag = 31002;

bool is_delayed() {
  static const int delayed = std::atoi(std::getenv("DELAYED_RANK"));
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == delayed;
}

void lose(double seconds) {
#ifdef SMPI_DELAY  // time passes in sleep only
  timespec time{};
  time.tv_nsec = static_cast<long>(seconds * 1e9);
  nanosleep(&time, nullptr);
#else
  for (const double begun = PMPI_Wtime(); PMPI_Wtime() - begun < seconds;) {
  }
#endif
}

struct Gates {
  double seconds = 0;
  std::set<long> delayed;
};

const Gates& gates() {
  static const Gates all = [] {
    Gates read;
    const char* text = std::getenv("DELAY_GATES");
    if (text == nullptr) return read;
    char* end = nullptr;
    read.seconds = std::strtod(text, &end);
    while (*end == ':' || *end == ',') read.delayed.insert(std::strtol(end + 1, &end, 10));
    return read;
  }();
  return all;
}

}  // namespace

extern "C" int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const int result = PMPI_Bcast(buffer, count, type, root, comm);
  if (const char* const seconds = std::getenv("DELAY_BCAST"); seconds != nullptr && is_delayed()) {
    lose(std::atof(seconds));
  }
  return result;
}

extern "C" int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                            void* in, int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                            MPI_Status* status) {
  const int result =
      PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, status);
  if (out_tag != gate_tag || !is_delayed()) return result;
  static long exchanges = 0;
  int ranks = 1;
  PMPI_Comm_size(comm, &ranks);
  long rounds = 0;
  for (int distance = 1; distance < ranks; distance *= 2) ++rounds;
  if (++exchanges % rounds == 0 && gates().delayed.count(exchanges / rounds - 1) > 0) lose(gates().seconds);
  return result;
}
