import { signal } from "@preact/signals"
import type { Destination } from "../form/destinations.ts"

/** A workflow that came by a link is about to run: the hosts that it would call, and the secrets that each would get. */
export const confirmation = signal<{ readonly destinations: readonly Destination[]; readonly go: () => void } | null>(
  null,
)
