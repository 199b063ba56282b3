import { VmchartError } from '../../effects/index.ts';

/** The typed error that a promise rejects with; anything else fails the test. */
export async function errorOf(work: Promise<unknown>): Promise<VmchartError> {
  try {
    await work;
  } catch (error) {
    if (VmchartError.is(error)) return error;
    throw error;
  }
  throw new Error('it should have failed');
}
