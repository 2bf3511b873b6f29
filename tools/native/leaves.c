/* Every call of the smallest functions, with any bytes and numbers: Eva shows that their contracts hold. */
#include "numbers.h"

extern volatile uint8_t any_byte;
extern volatile int64_t any_number;

void main(void)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = any_byte;
    ks_signed((uint64_t)any_number);
    ks_u1(bytes);
    ks_s1(bytes);
    ks_u2(bytes);
    ks_s2(bytes);
    ks_load4(bytes);
    ks_u4(bytes);
    ks_s4(bytes);
    ks_s8(bytes);
    ks_u8(bytes);
    ks_u2le(bytes);
    ks_s2le(bytes);
    ks_u4le(bytes);
    ks_s4le(bytes);
    ks_s8le(bytes);
    ks_u8le(bytes);
    ks_widened(any_number);
    int64_t narrow;
    ks_narrowed(any_number, &narrow);
    ks_shl(any_number, any_number);
    ks_shr(any_number, any_number);
}
