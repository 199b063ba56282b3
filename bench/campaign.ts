/** `npm run campaign -- [LIVES] [SEED]`: lives under faults; exits 1 when anything was left behind or broken. */
import { runCampaign } from './campaign-lives.ts';

const lives = Number(process.argv[2] ?? 2_000);
const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31);
console.error(`seed ${seed}`);
const startedAt = performance.now();
const report = await runCampaign({ lives, seed, onProgress: (done) => console.error(`${done} of ${lives} lives`) });
const { violations, ...figures } = report;
console.table(figures);
console.log(
  `${violations.length} violations in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s, seed ${seed}`,
);
for (const violation of violations.slice(0, 20)) console.log(violation);
process.exitCode = violations.length === 0 ? 0 : 1;
