/** What the graph that is shown does for other parts of the page. */
export interface GraphPort {
  readonly zoom: (factor: number) => void
  readonly fit: () => void
}

let current: GraphPort | null = null

export function setGraphPort(port: GraphPort | null): void {
  current = port
}

/** Null while no graph is shown. */
export function shownGraph(): GraphPort | null {
  return current
}

/** One press of a button that zooms. */
export const zoomIn = 1.25
export const zoomOut = 0.8
