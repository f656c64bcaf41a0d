#include "postgres.h"
#include "fmgr.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(digit_sum);

/* The sum of the decimal digits of a number. */
Datum
digit_sum(PG_FUNCTION_ARGS)
{
	int64		rest = PG_GETARG_INT64(0);
	int32		sum = 0;

	for (; rest != 0; rest /= 10)
		sum += (int32) (rest % 10);
	PG_RETURN_INT32(sum);
}
