/** `npm run campaign -- [--lives N] [--seed N]`: lives under faults; exits 1 when anything was left behind or broken. */
import { parseArgs } from 'node:util';
import { runCampaign } from './campaign-lives.ts';

const usage = `Drive lives through the emulator under random faults, commands in random order, by two callers of one handle.

Usage: npm run campaign -- [--lives N] [--seed N]

Options:
  --lives N   How many lives. (default: 2000)
  --seed N    The seed of everything random; the same seed is the same campaign. (default: from the clock)
  -h, --help  Show help.

Exits 1 when a VM is alive that the client does not know, an invariant was broken, or a rejection went unhandled;
2 when the arguments cannot be read.`;

function readCount(name: string, text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new TypeError(`--${name} takes a whole number, not '${text}'.`);
  return Number(text);
}

function readArguments(): { lives: number; seed: number } | null {
  const { values } = parseArgs({
    options: { lives: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) return null;
  return {
    lives: readCount('lives', values.lives ?? '2000'),
    seed: readCount('seed', values.seed ?? String(Date.now() % 2 ** 31)),
  };
}

async function campaign(lives: number, seed: number): Promise<number> {
  console.error(`seed ${seed}`);
  const startedAt = performance.now();
  const report = await runCampaign({ lives, seed, onProgress: (done) => console.error(`${done} of ${lives} lives`) });
  const { violations, ...figures } = report;
  console.table(figures);
  console.log(
    `${violations.length} violations in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s, seed ${seed}`,
  );
  for (const violation of violations.slice(0, 20)) console.log(violation);
  return violations.length === 0 ? 0 : 1;
}

let wanted: ReturnType<typeof readArguments>;
try {
  wanted = readArguments();
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  process.exit(2);
}
if (wanted === null) console.log(usage);
else process.exitCode = await campaign(wanted.lives, wanted.seed);
