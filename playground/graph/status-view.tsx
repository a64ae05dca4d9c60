import type { NodeStatus } from "../state/node-status.ts"
import { iconPath } from "../ui/icon.tsx"
import { nodeWidth } from "./graph-layout.ts"

/** How many characters of the state and the figures a line of a node has room for. */
const charactersOfLine = 27

/** The first of the figures, as many as there is room for; the details have them all. */
function fitting(figures: string, room: number): string {
  let text = figures
  while (text.length > room && text.includes(" · ")) text = text.slice(0, text.lastIndexOf(" · "))
  return text
}

/** The state of a node with its time, its figures and how far it is. */
export function StatusView({ status, height }: { readonly status: NodeStatus; readonly height: number }) {
  return (
    <>
      <path class="icon state-icon" transform="translate(12 33) scale(0.8)" d={iconPath(status.state)} />
      {/* The blanks at the ends keep the words apart where they are read out as one name. */}
      <text class="node-state" x="28" y="43">
        {`${status.word} `}
      </text>
      <text class="node-figures" x={nodeWidth - 8} y="21">
        {`${status.time} `}
      </text>
      <text class="node-figures" x={nodeWidth - 8} y="43">
        {fitting(status.figures, charactersOfLine - status.word.length)}
      </text>
      {status.progress === undefined ? null : (
        <rect class="progress" x="3" y={height - 3} width={(nodeWidth - 3) * status.progress} height="3" />
      )}
    </>
  )
}
