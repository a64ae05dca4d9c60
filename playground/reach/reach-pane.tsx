import type { ComponentChildren, VNode } from "preact"
import { cloneElement, toChildArray } from "preact"
import type { Bound } from "../../src/trust/reach-bounds.ts"
import type { Reach } from "../../src/trust/reach-shape.ts"
import { boundNames, callersByGuards } from "../../src/trust/show-reach.ts"
import { isOutdated } from "../language/source.ts"
import { reach } from "./reach.ts"
import { select } from "../shown-run/selection.ts"
import { Sentence } from "../ui/sentence.tsx"

/** What the workflow can do at most, from its text alone. The graph shows the ways meanwhile. */
export function ReachPane() {
  const found = reach.value
  if (found === null) return <p class="empty">Nothing to show yet: the reach is that of a workflow without errors.</p>
  return (
    <div class="scrolls padded reach" tabIndex={0} role="region" aria-label="Reach">
      <p class="note">
        {isOutdated.value ? "Last valid version. " : ""}
        In the graph: <span class="label-untrusted">untrusted content</span>,{" "}
        <span class="label-private">private data</span>.
      </p>
      <Agents reach={found} />
      <Tools reach={found} />
      <Hosts reach={found} />
      <Decisions reach={found} />
      <section>
        <h2>At most</h2>
        <dl class="bounds">
          {Object.entries(boundNames).map(([key, name]) => (
            <BoundView key={key} name={name} bound={found.most[key as keyof typeof boundNames]} />
          ))}
        </dl>
      </section>
      <Exceptions reach={found} />
    </div>
  )
}

interface ReachProps {
  readonly reach: Reach
}

const patternWords = {
  open: "reads untrusted content and acts",
  guarded: "reads untrusted content; approval or bound arguments guard what it does",
  quarantined: "reads untrusted content, and uses nothing that acts",
  privileged: "uses tools, and reads trusted values only",
  plain: "reads no untrusted content, and uses no tools",
} as const

const order = ["open", "guarded", "quarantined", "privileged", "plain"]

function Agents({ reach: { agents } }: ReachProps) {
  const sorted = [...agents].sort((a, b) => order.indexOf(a.pattern) - order.indexOf(b.pattern))
  return (
    <Table title="Agents" heads={["agent", "pattern", "untrusted content that it reads", "cacheable"]}>
      {sorted.map(({ agent, pattern, reads, cacheable }) => (
        <tr key={agent}>
          <th scope="row">
            <button type="button" class="button link" onClick={() => select({ node: agent })}>
              {agent}
            </button>
          </th>
          <td>
            <span class={`pattern is-${pattern}`} title={patternWords[pattern]}>
              {pattern}
            </span>
          </td>
          <td>
            <Names names={reads} />
          </td>
          <td>{cacheable === null ? "–" : `${Math.round(cacheable * 100)} %`}</td>
        </tr>
      ))}
    </Table>
  )
}

function Tools({ reach: { tools } }: ReachProps) {
  return (
    <Table title="Tools" heads={["tool", "requires", "may be called by", "guarded by"]}>
      {tools.flatMap(({ tool, requires, ...called }) =>
        callersByGuards(called).map(({ callers, guards }) => (
          <tr key={`${tool} ${guards}`}>
            <th scope="row">{tool}</th>
            <td>{typeof requires === "string" ? requires : <Names names={requires} />}</td>
            <td>
              <Names names={callers} />
            </td>
            <td>{guards}</td>
          </tr>
        )),
      )}
    </Table>
  )
}

function Hosts({ reach: { hosts } }: ReachProps) {
  return (
    <Table title="Hosts" heads={["host", "as", "inputs", "secrets", "private data"]}>
      {hosts.map(({ host, backend, inputs, secrets, private: isPrivate }) => (
        <tr key={backend}>
          <th scope="row">{host}</th>
          <td>{backend}</td>
          <td>
            <Names names={inputs} />
          </td>
          <td>
            <Names names={secrets} />
          </td>
          <td>{isPrivate ? <span class="label-private">yes</span> : "no"}</td>
        </tr>
      ))}
    </Table>
  )
}

function Decisions({ reach: { decisions } }: ReachProps) {
  return (
    <Table title="Decisions that untrusted content can take" heads={["value", "choices", "made from", "leads to"]}>
      {decisions.map(({ value, type, sources, leads_to }) => (
        <tr key={value}>
          <th scope="row">{value}</th>
          <td>
            <code>{type}</code>
          </td>
          <td>
            <Names names={sources} />
          </td>
          <td>
            <Names names={leads_to} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

function Exceptions({ reach: { exceptions } }: ReachProps) {
  return (
    <Table title="Exceptions" heads={["place", "word", "value", "because"]}>
      {exceptions.map(({ place, word, value, because }, index) => (
        <tr key={index}>
          <th scope="row">{place}</th>
          <td>{word}</td>
          <td>
            <code>{value}</code>
          </td>
          <td>{because}</td>
        </tr>
      ))}
    </Table>
  )
}

function BoundView({ name, bound }: { readonly name: string; readonly bound: Bound }) {
  return (
    <>
      <dt>{name}</dt>
      {bound.most === "unbounded" ? (
        <dd>
          <strong>unbounded</strong>, because <Sentence text={bound.because} />
        </dd>
      ) : (
        <dd>
          <strong>{bound.most}</strong>, by {bound.by}
        </dd>
      )}
    </>
  )
}

/** The word above a column, for a cell that stands alone where there is no room for columns. */
function withHeads(row: VNode<RowProps>, heads: readonly string[]): VNode {
  const cells = toChildArray(row.props.children).map((cell, at) =>
    typeof cell === "object" ? cloneElement(cell, { "data-head": heads[at] }) : cell,
  )
  return cloneElement(row, {}, cells)
}

interface RowProps {
  readonly children?: ComponentChildren
}

interface TableProps {
  readonly title: string
  readonly heads: readonly string[]
  readonly children: readonly VNode[]
}

/** Nothing where it would be empty. */
function Table({ title, heads, children }: TableProps) {
  if (children.length === 0) return null
  return (
    <section>
      <h2>{title}</h2>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children.map((row) => withHeads(row, heads))}</tbody>
      </table>
    </section>
  )
}

function Names({ names }: { readonly names: readonly string[] }) {
  return <>{names.length === 0 ? "–" : names.join(", ")}</>
}
