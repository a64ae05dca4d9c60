import type { NodeStatus } from "../shown-run/node-status.ts"
import { iconPath } from "../ui/icon.tsx"
import { fittingFigures } from "./fitting-figures.ts"
import { nodeWidth } from "./graph-layout.ts"

const stateStart = 28
const figuresEnd = nodeWidth - 8

/** The state of a node with its time, its figures and how far it is. */
export function StatusView({ status, height }: { readonly status: NodeStatus; readonly height: number }) {
  return (
    <>
      <path class="icon state-icon" transform="translate(12 33) scale(0.8)" d={iconPath(status.state)} />
      {/* The blanks at the ends keep the words apart where they are read out as one name. */}
      <text class="node-state" x={stateStart} y="43">
        {`${status.word} `}
      </text>
      <text class="node-figures" x={figuresEnd} y="21">
        {`${status.time} `}
      </text>
      <text class="node-figures" x={figuresEnd} y="43">
        {fittingFigures(status.figures, status.word, figuresEnd - stateStart)}
      </text>
      {status.progress === undefined ? null : (
        <rect class="progress" x="3" y={height - 3} width={(nodeWidth - 3) * status.progress} height="3" />
      )}
    </>
  )
}
