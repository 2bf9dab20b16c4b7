#include "session/process_group.h"

#include <cstring>
#include <stdexcept>

namespace openimb {

std::vector<int> offsets_of(std::span<const int> lengths) {
  std::vector<int> offsets;
  offsets.reserve(lengths.size());
  std::int64_t total = 0;
  for (const int length : lengths) {
    offsets.push_back(static_cast<int>(total));
    total += length;
    if (total > std::numeric_limits<int>::max()) {
      throw std::length_error("rank 0 cannot gather texts of more than 2 GiB");
    }
  }
  return offsets;
}

std::vector<double> ProcessGroup::gather(double mine) {
  std::vector<double> all;
  for (const std::vector<double>& values : gather(std::span<const double>(&mine, 1))) {
    all.push_back(values.empty() ? std::numeric_limits<double>::quiet_NaN() : values.front());
  }
  return all;
}

std::vector<std::vector<double>> ProcessGroup::gather(std::span<const double> mine) {
  std::string bytes(mine.size_bytes(), '\0');
  if (!mine.empty()) std::memcpy(bytes.data(), mine.data(), bytes.size());
  std::vector<std::vector<double>> all;
  for (const std::string& text : gather(bytes)) {
    std::vector<double>& numbers = all.emplace_back(text.size() / sizeof(double));
    if (!text.empty()) std::memcpy(numbers.data(), text.data(), text.size());
  }
  return all;
}

std::string ProcessGroup::broadcast(std::string text) {
  auto length = static_cast<double>(text.size());
  broadcast(std::span(&length, 1));
  text.resize(static_cast<std::size_t>(length));
  broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace openimb
