// Owns the MPI types and reduction operations of elements.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "model/data_type.h"

namespace openimb {

/// MPI's handle of a base type; MPI_DATATYPE_NULL if this MPI lacks it (16-bit floats).
MPI_Datatype base_type(DataType type);

/// Returns MPI_Pack_size for `count` elements of `type`, which have `bytes` bytes together. Returns 2^31 - 1
/// if that is too much for a library without large counts.
std::int64_t packed_size(std::int64_t count, MPI_Datatype type, std::int64_t bytes, MPI_Comm comm);

/// The MPI type of one element: the base type, the base type with twice its extent, a vector of either, or a
/// message with gaps.
class ElementType {
 public:
  /// `vector_elements`: base elements in one vector or message. Used only if it is > 0 and the element is a
  /// vector or has a layout.
  ElementType(const Element& element, std::int64_t vector_elements);
  ~ElementType();
  ElementType(const ElementType&) = delete;
  ElementType& operator=(const ElementType&) = delete;
  MPI_Datatype handle() const { return type_; }
  /// Number of base elements in one MPI element.
  std::int64_t covers() const { return covers_; }

 private:
  MPI_Datatype type_;
  std::int64_t covers_ = 1;
  bool owned_ = false;
};

/// MPI_SUM for base types. MPI defines no sum for derived types, so they get a user-defined one.
class SumOperation {
 public:
  explicit SumOperation(const Element& element);
  ~SumOperation();
  SumOperation(const SumOperation&) = delete;
  SumOperation& operator=(const SumOperation&) = delete;
  MPI_Op handle() const { return op_; }

 private:
  MPI_Op op_ = MPI_SUM;
};

}  // namespace openimb
