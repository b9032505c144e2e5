#include "processor/warmup/prediction_log.h"

/* clang-format off */
#define TEXT           {.kind = SP_WIRE_MEMBER_TEXT}
#define VARINTS        {.kind = SP_WIRE_MEMBER_VARINTS}
#define FLOATS         {.kind = SP_WIRE_MEMBER_FIXED32S}
#define DOUBLES        {.kind = SP_WIRE_MEMBER_FIXED64S}
#define MESSAGE(named) {.kind = SP_WIRE_MEMBER_MESSAGE, .schema = &(named)}
#define SCHEMA(list)   {list, sizeof(list) / sizeof((list)[0])}
/* clang-format on */

/* ------------------------------------------------------------------ tensors */

static const sp_wire_member dim_members[] = {[2] = TEXT};
static const sp_wire_schema dim = SCHEMA(dim_members);

static const sp_wire_member shape_members[] = {[2] = MESSAGE(dim)};
static const sp_wire_schema shape = SCHEMA(shape_members);

static const sp_wire_member typed_shape_members[] = {[2] = MESSAGE(shape)};
static const sp_wire_schema typed_shape = SCHEMA(typed_shape_members);

static const sp_wire_member handle_members[] = {
	[1] = TEXT, [2] = TEXT, [3] = TEXT, [5] = TEXT, [6] = MESSAGE(typed_shape),
};
static const sp_wire_schema handle = SCHEMA(handle_members);

static const sp_wire_schema tensor;

static const sp_wire_member variant_members[] = {[1] = TEXT, [3] = MESSAGE(tensor)};
static const sp_wire_schema variant = SCHEMA(variant_members);

static const sp_wire_member tensor_members[] = {
	[2] = MESSAGE(shape),   [5] = FLOATS,
	[6] = DOUBLES,          [7] = VARINTS,
	[9] = FLOATS, /* complex64 */
	[10] = VARINTS,         [11] = VARINTS,
	[12] = DOUBLES, /* complex128 */
	[13] = VARINTS, /* half */
	[14] = MESSAGE(handle), [15] = MESSAGE(variant),
	[16] = VARINTS, /* uint32 and uint64 */
	[17] = VARINTS,
};
static const sp_wire_schema tensor = SCHEMA(tensor_members);

static const sp_wire_member named_tensor_members[] = {
	[SP_INPUT_KEY] = TEXT,
	[SP_INPUT_VALUE] = MESSAGE(tensor),
};
static const sp_wire_schema named_tensor = SCHEMA(named_tensor_members);

/* --------------------------------------------------------- request, response */

static const sp_wire_schema no_members = {NULL, 0};

static const sp_wire_member spec_members[] = {
	[1] = TEXT,
	[2] = MESSAGE(no_members), /* Int64Value */
	[SP_MODEL_SPEC_SIGNATURE] = TEXT,
	[4] = TEXT,
};
static const sp_wire_schema spec = SCHEMA(spec_members);

static const sp_wire_member request_members[] = {
	[SP_SERVING_REQUEST_MODEL_SPEC] = MESSAGE(spec),
	[SP_SERVING_REQUEST_INPUTS] = MESSAGE(named_tensor),
	[SP_SERVING_REQUEST_OUTPUT_FILTER] = TEXT,
};
static const sp_wire_schema request = SCHEMA(request_members);

static const sp_wire_member response_members[] = {[1] = MESSAGE(named_tensor), [2] = MESSAGE(spec)};
static const sp_wire_schema response = SCHEMA(response_members);

static const sp_wire_member predict_members[] = {
	[SP_PREDICT_LOG_REQUEST] = MESSAGE(request),
	[2] = MESSAGE(response),
};
static const sp_wire_schema predict = SCHEMA(predict_members);

static const sp_wire_member metadata_members[] = {
	[1] = MESSAGE(spec),
	[2] = MESSAGE(no_members), /* SamplingConfig */
	[3] = TEXT,
};
static const sp_wire_schema metadata = SCHEMA(metadata_members);

static const sp_wire_member log_members[] = {
	[1] = MESSAGE(metadata),
	[SP_LOG_PREDICT] = MESSAGE(predict),
};
const sp_wire_schema sp_prediction_log_schema = SCHEMA(log_members);
