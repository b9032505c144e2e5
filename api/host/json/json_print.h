#ifndef SP_API_HOST_JSON_JSON_PRINT_H
#define SP_API_HOST_JSON_JSON_PRINT_H

#include <stdint.h>

/*
 * Numbers as text.  Each function writes fewer than SP_JSON_PRINT_BYTES characters and may
 * overwrite the rest of so many; it returns the end of the text, without a NUL.
 *
 * Threads: pure.
 */
enum { SP_JSON_PRINT_BYTES = 48 };

/*
 * As TensorFlow Serving writes them: with six significant digits if they read back as the same
 * value, else with as many as any value of the type needs (9 or 17); with ".0" if it would look
 * like an integer; NaN, Infinity, -Infinity.
 */
char *sp_json_print_f32(char *out, float value);
char *sp_json_print_f64(char *out, double value);

char *sp_json_print_i64(char *out, int64_t value);
char *sp_json_print_u64(char *out, uint64_t value);

#endif
