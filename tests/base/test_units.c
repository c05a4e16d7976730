/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Byte arithmetic that cannot wrap; sizes to text and back. */
#include "base/units.h"

#include <criterion/criterion.h>
#include <criterion/theories.h>
#include <string.h>

#define EDGES 0, 1, 2, 3, 511, 512, 513, MIB - 1, MIB, MIB + 1, UINT64_C(1) << 62, UINT64_MAX / 2, \
    UINT64_MAX - 512, UINT64_MAX - 511, UINT64_MAX - 1, UINT64_MAX

TheoryDataPoints(units, align_up_is_the_least_multiple) = {
    DataPoints(uint64_t, EDGES),
    DataPoints(uint64_t, 1, 2, 512, 2 * MIB, UINT64_C(1) << 63),
};
Theory((uint64_t bytes, uint64_t unit), units, align_up_is_the_least_multiple)
{
    const uint64_t up = align_up(bytes, unit);
    if (up == UINT64_MAX && unit > 1) {
        cr_assert_gt(bytes, UINT64_MAX - (unit - 1), "there was a multiple");
        return;
    }
    cr_assert_eq(up % unit, 0);
    cr_assert_geq(up, bytes);
    cr_assert_lt(up - bytes, unit);
}

TheoryDataPoints(units, round_up_is_the_least_multiple) = {
    DataPoints(uint64_t, EDGES),
    DataPoints(uint64_t, 1, 3, 512, 1000, 1536, 2 * MIB, UINT64_MAX),
};
Theory((uint64_t bytes, uint64_t unit), units, round_up_is_the_least_multiple)
{
    const uint64_t up = round_up(bytes, unit);
    if (up % unit != 0) {
        cr_assert_eq(up, UINT64_MAX);
        cr_assert_gt(bytes, UINT64_MAX - UINT64_MAX % unit, "there was a multiple");
        return;
    }
    cr_assert_geq(up, bytes);
    cr_assert_lt(up - bytes, unit);
}

TheoryDataPoints(units, add_capped_never_wraps) = {
    DataPoints(uint64_t, EDGES),
    DataPoints(uint64_t, EDGES),
};
Theory((uint64_t a, uint64_t b), units, add_capped_never_wraps)
{
    const uint64_t sum = add_capped(a, b);
    cr_assert(sum >= a && sum >= b);
    cr_assert(sum == UINT64_MAX || sum - a == b);
    cr_assert_eq(sum, add_capped(b, a));
}

TheoryDataPoints(units, log2_floor_is_the_highest_bit) = {
    DataPoints(uint64_t, 1, 2, 3, 4, 511, 512, 513, UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX),
};
Theory((uint64_t n), units, log2_floor_is_the_highest_bit)
{
    const unsigned k = log2_floor(n);
    cr_assert_leq(UINT64_C(1) << k, n);
    cr_assert(k == 63 || n >> (k + 1) == 0);
    cr_assert_eq(is_power_of_two(n), n == UINT64_C(1) << k);
}

Test(units, zero_is_no_power_of_two)
{
    cr_expect_not(is_power_of_two(0));
}

static uint64_t parsed(const char *text)
{
    uint64_t bytes = 12345;
    cr_expect(units_parse_bytes(text, strlen(text), &bytes), "'%s' was refused", text);
    return bytes;
}

Test(units, sizes_are_read_as_people_write_them)
{
    cr_expect_eq(parsed("0"), 0);
    cr_expect_eq(parsed("42"), 42);
    cr_expect_eq(parsed("42B"), 42);
    cr_expect_eq(parsed("1k"), KIB);
    cr_expect_eq(parsed("24GiB"), 24 * GIB);
    cr_expect_eq(parsed("24 gb"), 24 * GIB);
    cr_expect_eq(parsed("1.5MiB"), 3 * MIB / 2);
    cr_expect_eq(parsed("0.5t"), TIB / 2);
    cr_expect_eq(parsed("18446744073709551615"), UINT64_MAX);
}

