import { useEffect, useRef } from "preact/hooks"
import { theme, type Theme } from "../page/layout.ts"
import { baseUrl } from "../service/service.ts"
import { Icon } from "../ui/icon.tsx"
import { Menu } from "../ui/menu.tsx"
import { openInbox } from "./inbox.ts"
import { goTo, pageNames, place, type PageName } from "./place.ts"

export const pageLabels: Readonly<Record<PageName, string>> = {
  runs: "Runs",
  questions: "Questions",
  workflows: "Workflows",
  triggers: "Triggers",
  budgets: "Budgets",
  scores: "Scores",
  files: "Files",
  health: "Health",
}

/** A link within the console: a plain click stays in the page, any other does what the browser does. */
export function follow(event: MouseEvent, go: () => void): void {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  go()
}

export function Navigation() {
  const current = place.value.page
  const pages = useRef<HTMLElement>(null)
  // On a phone the row is longer than the screen.
  useEffect(() => {
    pages.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" })
  }, [current])
  const open = openInbox.value
  return (
    <header class="top-bar">
      <h1 class="wordmark">
        <svg class="wire" viewBox="0 0 20 16" aria-hidden="true">
          <path d="M1 11c4 0 3-6 6-6s2 6 6 6 2-6 6-6" />
        </svg>
        <span class="wordmark-name">wireworks</span>
        <span class="visually-hidden"> console</span>
      </h1>
      <nav ref={pages} class="console-nav" aria-label="Pages">
        {pageNames.map((name) => (
          <a
            key={name}
            href={name}
            class="tab"
            aria-current={name === current ? "page" : undefined}
            onClick={(event) => follow(event, () => goTo(name))}
          >
            {pageLabels[name]}
            {name === "questions" && open > 0 ? (
              <span class="count">
                {open}
                <span class="visually-hidden"> open</span>
              </span>
            ) : null}
          </a>
        ))}
      </nav>
      <div class="top-tools">
        <a class="button" href={`${baseUrl}/playground`} aria-label="Playground">
          <Icon name="jump" />
          <span class="wide-only">Playground</span>
        </a>
        <ThemeMenu />
      </div>
    </header>
  )
}

function ThemeMenu() {
  const choices: readonly [Theme, string][] = [
    ["system", "As the system"],
    ["light", "Light"],
    ["dark", "Dark"],
  ]
  const icon = theme.value === "light" ? "sun" : theme.value === "dark" ? "moon" : "system"
  return (
    <Menu
      label="Theme"
      align="end"
      items={choices.map(([name, label]) => ({
        label,
        checked: theme.value === name,
        onSelect: () => (theme.value = name),
      }))}
    >
      <Icon name={icon} />
    </Menu>
  )
}
