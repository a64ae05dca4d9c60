/** The playground's own icons, drawn on 16 by 16 with one stroke. */
const paths = {
  play: "M5 3.5v9l7.5-4.5z",
  stop: "M4.5 4.5h7v7h-7z",
  share: "M6.5 9.5 9.5 6.5M7 4.8l1.4-1.4a2.9 2.9 0 0 1 4.2 4.2L11.2 9M9 11.2l-1.4 1.4a2.9 2.9 0 0 1-4.2-4.2L4.8 7",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  moon: "M13 9.6A5.5 5.5 0 0 1 6.4 3 5.5 5.5 0 1 0 13 9.6z",
  system: "M2.5 3.5h11v7h-11zM6 13.5h4M8 10.5v3",
  waiting: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11z",
  running: "M8 2.5a5.5 5.5 0 1 0 5.5 5.5M8 5v3l2 1.5",
  completed: "M3 8.5l3.2 3.2L13 5",
  cached: "M8 2.5l5 2.6-5 2.6-5-2.6zM3 8l5 2.6L13 8M3 10.9l5 2.6 5-2.6",
  reused: "M3 4.5h6a3.5 3.5 0 0 1 0 7H3M5.5 9 3 11.5 5.5 14",
  retried: "M12.6 9.5A4.8 4.8 0 1 1 12 5.2M12.5 2.5v3h-3",
  failed: "M4 4l8 8M12 4l-8 8",
  skipped: "M3 5l4 3-4 3zM8.5 5l4 3-4 3z",
  unreached: "M5 8h6M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11z",
  unknown: "M5.5 2.5v3M10.5 2.5v3M4 5.5h8v2.3a4 4 0 0 1-8 0zM8 11.8v2M2.5 2.5l11 11",
  cancelled: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 4.2l7.6 7.6",
  warning: "M8 2.8 14 13H2zM8 6.5v3M8 11.2v.1",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  download: "M8 2.5v7.5M4.8 7 8 10.2 11.2 7M3 13.5h10",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4 6 8l4 4",
  up: "M4 10l4-4 4 4",
  earlier: "M8 13V3.5M4 7.5l4-4 4 4",
  later: "M8 3v9.5M4 8.5l4 4 4-4",
  pencil: "M3 13l.6-2.9 7-7 2.3 2.3-7 7zM9 4.7 11.3 7",
  plus: "M8 3.5v9M3.5 8h9",
  minus: "M3.5 8h9",
  close: "M4 4l8 8M12 4l-8 8",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  eye: "M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z",
  key: "M10.2 2.5a3.3 3.3 0 1 0 0 6.6 3.3 3.3 0 0 0 0-6.6zM7.8 8.2 2.5 13.5M4.3 11.7l1.7 1.7",
  jump: "M9.5 3h3.5v3.5M13 3 7.5 8.5M12 9.5v3.5H3V4h3.5",
  compare: "M5.5 2.5v11M10.5 2.5v11M2.5 5h3M2.5 8h3M10.5 8h3M10.5 11h3",
  loop: "M4.5 5h7a2 2 0 0 1 2 2v.5M11.5 11h-7a2 2 0 0 1-2-2v-.5M9.8 3l2 2-2 2M6.2 13l-2-2 2-2",
  agent: "M3 4.5h10v7H3zM5.8 7.5v1M10.2 7.5v1M8 2.5v2",
  ask: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM6.3 6.5a1.7 1.7 0 1 1 2.6 1.4c-.6.4-.9.8-.9 1.4M8 11.2v.1",
  wait: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3l2 1.5",
  asking: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM6.3 6.5a1.7 1.7 0 1 1 2.6 1.4c-.6.4-.9.8-.9 1.4M8 11.2v.1",
  dynamic:
    "M6 2.5c-2 0-2 1.2-2 2.5S4 8 2.5 8C4 8 4 9.7 4 11s0 2.5 2 2.5M10 2.5c2 0 2 1.2 2 2.5s0 3 1.5 3C12 8 12 9.7 12 11s0 2.5-2 2.5",
  output: "M2.5 8h7M6.8 5 9.8 8l-3 3M12.5 3v10",
  tool: "M12.9 4.4 10.8 6.5 9.5 5.2l2.1-2.1A3.4 3.4 0 0 0 7.3 7.5L2.9 11.9l1.4 1.4 4.4-4.4a3.4 3.4 0 0 0 4.2-4.5z",
  model: "M8 2.2 9.5 6.5 13.8 8 9.5 9.5 8 13.8 6.5 9.5 2.2 8l4.3-1.5z",
  plug: "M5.5 2.5v3M10.5 2.5v3M4 5.5h8v2.3a4 4 0 0 1-8 0zM8 11.8v2",
  document: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  group: "M2.5 3h8v4.5h-8zM5.5 7.5v5h8V8h-3",
  compact: "M3 3.5h10M3 12.5h10M8 5.5v1.8M8 10.5V8.7M6.5 6.5 8 8l1.5-1.5",
  history: "M2.8 8a5.2 5.2 0 1 0 1.6-3.7L2.8 5.8M2.8 2.8v3h3M8 5.2V8l2 1.4",
  braces:
    "M6 2.5c-2 0-2 1.2-2 2.5S4 8 2.5 8C4 8 4 9.7 4 11s0 2.5 2 2.5M10 2.5c2 0 2 1.2 2 2.5s0 3 1.5 3C12 8 12 9.7 12 11s0 2.5-2 2.5",
  format: "M2.5 4h11M5.5 8h8M2.5 12h11",
} as const

export type IconName = keyof typeof paths

/** Decoration beside a word; what has no word says it with a label of its own. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}

/** The path alone, for a drawing that is an SVG already. */
export function iconPath(name: IconName): string {
  return paths[name]
}
