#ifndef SP_API_HOST_ROUTES_STATUS_PAGE_H
#define SP_API_HOST_ROUTES_STATUS_PAGE_H

/* The text of status_page.html, made by scripts/embed_text.sh. */
extern const char sp_status_page[];

#endif
