// Rows of the option table: how is measured.
#include <optional>
#include <string>
#include <vector>

#include "cli/data_layout.h"
#include "cli/option_table.h"
#include "cli/topology.h"
#include "cli/values.h"

namespace openimb {

namespace {

DataType data_type(std::string_view word) {
  return choice(data_type_names, &DataTypeName::option, word).type;
}

void set_reduction_type(Draft& draft, std::string_view word) {
  if (same_name(word, "byte")) throw BadValue("MPI_SUM is not defined for bytes");
  draft.options.reduction.type = data_type(word);
}

void set_contiguity(Draft& draft, std::string_view word) {
  const Contiguity contiguity = choice(contiguity_names, &ContiguityName::option, word).contiguity;
  draft.options.data.contiguity = contiguity;
  draft.options.reduction.contiguity = contiguity;
}

void set_off_cache(Draft& draft, std::string_view word) {
  const Settings& settings = draft.options.settings;
  const std::size_t comma = word.find(',');
  const std::string_view size = word.substr(0, comma);
  OffCache cache{settings.cache_size, settings.cache_line};
  if (size != "-1") cache.cache_size = byte_count(size, mebibyte, 1, largest_cache);
  if (comma != std::string_view::npos) {
    cache.cache_line = static_cast<int>(byte_count(word.substr(comma + 1), 1, 1, largest_cache_line));
  }
  draft.options.off_cache = cache;
}

PairOptions& pairs_of(Draft& draft) {
  std::optional<PairOptions>& pairs = draft.options.pairs;
  return pairs ? *pairs : pairs.emplace();
}

void set_halo(Draft& draft, std::string_view word) {
  const std::vector<std::string_view> pieces = split(word, ',');
  constexpr std::string_view faces = "faces", corners = "corners";
  Stencil& halo = pairs_of(draft).halo;
  if (pieces.size() > 2) throw BadValue(quoted(word) + " has too many parts");
  halo.dimensions = static_cast<int>(whole_number(pieces.front(), 1, most_dimensions));
  halo.corners = false;
  if (pieces.size() == 1) return;
  halo.corners = same_name(pieces.back(), corners);
  if (!halo.corners && !same_name(pieces.back(), faces)) {
    throw BadValue(quoted(pieces.back()) + " is neither faces nor corners");
  }
}

// The timed loop has MPI calls only: what IMB-P2P can do within it is accepted for its command lines.
template <bool sends>
void accept_payload(Draft& draft, std::string_view word) {
  if (!on_or_off(word)) return;
  draft.options.warnings.push_back(
      std::string(sends ? "-msgwr" : "-msgrd") + " on: no effect; buffers are " +
      (sends ? "written before a table, not before each message" : "not read after each message"));
}

constexpr std::string_view type_words = "byte, char, int, float, double, float16 or bfloat16";

constexpr Option method_rows[] = {
    {.name = "off_cache",
     .syntax = "SIZE[,LINE]",
     .help = "step through buffers larger than the cache",
     .standard = "reuse one buffer",
     .example = "-off_cache 16,128",
     .details =
         "SIZE: of the last-level cache, in MB of 2^20 bytes or with k, m or g. LINE: of a cache line, in "
         "bytes. SIZE -1 or no LINE: the value of the machine, or of CACHE_SIZE and CACHE_LINE_SIZE (-set). "
         "Messages lie at least two cache lines apart.",
     .apply = set_off_cache},
    {.name = "mem",
     .syntax = "GB",
     .help = "memory limit for message buffers, per process",
     .standard = "1",
     .example = "-mem 0.5",
     .details = "In GB of 2^30 bytes or with k, m or g. A length that needs more becomes an out-of-mem row "
                "with the size needed, and the run continues.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.settings.max_memory = byte_count(word, gibibyte, 1, largest_length);
         }},
    {.name = "root_shift",
     .syntax = "on|off",
     .help = "change the root with each repetition",
     .standard = "on",
     .example = "-root_shift off",
     .apply = [](Draft& draft, std::string_view word) { draft.options.root_shift = on_or_off(word); }},
    {.name = "in_place",
     .syntax = "on|off",
     .help = "collectives with one buffer (MPI_IN_PLACE)",
     .standard = "off",
     .example = "-in_place on",
     .details =
         "on: input and result are in the receive buffer, in rooted collectives at the root, which then is "
         "rank 0. Collectives that cannot (Bcast, Barrier, Reduce_scatter, neighborhoods) and other "
         "benchmarks "
         "are as with off.",
     .apply = [](Draft& draft, std::string_view word) { draft.options.in_place = on_or_off(word); }},
    {.name = "sync",
     .syntax = "on|off",
     .help = "untimed barrier between repetitions",
     .standard = "off",
     .example = "-sync on",
     .details = "on: each repetition is timed by itself. off: all repetitions are timed together.",
     .apply = [](Draft& draft, std::string_view word) { draft.options.synchronize_each = on_or_off(word); }},
    {.name = "imb_barrier",
     .syntax = "on|off",
     .help = "synchronize without MPI_Barrier",
     .standard = "off",
     .example = "-imb_barrier on",
     .details = "on: a barrier of point-to-point messages, the same with every MPI. The benchmark Barrier "
                "always measures MPI_Barrier.",
     .apply = [](Draft& draft, std::string_view word) { draft.options.own_barrier = on_or_off(word); }},
    {.name = "data_type",
     .syntax = "TYPE",
     .help = type_words,
     .standard_of = [](const Standard& standard) { return std::string(describe(standard.data).option); },
     .example = "-data_type double",
     .details = "Data type of messages. float16 and bfloat16 need an MPI that has them.",
     .apply = [](Draft& draft, std::string_view word) { draft.options.data.type = data_type(word); }},
    {.name = "red_data_type",
     .syntax = "TYPE",
     .help = "the same for reductions, but not byte",
     .standard_of = [](const Standard& standard) { return std::string(describe(standard.reduction).option); },
     .example = "-red_data_type double",
     .details = "The operation is MPI_SUM, which is not defined for bytes.",
     .apply = set_reduction_type},
    {.name = "contig_type",
     .syntax = "TYPE",
     .help = "base, base_vec, resize or resize_vec",
     .standard = "base",
     .example = "-contig_type resize",
     .details = "Layout of elements in memory, for messages and reductions. base: contiguous. resize: each "
                "element has twice its extent. base_vec, resize_vec: the same as a vector of elements.",
     .apply = set_contiguity},
    {.name = "layout",
     .syntax = "LAYOUT",
     .help = "gaps between the elements of a message",
     .standard = "contiguous",
     .example = "-layout vector:1:8 -data_type double PingPong",
     .details =
         "Messages are passed to MPI as derived types, on both sides. #bytes counts data, not gaps.\n"
         "vector:BLOCK:STRIDE: blocks of BLOCK elements, from one beginning to the next STRIDE elements "
         "(MPI_Type_vector). indexed: blocks of 1 to 8 elements with gaps of 1 to 8 (MPI_Type_indexed). "
         "struct: records of three doubles, a char and an int, 29 bytes of data in 32 "
         "(MPI_Type_create_struct). The last block or record may be a part. Reductions, one-sided transfers, "
         "partitioned messages and files have none: a failure row with the reason.",
     .apply = set_layout},
    {.name = "packing",
     .syntax = "none|mpi|hand",
     .help = "with -layout: make messages contiguous first",
     .standard = "none",
     .example = "-layout vector:1:8 -packing hand PingPong",
     .details =
         "none: MPI gets the derived type. mpi: MPI_Pack before and MPI_Unpack behind the calls, in the "
         "clock. "
         "hand: the same by loops. For PingPong, PingPing, Sendrecv, Exchange, Bcast, Gather, Scatter, "
         "Allgather, Alltoall, and the stencils of IMB-P2P; others have a failure row.",
     .apply = set_packing},
    {.name = "aggregate_mode",
     .syntax = "MODE",
     .help = "aggregate, non_aggregate, or multi for both",
     .standard = "multi",
     .example = "-aggregate_mode non_aggregate",
     .details = "For benchmarks with both modes. non_aggregate: each transfer is completed before the next. "
                "aggregate: all transfers of a sample, to disjoint memory, are completed together.",
     .apply =
         [](Draft& draft, std::string_view word) {
           constexpr AggregateMode modes[] = {AggregateMode::aggregate, AggregateMode::non_aggregate,
                                              AggregateMode::both};
           draft.options.aggregate_mode =
               choice(modes, [](AggregateMode mode) { return name_of(mode); }, word);
         }},
    {.name = "window_size",
     .syntax = "N",
     .help = "messages per repetition of Uniband and the like",
     .standard_of = [](const Standard& standard) { return std::to_string(standard.in_flight); },
     .example = "-window_size 64",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.in_flight = static_cast<int>(whole_number(word, 1, 1000000));
         }},
    {.name = "partitions",
     .syntax = "N",
     .help = "IMB-MPI4: parts of a message of Partitioned_...",
     .standard = "8",
     .example = "-partitions 16",
     .details = "At most; a message has as many as divide it into equal parts.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.partitions = static_cast<int>(whole_number(word, 1, 1000000));
         }},
    {.name = "seed",
     .syntax = "N",
     .help = "draw other random partners, or another random graph",
     .standard = "1",
     .example = "-seed 7",
     .details =
         "Of Unirandom, Birandom and Corandom (IMB-P2P), of -topo random:N, or the order of rounds of "
         "IMB-FABRIC. The same number gives the same partners in the same order, with every MPI. Of IMB-P2P, "
         "1024 rounds are drawn before the clock starts; further "
         "repetitions use them again.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.seed = static_cast<std::uint64_t>(whole_number(word, 0, most_seed));
         }},
    {.name = "halo",
     .syntax = "N[,corners]",
     .help = "IMB-P2P: the periodic grid of Halo and simple_halo",
     .standard = "3",
     .example = "-halo 2,corners Halo",
     .details =
         "N: 1 to 5 dimensions, whose extents are as equal as the number of processes allows. Each process "
         "exchanges with 2 neighbors per dimension; corners: with those across edges and corners, too, 26 in "
         "3 "
         "dimensions (N,faces: not). A process is its own neighbor in a dimension of extent 1.",
     .apply = set_halo},
    {.name = "topo",
     .syntax = "TOPOLOGY",
     .help = "who are neighbors in neighborhood collectives",
     .standard = "2d",
     .example = "-topo 2x2 Neighbor_alltoall",
     .details =
         "Of IMB-MPI1 and IMB-NBC. 3d: a periodic grid (MPI_Cart_create) of 1 to 5 dimensions, whose extents "
         "are as equal as the number of processes allows. 4x2, 2x2x2: with these extents, in groups of their "
         "product; in other groups as 2d, 3d.\n"
         "graph, graph:4x2, graph:3d: the same neighbors, as a distributed graph "
         "(MPI_Dist_graph_create_adjacent).\n"
         "random:N: a graph drawn at random (-seed), in which each process sends to N others and receives "
         "from N others; in a smaller group to and from all.",
     .apply = set_topology},
    {.name = "pairs",
     .syntax = "N",
     .help = "IMB-P2P: pairs of processes of Multi_pair",
     .standard = "half of the processes",
     .example = "-pairs 2 Multi_pair",
     .details =
         "N in all: rank i of the first half with rank i of the second, for the first N ranks of each; "
         "others are idle. On two nodes with half of the ranks each, in order, N is the number of pairs "
         "per node.",
     .apply =
         [](Draft& draft, std::string_view word) {
           pairs_of(draft).most_pairs = static_cast<int>(whole_number(word, 1, most_int));
         }},
    {.name = "msgwr",
     .syntax = "on|off",
     .help = "IMB-P2P: accepted, no effect",
     .standard = "off",
     .example = "-msgwr off",
     .details =
         "IMB-P2P 2021 writes the send buffer before each message unless this is off. Here the timed loop "
         "has MPI calls only; buffers are written before a table. on is a warning.",
     .apply = accept_payload<true>},
    {.name = "msgrd",
     .syntax = "on|off",
     .help = "IMB-P2P: accepted, no effect",
     .standard = "off",
     .example = "-msgrd off",
     .details =
         "IMB-P2P 2021 reads the receive buffer after each message unless this is off. Here the timed loop "
         "has MPI calls only. on is a warning.",
     .apply = accept_payload<false>},
};

}  // namespace

std::span<const Option> method_options() { return method_rows; }

}  // namespace openimb
