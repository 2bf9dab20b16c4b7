// The plan of a launch: the order of its tables, and what each point needs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "model/synchronization.h"
#include "plan/exclusions.h"
#include "plan/mpi_memory.h"
#include "plan/schedule.h"

using namespace openimb;
using Keys = std::vector<TableKey>;
using Counts = std::vector<std::int64_t>;
using Cause = Failure::Cause;

namespace {

constexpr std::int64_t max_int = std::numeric_limits<int>::max();
constexpr std::int64_t request = 850;  // bytes of a message's request

constexpr Spec pingpong{.name = "PingPong", .kind = Kind::single_transfer};
constexpr Spec bcast{.name = "Bcast", .rooted = true};
constexpr Spec allreduce{.name = "Allreduce", .reduction = true};
constexpr Spec barrier{
    .name = "Barrier", .kind = Kind::synchronization, .send = Messages::none, .receive = Messages::none};
constexpr Spec alltoall{.name = "Alltoall", .send = Messages::per_rank, .receive = Messages::per_rank};
constexpr Spec put{.name = "Unidir_Put",
                   .kind = Kind::single_transfer,
                   .access = Access::active_target,
                   .aggregation = Aggregation::aggregate_first,
                   .one_sided = {.exposed = ExposedBuffer::receive}};
constexpr Spec file_write{.name = "S_Write_Expl",
                          .kind = Kind::single_transfer,
                          .access = Access::file,
                          .aggregation = Aggregation::non_aggregate_first,
                          .file = {.use = FileUse::write, .pointer = FilePointer::offset}};
constexpr Spec absent{.name = "Bcast_c", .unavailable = "no large-count calls"};

// A schedule with its options and catalog.
struct Planned {
  std::vector<Spec> catalog;
  Options options = {};
  int ranks = 4;
  std::optional<OffCache> off_cache = {};
  bool large_counts = true;

  Schedule schedule() {
    if (options.selection.empty()) {
      for (std::size_t i = 0; i < catalog.size(); ++i) {
        options.selection.push_back({.index = static_cast<int>(i)});
      }
    }
    return {catalog, options, ranks, off_cache, large_counts};
  }
  Keys tables() { return schedule().tables(); }
  TablePlan plan(std::size_t table = 0) {
    const Schedule all = schedule();
    return all.plan(all.tables().at(table));
  }
  Point point() { return plan().points.at(0); }
};

Planned of_length(const Spec& spec, std::int64_t bytes) {
  Planned planned{.catalog = {spec}};
  planned.options.lengths = {bytes};
  planned.options.min_processes = planned.ranks;
  return planned;
}

Counts planned_counts(const TablePlan& plan) {
  Counts counts;
  for (const Point& point : plan.points) counts.push_back(point.planned);
  return counts;
}

}  // namespace

TEST_CASE("tables are ordered by selection, then by the number of processes") {
  Planned planned{.catalog = {pingpong, bcast, barrier}, .ranks = 5};
  planned.options.selection = {{.index = 2}, {.index = 0}, {.index = 1}};
  CHECK(planned.tables() == Keys{{2, Multi::off, 2, Transfers::unmarked},
                                 {2, Multi::off, 4, Transfers::unmarked},
                                 {2, Multi::off, 5, Transfers::unmarked},
                                 {0, Multi::off, 2, Transfers::unmarked},
                                 {1, Multi::off, 2, Transfers::unmarked},
                                 {1, Multi::off, 4, Transfers::unmarked},
                                 {1, Multi::off, 5, Transfers::unmarked}});
}

TEST_CASE("a benchmark that is named twice runs twice") {
  Planned planned{.catalog = {pingpong}};
  planned.options.selection = {{.index = 0}, {.index = 0}};
  CHECK(planned.tables().size() == 2);
}

TEST_CASE("each table has all variants, one after the other") {
  Planned planned{.catalog = {bcast}, .ranks = 4};
  planned.options.variants = {{.label = "default", .variables = {}}, {.label = "ring", .variables = {}}};
  CHECK(planned.tables() == Keys{{0, Multi::off, 2, Transfers::unmarked, 0},
                                 {0, Multi::off, 2, Transfers::unmarked, 1},
                                 {0, Multi::off, 4, Transfers::unmarked, 0},
                                 {0, Multi::off, 4, Transfers::unmarked, 1}});
  CHECK(planned.plan(0).table.variant == "default");
  CHECK(planned.plan(3).table.variant == "ring");
  CHECK(planned.plan(3).variant == 1);
  planned.options.variants.clear();
  CHECK(planned.plan(0).table.variant.empty());
  CHECK(planned.plan(0).variant == -1);
}

