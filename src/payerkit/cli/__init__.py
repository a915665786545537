"""The command line: `payerkit lab | demo | sandbox | onboard | inspect`."""
