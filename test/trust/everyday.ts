// Workflows as people write them, with the words that they would write first: what strangers wrote, what is private, what acts.

export interface Everyday {
  readonly name: string
  readonly source: string
  /** The one change without which the checker refuses it, and whether it was a false alarm. */
  readonly word?: { readonly from: string; readonly to: string; readonly isFalseAlarm: boolean }
}

const support: readonly Everyday[] = [
  {
    name: "sort a mail",
    source: `
input { mail: untrusted string }
agent sort { model: model.small  instruction: "Sort {{ input.mail }}"  output { kind: enum { billing, technical, spam }  summary: string } }
output { kind: agent.sort.kind  summary: agent.sort.summary }`,
  },
  {
    name: "refund when the mail asks for it",
    source: `
input { mail: untrusted string  order: string }
tool refund from mcp.shop.tool.refund { requires: trusted }
agent sort { model: model.small  instruction: "{{ input.mail }}"  output { wants: enum { refund, answer } } }
dynamic { refunded: match agent.sort.wants { refund: call tool.refund { input { order: input.order } }  answer: null } }
output { refunded: dynamic.refunded }`,
  },
  {
    name: "answer the customer",
    source: `
input { mail: untrusted string  address: string }
tool reply from mcp.mail.tool.send { requires: [to] }
agent write { model: model.small  instruction: "Answer {{ input.mail }}"  uses: [tool.reply { bindings { to: input.address } }]  output { sent: boolean } }
output { sent: agent.write.sent }`,
  },
  {
    name: "look things up before answering",
    source: `
input { mail: untrusted string }
tool search from mcp.wiki.tool.search { requires: none }
agent answer { model: model.small  instruction: "{{ input.mail }}"  uses: [tool.search]  output { text: string  sources: [string] } }
output { text: agent.answer.text  sources: agent.answer.sources }`,
  },
  {
    name: "page somebody when it burns",
    source: `
input { mail: untrusted string  service: string }
tool page from mcp.ops.tool.page { requires: trusted }
agent sort { model: model.small  instruction: "{{ input.mail }}"  output { urgent: boolean } }
agent alert when agent.sort.urgent { model: model.small  instruction: "Page whoever is on call for {{ input.service }}."  uses: [tool.page]  output { paged: string } }
output { paged: agent.alert?.paged }`,
  },
  {
    name: "summaries of all tickets",
    source: `
input { tickets: [{ id: string, text: untrusted string }] }
agent sum for ticket in input.tickets { model: model.small  instruction: "{{ ticket.text }}"  output { text: string } }
output { all: agent.sum.*.text  count: length(input.tickets) }`,
  },
  {
    name: "tag every ticket",
    source: `
input { tickets: [{ id: string, text: untrusted string }] }
tool tag from mcp.desk.tool.tag { requires: trusted }
agent sort for ticket in input.tickets { model: model.small  instruction: "{{ ticket.text }}"  output { tag: enum { bug, question, praise } } }
dynamic { tagged: [call tool.tag { input { id: pair[0].id, tag: pair[1].tag } } for pair in zip(input.tickets, agent.sort)] }
output { tagged: dynamic.tagged }`,
  },
  {
    name: "close what is answered",
    source: `
input { tickets: [{ id: string, text: untrusted string }] }
tool close from mcp.desk.tool.close { requires: trusted }
agent sort for ticket in input.tickets { model: model.small  instruction: "{{ ticket.text }}"  output { answered: boolean } }
agent note for one in agent.sort when one.answered { model: model.small  instruction: "Close it."  uses: [tool.close]  output { done: boolean } }
output { done: agent.note }`,
  },
]

