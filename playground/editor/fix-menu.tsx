import { useLayoutEffect, useRef } from "preact/hooks"
import { editor } from "../files/editor-port.ts"
import { fixMenu } from "./quick-fixes.ts"
import { codeAddress } from "../service/service.ts"
import { withoutBackticks } from "../ui/code-parts.ts"
import { keepWithin } from "../ui/menu.tsx"
import { Sentence } from "../ui/sentence.tsx"

/** The fixes of the problems at the cursor, opened by Ctrl+. */
export function FixMenu() {
  const menu = fixMenu.value
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = box.current
    if (element === null || menu === null) return
    element.style.left = `${menu.x}px`
    element.style.top = `${menu.y + 4}px`
    keepWithin(element)
    element.querySelector<HTMLElement>("[role=menuitem]")?.focus()
  }, [menu])
  if (menu === null) return null
  const close = (): void => {
    fixMenu.value = null
    editor()?.focus()
  }
  const key = (event: KeyboardEvent): void => {
    const all = [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])]
    const at = all.findIndex((entry) => entry === document.activeElement)
    const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }
    const to = steps[event.key]
    if (to !== undefined) all[(to + all.length) % all.length]?.focus()
    else if (event.key === "Escape" || event.key === "Tab") close()
    else return
    event.preventDefault()
  }
  return (
    <div
      ref={box}
      class="menu-list fix-menu"
      role="menu"
      aria-label="Quick fixes"
      onKeyDown={key}
      onFocusOut={({ relatedTarget }) => {
        if (!(relatedTarget instanceof Node) || box.current?.contains(relatedTarget) !== true) fixMenu.value = null
      }}
    >
      {menu.problems.map(({ found: { code, message, span }, fixes }) => (
        <div key={`${span.start} ${code} ${message}`} role="group" aria-label={withoutBackticks(message)}>
          <p class="note">
            <Sentence text={message} />
          </p>
          {fixes.map(({ title, apply }) => (
            <button
              key={title}
              type="button"
              role="menuitem"
              tabIndex={-1}
              onClick={() => {
                close()
                apply()
              }}
            >
              <Sentence text={title} />
            </button>
          ))}
          <a role="menuitem" tabIndex={-1} href={codeAddress(code)} target="_blank" rel="noopener">
            About {code}
          </a>
        </div>
      ))}
    </div>
  )
}
