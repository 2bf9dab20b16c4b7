// The plan: layouts, lengths, repetitions, geometry, element types, against the headers and the user guide.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <numeric>

#include "model/data_type.h"
#include "model/saturating.h"
#include "plan/geometry.h"
#include "plan/groups.h"
#include "plan/lengths.h"
#include "plan/repetitions.h"

using namespace openimb;
using Ranks = std::vector<int>;
using Groups = std::vector<Ranks>;
using Lengths = std::vector<std::int64_t>;

namespace {

constexpr Spec transfer{.name = "PingPong", .kind = Kind::single_transfer};
constexpr Spec allreduce{.name = "Allreduce", .reduction = true};
constexpr Spec bcast{.name = "Bcast", .rooted = true};
constexpr Spec barrier{
    .name = "Barrier", .kind = Kind::synchronization, .send = Messages::none, .receive = Messages::none};
constexpr Spec gather{.name = "Gather", .send = Messages::one, .receive = Messages::per_rank};
constexpr Spec alltoall{.name = "Alltoall", .send = Messages::per_rank, .receive = Messages::per_rank};
constexpr Spec alltoallv{.name = "Alltoallv",
                         .send = Messages::per_rank,
                         .receive = Messages::per_rank,
                         .displacements = Displacements::elements};
constexpr Spec reduce_scatter{.name = "Reduce_scatter", .receive = Messages::even_share, .reduction = true};

constexpr Element bytes_element{};
constexpr Element floats{DataType::single_precision, Contiguity::base};

}  // namespace

TEST_CASE("sizes and extents of elements") {
  static_assert(names_of<DataType>.size() == std::size(data_type_facts));
  for (std::size_t i = 0; i < std::size(data_type_facts); ++i) {
    const auto type = static_cast<DataType>(i);
    const int size = data_type_facts[i].size;
    CHECK(Element{type, Contiguity::base}.size() == size);
    CHECK(Element{type, Contiguity::base}.extent() == size);
    CHECK(Element{type, Contiguity::base_vector}.extent() == size);
    CHECK(Element{type, Contiguity::resized}.size() == size);
    CHECK(Element{type, Contiguity::resized}.extent() == 2 * size);
    CHECK(Element{type, Contiguity::resized_vector}.extent() == 2 * size);
  }
  CHECK(describe(DataType::double_precision).mpi == "MPI_DOUBLE");
  CHECK(Element{DataType::byte, Contiguity::base_vector}.is_vector());
  CHECK_FALSE(Element{DataType::byte, Contiguity::resized}.is_vector());
}

TEST_CASE("process counts double from the minimum to all") {
  CHECK(process_counts({.kind = Kind::collective}, 5, 2) == Ranks{2, 4, 5});
  CHECK(process_counts({.kind = Kind::collective}, 8, 2) == Ranks{2, 4, 8});
  CHECK(process_counts({.kind = Kind::parallel_transfer}, 11, 5) == Ranks{5, 10, 11});
  CHECK(process_counts({.kind = Kind::synchronization}, 14, 7) == Ranks{7, 14});
  CHECK(process_counts({.kind = Kind::collective}, 4, 1) == Ranks{1, 2, 4});
  CHECK(process_counts({.kind = Kind::collective}, 4, 4) == Ranks{4});
  CHECK(process_counts({.kind = Kind::collective}, 3, 9) == Ranks{3});
  CHECK(process_counts({.kind = Kind::collective}, 1, 2) == Ranks{1});
}

TEST_CASE("a single transfer runs on two processes or not at all") {
  CHECK(process_counts({.kind = Kind::single_transfer}, 8, 4) == Ranks{2});
  CHECK(process_counts({.kind = Kind::single_transfer}, 2, 1) == Ranks{2});
  CHECK(process_counts({.kind = Kind::single_transfer}, 1, 1).empty());
}