const contracts: readonly Everyday[] = [
  {
    name: "read the terms of a contract",
    source: `
input { contract: untrusted string }
agent read { model: model.small  instruction: "{{ input.contract }}"  output { parties: [string]  starts: string  months: integer  law: maybe string } }
output { terms: agent.read }`,
  },
  {
    name: "compare two versions",
    source: `
input { ours: string  theirs: untrusted string }
agent compare { model: model.small  instruction: "{{ input.ours }}\\n{{ input.theirs }}"  output { changes: [{ clause: string, worse: boolean }] } }
output { changes: agent.compare.changes  worse: [c.clause for c in agent.compare.changes when c.worse] }`,
  },
  {
    name: "ask the lawyers about risks",
    source: `
input { contract: private string }
agent weigh { model: model.careful  instruction: "{{ input.contract }}"  output { risk: enum { low, high }  why: string } }
ask legal when agent.weigh.risk == "high" { question: "{{ agent.weigh.why }}"  to: "legal"  cleared: private  output { accept: boolean } }
output { accept: ask.legal?.accept ?? true }`,
  },
  {
    name: "file it in the right folder",
    source: `
input { contract: untrusted string }
tool store from mcp.files.tool.store { requires: [folder] }
agent sort { model: model.small  instruction: "{{ input.contract }}"  output { kind: enum { lease, sale, work } } }
dynamic { stored: call tool.store { input { folder: "contracts/{{ agent.sort.kind }}", text: input.contract } } }
output { stored: dynamic.stored }`,
  },
  {
    name: "a note for each clause",
    source: `
input { clauses: [untrusted string]  policy: string }
agent note for clause in input.clauses { model: model.small  instruction: "{{ input.policy }}\\n{{ clause }}"  output { ok: boolean  note: string } }
output { notes: agent.note.*.note  all_fine: all(agent.note.*.ok) }`,
  },
  {
    name: "send it out for signature",
    source: `
input { draft: untrusted string  signer: string }
tool sign from mcp.sign.tool.request { requires: trusted }
agent polish { model: model.small  instruction: "{{ input.draft }}"  output { text: string } }
dynamic { request: call tool.sign { input { signer: input.signer, text: agent.polish.text }  approval: required } }
output { request: dynamic.request }`,
  },
]

const research: readonly Everyday[] = [
  {
    name: "search the web and write",
    source: `
input { question: string }
tool search from mcp.web.tool.search { requires: none }
agent research { model: model.small  instruction: "{{ input.question }}"  uses: [tool.search]  output { notes: [string] } }
agent write { model: model.small  instruction: "{{ agent.research.notes }}"  output { text: string } }
output { text: agent.write.text }`,
  },
  {
    name: "read many pages",
    source: `
input { urls: [string] }
tool fetch from mcp.web.tool.fetch { requires: none }
dynamic { pages: [call tool.fetch { input { url: u } } for u in slice(input.urls, 0, 20)] }
agent sum for page in dynamic.pages { model: model.small  instruction: "{{ page }}"  output { text: string } }
output { texts: agent.sum.*.text }`,
  },
  {
    name: "keep notes in one place",
    source: `
input { question: string  notebook: string }
tool search from mcp.web.tool.search { requires: none }
tool save from mcp.notes.tool.append { requires: [path] }
agent research { model: model.small  instruction: "{{ input.question }}"  uses: [tool.search, tool.save { bindings { path: input.notebook } }]  output { done: boolean } }
output { done: agent.research.done }`,
  },
  {
    name: "check the claims",
    source: `
input { claims: [string] }
tool search from mcp.web.tool.search { requires: none }
agent check for claim in input.claims { model: model.small  instruction: "{{ claim }}"  uses: [tool.search]  output { supported: boolean  why: string } }
output { checked: agent.check }`,
  },
  {
    name: "tidy the wiki",
    source: `
input { task: string }
tool find from mcp.wiki.tool.find
tool edit from mcp.wiki.tool.edit { requires: trusted }
agent tidy { model: model.small  instruction: "{{ input.task }}"  uses: [tool.find, tool.edit]  output { text: string } }
output { text: agent.tidy.text }`,
    // Colleagues write the wiki: its tools give what can be trusted.
    word: { from: "tool.find\n", to: "tool.find { gives: trusted }\n", isFalseAlarm: true },
  },
  {
    name: "a digest every week",
    source: `
input { topic: string }
tool search from mcp.web.tool.search { requires: none }
tool mail from mcp.mail.tool.send { requires: [to] }
agent collect { model: model.small  instruction: "{{ input.topic }}"  uses: [tool.search]  output { text: string } }
dynamic { sent: call tool.mail { input { to: "team@example.com", text: agent.collect.text } } }
output { sent: dynamic.sent }`,
  },
  {
    name: "go on with a conversation",
    source: `
input { question: string  follow_up: string }
tool search from mcp.web.tool.search { requires: none }
agent first { model: model.small  instruction: "{{ input.question }}"  uses: [tool.search]  output { text: string } }
agent second { model: model.small  context: compact agent.first { model: model.small }  instruction: "{{ input.follow_up }}"  output { text: string } }
output { text: agent.second.text }`,
  },
]

