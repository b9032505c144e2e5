#ifndef SP_ENGINE_OPS_PROTO_TEXT_H
#define SP_ENGINE_OPS_PROTO_TEXT_H

#include "engine/op.h"
#include "engine/ops/proto_layout.h"

/*
 * Messages in protobuf's text format to what TensorFlow makes of them on the wire.
 *
 *   name: value   name { ... }   name < ... >   name: [value, value]   [extension.name]: value
 *   [type.googleapis.com/package.Type] { ... } in a google.protobuf.Any, of types described
 *
 * An extension of a message set may go by its type's name, if that type declares it.
 *
 * As protobuf 3.21 reads it where nothing is allowed that must be asked for: a field or an
 * enumerator that the type lacks, a field that is not repeated and comes again, two members of
 * a oneof, a number out of range and a missing required field are errors.  Reserved names are
 * skipped with what they hold, and no ',' or ';' may follow that, nor the value of an Any.
 * A float is read as a double and then rounded; what would be subnormal becomes 0, as on
 * TensorFlow's threads.  Texts need not be UTF-8.  How deep messages lie in each other is not
 * limited.
 *
 * Errors:  *good is false; no words, as the text is the client's.  Unlike in protobuf so is a weak
 *          field that is given as a text.
 * Threads: pure.
 * Source:  text_format.cc, wire_format.cc of protobuf 3.21, which TensorFlow 2.15 has.
 */
SP_MUST_CHECK sp_status sp_proto_text_read(const sp_call *call, const sp_proto_layout *layout,
					   sp_bytes text, sp_bytes *out, bool *good);

#endif