TEST_CASE("no variant is always first, and none always follows the same other one") {
  CHECK(variant_order(1, 7) == std::vector{0});
  for (int turn = 0; turn < 8; ++turn) {
    const std::vector<int> expected[] = {{0, 1}, {1, 0}, {1, 0}, {0, 1}};
    CHECK(variant_order(2, turn) == expected[turn % 4]);
  }
  std::map<int, int> first;
  std::map<std::pair<int, int>, int> after;
  for (int turn = 0; turn < 6; ++turn) {
    std::vector<int> order = variant_order(3, turn);
    ++first[order[0]];
    for (std::size_t i = 1; i < order.size(); ++i) ++after[{order[i - 1], order[i]}];
    std::ranges::sort(order);
    CHECK(order == std::vector{0, 1, 2});
  }
  CHECK(first == std::map<int, int>{{0, 2}, {1, 2}, {2, 2}});
  CHECK(after.size() == 6);
  for (const auto& [pair, times] : after) CHECK(times == 2);
}

TEST_CASE("nothing selected, no table") {
  const Options nothing;
  const std::optional<OffCache> none;
  const Spec catalog[] = {bcast};
  CHECK(Schedule(catalog, nothing, 4, none, true).tables().empty());
}

TEST_CASE("-npmin is the first process count, at most all processes") {
  const auto counts = [](std::optional<int> least, int ranks) {
    Planned planned{.catalog = {bcast}, .ranks = ranks};
    planned.options.min_processes = least;
    std::vector<int> processes;
    for (const TableKey& key : planned.tables()) processes.push_back(key.processes);
    return processes;
  };
  CHECK(counts(std::nullopt, 8) == std::vector{2, 4, 8});
  CHECK(counts(3, 8) == std::vector{3, 6, 8});
  CHECK(counts(8, 8) == std::vector{8});
  CHECK(counts(100, 8) == std::vector{8});
  CHECK(counts(1, 3) == std::vector{1, 2, 3});
  CHECK(counts(std::nullopt, 1) == std::vector{1});
}

TEST_CASE("without -npmin the component decides the first process count") {
  Planned planned{.catalog = {bcast}, .ranks = 2};
  planned.options.defaults.min_processes = 1;
  CHECK(planned.tables().size() == 2);
}

TEST_CASE("-map leaves out ranks beyond the matrix") {
  Planned planned{.catalog = {bcast}, .ranks = 8};
  planned.options.map = Map{.rows = 2, .columns = 3};
  CHECK(planned.tables().back().processes == 6);
  const TablePlan plan = planned.plan(0);
  CHECK(plan.table.grouping.world == 8);
  CHECK(plan.table.grouping.groups == std::vector<std::vector<int>>{{0, 2}});
}

TEST_CASE("-multi and the Multi- prefix group the processes") {
  Planned planned{.catalog = {pingpong}, .ranks = 5};
  SECTION("neither") {
    CHECK(planned.tables() == Keys{{0, Multi::off, 2, Transfers::unmarked}});
    CHECK(planned.plan().table.grouping.group_count() == 1);
  }
  SECTION("the prefix alone is -multi 0 for that benchmark") {
    planned.options.selection = {{.index = 0, .multi = true}, {.index = 0}};
    CHECK(planned.tables() ==
          Keys{{0, Multi::summary, 2, Transfers::unmarked}, {0, Multi::off, 2, Transfers::unmarked}});
    CHECK(planned.plan().table.grouping.group_count() == 2);
    CHECK(&planned.plan().table.format() == &tables::range_and_bandwidth);
  }
  SECTION("-multi 1 is for all, with a prefix or without") {
    planned.options.multi = Multi::each_group;
    planned.options.selection = {{.index = 0, .multi = true}, {.index = 0}};
    for (const TableKey& key : planned.tables()) CHECK(key.multi == Multi::each_group);
    CHECK(&planned.plan().table.format() == &tables::time_and_bandwidth);
  }
}

TEST_CASE("aggregate and non-aggregate tables follow each other on each process count") {
  const auto modes = [](const Spec& spec, AggregateMode mode) {
    Planned planned{.catalog = {spec}};
    planned.options.aggregate_mode = mode;
    std::vector<Transfers> transfers;
    for (const TableKey& key : planned.tables()) transfers.push_back(key.transfers);
    return transfers;
  };
  using Modes = std::vector<Transfers>;
  constexpr auto yes = Transfers::aggregate, no = Transfers::non_aggregate;
  CHECK(modes(put, AggregateMode::both) == Modes{yes, no});
  CHECK(modes(put, AggregateMode::aggregate) == Modes{yes});
  CHECK(modes(put, AggregateMode::non_aggregate) == Modes{no});
  CHECK(modes(file_write, AggregateMode::both) == Modes{no, yes});
  CHECK(modes(pingpong, AggregateMode::aggregate) == Modes{Transfers::unmarked});

  // Benchmarks with one mode keep it, whatever the option says.
  Spec only = put;
  only.aggregation = Aggregation::aggregate_only;
  CHECK(modes(only, AggregateMode::non_aggregate) == Modes{yes});
  only.aggregation = Aggregation::non_aggregate_only;
  CHECK(modes(only, AggregateMode::aggregate) == Modes{no});
  only.kind = Kind::collective;
  only.aggregation = Aggregation::aggregate_first;
  CHECK(modes(only, AggregateMode::both) == Modes{yes, no, yes, no});
}

