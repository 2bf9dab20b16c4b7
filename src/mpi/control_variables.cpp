#include "mpi/control_variables.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "model/mpi_products.h"
#include "mpi/errors.h"
#include "mpi/optional.h"

namespace openimb {

#ifdef OPENIMB_TOOLS

/// Type of a variable's value. A value is held as the bytes that MPI_T reads and writes.
struct ValueType {
  std::string (*parse)(std::string_view text) = nullptr;  ///< empty if the text is no such value
  std::string (*format)(const std::string& value) = nullptr;
  const char* name = "";  ///< for messages; empty if values of this type cannot be set
};

/// The handle by which a variable is read and written. Valid if `code` is MPI_SUCCESS.
struct Handle {
  explicit Handle(int index) : code(MPI_T_cvar_handle_alloc(index, nullptr, &value, &count)) {}
  ~Handle() {
    if (code == MPI_SUCCESS) MPI_T_cvar_handle_free(&value);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  MPI_T_cvar_handle value{};
  int count = 0;
  int code;
};

namespace {

template <class Number>
std::string bytes_of(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

template <class Number>
constexpr ValueType number_type(const char* name) {
  return {.parse = [](std::string_view text) -> std::string {
            Number number{};
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
            if (error != std::errc() || end != text.data() + text.size()) return {};
            return bytes_of(number);
          },
          .format =
              [](const std::string& value) {
                Number number{};
                std::memcpy(&number, value.data(), sizeof number);
                std::array<char, 64> text{};
                const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
                return std::string(text.data(), end);
              },
          .name = name};
}

constexpr ValueType switch_type{
    .parse = [](std::string_view text) -> std::string {
      if (text == "1" || text == "true") return bytes_of(true);
      return text == "0" || text == "false" ? bytes_of(false) : "";
    },
    .format = [](const std::string& value) -> std::string { return value.front() != 0 ? "1" : "0"; },
    .name = "0 or 1"};

// The bytes of a text include its final null.
constexpr ValueType text_type{
    .parse = [](std::string_view text) { return std::string(text) + '\0'; },
    .format = [](const std::string& value) { return value.substr(0, value.find('\0')); },
    .name = "text"};

ValueType value_type(MPI_Datatype type) {
  if (type == MPI_CHAR) return text_type;
  if (type == MPI_C_BOOL) return switch_type;
  if (type == MPI_DOUBLE) return number_type<double>("number");
  if (type == MPI_INT) return number_type<int>("whole number");
  if (type == MPI_LONG) return number_type<long>("whole number");
  if (type == MPI_INT32_T) return number_type<std::int32_t>("whole number");
  if (type == MPI_INT64_T) return number_type<std::int64_t>("whole number");
  if (type == MPI_COUNT) return number_type<MPI_Count>("whole number");
  constexpr const char* from_0 = "whole number >= 0";
  if (type == MPI_UNSIGNED) return number_type<unsigned>(from_0);
  if (type == MPI_UNSIGNED_LONG) return number_type<unsigned long>(from_0);
  if (type == MPI_UNSIGNED_LONG_LONG) return number_type<unsigned long long>(from_0);
  if (type == MPI_UINT32_T) return number_type<std::uint32_t>(from_0);
  if (type == MPI_UINT64_T) return number_type<std::uint64_t>(from_0);
  return {};
}

/// What MPI_T reports about a variable.
struct Description {
  std::string name, text;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum items = MPI_T_ENUM_NULL;
  int bind = 0, scope = 0;
};

std::optional<Description> describe_variable(int index) {
  Description found;
  int name_length = 0, text_length = 0, verbosity = 0;
  const auto ask = [&](char* name, char* text) {
    return MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &found.type, &found.items, text,
                               &text_length, &found.bind, &found.scope);
  };
  if (ask(nullptr, nullptr) != MPI_SUCCESS) return std::nullopt;  // gets the lengths only
  std::string name(static_cast<std::size_t>(name_length) + 1, '\0');
  std::string text(static_cast<std::size_t>(text_length) + 1, '\0');
  if (ask(name.data(), text.data()) != MPI_SUCCESS) return std::nullopt;
  found.name = name.c_str();
  found.text = text.c_str();
  return found;
}

/// Names of values (enumeration items) and the numbers that they stand for.
using Items = std::vector<std::pair<std::string, int>>;

Items reported_items(MPI_T_enum items) {
  Items words;
  int count = 0, length = 0;
  if (items == MPI_T_ENUM_NULL || MPI_T_enum_get_info(items, &count, nullptr, &length) != MPI_SUCCESS) {
    return words;
  }
  for (int i = 0; i < count; ++i) {
    std::array<char, 256> name{};
    int value = 0;
    length = static_cast<int>(name.size());
    if (MPI_T_enum_get_item(items, i, &value, name.data(), &length) == MPI_SUCCESS) {
      words.emplace_back(name.data(), value);
    }
  }
  return words;
}

// MPICH numbers the words of a variable from 0, in the order of the variable's description. There each word
// has a line such as "ring - Force ring algorithm". MPI_T does not report them.
Items described_items(std::string_view text) {
  Items words;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view word = line.substr(0, line.find(' '));
    const std::size_t after = line.find_first_not_of(' ', word.size());
    const bool is_word = !word.empty() && std::ranges::all_of(word, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (is_word && after != std::string_view::npos && line.substr(after).starts_with("- ")) {
      words.emplace_back(word, static_cast<int>(words.size()));
    }
  }
  return words.size() > 1 ? words : Items();
}

std::string listed_words(const Items& words) {
  std::string text;
  for (const auto& [word, number] : words) {
    text += (text.empty() ? "" : ", ") + word + " (" + std::to_string(number) + ")";
  }
  return text;
}

std::optional<int> index_of(const std::string& name) {
  int index = 0;
  if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return std::nullopt;
  return index;
}

// Space for any value: Open MPI copies a whole text, whatever length it reports.
constexpr std::size_t max_text = 1 << 16;

// Returns a value, or nothing if the library cannot read it.
std::optional<std::string> read_value(MPI_T_cvar_handle handle, MPI_Datatype type) {
  std::string bytes(max_text, '\0');
  if (MPI_T_cvar_read(handle, bytes.data()) != MPI_SUCCESS) return std::nullopt;
  if (type == MPI_CHAR) {
    bytes.back() = '\0';
    bytes.resize(bytes.find('\0') + 1);
    return bytes;
  }
  int size = 0;
  MPI_Type_size(type, &size);
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

/// Whether a numeric variable is not 0; nothing if this MPI has no such variable or cannot read it.
std::optional<bool> is_nonzero(const std::string& name) {
  const std::optional<int> index = index_of(name);
  const std::optional<Description> description = index ? describe_variable(*index) : std::nullopt;
  if (!description || description->type == MPI_CHAR) return std::nullopt;
  const Handle handle(*index);
  if (handle.code != MPI_SUCCESS) return std::nullopt;
  const std::optional<std::string> value = read_value(handle.value, description->type);
  if (!value) return std::nullopt;
  return std::ranges::any_of(*value, [](char c) { return c != 0; });
}

}  // namespace

struct ControlVariables::Variable {
  std::string name;
  MPI_Datatype data_type = MPI_DATATYPE_NULL;
  ValueType type;
  Items words;
  std::optional<Handle> handle;
  bool only_words = false;  ///< the library takes any number and ignores unknown ones
  std::string at_start, in_force;
  std::vector<std::optional<std::string>> by_variant;

