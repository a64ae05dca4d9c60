/** The id of the control for the value at a path. */
export function fieldId(path: string, scope = ""): string {
  return `field-${scope}${path.replace(/[^A-Za-z0-9_-]/g, (unit) => `-${unit.charCodeAt(0).toString(16)}-`)}`
}
