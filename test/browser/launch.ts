import { existsSync } from "node:fs"
import type { Browser } from "playwright-core"
import { chromium } from "playwright-core"

/** What Playwright switches off, whose list this one replaces; and what each visit would start: pages of the address bar, a spare process. */
const without = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "SpareRendererForSitePerProcess",
]

/** The system's Chromium, without anything that would talk to the world. */
export function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
  const executablePath = places.find((path) => existsSync(path))
  if (executablePath === undefined) throw new Error("Chromium is not installed")
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // A visit stays in the process that its empty page began in.
      "--renderer-process-limit=1",
      `--disable-features=${without.join(",")}`,
      ...more,
    ],
  })
}
