// The command line of IMB-FABRIC.
#include <catch2/catch.hpp>
#include <sstream>

#include "cli/command_line.h"

using namespace openimb;
using Strings = std::vector<std::string>;

namespace {

constexpr Spec catalog[] = {{.name = "Pair_Latency", .in_rounds = true},
                            {.name = "Pair_Bandwidth", .message_rate = true, .in_rounds = true}};
constexpr Program program{"IMB-FABRIC", "IMB-FABRIC part", catalog, fabric_defaults};

Options parsed(const std::string& line, const std::string& rounds = "") {
  std::istringstream stream(line);
  Strings words;
  for (std::string word; stream >> word;) words.push_back(word);
  return parse(program, words, 8, [&](const std::string& path) {
    if (path != "rounds.txt") return FileText{false, "", "No such file or directory"};
    return FileText{true, rounds, ""};
  });
}

FabricOptions fabric_of(const std::string& line, const std::string& rounds = "") {
  const Options options = parsed(line, rounds);
  REQUIRE(options.fabric);
  return *options.fabric;
}

std::string error_of(const std::string& line, const std::string& rounds = "") {
  try {
    parsed(line, rounds);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

using Lengths = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("IMB-FABRIC: defaults") {
  const Options options = parsed("");
  const FabricOptions& fabric = *options.fabric;
  CHECK(fabric.endpoint == EndpointKind::rank);
  CHECK(fabric.rounds == RoundKind::circle);
  CHECK_FALSE(fabric.serial);
  CHECK_FALSE(fabric.matrix);
  CHECK(fabric.seed == 1);
  CHECK(fabric.timeout_seconds == 30);
  CHECK(options.lengths == Lengths{8, 65536, 1048576});
  CHECK(options.in_flight == 16);
  CHECK(options.selection.size() == 2);
  CHECK_FALSE(options.passes);
}

TEST_CASE("IMB-FABRIC: requested lengths replace the defaults") {
  CHECK(parsed("-msgsize 4").lengths == Lengths{4});
  CHECK(parsed("-msgsz 4 -msgsz 16").lengths == Lengths{4, 16});
  CHECK(parsed("-msgsize 4 -set MAXMSGLOG=4").lengths == Lengths{4});
  CHECK(parsed("-msglog 3").lengths.empty());
  CHECK(parsed("-set MAXMSGLOG=4").lengths.empty());
}

TEST_CASE("IMB-FABRIC: options") {
  CHECK(fabric_of("-endpoint host").endpoint == EndpointKind::host);
  CHECK(fabric_of("-endpoint NUMA").endpoint == EndpointKind::numa);
  CHECK(fabric_of("-rounds 5").requested_rounds == 5);
  CHECK(fabric_of("-rounds 5").rounds == RoundKind::some);
  CHECK(fabric_of("-rounds one_to_all").rounds == RoundKind::one_to_all);
  CHECK(fabric_of("-rounds ALL_TO_ONE").rounds == RoundKind::all_to_one);
  CHECK(fabric_of("-halves -serial -matrix").rounds == RoundKind::halves);
  CHECK(fabric_of("-halves -serial -matrix").serial);
  CHECK(fabric_of("-halves -serial -matrix").matrix);
  CHECK(fabric_of("-seed 9").seed == 9);
  CHECK(fabric_of("-pair_timeout 0").timeout_seconds == 0);
  CHECK(fabric_of("-pair_timeout 2.5").timeout_seconds == 2.5);
}

TEST_CASE("IMB-FABRIC: rounds from a file") {
  const FabricOptions fabric =
      fabric_of("-pairs_file rounds.txt", "# of two\r\n0-1\t3-2 # the second sends less\r\n\n 1-7 \n");
  CHECK(fabric.rounds == RoundKind::listed);
  CHECK(fabric.listed == std::vector<EndpointPairs>{{{0, 1}, {3, 2}}, {{1, 7}}});
}

TEST_CASE("IMB-FABRIC: errors in a file of rounds") {
  const auto usage_error = [](const std::string& text) { return error_of("-pairs_file rounds.txt", text); };
  const std::string help = "; a round is a line such as 0-1 2-3";
  CHECK(usage_error("0-1\n0-1 x-2") == "rounds.txt:2: \"x\" is not a whole number" + help);
  CHECK(usage_error("12") == "rounds.txt:1: \"12\" is not A-B" + help);
  CHECK(usage_error("3-3") == "rounds.txt:1: \"3-3\" pairs an endpoint with itself" + help);
  CHECK(usage_error("0-1 2-0") == "rounds.txt:1: endpoint 0 is in two pairs of one round" + help);
  CHECK(usage_error("0-99999999") == "rounds.txt:1: \"99999999\" is above the maximum, 16777216" + help);
  CHECK(usage_error("#\n") == "-pairs_file: rounds.txt holds no rounds; write one per line");
  CHECK(error_of("-pairs_file other.txt") == "-pairs_file: cannot read other.txt: No such file or directory");
}

TEST_CASE("IMB-FABRIC: options that cannot be combined") {
  CHECK(error_of("-halves -rounds 2") == "-rounds and -halves cannot be combined; give one of them");
  CHECK(error_of("-rounds one_to_all -check").starts_with("-check: not possible with -rounds one_to_all"));
  CHECK(error_of("-rounds one_to_all -serial").starts_with("-serial: not possible with"));
  CHECK(error_of("Multi-Pair_Latency").starts_with("Multi-: IMB-FABRIC measures pairs"));
  for (const char* option : {"-multi 0", "-map 2x4", "-npmin 2", "-show_tail yes", "-dumpfile x", "-sync on",
                             "-pause 1", "-imb_barrier on"}) {
    INFO(option);
    CHECK(error_of(option).find("has no use for it; leave it out") != std::string::npos);
  }
}

TEST_CASE("IMB-FABRIC: if a build checks by default, rounds that exclude -check switch it off") {
  Program checked = program;
  checked.defaults.check = true;
  const auto checks = [&](const Strings& words) {
    return parse(checked, words, 8, [](const std::string&) { return FileText{}; }).check;
  };
  CHECK(checks({}));
  CHECK(checks({"-rounds", "3"}));
  CHECK_FALSE(checks({"-check", "off"}));
  CHECK_FALSE(checks({"-rounds", "one_to_all"}));
  CHECK_THROWS_AS(checks({"-rounds", "one_to_all", "-check"}), UsageError);
  CHECK(help_text(checked, "check").find("Default: on") != std::string::npos);
  CHECK(help_text(program, "check").find("Default") == std::string::npos);
}

TEST_CASE("IMB-FABRIC: bad values") {
  CHECK(error_of("-rounds ring").starts_with("-rounds: \"ring\" is neither a number nor one_to_all"));
  CHECK(error_of("-rounds 0").starts_with("-rounds: \"0\" is below the minimum, 1"));
  CHECK(error_of("-endpoint rack").starts_with("-endpoint: \"rack\""));
  CHECK(error_of("-pair_timeout -1").starts_with("-pair_timeout: \"-1\" is below the minimum, 0"));
}