TEST_CASE("a single group has the first ranks, and the others wait") {
  const Grouping grouping = make_grouping(5, 2, false, std::nullopt);
  CHECK(grouping.processes == 2);
  CHECK(grouping.world == 5);
  CHECK(grouping.groups == Groups{{0, 1}});
  CHECK(grouping.idle() == 3);
  CHECK(grouping.group_of(1) == 0);
  CHECK(grouping.group_of(2) == -1);
}

TEST_CASE("-multi makes as many groups as fit") {
  const Grouping grouping = make_grouping(7, 3, true, std::nullopt);
  CHECK(grouping.groups == Groups{{0, 1, 2}, {3, 4, 5}});
  CHECK(grouping.group_count() == 2);
  CHECK(grouping.idle() == 1);
  CHECK(grouping.group_of(5) == 1);
  CHECK(grouping.group_of(6) == -1);
  // More than half of the world: no second group.
  CHECK(make_grouping(5, 3, true, std::nullopt).groups == Groups{{0, 1, 2}});
}

TEST_CASE("a map numbers processes along its rows") {
  CHECK(rank_order(4, std::nullopt) == Ranks{0, 1, 2, 3});
  CHECK(rank_order(6, Map{2, 3}) == Ranks{0, 2, 4, 1, 3, 5});
  CHECK(rank_order(8, Map{2, 3}) == Ranks{0, 2, 4, 1, 3, 5});
  CHECK(rank_order(4, Map{1, 4}) == Ranks{0, 1, 2, 3});

  CHECK(make_grouping(6, 2, true, Map{2, 3}).groups == Groups{{0, 2}, {3, 5}, {4, 1}});
  CHECK(make_grouping(6, 3, true, Map{2, 3}).groups == Groups{{0, 2, 4}, {1, 3, 5}});
  CHECK(make_grouping(6, 4, false, Map{2, 3}).groups == Groups{{0, 2, 4, 1}});
  // The guide's example: two nodes of 7, each process with its counterpart on the other node.
  const Grouping pairs = make_grouping(14, 2, true, Map{7, 2});
  REQUIRE(pairs.group_count() == 7);
  for (int i = 0; i < 7; ++i) CHECK(pairs.groups[i] == Ranks{i, i + 7});
  // Ranks beyond the map wait.
  const Grouping smaller = make_grouping(8, 2, true, Map{2, 3});
  CHECK(smaller.group_count() == 3);
  CHECK(smaller.idle() == 2);
  CHECK(smaller.group_of(7) == -1);
}

TEST_CASE("lengths are 0 and the powers of two") {
  Options options;
  const Lengths standard = message_lengths(transfer, options);
  CHECK(standard.size() == 24);
  CHECK(standard.front() == 0);
  CHECK(standard[1] == 1);
  CHECK(standard.back() == 4 * mebibyte);

  options.settings.min_message_log = 3;
  options.settings.max_message_log = 7;
  CHECK(message_lengths(transfer, options) == Lengths{0, 8, 16, 32, 64, 128});
  CHECK(length_range(options).smallest == 0);
  CHECK(length_range(options).largest == 128);
  options.zero_size = false;
  CHECK(message_lengths(transfer, options) == Lengths{8, 16, 32, 64, 128});

  options.settings.max_message_log = 40;
  CHECK(message_lengths(transfer, options).back() == std::int64_t{1} << 40);
}

TEST_CASE("lengths of a reduction begin with its element") {
  Options options;
  options.settings.max_message_log = 4;
  CHECK(message_lengths(allreduce, options) == Lengths{0, 4, 8, 16});
  options.reduction.type = DataType::double_precision;
  CHECK(message_lengths(allreduce, options) == Lengths{0, 8, 16});
  // The data type of messages is another one.
  CHECK(message_lengths(transfer, options) == Lengths{0, 1, 2, 4, 8, 16});
  options.data.type = DataType::integer;
  CHECK(message_lengths(transfer, options) == Lengths{0, 4, 8, 16});
}

