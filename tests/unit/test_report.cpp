// The reporters: text against the structure of the reference outputs, records against schema/examples.
#include <algorithm>
#include <catch2/catch.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <sstream>

#include "figure_lines.h"
#include "plan/groups.h"
#include "report/json_writer.h"
#include "report/records.h"
#include "report/tee.h"
#include "report/text.h"

using namespace openimb;

namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

std::string contents(std::FILE* file) {
  std::string text;
  REQUIRE(std::fseek(file, 0, SEEK_SET) == 0);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  return text;
}

/// Returns what a reporter writes while `use` calls it.
template <class Some, class... Arguments>
std::string written(const std::function<void(Reporter&)>& use, const Arguments&... arguments) {
  const File file(std::tmpfile());
  REQUIRE(file);
  Some reporter(file.get(), arguments...);
  use(reporter);
  CHECK(reporter.ok());
  return contents(file.get());
}

std::string text_of(const std::function<void(Reporter&)>& use, const StatedOptions& stated = {}) {
  return written<TextReporter>(use, stated);
}
// Arbitrary options, because a record just lists the options that its writer gets.
OptionsInForce some_options() {
  return {{"check", false},
          {"time", 0.5},
          {"map", {}},
          {"iter", "1000,40,100"},
          {"msgsize", std::vector<std::int64_t>{0, 8}},
          {"info", std::vector<std::string>{"accumulate_ops=same_op"}}};
}
std::string records_of(const std::function<void(Reporter&)>& use,
                       const OptionsInForce& options = some_options()) {
  return written<RecordReporter>(use, std::string("run.jsonl"), options);
}

constexpr Spec pingpong{.name = "PingPong", .kind = Kind::single_transfer, .time_factor = 0.5};
constexpr Spec sendrecv{.name = "Sendrecv", .kind = Kind::parallel_transfer, .messages_per_process = 2};
constexpr Spec uniband{
    .name = "Uniband", .kind = Kind::parallel_transfer, .table = &tables::rate, .message_rate = true};
constexpr Spec allreduce{.name = "Allreduce", .kind = Kind::collective, .reduction = true};
constexpr Spec barrier{
    .name = "Barrier", .kind = Kind::synchronization, .send = Messages::none, .receive = Messages::none};
constexpr Spec bidir_put{
    .name = "Bidir_put", .kind = Kind::single_transfer, .aggregation = Aggregation::non_aggregate_first};
constexpr Spec shared_load{.name = "Shared_load",
                           .kind = Kind::single_transfer,
                           .access = Access::passive_target,
                           .one_sided = {.window = WindowKind::shared}};
constexpr Spec one_put_all{.name = "One_put_all", .kind = Kind::multiple_transfer};
constexpr Spec iallreduce{
    .name = "Iallreduce", .table = &tables::overlap, .reduction = true, .overlap = Overlap::matched};
constexpr Spec ibarrier{.name = "Ibarrier",
                        .kind = Kind::synchronization,
                        .table = &tables::overlap,
                        .overlap = Overlap::matched};
constexpr Spec partitioned_overlap{.name = "Partitioned_overlap",
                                   .kind = Kind::single_transfer,
                                   .table = &tables::overlap,
                                   .time_factor = 0.5,
                                   .partitioned = true,
                                   .overlap = Overlap::matched};
constexpr Spec passive_put{.name = "Truly_passive_put",
                           .kind = Kind::single_transfer,
                           .table = &tables::passive,
                           .one_sided = {.computing_target = true}};

Table table_of(const Spec& spec, Grouping grouping, Multi multi = Multi::off) {
  return {.spec = spec, .grouping = std::move(grouping), .multi = multi};
}
Grouping all_of(int processes) { return make_grouping(processes, processes, false, {}); }

Row row_of(double t_min, double t_max, double t_avg, double bytes_per_second = std::nan("")) {
  Row row;
  row[Figure::time_min] = t_min / 1e6;
  row[Figure::time_max] = t_max / 1e6;
  row[Figure::time_avg] = t_avg / 1e6;
  row[Figure::bytes_per_second] = bytes_per_second;
  return row;
}

Row overlapped_row() {
  Row row = row_of(1.75, 2, 1.875);
  row[Figure::time_overlapped] = 3e-6;
  row[Figure::time_pure] = 2e-6;
  row[Figure::time_cpu] = 1.5e-6;
  row[Figure::overlap_percent] = 33.3125;
  row[Figure::load_drift] = -0.0625;
  return row;
}
Failure failed(Failure::Cause cause, std::int64_t bytes = 0, std::int64_t needed_bytes = 0,
               std::string detail = "") {
  return {.cause = cause, .bytes = bytes, .needed_bytes = needed_bytes, .detail = std::move(detail)};
}
Ending make_ending(std::int64_t measured, std::int64_t failures, std::int64_t defects) {
  return {.reason = "", .measured = measured, .failed = failures, .defects = defects};
}
Ending stopped(Ending::State state, std::string reason, std::int64_t measured, std::int64_t failures,
               std::int64_t defects) {
  return {.state = state,
          .reason = std::move(reason),
          .measured = measured,
          .failed = failures,
          .defects = defects};
}
Measurement one_row(std::int64_t bytes, std::int64_t repetitions, Row row) {
  Measurement measurement{.bytes = bytes, .repetitions = repetitions, .rows = {}};
  measurement.rows.push_back(std::move(row));
  return measurement;
}

std::string head_of(const Table& table) {
  return text_of([&](Reporter& out) { out.open_table(table); });
}
std::string lines_of(const Table& table, const Measurement& measurement) {
  return text_of([&](Reporter& out) { out.row(table, measurement); });
}
std::string failure_of(const Table& table, const Failure& failure) {
  return text_of([&](Reporter& out) { out.failure(table, failure); });
}
std::string end_of(const Ending& ending) {
  return text_of([&](Reporter& out) { out.end(ending); });
}

RunFacts example_facts() {
  RunFacts facts;
  facts.component = "MPI1";
  facts.quirks = {.blank_after_command = true, .blank_comments = true, .blank_after_type = true};
  facts.part = "MPI-1 part";
  facts.version = "0.1.0";
  facts.date = "Sat Nov 21 07:05:53 2026";
  facts.date_iso = "2026-11-21T07:05:53Z";
  facts.machine = "x86_64";
  facts.system = "Linux";
  facts.release = "6.1.0-13-amd64";
  facts.kernel = "#1 SMP PREEMPT_DYNAMIC";
  facts.mpi_version = "4.1";
  facts.mpi_library = "MPICH Version: 4.3.0";
  facts.thread_level = "MPI_THREAD_SINGLE";
  facts.clock = "MPI_Wtime";
  facts.clock_resolution = 1e-9;
  facts.compiler = "GNU 12.2.0";
  facts.build_flags = "-O3 -DNDEBUG";
  facts.command_line = {"./IMB-MPI1", "-msglog", "3", "PingPong", "Allreduce"};
  facts.ranks = {{"node1", "0-3"}, {"node2", ""}};
  facts.environment = {{"UCX_TLS", "shm,self"}};
  facts.benchmarks = {"PingPong", "Allreduce"};
  return facts;
}
Options example_options() {
  Options options;
  options.settings.max_message_log = 3;
  return options;
}

}  // namespace

TEST_CASE("banner") {
  const auto begin = [](Reporter& out) { out.begin(example_facts(), example_options()); };
  CHECK(text_of(begin, {.settings = {"MAXMSGLOG=3"}, .lines = {}}) ==
        "#----------------------------------------------------------------\n"
        "#    OpenIMB 0.1.0, MPI-1 part, compatible with Intel(R) MPI Benchmarks 4.0\n"
        "#----------------------------------------------------------------\n"
        "# Date                  : Sat Nov 21 07:05:53 2026\n"
        "# Machine               : x86_64\n"
        "# System                : Linux\n"
        "# Release               : 6.1.0-13-amd64\n"
        "# Version               : #1 SMP PREEMPT_DYNAMIC\n"
        "# MPI Version           : 4.1\n"
        "# MPI Library           : MPICH Version: 4.3.0\n"
        "# MPI Thread Environment: MPI_THREAD_SINGLE\n"
        "\n"
        "\n"
        "# Calling sequence was: \n"
        "\n"
        "# ./IMB-MPI1 -msglog 3 PingPong Allreduce \n"
        "\n"
        "# Minimum message length in bytes:   0\n"
        "# Maximum message length in bytes:   8\n"
        "#\n"
        "# MPI_Datatype                   :   MPI_BYTE \n"
        "# MPI_Datatype for reductions    :   MPI_FLOAT \n"
        "# MPI_Op                         :   MPI_SUM  \n"
        "# Mbytes/sec                     :   1048576 bytes per second\n"
        "# Settings                       :   MAXMSGLOG=3\n"
        "# \n"
        "# \n"
        "\n"
        "# List of Benchmarks to run:\n"
        "\n"
        "# PingPong\n"
        "# Allreduce\n");
}

TEST_CASE("banner with all optional lines") {
  RunFacts facts = example_facts();
  facts.off_cache = OffCache{.cache_size = 33554432, .cache_line = 64};
  facts.command_line = {"IMB-MPI1", "two\nlines"};
  Options options = example_options();
  options.lengths = {7, 100};
  options.data.contiguity = Contiguity::resized;
  options.reduction = {DataType::double_precision, Contiguity::base_vector};
  options.check = true;
  options.bytes_per_megabyte = 1e6;
  options.warnings = {"-nonsense is ignored"};
  const std::string text =
      text_of([&](Reporter& out) { out.begin(facts, options); },
              {.settings = {"N_BARR=3", "MAXMSGLOG=3"}, .lines = {{"Sends", "-send_mode buffered"}}});
  CHECK(text.find("# IMB-MPI1 two lines \n"
                  "\n"
                  "# Message lengths were user defined\n"
                  "#\n"
                  "# MPI_Datatype                   :   MPI_BYTE (resize) \n"
                  "# MPI_Datatype for reductions    :   MPI_DOUBLE (base_vec) \n"
                  "# MPI_Op                         :   MPI_SUM  \n"
                  "# Mbytes/sec                     :   1000000 bytes per second\n"
                  "# Settings                       :   N_BARR=3 MAXMSGLOG=3\n"
                  "# Off-cache mode                 :   cache of 33554432 bytes, lines of 64 bytes\n"
                  "# Sends                          :   -send_mode buffered\n"
                  "# Results                        :   verified in a separate untimed pass\n"
                  "# \n"
                  "# \n"
                  "\n") != std::string::npos);
  CHECK(text.find("ignored") == std::string::npos);
  const std::string standard = text_of([](Reporter& out) { out.begin(example_facts(), {}); });
  CHECK(standard.find("# Settings                       :   standard mode\n") != std::string::npos);
}

