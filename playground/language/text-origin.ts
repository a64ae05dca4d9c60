/** Where the text in the editor came from. What came by a link asks before its first run. */
export type Origin = "own" | "link"
