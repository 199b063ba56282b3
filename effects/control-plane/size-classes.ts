/** The sizes that an image can ask for (`client-behaviour.md` 3.13). Peaks are data, never four times the baseline. */
import { refuseArgument } from './shapes.ts';

/** One size: what is billed, and what the guest sees at its peak. */
export interface SizeClass {
  /** What is sent and billed. */
  readonly baselineMiB: number;
  readonly baselineVcpu: number;
  /** What the guest sees. */
  readonly peakMiB: number;
  readonly peakVcpu: number;
}

/** All sizes, from small to large. */
export const sizeClasses: readonly SizeClass[] = [
  { baselineMiB: 512, baselineVcpu: 0.25, peakMiB: 2_048, peakVcpu: 1 },
  { baselineMiB: 1_024, baselineVcpu: 0.5, peakMiB: 4_096, peakVcpu: 2 },
  { baselineMiB: 2_048, baselineVcpu: 1, peakMiB: 8_192, peakVcpu: 4 },
  { baselineMiB: 4_096, baselineVcpu: 2, peakMiB: 16_384, peakVcpu: 8 },
  { baselineMiB: 8_192, baselineVcpu: 4, peakMiB: 32_768, peakVcpu: 16 },
];

/** The baseline of an image that asks for none, in MiB. */
export const defaultBaselineMiB = 2_048;

/** Whether the service takes this baseline. */
export function isSizeClass(baselineMiB: number): boolean {
  return sizeClasses.some((size) => size.baselineMiB === baselineMiB);
}

/**
 * The smallest size whose *baseline* covers a wish; absent or 0 wishes nothing.
 *
 * @throws VmchartError `InvalidArg` for a wish that is no number or that no size covers
 */
export function sizeClassFor(wish: { readonly vcpu?: number; readonly memoryMiB?: number } = {}): SizeClass {
  const vcpu = wish.vcpu ?? 0;
  const memoryMiB = wish.memoryMiB ?? 0;
  for (const value of [vcpu, memoryMiB]) {
    if (!Number.isFinite(value) || value < 0) refuseArgument(`A size of ${value} is none.`);
  }
  const leastMiB = vcpu === 0 && memoryMiB === 0 ? defaultBaselineMiB : memoryMiB;
  const found = sizeClasses.find((size) => size.baselineMiB >= leastMiB && size.baselineVcpu >= vcpu);
  return (
    found ?? refuseArgument(`No size covers ${vcpu} vCPU and ${memoryMiB} MiB; the largest has 4 vCPU and 8192 MiB.`)
  );
}
