export const releases = ["current", "candidate", "shadow"] as const

/** A side of a release: what is served, what may take its place, or the latter run once more after the former, without effects. */
export type Release = (typeof releases)[number]
