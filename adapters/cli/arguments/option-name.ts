/** How an option's key in the code is spelled on the command line: `suspendedSec` is `suspended-sec`. */
export function optionName(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
