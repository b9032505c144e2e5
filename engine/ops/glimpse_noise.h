#ifndef SP_ENGINE_OPS_GLIMPSE_NOISE_H
#define SP_ENGINE_OPS_GLIMPSE_NOISE_H

#include <stddef.h>
#include <stdint.h>

/*
 * What TensorFlow's glimpses show outside of an image: numbers that follow from the image and one
 * seed.  Every image begins at the seed again, and so does, of the normal kind, every channel.
 *
 *   uniform  between the least and the largest number of the image
 *   normal   of a channel's mean and deviation, within its least and its largest number
 *
 * image  [pixels, channels]
 * out    [places, channels]
 *
 * Numerics: the stream is that of one of TensorFlow's threads where it computes with AVX: blocks of
 *           eight numbers share an increment.  Means and deviations are sums in double.
 * Threads:  pure.
 * Source:   the stream is M. E. O'Neill's PCG-XSH-RS 64/32 (HMC-CS-2014-0905), its normal numbers
 *           are ratios of uniform ones (J. L. Leva, "A fast normal random number generator", ACM
 *           TOMS 18, 1992); both as Eigen has them.
 */
typedef struct sp_glimpse_picture {
	const float *image;
	size_t pixels, channels, places;
	float *out;
} sp_glimpse_picture;

void sp_glimpse_noise__uniform(const sp_glimpse_picture *picture, uint64_t seed);
void sp_glimpse_noise__normal(const sp_glimpse_picture *picture, uint64_t seed);

#endif
