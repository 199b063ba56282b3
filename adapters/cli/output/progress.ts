/** Progress on stderr: a line that moves for people, plain lines for logs, nothing that a program has to skip. */
import type { Terminal } from './terminal.ts';

/** One thing under way. */
export interface Step {
  /** Changes what is said of it while it lasts. */
  update(text: string): void;
  /** Ends it well, with what it came to. */
  done(text?: string): void;
  /** Ends it badly. */
  failed(text?: string): void;
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 80;

/**
 * Begins a step. On a terminal it is one line that turns until it is done; elsewhere one line when it ends.
 *
 * @example
 * const step = beginStep(terminal, 'launching');
 * step.done('launched microvm-1');
 */
export function beginStep(terminal: Terminal, text: string): Step {
  const startedAt = performance.now();
  let said = text;
  let frame = 0;
  let open = true;
  let drawnAt = 0;
  const draw = () => {
    drawnAt = performance.now();
    const turn = terminal.paint.accent(frames[(frame += 1) % frames.length] ?? '');
    const { time, width } = elapsed(startedAt);
    const room = Math.max(10, terminal.columns - width - 6);
    terminal.draw(`${turn} ${said.slice(0, room)} ${terminal.paint.quiet(time)}`);
  };
  let timer: NodeJS.Timeout | undefined;
  if (terminal.live) {
    draw();
    timer = setInterval(draw, frameMs);
    timer.unref();
  }
  const end = (mark: string, last: string) => {
    if (!open) return;
    open = false;
    clearInterval(timer);
    if (terminal.live) terminal.draw();
    terminal.progress(`${mark} ${last} ${terminal.paint.quiet(elapsed(startedAt).time)}`);
  };
  return {
    update(text) {
      said = text;
      // A transfer tells of every piece; people see no more than a frame's worth.
      if (terminal.live && open && performance.now() - drawnAt >= frameMs) draw();
    },
    done: (last) => end(terminal.paint.good('✓'), last ?? said),
    failed: (last) => end(terminal.paint.bad('✗'), last ?? said),
  };
}

function elapsed(since: number): { time: string; width: number } {
  const time = durationText(performance.now() - since);
  return { time, width: time.length };
}

/** A duration as people read it: `85 ms`, `1.24 s`, `3 min 20 s`. */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms)) return 'unknown';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(2)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
