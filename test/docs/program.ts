/** Programs that stand in a page, run as they stand. */
import { jest } from '@jest/globals';
import { writeFile } from 'node:fs/promises';

/** The blocks of one language in a page. */
export function blocksOf(page: string, language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map((match) => match[1] ?? '');
}

/** Runs a program from a file and gives back the lines that it printed. */
export async function printedBy(program: string, file: string): Promise<string[]> {
  await writeFile(file, program);
  const lines: string[] = [];
  const log = jest.spyOn(console, 'log').mockImplementation((...words) => void lines.push(words.join(' ')));
  try {
    await import(file);
  } finally {
    log.mockRestore();
  }
  return lines;
}
