#include "report/row_label.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace openimb {

std::size_t write_label(std::span<char> text, const RowLabel& label) {
  std::array<char, 32> length{};
  if (label.bytes) {
    std::snprintf(length.data(), length.size(), ", %lld B", static_cast<long long>(*label.bytes));
  }
  const int written = std::snprintf(text.data(), text.size(), "%.*s, %d process%s%s%s%.*s",
                                    static_cast<int>(label.benchmark.size()), label.benchmark.data(),
                                    label.processes, label.processes == 1 ? "" : "es", length.data(),
                                    label.variant.empty() ? "" : ", variant ",
                                    static_cast<int>(label.variant.size()), label.variant.data());
  return std::min(static_cast<std::size_t>(std::max(0, written)), text.size() - 1);
}

std::string text_of(const RowLabel& label) {
  std::array<char, 256> text;
  return {text.data(), write_label(text, label)};
}

}  // namespace openimb
