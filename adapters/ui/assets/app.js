/** The page: joins the stream of entries to the table and to the panels of the selected VM. */
import { ChartView } from './chart-view.js';
import { follow, maySend, read, send } from './connection.js';
import { byId, h, setText } from './dom.js';
import { EventLog } from './event-log.js';
import { FleetTable, stateOrder } from './fleet-table.js';
import { emptyFleet, fold, lifeFrom, topOf } from './fold.js';
import { OutputView } from './output-view.js';
import { ReplayBar } from './replay.js';
import { SequenceView } from './sequence.js';
import { makeTabs } from './tabs.js';
import { drawTimeline } from './timeline.js';

const commands = ['SUSPEND', 'RESUME', 'TERMINATE'];
const tabNames = ['Events', 'Calls', 'Output'];

let fleet = emptyFleet();
/** What each requirement says. */
let laws = {};
let selected = null;
/** Whom a person chose. Walking back through a replay it may not be there yet; it is shown again as soon as it is. */
let chosen = null;
/** The moment that is shown: the present, or that of a replay. */
let shownAt = null;
let tab = tabNames[0];
let tallied = null;
let detailIsStale = false;
let orderIsStale = false;

const table = new FleetTable((name) => {
  chosen = name;
  select(name);
});
const chart = new ChartView();
const panels = makeTabs(tabNames, (name) => {
  tab = name;
  detailIsStale = true;
});
const views = {
  Events: new EventLog(panels.Events),
  Calls: new SequenceView(panels.Calls),
  Output: new OutputView(panels.Output),
};

const buttons = commands.map((command) => {
  const title = command.charAt(0) + command.slice(1).toLowerCase();
  return h('button', {
    type: 'button',
    class: command === 'TERMINATE' ? 'danger' : null,
    text: title,
    onclick: () => void give(command, title),
  });
});
byId('commands').append(...buttons);

async function launch() {
  try {
    const { life } = await send('/lives', {});
    select(life);
  } catch (error) {
    notice(error.message);
  }
}
byId('launch').addEventListener('click', () => void launch());

document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  byId('filter').focus();
});

/** Gives a command and shows what came of it. */
async function give(command, title) {
  const life = selected;
  const reply = byId('reply');
  reply.replaceChildren();
  try {
    const { verdict, requirement, message } = await send(`/lives/${encodeURIComponent(life)}/commands`, { command });
    if (life === selected && verdict === 'refused')
      reply.append(refusal(`${title} was refused`, requirement, message ?? ''));
  } catch (error) {
    reply.append(refusal(`${title} was not sent`, null, error.message));
  }
}

/** Why a command was refused: the requirement with what it says, and what was said about this VM. */
function refusal(title, requirement, message) {
  const law = laws[requirement];
  return h(
    'div',
    { class: 'refusal' },
    h(
      'p',
      {},
      h('strong', { text: title }),
      requirement === null ? null : h('span', { class: 'badge', text: requirement }),
      law === undefined ? null : h('span', { text: law }),
    ),
    h('p', {
      class: 'note',
      text: message.replace(/^[A-Z]+-\d+: /, '').replace(/^./, (letter) => letter.toUpperCase()),
    }),
  );
}

function notice(text) {
  byId('notice').hidden = text === '';
  setText(byId('notice'), text);
}

/** Shows a life in the panels. */
function select(name) {
  if (name !== selected) byId('reply').replaceChildren();
  selected = name;
  table.select(name);
  detailIsStale = true;
  if (shownAt === null) void readLog(name);
}

/** The log of a life as the server has it; what comes over the stream meanwhile is newer than its number. */
async function readLog(name) {
  const told = await read(`/lives/${encodeURIComponent(name)}`);
  const life = fleet.lives.get(name);
  if (told === null || life === undefined || name !== selected) return;
  life.log = [...told.entries, ...life.log.filter(({ seq }) => seq > told.seq)];
  detailIsStale = true;
}

function take(entries) {
  for (const entry of entries) {
    const fresh = !fleet.lives.has(entry.life);
    const before = fleet.lives.get(entry.life)?.state;
    const life = fold(fleet, entry);
    // Logs of lives that nobody looks at are read when somebody does.
    if (entry.life === selected) detailIsStale = true;
    else life.log.length = 0;
    if (fresh || before !== life.state) orderIsStale = true;
    table.touch(entry.life);
  }
  if (selected === null || !fleet.lives.has(selected)) selectFirst();
}

function selectFirst() {
  const [first] = fleet.lives.keys();
  if (first !== undefined) select(first);
}

