/** Runs a command in which file permissions apply to root too: without the capabilities that override them. */
export const permissionsApply: readonly string[] =
  process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : []
