// An MPI that lies: interposed by LD_PRELOAD, it spoils what the calls under test deliver.
//   LIE_HOW=flip   one bit of the last byte received is wrong (of the first, where elements have gaps)
//   LIE_HOW=drop   nothing arrives: the receive buffer is as before the call
//   LIE_HOW=shift  what arrived lies one byte further
//   LIE_HOW=late   one byte behind the message is written
//   LIE_HOW=stale  what the call of the same length before delivered arrives once more
//   LIE_RANK=r     only rank r lies (default: the last)
// One-sided, the rank that lies is the origin: what it puts or adds arrives spoiled, what it gets is spoiled
// when the call that completes it returns. Through shared memory, it finds another rank's part elsewhere; of
// memory that it attaches and detaches, a bit is wrong.
//   LIE_ABOUT=fetch  leave alone what is put and added; spoil what Get_accumulate, Fetch_and_op and
//                    Compare_and_swap fetch
// The harness's own traffic is left alone: it uses MPI_DOUBLE, MPI_INT, MPI_CHAR and MPI_LONG_LONG.
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace {

struct Received {
  char* at = nullptr;
  std::vector<char> before;
  bool gaps = false;
  bool by_message = false;
};

bool is_empty(const Received& received, const MPI_Status& status) {
  int bytes = 0;
  if (received.by_message) PMPI_Get_count(&status, MPI_BYTE, &bytes);
  return received.by_message && bytes == 0;
}

bool lies_here() {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const wanted = std::getenv("LIE_RANK");
  return rank == (wanted ? std::atoi(wanted) : ranks - 1);
}

bool under_test(MPI_Datatype type) {
  return type != MPI_DOUBLE && type != MPI_INT && type != MPI_CHAR && type != MPI_LONG_LONG;
}

Received watch(void* at, long elements, MPI_Datatype type) {
  if (!under_test(type) || !lies_here()) return {};
  int size = 0;
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_size(type, &size);
  PMPI_Type_get_extent(type, &lower, &extent);
  char* const bytes = static_cast<char*>(at);
  return {bytes, std::vector<char>(bytes, bytes + elements * extent), extent != size};
}

void spoil(const Received& received) {
  if (received.before.empty()) return;
  const std::string how = std::getenv("LIE_HOW") ? std::getenv("LIE_HOW") : "none";
  const std::size_t length = received.before.size();
  if (how == "flip") received.at[received.gaps ? 0 : length - 1] ^= 1;
  if (how == "drop") std::memcpy(received.at, received.before.data(), length);
  if (how == "shift" && length > 1) std::memmove(received.at + 1, received.at, length - 1);
  if (how == "late") received.at[length] ^= 1;
  if (how == "stale") {
    static thread_local std::map<std::size_t, std::vector<char>> delivered;
    std::vector<char> now(received.at, received.at + length);
    const std::vector<char>& old = delivered[length];
    if (!old.empty()) std::memcpy(received.at, old.data(), length);
    delivered[length] = now;
  }
}

// What goes out in place of the truth, until the program ends: a transfer reads it when it likes. Null: the
// call is to be left out.
const void* spoiled_copy(const void* at, long elements, MPI_Datatype type) {
  const std::string how = std::getenv("LIE_HOW") ? std::getenv("LIE_HOW") : "none";
  int size = 0;
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_size(type, &size);
  PMPI_Type_get_extent(type, &lower, &extent);
  const char* const bytes = static_cast<const char*>(at);
  const std::size_t length = static_cast<std::size_t>(elements * extent);
  if (how == "drop") return nullptr;
  if (length == 0) return at;
  static std::deque<std::vector<char>> kept;
  std::vector<char>& copy = kept.emplace_back(bytes, bytes + length);
  // Not the lowest bit of a number that is added: rounding would make the sum right again.
  if (how == "flip") copy[extent != size ? 0 : length - 1] ^= extent != size ? 0x40 : 1;
  if (how == "shift" && length > 1) std::memmove(copy.data() + 1, bytes, length - 1);
  if (how == "stale") {
    static std::map<std::size_t, std::vector<char>> sent;
    std::vector<char>& old = sent[length];
    const std::vector<char> now = copy;
    if (!old.empty()) copy = old;
    old = now;
  }
  return copy.data();
}

bool lies_about_fetched() {
  const char* const about = std::getenv("LIE_ABOUT");
  return about != nullptr && std::string(about) == "fetch";
}
bool lies_about_sent() { return lies_here() && !lies_about_fetched(); }

// Fetched and not yet complete.
std::vector<Received> awaited;

void await(void* at, long elements, MPI_Datatype type) {
  int size = 0;
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_size(type, &size);
  PMPI_Type_get_extent(type, &lower, &extent);
  char* const bytes = static_cast<char*>(at);
  awaited.push_back({bytes, std::vector<char>(bytes, bytes + elements * extent), extent != size});
}
int after(int rc) {
  for (const Received& received : awaited) spoil(received);
  awaited.clear();
  return rc;
}

int ranks_of(MPI_Comm comm) {
  int ranks = 1;
  PMPI_Comm_size(comm, &ranks);
  return ranks;
}
int rank_in(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

int left_out(MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
char* shared_part = nullptr;               // the last that was asked for
std::map<const void*, MPI_Aint> attached;  // bytes

// Of each thread, as it waits for what it started itself.
thread_local std::map<MPI_Request, Received> pending;

// What a persistent request receives each time that it is started.
struct Persistent {
  void* at = nullptr;
  long count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};
std::map<MPI_Request, Persistent> persistent;

void watch_persistent(MPI_Request request) {
  const auto found = persistent.find(request);
  if (found == persistent.end()) return;
  pending[request] = watch(found->second.at, found->second.count, found->second.type);
}

// Of a vector with a data type for each rank, all alike: up to the end of the last rank's part.
Received watch_each(void* in, const int m[], const int at[], const MPI_Datatype types[], MPI_Comm comm) {
  const int last = ranks_of(comm) - 1;
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(types[last], &lower, &extent);
  return watch(in, at[last] / (extent > 0 ? extent : 1) + m[last], types[last]);
}

// From whom a rank receives on a communicator with a topology.
long sources_of(MPI_Comm comm) {
  int kind = MPI_UNDEFINED, count = 0, out = 0, weighted = 0;
  PMPI_Topo_test(comm, &kind);
  if (kind == MPI_DIST_GRAPH) {
    PMPI_Dist_graph_neighbors_count(comm, &count, &out, &weighted);
    return count;
  }
  PMPI_Cartdim_get(comm, &count);
  return 2L * count;
}

}  // namespace

extern "C" {

int MPI_Recv(void* buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  const Received r = watch(buf, count, type);
  const int rc = PMPI_Recv(buf, count, type, from, tag, comm, status);
  spoil(r);
  return rc;
}
int MPI_Irecv(void* buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Received r = watch(buf, count, type);
  r.by_message = true;
  const int rc = PMPI_Irecv(buf, count, type, from, tag, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  // A window shares one buffer, and a completed handle may be used again: one lie, after all have arrived.
  // What the buffer had is known from the first receive; the data may be there when the last one is posted.
  Received last;
  int at = 0;
  for (int i = 0; i < count; ++i) {
    const auto found = pending.find(requests[i]);
    if (found == pending.end()) continue;
    Received next = found->second;
    if (next.at == last.at) next.before.swap(last.before);
    last = next;
    at = i;
    pending.erase(found);
  }
  std::vector<MPI_Status> own(static_cast<std::size_t>(count) + 1);
  MPI_Status* const said = statuses == MPI_STATUSES_IGNORE ? own.data() : statuses;
  const int rc = PMPI_Waitall(count, requests, said);
  if (!is_empty(last, said[at])) spoil(last);
  return rc;
}
int MPI_Recv_init(void* buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  const int rc = PMPI_Recv_init(buf, count, type, from, tag, comm, request);
  persistent[*request] = {buf, count, type};
  return rc;
}
int MPI_Precv_init(void* buf, int parts, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                   MPI_Info info, MPI_Request* request) {
  const int rc = PMPI_Precv_init(buf, parts, count, type, from, tag, comm, info, request);
  persistent[*request] = {buf, static_cast<long>(parts * count), type};
  return rc;
}
int MPI_Request_free(MPI_Request* request) {
  persistent.erase(*request);
  return PMPI_Request_free(request);
}
int MPI_Start(MPI_Request* request) {
  watch_persistent(*request);
  return PMPI_Start(request);
}
int MPI_Startall(int count, MPI_Request requests[]) {
  for (int i = 0; i < count; ++i) watch_persistent(requests[i]);
  return PMPI_Startall(count, requests);
}
int MPI_Sendrecv(const void* out, int n, MPI_Datatype t, int to, int stag, void* in, int m, MPI_Datatype u,
                 int from, int rtag, MPI_Comm comm, MPI_Status* status) {
  const Received r = watch(in, m, u);
  const int rc = PMPI_Sendrecv(out, n, t, to, stag, in, m, u, from, rtag, comm, status);
  spoil(r);
  return rc;
}
int MPI_Sendrecv_replace(void* buf, int n, MPI_Datatype t, int to, int stag, int from, int rtag,
                         MPI_Comm comm, MPI_Status* status) {
  const Received r = watch(buf, n, t);
  const int rc = PMPI_Sendrecv_replace(buf, n, t, to, stag, from, rtag, comm, status);
  spoil(r);
  return rc;
}
int MPI_Bcast(void* buf, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const Received r = watch(buf, count, type);
  const int rc = PMPI_Bcast(buf, count, type, root, comm);
  if (rank_in(comm) != root) spoil(r);
  return rc;
}
int MPI_Allgather(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, MPI_Comm comm) {
  const Received r = watch(in, static_cast<long>(m) * ranks_of(comm), u);
  const int rc = PMPI_Allgather(out, n, t, in, m, u, comm);
  spoil(r);
  return rc;
}
int MPI_Allgatherv(const void* out, int n, MPI_Datatype t, void* in, const int m[], const int at[],
                   MPI_Datatype u, MPI_Comm comm) {
  const int last = ranks_of(comm) - 1;
  const Received r = watch(in, static_cast<long>(at[last]) + m[last], u);
  const int rc = PMPI_Allgatherv(out, n, t, in, m, at, u, comm);
  spoil(r);
  return rc;
}
int MPI_Scatter(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, int root,
                MPI_Comm comm) {
  const Received r = watch(in, m, u);
  const int rc = PMPI_Scatter(out, n, t, in, m, u, root, comm);
  spoil(r);
  return rc;
}
int MPI_Scatterv(const void* out, const int n[], const int at[], MPI_Datatype t, void* in, int m,
                 MPI_Datatype u, int root, MPI_Comm comm) {
  const Received r = watch(in, m, u);
  const int rc = PMPI_Scatterv(out, n, at, t, in, m, u, root, comm);
  spoil(r);
  return rc;
}
int MPI_Gather(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, int root,
               MPI_Comm comm) {
  const bool here = rank_in(comm) == root;
  const Received r = here ? watch(in, static_cast<long>(m) * ranks_of(comm), u) : Received{};
  const int rc = PMPI_Gather(out, n, t, in, m, u, root, comm);
  spoil(r);
  return rc;
}
int MPI_Gatherv(const void* out, int n, MPI_Datatype t, void* in, const int m[], const int at[],
                MPI_Datatype u, int root, MPI_Comm comm) {
  const int last = ranks_of(comm) - 1;
  const bool here = rank_in(comm) == root;
  const Received r = here ? watch(in, static_cast<long>(at[last]) + m[last], u) : Received{};
  const int rc = PMPI_Gatherv(out, n, t, in, m, at, u, root, comm);
  spoil(r);
  return rc;
}
int MPI_Alltoall(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, MPI_Comm comm) {
  const Received r = watch(in, static_cast<long>(m) * ranks_of(comm), u);
  const int rc = PMPI_Alltoall(out, n, t, in, m, u, comm);
  spoil(r);
  return rc;
}
int MPI_Alltoallv(const void* out, const int n[], const int from[], MPI_Datatype t, void* in, const int m[],
                  const int at[], MPI_Datatype u, MPI_Comm comm) {
  const int last = ranks_of(comm) - 1;
  const Received r = watch(in, static_cast<long>(at[last]) + m[last], u);
  const int rc = PMPI_Alltoallv(out, n, from, t, in, m, at, u, comm);
  spoil(r);
  return rc;
}
int MPI_Alltoallw(const void* out, const int n[], const int from[], const MPI_Datatype t[], void* in,
                  const int m[], const int at[], const MPI_Datatype u[], MPI_Comm comm) {
  const Received r = watch_each(in, m, at, u, comm);
  const int rc = PMPI_Alltoallw(out, n, from, t, in, m, at, u, comm);
  spoil(r);
  return rc;
}
int MPI_Neighbor_allgather(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u,
                           MPI_Comm comm) {
  const Received r = watch(in, m * sources_of(comm), u);
  const int rc = PMPI_Neighbor_allgather(out, n, t, in, m, u, comm);
  spoil(r);
  return rc;
}
int MPI_Neighbor_alltoall(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u,
                          MPI_Comm comm) {
  const Received r = watch(in, m * sources_of(comm), u);
  const int rc = PMPI_Neighbor_alltoall(out, n, t, in, m, u, comm);
  spoil(r);
  return rc;
}
// Vectors of one length, which lie one behind the other.
int MPI_Neighbor_allgatherv(const void* out, int n, MPI_Datatype t, void* in, const int m[], const int at[],
                            MPI_Datatype u, MPI_Comm comm) {
  const Received r = watch(in, m[0] * sources_of(comm), u);
  const int rc = PMPI_Neighbor_allgatherv(out, n, t, in, m, at, u, comm);
  spoil(r);
  return rc;
}
int MPI_Neighbor_alltoallv(const void* out, const int n[], const int from[], MPI_Datatype t, void* in,
                           const int m[], const int at[], MPI_Datatype u, MPI_Comm comm) {
  const Received r = watch(in, m[0] * sources_of(comm), u);
  const int rc = PMPI_Neighbor_alltoallv(out, n, from, t, in, m, at, u, comm);
  spoil(r);
  return rc;
}
int MPI_Neighbor_alltoallw(const void* out, const int n[], const MPI_Aint from[], const MPI_Datatype t[],
                           void* in, const int m[], const MPI_Aint at[], const MPI_Datatype u[],
                           MPI_Comm comm) {
  const Received r = watch(in, m[0] * sources_of(comm), u[0]);
  const int rc = PMPI_Neighbor_alltoallw(out, n, from, t, in, m, at, u, comm);
  spoil(r);
  return rc;
}
int MPI_Mrecv(void* buf, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  const Received r = watch(buf, count, type);
  const int rc = PMPI_Mrecv(buf, count, type, message, status);
  spoil(r);
  return rc;
}
int MPI_Scan(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm) {
  const Received r = watch(in, n, t);
  const int rc = PMPI_Scan(out, in, n, t, op, comm);
  spoil(r);
  return rc;
}
// Rank 0 receives nothing: what its receive buffer holds is not MPI's.
int MPI_Exscan(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm) {
  const Received r = rank_in(comm) > 0 ? watch(in, n, t) : Received{};
  const int rc = PMPI_Exscan(out, in, n, t, op, comm);
  spoil(r);
  return rc;
}
int MPI_Reduce(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm) {
  const Received r = rank_in(comm) == root ? watch(in, n, t) : Received{};
  const int rc = PMPI_Reduce(out, in, n, t, op, root, comm);
  spoil(r);
  return rc;
}
int MPI_Allreduce(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm) {
  const Received r = watch(in, n, t);
  const int rc = PMPI_Allreduce(out, in, n, t, op, comm);
  spoil(r);
  return rc;
}
int MPI_Reduce_scatter(const void* out, void* in, const int n[], MPI_Datatype t, MPI_Op op, MPI_Comm comm) {
  const Received r = watch(in, n[rank_in(comm)], t);
  const int rc = PMPI_Reduce_scatter(out, in, n, t, op, comm);
  spoil(r);
  return rc;
}
int MPI_Reduce_scatter_block(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm) {
  const Received r = watch(in, n, t);
  const int rc = PMPI_Reduce_scatter_block(out, in, n, t, op, comm);
  spoil(r);
  return rc;
}
int MPI_Reduce_local(const void* in, void* inout, int n, MPI_Datatype t, MPI_Op op) {
  const Received r = watch(inout, n, t);
  const int rc = PMPI_Reduce_local(in, inout, n, t, op);
  spoil(r);
  return rc;
}

// Nonblocking collectives lie when they are waited for.
int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const auto found = pending.find(*request);
  const Received r = found == pending.end() ? Received{} : found->second;
  if (found != pending.end()) pending.erase(found);
  MPI_Status own;
  MPI_Status* const said = status == MPI_STATUS_IGNORE ? &own : status;
  const int rc = PMPI_Wait(request, said);
  if (!is_empty(r, *said)) spoil(r);
  return rc;
}
int MPI_Ibcast(void* buf, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  const Received r = rank_in(comm) == root ? Received{} : watch(buf, count, type);
  const int rc = PMPI_Ibcast(buf, count, type, root, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Iallgather(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, MPI_Comm comm,
                   MPI_Request* request) {
  const Received r = watch(in, static_cast<long>(m) * ranks_of(comm), u);
  const int rc = PMPI_Iallgather(out, n, t, in, m, u, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Iallgatherv(const void* out, int n, MPI_Datatype t, void* in, const int m[], const int at[],
                    MPI_Datatype u, MPI_Comm comm, MPI_Request* request) {
  const int last = ranks_of(comm) - 1;
  const Received r = watch(in, static_cast<long>(at[last]) + m[last], u);
  const int rc = PMPI_Iallgatherv(out, n, t, in, m, at, u, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Igather(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, int root,
                MPI_Comm comm, MPI_Request* request) {
  const bool here = rank_in(comm) == root;
  const Received r = here ? watch(in, static_cast<long>(m) * ranks_of(comm), u) : Received{};
  const int rc = PMPI_Igather(out, n, t, in, m, u, root, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Igatherv(const void* out, int n, MPI_Datatype t, void* in, const int m[], const int at[],
                 MPI_Datatype u, int root, MPI_Comm comm, MPI_Request* request) {
  const int last = ranks_of(comm) - 1;
  const bool here = rank_in(comm) == root;
  const Received r = here ? watch(in, static_cast<long>(at[last]) + m[last], u) : Received{};
  const int rc = PMPI_Igatherv(out, n, t, in, m, at, u, root, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Iscatter(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, int root,
                 MPI_Comm comm, MPI_Request* request) {
  const Received r = watch(in, m, u);
  const int rc = PMPI_Iscatter(out, n, t, in, m, u, root, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Iscatterv(const void* out, const int n[], const int at[], MPI_Datatype t, void* in, int m,
                  MPI_Datatype u, int root, MPI_Comm comm, MPI_Request* request) {
  const Received r = watch(in, m, u);
  const int rc = PMPI_Iscatterv(out, n, at, t, in, m, u, root, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Ialltoall(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, MPI_Comm comm,
                  MPI_Request* request) {
  const Received r = watch(in, static_cast<long>(m) * ranks_of(comm), u);
  const int rc = PMPI_Ialltoall(out, n, t, in, m, u, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Ialltoallv(const void* out, const int n[], const int from[], MPI_Datatype t, void* in, const int m[],
                   const int at[], MPI_Datatype u, MPI_Comm comm, MPI_Request* request) {
  const int last = ranks_of(comm) - 1;
  const Received r = watch(in, static_cast<long>(at[last]) + m[last], u);
  const int rc = PMPI_Ialltoallv(out, n, from, t, in, m, at, u, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Ireduce(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request* request) {
  const Received r = rank_in(comm) == root ? watch(in, n, t) : Received{};
  const int rc = PMPI_Ireduce(out, in, n, t, op, root, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Iallreduce(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  const Received r = watch(in, n, t);
  const int rc = PMPI_Iallreduce(out, in, n, t, op, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Ireduce_scatter(const void* out, void* in, const int n[], MPI_Datatype t, MPI_Op op, MPI_Comm comm,
                        MPI_Request* request) {
  const Received r = watch(in, n[rank_in(comm)], t);
  const int rc = PMPI_Ireduce_scatter(out, in, n, t, op, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Ialltoallw(const void* out, const int n[], const int from[], const MPI_Datatype t[], void* in,
                   const int m[], const int at[], const MPI_Datatype u[], MPI_Comm comm,
                   MPI_Request* request) {
  const Received r = watch_each(in, m, at, u, comm);
  const int rc = PMPI_Ialltoallw(out, n, from, t, in, m, at, u, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Iscan(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm,
              MPI_Request* request) {
  const Received r = watch(in, n, t);
  const int rc = PMPI_Iscan(out, in, n, t, op, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Iexscan(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm,
                MPI_Request* request) {
  const Received r = rank_in(comm) > 0 ? watch(in, n, t) : Received{};
  const int rc = PMPI_Iexscan(out, in, n, t, op, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Ineighbor_allgather(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u,
                            MPI_Comm comm, MPI_Request* request) {
  const Received r = watch(in, m * sources_of(comm), u);
  const int rc = PMPI_Ineighbor_allgather(out, n, t, in, m, u, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Ineighbor_allgatherv(const void* out, int n, MPI_Datatype t, void* in, const int m[], const int at[],
                             MPI_Datatype u, MPI_Comm comm, MPI_Request* request) {
  const Received r = watch(in, m[0] * sources_of(comm), u);
  const int rc = PMPI_Ineighbor_allgatherv(out, n, t, in, m, at, u, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Ineighbor_alltoall(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u,
                           MPI_Comm comm, MPI_Request* request) {
  const Received r = watch(in, m * sources_of(comm), u);
  const int rc = PMPI_Ineighbor_alltoall(out, n, t, in, m, u, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Ineighbor_alltoallv(const void* out, const int n[], const int from[], MPI_Datatype t, void* in,
                            const int m[], const int at[], MPI_Datatype u, MPI_Comm comm,
                            MPI_Request* request) {
  const Received r = watch(in, m[0] * sources_of(comm), u);
  const int rc = PMPI_Ineighbor_alltoallv(out, n, from, t, in, m, at, u, comm, request);
  pending[*request] = r;
  return rc;
}
int MPI_Ineighbor_alltoallw(const void* out, const int n[], const MPI_Aint from[], const MPI_Datatype t[],
                            void* in, const int m[], const MPI_Aint at[], const MPI_Datatype u[],
                            MPI_Comm comm, MPI_Request* request) {
  const Received r = watch(in, m[0] * sources_of(comm), u[0]);
  const int rc = PMPI_Ineighbor_alltoallw(out, n, from, t, in, m, at, u, comm, request);
  pending[*request] = r;
  return rc;
}

// Persistent collectives lie each time that they are started and waited for.
int MPI_Bcast_init(void* buf, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                   MPI_Request* request) {
  const int rc = PMPI_Bcast_init(buf, count, type, root, comm, info, request);
  if (rank_in(comm) != root) persistent[*request] = {buf, count, type};
  return rc;
}
int MPI_Allgather_init(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, MPI_Comm comm,
                       MPI_Info info, MPI_Request* request) {
  const int rc = PMPI_Allgather_init(out, n, t, in, m, u, comm, info, request);
  persistent[*request] = {in, static_cast<long>(m) * ranks_of(comm), u};
  return rc;
}
int MPI_Allgatherv_init(const void* out, int n, MPI_Datatype t, void* in, const int m[], const int at[],
                        MPI_Datatype u, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const int last = ranks_of(comm) - 1;
  const int rc = PMPI_Allgatherv_init(out, n, t, in, m, at, u, comm, info, request);
  persistent[*request] = {in, static_cast<long>(at[last]) + m[last], u};
  return rc;
}
int MPI_Gather_init(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, int root,
                    MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const int rc = PMPI_Gather_init(out, n, t, in, m, u, root, comm, info, request);
  if (rank_in(comm) == root) persistent[*request] = {in, static_cast<long>(m) * ranks_of(comm), u};
  return rc;
}
int MPI_Gatherv_init(const void* out, int n, MPI_Datatype t, void* in, const int m[], const int at[],
                     MPI_Datatype u, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const int last = ranks_of(comm) - 1;
  const int rc = PMPI_Gatherv_init(out, n, t, in, m, at, u, root, comm, info, request);
  if (rank_in(comm) == root) persistent[*request] = {in, static_cast<long>(at[last]) + m[last], u};
  return rc;
}
int MPI_Scatter_init(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, int root,
                     MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const int rc = PMPI_Scatter_init(out, n, t, in, m, u, root, comm, info, request);
  persistent[*request] = {in, m, u};
  return rc;
}
int MPI_Scatterv_init(const void* out, const int n[], const int at[], MPI_Datatype t, void* in, int m,
                      MPI_Datatype u, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const int rc = PMPI_Scatterv_init(out, n, at, t, in, m, u, root, comm, info, request);
  persistent[*request] = {in, m, u};
  return rc;
}
int MPI_Alltoall_init(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, MPI_Comm comm,
                      MPI_Info info, MPI_Request* request) {
  const int rc = PMPI_Alltoall_init(out, n, t, in, m, u, comm, info, request);
  persistent[*request] = {in, static_cast<long>(m) * ranks_of(comm), u};
  return rc;
}
int MPI_Alltoallv_init(const void* out, const int n[], const int from[], MPI_Datatype t, void* in,
                       const int m[], const int at[], MPI_Datatype u, MPI_Comm comm, MPI_Info info,
                       MPI_Request* request) {
  const int last = ranks_of(comm) - 1;
  const int rc = PMPI_Alltoallv_init(out, n, from, t, in, m, at, u, comm, info, request);
  persistent[*request] = {in, static_cast<long>(at[last]) + m[last], u};
  return rc;
}
int MPI_Reduce_init(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm,
                    MPI_Info info, MPI_Request* request) {
  const int rc = PMPI_Reduce_init(out, in, n, t, op, root, comm, info, request);
  if (rank_in(comm) == root) persistent[*request] = {in, n, t};
  return rc;
}
int MPI_Allreduce_init(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm,
                       MPI_Info info, MPI_Request* request) {
  const int rc = PMPI_Allreduce_init(out, in, n, t, op, comm, info, request);
  persistent[*request] = {in, n, t};
  return rc;
}
int MPI_Reduce_scatter_init(const void* out, void* in, const int n[], MPI_Datatype t, MPI_Op op,
                            MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const int rc = PMPI_Reduce_scatter_init(out, in, n, t, op, comm, info, request);
  persistent[*request] = {in, n[rank_in(comm)], t};
  return rc;
}

int MPI_Put(const void* out, int n, MPI_Datatype t, int target, MPI_Aint at, int m, MPI_Datatype u,
            MPI_Win win) {
  const void* const sent = lies_about_sent() ? spoiled_copy(out, n, t) : out;
  return sent == nullptr ? MPI_SUCCESS : PMPI_Put(sent, n, t, target, at, m, u, win);
}
int MPI_Get(void* in, int n, MPI_Datatype t, int target, MPI_Aint at, int m, MPI_Datatype u, MPI_Win win) {
  if (lies_here()) await(in, n, t);
  return PMPI_Get(in, n, t, target, at, m, u, win);
}
int MPI_Accumulate(const void* out, int n, MPI_Datatype t, int target, MPI_Aint at, int m, MPI_Datatype u,
                   MPI_Op op, MPI_Win win) {
  const void* const sent = lies_about_sent() ? spoiled_copy(out, n, t) : out;
  return sent == nullptr ? MPI_SUCCESS : PMPI_Accumulate(sent, n, t, target, at, m, u, op, win);
}
int MPI_Get_accumulate(const void* out, int n, MPI_Datatype t, void* in, int k, MPI_Datatype v, int target,
                       MPI_Aint at, int m, MPI_Datatype u, MPI_Op op, MPI_Win win) {
  const void* const sent = lies_about_sent() ? spoiled_copy(out, n, t) : out;
  if (sent == nullptr) return MPI_SUCCESS;
  if (lies_here() && lies_about_fetched()) await(in, k, v);
  return PMPI_Get_accumulate(sent, n, t, in, k, v, target, at, m, u, op, win);
}
int MPI_Fetch_and_op(const void* out, void* in, MPI_Datatype t, int target, MPI_Aint at, MPI_Op op,
                     MPI_Win win) {
  const void* const sent = lies_about_sent() ? spoiled_copy(out, 1, t) : out;
  if (sent == nullptr) return MPI_SUCCESS;
  if (lies_here() && lies_about_fetched()) await(in, 1, t);
  return PMPI_Fetch_and_op(sent, in, t, target, at, op, win);
}
int MPI_Compare_and_swap(const void* out, const void* compare, void* in, MPI_Datatype t, int target,
                         MPI_Aint at, MPI_Win win) {
  const void* const sent = lies_about_sent() ? spoiled_copy(out, 1, t) : out;
  if (sent == nullptr) return MPI_SUCCESS;
  if (lies_here() && lies_about_fetched()) await(in, 1, t);
  return PMPI_Compare_and_swap(sent, compare, in, t, target, at, win);
}
// With a request: what is fetched is spoiled when it is waited for. What is left out has none to wait for.
int MPI_Rput(const void* out, int n, MPI_Datatype t, int target, MPI_Aint at, int m, MPI_Datatype u,
             MPI_Win win, MPI_Request* request) {
  const void* const sent = lies_about_sent() ? spoiled_copy(out, n, t) : out;
  if (sent == nullptr) return left_out(request);
  return PMPI_Rput(sent, n, t, target, at, m, u, win, request);
}
int MPI_Rget(void* in, int n, MPI_Datatype t, int target, MPI_Aint at, int m, MPI_Datatype u, MPI_Win win,
             MPI_Request* request) {
  const Received r = watch(in, n, t);
  const int rc = PMPI_Rget(in, n, t, target, at, m, u, win, request);
  pending[*request] = r;
  return rc;
}
int MPI_Raccumulate(const void* out, int n, MPI_Datatype t, int target, MPI_Aint at, int m, MPI_Datatype u,
                    MPI_Op op, MPI_Win win, MPI_Request* request) {
  const void* const sent = lies_about_sent() ? spoiled_copy(out, n, t) : out;
  if (sent == nullptr) return left_out(request);
  return PMPI_Raccumulate(sent, n, t, target, at, m, u, op, win, request);
}
int MPI_Rget_accumulate(const void* out, int n, MPI_Datatype t, void* in, int k, MPI_Datatype v, int target,
                        MPI_Aint at, int m, MPI_Datatype u, MPI_Op op, MPI_Win win, MPI_Request* request) {
  const void* const sent = lies_about_sent() ? spoiled_copy(out, n, t) : out;
  if (sent == nullptr) return left_out(request);
  const Received r = lies_about_fetched() ? watch(in, k, v) : Received{};
  const int rc = PMPI_Rget_accumulate(sent, n, t, in, k, v, target, at, m, u, op, win, request);
  pending[*request] = r;
  return rc;
}

// Loads and stores are no calls: the lie is about where another rank's part of shared memory is, or in the
// call that orders them. Writes to a decoy have no effect.
int MPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint* bytes, int* unit, void* memory) {
  const int rc = PMPI_Win_shared_query(win, rank, bytes, unit, memory);
  if (!lies_here()) return rc;
  const std::string how = std::getenv("LIE_HOW") ? std::getenv("LIE_HOW") : "none";
  char*& at = *static_cast<char**>(memory);
  if (how == "flip") shared_part = at;
  if (how == "shift") ++at;
  if (how == "drop" || how == "stale") {
    static std::deque<std::vector<char>> decoys;
    at = decoys.emplace_back(static_cast<std::size_t>(*bytes) + 1).data();
  }
  return rc;
}
int MPI_Win_sync(MPI_Win win) {
  if (shared_part != nullptr) *shared_part ^= 1;
  return PMPI_Win_sync(win);
}
int MPI_Win_attach(MPI_Win win, void* memory, MPI_Aint bytes) {
  attached[memory] = bytes;
  return PMPI_Win_attach(win, memory, bytes);
}
int MPI_Win_detach(MPI_Win win, const void* memory) {
  const int rc = PMPI_Win_detach(win, memory);
  char* const last = static_cast<char*>(const_cast<void*>(memory)) + attached[memory] - 1;
  const std::string how = std::getenv("LIE_HOW") ? std::getenv("LIE_HOW") : "none";
  if (lies_here() && how != "none") *last ^= 1;
  return rc;
}
int MPI_Win_unlock(int rank, MPI_Win win) { return after(PMPI_Win_unlock(rank, win)); }
int MPI_Win_unlock_all(MPI_Win win) { return after(PMPI_Win_unlock_all(win)); }
int MPI_Win_complete(MPI_Win win) { return after(PMPI_Win_complete(win)); }
int MPI_Win_flush(int rank, MPI_Win win) { return after(PMPI_Win_flush(rank, win)); }
int MPI_Win_flush_local(int rank, MPI_Win win) { return after(PMPI_Win_flush_local(rank, win)); }
int MPI_Win_flush_all(MPI_Win win) { return after(PMPI_Win_flush_all(win)); }
int MPI_Win_flush_local_all(MPI_Win win) { return after(PMPI_Win_flush_local_all(win)); }
int MPI_Win_fence(int assert, MPI_Win win) { return after(PMPI_Win_fence(assert, win)); }

}  // extern "C"