function showFleet(shown) {
  fleet = shown;
  table.reset(fleet);
  tallied = null;
  tally();
  if (selected !== null && fleet.lives.has(selected)) select(selected);
  else selectFirst();
  detailIsStale = true;
}

function hello({ title, canLaunch, lives, replay, laws: told }) {
  laws = told;
  setText(byId('origin'), title);
  if (replay !== null) {
    if (shownAt === null) startReplay(replay);
    setText(byId('link'), 'replay');
    return;
  }
  byId('launch').hidden = !canLaunch || !maySend;
  if (!maySend)
    notice(
      'Open the address that vmchart printed, with its token, to send commands. Without it this page can only be looked at.',
    );
  const greeted = emptyFleet();
  for (const summary of lives) greeted.lives.set(summary.id, lifeFrom(summary));
  showFleet(greeted);
}

function startReplay(replay) {
  const bar = new ReplayBar(replay, (shown, at) => {
    shownAt = at;
    table.now = () => at;
    if (shown.lives.has(chosen)) selected = chosen;
    showFleet(shown);
  });
  bar.begin();
}

/** How many VMs are in which state; each count is also a filter. */
function tally() {
  const counts = new Map();
  for (const life of fleet.lives.values()) counts.set(topOf(life.state), (counts.get(topOf(life.state)) ?? 0) + 1);
  const states = [...counts.keys()]
    .filter(Boolean)
    .sort((a, b) => ((stateOrder.indexOf(a) + 9) % 9) - ((stateOrder.indexOf(b) + 9) % 9));
  const text = JSON.stringify(states.map((state) => [state, counts.get(state)]));
  if (text === tallied) return;
  tallied = text;
  const list = byId('tally');
  const pressed = list.querySelector('[aria-pressed="true"]')?.dataset.state ?? null;
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.state : null;
  list.replaceChildren(
    ...states.map((state) => {
      const button = h(
        'button',
        {
          type: 'button',
          class: 'pill',
          'data-state': state,
          'aria-pressed': String(state === pressed),
          title: `Show only ${state}`,
        },
        h('span', { text: `${state} ` }),
        h('b', { text: String(counts.get(state)) }),
      );
      button.addEventListener('click', () => {
        const on = button.getAttribute('aria-pressed') !== 'true';
        for (const other of list.querySelectorAll('button')) other.setAttribute('aria-pressed', 'false');
        button.setAttribute('aria-pressed', String(on));
        table.only(on ? state : null);
      });
      return h('li', {}, button);
    }),
  );
  if (focused !== null) list.querySelector(`[data-state="${focused}"]`)?.focus();
}

function drawDetail() {
  const life = fleet.lives.get(selected);
  byId('detail-body').hidden = life === undefined;
  byId('detail-empty').hidden = life !== undefined;
  if (life === undefined) return;
  setText(byId('detail-title'), life.title);
  const pill = byId('detail-state');
  const top = topOf(life.state);
  const id = life.facts?.microvmId;
  pill.replaceChildren(
    ...[
      h('span', { class: 'pill', 'data-state': top, text: top || 'starting' }),
      life.state.includes('.') ? h('span', { class: 'substate', text: life.state.slice(top.length + 1) }) : null,
      id && id !== life.title ? h('code', { text: id }) : null,
    ].filter((part) => part !== null),
  );
  byId('commands').hidden = !life.takesCommands || !maySend || shownAt !== null;
  for (const button of buttons)
    button.setAttribute('aria-busy', String(life.pending === button.textContent.toUpperCase()));
  chart.show(life);
  views[tab].show(life, maySend);
  drawTimeline(byId('timeline'), life, shownAt ?? Date.now());
}

/** One frame: what changed since the last one is drawn, and nothing else. */
function frame() {
  table.flush();
  if (detailIsStale) {
    detailIsStale = false;
    drawDetail();
  }
  requestAnimationFrame(frame);
}

setInterval(() => {
  tally();
  if (!orderIsStale) return;
  orderIsStale = false;
  table.arrange();
}, 400);

setInterval(() => {
  if (shownAt !== null) return;
  table.tick();
  const life = fleet.lives.get(selected);
  if (life !== undefined) drawTimeline(byId('timeline'), life, Date.now());
}, 1000);

follow({
  onHello: hello,
  onEntries: (entries) => take(entries),
  onLink(up) {
    const link = byId('link');
    // A replay is all here: whether its server still runs makes no difference.
    setText(link, shownAt !== null ? 'replay' : up ? 'live' : 'not connected');
    link.dataset.up = String(up || shownAt !== null);
  },
});
requestAnimationFrame(frame);
