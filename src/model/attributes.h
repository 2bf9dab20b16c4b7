// Attributes that compilers name differently. None changes what a program computes.
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#define OPENIMB_NOINLINE [[msvc::noinline]]
#define OPENIMB_FLATTEN [[msvc::flatten]]
#define OPENIMB_PRINTF(text, first)
#define OPENIMB_WEAK
#else
#define OPENIMB_NOINLINE [[gnu::noinline]]
/// Calls inside the function are inlined, as far as possible.
#define OPENIMB_FLATTEN [[gnu::flatten]]
/// The compiler compares arguments from number `first` on with the format, argument number `text`.
#define OPENIMB_PRINTF(text, first) [[gnu::format(printf, text, first)]]
/// A function that may be missing when the program is loaded; its address is null then (ELF).
#define OPENIMB_WEAK [[gnu::weak]]
#endif
