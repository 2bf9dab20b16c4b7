// Control variables of the MPI library (MPI_T), which the variants of a launch set. Source: MPI 4.1, section
// 15.3, "The MPI Tool Information Interface".
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/options.h"

namespace openimb {

/// Sets the variables of a launch's variants on this rank. Every rank writes the same values, so the scope of
/// a variable does not matter.
class ControlVariables {
 public:
  /// Tries each variant: writes its values, reads them back, and restores the initial values. Stops at the
  /// first error; see error(). `variants` outlive the object.
  explicit ControlVariables(std::span<const Variant> variants);
  /// Restores the initial values.
  ~ControlVariables();
  ControlVariables(const ControlVariables&) = delete;
  ControlVariables& operator=(const ControlVariables&) = delete;

  /// Why the variants cannot be used; empty if they can.
  const std::string& error() const { return error_; }
  /// Name of the variable that does not exist, if that is the error.
  const std::string& unknown_variable() const { return unknown_variable_; }
  /// Names of all variables of this MPI.
  static std::vector<std::string> names();

  /// One line per warning.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Sets the values of a variant or, without one, the initial values. Throws std::runtime_error if the
  /// library refuses a value that it accepted before.
  void use(std::optional<int> variant);
  /// Name and initial value of each variable.
  const std::vector<std::pair<std::string, std::string>>& initial_values() const { return initial_values_; }

 private:
  struct Variable;
  void find(std::span<const Variant> variants);
  void try_variant(const Variant& variant, int index);
  void check_effect(const Variant& variant);
  void restore();

  std::vector<std::unique_ptr<Variable>> variables_;  ///< in the order in which they are first named
  std::string error_;
  std::string unknown_variable_;
  std::vector<std::string> warnings_;
  std::vector<std::pair<std::string, std::string>> initial_values_;
  bool started_ = false;  ///< MPI_T was initialized
};

}  // namespace openimb
