const ending = ".next.wire"

/** Whether a path is that of a candidate: `triage.next.wire`. */
export function isCandidatePath(path: string): boolean {
  return path.endsWith(ending) && !path.endsWith(`/${ending}`) && path !== ending
}

/** The file that a candidate may take the place of. */
export function currentOf(path: string): string {
  return `${path.slice(0, -ending.length)}.wire`
}
