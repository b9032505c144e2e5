#ifndef SP_TESTS_SUPPORT_JSON_SPACE_H
#define SP_TESTS_SUPPORT_JSON_SPACE_H

/* Removes the white space between the tokens of a JSON text, so that two texts can be compared. */
void sp_json_remove_space(char *json);

#endif