TEST_CASE("the banner of IMB-IO") {
  RunFacts facts = example_facts();
  facts.component = "IO";
  facts.quirks = {};
  facts.part = "MPI-IO part";
  facts.command_line = {"./IMB-IO"};
  facts.benchmarks = {"S_IWrite_Indv"};
  facts.file = "/scratch/IMB_out";
  facts.file_system = "lustre";
  facts.load_flops = 941170000;
  Options options;
  options.settings = options.defaults.settings = file_defaults.settings;
  const auto text = [&] { return text_of([&](Reporter& out) { out.begin(facts, options); }); };
  CHECK(text().find("# Calling sequence was: \n\n# ./IMB-IO\n"
                    "\n"
                    "# Minimum io portion in bytes:   0\n"
                    "# Maximum io portion in bytes:   16777216\n"
                    "#\n"
                    "# Mbytes/sec                     :   1048576 bytes per second\n"
                    "# Settings                       :   standard mode\n"
                    "# File                           :   /scratch/IMB_out (lustre)\n"
                    "# Completion of writes           :   MPI_File_sync, MPI_Barrier, MPI_File_sync\n"
                    "#\n"
                    "#\n"
                    "\n"
                    "# List of Benchmarks to run:\n"
                    "\n"
                    "# S_IWrite_Indv\n"
                    "\n"
                    "\n"
                    "# For nonblocking benchmarks:\n"
                    "\n"
                    "# Function CPU_Exploit obtains an undisturbed\n"
                    "# performance of  941.17 MFlops\n") != std::string::npos);
  options.file_sync = FileSync::never;
  options.reorder = 2;
  facts.load_flops.reset();
  CHECK(text().find("# Completion of writes           :   MPI_Barrier (-fsync never)\n"
                    "# Files that are read            :   were written by rank + 2\n") != std::string::npos);
  CHECK(text().find("CPU_Exploit") == std::string::npos);
}

TEST_CASE("heads of all kinds of tables") {
  CHECK(head_of(table_of(pingpong, all_of(2))) ==
        "\n"
        "#---------------------------------------------------\n"
        "# Benchmarking PingPong \n"
        "# #processes = 2 \n"
        "#---------------------------------------------------\n"
        "       #bytes #repetitions      t[usec]   Mbytes/sec\n");
  CHECK(head_of(table_of(sendrecv, all_of(4))) ==
        "\n"
        "#-----------------------------------------------------------------------------\n"
        "# Benchmarking Sendrecv \n"
        "# #processes = 4 \n"
        "#-----------------------------------------------------------------------------\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n");
  CHECK(head_of(table_of(allreduce, all_of(4))) ==
        "\n"
        "#----------------------------------------------------------------\n"
        "# Benchmarking Allreduce \n"
        "# #processes = 4 \n"
        "#----------------------------------------------------------------\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n");
  CHECK(head_of(table_of(uniband, all_of(2))) ==
        "\n"
        "#---------------------------------------------------\n"
        "# Benchmarking Uniband \n"
        "# #processes = 2 \n"
        "#---------------------------------------------------\n"
        "       #bytes #repetitions   Mbytes/sec      Msg/sec\n");
  CHECK(head_of(table_of(barrier, all_of(4))) ==
        "\n"
        "#---------------------------------------------------\n"
        "# Benchmarking Barrier \n"
        "# #processes = 4 \n"
        "#---------------------------------------------------\n"
        " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n");
  CHECK(head_of(table_of(iallreduce, all_of(2))) ==
        "\n"
        "#-----------------------------------------------------------------------------\n"
        "# Benchmarking Iallreduce \n"
        "# #processes = 2 \n"
        "#-----------------------------------------------------------------------------\n"
        "       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]\n");
  CHECK(head_of(table_of(passive_put, all_of(2))) ==
        "\n"
        "#---------------------------------------------------\n"
        "# Benchmarking Truly_passive_put \n"
        "# #processes = 2 \n"
        "#---------------------------------------------------\n"
        "       #bytes #repetitions t_pure[usec] t_ovrl[usec]\n");
}

TEST_CASE("the mode is below the head") {
  Table table = table_of(bidir_put, all_of(2));
  for (const auto& [transfers, name] :
       {std::pair{Transfers::aggregate, "AGGREGATE"}, {Transfers::non_aggregate, "NON-AGGREGATE"}}) {
    table.transfers = transfers;
    CHECK(head_of(table) ==
          "\n"
          "#---------------------------------------------------\n"
          "# Benchmarking Bidir_put \n"
          "# #processes = 2 \n"
          "#---------------------------------------------------\n"
          "#\n"
          "#    MODE: " +
              std::string(name) +
              " \n"
              "#\n"
              "       #bytes #repetitions      t[usec]   Mbytes/sec\n");
  }
}

TEST_CASE("the banner has notes below their benchmark") {
  RunFacts facts = example_facts();
  facts.component = "RMA";
  facts.quirks = {.blank_after_command = true, .blank_comments = true};
  facts.benchmarks = {"Bidir_put", "Compare_and_swap", "Exchange_put"};
  facts.benchmark_notes = {"", "#     Uses MPI_INT data type\n", ""};
  const std::string text = text_of([&](Reporter& out) { out.begin(facts, {}); });
  CHECK(text.ends_with("# Bidir_put\n# Compare_and_swap\n#     Uses MPI_INT data type\n# Exchange_put\n"));
}

TEST_CASE("waiting processes, one and many") {
  CHECK(head_of(table_of(pingpong, make_grouping(5, 2, false, {}))) ==
        "\n"
        "#---------------------------------------------------\n"
        "# Benchmarking PingPong \n"
        "# #processes = 2 \n"
        "# ( 3 additional processes waiting in MPI_Barrier)\n"
        "#---------------------------------------------------\n"
        "       #bytes #repetitions      t[usec]   Mbytes/sec\n");
  CHECK(head_of(table_of(allreduce, make_grouping(5, 4, false, {})))
            .find("# #processes = 4 \n# ( 1 additional process waiting in MPI_Barrier)\n#---") !=
        std::string::npos);
}

TEST_CASE("groups: -multi 0 and -multi 1") {
  CHECK(head_of(table_of(pingpong, make_grouping(5, 2, true, {}), Multi::summary)) ==
        "\n"
        "#-----------------------------------------------------------------------------\n"
        "# Benchmarking Multi-PingPong \n"
        "# ( 2 groups of 2 processes each running simultaneous ) \n"
        "# Group  0:     0    1\n"
        "# \n"
        "# Group  1:     2    3\n"
        "# \n"
        "# ( 1 additional process waiting in MPI_Barrier)\n"
        "#-----------------------------------------------------------------------------\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n");
  const Table per_group = table_of(pingpong, make_grouping(4, 2, true, {}), Multi::each_group);
  CHECK(head_of(per_group) ==
        "\n"
        "#----------------------------------------------------------------\n"
        "# Benchmarking Multi-PingPong \n"
        "# ( 2 groups of 2 processes each running simultaneous ) \n"
        "# Group  0:     0    1\n"
        "# \n"
        "# Group  1:     2    3\n"
        "# \n"
        "#----------------------------------------------------------------\n"
        "        Group       #bytes #repetitions      t[usec]   Mbytes/sec\n");
  Measurement measurement{
      .bytes = 1, .repetitions = 10, .rows = {row_of(84, 84.08, 84, 10000), row_of(1, 205.97, 1)}};
  measurement.rows[0].group = 0;
  measurement.rows[1].group = 1;
  CHECK(lines_of(per_group, measurement) ==
        "\n"
        "            0            1           10        84.08         0.01\n"
        "            1            1           10       205.97         0.00\n");
  CHECK(head_of(table_of(barrier, make_grouping(4, 4, true, {}), Multi::each_group)) ==
        "\n"
        "#----------------------------------------------------------------\n"
        "# Benchmarking Barrier \n"
        "# #processes = 4 \n"
        "#----------------------------------------------------------------\n"
        "        Group #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n");
}

TEST_CASE("lists of ranks are 16 a line, aligned under the first") {
  CHECK(
      head_of(table_of(allreduce, make_grouping(36, 18, true, {}), Multi::summary))
          .find(
              "# Group  0:     0    1    2    3    4    5    6    7    8    9   10   11   12   13   14   15\n"
              "#              16   17\n"
              "# \n"
              "# Group  1:    18   19   20   21   22   23   24   25   26   27   28   29   30   31   32   33\n"
              "#              34   35\n"
              "# \n"
              "#---") != std::string::npos);
}

TEST_CASE("a map") {
  const Map map{.rows = 2, .columns = 3};
  CHECK(head_of(table_of(allreduce, make_grouping(6, 4, true, map), Multi::summary)) ==
        "\n"
        "#----------------------------------------------------------------\n"
        "# Benchmarking Allreduce \n"
        "# #processes = 4; rank order (rowwise): \n"
        "#     0    2    4\n"
        "# \n"
        "#     1\n"
        "# \n"
        "# ( 2 additional processes waiting in MPI_Barrier)\n"
        "#----------------------------------------------------------------\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n");
  CHECK(head_of(table_of(allreduce, make_grouping(6, 2, true, map), Multi::summary))
            .find("# ( 3 groups of 2 processes each running simultaneous ) \n"
                  "# Group  0:     0    2\n"
                  "# \n"
                  "# Group  1:     3    5\n"
                  "# \n"
                  "# Group  2:     4    1\n"
                  "# \n"
                  "#---") != std::string::npos);
  CHECK(head_of(table_of(allreduce, make_grouping(40, 40, false, Map{.rows = 2, .columns = 20})))
            .find("(rowwise): \n"
                  "#     0    2    4    6    8   10   12   14   16   18   20   22   24   26   28   30\n"
                  "#    32   34   36   38\n"
                  "# \n"
                  "#     1    3") != std::string::npos);
}