TEST_CASE("a benchmark that the MPI cannot run is one failure instead of tables") {
  Planned planned{.catalog = {absent}, .ranks = 8};
  planned.options.multi = Multi::each_group;
  CHECK(planned.tables() == Keys{{0, Multi::off, 8, Transfers::unmarked}});
  const TablePlan plan = planned.plan();
  REQUIRE(plan.failure);
  CHECK(plan.failure->cause == Cause::unavailable);
  CHECK(plan.failure->detail == "no large-count calls");
  CHECK(plan.points.empty());
  CHECK_FALSE(plan.warm_up);
}

TEST_CASE("a benchmark that needs more processes is one failure instead of tables") {
  Spec needs_two = bcast;
  needs_two.min_processes = 2;
  for (const Spec& spec : {pingpong, needs_two}) {
    Planned planned{.catalog = {spec}, .ranks = 1};
    CHECK(planned.tables() == Keys{{0, Multi::off, 1, Transfers::unmarked}});
    REQUIRE(planned.plan().failure);
    CHECK(planned.plan().failure->cause == Cause::invalid_processes);
    CHECK(planned.plan().points.empty());
  }
  // A file takes the place of the other process.
  CHECK_FALSE(Planned{.catalog = {file_write}, .ranks = 1}.plan().failure);
}

TEST_CASE("a table has the facts that decide its columns and groups") {
  Planned planned{.catalog = {allreduce}, .ranks = 6};
  planned.options.check = true;
  planned.options.show_tail = true;
  planned.options.reduction = {DataType::double_precision, Contiguity::resized};
  const TablePlan plan = planned.plan(1);
  CHECK(plan.benchmark == 0);
  CHECK(plan.spec().name == "Allreduce");
  CHECK(plan.table.grouping.processes == 4);
  CHECK(plan.table.grouping.world == 6);
  CHECK(plan.table.grouping.threads == 1);
  CHECK((plan.table.defects && plan.table.tail));
  CHECK(plan.element.type == DataType::double_precision);
  CHECK(plan.element.contiguity == Contiguity::resized);
  CHECK_FALSE(plan.failure);
}

TEST_CASE("points are the lengths in the order given, each with its geometry") {
  Planned planned{.catalog = {alltoall}};
  planned.options.lengths = {64, 0, 8};
  const TablePlan plan = planned.plan(1);
  REQUIRE(plan.points.size() == 3);
  const Counts lengths{64, 0, 8};
  for (std::size_t i = 0; i < 3; ++i) {
    const Point& point = plan.points[i];
    CHECK(point.bytes == lengths[i]);
    CHECK(point.geometry.elements == lengths[i]);
    CHECK(point.geometry.send.total == 4 * lengths[i]);
    CHECK(point.needed_bytes == 8 * lengths[i]);
    CHECK_FALSE(point.failure);
  }
  CHECK(planned.plan(0).points[0].needed_bytes == 4 * 64);
}

TEST_CASE("-off_cache: points have slots, and need their memory") {
  Planned planned = of_length(pingpong, 100);
  CHECK(planned.point().geometry.slots == 1);
  planned.off_cache = OffCache{.cache_size = 1 << 16, .cache_line = 64};
  CHECK(planned.point().geometry.slots > 2);
  CHECK(planned.point().needed_bytes > 1 << 16);
}

TEST_CASE("aggregate transfers have their own sections in memory, but not in files") {
  Planned one_sided{.catalog = {put}};
  one_sided.options.lengths = {8};
  one_sided.options.settings.repetitions = 50;
  one_sided.options.settings.non_aggregate_repetitions = 20;
  CHECK(one_sided.plan(0).points[0].geometry.sections == 50);
  CHECK(one_sided.plan(0).points[0].needed_bytes == 2 * 50 * 8);
  CHECK(one_sided.plan(1).points[0].geometry.sections == 1);
  CHECK(planned_counts(one_sided.plan(0)) == Counts{50});
  CHECK(planned_counts(one_sided.plan(1)) == Counts{20});

  Planned files{.catalog = {file_write}};
  files.options.lengths = {8};
  files.options.settings.repetitions = 50;
  CHECK(files.plan(1).table.aggregate());
  CHECK(files.plan(1).points[0].planned == 50);
  CHECK(files.plan(1).points[0].geometry.sections == 1);
}