TEST_CASE("requested lengths keep their order and are rounded up") {
  Options options;
  options.lengths = {5, 0, 8388608, 7, 8};
  CHECK(message_lengths(transfer, options) == Lengths{5, 0, 8388608, 7, 8});
  CHECK(message_lengths(allreduce, options) == Lengths{8, 0, 8388608, 8});
  CHECK(length_range(options).smallest == 0);
  CHECK(length_range(options).largest == 8388608);
  options.lengths = {std::int64_t{1} << 62};
  CHECK(message_lengths(allreduce, options) == Lengths{std::int64_t{1} << 62});
}

TEST_CASE("sizes that do not fit become the largest one") {
  static_assert(max_size == std::numeric_limits<std::int64_t>::max());
  CHECK(plus(2, 3) == 5);
  CHECK(plus(max_size - 1, 1) == max_size);
  CHECK(plus(max_size, max_size, 1) == max_size);
  CHECK(times(6, 7) == 42);
  CHECK((times(0, max_size) == 0 && times(max_size, 0) == 0));
  CHECK(times(std::int64_t{1} << 62, 2) == max_size);
  CHECK(times(std::int64_t{1} << 62, 4, 4) == max_size);
  CHECK(rounded_up(9, 4) == 12);
  CHECK(rounded_up(8, 4) == 8);
  CHECK(rounded_up(max_size - 1, 64) == max_size);
}

TEST_CASE("lengths of many threads together do not overflow, and none of them is lost") {
  const Spec threaded{.name = "PingPongMT", .kind = Kind::parallel_transfer, .threaded = true};
  Options options;
  options.threads.count = 4;
  options.lengths = {std::int64_t{1} << 61, std::int64_t{1} << 62, 8};
  CHECK(message_lengths(threaded, options) == Lengths{max_size, max_size, 32});
  options.lengths.clear();
  options.data.type = DataType::double_precision;
  options.counts = {std::int64_t{1} << 61, 1};
  CHECK(message_lengths(threaded, options) == Lengths{max_size, 32});
}

TEST_CASE("a synchronisation has the one length 0") {
  Options options;
  CHECK(message_lengths(barrier, options) == Lengths{0});
  options.zero_size = false;
  options.lengths = {4, 8};
  CHECK(message_lengths(barrier, options) == Lengths{0});
}

TEST_CASE("repetitions follow the volume") {
  const Settings settings;
  const auto planned = [&](std::int64_t bytes) {
    return planned_repetitions(settings, settings.repetitions, IterationPolicy::dynamic, bytes, 4);
  };
  CHECK(planned(0) == 1000);
  CHECK(planned(1) == 1000);
  CHECK(planned(32768) == 1000);
  CHECK(planned(65536) == 640);
  CHECK(planned(100000) == 419);
  CHECK(planned(4 * mebibyte) == 10);
  CHECK(planned(40 * mebibyte) == 1);
  CHECK(planned(gibibyte) == 1);
}

TEST_CASE("policies") {
  Settings settings;
  CHECK(planned_repetitions(settings, settings.repetitions, IterationPolicy::off, gibibyte, 4) == 1000);
  CHECK(planned_repetitions(settings, settings.repetitions, IterationPolicy::multiple_np, 100000, 4) == 416);
  CHECK(planned_repetitions(settings, settings.repetitions, IterationPolicy::multiple_np, 0, 3) == 999);
  CHECK(planned_repetitions(settings, settings.repetitions, IterationPolicy::multiple_np, gibibyte, 6) == 6);

  CHECK(effective_policy(IterationPolicy::automatic, bcast) == IterationPolicy::multiple_np);
  CHECK(effective_policy(IterationPolicy::automatic, allreduce) == IterationPolicy::dynamic);
  CHECK(effective_policy(IterationPolicy::automatic, transfer) == IterationPolicy::dynamic);
  for (const IterationPolicy policy :
       {IterationPolicy::dynamic, IterationPolicy::multiple_np, IterationPolicy::off}) {
    CHECK(effective_policy(policy, bcast) == policy);
  }
}

