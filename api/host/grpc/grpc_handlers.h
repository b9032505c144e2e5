#ifndef SP_API_HOST_GRPC_GRPC_HANDLERS_H
#define SP_API_HOST_GRPC_GRPC_HANDLERS_H

#include "api/host/grpc/grpc_call.h"
#include "api/host/sticky/sticky.h"

/* The methods, as the table in grpc_methods.c names them. */

sp_grpc_handler sp_grpc__predict;
sp_grpc_handler sp_grpc__classify;
sp_grpc_handler sp_grpc__regress;
sp_grpc_handler sp_grpc__multi_inference;
sp_grpc_handler sp_grpc__get_model_metadata;

sp_grpc_handler sp_grpc__get_model_status;
sp_grpc_handler sp_grpc__reload_config;

sp_grpc_handler sp_grpc__server_live;
sp_grpc_handler sp_grpc__server_ready;
sp_grpc_handler sp_grpc__model_ready;
sp_grpc_handler sp_grpc__server_metadata;
sp_grpc_handler sp_grpc__model_metadata;
sp_grpc_handler sp_grpc__model_config;
sp_grpc_handler sp_grpc__model_infer;
sp_grpc_handler sp_grpc__model_stream_infer; /* one message of the stream */
sp_grpc_handler sp_grpc__model_statistics;
sp_grpc_handler sp_grpc__repository_index;
sp_grpc_handler sp_grpc__repository_load;
sp_grpc_handler sp_grpc__repository_unload;

sp_grpc_handler sp_grpc__health_check;

/* Holds the version that an input of the message decides on instead, if the model is split so. */
void sp_grpc__follow_field(sp_grpc_call *call, sp_servable *servable, sp_sticky_form form);

/* Reads a request that has a name and a version. */
SP_MUST_CHECK sp_status sp_grpc__name_and_version(sp_grpc_call *call, sp_bytes *name,
						  sp_bytes *version, sp_error *err);

#endif