TEST_CASE("rows of all kinds of tables") {
  CHECK(
      lines_of(table_of(pingpong, all_of(2)), one_row(4194304, 10, row_of(340, 341.5, 341, 12281704216.7))) ==
      "      4194304           10       341.50     11712.75\n");
  CHECK(lines_of(table_of(sendrecv, all_of(2)),
                 one_row(8, 1000, row_of(1.294, 1.325, 1.31, 12.11 * 1048576))) ==
        "            8         1000         1.29         1.32         1.31        12.11\n");
  CHECK(lines_of(table_of(allreduce, all_of(2)), one_row(4, 20, row_of(0.36, 0.41, 0.39))) ==
        "            4           20         0.36         0.41         0.39\n");
  CHECK(lines_of(table_of(barrier, all_of(4)), one_row(0, 10, row_of(7205.97, 7999.23, 7604.22))) ==
        "           10      7205.97      7999.23      7604.22\n");
  Row rate = row_of(1, 2, 1.5, 1048576.0);
  rate[Figure::messages_per_second] = 1234567.6;
  CHECK(lines_of(table_of(uniband, all_of(2)), one_row(1, 100, rate)) ==
        "            1          100         1.00      1234568\n");
  CHECK(lines_of(table_of(iallreduce, all_of(2)), one_row(8, 100, overlapped_row())) ==
        "            8          100         3.00         2.00         1.50        33.31\n");
  CHECK(lines_of(table_of(ibarrier, all_of(2)), one_row(0, 100, overlapped_row())) ==
        "          100         3.00         2.00         1.50        33.31\n");
  Row passive = row_of(1.5, 1.75, 1.625);
  passive[Figure::time_overlapped] = 2.25e-6;
  CHECK(lines_of(table_of(passive_put, all_of(2)), one_row(8, 100, passive)) ==
        "            8          100         1.75         2.25\n");
}

TEST_CASE("a load that has drifted is a note after the blank line that ends the table") {
  const Table table = table_of(iallreduce, all_of(2));
  const auto row_with = [](double drift) {
    Row row = overlapped_row();
    row[Figure::load_drift] = drift;
    return row;
  };
  const auto written_rows = [&](double first, double second, bool close) {
    return text_of([&](Reporter& out) {
      out.row(table, one_row(8, 100, row_with(first)));
      out.row(table, one_row(16, 100, row_with(second)));
      if (close) out.close_table(table);
    });
  };
  const std::string rows = written_rows(0.1, -0.1, true);
  CHECK(rows == written_rows(0.1, -0.1, false));
  CHECK(written_rows(0.256, -0.5, true) ==
        rows +
            "\n# note: 8 B: CPU load ran 26 % slower than calibrated; t_CPU "
            "and overlap of this row are unreliable\n"
            "# note: 16 B: CPU load ran 50 % faster than calibrated; "
            "t_CPU and overlap of this row are unreliable\n");
  CHECK(written_rows(0.256, -0.5, false) == rows);
}

TEST_CASE("fewer messages in flight than requested cause a note after the table, and are in the records") {
  const Table table = table_of(uniband, all_of(2));
  Options options;
  options.settings.max_memory = 10737418;  // -mem 0.01
  Measurement measured = one_row(100000, 2, row_of(1, 2, 1.5));
  const auto use = [&](Reporter& out) {
    out.begin({}, options);
    out.row(table, measured);
    out.close_table(table);
    out.end({});
  };
  CHECK(text_of(use).find("in flight instead") == std::string::npos);
  CHECK(records_of(use).find("\"in_flight\":") == std::string::npos);
  measured.fewer_in_flight = 106;
  const char* const note =
      "\n# note: 100000 B: 106 messages in flight instead of 256, which exceed -mem 0.01\n";
  CHECK(text_of(use).find(note) != std::string::npos);
  CHECK(records_of(use).find("\"in_flight\":106,\"bytes\":100000,") != std::string::npos);
}

TEST_CASE("a note names its row") {
  Row row = overlapped_row();
  row[Figure::load_drift] = 0.5;
  row.group = 3;
  const auto note_of = [&](const Table& table) {
    const std::string text = text_of([&](Reporter& out) {
      out.row(table, one_row(64, 1, row));
      out.close_table(table);
    });
    return text.substr(text.find("\n\n# note") + 2);
  };
  const std::string rest =
      "CPU load ran 50 % slower than calibrated; t_CPU and overlap of this row are unreliable\n";
  CHECK(note_of(table_of(ibarrier, all_of(2))) == "# note: " + rest);
  CHECK(note_of(table_of(iallreduce, make_grouping(4, 2, true, {}), Multi::each_group)) ==
        "# note: 64 B, group 3: " + rest);
}

TEST_CASE("notes on a table that was not closed come before the next text") {
  const Table table = table_of(iallreduce, all_of(2));
  Row row = overlapped_row();
  row[Figure::load_drift] = 0.5;
  const auto begun = [&](Reporter& out) { out.row(table, one_row(8, 1, row)); };
  const std::string next_table = text_of([&](Reporter& out) {
    begun(out);
    out.open_table(table);
    out.close_table(table);
  });
  CHECK(next_table.find("# note: 8 B") < next_table.find("# Benchmarking"));
  CHECK(next_table.find("# note", next_table.find("# note") + 1) == std::string::npos);
  const std::string ended_at_once = text_of([&](Reporter& out) {
    begun(out);
    out.end(stopped(Ending::State::interrupted, "SIGTERM", 1, 0, 0));
  });
  CHECK(ended_at_once.find("# note: 8 B") < ended_at_once.find("# Interrupted"));
}

TEST_CASE("a blank separates figures that are as wide as their column") {
  Options options;
  options.bytes_per_megabyte = 1;
  options.passes = Passes{};
  Table table = table_of(uniband, all_of(2));
  table.precision = table.defects = true;
  Row row = row_of(1, 12345678901.25, 1, 12345678901.25);
  row[Figure::messages_per_second] = 12345678901234;
  row.defects = 12345678901;
  row.passes = SampleStatistics{.half_width = 123456789012.0};
  const std::string text = text_of([&](Reporter& out) {
    out.begin(example_facts(), options);
    out.row(table, one_row(std::int64_t{1} << 62, 1000000000000, row));
  });
  const std::string line = "\n 4611686018427387904 1000000000000 12345678901.25 12345678901234";
  CHECK(text.find(line + " 12345678901200.00% 12345678901.00\n") != std::string::npos);
}

TEST_CASE("throughput in the unit that was chosen") {
  Options options;
  options.bytes_per_megabyte = 1e6;
  const std::string text = text_of([&](Reporter& out) {
    out.begin(example_facts(), options);
    out.row(table_of(pingpong, all_of(2)), one_row(1, 2, row_of(1, 1, 1, 5e6)));
  });
  CHECK(text.substr(text.size() - 53) == "            1            2         1.00         5.00\n");
}

TEST_CASE("defects are the last column") {
  Table table = table_of(pingpong, all_of(2));
  table.defects = true;
  CHECK(head_of(table).find("\n       #bytes #repetitions      t[usec]   Mbytes/sec      defects\n") !=
        std::string::npos);
  CHECK(head_of(table).substr(1, 66) == "#" + std::string(64, '-') + "\n");
  Row row = row_of(1, 1, 1, 0);
  row.defects = 12;
  CHECK(lines_of(table, one_row(64, 4, row)) ==
        "           64            4         1.00         0.00        12.00\n");
}

TEST_CASE("the tail is below its row") {
  Table table = table_of(allreduce, all_of(2));
  Row row = row_of(1, 2, 1.5);
  Tail tail{};
  for (std::size_t i = 0; i < tail.size(); ++i) tail[i] = (1.17 + 0.03 * static_cast<double>(i)) * 1e-6;
  row.tail = tail;
  row.repetition_seconds = {1e-6};
  const std::string plain = "            4           20         1.00         2.00         1.50\n";
  CHECK(lines_of(table, one_row(4, 20, row)) == plain);  // -dumpfile alone
  table.tail = true;
  CHECK(lines_of(table, one_row(4, 20, row)) ==
        plain + "[ 1.17, 1.20, 1.23, 1.26, 1.29, 1.32, 1.35, 1.38, 1.41, 1.44, 1.47, 1.50 ]\n");
}

TEST_CASE("failure rows") {
  const Table table = table_of(pingpong, all_of(2));
  CHECK(failure_of(table, failed(Failure::Cause::out_of_memory, 2097152, 4194304)) ==
        "      2097152 out-of-mem.; needed X=   0.004 GB; use flag \"-mem X\" or MAX_MEM_USAGE>=X "
        "(IMB_mem_info.h)\n");
  CHECK(failure_of(table, failed(Failure::Cause::int_overflow, 8)) ==
        "            8 int-overflow.; The production rank*size caused int overflow for given sample\n");
  CHECK(failure_of(table, failed(Failure::Cause::time_out, 8)) ==
        "            8 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use \"-time X\" "
        "or "
        "SECS_PER_SAMPLE (IMB_settings.h) to "
        "increase time limit.\n");
  CHECK(failure_of(table_of(allreduce, make_grouping(4, 2, true, {}), Multi::each_group),
                   failed(Failure::Cause::int_overflow, 8)) ==
        "\n"
        "                         8 int-overflow.; The production rank*size caused int overflow for given "
        "sample\n");
  CHECK(failure_of(table, {.cause = Failure::Cause::no_space,
                           .bytes = 16777216,
                           .needed_bytes = 1610612736,
                           .free_bytes = 805306368,
                           .detail = ""}) ==
        "     16777216 out-of-space.; needed X=   1.500 GB, free    0.750 GB; use flag \"-file PATH\"\n");
  CHECK(failure_of(table, failed(Failure::Cause::io_error, 8, 0, "rank 1: No space left on device")) ==
        "            8 io-error.; rank 1: No space left on device\n");
  const Table none{.spec = pingpong, .grouping = {.processes = 1, .world = 1, .groups = {}, .map = {}}};
  CHECK(failure_of(none, failed(Failure::Cause::invalid_processes)) ==
        "\n# !! Benchmark PingPong invalid for 1 processes !! \n");
  CHECK(failure_of(none, failed(Failure::Cause::unavailable, 0, 0, "this MPI has no MPI_Ibarrier")) ==
        "\n# !! Benchmark PingPong is not available: this MPI has no MPI_Ibarrier !! \n");
}