TEST_CASE("-sync_mode: a benchmark whose definition fixes the completion is not available with another one") {
  const auto failure = [](Spec spec, SyncMode mode) {
    Planned planned{.catalog = {spec}};
    planned.options.sync_mode = mode;
    const std::optional<Failure> found = planned.plan().failure;
    CHECK(planned.tables().size() == (found ? 1u : 2u));
    return found ? found->detail : "";
  };
  Spec any = put;
  any.one_sided.sync = SyncMode::fence;
  any.one_sided.any_sync = true;
  Spec only = any;
  only.one_sided.any_sync = false;
  for (const SyncMode mode : {SyncMode::standard, SyncMode::fence, SyncMode::pscw}) {
    CHECK(failure(any, mode).empty());
  }
  CHECK(failure(only, SyncMode::fence).empty());
  CHECK(failure(only, SyncMode::pscw) ==
        "its definition completes transfers with MPI_Win_fence, not with -sync_mode pscw");
  CHECK(!failure(any, SyncMode::lock).empty());
  any.access = Access::passive_target;
  CHECK(failure(any, SyncMode::lock).empty());
  only.one_sided.sync = SyncMode::standard;
  CHECK(failure(only, SyncMode::flush) ==
        "its definition completes transfers with its own calls, not with -sync_mode flush");
}

TEST_CASE("-layout: benchmarks that cannot have gaps are not available") {
  const DataLayout column{.placement = Placement::vector, .block = 1, .stride = 4};
  CHECK(layout_error(Spec{}, {}).empty());
  CHECK(layout_error(Spec{}, column).empty());
  CHECK(layout_error({.reduction = true}, column) ==
        "-layout vector:1:4: MPI defines no reduction of derived types");
  CHECK(layout_error({.access = Access::file}, column) ==
        "-layout vector:1:4: its messages cannot have gaps");

  Element element{.type = DataType::integer, .layout = column};
  const Geometry one = plan_geometry({}, 40, 2, element, std::nullopt);
  CHECK(one.elements == 10);
  CHECK(one.message_extent == 160);
  CHECK(one.send.footprint == 160);
  const Geometry each = plan_geometry({.receive = Messages::per_rank}, 40, 3, element, std::nullopt);
  CHECK(each.receive.footprint == 480);
  element.layout = {.placement = Placement::vector, .block = 4, .stride = 8};
  CHECK(plan_geometry({}, 40, 2, element, std::nullopt).message_extent == 96);  // the third block is half
  element.layout.stride = 1 << 20;
  CHECK(plan_geometry({}, std::int64_t{1} << 60, 2, element, std::nullopt).send.total > std::int64_t{1}
                                                                                            << 59);
}

TEST_CASE(
    "-send_mode: benchmarks that cannot use a mode are not available, and the buffer counts as memory") {
  Spec all{.send_modes = every_send_mode};
  CHECK(send_mode_error(all, SendMode::buffered).empty());
  all.send_modes.not_buffered = "reason";
  CHECK(send_mode_error(all, SendMode::buffered) == "-send_mode buffered: reason");
  CHECK(send_mode_error(all, SendMode::synchronous).empty());
  CHECK(send_mode_error(Spec{}, SendMode::standard).empty());
  CHECK(send_mode_error(Spec{}, SendMode::synchronous) ==
        "its definition has no send that -send_mode synchronous could replace");
  CHECK(buffered_messages(all, 64) == 3);
  all.send = Messages::two;
  CHECK(buffered_messages(all, 64) == 6);
  all.message_rate = true;
  CHECK(buffered_messages(all, 64) == 192);
  CHECK(buffered_bytes(all, 64, 1000) == 192 * 2024);
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK(buffered_bytes(all, 64, largest) == largest);
}

TEST_CASE("each message that is received at once has memory of its own") {
  constexpr Spec band{.name = "Uniband",
                      .kind = Kind::parallel_transfer,
                      .receive = Messages::in_flight,
                      .message_rate = true,
                      .send_modes = every_send_mode};
  Planned planned = of_length(band, 100);
  planned.options.in_flight = 16;
  const Point point = planned.point();
  CHECK(point.geometry.receive.total == 16 * 100);
  CHECK(point.geometry.send.total == 100);
  CHECK(point.needed_bytes == 17 * 100 + 2 * 16 * request);
}

