#ifndef SP_API_HOST_GRPC_GRPC_HANDLERS_H
#define SP_API_HOST_GRPC_GRPC_HANDLERS_H

#include "api/host/grpc/grpc_call.h"

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

#endif
