// What a benchmark is, as plain data. What one repetition of it does lives in src/benchmarks.
#pragma once

#include <string_view>

namespace openimb {

/// The guide's classes of benchmarks. The kind decides how many processes are active and which table is
/// printed.
enum class Kind {
  single_transfer,    ///< two active processes
  parallel_transfer,  ///< all processes of the group, each with its neighbours
  collective,         ///< all processes of the group in one MPI collective
  synchronisation     ///< no message: one row, no #bytes column
};

/// How many messages of the size under test one rank's buffer holds.
enum class Extent {
  none,
  one,
  two,
  per_rank,    ///< one message for each process of the group
  even_share,  ///< the message divided over the group, the first ranks one element more where it does not
               ///< divide
  block_share  ///< the message divided over the group, every rank ceil(elements / processes)
};

/// Source: guide, "MPI-1 Benchmarks"; the definitions of the names that the guide lacks are in
/// docs/methodology.md.
struct Spec {
  std::string_view name;
  Kind kind = Kind::collective;
  Extent send = Extent::one;
  Extent receive = Extent::one;
  double time_factor = 1.0;      ///< reported time / time of one repetition (PingPong: 0.5)
  int turnover = 1;              ///< messages into and out of one process per repetition, for the throughput
  bool reduction = false;        ///< uses the reduction data type
  bool rooted = false;           ///< root is i % processes in repetition i
  bool shares_buffer = false;    ///< the root sends from the receive buffer (Bcast)
  bool updates_receive = false;  ///< the receive buffer is input as well as output (Reduce_local)
  bool by_displacement = false;  ///< addresses its buffers through int displacements (v-collectives)
  bool message_rate = false;     ///< moves a window of messages per repetition; prints Mbytes/sec and Msg/sec
  bool in_default_list = true;
};

}  // namespace openimb