TEST_CASE("if the messages in flight exceed -mem, as many as fit are in flight") {
  constexpr Spec band{.name = "Uniband",
                      .kind = Kind::parallel_transfer,
                      .receive = Messages::in_flight,
                      .message_rate = true};
  const auto is_planned = [](const Point& point, int in_flight, bool fewer) {
    CHECK_FALSE(point.failure);
    CHECK(point.in_flight == in_flight);
    CHECK(point.fewer_in_flight() == (fewer ? std::optional(in_flight) : std::nullopt));
    CHECK(point.geometry.receive.total == in_flight * point.bytes);
  };
  const TablePlan standard = Planned{.catalog = {band}}.plan();
  is_planned(standard.points.at(standard.points.size() - 2), 256, false);
  is_planned(standard.points.back(), 254, true);
  CHECK(standard.points.back().bytes == 4 * mebibyte);
  CHECK(standard.points.back().needed_bytes == 255 * 4 * mebibyte + 2 * 254 * request);

  Planned planned = of_length(band, 100);
  planned.options.in_flight = 16;
  const auto needed = [](int in_flight) { return (1 + in_flight) * 100 + 2 * in_flight * request; };
  planned.options.settings.max_memory = needed(16);
  is_planned(planned.point(), 16, false);
  planned.options.settings.max_memory = needed(16) - 1;
  is_planned(planned.point(), 15, true);
  planned.options.settings.max_memory = needed(1);
  is_planned(planned.point(), 1, true);
  planned.options.settings.max_memory = needed(1) - 1;
  CHECK(planned.point().failure->needed_bytes == needed(16));

  // All pairs of a launch of IMB-FABRIC have the same number.
  planned.options.settings.max_memory = needed(16) - 1;
  planned.options.fabric = FabricOptions{.rounds = RoundKind::circle, .listed = {}, .ranks = {0, 1, 2, 3}};
  CHECK(planned.point().failure->cause == Cause::out_of_memory);
}

TEST_CASE("the buffer of -send_mode buffered holds only the messages that fit") {
  Planned planned = of_length({.name = "Biband",
                               .kind = Kind::parallel_transfer,
                               .receive = Messages::in_flight,
                               .message_rate = true,
                               .send_modes = every_send_mode},
                              100);
  planned.options.in_flight = 16;
  planned.options.send_mode = SendMode::buffered;
  planned.options.settings.max_memory = 100 + 4 * (100 + 3 * 1124 + 2 * request);
  CHECK(planned.point().in_flight == 4);
  CHECK(planned.point().needed_bytes == planned.options.settings.max_memory);
}

TEST_CASE("a hub receives from all others at once") {
  constexpr Spec band{.name = "Pair_Bandwidth",
                      .kind = Kind::parallel_transfer,
                      .receive = Messages::in_flight,
                      .message_rate = true,
                      .in_rounds = true};
  for (const auto& [rounds, messages] :
       {std::pair(RoundKind::circle, 4), std::pair(RoundKind::all_to_one, 12),
        std::pair(RoundKind::one_to_all, 12)}) {
    Planned planned = of_length(band, 100);
    planned.options.in_flight = 4;
    planned.options.fabric = FabricOptions{.rounds = rounds, .listed = {}, .ranks = {0, 1, 2, 3}};
    CHECK(planned.point().geometry.receive.total == messages * 100);
  }
}

TEST_CASE("a hub may receive more messages at once than an int can count") {
  constexpr Spec band{.name = "Pair_Bandwidth",
                      .kind = Kind::parallel_transfer,
                      .receive = Messages::in_flight,
                      .message_rate = true,
                      .in_rounds = true};
  for (const auto& [endpoints, in_flight, messages] :
       {std::tuple(4296, 1000000, std::int64_t{4295000000}), std::tuple(65537, 65536, std::int64_t{1} << 32),
        std::tuple(1 << 20, 1000000, std::int64_t{1048575000000})}) {
    Planned planned = of_length(band, 8);
    planned.ranks = endpoints;
    planned.options.in_flight = in_flight;
    planned.options.fabric = FabricOptions{.rounds = RoundKind::one_to_all, .listed = {}, .ranks = {}};
    planned.options.fabric->ranks.resize(static_cast<std::size_t>(endpoints));
    const Point point = planned.point();
    CHECK(point.geometry.receive.total == 8 * messages);
    REQUIRE(point.failure);
    CHECK(point.failure->cause == Cause::out_of_memory);
    CHECK(point.failure->needed_bytes > 8 * messages);
    // With memory for all of them, MPI_Waitall cannot count their requests.
    planned.options.settings.max_memory = std::int64_t{1} << 60;
    REQUIRE(planned.point().failure);
    CHECK(planned.point().failure->cause == Cause::int_overflow);
    CHECK(planned.point().failure->limit);
    planned.options.in_flight = 1025;
    CHECK(planned.point().failure.has_value() == (endpoints == 1 << 20));
    planned.options.in_flight = 100;
    CHECK_FALSE(planned.point().failure);
  }
}

