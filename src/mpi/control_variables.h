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

/// The variables that a launch's variants set, on this rank. Every rank writes the same values, which
/// variables of any scope allow.
class ControlVariables {
 public:
  /// Tries each variant: writes its values, reads them back, and restores the initial values. `variants`
  /// outlive the object. At the first error it stops; see error().
  explicit ControlVariables(std::span<const Variant> variants);
  /// Restores the initial values.
  ~ControlVariables();
  ControlVariables(const ControlVariables&) = delete;
  ControlVariables& operator=(const ControlVariables&) = delete;

  /// Why the variants cannot be used; empty where they can.
  const std::string& error() const { return error_; }
  /// Where a variable does not exist: its name, and those that do.
  const std::string& unknown() const { return unknown_; }
  static std::vector<std::string> names();

  /// One line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Puts the values of a variant in force, or, without one, the initial values. Throws where the library
  /// refuses a value that it took before.
  void use(std::optional<int> variant);
  /// Of each variable, before anything was written.
  const std::vector<std::pair<std::string, std::string>>& at_start() const { return at_start_; }

 private:
  struct Variable;
  void find(std::span<const Variant> variants);
  void try_variant(const Variant& variant, int index);
  void check_effect(const Variant& variant);
  void restore();

  std::vector<std::unique_ptr<Variable>> variables_;  ///< in the order in which they are first named
  std::string error_;
  std::string unknown_;
  std::vector<std::string> warnings_;
  std::vector<std::pair<std::string, std::string>> at_start_;
  bool started_ = false;  ///< MPI_T was initialized
};

}  // namespace openimb
