// Files: where each rank's bytes lie, what they contain, and blocks in any order.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "engine/file_content.h"
#include "plan/files.h"
#include "plan/geometry.h"
#include "plan/groups.h"
#include "plan/repetitions.h"
#include "result/statistics.h"

using namespace openimb;
using Bytes = std::vector<std::byte>;

namespace {

constexpr Spec common{.name = "P_Write_Expl",
                      .kind = Kind::parallel_transfer,
                      .send = Messages::even_share,
                      .receive = Messages::none,
                      .access = Access::file,
                      .file = {.use = FileUse::write}};
constexpr Spec own = [] {
  Spec spec = common;
  spec.file.own = true;
  return spec;
}();
constexpr Spec single = [] {
  Spec spec = common;
  spec.kind = Kind::single_transfer;
  return spec;
}();

std::uint64_t fingerprint(std::span<const std::byte> block) {
  Fingerprint all;
  all.add(block);
  return all.value();
}

// A file made of blocks, with the blocks that the ranks announced.
struct File {
  Bytes contents;
  Blocks blocks;
  std::int64_t longest = 0, shortest = 0;

  std::int64_t misplaced() {
    const auto fingerprint_at = [&](std::int64_t at, std::int64_t length) {
      return fingerprint(
          std::span(contents).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(length)));
    };
    return count_misplaced(blocks, static_cast<std::int64_t>(contents.size()), longest, shortest,
                           fingerprint_at);
  }
};

// Returns the announced blocks of all ranks and repetitions, in a file in the order given.
File written(std::int64_t bytes, int ranks, int repetitions, const std::vector<int>& order) {
  std::vector<Bytes> made;
  File file{{}, {}, tile_of(common, bytes, ranks, 0).share, tile_of(common, bytes, ranks, ranks - 1).share};
  for (int rank = 0; rank < ranks; ++rank) {
    const Tile tile = tile_of(common, bytes, ranks, rank);
    for (int i = 0; i < repetitions; ++i) {
      Bytes block(static_cast<std::size_t>(tile.share));
      fill_as_file(block, tile.offset(i));
      if (tile.share > 0) file.blocks.add(fingerprint(block), tile.share);
      made.push_back(block);
    }
  }
  for (const int which : order) {
    const Bytes& block = made[static_cast<std::size_t>(which)];
    file.contents.insert(file.contents.end(), block.begin(), block.end());
  }
  return file;
}

std::vector<int> in_order(int count) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

}  // namespace

TEST_CASE("names of files say group and rank") {
  const Grouping one = make_grouping(4, 4, false, {});
  const Grouping two = make_grouping(4, 2, true, {});
  CHECK(file_name("/a/IMB_out", common, one, 0, 3) == "/a/IMB_out");
  CHECK(file_name("/a/IMB_out", common, two, 1, 1) == "/a/IMB_out_g1");
  CHECK(file_name("/a/IMB_out", own, one, 0, 3) == "/a/IMB_out_3");
  CHECK(file_name("/a/IMB_out", own, two, 1, 1) == "/a/IMB_out_g1_1");
  CHECK(file_name("x", single, make_grouping(3, 1, true, {}), 2, 0) == "x_g2");
}

TEST_CASE("an I/O portion is divided without gap or overlap") {
  for (const std::int64_t bytes : {0, 1, 5, 6, 100003}) {
    for (const int ranks : {1, 2, 3, 7}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Tile tile = tile_of(common, bytes, ranks, rank);
        CHECK(tile.portion == bytes);
        CHECK(tile.first == next);
        CHECK(tile.offset(3) == 3 * bytes + next);
        next += tile.share;
        // If each process has its own file, its share is the whole portion of that file.
        const Tile alone = tile_of(own, bytes, ranks, rank);
        CHECK(alone.share == tile.share);
        CHECK(alone.offset(3) == 3 * alone.share);
      }
      CHECK(next == bytes);
    }
  }
  CHECK(first_content_position(common, 3) == 0);
  CHECK(first_content_position(own, 3) - first_content_position(own, 2) >= std::int64_t{1} << 40);
}

