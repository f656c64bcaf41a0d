//! The drawing: inferno's flame graph, made readable on light and dark grounds.

use inferno::flamegraph::color::{BackgroundColor, Color};
use inferno::flamegraph::{Options, TextTruncateDirection, from_lines};

use crate::stacks::Stacks;

/// Frames narrower than this share of the whole are left out, in percent: a pixel of a wide screen.
const WIDTH_PCT_MIN: f64 = 0.1;

const WHITE: Color = Color {
    r: 255,
    g: 255,
    b: 255,
};

/// Thin lines around frames, as most have the same colour: unchanged. On a dark ground, the words
/// around the graph are light, and its frames less bright.
const STYLE: &str = "
#frames rect { stroke:#8a9099; stroke-width:0.4; }
#frames > *:hover rect { stroke:black; stroke-width:1; }
#subtitle { fill:#5a6068; }
#search { opacity:0.6; }
@media screen and (prefers-color-scheme: dark) {
svg > rect { fill:#14161a; }
#title, #details, #search, #unzoom, #matched { fill:#e4e6ea; }
#subtitle { fill:#a0a6af; }
#frames { opacity:0.85; }
#frames rect { stroke:#3a3f47; }
}
";

/// The words around the graph.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Words {
    /// Above it; none where it is empty.
    pub(crate) title: String,
    /// Under the title, smaller; none where it is empty.
    pub(crate) subtitle: String,
    /// What the numbers count.
    pub(crate) unit: String,
}

/// The graph as SVG, as wide as its window, with zoom and search by a script of its own.
///
/// # Errors
/// What the library says where it refuses the stacks.
pub(crate) fn draw(stacks: &Stacks, words: &Words) -> Result<String, String> {
    let mut options = Options::default();
    options.title.clone_from(&words.title);
    options.subtitle = (!words.subtitle.is_empty()).then(|| words.subtitle.clone());
    options.count_name.clone_from(&words.unit);
    options.bgcolors = Some(BackgroundColor::Flat(WHITE));
    options.min_width = WIDTH_PCT_MIN;
    options.text_truncate_direction = TextTruncateDirection::Right; // functions begin differently
    // The library would sort the lines by their text, which tears apart what one caller calls
    // (`Stacks`). A "chart" is drawn in the order of its lines, the last first.
    options.flame_chart = true;
    let lines = stacks.lines();
    let mut svg = Vec::new();
    from_lines(
        &mut options,
        lines.iter().rev().map(String::as_str),
        &mut svg,
    )
    .map_err(|error| format!("the flame graph cannot be drawn: {error}"))?;
    let svg = String::from_utf8(svg).map_err(|error| error.to_string())?;
    Ok(svg.replacen("</style>", &format!("{STYLE}</style>"), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str) -> String {
        let words = Words {
            title: "pg18 & pg17".to_owned(),
            subtitle: "point-query, qr100".to_owned(),
            unit: "ns per query".to_owned(),
        };
        draw(&Stacks::parse(text).unwrap(), &words).unwrap()
    }

    /// The colour of the only frame with this name.
    fn color<'a>(svg: &'a str, name: &str) -> &'a str {
        let frames: Vec<&str> = svg.split("<title>").collect();
        let of: Vec<&&str> = frames
            .iter()
            .filter(|frame| frame.starts_with(name))
            .collect();
        assert_eq!(of.len(), 1, "{name}: {of:?}");
        let from = of[0].split("fill=\"").nth(1).unwrap();
        from.split('"').next().unwrap()
    }

    #[test]
    fn a_frame_is_as_wide_as_its_cost_in_the_arm() {
        let svg = drawn("server;f 900 250\nserver;g 10 750\n");
        assert!(svg.contains("<title>f (250 ns per query, 25.00%; -65.00%)</title>"));
        assert!(svg.contains("<title>all (1,000 ns per query, 100%)</title>"));
        assert!(svg.contains("total_samples=\"1000\""));
    }

    #[test]
    fn red_costs_more_than_in_the_base_and_blue_less() {
        let svg = drawn("server;f 100 200\nserver;g 200 100\nserver;h 100 100\n");
        assert_eq!(color(&svg, "f "), "rgb(255,100,100)");
        assert_eq!(color(&svg, "g "), "rgb(100,100,255)");
        assert_eq!(color(&svg, "h "), "rgb(250,250,250)");
        assert_eq!(color(&svg, "server "), "rgb(250,250,250)");
    }

    #[test]
    fn a_caller_is_one_frame_though_names_begin_alike() {
        let svg =
            drawn("s;f.so 100 100\ns;f.so;g 100 100\ns;f.so !x 100 100\ns;f.so.6;g 100 100\n");
        assert_eq!(svg.matches("<title>f.so (200 ns").count(), 1);
        assert_eq!(svg.matches("<title>s (400 ns").count(), 1);
    }

    #[test]
    fn words_of_others_are_escaped() {
        let svg = drawn("server;std::less&lt;<script>alert(1)</script> 100 100\n");
        assert!(svg.contains("pg18 &amp; pg17"));
        assert!(!svg.contains("<script>alert"));
    }

    #[test]
    fn the_graph_asks_for_nothing_from_elsewhere() {
        let svg = drawn("server;f 1 1\n");
        let fetched = ["href=", "url(http", "@import", "src="];
        assert!(fetched.iter().all(|word| !svg.contains(word)));
        assert!(svg.contains("function search(") && svg.contains("function zoom("));
    }
}