TEST_CASE("the memory that a failure row names is enough") {
  const std::string text =
      failure_of(table_of(pingpong, all_of(2)), failed(Failure::Cause::out_of_memory, 1, gibibyte + 1));
  CHECK(text.find("X=   1.001 GB") != std::string::npos);
}

TEST_CASE("the footer of the reference is printed if all ranks continue to MPI_Finalize") {
  using State = Ending::State;
  const std::string last = "\n# All processes entering MPI_Finalize\n\n";
  CHECK(end_of(make_ending(12, 0, 0)) == "\n" + last);
  CHECK(end_of(make_ending(12, 2, 0)) == "\n\n# Finished with 2 failure rows" + last);
  CHECK(end_of(make_ending(12, 1, 0)) == "\n\n# Finished with 1 failure row" + last);
  CHECK(end_of(make_ending(12, 0, 3)) ==
        "\n\n# Finished with 3 wrong bytes: do not trust these results" + last);
  CHECK(end_of(make_ending(0, 1, 1)) ==
        "\n\n# Finished with 1 failure row and 1 wrong byte: do not trust these results" + last);
  CHECK(end_of(stopped(State::interrupted, "SIGTERM", 12, 0, 0)) ==
        "\n\n# Interrupted by SIGTERM: 12 points measured\n\n");
  CHECK(end_of(stopped(State::aborted, "", 1, 1, 2)) ==
        "\n\n# Aborted: 1 point measured, 1 failure row, 2 wrong bytes: do not trust these results\n\n");
}

TEST_CASE("text is written when a call returns") {
  const std::string path = std::filesystem::temp_directory_path() / "openimb-test-flushed.txt";
  const File file(std::fopen(path.c_str(), "w"));
  REQUIRE(file);
  TextReporter reporter(file.get(), {});
  reporter.open_table(table_of(pingpong, all_of(2)));
  const auto before = std::filesystem::file_size(path);
  reporter.row(table_of(pingpong, all_of(2)), one_row(1, 1, row_of(1, 1, 1)));
  CHECK(before > 0);
  CHECK(std::filesystem::file_size(path) == before + 53);
  std::filesystem::remove(path);
}

TEST_CASE("a full disk does not stop a reporter") {
  const File full(std::fopen("/dev/full", "w"));
  if (!full) return;  // not on this system
  Tee tee;
  tee.add(std::make_unique<TextReporter>(full.get(), StatedOptions{}));
  CHECK(tee.ok());
  tee.begin(example_facts(), example_options());
  CHECK_FALSE(tee.ok());
  tee.end({});
  CHECK_FALSE(tee.ok());

  const File still_full(std::fopen("/dev/full", "w"));
  RecordReporter records(still_full.get(), "/dev/full", {});
  records.end({});
  CHECK_FALSE(records.ok());
}

TEST_CASE("a tee forwards every call to all reporters") {
  const File text(std::tmpfile());
  const File records(std::tmpfile());
  Tee tee;
  CHECK(tee.ok());
  tee.add(std::make_unique<TextReporter>(text.get(), StatedOptions{}));
  tee.add(std::make_unique<RecordReporter>(records.get(), "r", OptionsInForce{}));
  const Table table = table_of(pingpong, all_of(2));
  tee.begin(example_facts(), example_options());
  tee.open_table(table);
  tee.row(table, one_row(1, 1, row_of(1, 1, 1)));
  tee.failure(table, failed(Failure::Cause::time_out, 2));
  tee.end({});
  CHECK(tee.ok());
  for (const char* part :
       {"#    OpenIMB", "Benchmarking PingPong", "        1.00", "time-out", "# Finished with"}) {
    const bool in_text = contents(text.get()).find(part) != std::string::npos;
    CHECK(in_text == (std::string(part) != "# Finished with"));
  }
  const std::string lines = contents(records.get());
  CHECK(std::ranges::count(lines, '\n') == 4);
}

TEST_CASE("a dump has one line per repetition") {
  Row row = row_of(1, 1, 1);
  row.repetition_seconds = {1.5e-6, 2.00026e-6};
  Row other = row_of(1, 1, 1);
  other.repetition_seconds = {1e-3};
  const std::string text = written<DumpReporter>(
      [&](Reporter& out) {
        out.begin({}, {});
        out.open_table(table_of(pingpong, all_of(2)));
        out.row(table_of(pingpong, all_of(2)), {.bytes = 8, .repetitions = 2, .rows = {row, other}});
        out.end({});
      },
      std::string("dump"));
  CHECK(text == "8 1.5000\n8 2.0003\n8 1000.0000\n");
}

TEST_CASE("JSON strings") {
  CHECK(json_string("plain") == "\"plain\"");
  CHECK(json_string("a\"b\\c/d") == "\"a\\\"b\\\\c/d\"");
  CHECK(json_string(std::string_view("\n\t\0\x1f\x7f", 5)) == "\"\\u000a\\u0009\\u0000\\u001f\\u007f\"");
  CHECK(json_string("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80") ==
        "\"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80\"");
  CHECK(json_string("\xC2\x85\xE2\x80\xA8\xE2\x80\xA9") == "\"\\u0085\\u2028\\u2029\"");
  const std::string replacement = "\xEF\xBF\xBD";
  CHECK(json_string("\xFFz") == '"' + replacement + "z\"");
  CHECK(json_string("\x80") == '"' + replacement + '"');
  CHECK(json_string("\xE2\x82") == '"' + replacement + '"');          // cut off
  CHECK(json_string("\xE2\x82z") == '"' + replacement + "z\"");       // interrupted
  CHECK(json_string("\xC0\xAF").find('/') == std::string::npos);      // overlong
  CHECK(json_string("\xE0\x80\xAF") == '"' + replacement + '"');      // overlong
  CHECK(json_string("\xE0\x9F\xBF") == '"' + replacement + '"');      // overlong
  CHECK(json_string("\xF0\x8F\xBF\xBF") == '"' + replacement + '"');  // overlong
  CHECK(json_string("\xED\xA0\x80") == '"' + replacement + '"');      // surrogate
  CHECK(json_string("\xF4\x90\x80\x80") == '"' + replacement + '"');  // above U+10FFFF
}

TEST_CASE("JSON numbers read back as the same double, and NaN and infinities are null") {
  for (const double number :
       {0.1, 1.17e-6, 1e-9, 1e300, 5e-324, 1.0 / 3, 12281704216.7, 1e15, 123456789012345678.0}) {
    JsonWriter json;
    json.value(number);
    const std::string text = std::move(json).line();
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    CHECK(read == number);
  }
  for (const double number : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    JsonWriter json;
    json.value(number);
    CHECK(std::move(json).line() == "null\n");
  }
  JsonWriter list;
  list.value(std::vector<double>{1e6, 10, -0.5});
  CHECK(std::move(list).line() == "[1000000,10,-0.5]\n");
}

TEST_CASE("JSON structure") {
  JsonWriter json;
  json.object([&] {
    json.field("text", "ends with {");
    json.field("yes", true);
    json.field("none", std::optional<int>());
    json.field("lists", std::vector<std::vector<int>>{{}, {1}, {2, 3}});
    json.field_if_any("absent", std::optional<double>());
    json.object("empty", [] {});
    json.array_of_objects("items", std::vector<int>{1, 2}, [&](int item) { json.field("item", item); });
    json.field("large", std::numeric_limits<std::int64_t>::max());
  });
  CHECK(std::move(json).line() ==
        "{\"text\":\"ends with {\",\"yes\":true,\"none\":null,\"lists\":[[],[1],[2,3]],\"empty\":{},"
        "\"items\":[{\"item\":1},{\"item\":2}],\"large\":9223372036854775807}\n");
}

TEST_CASE("a result that is not a number is null") {
  Row row = row_of(1, 1, 1);
  row[Figure::time_avg] = std::nan("");
  const std::string line =
      records_of([&](Reporter& out) { out.row(table_of(allreduce, all_of(2)), one_row(4, 1, row)); });
  CHECK(line.find("\"time_avg_seconds\":null") != std::string::npos);
}

TEST_CASE("the end record that a signal handler writes") {
  CHECK(end_record(stopped(Ending::State::interrupted, "signal", 7, 1, 0)) ==
        "{\"record\":\"end\",\"state\":\"interrupted\",\"reason\":\"signal\",\"measured\":7,\"failed\":1,"
        "\"defects\":0}\n");
}

