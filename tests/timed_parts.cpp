// Partitioned messages of a known time, interposed by LD_PRELOAD. The clock stands still but for messages, 16
// ms each, and computation: what lies between two reads of the clock without an MPI call takes 16 ms. So no
// other work on the machine moves it. PARTS_LEAVE=early: a part leaves when it is marked; late: all leave
// with the last.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

namespace {

constexpr double seconds_each = 16e-3;  // of a message, and of a computation
constexpr int stamp_tag = 1000;         // beside the message's own

struct Message {
  bool sends = false;
  int parts = 0, other = 0, tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  int marked = 0;
  double wire_free = 0;  // when the parts that have left have arrived
};
std::map<MPI_Request, Message> messages;
double time_now = 0;
bool computing = false;  // since the clock was read

int remember(MPI_Request request, Message message) {
  messages[request] = message;
  return MPI_SUCCESS;
}

}  // namespace

extern "C" {

double MPI_Wtime() {
  if (computing) time_now += seconds_each;
  computing = true;
  return time_now;
}

int MPI_Barrier(MPI_Comm comm) {
  computing = false;
  const double mine = time_now;  // the clocks of all ranks are one
  return PMPI_Allreduce(&mine, &time_now, 1, MPI_DOUBLE, MPI_MAX, comm);
}

int MPI_Psend_init(const void* data, int parts, MPI_Count count, MPI_Datatype type, int to, int tag,
                   MPI_Comm comm, MPI_Info, MPI_Request* request) {
  PMPI_Send_init(data, parts * static_cast<int>(count), type, to, tag, comm, request);
  return remember(*request, {.sends = true, .parts = parts, .other = to, .tag = tag, .comm = comm});
}
int MPI_Precv_init(void* data, int parts, MPI_Count count, MPI_Datatype type, int from, int tag,
                   MPI_Comm comm, MPI_Info, MPI_Request* request) {
  PMPI_Recv_init(data, parts * static_cast<int>(count), type, from, tag, comm, request);
  return remember(*request, {.sends = false, .parts = parts, .other = from, .tag = tag, .comm = comm});
}

int MPI_Start(MPI_Request* request) {
  computing = false;
  const auto found = messages.find(*request);
  if (found == messages.end()) return PMPI_Start(request);
  found->second.marked = 0;
  found->second.wire_free = 0;
  return MPI_SUCCESS;
}

int MPI_Pready(int, MPI_Request request) {
  computing = false;
  static const bool early = std::string(std::getenv("PARTS_LEAVE")) == "early";
  Message& message = messages.at(request);
  const bool last = ++message.marked == message.parts;
  const int leaving = early ? 1 : last ? message.parts : 0;
  if (leaving > 0) {
    message.wire_free = std::max(time_now, message.wire_free) + leaving * seconds_each / message.parts;
  }
  return MPI_SUCCESS;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  computing = false;
  const auto found = messages.find(*request);
  if (found == messages.end()) return PMPI_Wait(request, status);
  Message& message = found->second;
  PMPI_Start(request);
  PMPI_Wait(request, status);
  if (message.sends) {
    PMPI_Send(&message.wire_free, 1, MPI_DOUBLE, message.other, stamp_tag + message.tag, message.comm);
  } else {
    PMPI_Recv(&message.wire_free, 1, MPI_DOUBLE, message.other, stamp_tag + message.tag, message.comm,
              MPI_STATUS_IGNORE);
  }
  time_now = std::max(time_now, message.wire_free);
  return MPI_SUCCESS;
}

}  // extern "C"