TEST_CASE("repetitions fit into the time") {
  Settings settings;
  const auto fitting = [&](IterationPolicy policy, double seconds) {
    return repetitions_in_time(settings, policy, 1000, seconds, 4);
  };
  CHECK(fitting(IterationPolicy::dynamic, 0.001) == 1000);
  CHECK(fitting(IterationPolicy::dynamic, 0) == 1000);
  CHECK(fitting(IterationPolicy::dynamic, 0.25) == 40);
  CHECK(fitting(IterationPolicy::dynamic, 4) == 2);
  CHECK(fitting(IterationPolicy::dynamic, 11) == 0);
  CHECK(fitting(IterationPolicy::dynamic, 1e300) == 0);
  CHECK(fitting(IterationPolicy::multiple_np, 0.24) == 40);
  CHECK(fitting(IterationPolicy::multiple_np, 4) == 4);
  CHECK(fitting(IterationPolicy::multiple_np, 11) == 0);
  CHECK(fitting(IterationPolicy::off, 11) == 1000);
  settings.seconds_per_sample = 0;
  CHECK(fitting(IterationPolicy::dynamic, 11) == 1000);
  settings.seconds_per_sample = -1;
  CHECK(fitting(IterationPolicy::multiple_np, 11) == 1000);
}

TEST_CASE("warm-up is a tenth, at least one, at most N_WARMUP") {
  Settings settings;
  CHECK(warm_up_repetitions(settings, 1000) == 10);
  CHECK(warm_up_repetitions(settings, 50) == 5);
  CHECK(warm_up_repetitions(settings, 9) == 1);
  CHECK(warm_up_repetitions(settings, 1) == 1);
  settings.warm_up_repetitions = 0;
  CHECK(warm_up_repetitions(settings, 1000) == 0);
}

TEST_CASE("the estimate costs about a second") {
  Settings settings;
  CHECK(estimate_repetitions(settings, 1000, 1e-6) <= 1000);
  CHECK(estimate_repetitions(settings, 1000, 1e-6) >= 1);
  CHECK(static_cast<double>(estimate_repetitions(settings, 1000000, 0.1)) * 0.1 <= 1.5);
  CHECK(estimate_repetitions(settings, 1000, 0.1) <= 11);
  settings.seconds_per_sample = 60;
  CHECK(estimate_repetitions(settings, 1000, 0.1) <= 11);
  settings.seconds_per_sample = 0.2;
  CHECK(estimate_repetitions(settings, 1000000, 1e-4) == 200);
}

TEST_CASE("a message divided over the group") {
  CHECK(share(Messages::even_share, 10, 4, 0) == 3);
  CHECK(share(Messages::even_share, 10, 4, 1) == 3);
  CHECK(share(Messages::even_share, 10, 4, 2) == 2);
  CHECK(share(Messages::even_share, 10, 4, 3) == 2);
  CHECK(share(Messages::even_share, 2, 4, 3) == 0);
  std::int64_t sum = 0;
  for (int rank = 0; rank < 7; ++rank) sum += share(Messages::even_share, 1000, 7, rank);
  CHECK(sum == 1000);
  for (int rank = 0; rank < 4; ++rank) CHECK(share(Messages::block_share, 10, 4, rank) == 3);
  CHECK(share(Messages::block_share, 8, 4, 0) == 2);
  CHECK(share(Messages::block_share, 0, 4, 0) == 0);
}

TEST_CASE("without -off_cache every repetition uses the same buffers") {
  const Geometry one = plan_geometry(transfer, 1024, 2, bytes_element, std::nullopt);
  CHECK(one.elements == 1024);
  CHECK(one.message_extent == 1024);
  CHECK(one.slots == 1);
  CHECK(one.send.footprint == 1024);
  CHECK(one.send.stride == 0);
  CHECK(one.total() == 2048);
  CHECK_FALSE(one.exceeds_int);

  CHECK(plan_geometry(allreduce, 1024, 4, floats, std::nullopt).elements == 256);
  const Geometry resized =
      plan_geometry(transfer, 1024, 2, Element{DataType::integer, Contiguity::resized}, std::nullopt);
  CHECK(resized.elements == 256);
  CHECK(resized.message_extent == 2048);
  CHECK(resized.send.total >= 2048);

  CHECK(plan_geometry(alltoall, 100, 8, bytes_element, std::nullopt).total() == 1600);
  CHECK(plan_geometry(gather, 100, 8, bytes_element, std::nullopt).total() == 900);
  // 10 floats over 4 processes: 3 at most.
  CHECK(plan_geometry(reduce_scatter, 40, 4, floats, std::nullopt).receive.footprint == 12);
  CHECK(plan_geometry(barrier, 0, 4, bytes_element, std::nullopt).total() == 0);
}