const code: readonly Everyday[] = [
  {
    name: "review a pull request",
    source: `
input { diff: untrusted string  number: integer }
tool comment from mcp.git.tool.comment { requires: [number] }
agent review { model: model.small  instruction: "{{ input.diff }}"  uses: [tool.comment { bindings { number: input.number } }]  output { approve: boolean } }
output { approve: agent.review.approve }`,
  },
  {
    name: "label a pull request",
    source: `
input { diff: untrusted string  number: integer }
tool label from mcp.git.tool.label { requires: trusted }
agent sort { model: model.small  instruction: "{{ input.diff }}"  output { kind: enum { feature, fix, docs }  breaking: boolean } }
dynamic { label: call tool.label { input { number: input.number, label: "{{ agent.sort.kind }}{{ match agent.sort.breaking { true: "!"  false: "" } }}" } } }
output { label: dynamic.label }`,
  },
  {
    name: "merge what two reviewers like",
    source: `
input { diff: untrusted string  number: integer }
tool merge from mcp.git.tool.merge { requires: trusted }
agent one { model: model.small  instruction: "Correct? {{ input.diff }}"  output { ok: boolean } }
agent two { model: model.small  instruction: "Safe? {{ input.diff }}"  output { ok: boolean } }
dynamic { merged: match agent.one.ok && agent.two.ok { true: call tool.merge { input { number: input.number } }  false: null } }
output { merged: dynamic.merged }`,
  },
  {
    name: "find out why the tests fail",
    source: `
input { log: untrusted string }
tool run from mcp.ci.tool.run_test { requires: none  max_calls: 5 }
agent debug { model: model.small  instruction: "{{ input.log }}"  uses: [tool.run]  output { cause: string } }
output { cause: agent.debug.cause }`,
  },
  {
    name: "propose a fix",
    source: `
input { issue: untrusted string }
tool push from mcp.git.tool.push { requires: trusted }
agent fix { model: model.small  instruction: "{{ input.issue }}"  uses: [tool.push { approval: required }]  output { branch: string } }
output { branch: agent.fix.branch }`,
  },
  {
    name: "publish release notes",
    source: `
input { commits: [string]  version: string }
tool publish from mcp.git.tool.release { requires: trusted }
agent write { model: model.small  instruction: "{{ input.version }} {{ input.commits }}"  output { text: string } }
dynamic { release: call tool.publish { input { version: input.version, text: agent.write.text } } }
output { release: dynamic.release }`,
  },
]

