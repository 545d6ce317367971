// Pages that are opened from a folder may not read one another, so that results of the search come without a summary.
if (window.location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
