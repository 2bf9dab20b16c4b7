// -packing: a message with gaps is made contiguous before the calls under test, and spread out behind them.
// Both are timed. Source: MPI 4.1, section 5.2 (MPI_Pack, MPI_Unpack).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/pattern.h"
#include "mpi/calls.h"
#include "mpi/datatype.h"
#include "plan/data_type.h"
#include "plan/geometry.h"

namespace openimb {

/// A message with gaps, for the loops of -packing hand.
struct Gaps {
  Period period;
  std::int64_t elements = 0;
  std::int64_t size = 1;  ///< of an element, in bytes
};
void pack_by_hand(const Gaps& gaps, const char* from, char* to);
void unpack_by_hand(const Gaps& gaps, const char* from, char* to);

/// Memory of contiguous messages. It is kept from point to point and grows alone: to make its pages takes as
/// long as a short sample.
class PackedMemory {
 public:
  /// At least so many bytes, or null; those of the call before are gone.
  std::byte* of(std::size_t bytes);

 private:
  struct Delete {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Delete> memory_;
  std::size_t bytes_ = 0;
};

/// The contiguous messages of one rank: one for each that a repetition sends or receives. They begin on a
/// page, as other messages do, and stay where they are while those with gaps move through memory.
class PackedMessages {
 public:
  /// `type`: covers a message with gaps; `data`: such a message. Local; false where there is no memory.
  PackedMessages(PackedMemory& memory, Packing packing, const Geometry& geometry, const Element& element,
                 const ElementType& type, MPI_Comm comm, const void* data);
  explicit operator bool() const { return view_.out != nullptr; }

  /// What steps need to pack and unpack.
  struct View {
    char* out;
    char* in;
    std::int64_t packed;  ///< bytes from one contiguous message to the next: it is as long
    std::int64_t room;    ///< for packing one; MPI_Pack_size may return more than MPI_Pack needs
    std::int64_t span;    ///< the same of messages with gaps
    int sends;
    int receives;
    int count;  ///< of `type`: 1, or 0 where a message is empty
    MPI_Datatype type;
    MPI_Comm comm;
    const Gaps* gaps;

    Lap in_contiguous(Lap lap) const {
      lap.send = out;
      lap.receive = in;
      return lap;
    }
  };
  const View& view() const { return view_; }

 private:
  Gaps gaps_;
  View view_;
};

/// The calls of one of the two, Count: of the context.
template <Packing packing, class Count>
struct Packer {
  static void pack(const PackedMessages::View& v, const char* from) { pack(v, from, v.out, v.sends); }
  static void pack(const PackedMessages::View& v, const char* from, char* to, int messages) {
    for (int i = 0; i < messages; ++i) {
      if constexpr (packing == Packing::hand) {
        pack_by_hand(*v.gaps, from + i * v.span, to + i * v.packed);
      } else {
        call::pack<Count>(from + i * v.span, static_cast<Count>(v.count), v.type, to + i * v.packed,
                          static_cast<Count>(v.room), v.comm);
      }
    }
  }
  static void unpack(const PackedMessages::View& v, char* to) {
    for (int i = 0; i < v.receives; ++i) {
      if constexpr (packing == Packing::hand) {
        unpack_by_hand(*v.gaps, v.in + i * v.packed, to + i * v.span);
      } else {
        call::unpack<Count>(v.in + i * v.packed, static_cast<Count>(v.packed), to + i * v.span,
                            static_cast<Count>(v.count), v.type, v.comm);
      }
    }
  }
};

/// All that a repetition sends is packed before its calls, all that it received unpacked behind them. A
/// pattern that answers what it receives, or has a root, has a step_packed of its own.
template <class Pattern, Packing packing>
struct InPackedForm : LoopBase {
  template <class C, class... More>
  static void step(const C& c, const Lap& lap, PackedMessages::View v, More... more) {
    using With = Packer<packing, decltype(c.count)>;
    if constexpr (Defines_step_packed<Pattern>) {
      Pattern::template step_packed<With>(c, lap, v);
    } else {
      With::pack(v, lap.send);
      Pattern::step(c, v.in_contiguous(lap), more...);
      With::unpack(v, lap.receive);
    }
  }
};

/// Calls `use` with the loop and its context, in which messages are contiguous.
template <class Pattern, class C, class Use>
auto with_packing(Packing packing, const PackedMessages& packed, const C& c, const Use& use) {
  C contiguous = c;
  contiguous.span = packed.view().packed;
  if (packing == Packing::mpi) {
    contiguous.type = MPI_PACKED;
    contiguous.count = static_cast<decltype(c.count)>(packed.view().packed);
    return use(InPackedForm<Pattern, Packing::mpi>{}, contiguous);
  }
  contiguous.type = c.element;
  contiguous.count = static_cast<decltype(c.count)>(packed.view().gaps->elements);
  return use(InPackedForm<Pattern, Packing::hand>{}, contiguous);
}

}  // namespace openimb
