#ifndef SP_ENGINE_OPS_BOX_OVERLAP_H
#define SP_ENGINE_OPS_BOX_OVERLAP_H

/*
 * The part that two boxes have in common of what they cover together, 0 ... 1; 0 where one of
 * them covers nothing.  A box is y, x of a corner and y, x of the one across.
 *
 * Numerics: in float, in TensorFlow's order of operations.
 * Threads:  pure.
 */
float sp_box__overlap(const float a[4], const float b[4]);

#endif
