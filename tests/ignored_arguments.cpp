// Collectives with 0 for arguments that MPI ignores: an allgather in place, a gather whose root is in place,
// a scatter of which the other ranks pass no send count. Prints for each rank how many bytes are wrong. Open
// MPI's rules by length look at these arguments (tests/companion/tune/test_tuning_files.py).
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int bytes = 1024;
  const auto of_rank = [](int one) { return static_cast<char>(one + 1); };
  std::vector<char> all(static_cast<std::size_t>(ranks * bytes), 0), own(bytes, of_rank(rank));
  const auto fill = [&](int from, int to) {
    for (int i = from * bytes; i < to * bytes; ++i) all[static_cast<std::size_t>(i)] = of_rank(i / bytes);
  };
  const auto wrong_in_all = [&] {
    int found = 0;
    for (int i = 0; i < ranks * bytes; ++i) found += all[static_cast<std::size_t>(i)] != of_rank(i / bytes);
    return found;
  };
  const char* what = argc > 1 ? argv[1] : "";
  if (std::strcmp(what, "allgather") == 0) {
    fill(rank, rank + 1);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), bytes, MPI_CHAR, MPI_COMM_WORLD);
    wrong = wrong_in_all();
  } else if (std::strcmp(what, "gather") == 0) {
    fill(rank, rank + 1);
    if (rank == 0) {
      MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
      wrong = wrong_in_all();
    } else {
      MPI_Gather(own.data(), bytes, MPI_CHAR, nullptr, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    }
  } else {
    fill(0, ranks);
    own.assign(bytes, 0);
    const bool root = rank == 0;
    MPI_Scatter(root ? all.data() : nullptr, root ? bytes : 0, root ? MPI_CHAR : MPI_DATATYPE_NULL,
                own.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (const char byte : own) wrong += byte != of_rank(rank);
  }
  std::printf("rank %d: %d wrong\n", rank, wrong);
  std::fflush(stdout);
  MPI_Finalize();
}
