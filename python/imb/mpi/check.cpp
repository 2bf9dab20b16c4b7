// Do ranks start, find each other and deliver a message? Prints, of rank 0: ranks, whether data was right,
// microseconds of one way, the library; then the bytes of long messages that its host sends (`between`: to
// another host, as in an allocation of several), and what each network interface there counted meanwhile.
#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

// Bytes that each interface has sent, by name; nothing where the system has no such file.
std::map<std::string, double> sent() {
  std::map<std::string, double> bytes;
  std::ifstream file("/proc/net/dev");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name;
    std::istringstream(line.substr(0, colon)) >> name;
    std::istringstream counters(line.substr(colon + 1));
    for (int i = 0; i < 9; ++i) counters >> bytes[name];  // eight of what was received come first
  }
  return bytes;
}

// There and back between the two ranks.
void ping_pong(int rank, void* data, int bytes) {
  if (rank == 0) MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(data, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

// Whether the two ranks are on different hosts.
bool apart(int rank) {
  char mine[MPI_MAX_PROCESSOR_NAME] = "", other[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(mine, &length);
  MPI_Sendrecv(mine, sizeof mine, MPI_CHAR, 1 - rank, 0, other, sizeof other, MPI_CHAR, 1 - rank, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return std::string(mine) != other;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, length = 0, right = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int repetitions = 100;
  const double begin = MPI_Wtime();
  for (int i = 0; ranks == 2 && i < repetitions; ++i) {
    int value = rank == 0 ? i : -1;
    ping_pong(rank, &value, sizeof value);
    right = right && value == i;
  }
  const double microseconds = (MPI_Wtime() - begin) / repetitions / 2 * 1e6;
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Get_library_version(library, &length);
  if (rank == 0) std::printf("openimb-check %d %d %.3f %.60s\n", ranks, right, microseconds, library);
  std::fflush(stdout);
  if (ranks == 2) {
    const int times = 16;
    const bool between = apart(rank);
    std::vector<char> message(1 << 20);
    const auto before = sent();
    for (int i = 0; i < times; ++i) ping_pong(rank, message.data(), static_cast<int>(message.size()));
    if (rank == 0) {
      const double bytes = (between ? 1.0 : 2.0) * times * static_cast<double>(message.size());
      std::printf("openimb-path%s %.0f", between ? " between" : "", bytes);
      for (const auto& [name, count] : sent()) {
        const auto first = before.find(name);
        if (first != before.end()) std::printf(" %s=%.0f", name.c_str(), count - first->second);
      }
      std::printf("\n");
    }
  }
  MPI_Finalize();
}
