/* SPDX-License-Identifier: MIT
 *
 * Includes the file of every law in the list MPM_LAWS. The preprocessor has no loop: each line below takes one name,
 * of the list with so many times `row` behind it that every line finds one.
 */
#pragma once
#include "materials/row.h"

_Static_assert(MPM_LAW_COUNT <= 32, "each_law.h has a line for each law");

#define MPM_LAW_NAME(enumerator, name, kind, speed, tangent, piola) name,
#define MPM_NO_LAWS row, row, row, row, row, row, row, row, row, row, row, row, row, row, row, row
#define MPM_LAW_FILE(pick) MPM_LAW_TEXT(MPM_LAW_PICK(pick, MPM_LAWS(MPM_LAW_NAME) MPM_NO_LAWS, MPM_NO_LAWS, none))
#define MPM_LAW_PICK(pick, ...) pick(__VA_ARGS__)
#define MPM_LAW_TEXT(file) MPM_LAW_QUOTE(file)
#define MPM_LAW_QUOTE(file) #file

#define MPM_LAW_0(name, ...) materials/name.h
#define MPM_LAW_1(name, ...) MPM_LAW_0(__VA_ARGS__)
#define MPM_LAW_2(name, ...) MPM_LAW_1(__VA_ARGS__)
#define MPM_LAW_3(name, ...) MPM_LAW_2(__VA_ARGS__)
#define MPM_LAW_4(name, ...) MPM_LAW_3(__VA_ARGS__)
#define MPM_LAW_5(name, ...) MPM_LAW_4(__VA_ARGS__)
#define MPM_LAW_6(name, ...) MPM_LAW_5(__VA_ARGS__)
#define MPM_LAW_7(name, ...) MPM_LAW_6(__VA_ARGS__)
#define MPM_LAW_8(name, ...) MPM_LAW_7(__VA_ARGS__)
#define MPM_LAW_9(name, ...) MPM_LAW_8(__VA_ARGS__)
#define MPM_LAW_10(name, ...) MPM_LAW_9(__VA_ARGS__)
#define MPM_LAW_11(name, ...) MPM_LAW_10(__VA_ARGS__)
#define MPM_LAW_12(name, ...) MPM_LAW_11(__VA_ARGS__)
#define MPM_LAW_13(name, ...) MPM_LAW_12(__VA_ARGS__)
#define MPM_LAW_14(name, ...) MPM_LAW_13(__VA_ARGS__)
#define MPM_LAW_15(name, ...) MPM_LAW_14(__VA_ARGS__)
#define MPM_LAW_16(name, ...) MPM_LAW_15(__VA_ARGS__)
#define MPM_LAW_17(name, ...) MPM_LAW_16(__VA_ARGS__)
#define MPM_LAW_18(name, ...) MPM_LAW_17(__VA_ARGS__)
#define MPM_LAW_19(name, ...) MPM_LAW_18(__VA_ARGS__)
#define MPM_LAW_20(name, ...) MPM_LAW_19(__VA_ARGS__)
#define MPM_LAW_21(name, ...) MPM_LAW_20(__VA_ARGS__)
#define MPM_LAW_22(name, ...) MPM_LAW_21(__VA_ARGS__)
#define MPM_LAW_23(name, ...) MPM_LAW_22(__VA_ARGS__)
#define MPM_LAW_24(name, ...) MPM_LAW_23(__VA_ARGS__)
#define MPM_LAW_25(name, ...) MPM_LAW_24(__VA_ARGS__)
#define MPM_LAW_26(name, ...) MPM_LAW_25(__VA_ARGS__)
#define MPM_LAW_27(name, ...) MPM_LAW_26(__VA_ARGS__)
#define MPM_LAW_28(name, ...) MPM_LAW_27(__VA_ARGS__)
#define MPM_LAW_29(name, ...) MPM_LAW_28(__VA_ARGS__)
#define MPM_LAW_30(name, ...) MPM_LAW_29(__VA_ARGS__)
#define MPM_LAW_31(name, ...) MPM_LAW_30(__VA_ARGS__)

#include MPM_LAW_FILE(MPM_LAW_0)
#include MPM_LAW_FILE(MPM_LAW_1)
#include MPM_LAW_FILE(MPM_LAW_2)
#include MPM_LAW_FILE(MPM_LAW_3)
#include MPM_LAW_FILE(MPM_LAW_4)
#include MPM_LAW_FILE(MPM_LAW_5)
#include MPM_LAW_FILE(MPM_LAW_6)
#include MPM_LAW_FILE(MPM_LAW_7)
#include MPM_LAW_FILE(MPM_LAW_8)
#include MPM_LAW_FILE(MPM_LAW_9)
#include MPM_LAW_FILE(MPM_LAW_10)
#include MPM_LAW_FILE(MPM_LAW_11)
#include MPM_LAW_FILE(MPM_LAW_12)
#include MPM_LAW_FILE(MPM_LAW_13)
#include MPM_LAW_FILE(MPM_LAW_14)
#include MPM_LAW_FILE(MPM_LAW_15)
#include MPM_LAW_FILE(MPM_LAW_16)
#include MPM_LAW_FILE(MPM_LAW_17)
#include MPM_LAW_FILE(MPM_LAW_18)
#include MPM_LAW_FILE(MPM_LAW_19)
#include MPM_LAW_FILE(MPM_LAW_20)
#include MPM_LAW_FILE(MPM_LAW_21)
#include MPM_LAW_FILE(MPM_LAW_22)
#include MPM_LAW_FILE(MPM_LAW_23)
#include MPM_LAW_FILE(MPM_LAW_24)
#include MPM_LAW_FILE(MPM_LAW_25)
#include MPM_LAW_FILE(MPM_LAW_26)
#include MPM_LAW_FILE(MPM_LAW_27)
#include MPM_LAW_FILE(MPM_LAW_28)
#include MPM_LAW_FILE(MPM_LAW_29)
#include MPM_LAW_FILE(MPM_LAW_30)
#include MPM_LAW_FILE(MPM_LAW_31)