namespace {

// schema/examples/NAME.jsonl is what these write, byte for byte.

void complete_run(Reporter& out) {
  RunFacts facts = example_facts();
  facts.benchmarks = {"PingPong", "Sendrecv", "Uniband", "Allreduce", "Barrier"};
  facts.startup = Startup{.first_began = 1795244752.5,
                          .last_began = 1795244752.53125,
                          .shortest = 0.125,
                          .longest = 0.15625,
                          .slowest_rank = 1};
  out.begin(facts, example_options());
  const auto measured = [&](const Spec& spec, std::int64_t bytes, std::int64_t repetitions, Row row) {
    const Table table = table_of(spec, all_of(2));
    out.open_table(table);
    row.slowest.rank = 1;
    out.row(table, one_row(bytes, repetitions, std::move(row)));
  };
  measured(pingpong, 0, 1000, row_of(1.17, 1.1875, 1.17875, 0));
  measured(sendrecv, 8, 1000, row_of(1.25, 1.3125, 1.28125, 12190476.19));
  Row rate = row_of(20.25, 25, 22.5, 81920000);
  rate[Figure::messages_per_second] = 10240000;
  measured(uniband, 8, 1000, rate);
  measured(allreduce, 8, 1000, row_of(0.3, 0.33, 0.32));
  measured(barrier, 0, 1000, row_of(0.5, 0.5, 0.5));
  Ending ending = make_ending(5, 0, 0);
  ending.at = 1795244753.75;
  out.end(ending);
}

void failing_run(Reporter& out) {
  RunFacts facts = example_facts();
  facts.command_line = {"./IMB-MPI1", "-map",       "2x2", "-multi",     "1",
                        "-check",     "-show_tail", "yes", "-off_cache", "-1"};
  facts.benchmarks = {"PingPong", "Allreduce"};
  facts.ranks.assign(4, {"node1", "0-7"});
  facts.off_cache = OffCache{.cache_size = 33554432, .cache_line = 64};
  Options options;
  options.multi = Multi::each_group;
  options.map = Map{.rows = 2, .columns = 2};
  options.off_cache = OffCache{};
  options.lengths = {16, 1073741824};
  options.check = true;
  options.show_tail = true;
  options.dump_file = "samples \"raw\".txt";
  options.settings.seconds_per_sample = 0.5;
  options.reduction = {DataType::double_precision, Contiguity::resized};
  out.begin(facts, options);

  Table pairs = table_of(pingpong, make_grouping(4, 2, true, options.map), Multi::each_group);
  pairs.defects = pairs.tail = true;
  out.open_table(pairs);
  Measurement measurement{.bytes = 16, .repetitions = 2, .rows = {}};
  for (int group = 0; group < 2; ++group) {
    Row row = row_of(1.5, 2.5, 2, 6400000);
    row.group = group;
    row.slowest.rank = group;
    row.defects = group == 0 ? 0 : 3;
    row.tail = Tail{};
    row.tail->fill(2.5e-6);
    row.repetition_seconds = {2.5e-6, 2.5e-6};
    measurement.rows.push_back(row);
  }
  out.row(pairs, measurement);
  out.failure(pairs, {.cause = Failure::Cause::out_of_memory,
                      .bytes = 1073741824,
                      .needed_bytes = 2147483648,
                      .detail = "above the limit set by -mem"});

  Table all = table_of(allreduce, make_grouping(4, 4, true, options.map), Multi::each_group);
  out.open_table(all);
  out.failure(all, {.cause = Failure::Cause::time_out,
                    .bytes = 16,
                    .seconds = 0.75,
                    .detail = "one repetition takes longer than the limit of -time"});
  out.failure(all,
              {.cause = Failure::Cause::int_overflow,
               .bytes = 1073741824,
               .detail = "a count or displacement exceeds an int and this MPI has no large-count calls"});
  out.end(stopped(Ending::State::interrupted, "SIGTERM", 1, 3, 3));
}

void single_rank_run(Reporter& out) {
  RunFacts facts = example_facts();
  facts.command_line = {"./IMB-MPI1", "PingPong", "Reduce_local"};
  facts.benchmarks = {"PingPong", "Reduce_local"};
  facts.ranks.resize(1);
  facts.environment = {};
  out.begin(facts, {});
  const Table pairs = table_of(pingpong, {.processes = 1, .world = 1, .groups = {}, .map = {}});
  out.failure(pairs, failed(Failure::Cause::invalid_processes, 0, 0, "needs at least 2 ranks"));
  constexpr Spec reduce_local{.name = "Reduce_local", .reduction = true};
  out.failure(table_of(reduce_local, all_of(1)),
              failed(Failure::Cause::unavailable, 0, 0, "this MPI has no MPI_Reduce_local"));
  out.end(make_ending(0, 2, 0));
}

void grouped_run(Reporter& out) {
  RunFacts facts = example_facts();
  facts.command_line = {"./IMB-MPI1", "-multi", "0", "Barrier"};
  facts.benchmarks = {"Barrier"};
  facts.ranks.assign(5, {"node1", "0-7"});
  Options options;
  options.multi = Multi::summary;
  out.begin(facts, options);
  Table groups = table_of(barrier, make_grouping(5, 2, true, {}), Multi::summary);
  groups.grouping.threads = 2;
  out.open_table(groups);
  Row row = row_of(0.5, 0.625, 0.5625);
  row.slowest.rank = 3;
  row.slowest.thread = 1;
  row.thread_seconds = {0.5e-6, 0.625e-6};
  row.thread_waiting = {0.25e-6, 0.375e-6};
  row[Figure::time_avg] = std::nan("");
  out.row(groups, one_row(0, 100, row));
  out.end(make_ending(1, 0, 0));
}

void one_sided_run(Reporter& out) {
  RunFacts facts = example_facts();
  facts.component = "RMA";
  facts.quirks = {.blank_after_command = true, .blank_comments = true};
  facts.part = "MPI-RMA part";
  facts.command_line = {"./IMB-RMA",  "-window", "allocate",  "-info",       "accumulate_ops=same_op",
                        "-iter",      "100",     "Bidir_put", "One_put_all", "Truly_passive_put",
                        "Shared_load"};
  facts.benchmarks = {"Bidir_put", "One_put_all", "Truly_passive_put", "Shared_load"};
  Options options;
  options.settings.repetitions = 100;
  options.window_kind = WindowKind::allocate;
  options.info = {{"accumulate_ops", "same_op"}};
  out.begin(facts, options);
  const auto measured = [&](const Spec& spec, Transfers transfers, const Row& row) {
    Table table = table_of(spec, all_of(2));
    table.transfers = transfers;
    out.open_table(table);
    out.row(table, one_row(8, 100, row));
  };
  measured(bidir_put, Transfers::non_aggregate, row_of(1.5, 1.75, 1.625, 4571428.5));
  measured(bidir_put, Transfers::aggregate, row_of(0.5, 0.625, 0.5625, 12800000));
  measured(one_put_all, Transfers::unmarked, row_of(2, 2, 2, 4000000));
  Row row = row_of(1.5, 1.5, 1.5);
  row[Figure::time_overlapped] = 2.75e-6;
  measured(passive_put, Transfers::unmarked, row);
  measured(shared_load, Transfers::unmarked, row_of(0.125, 0.125, 0.125));
  out.end(make_ending(5, 0, 0));
}

void overlap_run(Reporter& out) {
  RunFacts facts = example_facts();
  facts.component = "NBC";
  facts.quirks = {};
  facts.part = "MPI-NBC part";
  facts.command_line = {"./IMB-NBC", "-progress", "10", "Iallreduce", "Ibarrier", "Ibcast_pure"};
  facts.benchmarks = {"Iallreduce", "Ibarrier", "Ibcast_pure"};
  Options options;
  options.progress = 10;
  out.begin(facts, options);
  const auto measured = [&](const Spec& spec, std::int64_t bytes, const Row& row) {
    const Table table = table_of(spec, all_of(2));
    out.open_table(table);
    out.row(table, one_row(bytes, 1000, row));
  };
  measured(iallreduce, 8, overlapped_row());
  Row drifted = overlapped_row();
  drifted[Figure::load_drift] = 0.25;
  measured(ibarrier, 0, drifted);
  measured({.name = "Ibcast_pure", .rooted = true}, 8, row_of(1.5, 1.75, 1.625));
  out.end(make_ending(3, 0, 0));
}

void file_run(Reporter& out) {
  RunFacts facts = example_facts();
  facts.component = "IO";
  facts.quirks = {};
  facts.part = "MPI-IO part";
  facts.command_line = {"./IMB-IO", "-file", "/scratch", "-fsync", "never", "P_Write_Expl", "P_IWrite_Expl"};
  facts.benchmarks = {"P_Write_Expl", "P_IWrite_Expl"};
  facts.file = "/scratch/IMB_out";
  facts.file_system = "lustre";
  facts.load_flops = 4e9;
  Options options;
  options.defaults = file_defaults;
  options.settings = file_defaults.settings;
  options.file = "/scratch";
  options.file_sync = FileSync::never;
  out.begin(facts, options);
  const auto measured = [&](std::string_view name, Transfers transfers, Row row) {
    Table table =
        table_of({.name = name, .kind = Kind::parallel_transfer, .access = Access::file}, all_of(2));
    if (row.has(Figure::time_overlapped)) {
      table.spec.overlap = Overlap::fixed;
      table.spec.table = &tables::overlap;
    }
    table.transfers = transfers;
    out.open_table(table);
    row.hints = {{"cb_nodes", "1"}, {"striping_unit", "1048576"}};
    out.row(table, one_row(8, 10, row));
    return table;
  };
  measured("P_Write_Expl", Transfers::aggregate, row_of(1.5, 1.75, 1.625, 4571428.5));
  const Table table = measured("P_IWrite_Expl", Transfers::non_aggregate, overlapped_row());
  out.failure(table, {.cause = Failure::Cause::no_space,
                      .bytes = 16777216,
                      .needed_bytes = 16777216,
                      .free_bytes = 1048576,
                      .detail = "not enough space for the files of this row"});
  out.failure(table, failed(Failure::Cause::io_error, 8, 0, "rank 1: No space left on device"));
  out.end(make_ending(2, 2, 0));
}

Evidence disturbed_evidence() {
  Evidence evidence;
  const auto count = [&](Counter counter, double sum, double most, int rank) {
    evidence.totals[static_cast<std::size_t>(counter)] = {.sum = sum, .most = most, .rank = rank};
  };
  count(Counter::voluntary_switches, 4, 2, 0);
  count(Counter::involuntary_switches, 3, 3, 1);
  count(Counter::minor_faults, 10, 5, 0);
  count(Counter::major_faults, 1, 1, 1);
  count(Counter::run_delay, 0.0005, 0.00048828125, 1);
  count(Counter::steal, 0.01, 0.01, 0);
  evidence.moved = {1};
  evidence.interfaces = {{.rank = 0, .interface = 1, .sent = 2048, .received = 1024}};
  return evidence;
}

RunFacts facts_of_passes() {
  RunFacts facts = example_facts();
  facts.interfaces = {{"lo", "eth0"}, {}};
  return facts;
}

/// Returns a table as the schedule plans it for passes.
Table table_of_passes(const Spec& spec, Grouping grouping, Multi multi = Multi::off) {
  Table table = table_of(spec, std::move(grouping), multi);
  table.precision = true;
  return table;
}

Row precise_row(double seconds, double half_width) {
  Row row = row_of(seconds * 1e6, seconds * 1e6, seconds * 1e6, 4e6);
  row.passes = SampleStatistics{.samples = 40,
                                .used = 40,
                                .interval = Interval{seconds * (1 - half_width), seconds * (1 + half_width)},
                                .half_width = half_width,
                                .effective = 32,
                                .states = {{.level = 1e-6, .samples = 40, .median = seconds}}};
  return row;
}

// Two states of the machine, samples at two levels in one of them, and a budget that was too small.
Row unsteady_row() {
  Row row = precise_row(2e-6, 0.125);
  SampleStatistics& figure = *row.passes;
  figure.used = 30;
  figure.effective = 7.5;
  figure.states = {{.level = 1e-6, .samples = 30, .median = 2e-6},
                   {.level = 1.5e-6, .samples = 8, .median = 3e-6}};
  figure.between_states = 2;
  figure.modes = {{.level = 2e-6, .samples = 20, .median = 2e-6},
                  {.level = 2.5e-6, .samples = 10, .median = 2.5e-6}};
  figure.shortfall = SampleStatistics::Shortfall::budget;
  return row;
}

void sample_of(Reporter& out, const Table& table, int first_row, std::int64_t bytes, const Row& row,
               PassSample::Probes probes = {1e-6, 1.03125e-6}, int pass = 1) {
  Measurement measurement = one_row(bytes, 500, row);
  measurement.first_row = first_row;
  if (table.spec.message_rate) measurement.fewer_in_flight = 200;
  out.sample(table, {.pass = pass, .at = pass * 0.0078125, .measurement = measurement, .probes = {probes}});
}

void row_of_passes(Reporter& out, const Table& table, int first_row, std::int64_t bytes, const Row& row) {
  Measurement measurement = one_row(bytes, 500, row);
  measurement.first_row = first_row;
  if (table.spec.message_rate) measurement.fewer_in_flight = 200;
  out.row(table, measurement);
}

void passes_run(Reporter& out) {
  RunFacts facts = facts_of_passes();
  facts.command_line = {"./IMB-MPI1", "-precision", "0.01", "-budget", "5", "-check", "PingPong", "Uniband"};
  facts.benchmarks = {"PingPong", "Uniband"};
  Options options = example_options();
  options.check = true;
  options.passes = Passes{.most = {}, .precision = 0.01, .budget = 5};
  out.begin(facts, options);

  Table pairs = table_of_passes(pingpong, all_of(2));
  Table rates = table_of_passes(uniband, all_of(2));
  pairs.defects = rates.defects = true;
  Row undisturbed = row_of(1.0, 1.0, 1.0, 8e6);
  undisturbed.defects = 2;
  undisturbed.evidence = Evidence();
  sample_of(out, pairs, 0, 8, undisturbed);
  Row delayed = row_of(2.0, 2.0, 2.0, 4e6);
  delayed.defects = 0;
  delayed.evidence = disturbed_evidence();
  sample_of(out, pairs, 1, 16, delayed);
  Row rate = row_of(20.25, 25, 22.5, 81920000);
  rate[Figure::messages_per_second] = 10240000;
  sample_of(out, rates, 2, 8, rate, {std::nan(""), std::nan("")});
  delayed.defects.reset();
  sample_of(out, pairs, 1, 16, delayed, {1.5e-6, 1.5e-6}, 2);

  Row precise = precise_row(1e-6, 0.0078125);
  precise.defects = 2;
  precise.evidence = Evidence();
  row_of_passes(out, pairs, 0, 8, precise);
  Row unsteady = unsteady_row();
  unsteady.defects = 0;
  unsteady.evidence = disturbed_evidence();
  row_of_passes(out, pairs, 1, 16, unsteady);
  Row unknown = rate;
  unknown.passes =
      SampleStatistics{.samples = 1, .used = 1, .interval = {}, .half_width = {}, .effective = 1};
  unknown.passes->reference = false;
  unknown.passes->shortfall = SampleStatistics::Shortfall::budget;
  row_of_passes(out, rates, 2, 8, unknown);
  out.failure(rates, failed(Failure::Cause::over_budget, 16, 0,
                            "the budget of the launch was spent before the first sample"));
  Ending ending = make_ending(3, 1, 2);
  ending.passes = 40;
  ending.probes = true;
  ending.seconds = 5.25;
  ending.measuring_seconds = 4.5;
  ending.observing_seconds = 0.25;
  out.end(ending);
}

// Two variants, the second of which cannot be measured at one length.
void alternating_run(Reporter& out) {
  RunFacts facts = facts_of_passes();
  facts.command_line = {"./IMB-MPI1", "-alternate", "variants.txt", "Allreduce"};
  facts.benchmarks = {"Allreduce"};
  facts.variants = {{.label = "default", .variables = {}},
                    {.label = "ring", .variables = {{"coll_tuned_allreduce_algorithm", "ring"}}}};
  facts.variables_at_start = {{"coll_tuned_allreduce_algorithm", "0"}};
  Options options = example_options();
  options.passes = Passes{.most = 20, .precision = {}, .budget = {}};
  options.variants = facts.variants;
  out.begin(facts, options);
  std::vector<Table> tables(2, table_of_passes(allreduce, all_of(2)));
  tables[0].variant = "default";
  tables[1].variant = "ring";
  for (int i = 0; i < 2; ++i) sample_of(out, tables[static_cast<std::size_t>(i)], i, 8, row_of(1, 2, 1.5));
  Row row = precise_row(2e-6, 0.0078125);
  for (int i = 0; i < 2; ++i) {
    const Table& table = tables[static_cast<std::size_t>(i)];
    out.open_table(table);
    row_of_passes(out, table, i, 8, row);
    out.close_table(table);
  }
  out.failure(tables[1], failed(Failure::Cause::out_of_memory, 16, 32, "above the limit set by -mem"));
  Ending ending = make_ending(2, 1, 0);
  ending.passes = 20;
  ending.seconds = 0.25;
  ending.measuring_seconds = 0.125;
  out.end(ending);
}

void overlap_in_passes(Reporter& out) {
  RunFacts facts = facts_of_passes();
  facts.component = "NBC";
  facts.quirks = {};
  facts.part = "MPI-NBC part";
  facts.command_line = {"./IMB-NBC", "-passes", "5", "-multi", "1", "Iallreduce"};
  facts.benchmarks = {"Iallreduce"};
  facts.ranks.assign(4, {"node1", "0-7"});
  Options options = example_options();
  options.passes = Passes{.most = 5, .precision = {}, .budget = {}};
  options.multi = Multi::each_group;
  out.begin(facts, options);
  Table table = table_of_passes(iallreduce, make_grouping(4, 2, true, {}), Multi::each_group);
  table.grouping.threads = 2;
  Row row = overlapped_row();
  row.slowest.thread = 1;
  row.thread_seconds = {1.5e-6, 2e-6};
  row.thread_waiting = {0.5e-6, 1e-6};
  row.drop(PassCombination::dropped);
  for (row.group = 0; row.group < 2; ++row.group) sample_of(out, table, 0, 8, row);
  row.passes = SampleStatistics{.samples = 5, .used = 5, .interval = {}, .half_width = {}, .effective = 5};
  row.passes->states = {{.level = 1e-6, .samples = 5, .median = 3e-6}, {.level = 2e-6, .samples = 0}};
  for (row.group = 0; row.group < 2; ++row.group) row_of_passes(out, table, 0, 8, row);
  Ending ending = stopped(Ending::State::interrupted, "SIGTERM", 1, 0, 0);
  ending.passes = 5;
  ending.seconds = 0.25;
  ending.measuring_seconds = 0.125;
  out.end(ending);
}

// A late part, and threads that mark parts.
void partitioned_run(Reporter& out) {
  RunFacts facts = facts_of_passes();
  facts.component = "MPI4";
  facts.quirks = {};
  facts.part = "MPI-4 part";
  facts.command_line = {"./IMB-MPI4", "-passes", "1", "-threads", "4", "Partitioned_overlap"};
  facts.benchmarks = {"Partitioned_overlap"};
  Options options = example_options();
  options.passes = Passes{.most = 1, .precision = {}, .budget = {}};
  options.thread_level = ThreadLevel::multiple;
  options.threads.count = 4;
  out.begin(facts, options);
  Table table = table_of_passes(partitioned_overlap, all_of(2));
  table.grouping.threads = 4;
  Row row = overlapped_row();
  row.drop(PassCombination::dropped);
  row[Figure::early_bird_share] = 0.333125;
  sample_of(out, table, 0, 8, row);
  row.passes = SampleStatistics{.samples = 1, .used = 1, .interval = {}, .half_width = {}, .effective = 1};
  row_of_passes(out, table, 0, 8, row);
  Ending ending = make_ending(1, 0, 0);
  ending.passes = 1;
  ending.seconds = 0.25;
  ending.measuring_seconds = 0.125;
  out.end(ending);
}

// Threads that take turns.
void thread_run(Reporter& out) {
  RunFacts facts = example_facts();
  facts.component = "MT";
  facts.quirks = {};
  facts.part = "MT part";
  facts.style = OutputStyle::threads;
  facts.thread_level = "MPI_THREAD_SERIALIZED";
  facts.command_line = {"./IMB-MT",   "-threads",   "2",        "-thread_level",
                        "serialized", "PingPongMT", "UniBandMT"};
  facts.benchmarks = {"PingPongMT", "UniBandMT"};
  Options options;
  options.defaults = thread_defaults;
  options.settings = thread_defaults.settings;
  options.thread_level = ThreadLevel::serialized;
  options.threads.count = 2;
  options.data.type = options.reduction.type = DataType::integer;
  options.in_flight = 64;
  out.begin(facts, options);
  const auto measured = [&](const Spec& spec, Row row) {
    Table table = table_of(spec, all_of(2));
    table.grouping.threads = 2;
    row.slowest.rank = 1;
    row.slowest.thread = 1;
    row.thread_seconds = {row[Figure::time_avg], row[Figure::time_max]};
    row.thread_waiting = {row[Figure::time_min] / 2, row[Figure::time_max] / 2};
    out.open_table(table);
    out.row(table, one_row(64, 1000, row));
  };
  measured({.name = "PingPongMT", .kind = Kind::parallel_transfer, .time_factor = 0.5, .threaded = true},
           row_of(1, 2, 1.5, 32e6));
  Row rate = row_of(1, 2, 1.5, 32e6);
  rate[Figure::messages_per_second] = 1e6;
  measured({.name = "UniBandMT",
            .kind = Kind::parallel_transfer,
            .table = &tables::message,
            .threaded = true,
            .message_rate = true},
           rate);
  out.end(make_ending(2, 0, 0));
}

// Repetitions that begin at agreed times: a row, and one without a valid repetition.
void clock_run(Reporter& out) {
  RunFacts facts = example_facts();
  facts.command_line = {"./IMB-MPI1", "-arrival", "last:50", "-show_tail", "on", "Bcast"};
  facts.benchmarks = {"Bcast"};
  Options options = example_options();
  options.synchronize_each = options.show_tail = true;
  options.sync_start = SyncStart::clock;
  options.arrival = {.pattern = ArrivalPattern::last, .width = 50e-6};
  out.begin(facts, options);
  Spec spec{.name = "Bcast", .rooted = true, .shares_buffer = true};
  spec.table = &tables::arrivals_of_pattern;
  Table table = table_of(spec, all_of(4));
  table.tail = true;
  out.open_table(table);
  Row row = row_of(1, 2, 1.5);
  row[Figure::time_from_last] = 2e-6;
  row[Figure::time_from_first] = 52e-6;
  row[Figure::start_skew] = 50e-6;
  row[Figure::exit_skew] = 1e-6;
  row[Figure::valid_percent] = 98;
  row[Figure::clock_bound] = 0.125e-6;
  row[Figure::arrival_width] = 50e-6;
  row.arrivals = {.late_rank = 2, .last_out_rank = 3};
  row.repetition_seconds = {1e-6, 2e-6, 3e-6};
  row.tail.emplace().fill(2e-6);
  out.row(table, one_row(8, 1000, row));
  Row none = row_of(100, 200, 150);
  none[Figure::valid_percent] = 0;
  none[Figure::clock_bound] = 0.125e-6;
  none[Figure::arrival_width] = 50e-6;
  none.arrivals = {.late_rank = 1, .given_up = true};
  out.row(table, one_row(16, 100, none));
  out.failure(table, failed(Failure::Cause::clock_set, 32, 0,
                            "the clock of a rank was set while the row was measured"));
  out.close_table(table);
  out.end(make_ending(2, 1, 0));
}

void clock_in_passes(Reporter& out) {
  RunFacts facts = facts_of_passes();
  facts.command_line = {"./IMB-MPI1", "-passes", "1", "-sync_start", "clock", "Barrier"};
  facts.benchmarks = {"Barrier"};
  facts.ranks = {{"node1", "0-7"}, {"node2", "0-7"}, {"node3", "0-7"}};
  Options options = example_options();
  options.passes = Passes{.most = 1, .precision = {}, .budget = {}};
  options.synchronize_each = true;
  options.sync_start = SyncStart::clock;
  out.begin(facts, options);
  Spec spec{.name = "Barrier", .kind = Kind::synchronization, .table = &tables::arrivals_of_pattern};
  Table table = table_of_passes(spec, all_of(3));
  Row row = row_of(1, 2, 1.5);
  row[Figure::time_from_last] = 2e-6;
  row[Figure::time_from_first] = 3e-6;
  row[Figure::start_skew] = 1e-6;
  row[Figure::exit_skew] = 1e-6;
  row[Figure::valid_percent] = 98;
  row[Figure::clock_bound] = 2e-6;
  row[Figure::clock_disagreement] = 1e-6;
  row[Figure::arrival_width] = 0;
  sample_of(out, table, 0, 0, row);
  row.passes = SampleStatistics{.samples = 1, .used = 1, .interval = {}, .half_width = {}, .effective = 1};
  row_of_passes(out, table, 0, 0, row);
  Ending ending = make_ending(1, 0, 0);
  ending.passes = 1;
  ending.seconds = 0.25;
  ending.measuring_seconds = 0.125;
  out.end(ending);
}

// Random pairs, a halo with corners, and one pair.
void pairs_run(Reporter& out) {
  RunFacts facts = example_facts();
  facts.component = "P2P";
  facts.quirks = {};
  facts.part = "IMB-P2P part";
  facts.style = OutputStyle::pairs;
  facts.command_line = {"./IMB-P2P", "-seed", "7",        "-halo", "2,corners",
                        "-pairs",    "1",     "Birandom", "Halo",  "Multi_pair"};
  facts.benchmarks = {"Birandom", "Halo", "Multi_pair"};
  facts.ranks.assign(4, {"node1", "0-3"});
  Options options = example_options();
  options.pairs = PairOptions{.seed = 7, .halo = {.dimensions = 2, .corners = true}, .max_pairs = 1};
  out.begin(facts, options);
  const auto measured = [&](std::string_view name, double bytes_per_second) {
    const Table table =
        table_of({.name = name, .kind = Kind::parallel_transfer, .table = &tables::mean_and_rate, .sent = 1},
                 all_of(4));
    Row row = row_of(1, 2, 1.5, bytes_per_second);
    row[Figure::messages_per_second] = bytes_per_second / 8;
    out.open_table(table);
    out.row(table, one_row(8, 1000, row));
  };
  measured("Birandom", 16e6);
  measured("Halo", 128e6);
  measured("Multi_pair", 512e6);
  out.end(make_ending(3, 0, 0));
}

PairSample pair_of(EndpointPair pair, int round, double seconds) {
  return {.place = {.pass = 1, .round = round, .pair = pair},
          .bytes = 8,
          .repetitions = 500,
          .seconds = seconds,
          .seconds_of_a = seconds,
          .seconds_of_b = 0.96875 * seconds,
          .at = 0.25 * (round + 1)};
}

// Three endpoints, the last of which stops responding in the last round.
void fabric_run(Reporter& out) {
  RunFacts facts = example_facts();
  facts.component = "FABRIC";
  facts.quirks = {};
  facts.part = "IMB-FABRIC part";
  facts.style = OutputStyle::rounds;
  facts.command_line = {"./IMB-FABRIC", "-check", "-endpoint", "core", "-msgsize", "8", "Pair_Latency"};
  facts.benchmarks = {"Pair_Latency"};
  facts.ranks.assign(4, {"node1", "0"});
  facts.endpoints = {{.rank = 0, .host = "node1", .cpus = {0}, .numa = 0, .socket = 0},
                     {.rank = 1, .host = "node1", .cpus = {1, 9}, .numa = 0, .socket = 0},
                     {.rank = 3, .host = "node1", .cpus = {}, .numa = {}, .socket = {}}};
  facts.interfaces.assign(4, {"lo", "eth0"});
  Options options = example_options();
  options.check = true;
  options.lengths = {8};
  options.fabric = FabricOptions{.endpoint = EndpointKind::core, .seed = 7, .listed = {}, .ranks = {0, 1, 3}};
  out.begin(facts, options);

  constexpr Spec latency{.name = "Pair_Latency",
                         .kind = Kind::parallel_transfer,
                         .table = &tables::time_and_bandwidth,
                         .in_rounds = true};
  Table table = table_of(latency, {.processes = 3, .world = 4, .groups = {{0, 1, 3}}, .map = {}});
  table.defects = true;
  PairSample first = pair_of({0, 1}, 2, 1e-6);
  first.defects = 0;
  first.evidence = disturbed_evidence();
  const PairSample second = pair_of({1, 2}, 0, 2e-6);
  out.pairs(table, std::vector{first});
  out.pairs(table, std::vector{second});
  Table round = table;
  round.grouping.processes = 2;
  round.grouping.groups = {{0, 3}};
  Failure silent =
      failed(Failure::Cause::no_answer, 8, 0, "endpoint 2 does not answer, since pass 1, round 1");
  silent.pair = PairPlace{.pass = 1, .round = 1, .pair = {0, 2}};
  out.failure(round, silent);
  out.open_table(table);
  out.close_table(table);
  out.end(make_ending(2, 1, 0));
}

// Two ranks on one GPU.
void gpu_run(Reporter& out) {
  RunFacts facts = example_facts();
  facts.command_line = {"./IMB-MPI1", "-memory", "cuda,host", "-load", "device", "PingPong"};
  facts.ranks.assign(2, {"node1", "0"});
  facts.gpus = {{.host = "node1",
                 .index = 1,
                 .name = "Example GPU",
                 .api = GpuApi::cuda,
                 .driver = "12.8",
                 .bus_address = "0000:17:00.0",
                 .memory_bytes = gibibyte,
                 .l2_bytes = mebibyte,
                 .ranks = {0, 1}}};
  facts.gpu_support =
      GpuSupport{.answer = GpuSupport::Answer::yes, .source = "MPIX_Query_cuda_support", .remedy = {}};
  Options options = example_options();
  options.memory.send = MemoryKind::cuda;
  options.memory.load = LoadPlace::device;
  out.begin(facts, options);
  out.end(make_ending(0, 0, 0));
}

struct Example {
  const char* file;
  void (*write)(Reporter&);
  OptionsInForce (*options)() = some_options;
};
// passes.jsonl: as with -precision 1 -budget 5.
OptionsInForce options_in_passes() {
  OptionsInForce options = some_options();
  options.insert(options.end(), {{"passes", {}},
                                 {"precision", 1.0},
                                 {"budget", 5.0},
                                 {"window_size", std::int64_t{256}},
                                 {"mem", 1.0}});
  return options;
}
constexpr Example examples[] = {{"complete.jsonl", complete_run},
                                {"troubled.jsonl", failing_run},
                                {"one-process.jsonl", single_rank_run},
                                {"groups.jsonl", grouped_run},
                                {"one-sided.jsonl", one_sided_run},
                                {"overlap.jsonl", overlap_run},
                                {"files.jsonl", file_run},
                                {"passes.jsonl", passes_run, options_in_passes},
                                {"passes-overlap.jsonl", overlap_in_passes, options_in_passes},
                                {"variants.jsonl", alternating_run},
                                {"partitioned.jsonl", partitioned_run},
                                {"threads.jsonl", thread_run},
                                {"clock.jsonl", clock_run},
                                {"passes-clock.jsonl", clock_in_passes},
                                {"pairs.jsonl", pairs_run},
                                {"fabric.jsonl", fabric_run},
                                {"gpu.jsonl", gpu_run}};

const std::filesystem::path schema_folder = std::filesystem::path(__FILE__).parent_path() / "../../schema";

std::filesystem::path example_path(const Example& example) {
  return schema_folder / "examples" / example.file;
}

std::string text_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("records are the golden examples") {
  for (const Example& example : examples) {
    CHECK(records_of(example.write, example.options()) == text_in(example_path(example)));
  }
  CHECK(figure_lines() == text_in(schema_folder / "figures.jsonl"));
}

TEST_CASE("write the golden examples again", "[.write-examples]") {
  for (const Example& example : examples) {
    std::ofstream(example_path(example), std::ios::binary) << records_of(example.write, example.options());
  }
  std::ofstream(schema_folder / "figures.jsonl", std::ios::binary) << figure_lines();
}

TEST_CASE("passes add the precision of a row, before the defects") {
  Table table = table_of_passes(pingpong, all_of(2));
  table.defects = true;
  CHECK(head_of(table).find(
            "\n       #bytes #repetitions      t[usec]   Mbytes/sec        +-[%]      defects\n") !=
        std::string::npos);
  Row row = precise_row(1.5e-6, 0.01234);
  row[Figure::bytes_per_second] = 1048576;
  row.defects = 0;
  CHECK(lines_of(table, one_row(8, 500, row)) ==
        "            8          500         1.50         1.00        1.23%         0.00\n");
  row.passes->half_width.reset();
  CHECK(lines_of(table, one_row(8, 500, row)) ==
        "            8          500         1.50         1.00          n/a         0.00\n");
}

namespace {

/// Returns the text after the rows of a table in a launch with this precision.
std::string notes_of(const Table& table, std::optional<double> precision, const std::vector<Row>& rows) {
  Options options;
  options.passes = Passes{.most = {}, .precision = precision, .budget = 5};
  const std::string text = text_of([&](Reporter& out) {
    out.begin(example_facts(), options);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      out.row(table, one_row(std::int64_t(8) << i, 500, rows[i]));
    }
    out.close_table(table);
  });
  const std::size_t first = text.find("# note: ");
  if (first == std::string::npos) return "";
  CHECK(text.substr(first - 2, 2) == "\n\n");  // of the last row, and of the line that ends the table
  return text.substr(first);
}

}  // namespace

