// The MPI type and operation of one element, owned.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "model/data_type.h"

namespace openimb {

/// MPI's handle for a base type; MPI_DATATYPE_NULL where this MPI lacks it (16-bit floats).
MPI_Datatype base_type(DataType type);

/// MPI_Pack_size of `count` elements of `type`, which have `bytes` bytes; 2^31 - 1 where that is too much for
/// a library without large counts.
std::int64_t packed_size(std::int64_t count, MPI_Datatype type, std::int64_t bytes, MPI_Comm comm);

/// One MPI element: the base type, resized to twice its extent, a vector of `elements` of either, or a
/// message with gaps.
class ElementType {
 public:
  /// `vector_elements`: base elements in one vector or message; ignored unless the element is a vector or has
  /// a layout, and they are > 0.
  ElementType(const Element& element, std::int64_t vector_elements);
  ~ElementType();
  ElementType(const ElementType&) = delete;
  ElementType& operator=(const ElementType&) = delete;
  MPI_Datatype handle() const { return type_; }
  /// Base elements that one MPI element covers.
  std::int64_t covers() const { return covers_; }

 private:
  MPI_Datatype type_;
  std::int64_t covers_ = 1;
  bool owned_ = false;
};

/// MPI_SUM for base types; for derived types, for which MPI defines none, a user-defined sum.
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