const finance: readonly Everyday[] = [
  {
    name: "pay an invoice that somebody approves",
    source: `
input { invoice: untrusted string }
tool pay from mcp.bank.tool.pay { requires: trusted  approval { to: "finance" } }
agent read { model: model.small  instruction: "{{ input.invoice }}"  output { iban: string  amount: number } }
dynamic { paid: call tool.pay { input { iban: agent.read.iban, amount: agent.read.amount } } }
output { paid: dynamic.paid }`,
  },
  {
    name: "match an invoice with its order",
    source: `
input { invoice: untrusted string  order: string }
tool find from mcp.erp.tool.find_order { gives: [trusted, private]  requires: none }
dynamic { order: call tool.find { input { id: input.order } } }
agent match { model: model.careful  instruction: "{{ dynamic.order }} {{ input.invoice }}"  output { fits: boolean  why: string } }
output { fits: agent.match.fits  why: agent.match.why }`,
  },
  {
    name: "sort transactions",
    source: `
input { transactions: private [{ text: string, amount: number }] }
agent sort for one in input.transactions { model: model.careful  instruction: "{{ one.text }}"  output { kind: enum { food, rent, travel, other } } }
output { kinds: agent.sort.*.kind  total: sum(input.transactions.*.amount) }`,
  },
  {
    name: "freeze an account",
    source: `
input { report: untrusted string  account: private string }
tool freeze from mcp.bank.tool.freeze { requires: trusted  cleared: private }
agent judge { model: model.careful  instruction: "{{ input.report }}"  output { fraud: enum { no, maybe_so, yes } } }
dynamic { frozen: match agent.judge.fraud { yes: call tool.freeze { input { account: input.account } }  _ null } }
output { frozen: dynamic.frozen }`,
  },
  {
    name: "a report for the board",
    source: `
input { figures: private string }
agent write { model: model.careful  instruction: "{{ input.figures }}"  output { text: string } }
ask board { question: "Publish?"  show: agent.write.text  to: "board"  cleared: private  output { publish: boolean } }
output { text: match ask.board.publish { true: agent.write.text  false: null } }`,
  },
  {
    name: "pay small amounts at once",
    source: `
input { invoice: untrusted string  iban: string }
tool pay from mcp.bank.tool.pay { requires: trusted }
agent read { model: model.small  instruction: "{{ input.invoice }}"  output { amount: number } }
dynamic { paid: call tool.pay { input { iban: input.iban, amount: min([agent.read.amount, 50]) } } }
output { paid: dynamic.paid }`,
    // Whoever writes the invoice chooses the amount: the author must say that up to 50 is fine.
    word: {
      from: "min([agent.read.amount, 50])",
      to: `trust (min([agent.read.amount, 50])) because "at most 50, to an account that we know"`,
      isFalseAlarm: false,
    },
  },
  {
    name: "remind who has not paid",
    source: `
input { customer: private { name: string, mail: string }  days: integer }
tool mail from mcp.mail.tool.send { requires: [to]  cleared: private }
agent write { model: model.careful  instruction: "{{ input.customer.name }} is {{ input.days }} days late."  output { text: string } }
dynamic { sent: call tool.mail { input { to: input.customer.mail, text: agent.write.text } } }
output { sent: dynamic.sent }`,
  },
]

const moderation: readonly Everyday[] = [
  {
    name: "remove a comment",
    source: `
input { comment: untrusted string  id: string }
tool remove from mcp.forum.tool.remove { requires: trusted }
agent judge { model: model.small  instruction: "{{ input.comment }}"  output { verdict: enum { fine, rude, spam } } }
dynamic { removed: match agent.judge.verdict { spam: call tool.remove { input { id: input.id } }  _ null } }
output { verdict: agent.judge.verdict  removed: dynamic.removed }`,
  },
  {
    name: "look at an image",
    source: `
input { address: untrusted string  id: string }
tool hide from mcp.forum.tool.hide { requires: trusted }
agent judge { model: model.eyes  instruction: "Is this fine? {{ asset input.address { type: "image" } }}"  output { fine: boolean } }
dynamic { hidden: match agent.judge.fine { true: null  false: call tool.hide { input { id: input.id } } } }
output { hidden: dynamic.hidden }`,
  },
  {
    name: "let people decide appeals",
    source: `
input { appeal: untrusted string  id: string }
tool restore from mcp.forum.tool.restore { requires: trusted }
ask appeal { question: "Restore {{ input.id }}?"  show: input.appeal  to: "moderators"  on_expiry: { restore: false, note: null }  output { restore: boolean  note: maybe string } }
dynamic { restored: match ask.appeal.restore { true: call tool.restore { input { id: input.id, note: ask.appeal.note } }  false: null } }
output { restored: dynamic.restored }`,
  },
  {
    name: "a queue of comments",
    source: `
input { comments: [{ id: string, text: untrusted string }] }
tool remove from mcp.forum.tool.remove { requires: trusted }
agent judge for comment in input.comments { model: model.small  instruction: "{{ comment.text }}"  output { spam: boolean } }
dynamic { removed: [match pair[1].spam { true: call tool.remove { input { id: pair[0].id } }  false: null } for pair in zip(input.comments, agent.judge)] }
output { removed: dynamic.removed }`,
  },
  {
    name: "how much of it is spam",
    source: `
input { comments: [untrusted string] }
agent judge for comment in input.comments { model: model.small  instruction: "{{ comment }}"  output { spam: boolean } }
output { share: length([one for one in agent.judge when one.spam]) / max([length(input.comments), 1]) }`,
  },
]

