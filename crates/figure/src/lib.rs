//! Charts and maps as SVG and PNG.
