"""The command line: `payerkit lab | demo | sandbox | onboard | events | inspect`."""
