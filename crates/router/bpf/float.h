/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Floats in integer arithmetic, because the kernel has no floats. Functions take and return the bits of a float. Sums
 * and products round to nearest, ties to even, as IEEE 754 requires. This includes subnormal numbers. No operand is
 * ever NaN. Infinities are only compared.
 */
#pragma once

#define F64_SIGN (1ULL << 63)
#define F64_ONE (1ULL << 52) /* the implicit bit of normal numbers */
#define F64_INFINITY (0x7ffULL << 52)
#define F64_FRACTION (F64_ONE - 1)
#define F32_LARGEST 0x7f7fffffu
#define F32_INFINITY 0x7f800000u

INLINE int f32_is_nan(u32 a)
{
	return (a & 0x7fffffff) > F32_INFINITY;
}

/* Returns true if the float is finite and at least 0. True also for -0. */
INLINE int f32_is_magnitude(u32 a)
{
	return a < F32_INFINITY || a == 0x80000000;
}

/* Maps a float to an integer. The integers compare as the floats do, and 0 equals -0. */
INLINE u32 f32_order(u32 a)
{
	if (!(a << 1))
		return 0x80000000;
	return a >> 31 ? ~a : a | 0x80000000;
}

INLINE int f32_above(u32 a, u32 b)
{
	return f32_order(a) > f32_order(b);
}

/* Returns a * 2^shift rounded down. Returns 0 if `a` is negative, and the largest integer on overflow. */
INLINE u64 f32_fixed(u32 a, s32 shift)
{
	s32 exponent = a >> 23, up = exponent - 150 + shift;
	u64 mantissa = (a & 0x7fffff) | 0x800000;

	if (!exponent || a >> 31 || up < -24)
		return 0;
	if (up > 40)
		return ~0ULL;
	return up >= 0 ? mantissa << (up & 63) : mantissa >> (-up & 63);
}

/* Returns a / 2^n. The lowest bit is set if any one-bit is shifted out. */
INLINE u64 shift_sticky(u64 a, u32 n)
{
	if (n > 62)
		return a != 0;
	return a >> n | ((a & ((1ULL << n) - 1)) != 0);
}

