#include "report/json_writer.h"

#include <cstdint>

namespace openimb {

namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 1;  ///< bytes; in invalid UTF-8, the bytes to skip
  bool valid = false;
};

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {};
  std::uint32_t value = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= text.size() || (byte(i) & 0xC0U) != 0x80U) return {0, i, false};
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  return {value, length, !overlong && !surrogate && value <= 0x10FFFF};
}

bool breaks_lines(std::uint32_t value) {
  return value < 0x20 || (value >= 0x7F && value < 0xA0) || value == 0x2028 || value == 0x2029;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const CodePoint point = first_code_point(text);
    if (!point.valid) {
      json += "\xEF\xBF\xBD";
    } else if (point.value == '"' || point.value == '\\') {
      (json += '\\') += static_cast<char>(point.value);
    } else if (breaks_lines(point.value)) {
      json += formatted("\\u%04x", point.value);
    } else {
      json += text.substr(0, point.length);
    }
    text.remove_prefix(point.length);
  }
  return json += '"';
}

}  // namespace openimb
