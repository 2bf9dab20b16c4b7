// Rows of the option table: those of IMB-MT, whose benchmarks are run by several threads of each process.
// -threads and -pin_threads are those of partitioned messages, too; -repeat and -warmup are taken by all
// components.
#include <string>

#include "cli/option_table.h"
#include "cli/values.h"

namespace openimb {

namespace {

void set_counts(Draft& draft, std::string_view word) {
  draft.options.counts.clear();
  for (const std::string_view piece : split(word, ',')) {
    draft.options.counts.push_back(whole_number(piece, 0, largest_length >> 8));
  }
}

void set_type(Draft& draft, std::string_view word) {
  constexpr DataType types[] = {DataType::integer, DataType::character};
  const DataType type = choice(types, [](DataType one) { return describe(one).option; }, word);
  draft.options.data.type = draft.options.reduction.type = type;
}

void set_barrier(Draft& draft, std::string_view word) {
  constexpr std::string_view special[] = {"special"};
  draft.options.own_barrier = false;
  if (same_name(word, special[0])) {
    draft.options.own_barrier = true;
  } else {
    if (!is_switch(word)) throw BadValue(quoted(word) + " is not one of on, off, special");
    draft.options.thread_barrier = on_or_off(word);
  }
}

void set_alignment(Draft& draft, std::string_view word) {
  const std::int64_t alignment = byte_count(word, 1, 1, 1 << 30);
  if ((alignment & (alignment - 1)) != 0) throw BadValue(quoted(word) + " is not a power of two");
  draft.options.threads.alignment = alignment;
}

constexpr Option rows[] = {
    {.name = "threads",
     .syntax = "N",
     .help = "threads of each process",
     .standard = "OMP_NUM_THREADS with -thread_level multiple or serialized, else 1",
     .example = "-threads 4",
     .details =
         "More than one thread needs MPI_THREAD_MULTIPLE, which is then requested, or "
         "MPI_THREAD_SERIALIZED with -thread_level serialized: then the repetitions of the threads take "
         "turns. IMB-MPI4: threads that mark the parts of a message of Partitioned_... (MPI_Pready).",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.threads.asked = static_cast<int>(whole_number(word, 1, 4096));
         }},
    {.name = "comm",
     .syntax = "WHICH",
     .help = "per_thread or shared",
     .standard = "per_thread",
     .example = "-comm shared PingPongMT",
     .details = "per_thread: each thread has a communicator. shared: all use one, with one tag per thread; "
                "transfers only, as MPI forbids concurrent collectives on one communicator.",
     .apply =
         [](Draft& draft, std::string_view word) {
           constexpr ThreadComm comms[] = {ThreadComm::per_thread, ThreadComm::shared};
           draft.options.threads.comm = choice(comms, [](ThreadComm comm) { return name_of(comm); }, word);
         }},
    {.name = "pin_threads",
     .syntax = "on|off",
     .help = "bind each thread to a CPU",
     .standard = "off",
     .example = "-pin_threads on",
     .details =
         "Thread t to the t-th CPU that its process may use; processes with the same CPUs divide them.",
     .apply = [](Draft& draft, std::string_view word) { draft.options.threads.pinned = on_or_off(word); }},
    {.name = "stride",
     .syntax = "N",
     .help = "distance between communicating processes",
     .standard = "0",
     .example = "-stride 1",
     .details =
         "1: pairs 0 and 1, 2 and 3, ...; 2: 0 and 2, 1 and 3, ... 0: half of the processes, and, in the "
         "chains of SendRecvMT and ExchangeMT, 1. Processes without a partner are idle.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.stride = static_cast<int>(whole_number(word, 0, 1 << 30));
         }},
    {.name = "count",
     .syntax = "N[,N...]",
     .help = "elements in each message of a thread",
     .standard = "1,2,4,8",
     .example = "-count 1,1024",
     .details = "#bytes shows the bytes of all threads of a process together.",
     .apply = set_counts},
    {.name = "datatype",
     .syntax = "TYPE",
     .help = "int or char, for messages and reductions",
     .standard = "int",
     .example = "-datatype char",
     .details = "-data_type and -red_data_type have more.",
     .apply = set_type},
    {.name = "repeat",
     .syntax = "N",
     .help = "number of repetitions; as -iter N",
     .standard_of = [](const Standard& standard) { return std::to_string(standard.settings.repetitions); },
     .example = "-repeat 100",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.settings.repetitions = whole_number(word, 1, most_int);
         }},
    {.name = "warmup",
     .syntax = "N",
     .help = "maximum untimed repetitions; as N_WARMUP of -set",
     .standard_of =
         [](const Standard& standard) { return std::to_string(standard.settings.warm_up_repetitions); },
     .example = "-warmup 10",
     .details = "A tenth of the number of repetitions, at least one, at most N; 0: none.",
     .apply =
         [](Draft& draft, std::string_view word) {
           draft.options.settings.warm_up_repetitions = static_cast<int>(whole_number(word, 0, most_int));
           draft.options.warm_up = draft.options.settings.warm_up_repetitions > 0;
         }},
    {.name = "barrier",
     .syntax = "on|off|special",
     .help = "synchronize processes before each sample",
     .standard = "on",
     .example = "-barrier special",
     .details = "on: in MPI_Barrier. off: only the threads of a process meet. special: as -imb_barrier on.",
     .apply = set_barrier},
    {.name = "malloc_align",
     .syntax = "BYTES",
     .help = "alignment of each thread's buffers",
     .standard = "64",
     .example = "-malloc_align 2m",
     .details =
         "A power of two. Without -malloc_algo continuous, each thread's part begins on a page at least.",
     .apply = set_alignment},
    {.name = "malloc_algo",
     .syntax = "HOW",
     .help = "serial, continuous or parallel",
     .standard = "serial",
     .example = "-malloc_algo parallel",
     .details =
         "serial: the main thread writes to all buffers first. continuous: the same, and the buffers of "
         "two threads may share a page. parallel: each thread writes to its buffers first, so that "
         "their memory is near its CPU.",
     .apply =
         [](Draft& draft, std::string_view word) {
           constexpr ThreadMemory kinds[] = {ThreadMemory::serial, ThreadMemory::continuous,
                                             ThreadMemory::parallel};
           draft.options.threads.memory =
               choice(kinds, [](ThreadMemory memory) { return name_of(memory); }, word);
         }},
    {.name = "noheader",
     .values = Values::none,
     .help = "print no banner",
     .example = "-noheader",
     .apply = [](Draft& draft, std::string_view) { draft.options.header = false; }},
};

}  // namespace

std::span<const Option> thread_options() { return rows; }

}  // namespace openimb
