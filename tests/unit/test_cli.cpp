// The command line: every option, every kind of error with its exact message, files, order, selection, help.
#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "cli/command_line.h"
#include "cli/option_table.h"

using namespace openimb;
using Strings = std::vector<std::string>;

namespace {

int number_of_options() {
  std::size_t number = 0;
  for (const OptionGroup& group : option_groups()) number += group.options.size();
  return static_cast<int>(number);
}

constexpr Spec catalog[] = {
    {.name = "PingPong", .kind = Kind::single_transfer, .time_factor = 0.5},
    {.name = "PingPongSpecificSource", .kind = Kind::single_transfer, .in_default_list = false},
    {.name = "Allreduce", .reduction = true, .in_place = InPlace::everywhere},
    {.name = "Uniband", .kind = Kind::parallel_transfer, .message_rate = true, .in_default_list = false},
    {.name = "Bcast", .rooted = true},
    {.name = "Barrier", .kind = Kind::synchronization},
};
constexpr Spec ext[] = {{.name = "Window"}, {.name = "Unidir_Put", .access = Access::active_target}};
constexpr Spec rma[] = {{.name = "Unidir_put", .access = Access::passive_target}};
constexpr Spec nbc[] = {{.name = "Ibcast_pure"}};
constexpr Spec io[] = {{.name = "S_Write_Indv", .access = Access::file}};
constexpr Spec mt[] = {{.name = "PingPongMT", .kind = Kind::parallel_transfer, .threaded = true}};
constexpr ComponentFacts named(std::string_view name) { return {.name = name, .title = {}}; }
constexpr ComponentList suite[] = {{named("MPI1"), catalog}, {named("EXT"), ext}, {named("RMA"), rma},
                                   {named("NBC"), nbc},      {named("IO"), io},   {named("MT"), mt}};
constexpr Program program{"IMB-MPI1", "MPI-1 part", catalog, {}, false, suite};

struct Files {
  std::map<std::string, std::string> texts;
  std::vector<std::string> read;
  ReadFile reader() {
    return [this](const std::string& path) {
      read.push_back(path);
      const auto file = texts.find(path);
      if (file == texts.end()) return FileText{false, "", "No such file or directory"};
      return FileText{true, file->second, ""};
    };
  }
};

/// Splits a command line at blanks.
Strings words(const std::string& line) {
  std::istringstream stream(line);
  Strings result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

Options parsed(const std::string& line, Files files = {}, int world = 8) {
  return parse(program, words(line), world, files.reader());
}

std::string error_of(const std::string& line, Files files = {}, int world = 8) {
  try {
    parsed(line, std::move(files), world);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

std::string selection_of(const std::string& line, Files files = {}) {
  std::string names;
  for (const SelectedBenchmark& one : parsed(line, std::move(files)).selection) {
    names += (names.empty() ? "" : " ") + std::string(one.multi ? "Multi-" : "") +
             std::string(catalog[one.index].name);
  }
  return names;
}

const std::string default_list = "PingPong Allreduce Bcast Barrier";
using Lengths = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("without arguments everything is at its default") {
  const Options options = parsed("");
  CHECK(options.action == Options::Action::run);
  CHECK(options.settings == Settings{});
  CHECK_FALSE(options.min_processes);
  CHECK_FALSE(options.off_cache);
  CHECK_FALSE(options.map);
  CHECK(options.lengths.empty());
  CHECK(options.warnings.empty());
  CHECK(selection_of("") == default_list);
}

TEST_CASE("help, list and version decide alone") {
  for (const char* line : {"-help", "-h", "--help", "--H", "-npmin x -help", "PingPnog -zzz -h"}) {
    INFO(line);
    CHECK(parsed(line).action == Options::Action::help);
    CHECK(parsed(line).help_topic.empty());
  }
  CHECK(parsed("-help iter").help_topic == "iter");
  CHECK(parsed("-help -iter").help_topic == "-iter");
  CHECK(parsed("-help pingpong").help_topic == "pingpong");
  CHECK(parsed("-list").action == Options::Action::list);
  CHECK(parsed("-list JSON").list_as_json);
  CHECK(parsed("--version").action == Options::Action::version);
  CHECK(parsed("-version -list").action == Options::Action::version);
  CHECK(error_of("-help itre") == "unknown help topic \"itre\": did you mean -iter?");
  CHECK(error_of("-help Bcsat") == "unknown help topic \"Bcsat\": did you mean Bcast?");
  CHECK(error_of("-help nonsense") ==
        "unknown help topic \"nonsense\": -help all shows the options, -list the benchmarks");
}

TEST_CASE("-list with names shows only these") {
  CHECK(parsed("-list").selection.empty());
  CHECK(selection_of("-list barrier PingPong") == "Barrier PingPong");
  CHECK(selection_of("Bcast -iter 3 -list") == "Bcast");
  CHECK(list_text(program, parsed("-list Barrier,PingPong").selection) ==
        "IMB-MPI1, MPI-1 part, in the order of running:\n"
        "  PingPong                 single transfer\n"
        "  Barrier                  synchronization\n");
  CHECK(error_of("-list PingPnog") == "unknown benchmark \"PingPnog\": did you mean PingPong?");
  CHECK(error_of("-list Window") == "unknown benchmark \"Window\": it is in IMB-EXT");
  CHECK(error_of("-list -zzz") == "unknown option \"-zzz\": -help all shows the options");
  CHECK(parsed("-list -ignore_unknown -zzz 3").action == Options::Action::list);
  CHECK(error_of("-list json Bcast") ==
        "-list json: no benchmark can be named with it: \"Bcast\"; leave out the name or json");
}

TEST_CASE("options about processes") {
  CHECK(parsed("-npmin 3").min_processes == 3);
  CHECK(parsed("--NPMIN 1").min_processes == 1);
  CHECK(parsed("-npmin 99").min_processes == 8);
  CHECK(parsed("-npmin 99").warnings ==
        Strings{"-npmin 99: above the number of ranks launched; -npmin 8 is used"});
  CHECK(parsed("-npmin 99 -npmin 8").warnings.empty());
  CHECK(parsed("-multi 0").multi == Multi::summary);
  CHECK(parsed("-multi 1").multi == Multi::each_group);
  const Options mapped = parsed("-map 2x3");
  REQUIRE(mapped.map);
  CHECK(mapped.map->rows == 2);
  CHECK(mapped.map->columns == 3);
  CHECK(parsed("-map 4X2").map->columns == 2);
  CHECK(parsed("-thread_level serialized").thread_level == ThreadLevel::serialized);

  CHECK(error_of("-npmin 0") == "-npmin: \"0\" is below the minimum, 1; for example: -npmin 4");
  CHECK(error_of("-multi 2") == "-multi: \"2\" is neither 0 nor 1; for example: -multi 1");
  CHECK(error_of("-map 3x3") == "-map: 3x3 needs 9 ranks, the launch has 8; for example: -map 4x2");
  CHECK(error_of("-map 3") == "-map: \"3\" is not PxQ; for example: -map 4x2");
  CHECK(error_of("-map 0x2") == "-map: \"0\" is below the minimum, 1; for example: -map 4x2");
  CHECK(error_of("-map 2x") == "-map: \"\" is not a whole number; for example: -map 4x2");
  CHECK(error_of("-map 2000000000x2000000000") ==
        "-map: 2000000000x2000000000 needs 4000000000000000000 ranks, the launch has 8; "
        "for example: -map 4x2");
  CHECK(error_of("-thread_level two") ==
        "-thread_level: \"two\" is not one of single, funneled, serialized, "
        "multiple; for example: -thread_level multiple");
}

TEST_CASE("-thread_level is known before MPI starts") {
  CHECK(requested_thread_level(words("")) == ThreadLevel::single);
  CHECK(requested_thread_level(words("PingPong --Thread_Level Multiple")) == ThreadLevel::multiple);
  CHECK(requested_thread_level(words("-thread_level funneled -npmin x")) == ThreadLevel::funneled);
  CHECK(requested_thread_level(words("-thread_level wrong -zzz")) == ThreadLevel::single);
  CHECK(requested_thread_level(words("-thread_level")) == ThreadLevel::single);
}

TEST_CASE("-pair_timeout is known before MPI starts") {
  CHECK(requested_pair_timeout(words("Pair_Latency")) == 30);
  CHECK(requested_pair_timeout(words("-pair_timeout 2.5 Pair_Latency")) == 2.5);
  CHECK(requested_pair_timeout(words("--Pair_Timeout 0")) == 0);
  CHECK(requested_pair_timeout(words("-pair_timeout never")) == 0);
  CHECK(requested_pair_timeout(words("-pair_timeout")) == 30);
}

TEST_CASE("options about lengths") {
  CHECK(parsed("-msgsize 0,1,4k,1m,2G,64KiB,3kb").lengths ==
        Lengths{0, 1, 4096, 1 << 20, std::int64_t{2} << 30, 65536, 3072});
  CHECK(parsed("-msgsize 1.5k,1e6").lengths == Lengths{1536, 1000000});
  CHECK(parsed("-msgsize 4611686018427387904,4294967296g").lengths ==
        Lengths{std::int64_t{1} << 62, std::int64_t{1} << 62});
  CHECK(parsed("-msglog 3:7").settings.min_message_log == 3);
  CHECK(parsed("-msglog 3:7").settings.max_message_log == 7);
  CHECK(parsed("-msglog 40").settings.max_message_log == 40);
  CHECK_FALSE(parsed("-zero_size off").zero_size);

  const std::string example = "; for example: -msgsize 0,1,4k,1m";
  CHECK(error_of("-msgsize 12x") == "-msgsize: \"12x\" is not a size" + example);
  CHECK(error_of("-msgsize 1,,2") == "-msgsize: \"\" is not a size" + example);
  CHECK(error_of("-msgsize k") == "-msgsize: \"k\" is not a size" + example);
  CHECK(error_of("-msgsize 1,-2") == "-msgsize: \"-2\" is below the minimum, 0 bytes" + example);
  CHECK(error_of("-msgsize -1.5k") == "-msgsize: \"-1.5k\" is below the minimum, 0 kB" + example);
  CHECK(error_of("-msgsize 1.5") == "-msgsize: \"1.5\" is not a whole number of bytes" + example);
  CHECK(error_of("-msgsize inf") == "-msgsize: \"inf\" is not a size" + example);
  CHECK(error_of("-msgsize 1e999") == "-msgsize: \"1e999\" is out of range" + example);
  for (const auto& [huge, most] :
       {std::pair<std::string, std::string>{"4611686018427387905", "4611686018427387904 bytes"},
        {"99999999999999999999", "4611686018427387904 bytes"},
        {"1e30", "4611686018427387904 bytes"},
        {"4294967297g", "4294967296 GB"},
        {"9223372036854775807g", "4294967296 GB"}}) {
    INFO(huge);
    CHECK(error_of("-msgsize " + huge) ==
          "-msgsize: \"" + huge + "\" is above the maximum, " + most + example);
  }
  CHECK(error_of("-msglog 41") == "-msglog: \"41\" is above the maximum, 40; for example: -msglog 3:7");
  CHECK(error_of("-msglog 1:2:3") == "-msglog: \"2:3\" is not a whole number; for example: -msglog 3:7");
  CHECK(error_of("-msglog :3") == "-msglog: \"\" is not a whole number; for example: -msglog 3:7");
  CHECK(error_of("-msglog 7:3") ==
        "-msglog: smallest exponent, 7, is above the largest, 3; for example: -msglog 3:7");
  CHECK(error_of("-set MINMSGLOG=25") ==
        "-msglog: smallest exponent, 25, is above the largest, 22; for example: -msglog 3:7");
}

TEST_CASE("a file of lengths") {
  const Files files{
      {{"l", "# any order\r\n4k\r\n\n  8 # eight\n0\n1M"}, {"bad", "1\n\n12x\n"}, {"empty", "# none\n\n"}},
      {}};
  CHECK(parsed("-msglen l", files).lengths == Lengths{4096, 8, 0, 1 << 20});
  CHECK(error_of("-msglen bad", files) ==
        "bad:3: \"12x\" is not a size; a message size is a line such as 4096 or 64k");
  CHECK(error_of("-msglen empty", files) == "-msglen: empty holds no message sizes; write one per line");
  CHECK(error_of("-msglen gone", files) == "-msglen: cannot read gone: No such file or directory");
  CHECK(error_of("-msglen l -msgsize 4", files) ==
        "-msglen and -msgsize cannot be combined; give one of them");
  CHECK(error_of("-msglog 4 -msglen l", files) == "-msglen and -msglog cannot be combined; give one of them");
  CHECK(error_of("-msglog 4 -msgsize 4") == "-msgsize and -msglog cannot be combined; give one of them");
}

TEST_CASE("options about repetitions") {
  const Settings all = parsed("-iter 2000,100,150,multiple_np").settings;
  CHECK(all.repetitions == 2000);
  CHECK(all.overall_volume == 100 * mebibyte);
  CHECK(all.non_aggregate_repetitions == 150);
  CHECK(all.policy == IterationPolicy::multiple_np);
  const Settings some = parsed("-iter 20,AUTO").settings;
  CHECK(some.repetitions == 20);
  CHECK(some.overall_volume == 40 * mebibyte);
  CHECK(some.policy == IterationPolicy::automatic);
  CHECK(parsed("-iter off").settings.policy == IterationPolicy::off);
  CHECK(parsed("-iter off").settings.repetitions == 1000);
  CHECK(parsed("-iter 1000,3000").settings.overall_volume == 3000 * mebibyte);
  CHECK(parsed("-iter 10,64k").settings.overall_volume == 65536);
  CHECK(parsed("-iter_policy auto").settings.policy == IterationPolicy::automatic);
  CHECK(parsed("-time 1.5").settings.seconds_per_sample == 1.5);
  CHECK(parsed("-time 0").settings.seconds_per_sample == 0);
  CHECK_FALSE(parsed("-warm_up off").warm_up);
  CHECK(parsed("-msg_pause on").message_pause);

  const std::string example = "; for example: -iter 2000,multiple_np";
  CHECK(error_of("-iter 0") == "-iter: \"0\" is below the minimum, 1" + example);
  CHECK(error_of("-iter 1.5") == "-iter: \"1.5\" is not a whole number" + example);
  CHECK(error_of("-iter 3000000000") == "-iter: \"3000000000\" is above the maximum, 2147483647" + example);
  CHECK(error_of("-iter 99999999999999999999") ==
        "-iter: \"99999999999999999999\" is out of range" + example);
  CHECK(error_of("-iter 1,2,3,4") == "-iter: \"1,2,3,4\" has too many parts" + example);
  CHECK(error_of("-iter 1,auto,3") == "-iter: \"auto\" is not a size" + example);
  CHECK(error_of("-iter 1,dynamik") ==
        "-iter: \"dynamik\" is not one of dynamic, multiple_np, auto, off" + example);
  CHECK(error_of("-iter 1,") == "-iter: \"\" is not a size" + example);
  CHECK(error_of("-time -1") == "-time: \"-1\" is below the minimum, 0; for example: -time 1.5");
  CHECK(error_of("-time nan") == "-time: \"nan\" is not a number; for example: -time 1.5");
  CHECK(error_of("-time 1s") == "-time: \"1s\" is not a number; for example: -time 1.5");
  CHECK(error_of("-time 1e10") == "-time: \"1e10\" is above the maximum, 1e+09; for example: -time 1.5");
}

TEST_CASE("options about the method") {
  CHECK(parsed("-off_cache 2.5").off_cache->cache_size == 5 * mebibyte / 2);
  CHECK(parsed("-off_cache 2.5").off_cache->cache_line == 0);
  CHECK(parsed("-off_cache 16,128").off_cache->cache_size == 16 * mebibyte);
  CHECK(parsed("-off_cache 16,128").off_cache->cache_line == 128);
  CHECK(parsed("-off_cache 512k").off_cache->cache_size == 524288);
  CHECK(parsed("-off_cache -1").off_cache->cache_size == 0);
  CHECK(parsed("-off_cache -1,32").off_cache->cache_line == 32);
  const Options set = parsed("-off_cache -1 -set cache_size=8m -set CACHE_LINE_SIZE=64");
  CHECK(set.off_cache->cache_size == 8 * mebibyte);
  CHECK(set.off_cache->cache_line == 64);
  CHECK(parsed("-off_cache 4 -set CACHE_LINE_SIZE=64").off_cache->cache_line == 64);

  CHECK(parsed("-mem 2").settings.max_memory == 2 * gibibyte);
  CHECK(parsed("-mem 0.5").settings.max_memory == gibibyte / 2);
  CHECK(parsed("-mem 2G").settings.max_memory == 2 * gibibyte);
  CHECK(parsed("-mem 512M").settings.max_memory == gibibyte / 2);
  CHECK(parsed("-mem 64k").settings.max_memory == 65536);

  CHECK_FALSE(parsed("-root_shift off").root_shift);
  CHECK(parsed("-in_place on").in_place);
  CHECK(parsed("-sync on").synchronize_each);
  CHECK(parsed("-imb_barrier on").own_barrier);
  CHECK(parsed("-data_type double").data.type == DataType::double_precision);
  CHECK(parsed("-data_type BFLOAT16").data.type == DataType::bfloat16);
  CHECK(parsed("-red_data_type int").reduction.type == DataType::integer);
  CHECK(parsed("-red_data_type char").reduction.type == DataType::character);
  CHECK(parsed("-contig_type resize_vec").data.contiguity == Contiguity::resized_vector);
  CHECK(parsed("-contig_type resize_vec").reduction.contiguity == Contiguity::resized_vector);
  CHECK(parsed("-window_size 64").in_flight == 64);

  CHECK(error_of("-off_cache 0") == "-off_cache: \"0\" is not above 0 MB; for example: -off_cache 16,128");
  CHECK(error_of("-off_cache -2") == "-off_cache: \"-2\" is not above 0 MB; for example: -off_cache 16,128");
  CHECK(error_of("-off_cache 4,0") ==
        "-off_cache: \"0\" is below the minimum, 1 byte; for example: -off_cache 16,128");
  CHECK(error_of("-off_cache 2000000") ==
        "-off_cache: \"2000000\" is above the maximum, 1048576 MB; for example: -off_cache 16,128");
  CHECK(error_of("-off_cache 1025g") ==
        "-off_cache: \"1025g\" is above the maximum, 1024 GB; for example: -off_cache 16,128");
  CHECK(error_of("-mem 0") == "-mem: \"0\" is not above 0 GB; for example: -mem 0.5");
  CHECK(error_of("-mem -1m") == "-mem: \"-1m\" is not above 0 MB; for example: -mem 0.5");
  CHECK(error_of("-mem 1e10") == "-mem: \"1e10\" is above the maximum, 4294967296 GB; for example: -mem 0.5");
  CHECK(error_of("-red_data_type byte") ==
        "-red_data_type: MPI_SUM is not defined for bytes; for example: -red_data_type double");
  CHECK(error_of("-data_type long") ==
        "-data_type: \"long\" is not one of byte, char, int, float, double, float16, bfloat16; "
        "for example: -data_type double");
  CHECK(error_of("-contig_type x") ==
        "-contig_type: \"x\" is not one of base, base_vec, resize, resize_vec; for example: -contig_type "
        "resize");
  CHECK(error_of("-window_size 0") ==
        "-window_size: \"0\" is below the minimum, 1; for example: -window_size 64");
}

TEST_CASE("options of IMB-MT that mean the same everywhere") {
  CHECK(parsed("-warmup 3").settings.warm_up_repetitions == 3);
  CHECK(parsed("-warmup 3").warm_up);
  CHECK_FALSE(parsed("-warmup 0").warm_up);
  CHECK(parsed("-repeat 20").settings.repetitions == 20);
  CHECK(error_of("-stride 1") ==
        "-stride: IMB-MPI1 has no benchmark that uses it; leave it out, or run IMB-MT");
  CHECK(error_of("-count 8") ==
        "-count: IMB-MPI1 has no benchmark that uses it; give -msgsize, or run IMB-MT");
  CHECK(error_of("-datatype int") ==
        "-datatype: IMB-MPI1 has no benchmark that uses it; give -data_type, or run IMB-MT");
  CHECK(error_of("-barrier on") ==
        "-barrier: IMB-MPI1 has no benchmark that uses it; give -imb_barrier, or run IMB-MT");
}

TEST_CASE("on and off have several words") {
  for (const char* word : {"on", "1", "yes", "TRUE", "enable"})
    CHECK(parsed(std::string("-sync ") + word).synchronize_each);
  for (const char* word : {"off", "0", "No", "false", "disable"}) {
    CHECK_FALSE(parsed(std::string("-root_shift ") + word).root_shift);
  }
  CHECK(error_of("-sync maybe") == "-sync: \"maybe\" is neither on nor off; for example: -sync on");
}

TEST_CASE("options about output") {
  CHECK(parsed("-show_tail on").show_tail);
  CHECK(parsed("-dumpfile d.txt").dump_file == "d.txt");
  CHECK(parsed("-check").check);
  CHECK(parsed("-json r.jsonl").json_file == "r.jsonl");
  CHECK(parsed("-mbyte 1e6").bytes_per_megabyte == 1e6);
  CHECK(parsed("-mbyte 1048576").bytes_per_megabyte == 1048576);
  CHECK(error_of("-mbyte 0") == "-mbyte: \"0\" is below the minimum, 1 byte; for example: -mbyte 1e6");
  CHECK(error_of("-json f -dumpfile f") == "-json and -dumpfile name the same file, f; use different files");
  CHECK(error_of("-json f -dumpfile ./x/../f").starts_with("-json and -dumpfile name the same file"));
}

TEST_CASE("an output does not overwrite a file that the command line reads") {
  const Files files{{{"in.txt", "PingPong\n"}, {"lengths", "8\n"}, {"set", "N_BARR=1\n"}}, {}};
  CHECK(error_of("-input in.txt -json ./in.txt", files) ==
        "-json would overwrite in.txt, which this command line reads; name another file");
  CHECK(
      error_of("-dumpfile lengths -msglen lengths", files).starts_with("-dumpfile would overwrite lengths"));
  CHECK(error_of("-set @set -json set", files).starts_with("-json would overwrite set"));
  CHECK(parsed("-input in.txt -json out.txt", files).json_file == "out.txt");
}

TEST_CASE("a command line without any length is an error") {
  CHECK(
      error_of("-msgsize 0 -zero_size off").starts_with("-zero_size off leaves no message size to measure"));
  CHECK(parsed("-msgsize 0,8 -zero_size off").lengths == Lengths{0, 8});
}

TEST_CASE("options of one-sided and of nonblocking benchmarks") {
  constexpr Spec specs[] = {{.name = "Unidir_put", .access = Access::passive_target},
                            {.name = "Ibcast", .overlap = Overlap::matched}};
  const Program both{"IMB-BOTH", "both parts", specs};
  const auto parsed = [&](const char* line) { return parse(both, words(line), 8, Files{}.reader()); };
  const Options standard = parsed("");
  CHECK(standard.window_kind == WindowKind::create);
  CHECK(standard.aggregate_mode == AggregateMode::both);
  CHECK(standard.info.empty());
  CHECK(standard.progress == 0);
  CHECK(parsed("-window ALLOCATE").window_kind == WindowKind::allocate);
  CHECK(parsed("-window shared").window_kind == WindowKind::shared);
  CHECK(parsed("-window dynamic").window_kind == WindowKind::dynamic);
  CHECK(error_of("-window heap") ==
        "-window: \"heap\" is not one of create, allocate, shared, dynamic; for example: -window allocate");
  CHECK(parsed("-aggregate_mode aggregate").aggregate_mode == AggregateMode::aggregate);
  CHECK(parsed("-aggregate_mode non_aggregate").aggregate_mode == AggregateMode::non_aggregate);
  CHECK(parsed("-aggregate_mode multi").aggregate_mode == AggregateMode::both);
  CHECK(parsed("-progress 12").progress == 12);
  CHECK(error_of("-progress many").starts_with("-progress: "));
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  // Each adds a pair, and a second one for the same key replaces the first.
  CHECK(parsed("-info a=1 -info b=x=y -info a=2").info == Pairs{{"a", "2"}, {"b", "x=y"}});
  CHECK(error_of("-info a") == "-info: \"a\" is not KEY=VALUE; for example: -info no_locks=true");
  CHECK(error_of("-info =a").starts_with("-info: \"=a\" is not KEY=VALUE"));
  CHECK(error_of("-info a=").starts_with("-info: \"a=\" is not KEY=VALUE"));
}

TEST_CASE("-set knows every parameter") {
  const Settings settings =
      parsed(
          "-set MINMSGLOG=1 -set maxmsglog=5 -set ITER_POLICY=imode_off -set MsgsPerSample=20 "
          "-set MSGS_NONAGGR=7 -set OVERALL_VOL=16m -set SECS_PER_SAMPLE=2.5 -set N_BARR=0 "
          "-set N_WARMUP=3 -set TARGET_CPU_SECS=0.1 -set MAX_MEM_USAGE=2g -set CACHE_SIZE=1m "
          "-set CACHE_LINE_SIZE=64")
          .settings;
  Settings expected;
  expected.min_message_log = 1;
  expected.max_message_log = 5;
  expected.policy = IterationPolicy::off;
  expected.repetitions = 20;
  expected.non_aggregate_repetitions = 7;
  expected.overall_volume = 16 * mebibyte;
  expected.seconds_per_sample = 2.5;
  expected.barriers = 0;
  expected.warm_up_repetitions = 3;
  expected.target_cpu_seconds = 0.1;
  expected.max_memory = 2 * gibibyte;
  expected.cache_size = mebibyte;
  expected.cache_line = 64;
  CHECK(settings == expected);
  CHECK(settings_that_differ(Options{}).empty());
  Options options;
  options.settings = settings;
  CHECK(settings_that_differ(options) == Strings{"MINMSGLOG=1", "MAXMSGLOG=5", "ITER_POLICY=off",
                                                 "MSGSPERSAMPLE=20", "MSGS_NONAGGR=7", "OVERALL_VOL=16777216",
                                                 "SECS_PER_SAMPLE=2.5", "N_BARR=0", "N_WARMUP=3",
                                                 "TARGET_CPU_SECS=0.1", "MAX_MEM_USAGE=2147483648",
                                                 "CACHE_SIZE=1048576", "CACHE_LINE_SIZE=64"});

  const std::string example = "; for example: -set MSGSPERSAMPLE=20";
  CHECK(error_of("-set N_BARR") == "-set: \"N_BARR\" is not NAME=VALUE" + example);
  CHECK(error_of("-set N_BAR=1") == "-set: unknown parameter \"N_BAR\": did you mean N_BARR?");
  CHECK(error_of("-set XYZ=1") == "-set: unknown parameter \"XYZ\": -help set shows the names" + example);
  CHECK(error_of("-set n_barr=x") == "-set: N_BARR: \"x\" is not a whole number" + example);
  CHECK(error_of("-set @") == "-set: file name missing after @" + example);
}

TEST_CASE("-set reads files") {
  const Files files{{{"s", "# mine\nMSGSPERSAMPLE = 20 # few\n\nn_barr=1\n"},
                     {"bad", "N_BARR=1\nN_BARR=x\n"},
                     {"none", "\n"}},
                    {}};
  CHECK(parsed("-set @s", files).settings.repetitions == 20);
  CHECK(parsed("-set @s", files).settings.barriers == 1);
  CHECK(error_of("-set @bad", files) ==
        "bad:2: N_BARR: \"x\" is not a whole number; a setting is a line such as MSGSPERSAMPLE=20");
  CHECK(error_of("-set @none", files) == "-set: none holds no settings; write one per line");
  CHECK(error_of("-set @gone", files) == "-set: cannot read gone: No such file or directory");
}

TEST_CASE("order: -set first, then the last one wins") {
  CHECK(parsed("-iter 5 -set MSGSPERSAMPLE=20").settings.repetitions == 5);
  CHECK(parsed("-set MSGSPERSAMPLE=20 -set MSGSPERSAMPLE=30").settings.repetitions == 30);
  CHECK(parsed("-iter 5 -iter 6").settings.repetitions == 6);
  CHECK(parsed("-iter 5,off -iter_policy auto").settings.policy == IterationPolicy::automatic);
  CHECK(parsed("-msgsize 1,2 -msgsize 3").lengths == Lengths{3});

  Files files{{{"n", "Bcast"}, {"l", "1"}, {"s", "N_BARR=1"}}, {}};
  parse(program, words("-input n -msglen l -set @s"), 2, files.reader());
  CHECK(files.read == Strings{"s", "n", "l"});
}

TEST_CASE("names replace the default list and keep their order") {
  CHECK(selection_of("barrier PINGPONG") == "Barrier PingPong");
  CHECK(selection_of("Barrier,PingPong Bcast") == "Barrier PingPong Bcast");
  CHECK(selection_of("Bcast bcast") == "Bcast");
  CHECK(selection_of("Multi-PingPong MULTI-bcast PingPong") == "Multi-PingPong Multi-Bcast PingPong");
  CHECK(selection_of("Uniband -npmin 2 Bcast -check") == "Uniband Bcast");
  CHECK(selection_of("-multi 0 PingPong Barrier -map 2x3") == "PingPong Barrier");
}

TEST_CASE("include adds, exclude removes") {
  CHECK(selection_of("-include Uniband PingPongSpecificsource") ==
        default_list + " Uniband PingPongSpecificSource");
  CHECK(selection_of("-include Uniband,Bcast") == default_list + " Uniband");
  CHECK(selection_of("-exclude Bcast Barrier") == "PingPong Allreduce");
  CHECK(selection_of("-exclude Bcast,Barrier Uniband PingPong") == "Uniband PingPong");
  CHECK(selection_of("-exclude Bcast, Barrier") == "PingPong Allreduce");
  CHECK(selection_of("-exclude Uniband") == default_list);
  CHECK(selection_of("Bcast -include Uniband") == "Bcast Uniband");
  CHECK(selection_of("Bcast Multi-Bcast -exclude Multi-Bcast") == "Bcast");
  CHECK(selection_of("Barrier Multi-Bcast -exclude Bcast") == "Barrier");
  CHECK(selection_of("-msglog 2:7 -include Uniband Uniband -exclude Bcast Barrier") ==
        "PingPong Allreduce Uniband");
  CHECK(error_of("Bcast -exclude Bcast") ==
        "-exclude leaves no benchmark to run; exclude fewer or name some");
  CHECK(error_of("-include") ==
        "-include: value missing; for example: -include PingPongSpecificSource Uniband");
  CHECK(error_of("-exclude -check") == "-exclude: value missing; for example: -exclude Alltoall,Alltoallv");
}

TEST_CASE("names from a file") {
  const Files files{{{"n", "#\n# selection\n\n#Bcast\nBarrier\n  multi-allreduce # too\n"},
                     {"bad", "Bcast\nBcsat\n"},
                     {"none", "#"}},
                    {}};
  CHECK(selection_of("-input n", files) == "Barrier Multi-Allreduce");
  CHECK(selection_of("Uniband -input n PingPong", files) == "Uniband Barrier Multi-Allreduce PingPong");
  CHECK(error_of("-input bad", files) == "bad:2: unknown benchmark \"Bcsat\": did you mean Bcast?");
  CHECK(error_of("-input none", files) == "-input: none holds no benchmark names; write one per line");
  CHECK(error_of("-input gone", files) == "-input: cannot read gone: No such file or directory");
}

TEST_CASE("unknown words are errors with a suggestion") {
  CHECK(error_of("PingPnog") == "unknown benchmark \"PingPnog\": did you mean PingPong?");
  CHECK(error_of("Multi-PingPnog") == "unknown benchmark \"Multi-PingPnog\": did you mean PingPong?");
  CHECK(error_of("Bcast -exclude Bariers") == "unknown benchmark \"Bariers\": did you mean Barrier?");
  CHECK(error_of("nonsense") == "unknown benchmark \"nonsense\": -list shows the names");
  CHECK(error_of("npmin 4") == "unknown benchmark \"npmin\": did you mean -npmin?");
  CHECK(error_of("-iter 100 40") == "unknown benchmark \"40\": -list shows the names");
  CHECK(error_of(",") == "unknown benchmark \",\": -list shows the names");
  CHECK(error_of("Window") == "unknown benchmark \"Window\": it is in IMB-EXT");
  CHECK(error_of("Unidir_Put") == "unknown benchmark \"Unidir_Put\": it is in IMB-EXT");
  CHECK(error_of("Unidir_put") == "unknown benchmark \"Unidir_put\": it is in IMB-RMA");
  CHECK(error_of("ibcast_pure") == "unknown benchmark \"ibcast_pure\": it is in IMB-NBC");
  CHECK(error_of("S_Write_indv") == "unknown benchmark \"S_Write_indv\": it is in IMB-IO");

  CHECK(error_of("-npmn 2") == "unknown option \"-npmn\": did you mean -npmin?");
  CHECK(error_of("--itre 2") == "unknown option \"--itre\": did you mean -iter?");
  CHECK(error_of("-npmin=2") == "unknown option \"-npmin=2\": did you mean -npmin?");
  CHECK(error_of("-nonsense") == "unknown option \"-nonsense\": -help all shows the options");
  CHECK(error_of("-1") == "unknown option \"-1\": -help all shows the options");
  CHECK(error_of("-") == "unknown option \"-\": -help all shows the options");
}

TEST_CASE("a value that is missing") {
  CHECK(error_of("-npmin") == "-npmin: value missing; for example: -npmin 4");
  CHECK(error_of("-npmin -check") == "-npmin: value missing; for example: -npmin 4");
  CHECK_THROWS_WITH(parse(program, Strings{"-json", ""}, 2, Files{}.reader()),
                    "-json: value missing; for example: -json run.jsonl");
  CHECK(error_of("-npmin 12x") == "-npmin: \"12x\" is not a whole number; for example: -npmin 4");
}

TEST_CASE("a message is one line, even if the command line has line breaks") {
  CHECK_THROWS_WITH(parse(program, Strings{"a\nb"}, 2, Files{}.reader()),
                    "unknown benchmark \"a?b\": -list shows the names");
}

TEST_CASE("-ignore_unknown warns") {
  CHECK(parsed("-foo 3 Bcast -ignore_unknown").warnings ==
        Strings{"ignored: unknown option \"-foo\": -help all shows the options; with it \"3\""});
  CHECK(selection_of("-foo 3 Bcast -ignore_unknown") == "Bcast");
  CHECK(selection_of("-ignore_unknown -foo 3 -5 x") == default_list);
  CHECK(parsed("-ignore_unknown Bcast Bcsat").warnings ==
        Strings{"ignored: unknown benchmark \"Bcsat\": did you mean Bcast?"});
  CHECK(selection_of("-ignore_unknown -include Nonsense") == default_list);
  CHECK(error_of("-ignore_unknown PingPnog") == "unknown benchmark \"PingPnog\": did you mean PingPong?");
  CHECK(error_of("-ignore_unknown -foo PingPnog") ==
        "unknown benchmark \"PingPnog\": did you mean PingPong?");
  CHECK(error_of("-ignore_unknown -npmin x") == "-npmin: \"x\" is not a whole number; for example: -npmin 4");
}

TEST_CASE("help shows every option") {
  const std::string help = help_text(program, "all");
  CHECK(help.starts_with("mpirun -np P IMB-MPI1 [options] [benchmark ...]\n"));
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  for (const char* option :
       {"help",       "version",     "list",      "npmin",         "multi",       "off_cache",
        "iter",       "iter_policy", "time",      "mem",           "input",       "msglen",
        "msgsize",    "msglog",      "map",       "include",       "exclude",     "thread_level",
        "root_shift", "in_place",    "sync",      "imb_barrier",   "zero_size",   "warm_up",
        "msg_pause",  "show_tail",   "data_type", "red_data_type", "contig_type", "window_size",
        "dumpfile",   "check",       "json",      "set",           "mbyte",       "ignore_unknown"}) {
    INFO(option);
    CHECK(help.find("  -" + std::string(option)) != std::string::npos);
    const std::string topic = help_text(program, option);
    CHECK(topic.starts_with("-" + std::string(option)));
    CHECK(topic == help_text(program, "--" + std::string(option)));
    CHECK(help_text(program, "full").find(topic) != std::string::npos);
    std::istringstream topic_lines(topic);
    for (std::string line; std::getline(topic_lines, line);) CHECK(line.size() <= 80);
  }
}

constexpr Spec random_pairs[] = {
    {.name = "Unirandom", .kind = Kind::parallel_transfer, .sent = 0.5, .random_partners = true},
    {.name = "Halo", .any_torus = true},
    {.name = "Multi_pair", .message_rate = true, .in_pairs = true}};

TEST_CASE("the example of every option is a command line that parses") {
  const Files files{
      {{"chosen.txt", "Bcast"}, {"sizes.txt", "4"}, {"rounds.txt", "0-1 2-3"}, {"variants.txt", "a"}}, {}};
  constexpr Spec others[] = {{.name = "Bcast", .in_place = InPlace::everywhere, .overlap = Overlap::matched},
                             {.name = "Alltoall"},
                             {.name = "Alltoallv"},
                             {.name = "PingPongSpecificSource"},
                             {.name = "Uniband"}};
  constexpr Spec on_files[] = {{.name = "Bcast", .access = Access::file},
                               {.name = "Alltoall", .access = Access::file},
                               {.name = "Alltoallv", .access = Access::file},
                               {.name = "PingPongSpecificSource", .access = Access::file}};
  const Program messages{"IMB-MPI1", "MPI-1 part", others};
  const Program io{"IMB-IO", "MPI-IO part", on_files, file_defaults, true};
  const Program pairs{"IMB-P2P", "IMB-P2P part", random_pairs, pair_defaults};
  static constexpr Spec neighbors[] = {{.name = "Neighbor_alltoall", .topology = {.dimensions = 2}}};
  const Program neighborhoods{"IMB-MPI1", "MPI-1 part", neighbors};
  constexpr Spec one_sided[] = {{.name = "Unidir_put", .access = Access::passive_target}};
  constexpr Spec sent[] = {{.name = "PingPong", .send_modes = every_send_mode}};
  const Program sending{"IMB-MPI1", "MPI-1 part", sent};
  const Program windows{"IMB-RMA", "MPI-RMA part", one_sided};
  constexpr Spec in_parts[] = {{.name = "Partitioned_PingPong", .partitioned = true}};
  const Program parts{"IMB-MPI4", "MPI-4 part", in_parts};
  constexpr Spec by_threads[] = {{.name = "PingPongMT", .kind = Kind::parallel_transfer, .threaded = true}};
  const Program threads{"IMB-MT", "MT part", by_threads, thread_defaults};
  constexpr Spec in_rounds[] = {{.name = "Pair_Latency", .in_rounds = true}};
  const Program fabric{"IMB-FABRIC", "IMB-FABRIC part", in_rounds, fabric_defaults};
  constexpr Spec overlapped[] = {{.name = "Ibcast", .overlap = Overlap::matched}};
  const Program loaded{"IMB-NBC", "MPI-NBC part", overlapped};
  std::istringstream help(help_text(messages, "all"));
  int examples = 0;
  std::string group;
  for (std::string line; std::getline(help, line);) {
    if (!line.empty() && line.front() != ' ') group = line;
    if (!line.starts_with("  -")) continue;
    const auto is_for = [&](std::string_view component) { return line.find(component) != std::string::npos; };
    const bool on_windows =
        line.starts_with("  -sync_mode ") || line.starts_with("  -window ") || line.starts_with("  -info ");
    const Program& whole = group == "IMB-MT"                   ? threads
                           : group == "IMB-FABRIC"             ? fabric
                           : on_windows                        ? windows
                           : line.starts_with("  -send_mode ") ? sending
                           : line.starts_with("  -layout ")    ? sending
                           : line.starts_with("  -topo ")      ? neighborhoods
                           : line.starts_with("  -load ")      ? loaded
                           : line.starts_with("  -seed ")      ? pairs
                           : is_for("IMB-IO: ")                ? io
                           : is_for("IMB-P2P: ")               ? pairs
                           : is_for("IMB-MPI4: ")              ? parts
                                                               : messages;
    const std::string topic = help_text(whole, line.substr(2, line.find(' ', 2) - 2));
    const std::string mark = std::string(whole.name) + " ";
    std::string example = topic.substr(topic.find(mark, topic.find("Example:")) + mark.size());
    INFO(example);
    Files given = files;
    CHECK_NOTHROW(parse(whole, words(example), 8, given.reader()));
    ++examples;
  }
  CHECK(examples == number_of_options());
}

TEST_CASE("IMB-P2P has its own defaults and options") {
  const Program pairs{"IMB-P2P", "IMB-P2P part", random_pairs, pair_defaults};
  const auto given = [&](const char* line) {
    Files none;
    return parse(pairs, words(line), 8, none.reader());
  };
  CHECK(given("").settings.repetitions == 100000);
  CHECK(given("").settings.overall_volume == 800 * mebibyte);
  CHECK(given("").defaults.min_processes == 8);
  CHECK(given("-npmin 2").min_processes == 2);
  CHECK(settings_that_differ(given("")).empty());
  CHECK(given("").pairs->seed == 1);
  const Options options = given("-seed 7 -halo 2,CORNERS -pairs 4 -pause 1500 -msgsz 1k -msgsz 3");
  CHECK(options.pairs->seed == 7);
  CHECK(options.pairs->halo.neighbors() == 8);
  CHECK(options.pairs->max_pairs == 4);
  CHECK(options.pause_seconds == 0.0015);
  CHECK(options.lengths == std::vector<std::int64_t>{1024, 3});
  CHECK(given("-msgwr off -msgrd off").warnings.empty());
  CHECK(given("-msgwr on -msgrd on").warnings.size() == 2);
}

TEST_CASE("-topo takes a grid, a graph or a random graph that fits a group of the launch") {
  static constexpr Spec neighbors[] = {{.name = "Neighbor_alltoall", .topology = {.dimensions = 2}}};
  const auto given = [&](const std::string& line) {
    const Program program{"IMB-MPI1", "MPI-1 part", neighbors};
    return parse(program, words(line), 8, Files{}.reader()).topology;
  };
  const auto usage_error = [&](const std::string& line) -> std::string {
    try {
      given(line);
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  };
  CHECK_FALSE(given("").has_value());
  CHECK(given("-topo 3D")->name(8) == "2 x 2 x 2");
  CHECK(given("-topo 2x4")->name(8) == "2 x 4");
  CHECK(given("-topo 2x2")->name(8) == "4 x 2");  // fits the groups of 4
  CHECK(given("-topo Graph")->name(8) == "graph 4 x 2");
  CHECK(given("-topo graph:1x8")->name(8) == "graph 1 x 8");
  CHECK(given("-topo random:7")->name(8) == "random graph, degree 7, seed 1");
  CHECK(given("-seed 5 -topo random:3")->seed == 5);
  CHECK(given("-topo 3d -topo random:3 -seed 0")->seed == 0);
  CHECK(usage_error("-topo random:8") == "-topo random:8: with 8 ranks, give at most random:7");
  CHECK(usage_error("-topo 2x3").starts_with("-topo: a grid of 6 ranks, but groups have 2, 4, 8; "));
  CHECK(usage_error("-npmin 8 -topo 2x2").starts_with("-topo: a grid of 4 ranks, but groups have 8; "));
  CHECK(usage_error("-map 2x3 -topo 2x3").empty());
  CHECK(usage_error("-topo 4096x4096x4096x4096x4096").starts_with("-topo: a grid of 1152921504606846976 "));
  CHECK(usage_error("-topo 2d -seed 1") == "-seed: IMB-MPI1 uses it with -topo random:N only; leave it out");
}

TEST_CASE("-send_mode applies only to components with a benchmark that can use it") {
  constexpr Spec sent[] = {{.name = "PingPong", .send_modes = every_send_mode}};
  const Program sending{"IMB-MPI1", "MPI-1 part", sent};
  constexpr Spec none[] = {{.name = "Ibcast"}};
  const Program other{"IMB-NBC", "MPI-NBC part", none};
  const auto given = [](const Program& whole, const std::string& line) {
    return parse(whole, words(line), 2, Files{}.reader()).send_mode;
  };
  CHECK(given(sending, "") == SendMode::standard);
  CHECK(given(sending, "-send_mode BUFFERED") == SendMode::buffered);
  CHECK_THROWS_WITH(given(other, "-send_mode buffered"),
                    "-send_mode: IMB-NBC has no benchmark that uses it; leave it out");
  CHECK_THROWS_WITH(given(sending, "-send_mode ready"),
                    "-send_mode: \"ready\" is not one of standard, synchronous, buffered; for example: "
                    "-send_mode synchronous");
}

TEST_CASE("-layout: its values, and options that cannot be combined with it") {
  constexpr Spec moved[] = {{.name = "PingPong", .send_modes = every_send_mode},
                            {.name = "Allreduce", .reduction = true, .in_place = InPlace::everywhere}};
  const Program program{"IMB-MPI1", "MPI-1 part", moved};
  const auto given = [&](const std::string& line) {
    return parse(program, words(line), 2, Files{}.reader());
  };
  CHECK(!given("").layout.has_gaps());
  CHECK(!given("-layout Contiguous").layout.has_gaps());
  CHECK(!given("-layout vector:4:4").layout.has_gaps());
  CHECK(name_of(given("-layout VECTOR:2:8").layout) == "vector:2:8");
  const auto usage_error = [&](const std::string& line) -> std::string {
    try {
      given(line);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  using Catch::Matchers::StartsWith;
  CHECK_THAT(usage_error("-layout vector:2"),
             StartsWith("-layout: \"vector:2\": a vector has a block and a stride"));
  CHECK_THAT(usage_error("-layout vector:3:2"),
             StartsWith("-layout: \"vector:3:2\": the stride is less than"));
  CHECK_THAT(usage_error("-layout vector:0:2"), StartsWith("-layout: "));
  CHECK_THAT(usage_error("-layout row"), StartsWith("-layout: \"row\" is not one of contiguous, vector"));
  CHECK_THAT(usage_error("-layout indexed:3"),
             StartsWith("-layout: \"indexed:3\": only a vector has numbers"));
  CHECK(usage_error("-layout indexed -packing mpi") ==
        "unknown option \"-packing\": it was removed; give -layout alone, which sends the derived datatype");
  CHECK(usage_error("-layout struct -data_type double") ==
        "-layout struct is a record of several types, counted in bytes; give -data_type byte");
  CHECK(usage_error("-layout indexed -contig_type resize") ==
        "-layout indexed and -contig_type cannot be combined; give one of them");
  CHECK(usage_error("-layout indexed Allreduce") ==
        "-layout: no effect on the selected benchmarks; leave it out, or add PingPong");
}

TEST_CASE("-sync_mode applies to one-sided components, and IMB-EXT accepts only two of its modes") {
  constexpr Spec passive[] = {{.name = "Unidir_put", .access = Access::passive_target}};
  constexpr Spec active[] = {{.name = "Unidir_Put", .access = Access::active_target}};
  const auto given = [](const Program& whole, const std::string& line) {
    return parse(whole, words(line), 2, Files{}.reader()).sync_mode;
  };
  const auto usage_error = [&](const Program& whole, const std::string& line) -> std::string {
    try {
      given(whole, line);
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  };
  const Program rma_program{"IMB-RMA", "MPI-RMA part", passive};
  const Program ext_program{"IMB-EXT", "MPI-2 part", active};
  CHECK(given(rma_program, "") == SyncMode::standard);
  CHECK(given(rma_program, "-sync_mode LOCK_ALL") == SyncMode::lock_all);
  CHECK(given(ext_program, "-sync_mode pscw") == SyncMode::pscw);
  CHECK(given(ext_program, "-sync_mode standard") == SyncMode::standard);
  CHECK(usage_error(ext_program, "-sync_mode lock") ==
        "-sync_mode lock: a mode of passive targets; IMB-EXT has active ones: give fence or pscw, or run "
        "IMB-RMA");
  CHECK(usage_error(program, "-sync_mode fence") ==
        "-sync_mode: IMB-MPI1 has no benchmark that uses it; leave it out, or run IMB-EXT or IMB-RMA");
  CHECK(usage_error(rma_program, "-sync_mode none") ==
        "-sync_mode: \"none\" is not one of standard, fence, pscw, lock, lock_all, flush, flush_local; for "
        "example: -sync_mode lock");
}

TEST_CASE("more pairs than the ranks can form are an error that says what is possible") {
  static constexpr Spec specs[] = {{.name = "Unirandom", .in_pairs = true, .random_partners = true},
                                   {.name = "Multi_pair", .message_rate = true, .in_pairs = true},
                                   {.name = "PingPongMT", .kind = Kind::parallel_transfer, .threaded = true}};
  const auto usage_error = [&](const char* option, int processes) -> std::string {
    const bool threaded = std::string_view(option) == "-stride";
    const Program program{threaded ? "IMB-MT" : "IMB-P2P", "part", specs,
                          threaded ? thread_defaults : pair_defaults};
    for (const std::string number : {"1", "9"}) {
      try {
        parse(program, std::vector<std::string>{option, number}, processes, Files{}.reader());
      } catch (const UsageError& error) {
        return error.what();
      }
    }
    return "none";
  };
  CHECK(usage_error("-pairs", 1) == "-pairs 1: needs at least 2 ranks");
  CHECK(usage_error("-stride", 1) == "-stride 1: needs at least 2 ranks");
  CHECK(usage_error("-pairs", 3) == "-pairs 9: 3 ranks make 1 pair; give at most 1");
  CHECK(usage_error("-pairs", 5) == "-pairs 9: 5 ranks make 2 pairs; give at most 2");
  CHECK(usage_error("-stride", 2) == "-stride 9: no two of 2 ranks are that far apart; give at most 1");
  CHECK((usage_error("-pairs", 18) == "none" && usage_error("-stride", 10) == "none"));
}

TEST_CASE("options that no selected benchmark can use are refused") {
  constexpr Spec specs[] = {
      {.name = "Unirandom", .random_partners = true},
      {.name = "PingPong"},
      {.name = "Halo", .any_torus = true, .in_default_list = false},
      {.name = "Multi_pair", .message_rate = true, .in_pairs = true, .in_default_list = false},
      {.name = "Partitioned_PingPong", .partitioned = true},
      {.name = "Ibcast", .in_place = InPlace::everywhere, .overlap = Overlap::matched},
      {.name = "Unidir_put", .access = Access::passive_target},
      {.name = "Shared_load", .access = Access::passive_target, .one_sided = {.window = WindowKind::shared}},
  };
  const Program all{"IMB-ALL", "all parts", specs};
  const auto usage_error = [](const Program& whole, const std::string& line) -> std::string {
    try {
      parse(whole, words(line), 8, Files{}.reader());
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  };
  struct Case {
    const char *option, *benchmark;
  };
  for (const auto& [option, benchmark] : {Case{"-seed 2", "Unirandom"},
                                          {"-halo 2", "Halo"},
                                          {"-pairs 2", "Multi_pair"},
                                          {"-partitions 4", "Partitioned_PingPong"},
                                          {"-progress 3", "Ibcast"},
                                          {"-in_place on", "Ibcast"},
                                          {"-window shared", "Unidir_put"},
                                          {"-info a=b", "Unidir_put"}}) {
    INFO(option);
    const std::string line(option), name = line.substr(0, line.find(' '));
    CHECK(usage_error(all, line + " PingPong") ==
          name + ": no effect on the selected benchmarks; leave it out, or add " + benchmark);
    CHECK(usage_error(all, line + " PingPong " + benchmark) == "none");
  }
  CHECK(usage_error(all, "-halo 2").starts_with("-halo: no effect on"));  // not in the default list
  CHECK(usage_error(all, "-halo 2 -include Halo") == "none");
  CHECK(usage_error(all, "-window shared Shared_load").starts_with("-window: no effect on"));
  constexpr Spec message[] = {{.name = "PingPong"}};
  const Program messages{"IMB-X", "a part", message, {}, false, suite};
  CHECK(usage_error(messages, "-in_place on") ==
        "-in_place: IMB-X has no benchmark that uses it; leave it out, or run IMB-MPI1");
  CHECK(usage_error(messages, "-info a=b") ==
        "-info: IMB-X has no benchmark that uses it; leave it out, or run IMB-EXT, IMB-RMA or IMB-IO");
}

TEST_CASE("options of IMB that no selected benchmark can use cause a warning") {
  const std::string window = "-window_size: no effect on the selected benchmarks";
  CHECK(parsed("-window_size 4 PingPong").warnings == Strings{window});
  CHECK(parsed("-window_size 4 PingPong Uniband").warnings.empty());
  CHECK(parsed("-root_shift off -red_data_type int Barrier").warnings ==
        Strings{"-root_shift: no effect on the selected benchmarks",
                "-red_data_type: no effect on the selected benchmarks"});
  CHECK(parsed("-aggregate_mode aggregate").warnings ==
        Strings{"-aggregate_mode: no effect; IMB-MPI1 has no benchmark that uses it"});
  // The default values cause no warning.
  CHECK(parsed("-aggregate_mode multi -window_size 256 -root_shift on Barrier").warnings.empty());
}

TEST_CASE("the banner states options that the results do not show") {
  constexpr Spec sent[] = {{.name = "PingPong", .send_modes = every_send_mode}};
  const Program sending{"IMB-MPI1", "MPI-1 part", sent};
  const auto lines = [&](const std::string& line) {
    return stated_options(parse(sending, words(line), 2, Files{}.reader())).lines;
  };
  using Lines = std::vector<std::pair<std::string, std::string>>;
  CHECK(lines("").empty());
  CHECK(lines("-send_mode standard -layout vector:2:2").empty());
  CHECK(lines("-layout indexed -send_mode buffered") ==
        Lines{{"Sends", "-send_mode buffered"}, {"Messages", "-layout indexed"}});
}

TEST_CASE("help shows the options that everyone uses, and all on request") {
  const auto count = [](const std::string& text) {
    int options = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) options += line.starts_with("  -") ? 1 : 0;
    return options;
  };
  const std::string common = help_text(program, ""), all = help_text(program, "ALL");
  CHECK(count(common) == 15);
  CHECK(count(all) == number_of_options());
  // They also come first in the complete list.
  const std::size_t start = common.find("Common options"), end = common.find("\n\n", start);
  CHECK(all.substr(start, end - start) == common.substr(start, end - start));
  CHECK(common.find("-help all shows all options") != std::string::npos);
}

TEST_CASE("the details of an option are at most five lines") {
  std::istringstream lines(help_text(program, "all"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    const std::string name = line.substr(3, line.find(' ', 3) - 3);
    std::istringstream topic(help_text(program, name));
    int paragraph = 0, details = 0;
    for (std::string each; std::getline(topic, each);) {
      if (each.empty()) ++paragraph;
      if (paragraph == 1 && !each.empty() && !each.starts_with("    "))
        ++details;  // four blanks: a parameter
    }
    INFO(name);
    CHECK(details <= 5);
  }
}

TEST_CASE("the details of options name limits and defaults by their values") {
  CHECK(help_text(program, "full").find_first_of("{}") == std::string::npos);
  CHECK(help_text(program, "alternate").find(std::to_string(default_passes) + " passes") !=
        std::string::npos);
  CHECK(help_text(program, "seed").find("Default: " + std::to_string(default_seed)) != std::string::npos);
}

TEST_CASE("help names the executables that use an option, unless all do") {
  CHECK(help_text(program, "window").find("\n  Used by: IMB-EXT, IMB-RMA\n") != std::string::npos);
  CHECK(help_text(program, "iter").find("Used by") == std::string::npos);
}

TEST_CASE("help shows the defaults of the component") {
  constexpr Spec specs[] = {{.name = "PingPong", .measures = "Time of half a round trip."}};
  const auto topic = [&](const Defaults& defaults, const char* name) {
    return help_text({"IMB-X", "a part", specs, defaults}, name);
  };
  const auto line = [&](const Defaults& defaults, const std::string& option) {
    const std::string help = topic(defaults, "all");
    const std::size_t start = help.find("  -" + option + " ");
    std::istringstream text(help.substr(start, help.find("\n  -", start) - start));
    std::string condensed;  // lines are broken at blanks
    for (std::string word; text >> word;) condensed += (condensed.empty() ? "" : " ") + word;
    return condensed;
  };
  const auto ends = [&](const Defaults& defaults, const char* option, const std::string& value) {
    INFO(option << ": " << line(defaults, option));
    CHECK(line(defaults, option).ends_with("[" + value + "]"));
    CHECK(topic(defaults, option).find("  Default: " + value + "\n") != std::string::npos);
  };
  ends({}, "iter", "1000,40,100,dynamic");
  ends({}, "npmin", "2");
  ends({}, "msglog", "0:22");
  ends({}, "window_size", "256");
  ends(file_defaults, "iter", "50,16,10,dynamic");
  ends(file_defaults, "npmin", "1");
  ends(file_defaults, "msglog", "0:24");
  ends(pair_defaults, "iter", "100000,800,100,dynamic");
  ends(pair_defaults, "npmin", "all ranks");
  ends(thread_defaults, "window_size", "64");
  ends(thread_defaults, "data_type", "int");
  ends(thread_defaults, "red_data_type", "int");
  ends(thread_defaults, "msglog", "message sizes of -count");
  ends(thread_defaults, "count", "1,2,4,8");
  ends(fabric_defaults, "msglog", "message sizes of -msgsize");
  ends(fabric_defaults, "msgsize", "8,65536,1048576");
  CHECK(topic({}, "PingPong").starts_with("PingPong\n  Time of half a round trip.\n  collective: "));
}

TEST_CASE("IMB-IO has its own defaults and options") {
  constexpr Spec writes[] = {{.name = "S_Write_Indv", .access = Access::file}};
  const Program io{"IMB-IO", "MPI-IO part", writes, file_defaults, true};
  const auto given = [](const Program& program, const char* line, int world = 8) {
    Files none;
    return parse(program, words(line), world, none.reader());
  };
  const auto usage_error = [&](const Program& program, const char* line, int world = 8) {
    try {
      given(program, line, world);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(given(io, "").settings == file_defaults.settings);
  CHECK(settings_that_differ(given(io, "")).empty());
  CHECK(settings_that_differ(given(io, "-iter 1000,40,100")) ==
        Strings{"MSGSPERSAMPLE=1000", "MSGS_NONAGGR=100", "OVERALL_VOL=41943040"});
  const Options options = given(io, "-file /scratch/x -fsync NEVER -reorder 3");
  CHECK(options.file == "/scratch/x");
  CHECK(options.file_sync == FileSync::never);
  CHECK(options.reorder == 3);
  CHECK(usage_error(io, "-fsync sometimes").starts_with("-fsync: "));
  CHECK(usage_error(io, "-reorder 4", 2) ==
        "-reorder 4: with 2 ranks, each rank would read what it wrote; give a number from 1 to the "
        "number of ranks less 1");
  CHECK(usage_error(io, "-reorder 1", 1).starts_with("-reorder 1: with 1 rank, "));
  CHECK(usage_error(io, "-data_type float") ==
        "-data_type: IMB-IO writes and reads bytes (MPI_BYTE); leave it out");
  CHECK(usage_error(io, "-red_data_type float") ==
        "-red_data_type: IMB-IO writes and reads bytes (MPI_BYTE); leave it out");
  CHECK(usage_error(program, "-fsync never") ==
        "-fsync: IMB-MPI1 uses no files; leave it out, or run IMB-IO");
  CHECK(help_text(io, "set").find("MSGSPERSAMPLE=50") != std::string::npos);
}

TEST_CASE("help on one topic") {
  CHECK(help_text(program, "set").find("MSGSPERSAMPLE=1000") != std::string::npos);
  CHECK(help_text(program, "npmin") ==
        "-npmin N\n"
        "  run on N, 2N, 4N, ... and all ranks\n\n"
        "  A launch of 10 ranks with -npmin 2 runs on 2, 4, 8 and 10. If N is above the\n"
        "  number of ranks launched, all of them run, with a warning. Single transfers\n"
        "  always run on 2.\n\n"
        "  Default: 2\n"
        "  Example: mpirun -np 4 IMB-MPI1 -npmin 4\n");
  CHECK(
      help_text(program, "multi-pingpong").starts_with("PingPong\n  single transfer: two ranks are active."));
  CHECK_THROWS_AS(help_text(program, "nonsense"), UsageError);
}

TEST_CASE("list and version") {
  CHECK(list_text(program) ==
        "IMB-MPI1, MPI-1 part, in the order of running:\n"
        "  PingPong                 single transfer\n"
        "  PingPongSpecificSource   single transfer (off by default)\n"
        "  Allreduce                collective\n"
        "  Uniband                  parallel transfer (off by default)\n"
        "  Bcast                    collective\n"
        "  Barrier                  synchronization\n");
  const std::string version = version_text(program);
  CHECK(version.starts_with("OpenIMB "));
  CHECK(version.ends_with(" (IMB-MPI1), compatible with Intel(R) MPI Benchmarks 4.0\n"));
}
