/**
 * A shell that outlives the emulator by a moment and tidies up: it waits for the end of its input, which comes
 * however the emulator ends, then ends the process groups it was told of and removes the directory.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** See {@link startWatchdog}. */
export interface Watchdog {
  /** Has this process group killed at the end. */
  remember(group: number): void;
  /** This process group has ended: its number may soon be another's. */
  forget(group: number): void;
  /** Tidies up now. Resolves when it is done. */
  end(): Promise<void>;
}

/** Groups are told as `+N` and `-N`, one a line. A directory is only removed when it still is one, not a link. */
const script = `
groups=' '
while read -r line; do
  n=\${line#?}
  case $line in
    +*) groups="$groups$n " ;;
    -*) rest=\${groups#*" $n "}; [ "$rest" = "$groups" ] || groups="\${groups%%" $n "*} $rest" ;;
  esac
done
for n in $groups; do kill -s KILL -- "-$n" 2>/dev/null; done
tries=0
while [ -d "$1" ] && [ ! -L "$1" ] && [ $tries -lt 50 ]; do
  rm -rf -- "$1" 2>/dev/null && break
  chmod -R u+rwx -- "$1" 2>/dev/null
  tries=$((tries + 1))
  sleep 0.1
done
`;

/** Starts a watchdog over `directory`. */
export function startWatchdog(sh: string, directory: string): Watchdog {
  const shell = spawn(sh, ['-c', script, 'watchdog', directory], {
    detached: true,
    env: { PATH: '/usr/bin:/bin' },
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(shell, 'exit');
  ended.catch(() => undefined);
  shell.stdin.on('error', () => undefined);
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref();
  return {
    remember: (group) => void shell.stdin.write(`+${group}\n`),
    forget: (group) => void shell.stdin.write(`-${group}\n`),
    async end() {
      shell.ref();
      shell.stdin.end();
      await ended.catch(() => undefined);
    },
  };
}