TEST_CASE("rows with the requested precision have no note") {
  CHECK(notes_of(table_of_passes(pingpong, all_of(2)), 0.01,
                 {precise_row(1e-6, 0.005), precise_row(2e-6, 0.01)})
            .empty());
}

TEST_CASE("notes on rows in passes come after the table, once for all rows") {
  const Table table = table_of_passes(pingpong, all_of(2));
  CHECK(notes_of(table, 0.01, {precise_row(1e-6, 0.005), unsteady_row()}) ==
        "# note: 1 of 2 rows missed +-1 %, worst +-12.50 % (16 B): the budget was spent\n"
        "# note: samples at several levels in 1 row, for example 16 B: 2.00 usec (67 %), 2.50 usec (33 %)\n"
        "# note: the machine changed between 2 states: probes of 1.00 usec (88 %), 1.50 usec (10 %), between "
        "them (2 %); "
        "rows use samples of the first\n");
}

TEST_CASE("a note says why rows are not precise") {
  Row row = precise_row(1e-6, 0.125);
  const auto note = [&](SampleStatistics::Shortfall shortfall) {
    row.passes->shortfall = shortfall;
    return notes_of(table_of_passes(pingpong, all_of(2)), 0.05, {row, row});
  };
  const std::string start = "# note: 2 of 2 rows missed +-5 %, worst +-12.50 % (8 B): ";
  CHECK(note(SampleStatistics::Shortfall::passes) == start + "all passes are done\n");
  CHECK(note(SampleStatistics::Shortfall::interrupted) == start + "the launch was interrupted\n");
  row.passes->half_width.reset();
  CHECK(note(SampleStatistics::Shortfall::budget) ==
        "# note: 2 of 2 rows missed +-5 %: the budget was spent\n");
}

