# Installation: written by the packaging step.
