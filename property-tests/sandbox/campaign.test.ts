/** A short campaign of lives under faults; the long one is `npm run campaign`. */
import { expect, test } from '@jest/globals';
import { runCampaign } from '../../bench/campaign-lives.ts';

const seed = Number(process.env['VMCHART_SEED'] ?? 20_261);

test(`40 lives under faults leave no VM behind and break no invariant (seed ${seed})`, async () => {
  const report = await runCampaign({ lives: 40, seed });
  expect(report.violations).toEqual([]);
  // The campaign did meet what it is for.
  expect(report.launched).toBeGreaterThan(5);
  expect(report.refused).toBeGreaterThan(5);
  expect(report.failed).toBeGreaterThan(5);
  expect(report.restarts).toBeGreaterThan(0);
}, 120_000);
