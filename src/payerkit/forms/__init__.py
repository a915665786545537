"""Forms for notebooks. Values stay in the kernel; the saved widget state holds none."""
