/* Part of the engine. The program shows progress only on a terminal, so standard error is one: each byte is heard. */
Module['preRun'] = [() => {
  TTY.default_tty1_ops.put_char = (tty, byte) => Module['hear'](byte);
}];
