"""What a model at its endpoint really can: one question for each capability, judged, and held against the profile.

A protocol that fits says little: behind the same form one model takes a forced call and another refuses it, one streams
its calls and another loses them (seed A 1.5.3). So it is asked, never assumed.
"""

__all__ = ()
