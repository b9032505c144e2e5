#include "storage/region.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/size.h"

#define HUGE_PAGE SP_REGION_PAGE

#define CACHE_LINE 64

/* `size` bytes, a multiple of HUGE_PAGE, on a boundary of it; NULL when out of memory. */
static void *map_pages(size_t size)
{
	size_t room, head;
	char *start;

	if (!sp_size_add(&room, size, HUGE_PAGE))
		return NULL;
	start = mmap(NULL, room, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		return NULL;
	head = -(uintptr_t)start & (HUGE_PAGE - 1);
	if (head != 0)
		munmap(start, head);
	munmap(start + head + size, HUGE_PAGE - head);
	return start + head;
}

/* Moves or shrinks the mapping. */
static void *remap_pages(sp_region *region, size_t size)
{
	void *place;

	if (size <= region->mapped) {
		if (size < region->mapped)
			munmap((char *)region->data + size, region->mapped - size);
		return region->data;
	}
	place = map_pages(size);
	if (place == NULL)
		return NULL;
	if (mremap(region->data, region->mapped, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) ==
	    MAP_FAILED) {
		munmap(place, size);
		return NULL;
	}
	return place;
}

static bool resize_mapped(sp_region *region, size_t size)
{
	size_t mapped;
	void *data;

	if (!sp_size_round_up(&mapped, size, HUGE_PAGE))
		return false;
	data = region->mapped != 0 ? remap_pages(region, mapped) : map_pages(mapped);
	if (data == NULL)
		return false;
	madvise(data, mapped,
		MADV_HUGEPAGE); /* failure is harmless: the kernel has no huge pages */
	if (region->mapped == 0 && region->size != 0) {
		memcpy(data, region->data, region->size < size ? region->size : size);
		sp_free(region->data);
	}
	*region = (sp_region){.data = data, .size = size, .mapped = mapped};
	return true;
}

static bool resize_allocated(sp_region *region, size_t size)
{
	sp_region old = *region;
	void *data = sp_alloc_aligned(CACHE_LINE, size);

	if (data == NULL)
		return false;
	if (old.size != 0)
		memcpy(data, old.data, old.size < size ? old.size : size);
	sp_region_fini(&old);
	*region = (sp_region){.data = data, .size = size};
	return true;
}

bool sp_region_resize(sp_region *region, size_t size)
{
	if (size == region->size)
		return true;
	if (size == 0) {
		sp_region_fini(region);
		return true;
	}
	return size >= HUGE_PAGE ? resize_mapped(region, size) : resize_allocated(region, size);
}

size_t sp_region_expected_footprint(size_t size)
{
	size_t bytes = size;

	if (size >= HUGE_PAGE && !sp_size_round_up(&bytes, size, HUGE_PAGE))
		return SIZE_MAX;
	return bytes;
}

void sp_region_trim(sp_region *region)
{
	size_t kept = region->size + SP_REGION_SMALL_PAGE - 1;

	kept -= kept % SP_REGION_SMALL_PAGE;
	if (kept >= region->mapped)
		return;
	munmap((char *)region->data + kept, region->mapped - kept);
	region->mapped = kept;
}

void sp_region_fini(sp_region *region)
{
	if (region->mapped != 0)
		munmap(region->data, region->mapped);
	else
		sp_free(region->data);
	*region = (sp_region){0};
}