TEST_CASE("off-cache buffers keep messages two lines apart and outgrow the cache") {
  const Spec* const specs[] = {&transfer, &gather, &alltoall, &reduce_scatter};
  for (const Spec* spec : specs) {
    for (const std::int64_t bytes : {4, 100, 4096, 65536, 1 << 20}) {
      for (const std::int64_t size : {std::int64_t{1}, 32 * std::int64_t{1024}, mebibyte}) {
        for (const int line : {64, 100, 128}) {
          const Geometry geometry =
              plan_geometry(*spec, bytes, 4, spec->reduction ? floats : bytes_element, OffCache{size, line});
          INFO(spec->name << ", " << bytes << " bytes, cache " << size << ", line " << line);
          REQUIRE(geometry.slots >= 2);
          for (const BufferPlan& side : {geometry.send, geometry.receive}) {
            CHECK(side.stride >= side.footprint + 2 * line);
            CHECK(side.total >= (geometry.slots - 1) * side.stride + side.footprint);
          }
          // The wider side alone empties the cache before a slot is used again.
          const BufferPlan& wider =
              geometry.send.footprint > geometry.receive.footprint ? geometry.send : geometry.receive;
          CHECK(geometry.slots * wider.stride >= 2 * std::max(size, wider.footprint));
        }
      }
    }
  }
}

TEST_CASE("if the cache line is unknown, there is one slot") {
  CHECK(plan_geometry(transfer, 1024, 2, bytes_element, OffCache{0, 0}).slots == 1);
}

TEST_CASE("counts that exceed an int are found while planning") {
  const std::int64_t most = std::numeric_limits<int>::max();
  CHECK_FALSE(plan_geometry(transfer, most, 2, bytes_element, std::nullopt).exceeds_int);
  CHECK(plan_geometry(transfer, most + 1, 2, bytes_element, std::nullopt).exceeds_int);
  // Elements count, not bytes.
  CHECK_FALSE(plan_geometry(allreduce, most + 1, 2, floats, std::nullopt).exceeds_int);
  CHECK_FALSE(plan_geometry(alltoall, gibibyte, 8, bytes_element, std::nullopt).exceeds_int);
  CHECK(plan_geometry(alltoallv, gibibyte, 8, bytes_element, std::nullopt).exceeds_int);
}

TEST_CASE("absurd lengths cause no overflow") {
  const std::int64_t absurd = std::int64_t{1} << 62;
  for (const Spec* spec : {&transfer, &gather, &alltoallv, &reduce_scatter}) {
    for (const auto& cache : {std::optional<OffCache>{}, std::optional{OffCache{mebibyte, 64}}}) {
      const Geometry geometry =
          plan_geometry(*spec, absurd, 1000, Element{DataType::integer, Contiguity::resized}, cache);
      INFO(spec->name);
      CHECK(geometry.exceeds_int);
      for (const std::int64_t bytes : {geometry.send.total, geometry.total(), geometry.send.footprint}) {
        CHECK(bytes >= absurd);
      }
      CHECK(geometry.receive_span(std::int64_t{1} << 40) >= absurd / 1000);
    }
  }
}