TEST_CASE("the requests of all slots count against -mem") {
  // 32 MiB of cache in slots of a line and two lines between them: guide, "-off_cache".
  constexpr std::int64_t slots = 349526, total = (slots - 1) * 192 + 1;
  const auto needed = [&](Spec spec, int requests) {
    spec.requests_per_slot = requests;
    Planned planned = of_length(spec, 1);
    planned.off_cache = OffCache{.cache_size = 32 * mebibyte, .cache_line = 64};
    CHECK(planned.point().geometry.slots == slots);
    return planned.point().needed_bytes;
  };
  CHECK(needed(pingpong, 0) == 2 * total);
  CHECK(needed(pingpong, 2) == 2 * total + slots * 2 * request);
  // A collective's request has a schedule, and may have temporary memory: two messages of one byte.
  CHECK(needed(bcast, 1) == 2 * total + slots * (1600 + 4 * 500 + 2 * 1));
  Spec in_parts = pingpong;
  in_parts.partitioned = true;
  CHECK(needed(in_parts, 2) == 2 * total + slots * 2 * (2000 + 8 * 8));

  Spec persistent = bcast;
  persistent.requests_per_slot = 1;
  Planned planned = of_length(persistent, 1);
  planned.off_cache = OffCache{.cache_size = 32 * mebibyte, .cache_line = 64};
  planned.options.settings.max_memory = gibibyte / 10;
  REQUIRE(planned.point().failure);
  CHECK(planned.point().failure->cause == Cause::out_of_memory);
  CHECK(planned.point().failure->needed_bytes == 2 * total + slots * 3602);
}

TEST_CASE("-sync_mode: locks are for targets that take no part") {
  Spec spec = put;
  spec.one_sided.sync = SyncMode::fence;
  CHECK(sync_of(spec, SyncMode::standard) == SyncMode::fence);
  CHECK(sync_of(spec, SyncMode::pscw) == SyncMode::pscw);
  CHECK_FALSE(uses_locks(spec, SyncMode::fence));
  CHECK_FALSE(uses_locks(spec, SyncMode::pscw));
  CHECK(uses_locks(spec, SyncMode::lock_all));
  CHECK_FALSE(uses_locks(spec, SyncMode::standard));
  spec.access = Access::passive_target;
  CHECK(uses_locks(spec, SyncMode::standard));
}

TEST_CASE("-check needs two images, of at most a chunk each") {
  Planned planned = of_length(bcast, 1000);
  CHECK(planned.point().needed_bytes == 2000);
  planned.options.check = true;
  CHECK(planned.point().needed_bytes == 2000 + 2 * 1000);
  for (const std::int64_t bytes : {image_chunk - 1, image_chunk, image_chunk + 1, 100 * image_chunk}) {
    planned.options.lengths = {bytes};
    CHECK(planned.point().needed_bytes == 2 * bytes + 2 * std::min(bytes, image_chunk));
  }
}

TEST_CASE("-check composes images of the receive buffer, and of files only the part in memory") {
  Planned gathering = of_length({.name = "Gather", .receive = Messages::per_rank}, 100);
  gathering.options.check = true;
  CHECK(gathering.point().needed_bytes == 500 + 2 * 400);
  Planned none = of_length(barrier, 0);
  none.options.check = true;
  CHECK(none.point().needed_bytes == 0);
  Planned files = of_length(file_write, 100);
  files.options.check = true;
  const std::int64_t buffers = files.point().geometry.total();
  CHECK(files.point().needed_bytes == buffers + 2 * buffers);
}

TEST_CASE("times of repetitions take memory, twice if ranks are compared") {
  Planned planned = of_length(bcast, 8);
  planned.options.settings.repetitions = 123;
  const std::int64_t times = 2 * 123 * 8;
  SECTION("-show_tail") { planned.options.show_tail = true; }
  SECTION("-dumpfile") { planned.options.dump_file = "samples"; }
  SECTION("-sync on: the clock goes around each one") { planned.options.synchronize_each = true; }
  CHECK(planned.point().needed_bytes == 16 + times);
}

TEST_CASE("-sync on: the clock is read around each repetition that completes separately") {
  const auto synchronized = [](const Spec& spec, std::size_t table = 0) {
    Planned planned{.catalog = {spec}};
    planned.options.synchronize_each = true;
    return planned.plan(table).synchronized;
  };
  CHECK(synchronized(bcast));
  CHECK_FALSE(synchronized(pingpong));
  CHECK_FALSE(synchronized(barrier));
  Spec fenced = put;
  fenced.kind = Kind::collective;
  CHECK_FALSE(synchronized(fenced, 0));
  CHECK(synchronized(fenced, 1));
  CHECK_FALSE(Planned{.catalog = {bcast}}.plan().synchronized);
}

