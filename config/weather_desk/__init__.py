"""The tools of the example configuration: what `scan: [weather_desk]` names."""