Test(units, what_is_no_size_is_refused_and_leaves_the_output)
{
    static const char *const texts[] = {
        "", " ", "B", "GiB", ".", ".G", "-1", "+1", "1x", "1GiBs", "1 G B", "1e3", "0x10", "nan", "inf", "1..5",
        "1.5.5", "18446744073709551616", "99999999999999999999999", "16EiB", "17179869184GiB", "1\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint64_t bytes = 12345;
        cr_expect_not(units_parse_bytes(texts[i], strlen(texts[i]), &bytes), "'%s' was taken", texts[i]);
        cr_expect_eq(bytes, 12345);
    }
}

Test(units, only_the_given_length_is_read)
{
    uint64_t bytes;
    cr_expect(units_parse_bytes("24GiB,more", 5, &bytes));
    cr_expect_eq(bytes, 24 * GIB);
    cr_expect(units_parse_bytes("24GiB", 2, &bytes));
    cr_expect_eq(bytes, 24);
}

static void expect_text(uint64_t bytes, const char *text)
{
    char buf[UNITS_TEXT];
    cr_expect_str_eq(units_format_bytes(bytes, buf), text);
}

Test(units, sizes_are_written_in_the_largest_unit_that_leaves_one)
{
    expect_text(0, "0 B");
    expect_text(512, "512 B");
    expect_text(1023, "1023 B");
    expect_text(KIB, "1 KiB");
    expect_text(24 * GIB, "24 GiB");
    expect_text(24 * GIB - 1, "24.00 GiB");
    expect_text(3 * MIB / 2, "1.50 MiB");
}

TheoryDataPoints(units, what_is_written_whole_is_read_back) = {
    DataPoints(uint64_t, 0, 1, 1023, KIB, 5 * KIB, MIB, 20 * MIB, GIB, 24 * GIB, TIB, 1024 * TIB, UINT64_C(1) << 63),
};
Theory((uint64_t bytes), units, what_is_written_whole_is_read_back)
{
    char buf[UNITS_TEXT];
    uint64_t back = 0;
    const char *text = units_format_bytes(bytes, buf);
    cr_assert(units_parse_bytes(text, strlen(text), &back), "'%s'", text);
    cr_assert_eq(back, bytes);
}

Test(units, whole_numbers_are_digits_alone_and_fit_64_bits)
{
    static const char *const refused[] = {"", "-1", "+1", " 1", "1 ", "0x10", "1.0", "18446744073709551616",
                                          "99999999999999999999"};
    uint64_t number = 7;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        cr_expect_not(units_parse_number(refused[i], strlen(refused[i]), &number), "'%s' was taken", refused[i]);
    cr_expect_eq(number, 7);
    cr_expect(units_parse_number("18446744073709551615", 20, &number) && number == UINT64_MAX);
    cr_expect(units_parse_number("007,8", 3, &number) && number == 7);
}

Test(units, times_are_read_with_their_unit)
{
    static const struct { const char *text; double ns; } taken[] = {
        { "1ns", 1 }, { "20us", 20e3 }, { "0.5ms", 5e5 }, { "2s", 2e9 }, { "-1.5min", -90e9 },
    };
    static const char *const refused[] = { "", "2", "s", "2h", "2 s", "nans", "infs", "1e300s", "2S", "2ss" };
    double ns = 7;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        cr_expect_not(units_parse_time(refused[i], strlen(refused[i]), &ns), "'%s' was taken", refused[i]);
    cr_expect_eq(ns, 7);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        cr_expect(units_parse_time(taken[i].text, strlen(taken[i].text), &ns), "'%s'", taken[i].text);
        cr_expect_eq(ns, taken[i].ns, "'%s'", taken[i].text);
    }
    cr_expect(units_parse_time("1.5s..2s", 4, &ns));
    cr_expect_eq(ns, 1.5e9);
}
