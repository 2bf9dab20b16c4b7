// Conversion of one word to one value, quoting of the user's text in messages, and suggestions.
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cli/suggestion.h"
#include "cli/values.h"
#include "model/options.h"

using namespace openimb;

namespace {

template <class Use>
std::string error_of(Use use) {
  try {
    use();
  } catch (const BadValue& problem) {
    return problem.what();
  }
  return "no error";
}

std::int64_t size_of(std::string_view text) { return parse_bytes(text, 1, 0, max_bytes); }
std::string size_error(std::string_view text, std::int64_t unit = 1) {
  return error_of([&] { parse_bytes(text, unit, 0, max_bytes); });
}
std::string whole_error(std::string_view text, std::int64_t lowest = -10, std::int64_t highest = 10) {
  return error_of([&] { parse_integer(text, lowest, highest); });
}
std::string real_error(std::string_view text) {
  return error_of([&] { parse_real(text, 0, 100); });
}

}  // namespace

TEST_CASE("whole numbers") {
  CHECK(parse_integer("0", -10, 10) == 0);
  CHECK(parse_integer("-10", -10, 10) == -10);
  CHECK(parse_integer("10", -10, 10) == 10);
  CHECK(parse_integer("007", -10, 10) == 7);
  CHECK(parse_integer("9223372036854775807", 0, std::numeric_limits<std::int64_t>::max()) ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(whole_error("11") == "\"11\" is above the maximum, 10");
  CHECK(whole_error("-11") == "\"-11\" is below the minimum, -10");
  CHECK(whole_error("9223372036854775808") == "\"9223372036854775808\" is out of range");
  for (const char* text : {"", " ", "x", "1x", "1.0", "1e1", "0x1", "+1", " 1", "1 ", "--1", "1,2"}) {
    INFO(text);
    CHECK(whole_error(text) == '"' + std::string(text) + "\" is not a whole number");
  }
}

TEST_CASE("real numbers") {
  CHECK(parse_real("0", 0, 100) == 0);
  CHECK(parse_real("1.5", 0, 100) == 1.5);
  CHECK(parse_real("1e2", 0, 100) == 100);
  CHECK(parse_real(".25", 0, 100) == 0.25);
  CHECK(real_error("100.5") == "\"100.5\" is above the maximum, 100");
  CHECK(real_error("-1") == "\"-1\" is below the minimum, 0");
  CHECK(real_error("1e999") == "\"1e999\" is out of range");
  for (const char* text : {"", "nan", "inf", "-inf", "NaN", "1.5.5", "1,5", "x", "1 "}) {
    INFO(text);
    CHECK(real_error(text) == '"' + std::string(text) + "\" is not a number");
  }
}

TEST_CASE("sizes") {
  CHECK(size_of("0") == 0);
  CHECK(size_of("1") == 1);
  for (const char* text : {"4k", "4K", "4kb", "4KB", "4KiB", "4kib"}) {
    INFO(text);
    CHECK(size_of(text) == 4096);
  }
  CHECK(size_of("3m") == std::int64_t{3} << 20);
  CHECK(size_of("2GiB") == std::int64_t{2} << 30);
  CHECK(size_of("0.5k") == 512);
  CHECK(size_of("1.5m") == 3 << 19);
  CHECK(size_of("1e6") == 1000000);
  CHECK(size_error("0.3") == "\"0.3\" is not a whole number of bytes");
  CHECK(size_error("0.3k") == "\"0.3k\" is not a whole number of bytes");
  CHECK(size_error("-1") == "\"-1\" is below the minimum, 0 bytes");
  CHECK(size_error("-1k") == "\"-1k\" is below the minimum, 0 kB");
  CHECK(size_error("1e400") == "\"1e400\" is out of range");
  for (const char* text : {"", "k", "b", "1kk", "1t", "k1", "1 k", "0x10", "nan", "1mib2"}) {
    INFO(text);
    CHECK(size_error(text) == '"' + std::string(text) + "\" is not a size");
  }
}

TEST_CASE("sizes that would overflow are too large, not negative") {
  const std::string most = " is above the maximum, ";
  CHECK(size_error("9000000000g") == "\"9000000000g\"" + most + "4294967296 GB");
  CHECK(size_error("9223372036854775807") == "\"9223372036854775807\"" + most + "4611686018427387904 bytes");
  CHECK(size_error("9223372036854775807k") == "\"9223372036854775807k\"" + most + "4503599627370496 kB");
  CHECK(size_error("1e300") == "\"1e300\"" + most + "4611686018427387904 bytes");
  CHECK(size_of(std::to_string(max_bytes)) == max_bytes);
}

TEST_CASE("a size without suffix counts the option's unit, and is then rounded down") {
  CHECK(parse_bytes("2", mebibyte, 1, max_bytes) == 2 * mebibyte);
  CHECK(parse_bytes("2k", mebibyte, 1, max_bytes) == 2048);
  CHECK(parse_bytes("0.5", mebibyte, 1, max_bytes) == mebibyte / 2);
  CHECK(parse_bytes("0.0000001", gibibyte, 0, max_bytes) == 107);
  CHECK(error_of([] { parse_bytes("0", mebibyte, 1, max_bytes); }) == "\"0\" is not above 0 MB");
}

TEST_CASE("on and off in every spelling") {
  for (const char* text : {"on", "ON", "1", "yes", "Yes", "true", "enable"}) CHECK(parse_switch(text));
  for (const char* text : {"off", "OFF", "0", "no", "False", "disable"}) CHECK_FALSE(parse_switch(text));
  for (const char* text : {"", "o", "onn", "2", "y", "n", "offf"}) {
    INFO(text);
    CHECK(error_of([&] { parse_switch(text); }) == '"' + std::string(text) + "\" is neither on nor off");
  }
}

TEST_CASE("one of several words") {
  const std::vector<std::string> rows = {"alpha", "Beta", "gamma"};
  const auto itself = [](const std::string& row) { return row; };
  CHECK(&parse_choice(rows, itself, "BETA") == &rows[1]);
  CHECK(parse_choice(rows, itself, "gamma") == "gamma");
  CHECK(error_of([&] { parse_choice(rows, itself, "delta"); }) ==
        "\"delta\" is not one of alpha, Beta, gamma");
}

TEST_CASE("a user's text in a message is one line") {
  CHECK(quoted("") == "\"\"");
  CHECK(quoted("plain") == "\"plain\"");
  CHECK(quoted("a\nb\tc\r\x01\x7f") == "\"a?b?c???\"");
  CHECK(quoted("\x1b[31mred") == "\"?[31mred\"");
  CHECK(quoted("gr\xC3\xBC\xC3\x9F") == "\"gr\xC3\xBC\xC3\x9F\"");
  CHECK(sanitized("a\nb") == "a?b");
}

TEST_CASE("a user's long text is shortened") {
  const std::string sixty(60, 'x');
  CHECK(quoted(sixty) == '"' + sixty + '"');
  CHECK(quoted(sixty + "y") == '"' + sixty + "...\"");
  CHECK(quoted(std::string(10'000'000, 'z')).size() == 65);
  CHECK(sanitized("abcdef", 3) == "abc...");
  CHECK(sanitized("abc", 3) == "abc");
}

TEST_CASE("a character of several bytes is not cut in two") {
  CHECK(sanitized("ab\xC3\xBC"
                  "cd",
                  2) == "ab...");
  CHECK(sanitized("ab\xC3\xBC"
                  "cd",
                  3) == "ab...");
  CHECK(sanitized("ab\xC3\xBC"
                  "cd",
                  4) == "ab\xC3\xBC...");
  CHECK(sanitized("a\xF0\x9F\x98\x80"
                  "b",
                  2) == "a...");
  CHECK(sanitized("a\xF0\x9F\x98\x80"
                  "b",
                  4) == "a...");
  CHECK(sanitized("a\xF0\x9F\x98\x80"
                  "b",
                  5) == "a\xF0\x9F\x98\x80...");
  // Text that is not UTF-8 is cut at some byte.
  CHECK(sanitized(std::string(100, '\x80'), 10) == "...");
}

TEST_CASE("blanks around text") {
  CHECK(trimmed("").empty());
  CHECK(trimmed(" \t\r\n").empty());
  CHECK(trimmed("a") == "a");
  CHECK(trimmed("  a b\t") == "a b");
  CHECK(trimmed("\va\f") == "a");
}

TEST_CASE("pieces between separators") {
  using Pieces = std::vector<std::string_view>;
  CHECK(split("", ',') == Pieces{""});
  CHECK(split("a", ',') == Pieces{"a"});
  CHECK(split("a,b", ',') == Pieces{"a", "b"});
  CHECK(split("a,,b,", ',') == Pieces{"a", "", "b", ""});
}

TEST_CASE("case of letters, independent of the locale") {
  CHECK(lower_case("PingPONG_1") == "pingpong_1");
  CHECK(lower_case("\xC3\x84") == "\xC3\x84");
  CHECK(same_name("AllReduce", "allreduce"));
  CHECK_FALSE(same_name("Allreduce", "Allreduc"));
  CHECK_FALSE(same_name("[", "{"));
  CHECK_FALSE(same_name("@", "`"));
}

TEST_CASE("numbers as text read back as the same number") {
  for (const double number : {0.0, 0.1, 1.0 / 3, 1e-300, 123456789.125, 1e22}) {
    INFO(number);
    CHECK(std::stod(to_text(number)) == number);
  }
  CHECK(to_text(10) == "10");
  CHECK(to_text(0.01) == "0.01");
}

TEST_CASE("a misspelled word is found among candidates") {
  const std::vector<std::string_view> names = {"PingPong", "PingPing", "Allreduce", "Allgather", "Bcast"};
  CHECK(nearest("PingPnog", names) == "PingPong");
  CHECK(nearest("pingpong", names) == "PingPong");
  CHECK(nearest("PingPoing", names) == "PingPong");
  CHECK(nearest("Alreduce", names) == "Allreduce");
  CHECK(nearest("Allreduces", names) == "Allreduce");
  CHECK(nearest("Bcat", names) == "Bcast");
  CHECK(nearest("Bacst", names) == "Bcast");
  CHECK(nearest("Scatter", names).empty());
  CHECK(nearest("", names).empty());
  CHECK(nearest("Bc", names).empty());
  CHECK(nearest(std::string(100000, 'a'), names).empty());
  CHECK(nearest("PingPong", {}).empty());
}
