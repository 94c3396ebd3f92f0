"""A weather desk without a network: a table stands in for the service that a real tool would ask."""

from typing import Annotated

from agentforge import P, tool

# In English and in Chinese, since a model asks in the language of the question.
WEATHER = {
    "hangzhou": "22 °C, sunny",
    "杭州": "22℃，天气晴",
    "oslo": "9 °C, rain",
    "奥斯陆": "9℃，有雨",
    "paris": "17 °C, cloudy",
    "巴黎": "17℃，多云",
}


class WeatherTools:
    """What the assistant may use. The class is named in agentforge.yaml; the module is found through `scan`."""

    @tool("Current weather of a city. Use it when the user asks about weather.")
    def get_weather(self, city: Annotated[str, P("name of the city")]) -> str:
        """Look the city up; an error tells the model what it could ask instead."""
        found = WEATHER.get(city.strip().casefold())
        if found is None:
            raise LookupError(f"There is no weather station in {city}. There are some in: {', '.join(WEATHER)}.")
        return found
