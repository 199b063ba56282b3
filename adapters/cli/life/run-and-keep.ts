export async function runAndKeep(_plan: any, _context: any): Promise<never> {
  throw new Error('soon');
}