TEST_CASE("planned counts follow the policy") {
  Planned planned{.catalog = {bcast, allreduce}, .ranks = 3};
  planned.options.min_processes = 3;
  planned.options.settings.overall_volume = 1000;
  planned.options.settings.repetitions = 100;
  planned.options.lengths = {0, 8, 16, 2000};
  using enum IterationPolicy;
  const auto counts = [&](IterationPolicy policy, std::size_t table) {
    planned.options.settings.policy = policy;
    return planned_counts(planned.plan(table));
  };
  CHECK(counts(dynamic, 0) == Counts{100, 100, 62, 1});
  CHECK(counts(multiple_np, 0) == Counts{99, 99, 60, 3});
  CHECK(counts(off, 0) == Counts{100, 100, 100, 100});
  CHECK(counts(automatic, 0) == counts(multiple_np, 0));
  CHECK(counts(automatic, 1) == counts(dynamic, 1));
  planned.options.settings.policy = automatic;
  CHECK(planned.plan(0).policy == multiple_np);
  CHECK(planned.plan(1).policy == dynamic);
}

TEST_CASE("a point beyond -mem is a failure with the memory that it needs") {
  Planned planned = of_length(bcast, 600);
  planned.options.lengths = {600, 8};
  planned.options.settings.max_memory = 1199;
  const TablePlan plan = planned.plan();
  REQUIRE(plan.points[0].failure);
  CHECK(plan.points[0].failure->cause == Cause::out_of_memory);
  CHECK(plan.points[0].failure->bytes == 600);
  CHECK(plan.points[0].failure->needed_bytes == 1200);
  CHECK(plan.points[0].failure->detail == "above the limit set by -mem");
  CHECK_FALSE(plan.points[1].failure);
  planned.options.settings.max_memory = 1200;
  CHECK_FALSE(planned.point().failure);
}

TEST_CASE("the memory of checks and samples counts against -mem") {
  Planned planned = of_length(bcast, 600);
  planned.options.settings.max_memory = 1200;
  SECTION("images") { planned.options.check = true; }
  SECTION("samples") { planned.options.show_tail = true; }
  REQUIRE(planned.point().failure);
  CHECK(planned.point().failure->cause == Cause::out_of_memory);
}

TEST_CASE("sizes that exceed every number are out of memory") {
  Planned planned = of_length(alltoall, std::int64_t{1} << 62);
  planned.catalog[0].send_modes.any = true;
  planned.options.settings.max_memory = std::int64_t{1} << 62;
  SECTION("buffers") {}
  SECTION("images") { planned.options.check = true; }
  SECTION("a series of times") { planned.options.show_tail = true; }
  SECTION("slots") { planned.off_cache = OffCache{.cache_size = std::int64_t{1} << 62, .cache_line = 64}; }
  SECTION("buffered messages") {
    planned.options.send_mode = SendMode::buffered;
    planned.options.in_flight = 1000000;
  }
  const Point point = planned.point();
  REQUIRE(point.failure);
  CHECK(point.failure->cause == Cause::out_of_memory);
  CHECK(point.needed_bytes > planned.options.settings.max_memory);
}

TEST_CASE("memory that the machine lacks is another failure than the limit") {
  const Failure failure =
      out_of_memory({.bytes = 8, .geometry = {}, .needed_bytes = 100, .failure = {}}, false);
  CHECK(failure.cause == Cause::out_of_memory);
  CHECK(failure.bytes == 8);
  CHECK(failure.needed_bytes == 100);
  CHECK(failure.detail == "not enough memory left on the machine");
  const Point point{.bytes = 8, .geometry = {}, .needed_bytes = 100, .failure = {}};
  CHECK(out_of_memory(point, false, true).detail == "not enough memory left on the GPU or the machine");
  CHECK(out_of_memory(point, true, true).detail == out_of_memory(point, true).detail);
  CHECK(out_of_memory(point, true).detail == "above the limit set by -mem");
  for (const bool beyond_limit : {false, true}) {
    for (const bool on_gpu : {false, true}) {
      const Failure one = out_of_memory(point, beyond_limit, on_gpu);
      CHECK((one.cause == Cause::out_of_memory && one.needed_bytes == 100));
    }
  }
}

TEST_CASE("counts beyond int need large-count calls") {
  Planned planned = of_length(bcast, max_int + 1);
  planned.options.settings.max_memory = std::int64_t{1} << 50;
  CHECK_FALSE(planned.point().failure);
  planned.large_counts = false;
  REQUIRE(planned.point().failure);
  CHECK(planned.point().failure->cause == Cause::int_overflow);
  CHECK(planned.point().failure->bytes == max_int + 1);
  planned.options.lengths = {max_int};
  CHECK_FALSE(planned.point().failure);
  // A point that also exceeds the memory is out of memory.
  planned.options.lengths = {max_int + 1};
  planned.options.settings.max_memory = gibibyte;
  CHECK(planned.point().failure->cause == Cause::out_of_memory);
}