TEST_CASE("repetitions, process counts and memory of a file benchmark") {
  const Settings& settings = file_defaults.settings;
  const auto most = [&](Transfers transfers) { return max_repetitions(settings, common, transfers); };
  CHECK(most(Transfers::aggregate) == 50);
  CHECK(most(Transfers::non_aggregate) == 10);
  CHECK(planned_repetitions(settings, 50, IterationPolicy::dynamic, mebibyte, 2) == 16);
  CHECK(planned_repetitions(settings, 50, IterationPolicy::dynamic, 64 * mebibyte, 2) == 1);
  CHECK(process_counts(single, 8, 1) == std::vector<int>{1});
  CHECK(process_counts(single, 1, 1) == std::vector<int>{1});
  CHECK(process_counts(common, 5, file_defaults.min_processes) == std::vector<int>{1, 2, 4, 5});
  // Each process has a buffer for its share of the portion, and only on the side that it uses.
  const Geometry geometry = plan_geometry(common, 10, 4, {}, std::nullopt);
  CHECK(geometry.send.total == 3);
  CHECK(geometry.receive.total == 0);
  // Only the share counts, because MPI moves no more than that.
  CHECK(!plan_geometry(common, std::int64_t{3} << 30, 2, {}, std::nullopt).exceeds_int);
  CHECK(plan_geometry(common, std::int64_t{4} << 30, 2, {}, std::nullopt).exceeds_int);
}

TEST_CASE("all bytes are wrong in a file that should be empty") {
  File file = written(0, 3, 2, {});
  CHECK(file.misplaced() == 0);
  file.contents.resize(5);
  CHECK(file.misplaced() == 5);
}

TEST_CASE("throughput counts the portion, also for collectives") {
  Spec collective = common;
  collective.kind = Kind::collective;
  const Table table{.spec = collective, .grouping = make_grouping(4, 4, false, {})};
  const std::vector<double> seconds{1, 2, 4, 2};
  CHECK(rows_of(table, 1000, 1, seconds).front()[Figure::bytes_per_second] == 250);
}

TEST_CASE("the contents of a file never repeat") {
  Bytes contents(4096);
  fill_as_file(contents, 0);
  for (const std::int64_t at : {1, 7, 8, 64, 1000}) {
    Bytes part(64);
    fill_as_file(part, at);
    CHECK(std::equal(part.begin(), part.end(), contents.begin() + at));
    CHECK(count_file_defects(part, at) == 0);
    for (const std::int64_t elsewhere : {at + 1, at + 8, at + 64, at + (std::int64_t{1} << 40)}) {
      CHECK(count_file_defects(part, elsewhere) > 48);
    }
  }
  CHECK(count_file_defects(Bytes(64), 0) > 60);  // a hole
  contents[100] ^= std::byte{1};
  CHECK(count_file_defects(contents, 0) == 1);
}

TEST_CASE("blocks may lie in any order, each once") {
  for (const std::int64_t bytes : {3, 7, 8, 100}) {
    std::vector<int> order = in_order(12);
    CHECK(written(bytes, 3, 4, order).misplaced() == 0);
    std::ranges::reverse(order);
    CHECK(written(bytes, 3, 4, order).misplaced() == 0);
    std::rotate(order.begin(), order.begin() + 5, order.end());
    CHECK(written(bytes, 3, 4, order).misplaced() == 0);
  }
  // An empty share has no block.
  CHECK(written(2, 3, 4, in_order(12)).misplaced() == 0);
  CHECK(written(0, 3, 4, in_order(12)).misplaced() == 0);
}

TEST_CASE("a lost, duplicated, moved or damaged block counts as wrong bytes") {
  const auto with = [](std::vector<int> order) { return written(300, 3, 4, order).misplaced(); };
  std::vector<int> order = in_order(12);
  order.pop_back();
  CHECK(with(order) == 100);  // one short
  order.push_back(0);
  CHECK(with(order) == 100);  // one lost, another one twice
  File spoiled = written(300, 3, 4, in_order(12));
  spoiled.contents[450] ^= std::byte{1};
  CHECK(spoiled.misplaced() == 100);
  File moved = written(300, 3, 4, in_order(12));
  moved.contents.insert(moved.contents.begin(), std::byte{0});
  CHECK(moved.misplaced() >= 1100);
  File longer = written(300, 3, 4, in_order(12));
  longer.contents.resize(longer.contents.size() + 1);
  CHECK(longer.misplaced() == 1);
}