TEST_CASE("a note names the group whose samples lie at several levels") {
  Row row = unsteady_row();
  row.passes->shortfall = SampleStatistics::Shortfall::none;
  row.passes->states.resize(1);
  row.group = 1;
  CHECK(notes_of(table_of_passes(pingpong, make_grouping(4, 2, true, {}), Multi::each_group), {}, {row}) ==
        "# note: samples at several levels in 1 row, for example 8 B, group 1: 2.00 usec (67 %), 2.50 usec "
        "(33 %)\n");
}

TEST_CASE("a note on rows without enough samples in the fastest state") {
  const Row known = precise_row(1e-6, 0.005);
  Row row = known;
  row.passes->reference = false;
  CHECK(notes_of(table_of_passes(pingpong, all_of(2)), 0.01, {known, row}) ==
        "# note: 1 row with too few samples in the fastest state; all samples are used\n");
}

TEST_CASE("if no row has enough samples in the fastest state, the note on the states says so") {
  Row row = unsteady_row();
  row.passes->shortfall = SampleStatistics::Shortfall::none;
  row.passes->modes.clear();
  row.passes->reference = false;
  CHECK(notes_of(table_of_passes(pingpong, all_of(2)), {}, {row})
            .ends_with("; rows use all samples: too few are in the first\n"));
}

