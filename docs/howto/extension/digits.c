#include "postgres.h"
#include "fmgr.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(digit_sum);

/* The sum of the decimal digits of a number that is not negative. */
Datum
digit_sum(PG_FUNCTION_ARGS)
{
	char	   *digits = psprintf(INT64_FORMAT, PG_GETARG_INT64(0));
	int32		sum = 0;

	for (char *digit = digits; *digit != '\0'; digit++)
		sum += *digit - '0';
	pfree(digits);
	PG_RETURN_INT32(sum);
}