TEST_CASE("displacements in bytes overflow before displacements in elements") {
  const auto overflows = [](Displacements displacements, std::int64_t bytes) {
    Spec spec = alltoall;
    spec.displacements = displacements;
    Planned planned = of_length(spec, bytes);
    planned.options.data = {DataType::double_precision, Contiguity::base};
    planned.options.settings.max_memory = std::int64_t{1} << 60;
    planned.large_counts = false;
    return planned.point().failure.has_value();
  };
  constexpr std::int64_t four_ranks_in_bytes = (max_int / 4 + 1) / 8 * 8;
  CHECK_FALSE(overflows(Displacements::bytes, four_ranks_in_bytes - 8));
  CHECK(overflows(Displacements::bytes, four_ranks_in_bytes));
  CHECK_FALSE(overflows(Displacements::elements, four_ranks_in_bytes));
  CHECK(overflows(Displacements::elements, 8 * four_ranks_in_bytes));
  CHECK_FALSE(overflows(Displacements::none, 8 * four_ranks_in_bytes));
}

TEST_CASE("the warm-up of a table is a short message of at least one element") {
  const auto warm_up = [](const Spec& spec, Element element) {
    Planned planned{.catalog = {spec}};
    planned.options.data = planned.options.reduction = element;
    return planned.plan().warm_up;
  };
  CHECK(warm_up(bcast, {})->bytes == 4);
  CHECK(warm_up(allreduce, {DataType::double_precision, Contiguity::base})->bytes == 8);
  CHECK(warm_up(bcast, {DataType::float16, Contiguity::base})->bytes == 4);
  CHECK(warm_up(barrier, {})->bytes == 0);
  CHECK_FALSE(warm_up(file_write, {}));
}

TEST_CASE("no warm-up with -warm_up off or without memory for it") {
  Planned planned{.catalog = {bcast}};
  SECTION("-warm_up off") { planned.options.warm_up = false; }
  SECTION("no memory") { planned.options.settings.max_memory = 7; }
  CHECK_FALSE(planned.plan().warm_up);
  CHECK_FALSE(planned.plan().failure);
}

TEST_CASE("how a point is sampled follows from the options and the benchmark") {
  const auto steps = [](Planned planned) {
    planned.options.warm_up = false;
    planned.options.settings.policy = IterationPolicy::off;
    planned.options.settings.repetitions = 40;
    planned.options.settings.non_aggregate_repetitions = 40;
    planned.options.interleaving = Interleaving{.segments = 4, .host = {}, .port = {}, .token = {}};
    const Schedule schedule = planned.schedule();
    const TablePlan plan = schedule.plan(schedule.tables().at(0));
    const auto sampling = schedule.sampling(plan, plan.points.at(0));
    std::vector<CompletedBatch> samples;
    Counts counts;
    while (counts.size() < 100) {
      const Decision next = sampling->next(samples);
      if (next.answer != Decision::Answer::run) break;
      samples.push_back({.plan = next.plan, .seconds = 1});
      counts.push_back(next.plan.repetitions);
    }
    return counts;
  };
  CHECK(steps(of_length(allreduce, 8)) == Counts{10, 10, 10, 10});
  CHECK(steps(of_length(file_write, 8)) == Counts{40});
  CHECK(steps(of_length(put, 8)) == Counts{40});  // aggregate
  // Whole rounds of the root.
  CHECK(steps(of_length(bcast, 8)) == Counts{8, 12, 8, 12});
  Planned still = of_length(bcast, 8);
  still.options.root_shift = false;
  CHECK(steps(still) == Counts{10, 10, 10, 10});
  // And of the slots.
  Planned moving = of_length(allreduce, 8);
  moving.off_cache = OffCache{.cache_size = 1024, .cache_line = 64};
  const std::int64_t slots = moving.point().geometry.slots;
  for (const std::int64_t count : steps(moving)) CHECK(count >= std::min<std::int64_t>(slots, 40));
}

TEST_CASE("a fixed load counts when the time of a repetition is estimated") {
  Spec overlapping = file_write;
  overlapping.aggregation = Aggregation::none;
  overlapping.overlap = Overlap::fixed;
  Planned planned = of_length(overlapping, 8);
  planned.options.settings.target_cpu_seconds = 11;
  const Schedule schedule = planned.schedule();
  const TablePlan plan = schedule.plan(schedule.tables().at(0));
  const BatchPlan trial{.purpose = Purpose::trial, .repetitions = 1};
  const CompletedBatch samples[] = {{trial, 0.5}, {trial, 0.5}};
  const Decision next = schedule.sampling(plan, plan.points.at(0))->next(samples);
  CHECK(next.answer == Decision::Answer::time_out);
  CHECK(next.seconds_each == 11.5);
}
