// What few workflows need, in one piece that comes later than the page.

export { FileZone } from "./file-zone.tsx"
export { ShownFile } from "./shown-file.tsx"
