/** `open`: the run has not ended, and stays. `gone`: there is no such run (any more). */
export type Deletion = "deleted" | "open" | "gone"
