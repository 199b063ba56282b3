/** The log of a life: changes, answers, refusals with their requirement, ends of commands and calls. */
import { h } from './dom.js';
import { brief, moment, size } from './format.js';

const commands = new Set(['RUN', 'SUSPEND', 'RESUME', 'TERMINATE']);

/** How much is drawn; what is older scrolls out of sight anyway. */
const shown = 200;

/** What an entry says, as a badge and a sentence; `null` for one that is told better by another. */
export function tell(entry) {
  switch (entry.kind) {
    case 'life':
      return { badge: 'begin', tone: 'quiet', text: `${entry.machine}, as told by ${entry.source}` };
    case 'state':
      if (entry.from === null) return { badge: 'state', tone: 'change', text: `begins in ${entry.state}` };
      return {
        badge: 'state',
        tone: 'change',
        text: `${entry.from} → ${entry.state}`,
        by: eventName(entry.event),
        note: entry.reason,
      };
    case 'event':
      if (entry.by === undefined && commands.has(entry.event)) return null;
      if (entry.by !== undefined)
        return { badge: entry.by, tone: 'quiet', text: entry.says ?? entry.event, note: entry.changes };
      return { badge: 'event', tone: 'quiet', text: `${eventName(entry.event)}, nothing changed` };
    case 'answer': {
      const refused = entry.verdict === 'refused';
      const badge = refused ? `refused${entry.requirement === null ? '' : ` ${entry.requirement}`}` : entry.verdict;
      return { badge, tone: refused ? 'refused' : 'answer', text: entry.command, note: entry.message };
    }
    case 'settled':
      return entry.error === null
        ? { badge: 'done', tone: 'answer', text: entry.command }
        : { badge: 'failed', tone: 'refused', text: entry.command, note: entry.error };
    case 'call': {
      const end = entry.status === null ? (entry.ok ? 'ok' : 'failed') : String(entry.status);
      return {
        badge: end,
        tone: entry.ok ? 'call' : 'refused',
        text: entry.operation,
        by: brief(entry.durationMs),
        note: entry.note,
      };
    }
    case 'output':
      return {
        badge: entry.stream,
        tone: 'quiet',
        text: entry.text === null ? size(entry.bytes) : entry.text.trim().slice(0, 120),
      };
    default:
      return { badge: 'finding', tone: 'refused', text: `${entry.property} is violated`, note: entry.says };
  }
}

/** XState's own events in plain words. */
export function eventName(event) {
  const ended = /^xstate\.(done|error)\.actor\.(.*)$/.exec(event);
  return ended === null ? event : `${ended[2]} ${ended[1] === 'done' ? 'done' : 'threw'}`;
}

/** Whether a log tells of calls on the wire: then the chart's own calls are the same ones, told less exactly. */
export function isWired(log) {
  return log.some(({ kind, layer }) => kind === 'call' && layer === 'wire');
}

function row(entry) {
  const told = tell(entry);
  if (told === null) return null;
  return h(
    'li',
    { class: `row ${told.tone}` },
    h('time', { text: moment(entry.at), datetime: new Date(entry.at).toISOString() }),
    h('span', { class: 'badge', text: told.badge }),
    h(
      'span',
      { class: 'what' },
      h('span', { class: 'text', text: told.text }),
      told.by ? h('span', { class: 'by', text: told.by }) : null,
      told.note ? h('span', { class: 'note', text: told.note }) : null,
    ),
  );
}

/** The log panel: the newest on top. */
export class EventLog {
  #list = h('ol', { class: 'log', 'aria-label': 'Events, the newest first' });
  #drawn = null;
  #last = null;

  constructor(panel) {
    panel.append(this.#list);
  }

  show(life) {
    const { log } = life;
    const wired = isWired(log);
    const told = (entry) => (wired && entry.layer === 'machine' ? null : row(entry));
    const known = this.#drawn === life.id && this.#last !== null ? log.lastIndexOf(this.#last) : -1;
    if (known === -1) {
      this.#list.replaceChildren(
        ...log
          .slice(-shown)
          .reverse()
          .map(told)
          .filter((item) => item !== null),
      );
    } else {
      for (const entry of log.slice(known + 1)) {
        const item = told(entry);
        if (item !== null) this.#list.prepend(item);
      }
      while (this.#list.children.length > shown) this.#list.lastElementChild.remove();
    }
    this.#drawn = life.id;
    this.#last = log.at(-1) ?? null;
  }
}
