// Writes JSON with correct commas and brackets, without a JSON library.
#pragma once

#include <cmath>
#include <concepts>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

#include "report/format.h"

namespace openimb {

/// Returns a string with quotes. Bytes that are not UTF-8 become U+FFFD. All line breaks of Unicode are
/// escaped, as many readers of JSON lines split at them.
std::string json_string(std::string_view text);

class JsonWriter {
 public:
  /// `fill` writes the members.
  template <std::invocable Fill>
  void object(Fill fill) {
    enclose('{', '}', fill);
  }
  template <std::invocable Fill>
  void object(std::string_view name, Fill fill) {
    key(name);
    object(fill);
  }

  /// Writes a boolean, number, string, optional (null if empty) or range of these. NaN and infinities become
  /// null.
  template <class Value>
  void value(const Value& value) {
    if constexpr (std::convertible_to<Value, std::string_view>) {
      element(json_string(value));
    } else if constexpr (std::same_as<Value, bool>) {
      element(value ? "true" : "false");
    } else if constexpr (std::integral<Value>) {
      element(std::to_string(value));
    } else if constexpr (std::floating_point<Value>) {
      element(std::isfinite(value) ? shortest(value) : "null");
    } else if constexpr (std::ranges::range<Value>) {
      enclose('[', ']', [&] {
        for (const auto& item : value) this->value(item);
      });
    } else if (value) {
      this->value(*value);
    } else {
      element("null");
    }
  }
  template <class Value>
  void field(std::string_view name, const Value& value) {
    key(name);
    this->value(value);
  }
  /// Writes a field, or nothing if `value` is empty.
  template <class Value>
  void field_if_any(std::string_view name, const std::optional<Value>& value) {
    if (value) field(name, *value);
  }

  template <std::ranges::range Items, class Fill>
  void array_of_objects(std::string_view name, const Items& items, Fill fill) {
    key(name);
    enclose('[', ']', [&] {
      for (const auto& item : items) object([&] { fill(item); });
    });
  }

  std::string line() && { return std::move(text_) + "\n"; }

 private:
  void key(std::string_view name) {
    element(json_string(name));
    text_ += ':';
  }
  // A string ends with its quote, so one of these characters at the end of text_ is never part of a string.
  void element(std::string_view text) {
    if (!text_.empty() && std::string_view("{[:").find(text_.back()) == std::string_view::npos) text_ += ',';
    text_ += text;
  }
  template <class Fill>
  void enclose(char open, char close, Fill fill) {
    element(std::string_view(&open, 1));
    fill();
    text_ += close;
  }

  std::string text_;
};

}  // namespace openimb