TEST_CASE("the capacity of a table covers all its points") {
  // With a cache the number of slots is rounded, so that a short message may need more than a long one.
  const Spec spec{.name = "PingPong", .kind = Kind::single_transfer};
  const Element element{DataType::byte, Contiguity::base};
  const OffCache cache{1 << 20, 64};
  Capacity capacity;
  std::vector<Geometry> points;
  for (const std::int64_t bytes : {0, 1, 4, 63, 1000, 65536, 300000}) {
    points.push_back(plan_geometry(spec, bytes, 3, element, cache));
    capacity.cover(points.back());
  }
  bool longest_is_not_largest = false;
  for (const Geometry& point : points) {
    CHECK(capacity.covers(point));
    longest_is_not_largest |= point.send.total > points.back().send.total;
  }
  CHECK(longest_is_not_largest);
}

TEST_CASE("slots are aligned for every type, whatever the cache line") {
  const Spec spec{.name = "Allreduce", .reduction = true};
  const Element element{DataType::double_precision, Contiguity::resized};
  const Geometry geometry = plan_geometry(spec, 40, 3, element, OffCache{4096, 1});
  CHECK(geometry.send.stride % 16 == 0);
  CHECK(geometry.receive.stride % 16 == 0);
}

TEST_CASE("benchmarks that end in a collective completion have fewer repetitions") {
  Settings settings;
  settings.repetitions = 500;
  settings.non_aggregate_repetitions = 30;
  const Spec fenced{.access = Access::active_target};
  const Spec locked{.access = Access::passive_target};
  CHECK(max_repetitions(settings, fenced, Transfers::unmarked) == 30);
  CHECK(max_repetitions(settings, fenced, Transfers::non_aggregate) == 30);
  CHECK(max_repetitions(settings, fenced, Transfers::aggregate) == 500);
  CHECK(max_repetitions(settings, locked, Transfers::non_aggregate) == 500);
  CHECK(max_repetitions(settings, bcast, Transfers::unmarked) == 500);
}

TEST_CASE("aggregate transfers have disjoint sections as far as OVERALL_VOL allows") {
  Settings settings;
  settings.overall_volume = 1000;
  CHECK(disjoint_sections(settings, Transfers::aggregate, 50, 8) == 50);
  CHECK(disjoint_sections(settings, Transfers::aggregate, 500, 8) == 125);
  CHECK(disjoint_sections(settings, Transfers::aggregate, 500, 3000) == 1);
  CHECK(disjoint_sections(settings, Transfers::aggregate, 500, 0) == 1);
  CHECK(disjoint_sections(settings, Transfers::non_aggregate, 50, 8) == 1);

  const Geometry geometry = plan_geometry({.send = Messages::two}, 8, 2, {}, std::nullopt, 50);
  CHECK(geometry.slots == 50);
  CHECK(geometry.send.stride == 16);
  CHECK(geometry.send.total == 50 * 16);
  CHECK(geometry.receive.total == 50 * 8);
  CHECK(geometry.receive_span(50) == 50 * 8);
  CHECK(geometry.receive_span(1) == 8);
  // Off-cache slots are further apart, and there are enough for both.
  const Geometry apart = plan_geometry({}, 8, 2, {}, OffCache{1024, 64}, 50);
  CHECK(apart.slots == 50);
  CHECK(apart.send.stride == 192);
}

TEST_CASE("lengths of one-sided benchmarks") {
  Options options;
  options.lengths = {0, 1, 6, 8};
  // As the reference outputs of IMB-EXT have it: whole floats, also of bytes.
  const Spec fenced{.one_sided = {.lengths_of_reductions = true}};
  CHECK(message_lengths(fenced, options) == Lengths{0, 4, 8});
  options.data.type = DataType::double_precision;
  CHECK(message_lengths(fenced, options) == Lengths{0, 8});
  const Spec swap{.reduction = true, .one_sided = {.single_element = true, .integers_only = true}};
  CHECK(message_lengths(swap, options) == Lengths{4});
  options.reduction = {DataType::double_precision, Contiguity::resized};
  CHECK(options.element(swap).type == DataType::integer);
  CHECK(options.element(swap).contiguity == Contiguity::base);
  const Spec fetch{.reduction = true, .one_sided = {.single_element = true}};
  CHECK(message_lengths(fetch, options) == Lengths{8});
}
