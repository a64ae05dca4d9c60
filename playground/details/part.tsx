import type { ComponentChildren } from "preact"
import type { JsonValue } from "../../src/base/json-value.ts"
import { copyText } from "../share/copy.ts"
import { Icon } from "../ui/icon.tsx"
import { JsonTree } from "../values/json-tree.tsx"

interface PartProps {
  readonly title: string
  readonly copy?: string
  readonly children: ComponentChildren
}

/** A titled part of the details, with a button that copies it. */
export function Part({ title, copy, children }: PartProps) {
  return (
    <section class="part">
      <header>
        <h3>{title}</h3>
        {copy === undefined ? null : (
          <button
            type="button"
            class="button square"
            aria-label={`Copy: ${title}`}
            onClick={() => void copyText(copy, title)}
          >
            <Icon name="copy" />
          </button>
        )}
      </header>
      {children}
    </section>
  )
}

interface ValueProps {
  readonly title: string
  readonly value: JsonValue
  /** Levels that are open at first. */
  readonly open?: number
}

/** A value as a part: a text as it reads, anything else as a tree. */
export function Value({ title, value, open = 2 }: ValueProps) {
  return (
    <Part title={title} copy={typeof value === "string" ? value : JSON.stringify(value, null, 2)}>
      {typeof value === "string" ? (
        <pre class="prose" dir="auto">
          {value}
        </pre>
      ) : (
        <JsonTree value={value} label={title} open={open} />
      )}
    </Part>
  )
}
