// Files named on the command line, and the check that no output overwrites one of them.
#include <catch2/catch.hpp>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/text_file.h"

using namespace openimb;

namespace {

constexpr Spec catalog[] = {{.name = "PingPong", .kind = Kind::single_transfer}, {.name = "Allreduce"}};
constexpr Program program{"IMB-MPI1", "MPI-1 part", catalog};

ReadFile files(std::map<std::string, std::string> texts) {
  return [texts = std::move(texts)](const std::string& path) {
    const auto file = texts.find(path);
    if (file == texts.end()) return FileText{false, "", "No such file or directory"};
    return FileText{true, file->second, ""};
  };
}

std::vector<TextEntry> entries(const std::string& text) {
  return read_entries(files({{"f", text}}), "f", "input", "benchmark names");
}

/// Formats entries as "place text" lines.
std::string listing(const std::string& text) {
  std::string result;
  for (const TextEntry& entry : entries(text)) result += entry.where + entry.text + "\n";
  return result;
}

template <class Use>
std::string error_of(Use use) {
  try {
    use();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

/// Returns the error of a command line if all paths in `one_file` lead to one file.
std::string error_with(const std::string& line, const std::set<std::string>& one_file) {
  const SameFile same = [&](const std::string& a, const std::string& b) {
    return a == b || (one_file.contains(a) && one_file.contains(b));
  };
  const ReadFile reader = files(
      {{"names", "PingPong\n"}, {"lengths", "8\n"}, {"settings", "N_BARR=3\n"}, {"other", "PingPong\n"}});
  return error_of([&] { parse(program, words(line), 4, reader, same); });
}

}  // namespace

TEST_CASE("entries have their line, without blanks and comments") {
  CHECK(listing("a\nb") == "f:1: a\nf:2: b\n");
  CHECK(listing("\n  a b \t\n\n# c\n d # e\n") == "f:2: a b\nf:5: d\n");
  CHECK(listing("a\r\nb\r\n") == "f:1: a\nf:2: b\n");
  CHECK(listing("a") == "f:1: a\n");
}

TEST_CASE("a byte order mark is skipped at the beginning only") {
  CHECK(listing("\xEF\xBB\xBF"
                "a\nb\n") == "f:1: a\nf:2: b\n");
  CHECK(listing("\xEF\xBB\xBF\r\n"
                "a\n") == "f:2: a\n");
  CHECK(listing("\xEF\xBB\xBF# only a comment\n"
                "a\n") == "f:2: a\n");
  CHECK(entries("a\n\xEF\xBB\xBF"
                "b\n")[1]
            .text ==
        "\xEF\xBB\xBF"
        "b");
}

TEST_CASE("a file without entries is an error") {
  const std::string message = "-input: f holds no benchmark names; write one per line";
  for (const char* text : {"", "\n\n", "# a\n#b", " \t ", "\xEF\xBB\xBF", "\xEF\xBB\xBF\n# a"}) {
    INFO(text);
    CHECK(error_of([&] { entries(text); }) == message);
  }
}

TEST_CASE("a file that cannot be read is named, with the reason") {
  const auto error = [](const std::string& path) {
    return error_of([&] { read_entries(files({}), path, "msglen", "lengths"); });
  };
  CHECK(error("none") == "-msglen: cannot read none: No such file or directory");
  CHECK(error("a\nb") == "-msglen: cannot read a?b: No such file or directory");
  CHECK(error(std::string(100000, 'x')).size() < 1200);
}

TEST_CASE("a very long line is not repeated in an error") {
  const std::string line(1'000'000, 'x');
  const auto error = [&](const std::string& option) {
    return error_of([&] { parse(program, words(option), 4, files({{"f", line}})); });
  };
  const std::string cut = '"' + std::string(60, 'x') + "...\"";
  CHECK(error("-input f").find(cut) != std::string::npos);
  CHECK(error("-msglen f") == "f:1: " + cut + " is not a size; a message size is a line such as 4096 or 64k");
  CHECK(error("-set @f") ==
        "f:1: " + cut + " is not NAME=VALUE; a setting is a line such as MSGSPERSAMPLE=20");
  for (const char* option : {"-input f", "-msglen f", "-set @f"}) CHECK(error(option).size() < 250);
}

TEST_CASE("variants are lines of a label and values of variables") {
  const auto options = [](const std::string& text, const std::string& more = "") {
    return parse(program, words("-alternate f Allreduce " + more), 4, files({{"f", text}}));
  };
  const Options read = options("default\n# none\nring\ta=1  b=x=y#z # two\nempty c=\n");
  REQUIRE(read.variants.size() == 3);
  CHECK((read.variants[0].label == "default" && read.variants[0].variables.empty()));
  using Variables = std::vector<std::pair<std::string, std::string>>;
  CHECK((read.variants[1].label == "ring" &&
         read.variants[1].variables == Variables{{"a", "1"}, {"b", "x=y#z"}}));
  CHECK(read.variants[2].variables == Variables{{"c", ""}});
  CHECK(read.passes->most == 20);
  const Options budget = options("a\n", "-budget 3");
  CHECK_FALSE(budget.passes->most);
  CHECK(budget.passes->budget == 3);
  CHECK_FALSE(options("a\n", "-precision 2").passes->most);

  const auto error = [&](const std::string& text, const std::string& more = "") {
    return error_of([&] { options(text, more); });
  };
  const std::string example = "; a variant is a line such as ring coll_tuned_allreduce_algorithm=4";
  CHECK(error("a\nb=1\n") == "f:2: the label is missing before \"b=1\"" + example);
  CHECK(error("a b\n") == "f:1: \"b\" is not NAME=VALUE" + example);
  CHECK(error("a =b\n") == "f:1: \"=b\" is not NAME=VALUE" + example);
  CHECK(error("a b=1 b=2\n") == "f:1: \"b\" is set twice" + example);
  CHECK(error("a\na c=1\n") == "f:2: a second variant \"a\"" + example);
  CHECK(error(std::string(61, 'x')).find("is not a label of up to 60 ASCII characters") != std::string::npos);
  CHECK(error("\xC3\xBC\n").find("is not a label") != std::string::npos);
  CHECK(error("# nothing\n") == "-alternate: f holds no variants; write one per line");
  CHECK(error("a\n", "-show_tail on") == "-show_tail and -alternate cannot be combined; give one of them");
  CHECK(error("a\n", "-json f") ==
        "-json would overwrite f, which this command line reads; name another file");
}

TEST_CASE("long words of the command line are cut in errors") {
  const std::string word(5000, 'q');
  for (const std::string& line :
       {word, "-" + word, "-iter " + word, "-map " + word,
        "-map 00000000000000000000" + std::string(5000, '0') + "9x9", "-multi " + word,
        "-thread_level " + word, "-set " + word, "-set " + word + "=1", "-help " + word, "-include " + word,
        "-time " + word, "-info " + word, "-turns " + word, "-data_type " + word}) {
    const std::string error = error_of([&] { parse(program, words(line), 4, files({})); });
    INFO(line.substr(0, 20));
    CHECK(error != "no error");
    CHECK(error.size() < 400);
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("two outputs in one file are an error, even by different paths") {
  CHECK(error_with("-json x -dumpfile y", {}) == "no error");
  CHECK(error_with("-json x -dumpfile x", {}) ==
        "-json and -dumpfile name the same file, x; use different files");
  CHECK(error_with("-json x -dumpfile link/../x", {}) == "no error");  // the link may lead anywhere
  CHECK(error_with("-json x -dumpfile /here/x", {"x", "/here/x"}) ==
        "-json and -dumpfile name the same file, x; use different files");
  CHECK(error_with("-json x", {"x"}) == "no error");
}

TEST_CASE("an input is not overwritten, even by another path") {
  const std::vector<std::pair<std::string, std::string>> inputs = {
      {"-input names", "names"}, {"-msglen lengths", "lengths"}, {"-set @settings", "settings"}};
  const auto line = [](std::initializer_list<std::string_view> pieces) {
    std::string text;
    for (const std::string_view piece : pieces) (text += piece) += ' ';
    return text;
  };
  for (const auto& [option, name] : inputs) {
    for (const std::string output : {"-json", "-dumpfile"}) {
      INFO(option << ' ' << output);
      std::string expected = output + " would overwrite ";
      (expected += name) += ", which this command line reads; name another file";
      CHECK(error_with(line({option, output, name}), {}) == expected);
      CHECK(error_with(line({output, "link/../" + name, option}), {}) == "no error");
      CHECK(error_with(line({option, output, "link"}), {"link", name}) == expected);
      CHECK(error_with(line({option, output, "new"}), {"link", name}) == "no error");
    }
  }
  CHECK(error_with("-input names -input other -json link", {"link", "other"}) ==
        "-json would overwrite other, which this command line reads; name another file");
}

TEST_CASE("files are compared only if there are two") {
  int calls = 0;
  const SameFile same = [&](const std::string&, const std::string&) { return ++calls > 0; };
  parse(program, words("-iter 1 PingPong"), 4, files({}), same);
  parse(program, words("-json x"), 4, files({}), same);
  parse(program, words("-dumpfile x"), 4, files({}), same);
  CHECK(calls == 0);
}

TEST_CASE("help, list and version compare and read no files") {
  const ReadFile reader = [](const std::string&) -> FileText { throw std::logic_error("read"); };
  const SameFile same = [](const std::string&, const std::string&) -> bool {
    throw std::logic_error("same");
  };
  for (const char* line : {"-help -json x -dumpfile x", "-input names -list", "-msglen l -version"}) {
    INFO(line);
    CHECK(parse(program, words(line), 4, reader, same).action != Options::Action::run);
  }
}
