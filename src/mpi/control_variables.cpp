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

/// The type of a variable's value. Values are stored as the bytes that MPI_T reads and writes.
struct ValueType {
  std::string (*parse)(std::string_view text) =
      nullptr;  ///< returns an empty string if the text is not such a value
  std::string (*format)(const std::string& value) = nullptr;
  const char* name = "";  ///< for messages; empty if values of this type cannot be set
};

/// The handle for reading and writing a variable. It is valid if `code` is MPI_SUCCESS.
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
  MPI_T_enum enumeration = MPI_T_ENUM_NULL;
  int bind = 0, scope = 0;
};

std::optional<Description> describe_variable(int index) {
  Description found;
  int name_length = 0, text_length = 0, verbosity = 0;
  const auto ask = [&](char* name, char* text) {
    return MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &found.type, &found.enumeration, text,
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

Items reported_items(MPI_T_enum enumeration) {
  Items items;
  int count = 0, length = 0;
  if (enumeration == MPI_T_ENUM_NULL ||
      MPI_T_enum_get_info(enumeration, &count, nullptr, &length) != MPI_SUCCESS) {
    return items;
  }
  for (int i = 0; i < count; ++i) {
    std::array<char, 256> name{};
    int value = 0;
    length = static_cast<int>(name.size());
    if (MPI_T_enum_get_item(enumeration, i, &value, name.data(), &length) == MPI_SUCCESS) {
      items.emplace_back(name.data(), value);
    }
  }
  return items;
}

// MPICH numbers the named values of a variable from 0, in the order in which the variable's description lists
// them. Each name has a line there, such as "ring - Force ring algorithm". MPI_T does not report the names.
Items described_items(std::string_view text) {
  Items items;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view word = line.substr(0, line.find(' '));
    const std::size_t after = line.find_first_not_of(' ', word.size());
    const bool is_word = !word.empty() && std::ranges::all_of(word, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (is_word && after != std::string_view::npos && line.substr(after).starts_with("- ")) {
      items.emplace_back(word, static_cast<int>(items.size()));
    }
  }
  return items.size() > 1 ? items : Items();
}

std::string list_items(const Items& items) {
  std::string text;
  for (const auto& [item, number] : items) {
    text += (text.empty() ? "" : ", ") + item + " (" + std::to_string(number) + ")";
  }
  return text;
}

std::optional<int> index_of(const std::string& name) {
  int index = 0;
  if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return std::nullopt;
  return index;
}

// Bytes for any value. Open MPI copies a text completely, even if it reports a smaller length.
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
  Items items;
  std::optional<Handle> handle;
  bool only_items = false;  ///< the library accepts any number, but ignores numbers without a name
  std::string initial, current;
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
    throw std::runtime_error(name + ": this MPI cannot change it after MPI_Init; set it in the environment");
  }
  if (description->bind != MPI_T_BIND_NO_OBJECT) {
    throw std::runtime_error(name +
                             ": it is bound to an MPI object; -alternate takes only variables that are not");
  }
  data_type = description->type;
  type = value_type(data_type);
  handle.emplace(*index);
  if (handle->code != MPI_SUCCESS) throw std::runtime_error(name + ": " + error_text(handle->code));
  if (type.parse == nullptr || (handle->count != 1 && data_type != MPI_CHAR)) {
    throw std::runtime_error(
        name + ": it is an array or has an unknown type; -alternate takes numbers, switches and texts");
  }
  items = reported_items(description->enumeration);
  if (items.empty() && data_type == MPI_INT) {
    items = described_items(description->text);
    only_items = !items.empty();
  }
  const std::optional<std::string> value = read_value(handle->value, data_type);
  if (!value) throw std::runtime_error(name + ": this MPI cannot read it");
  initial = current = *value;
}

std::string ControlVariables::Variable::parse(const std::string& text) const {
  for (const auto& [item, number] : items) {
    if (item == text) return type.parse(std::to_string(number));
  }
  const std::string value = type.parse(text);
  const auto is_value = [&](const auto& item) { return type.parse(std::to_string(item.second)) == value; };
  if (data_type == MPI_CHAR && value.size() > static_cast<std::size_t>(handle->count)) {
    throw std::runtime_error(name + ": the text is too long; this MPI takes " +
                             std::to_string(handle->count - 1) + " characters");
  }
  if (!value.empty() && (!only_items || std::ranges::any_of(items, is_value))) return value;
  throw std::runtime_error(name + "=" + text + ": the value is not " +
                           (items.empty() ? std::string("a ") + type.name : "one of " + list_items(items)));
}

void ControlVariables::Variable::write(const std::string& value) {
  if (value == current) return;
  std::string buffer = value;
  if (data_type == MPI_CHAR) buffer.resize(std::max(buffer.size(), static_cast<std::size_t>(handle->count)));
  if (const int code = MPI_T_cvar_write(handle->value, buffer.data()); code != MPI_SUCCESS) {
    throw std::runtime_error(name + "=" + format(value) + ": this MPI refuses it: " + error_text(code));
  }
  current = value;
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
    // No measurement follows, so wrong values do no harm.
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
          initial_values_.emplace_back(name, (*known)->format((*known)->initial));
        }
        (*known)->by_variant[i] = (*known)->parse(value);
      } catch (const std::out_of_range&) {
        unknown_variable_ = name;
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
      if (value == variable->current) continue;
      throw std::runtime_error(variable->name + "=" + variable->format(variable->current) + ": this MPI " +
                               (value ? "changes it to " + variable->format(*value) : "cannot read it back"));
    }
    check_effect(variant);
    use(std::nullopt);
  } catch (const std::runtime_error& error) {
    error_ = variant.label + ": " + error.what();
    restore();  // the ranks will agree on the error
  }
}

// MPICH and Open MPI silently accept some values that have no effect.
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
    variable->write(wanted ? *wanted : variable->initial);
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
