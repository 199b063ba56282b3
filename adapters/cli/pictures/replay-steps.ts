/** A replay as steps: which way each life took, and what happened in words. */
import type { StateEntry } from '../../trace/entry.ts';
import type { Replay } from '../../trace/file.ts';

/** One change of state of one life. */
export interface TrailStep {
  readonly from: string | null;
  readonly to: string;
}

/** The states that a life went through, one step for each change. */
export function trailOf({ entries }: Replay, life: string): TrailStep[] {
  return entries
    .filter((entry): entry is StateEntry => entry.kind === 'state' && entry.life === life && entry.from !== entry.state)
    .map(({ from, state: to }) => ({ from, to }));
}

/**
 * Every step in words, such as `SUSPEND → RUNNING.suspending`. Where it is known who acted, every actor's step is told,
 * whether it changed a state or not: `service: makes a VM for the launch → vm PENDING`.
 */
export function stepsInWords({ entries }: Replay): string[] {
  const lives = new Set(entries.map(({ life }) => life));
  const nameOf = (life: string) => (lives.size > 1 ? `${life} ` : '');
  const steps: { at: number; acted: boolean; words: string }[] = [];
  for (const entry of entries) {
    if (entry.kind === 'event' && entry.by !== undefined && entry.by !== 'machine') {
      steps.push({ at: entry.at, acted: true, words: `${entry.by}: ${entry.says ?? entry.event}` });
    } else if (entry.kind === 'state' && entry.from !== entry.state) {
      const arrives = `${nameOf(entry.life)}${entry.state}`;
      const last = steps.at(-1);
      if (last?.acted === true && last.at === entry.at) last.words += ` → ${arrives}`;
      else if (entry.from === null) steps.push({ at: entry.at, acted: false, words: `begins: ${arrives}` });
      else steps.push({ at: entry.at, acted: false, words: `${plain(entry.event)} → ${arrives}` });
    }
  }
  return steps.map(({ words }) => words);
}

/** XState's own events in plain words. */
function plain(event: string): string {
  const ended = /^xstate\.(done|error)\.actor\.(.*)$/.exec(event);
  return ended === null ? event : `${ended[2] ?? ''} ${ended[1] === 'done' ? 'done' : 'threw'}`;
}