  Variable(const std::string& wanted, std::size_t variants);
  std::string parse(const std::string& text) const;
  std::string format(const std::string& value) const { return type.format(value); }
  void write(const std::string& value);
};

ControlVariables::Variable::Variable(const std::string& wanted, std::size_t variants)
    : name(wanted), by_variant(variants) {
  const std::optional<int> index = index_of(name);
  const std::optional<Description> description = index ? describe_variable(*index) : std::nullopt;
  if (!description) throw std::out_of_range(name);
  if (const std::string_view why = init_only_reason(name); !why.empty()) {
    throw std::runtime_error(name + ": " + std::string(why));
  }
  if (description->scope == MPI_T_SCOPE_CONSTANT || description->scope == MPI_T_SCOPE_READONLY) {
    throw std::runtime_error(name +
                             ": this MPI does not let it change after MPI_Init; set it in the environment");
  }
  if (description->bind != MPI_T_BIND_NO_OBJECT) {
    throw std::runtime_error(
        name + ": it belongs to an MPI object; variables of the whole process can be alternated");
  }
  data_type = description->type;
  type = value_type(data_type);
  handle.emplace(*index);
  if (handle->code != MPI_SUCCESS) throw std::runtime_error(name + ": " + error_text(handle->code));
  if (type.parse == nullptr || (handle->count != 1 && data_type != MPI_CHAR)) {
    throw std::runtime_error(
        name + ": it is an array or of an unknown type; numbers, switches and texts can be alternated");
  }
  words = reported_items(description->items);
  if (words.empty() && data_type == MPI_INT) {
    words = described_items(description->text);
    only_words = !words.empty();
  }
  const std::optional<std::string> value = read_value(handle->value, data_type);
  if (!value) throw std::runtime_error(name + ": this MPI cannot read it");
  at_start = in_force = *value;
}

// A word stands for its number.
std::string ControlVariables::Variable::parse(const std::string& text) const {
  for (const auto& [word, number] : words) {
    if (word == text) return type.parse(std::to_string(number));
  }
  const std::string value = type.parse(text);
  const auto is_value = [&](const auto& word) { return type.parse(std::to_string(word.second)) == value; };
  if (data_type == MPI_CHAR && value.size() > static_cast<std::size_t>(handle->count)) {
    throw std::runtime_error(name + ": the text is too long; this MPI takes " +
                             std::to_string(handle->count - 1) + " characters");
  }
  if (!value.empty() && (!only_words || std::ranges::any_of(words, is_value))) return value;
  throw std::runtime_error(name + "=" + text + ": the value is not " +
                           (words.empty() ? std::string("a ") + type.name : "one of " + listed_words(words)));
}

void ControlVariables::Variable::write(const std::string& value) {
  if (value == in_force) return;
  std::string buffer = value;
  if (data_type == MPI_CHAR) buffer.resize(std::max(buffer.size(), static_cast<std::size_t>(handle->count)));
  if (const int code = MPI_T_cvar_write(handle->value, buffer.data()); code != MPI_SUCCESS) {
    throw std::runtime_error(name + "=" + format(value) + ": this MPI refuses it: " + error_text(code));
  }
  in_force = value;
}

ControlVariables::ControlVariables(std::span<const Variant> variants) {
  for (const char* const call : {"T_init_thread", "T_finalize", "T_cvar_get_index", "T_cvar_write"}) {
    if (const std::string_view why = call::unusable_reason(call); !why.empty()) {
      error_ = why;
      return;
    }
  }
  int granted = 0;
  if (const int code = MPI_T_init_thread(MPI_THREAD_SINGLE, &granted); code != MPI_SUCCESS) {
    error_ = "MPI_T_init_thread: " + error_text(code);
    return;
  }
  started_ = true;
  find(variants);
  for (std::size_t i = 0; i < variants.size() && error_.empty(); ++i) {
    try_variant(variants[i], static_cast<int>(i));
  }
}

void ControlVariables::restore() {
  try {
    use(std::nullopt);
  } catch (const std::runtime_error&) {
    // Nothing more is measured.
  }
}

ControlVariables::~ControlVariables() {
  restore();
  variables_.clear();
  if (started_) MPI_T_finalize();
}

void ControlVariables::find(std::span<const Variant> variants) {
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (const auto& [name, value] : variants[i].variables) {
      try {
        auto known = std::ranges::find_if(variables_, [&](const auto& each) { return each->name == name; });
        if (known == variables_.end()) {
          variables_.push_back(std::make_unique<Variable>(name, variants.size()));
          known = variables_.end() - 1;
          at_start_.emplace_back(name, (*known)->format((*known)->at_start));
        }
        (*known)->by_variant[i] = (*known)->parse(value);
      } catch (const std::out_of_range&) {
        unknown_ = name;
        error_ = variants[i].label + ": this MPI has no variable " + name;
        return;
      } catch (const std::runtime_error& error) {
        error_ = variants[i].label + ": " + error.what();
        return;
      }
    }
  }
}

void ControlVariables::try_variant(const Variant& variant, int index) {
  try {
    use(index);
    for (const auto& variable : variables_) {
      const std::optional<std::string> value = read_value(variable->handle->value, variable->data_type);
      if (value == variable->in_force) continue;
      throw std::runtime_error(variable->name + "=" + variable->format(variable->in_force) + ": this MPI " +
                               (value ? "makes it " + variable->format(*value) : "cannot read it again"));
    }
    check_effect(variant);
    use(std::nullopt);
  } catch (const std::runtime_error& error) {
    error_ = variant.label + ": " + error.what();
    restore();  // the ranks will agree on the error
  }
}

// Both libraries accept, without a message, some values that have no effect.
void ControlVariables::check_effect(const Variant& variant) {
  for (const auto& [name, value] : variant.variables) {
    const VariableSwitch required = required_switch(name), device = device_switch(name);
    if (!required.name.empty() && is_nonzero(required.name) == false) {
      throw std::runtime_error(name + ": " + required.effect);
    }
    if (device.name.empty() || is_nonzero(name) == false || is_nonzero(device.name) != true) continue;
    warnings_.push_back("-alternate: " + variant.label + ": " + name + " " + device.effect);
  }
}

void ControlVariables::use(std::optional<int> variant) {
  for (const auto& variable : variables_) {
    const auto& wanted =
        variant ? variable->by_variant[static_cast<std::size_t>(*variant)] : std::optional<std::string>();
    variable->write(wanted ? *wanted : variable->at_start);
  }
}

std::vector<std::string> ControlVariables::names() {
  std::vector<std::string> names;
  int count = 0;
  MPI_T_cvar_get_num(&count);
  for (int i = 0; i < count; ++i) {
    if (const std::optional<Description> found = describe_variable(i)) names.push_back(found->name);
  }
  return names;
}

#else

struct ControlVariables::Variable {};
ControlVariables::ControlVariables(std::span<const Variant>)
    : error_("this MPI has no control variables (MPI_T)") {}
ControlVariables::~ControlVariables() = default;
void ControlVariables::use(std::optional<int>) {}
std::vector<std::string> ControlVariables::names() { return {}; }

#endif

}  // namespace openimb
