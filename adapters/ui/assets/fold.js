/**
 * From entries to what a page shows: the fleet as it stands after each of them. The server folds to greet a page that
 * comes late, the page folds what arrives after, and a replay folds up to the moment that is shown.
 */

/** How much of a life is kept: entries for the log, changes of state for the timeline. */
export const limits = { log: 600, marks: 400 };

/** A fleet without anybody in it. */
export function emptyFleet() {
  return { lives: new Map() };
}

/** The outermost state around a path. */
export function topOf(path) {
  return path.split(/[.|]/)[0] ?? '';
}

function begin(entry) {
  return {
    id: entry.life,
    title: entry.life,
    machine: '',
    source: '',
    takesCommands: false,
    takesLines: false,
    state: '',
    since: entry.at,
    bornAt: entry.at,
    cause: null,
    reason: null,
    facts: null,
    lastMove: null,
    pending: null,
    refused: 0,
    finding: null,
    log: [],
    marks: [],
  };
}

/** Takes one entry in and returns the life that it is about. */
export function fold(fleet, entry) {
  let life = fleet.lives.get(entry.life);
  if (life === undefined) {
    life = begin(entry);
    fleet.lives.set(entry.life, life);
  }
  life.log.push(entry);
  if (life.log.length > limits.log * 1.2) life.log.splice(0, life.log.length - limits.log);
  const take = takers[entry.kind];
  if (take !== undefined) take(life, entry);
  return life;
}

const takers = {
  life(life, entry) {
    life.machine = entry.machine;
    life.title = entry.title;
    life.source = entry.source;
    life.takesCommands = entry.takesCommands;
    life.takesLines = entry.takesLines === true;
  },
  state(life, entry) {
    if (topOf(entry.state) !== topOf(life.state)) {
      life.since = entry.at;
      life.marks.push({ at: entry.at, state: topOf(entry.state) });
      if (life.marks.length > limits.marks) life.marks.shift();
    }
    if (entry.from !== entry.state) {
      life.lastMove = { from: entry.from, to: entry.state, event: entry.event, at: entry.at };
    }
    life.state = entry.state;
    life.cause = entry.cause;
    life.reason = entry.reason;
    if (entry.facts !== undefined) life.facts = entry.facts;
  },
  answer(life, entry) {
    if (entry.verdict === 'refused') life.refused += 1;
    else if (entry.verdict !== 'no-op') life.pending = entry.command;
  },
  settled(life, entry) {
    if (life.pending === entry.command) life.pending = null;
  },
  finding(life, entry) {
    life.finding = entry;
  },
};

/** A life without its log: what a page that comes late is greeted with. */
export function summaryOf(life) {
  const { log: _log, ...rest } = life;
  return rest;
}

/** A life from such a summary. */
export function lifeFrom(summary, log = []) {
  return { ...summary, log };
}
