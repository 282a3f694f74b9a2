private import CLinux
private import Glibc

/// The values of `--progress`: how to show progress.
enum ProgressStyle: String, FlagChoice {
    /// `bar` on a terminal, `none` elsewhere.
    case auto
    /// Lines at the bottom of a terminal that are drawn again and again.
    case bar
    /// A line every ten seconds, and when the phase changes.
    case plain
    /// JSON objects on standard error, for programs.
    case json
    case none

    var flagValue: String { rawValue }

    /// Replaces `auto` by the style for this terminal.
    func resolved(isQuiet: Bool) -> ProgressStyle {
        guard self == .auto else { return self }
        return !isQuiet && isatty(STDERR_FILENO) == 1 && !Terminal.isDumb ? .bar : .none
    }
}

/// The values of `--color`: whether to colour results.
enum ColourChoice: String, FlagChoice {
    /// Colours on a terminal that supports them, unless `NO_COLOR` is set (no-color.org).
    case auto
    case always
    case never

    var flagValue: String { rawValue }

    func isOn(for stream: StandardStream) -> Bool {
        switch self {
        case .always: true
        case .never: false
        case .auto: isatty(stream.rawValue) == 1 && !Terminal.isDumb && Environment.value(of: "NO_COLOR") == nil
        }
    }
}

/// Properties of the terminal to which the standard streams lead.
enum Terminal {
    /// Whether the terminal only prints lines (`TERM=dumb`), or `TERM` is unset.
    static var isDumb: Bool { getenv("TERM").map { String(cString: $0) == "dumb" } ?? true }

    /// The width of the terminal of a stream; nil if the stream is not a terminal, or its width is unknown.
    static func columns(of stream: StandardStream) -> Int? { size(of: stream)?.columns }

    /// The size of the terminal; rows are 0 if unknown.
    static func size(of stream: StandardStream) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard clinux_terminal_size(stream.rawValue, &size) == 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}