/* Returns the number of leading zeros. The function has no branches, because the verifier follows each branch. */
INLINE u32 leading_zeros(u64 a)
{
	a |= a >> 1;
	a |= a >> 2;
	a |= a >> 4;
	a |= a >> 8;
	a |= a >> 16;
	a |= a >> 32;
	a = ~a; /* count the ones instead of the zeros */
	a -= a >> 1 & 0x5555555555555555;
	a = (a & 0x3333333333333333) + (a >> 2 & 0x3333333333333333);
	a = (a + (a >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return a * 0x0101010101010101 >> 56;
}

/* Rounds a mantissa with three extra low bits. Above exponent 1, the smallest exponent, its top bit must be 1. */
INLINE u64 f64_round(u64 sign, s64 exponent, u64 mantissa)
{
	u64 rest = mantissa & 7, bits;

	mantissa >>= 3;
	mantissa += rest > 4 || (rest == 4 && (mantissa & 1));
	bits = ((u64)(exponent - 1) << 52) + mantissa;
	return sign | (bits > F64_INFINITY ? F64_INFINITY : bits);
}

INLINE u64 f64_add(u64 a, u64 b)
{
	u64 x = a & ~F64_SIGN, y = b & ~F64_SIGN, sign = a & F64_SIGN, apart = (a ^ b) & F64_SIGN;
	u64 m, n, zeros;
	s64 ea, eb;

	if (x < y) {
		u64 other = x;

		x = y;
		y = other;
		sign = b & F64_SIGN;
	}
	ea = x >> 52;
	eb = y >> 52;
	m = x & F64_FRACTION;
	n = y & F64_FRACTION;
	if (ea)
		m |= F64_ONE;
	else
		ea = 1;
	if (eb)
		n |= F64_ONE;
	else
		eb = 1;
	m <<= 3;
	n = shift_sticky(n << 3, ea - eb);
	m = apart ? m - n : m + n;
	if (!m)
		return apart ? 0 : sign;
	if (m >> 56)
		return f64_round(sign, ea + 1, m >> 1 | (m & 1));
	zeros = leading_zeros(m) - 8;
	if ((s64)zeros > ea - 1)
		zeros = ea - 1;
	return f64_round(sign, ea - (s64)zeros, m << (zeros & 63));
}

INLINE u64 f64_sub(u64 a, u64 b)
{
	return f64_add(a, b ^ F64_SIGN);
}

/* Returns the upper half of the product. Sets the lowest bit of the result if the lower half is not 0. */
INLINE u64 multiply_sticky(u64 a, u64 b)
{
	u64 a0 = (u32)a, a1 = a >> 32, b0 = (u32)b, b1 = b >> 32;
	u64 low = a0 * b0, one = a0 * b1, two = a1 * b0;
	u64 middle = (low >> 32) + (u32)one + (u32)two;
	u64 high = a1 * b1 + (one >> 32) + (two >> 32) + (middle >> 32);

	return high | ((u32)middle || (u32)low);
}

INLINE u64 f64_mul(u64 a, u64 b)
{
	u64 sign = (a ^ b) & F64_SIGN, m = a & F64_FRACTION, n = b & F64_FRACTION;
	s64 ea = (a & ~F64_SIGN) >> 52, eb = (b & ~F64_SIGN) >> 52, e;
	u32 zeros;

	if (!(a << 1) || !(b << 1))
		return sign;
	if (ea)
		m |= F64_ONE;
	else
		ea = 1;
	if (eb)
		n |= F64_ONE;
	else
		eb = 1;
	zeros = leading_zeros(m);
	m <<= zeros & 63;
	ea -= (s32)zeros - 11;
	zeros = leading_zeros(n);
	n <<= zeros & 63;
	eb -= (s32)zeros - 11;
	m = multiply_sticky(m, n);
	e = ea + eb - 1022;
	if (!(m >> 63)) {
		m <<= 1;
		e--;
	}
	m = shift_sticky(m, 8);
	if (e > 2046)
		return sign | F64_INFINITY;
	if (e < 1) {
		m = shift_sticky(m, 1 - e);
		e = 1;
	}
	return f64_round(sign, e, m);
}

/* Maps a double to a signed integer. The integers compare as the doubles do, and 0 equals -0. */
INLINE s64 f64_order(u64 a)
{
	s64 magnitude = a & ~F64_SIGN;

	return a >> 63 ? -magnitude : magnitude;
}

INLINE u64 f64_min(u64 a, u64 b)
{
	return f64_order(a) < f64_order(b) ? a : b;
}

INLINE u64 f64_max(u64 a, u64 b)
{
	return f64_order(a) > f64_order(b) ? a : b;
}

INLINE u64 f64_of_u32(u32 a)
{
	u32 zeros = leading_zeros(a);

	return a ? ((u64)(1086 - zeros) << 52) + ((u64)a << (zeros & 63) >> 11) - F64_ONE : 0;
}

INLINE u64 f64_of_f32(u32 a)
{
	u64 sign = (u64)(a >> 31) << 63, exponent = a >> 23 & 0xff, fraction = a & 0x7fffff;
	u32 zeros;

	if (exponent == 255)
		return sign | F64_INFINITY;
	if (exponent)
		return sign | (exponent + 896) << 52 | fraction << 29;
	if (!fraction)
		return sign;
	zeros = leading_zeros(fraction);
	return sign | ((u64)(937 - zeros) << 52) - F64_ONE + (fraction << (zeros & 63) >> 11);
}

/* Rounds a mantissa with three extra bits to the nearest finite number. */
INLINE u32 f32_round(u32 sign, s64 exponent, u64 mantissa)
{
	u64 rest;
	u32 bits;

	if (exponent < -30)
		return sign;
	if (exponent > 254)
		return sign | F32_LARGEST;
	if (exponent < 1) {
		mantissa = shift_sticky(mantissa, 1 - exponent);
		exponent = 1;
	}
	rest = mantissa & 7;
	mantissa >>= 3;
	mantissa += rest > 4 || (rest == 4 && (mantissa & 1));
	bits = ((u32)(exponent - 1) << 23) + (u32)mantissa;
	return sign | (bits > F32_LARGEST ? F32_LARGEST : bits);
}

/* Rounds a double to the nearest finite float. */
INLINE u32 f32_of_f64(u64 a)
{
	s64 exponent = (s64)((a & ~F64_SIGN) >> 52) - 896;

	return f32_round(a >> 63 << 31, exponent, shift_sticky((a & F64_FRACTION) | F64_ONE, 26));
}

/* Rounds an integer to the nearest float. */
INLINE u32 f32_of_u64(u64 a)
{
	u32 zeros = leading_zeros(a);

	return a ? f32_round(0, 190 - (s64)zeros, shift_sticky(a << (zeros & 63), 37)) : 0;
}

/* Multiplies the magnitudes, and rounds the product to the nearest finite number. */
INLINE u32 f32_mul(u32 a, u32 b)
{
	s64 ea = a >> 23 & 0xff, eb = b >> 23 & 0xff;
	u64 m = a & 0x7fffff, n = b & 0x7fffff, product;
	u32 zeros;

	if (ea)
		m |= 0x800000;
	else
		ea = 1;
	if (eb)
		n |= 0x800000;
	else
		eb = 1;
	product = m * n;
	if (!product)
		return 0;
	zeros = leading_zeros(product);
	return f32_round(0, ea + eb - 110 - zeros, shift_sticky(product << (zeros & 63), 37));
}

/* Converts picoseconds to seconds: divides by 2^12 5^12. */
INLINE u64 f64_seconds(u64 ps)
{
	const u64 divisor = 244140625;
	u64 a, high, rest, quotient;
	u32 zeros = leading_zeros(ps);
	s64 exponent;

	if (!ps)
		return 0;
	a = f64_round(0, 1086 - (s64)zeros, shift_sticky(ps << (zeros & 63), 8));
	exponent = a >> 52;
	a = ((a & F64_FRACTION) | F64_ONE) << 11;
	high = a / divisor;
	rest = a % divisor << 27;
	quotient = high << 27 | rest / divisor;
	zeros = leading_zeros(quotient);
	return f64_round(0, exponent - 39 - (s64)zeros, shift_sticky(quotient << (zeros & 63), 8) | (rest % divisor != 0));
}
