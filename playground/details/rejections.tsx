import type { Rejection } from "../../src/log/events.ts"
import { planOf } from "../shown-run/changes.ts"
import type { RunView } from "../shown-run/run-view.ts"
import { VisibleText } from "../ui/visible-text.tsx"
import { Part } from "./part.tsx"

interface RejectionsProps {
  readonly run: RunView
  readonly agent: string
  readonly rejections: readonly Rejection[]
}

/** The requirements that an output does not fulfil: each as it is written, and its text. */
export function Rejections({ run, agent, rejections }: RejectionsProps) {
  const node = planOf(run)?.nodes.find(({ id }) => id === `agent.${agent}`)
  const requires = node?.kind === "agent" ? node.requires : []
  const texts = rejections.map(({ message }) => message).join("\n")
  return (
    <Part title="Requirements not fulfilled" copy={texts}>
      <ul class="rejections">
        {rejections.map(({ index, message }) => (
          <li key={index}>
            <code>require {requires[index]?.text ?? `[${index}]`}</code>
            <p class="wraps wrong-text" dir="auto">
              <VisibleText text={message} isAlone />
            </p>
          </li>
        ))}
      </ul>
    </Part>
  )
}