const others: readonly Everyday[] = [
  {
    name: "invite an applicant",
    source: `
input { resume: untrusted private string  mail: string }
tool invite from mcp.calendar.tool.invite { requires: trusted }
agent read { model: model.careful  instruction: "{{ input.resume }}"  output { fits: boolean  why: string } }
ask hire { question: "Invite?"  show: { fits: agent.read.fits, why: agent.read.why }  to: "hiring"  cleared: private  output { invite: boolean, slot: string } }
dynamic { invited: match ask.hire.invite { true: call tool.invite { input { to: input.mail, slot: ask.hire.slot } }  false: null } }
output { invited: dynamic.invited }`,
  },
  {
    name: "book an appointment",
    source: `
input { symptoms: private string  patient: private string }
tool book from mcp.clinic.tool.book { requires: trusted  cleared: private }
agent sort { model: model.careful  instruction: "{{ input.symptoms }}"  output { urgency: enum { today, week, later } } }
dynamic { booked: call tool.book { input { patient: input.patient, when: agent.sort.urgency } } }
output { booked: dynamic.booked }`,
  },
  {
    name: "note a call in the CRM",
    source: `
input { transcript: untrusted string  contact: string }
api crm { endpoint: "https://crm.example.com" }
tool note from api.crm."POST /contacts/{id}/notes" { input { id: string  text: string }  requires: [id] }
agent sum { model: model.small  instruction: "{{ input.transcript }}"  output { text: string } }
dynamic { noted: call tool.note { input { id: input.contact, text: agent.sum.text } } }
output { noted: dynamic.noted }`,
  },
  {
    name: "translate",
    source: `
input { text: untrusted string  language: string }
agent translate { model: model.small  instruction: "To {{ input.language }}: {{ input.text }}"  output { text: string }
  require length(result.text) > 0 }
output { text: agent.translate.text }`,
  },
  {
    name: "a newsletter from feeds",
    source: `
input { feeds: [string] }
tool feed from mcp.web.tool.feed { requires: none  output { entries: [{ title: string, text: string }] } }
tool post from mcp.mail.tool.newsletter { requires: none }
dynamic { entries: flatten([(call tool.feed { input { url: f } }).entries for f in input.feeds]) }
agent sum for entry in dynamic.entries { model: model.small  instruction: "{{ entry.title }} {{ entry.text }}"  output { text: string } }
dynamic { sent: call tool.post { input { text: join(agent.sum.*.text, "\\n") } } }
output { sent: dynamic.sent }`,
  },
  {
    name: "answer from a profile",
    source: `
input { question: untrusted string  user: string }
tool profile from mcp.crm.tool.profile { gives: [trusted, private]  requires: none }
dynamic { profile: call tool.profile { input { user: input.user } } }
agent answer { model: model.careful  instruction: "{{ dynamic.profile }} {{ input.question }}"  output { text: string } }
output { text: agent.answer.text }`,
  },
]

export const everyday: readonly Everyday[] = [
  ...support,
  ...contracts,
  ...research,
  ...code,
  ...finance,
  ...moderation,
  ...others,
]
