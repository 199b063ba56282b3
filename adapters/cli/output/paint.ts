/** Colours, where somebody sees them and wants them. */
import { styleText } from 'node:util';

/** The few styles that the command line uses. */
export interface Paint {
  readonly strong: (text: string) => string;
  readonly quiet: (text: string) => string;
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly accent: (text: string) => string;
}

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';

/** Colours for a stream: on a terminal, unless `NO_COLOR` is set or the terminal is dumb. */
export function painter(
  stream: { readonly isTTY?: boolean },
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  const wanted = stream.isTTY === true && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb';
  const style = (name: Style) => (wanted ? (text: string) => styleText(name, text) : (text: string) => text);
  return {
    strong: style('bold'),
    quiet: style('dim'),
    good: style('green'),
    bad: style('red'),
    warn: style('yellow'),
    accent: style('cyan'),
  };
}