TEST_CASE("each group has its own states") {
  Row row = unsteady_row();
  row.passes->shortfall = SampleStatistics::Shortfall::none;
  row.passes->modes.clear();
  row.group = 1;
  CHECK(notes_of(table_of_passes(pingpong, make_grouping(4, 2, true, {}), Multi::each_group), {}, {row})
            .starts_with("# note: group 1: the machine changed between 2 states: probes of 1.00 usec"));
}

TEST_CASE("notes on one table are not repeated after the next") {
  const Table table = table_of_passes(pingpong, all_of(2));
  const std::string text = text_of([&](Reporter& out) {
    out.row(table, one_row(8, 500, unsteady_row()));
    out.close_table(table);
    out.row(table, one_row(8, 500, precise_row(1e-6, 0.005)));
    out.close_table(table);
  });
  CHECK(text.find("the machine changed") == text.rfind("the machine changed"));
}

TEST_CASE("the banner states when passes end") {
  const auto stated = [](const Passes& passes) {
    Options options;
    options.passes = passes;
    const std::string text = text_of([&](Reporter& out) { out.begin(example_facts(), options); });
    const std::size_t at = text.find("# Passes");
    return text.substr(at, text.find('\n', at) - at);
  };
  const std::string start = "# Passes                         :   until ";
  const std::string end = "; figures are medians over passes";
  CHECK(stated({.most = {}, .precision = 0.01, .budget = 30}) ==
        start + "each row is within +-1 % or 30 s have passed" + end);
  CHECK(stated({.most = 8, .precision = {}, .budget = {}}) == start + "8 passes are done" + end);
  CHECK(stated({.most = 1, .precision = 0.005, .budget = 2.5}) ==
        start + "each row is within +-0.5 % or 1 pass is done or 2.5 s have passed" + end);
}

TEST_CASE("a table and the banner name the variant") {
  const std::string text = text_of(alternating_run);
  CHECK(text.find("# Variant                        :   default\n"
                  "# Variant                        :   ring coll_tuned_allreduce_algorithm=ring\n") !=
        std::string::npos);
  for (const std::string variant : {"default", "ring"}) {
    CHECK(text.find("\n# Benchmarking Allreduce \n# #processes = 2 \n# variant = " + variant + "\n#---") !=
          std::string::npos);
  }
  CHECK(head_of(table_of(allreduce, all_of(2))).find("variant") == std::string::npos);
}

TEST_CASE("the number of passes comes before the footer") {
  Ending ending = make_ending(2, 0, 0);
  ending.passes = 12;
  ending.seconds = 1.5;
  ending.measuring_seconds = 1.2;
  CHECK(end_of(ending) ==
        "\n# 12 passes in 1.5 s, 80 % of it in timed regions\n\n\n# All processes entering MPI_Finalize\n\n");
  ending.passes = 1;
  CHECK(end_of(ending).starts_with("\n# 1 pass in 1.5 s, "));
}

TEST_CASE("the failure row of a point that the budget did not reach") {
  CHECK(failure_of(table_of_passes(pingpong, all_of(2)), failed(Failure::Cause::over_budget, 8)) ==
        "            8 over-budget.; the budget was spent before the first sample; use flag \"-budget X\"\n");
}
